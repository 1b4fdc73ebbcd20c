"""Random actions in the studio end where a plain fit with the resulting knowledge ends."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from smdeclust import Constraints, SMDEClust, TableFeatures
from tests.studio.live import studio


@pytest.mark.slow
def test_random_actions_against_plain_fits(tmp_path: Path) -> None:
    """150 random actions: same feasibility, all hard pairs kept, objective no worse."""
    X, y = make_blobs(90, 3, centers=4, cluster_std=2.5, random_state=0)
    path = tmp_path / "points.npy"
    np.save(path, X)
    scaled = TableFeatures().fit_transform(X)
    rng = np.random.default_rng(1)
    n_refused = n_compared = 0
    with studio(path, "-k", "4") as running:
        running.settle()
        for step in range(150):
            refused = not _random_action(running, rng, y)
            n_refused += refused
            if step % 25 != 24:
                continue
            state = running.settle()
            labels = np.frombuffer(running.call("api/labels"), "<i4")
            must = [pair[:2] for pair in state["pairs"] if pair[2] and pair[3] == 1]
            cannot = [pair[:2] for pair in state["pairs"] if not pair[2] and pair[3] == 1]
            assert all(labels[i] == labels[j] for i, j in must)
            assert all(labels[i] != labels[j] for i, j in cannot)
            k = state["settings"]["n_clusters"]
            known = Constraints(must_link=must, cannot_link=cannot, n_points=len(X))
            plain = SMDEClust(k, random_state=0).fit(scaled, constraints=known)
            assert state["solution"]["objective"] <= plain.inertia_ * (1 + 1e-6)
            n_compared += 1
    assert n_compared == 6
    assert n_refused < 150


def _random_action(running: object, rng: np.random.Generator, y: np.ndarray) -> bool:
    """One action, by the classes or against them; returns whether it was taken."""
    import urllib.error

    kind = rng.choice(["pair", "pair", "pair", "drop", "undo", "redo", "k"])
    i, j = rng.choice(len(y), 2, replace=False).tolist()
    if kind == "pair":
        truth = bool(y[i] == y[j])
        action = {"do": "pairs", "pairs": [[i, j]], "together": truth ^ bool(rng.random() < 0.1)}
    elif kind == "drop":
        pairs = running.call("api/state")["pairs"]
        chosen = [pairs[int(rng.integers(len(pairs)))][:2]] if pairs else []
        action = {"do": "drop", "pairs": chosen}
    elif kind == "k":
        action = {"do": "set", "n_clusters": int(rng.integers(3, 7))}
    else:
        action = {"do": str(kind)}
    try:
        running.call("api/act", action)
    except urllib.error.HTTPError as error:
        if error.code in (400, 409):
            return False
        raise
    return True
