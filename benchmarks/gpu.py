"""A whole SG-MDE run on a device: the paper's heuristic setting, timed after the upload.

    python -m benchmarks.gpu                       # made data of the shapes of mnist and cifar10
    python -m benchmarks.gpu --device cpu --scale 0.05
    python -m benchmarks.gpu --folder FOLDER       # FOLDER/mnist.npz, FOLDER/cifar10.npz
    python -m benchmarks.gpu --quality             # the two replacements compared, on the processor

The setting: population 10, 10 generations, 25 local iterations, 1000 pairs. First come the
ceilings of the device: a large matrix product and a large copy. A file holds `must`, `cannot` and
the raw points `X`, or `A`, `q` and `V` with X = (A q) V; columns are standardised here.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from smdeclust import SMDEClust
from smdeclust.local_search import search_all
from smdeclust.local_search.batch import Engine
from smdeclust.local_search.state import Limits, State
from smdeclust.points.torch_points import TorchPoints
from smdeclust.problem import Problem

SHAPES = {"mnist": (70_000, 784, 10), "cifar10": (60_000, 3072, 10)}
SETTING = {
    "population_size": 10,
    "max_generations": 10,
    "max_local_iter": 25,
    "tol": 0.0,
    "random_state": 0,
}


def made(n: int, d: int, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Overlapping classes in many dimensions, and 1000 pairs by class."""
    rng = np.random.default_rng(0)
    classes = rng.integers(0, k, n)
    hidden = rng.normal(size=(k, 40))[classes] + rng.normal(size=(n, 40))
    X = (hidden @ rng.normal(size=(40, d))).astype(np.float32)
    X += rng.normal(size=(n, d)).astype(np.float32)
    pairs = rng.integers(0, n, (1000, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    return X, pairs[same], pairs[~same]


def stored(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points and pairs of a file, standardised, in single precision."""
    with np.load(path) as file:
        if "X" in file:
            X = file["X"].astype(np.float32)
        else:
            X = (file["A"] * file["q"]).astype(np.float32) @ file["V"].astype(np.float32)
        must, cannot = file["must"], file["cannot"]
    X -= X.mean(axis=0, dtype=np.float64).astype(np.float32)
    spread = X.std(axis=0, dtype=np.float64)
    X /= np.where(spread > 0, spread, 1.0).astype(np.float32)
    return X, must, cannot


def ceilings(torch: Any, device: str) -> tuple[float, float]:
    """FLOP/s of a matrix product in float32 and bytes/s of a copy, as measured."""
    size = 8192 if device.startswith("cuda") else 1024
    A = torch.randn((size, size), device=device)
    B = torch.empty(size * size * (16 if size > 2000 else 1), device=device)
    C = torch.empty_like(B)
    product = timed(torch, device, lambda: A @ A)
    copy = timed(torch, device, lambda: C.copy_(B))
    return 2 * size**3 / product, 2 * B.numel() * 4 / copy


def timed(torch: Any, device: str, work: Any, repeats: int = 10) -> float:
    """Median seconds."""
    times = []
    for _ in range(repeats + 2):
        sync(torch, device)
        begun = time.perf_counter()
        work()
        sync(torch, device)
        times.append(time.perf_counter() - begun)
    return float(np.median(times[2:]))


def sync(torch: Any, device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize()


def one(torch: Any, name: str, X: np.ndarray, must: Any, cannot: Any, k: int, given: Any) -> None:
    """Upload, one run, the same seed on the processor if asked, and the share of the ceilings."""
    device = given.device
    rate, bandwidth = ceilings(torch, device)
    print(f"ceilings: {rate / 1e12:.1f} TFLOP/s float32, {bandwidth / 1e12:.2f} TB/s", flush=True)
    begun = time.perf_counter()
    problem = Problem.build(X, k, must, cannot, storage=f"torch:{device}")
    points = problem.points
    assert isinstance(points, TorchPoints)
    sync(torch, device)
    upload = time.perf_counter() - begun
    rng = np.random.default_rng(0)
    starts = [problem.enter(X[rng.choice(len(X), k, replace=False)]) for _ in range(10)]
    search_all(problem, starts, max_iter=2)  # compiles the kernels of the linked groups

    # The same fit, with points that are on the device already.
    for replacement in ("generation", "generation", "generation", "immediate"):
        model = SMDEClust.from_paper(
            "SG-MDE", n_clusters=k, device=device, replacement=replacement, **SETTING
        )
        model._search = model._chosen_search()
        sync(torch, device)
        begun = time.perf_counter()
        best = model._evolve(problem, model._operators(problem, None), None)
        sync(torch, device)
        seconds = time.perf_counter() - begun
        print(
            f"{name} {X.shape} K={k} on {device}, {replacement}: upload {upload:.2f} s, run "
            f"{seconds:.2f} s, {model.n_local_searches_} searches, "
            f"{model.n_local_iterations_} iterations, objective {best.objective:.8g} "
            f"(float64 {problem.objective(best.labels):.8g})",
            flush=True,
        )

    with points.begin(10) as batch:
        centers = np.stack(starts)
        first = timed(
            torch,
            device,
            lambda: (batch.forget(), batch.label(centers), batch.held()),
        )
        again = timed(torch, device, lambda: (batch.label(centers), batch.held()))
        costs = batch.label(centers)
    print(
        f"labels of 10 solutions and costs of linked groups: {1e3 * again:.2f} ms, with all sums "
        f"made anew {1e3 * first:.2f} ms (reading the points once: "
        f"{4e3 * points.n_free * X.shape[1] / bandwidth:.2f} ms)",
        flush=True,
    )
    engine = Engine(problem, [State(np.zeros(0)) for _ in range(10)])
    linked = timed(torch, "cpu", lambda: engine.assign_linked(costs, Limits()))
    print(
        f"exact assignment of {problem.n_linked} linked groups, 10 solutions: {1e3 * linked:.2f} ms"
    )
    if given.engine:
        for replacement in ("generation", "immediate"):
            model = SMDEClust.from_paper("SG-MDE", n_clusters=k, replacement=replacement, **SETTING)
            begun = time.perf_counter()
            model.fit(X, must_link=must, cannot_link=cannot)
            print(
                f"{name} on the processor, {replacement}: {time.perf_counter() - begun:.2f} s, "
                f"{model.n_local_iterations_} iterations, objective {model.inertia_:.8g}",
                flush=True,
            )


def quality(n_seeds: int) -> None:
    """Immediate replacement against a generation at once: objectives and work, by seed."""
    from smdeclust.datasets import load_constraints, load_set1, load_set2

    for name, pairs, load in (
        ("glass", "ml_50_cl_50_1", load_set1),
        ("accent", "ml_75_cl_75_1", load_set1),
        ("banana", "1000", load_set2),
    ):
        data = load(name)
        links = load_constraints(name, pairs)
        found: dict[str, list[float]] = {"immediate": [], "generation": []}
        searches = {"immediate": 0, "generation": 0}
        for seed in range(n_seeds):
            for replacement, values in found.items():
                model = SMDEClust.from_paper(
                    "SG-MDE",
                    n_clusters=data.n_clusters,
                    population_size=10,
                    max_generations=10,
                    max_local_iter=25,
                    replacement=replacement,
                    random_state=seed,
                ).fit(data.X, must_link=links.must_link, cannot_link=links.cannot_link)
                values.append(model.inertia_)
                searches[replacement] += model.n_local_searches_
        best = min(min(values) for values in found.values())
        cells = "; ".join(
            f"{replacement}: mean {100 * (np.mean(values) / best - 1):.4f}% above the best, "
            f"{np.mean(np.array(values) <= best * (1 + 1e-9)):.0%} hit it, "
            f"{searches[replacement] / len(values):.0f} searches"
            for replacement, values in found.items()
        )
        print(f"{name}: {cells}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows")
    parser.add_argument("--engine", action="store_true", help="the compiled engine beside it")
    parser.add_argument("--quality", action="store_true")
    parser.add_argument("--seeds", type=int, default=10)
    given = parser.parse_args()
    if given.quality:
        quality(given.seeds)
        return
    import torch

    for name, (n, d, k) in SHAPES.items():
        if given.folder is not None:
            X, must, cannot = stored(given.folder / f"{name}.npz")
        else:
            X, must, cannot = made(int(n * given.scale), d, k)
        one(torch, name, X, must, cannot, k, given)


if __name__ == "__main__":
    main()
