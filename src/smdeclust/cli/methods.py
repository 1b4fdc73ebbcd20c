"""The methods by their names on the command line, their options, and one run of any, for a time."""

import inspect
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import smdeclust
from smdeclust.cli import output
from smdeclust.cli.errors import CommandError
from smdeclust.cli.opening import Inputs
from smdeclust.exact.certificate import above_best
from smdeclust.io.per_point import labels_beside
from smdeclust.structure.pairs import count_broken

DEFAULT = "smdeclust"


@dataclass(frozen=True)
class Method:
    """A method of the library."""

    title: str  # for tables and pictures
    estimator: str  # public name in smdeclust
    variant: str | None = None  # which of the paper's settings, for SMDEClust.from_paper
    strict: bool = True  # whether its result keeps every pair


METHODS = {
    "smdeclust": Method("SMDEClust", "SMDEClust"),
    "guided": Method("GuidedClustering", "GuidedClustering"),
    "s-mde": Method("S-MDE", "SMDEClust", "S-MDE"),
    "sm-mde": Method("SM-MDE", "SMDEClust", "SM-MDE"),
    "sg-mde": Method("SG-MDE", "SMDEClust", "SG-MDE"),
    "smg-mde": Method("SMG-MDE", "SMDEClust", "SMG-MDE"),
    "blp-kmeans": Method("BLP-KM", "BLPKMeans"),
    "cop-kmeans": Method("COP-k-means", "COPKMeans"),
    "pccc": Method("PCCC", "PCCC"),
    "pck-means": Method("PCK-means", "PCKMeans", strict=False),
    "s-hg-means": Method("S-HG-MEANS", "SoftHGMeans", strict=False),
    "exact": Method("exact", "ExactMSSC"),
    "repetitive-bb": Method("repetitive B&B", "RepetitiveBB"),
    "kempe-swap": Method("Kempe Swap", "KempeSwapKMeans"),
    "vns": Method("VNS", "VNSClustering", strict=False),
    "cvqe": Method("CVQE", "CVQE", strict=False),
    "lcvqe": Method("LCVQE", "LCVQE", strict=False),
    "dils": Method("DILS", "DILS", strict=False),
    "nonsmooth": Method("non-smooth", "NonsmoothClustering", strict=False),
    "hg-means": Method("HG-means", "HGMeans", strict=False),
    "sized-kmeans": Method("sized k-means", "SizedKMeans", strict=False),
}
# What `compare` runs by default: one variant of ours, and the others that end quickly.
COMPARED = ("smdeclust", "sg-mde", "blp-kmeans", "cop-kmeans", "pccc", "pck-means", "s-hg-means")


@dataclass(frozen=True)
class Run:
    """One fitted model and what is reported about it."""

    method: str
    labels: Any
    objective: float
    broken_must_links: int
    broken_cannot_links: int
    broken_soft_pairs: int
    seconds: float
    settings: dict[str, Any]
    facts: dict[str, Any] = field(default_factory=dict)
    history: dict[str, Any] | None = None
    stopped: bool = False
    X: Any = None  # the points as the objective sees them: in a learned distance, if any
    distance: Any = None
    model: Any = None  # the fitted estimator
    broken_soft: Any = None  # the soft pairs that broke, where the method says what they cost

    @property
    def n_broken(self) -> int:
        """Hard pairs that do not hold."""
        return self.broken_must_links + self.broken_cannot_links


def check_method(name: str) -> str:
    """Return a method's name as it is written here, or say which there are."""
    key = name.strip().lower().replace("_", "-")
    if key not in METHODS:
        raise CommandError(f"There is no method {name!r}. Choose from: {', '.join(METHODS)}.")
    return key


class Patience:
    """One time limit for all the work of a command, and what Ctrl-C has asked for.

    The first Ctrl-C asks to end with the best answer so far, the second ends at once. Work that
    can stop by itself looks at `over`; other work is interrupted (KeyboardInterrupt). The limit
    `max_time` counts from `begin` on (or from now).
    """

    def __init__(self, max_time: float | None = None) -> None:
        self._max_time = max_time
        self.n_presses = 0
        self.can_stop = False  # whether the work at hand looks at `over` by itself
        self.begin()

    def begin(self) -> None:
        """Start the clock: the files are read and the libraries loaded."""
        limit = self._max_time
        self._deadline = None if limit is None else time.perf_counter() + limit

    @property
    def stopped(self) -> bool:
        """Whether Ctrl-C was pressed."""
        return self.n_presses > 0

    @property
    def over(self) -> bool:
        """Whether no further work should begin."""
        return self.stopped or self.left() == 0

    def left(self, most: float | None = None) -> float | None:
        """Seconds left, at most `most`; None where there is no limit."""
        if self._deadline is None:
            return most
        seconds = max(self._deadline - time.perf_counter(), 0.0)
        return seconds if most is None else min(seconds, most)

    @contextmanager
    def listen(self) -> Iterator[None]:
        """Within the block, count Ctrl-C."""

        def on_interrupt(*_: Any) -> None:
            self.n_presses += 1
            if self.n_presses > 1 or not self.can_stop:
                raise KeyboardInterrupt
            with suppress(OSError, ValueError):
                output.say("Ending with the best result so far. Press Ctrl-C again to stop now.")

        try:
            before = signal.signal(signal.SIGINT, on_interrupt)
        except ValueError:  # not in the main thread: Ctrl-C does not come here
            yield
            return
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


@dataclass(frozen=True)
class Setup:
    """Everything about a run but the data: the method, how it is set up, how long it may take.

    Where the time of `patience` is over, or Ctrl-C was pressed, a run ends with the best so far.
    """

    method: str
    n_clusters: int
    seed: int = 0
    max_time: float | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    patience: Patience = field(default_factory=Patience)
    update: Callable[..., None] = lambda *_, **__: None


def estimator_of(name: str) -> Any:
    """The class of a method."""
    return getattr(smdeclust, METHODS[name].estimator)


def has_option(name: str, option: str) -> bool:
    """Whether a method's estimator has a parameter."""
    has = inspect.signature(estimator_of(name).__init__).parameters
    # Other methods have an `init` that is the name of a rule, and no start from earlier labels.
    return option in has and (option != "init" or "warm_start" in has)


def takes_soft_pairs(name: str) -> bool:
    """Whether a method uses soft pairs."""
    return bool(estimator_of(name)._knows_soft)


def takes_weights(name: str) -> bool:
    """Whether a method's ``fit`` takes weights of the points."""
    return "sample_weight" in inspect.signature(estimator_of(name).fit).parameters


@dataclass(frozen=True)
class Settings:
    """How the method is set up: one field per option.

    Setting up the method:
      --metric NAME: Distance: euclidean (the default), learned (from the pairs), diagonal (one
        weight per column) or auto.
      --size-min N: Smallest number of points in a cluster; N,N,... for one bound per cluster.
      --size-max N: Largest number of points in a cluster; N,N,... for one bound per cluster.
      --penalty COST: Set the price of a broken soft pair to COST times its confidence (default:
        computed from the data).
      --init DIR: Start from an earlier result (folder or labels.csv); clusters keep their numbers.
    """

    metric: str | None = None
    size_min: str | None = None
    size_max: str | None = None
    penalty: Annotated[float | None, {"min": 0}] = None
    init: Path | None = None

    def arguments(self, method: str, inputs: Inputs) -> dict[str, Any]:
        """The options given, as arguments of the method's estimator; the others are left out."""
        given = {name: value for name, value in vars(self).items() if value is not None}
        for name in given:
            if not has_option(method, name):
                others = [other for other in METHODS if has_option(other, name)]
                there = f"Methods that have it: {', '.join(others)}." if others else ""
                title = METHODS[method].title
                raise CommandError(
                    f"--{name.replace('_', '-')}: {title} lacks this option. {there}".rstrip()
                )
        for name in ("size_min", "size_max"):
            if name in given:
                given[name] = _sizes(given[name], name)
        if "init" in given:
            path = given["init"] / "labels.csv" if given["init"].is_dir() else given["init"]
            given["init"] = labels_beside(path, inputs.table, partial=True)
        return given


def _sizes(written: str, name: str) -> int | list[int]:
    try:
        numbers = [int(word) for word in written.split(",")]
    except ValueError:
        raise CommandError(
            f"--{name.replace('_', '-')} is {written!r}, expected a whole number, or one for each "
            "cluster, separated by commas."
        ) from None
    return numbers[0] if len(numbers) == 1 else numbers


def make_model(setup: Setup, callback: Any = None) -> Any:
    """The estimator of a method: seed, time and callback where it has them, and the settings."""
    method, estimator = METHODS[setup.method], estimator_of(setup.method)
    max_time = setup.patience.left(setup.max_time)
    wanted = {"random_state": setup.seed, "max_time": max_time, "callback": callback}
    options = {
        name: value
        for name, value in wanted.items()
        if value is not None and has_option(setup.method, name)
    } | dict(setup.settings)
    if method.variant is not None:
        return estimator.from_paper(method.variant, n_clusters=setup.n_clusters, **options)
    return estimator(setup.n_clusters, **options)


def run_method(setup: Setup, X: Any, constraints: Any, weight: Any = None) -> Run:
    """Fit one method and measure it; violations are counted here, not taken from the model."""
    patience = setup.patience
    model = make_model(setup, output.solver_progress(setup.update, lambda: patience.stopped))
    patience.can_stop = "callback" in model.get_params(deep=False)
    start = time.perf_counter()
    # Quotas are handed to all: a method that does not know them says so.
    known = constraints if takes_soft_pairs(setup.method) else constraints.hard_only()
    weighed = takes_weights(setup.method) and weight is not None
    model.fit(X, constraints=known, **({"sample_weight": weight} if weighed else {}))
    elapsed = time.perf_counter() - start
    patience.can_stop = False
    broken = count_broken(constraints.must_link, constraints.cannot_link, model.labels_)
    soft = count_broken(constraints.soft_must_link, constraints.soft_cannot_link, model.labels_)
    used = {k: v for k, v in model.get_params(False).items() if k != "callback" and k[0] != "_"}
    used = {k: v for k, v in used.items() if not (isinstance(v, str) and v == "deprecated")}
    if "max_time" in used:
        used["max_time"] = setup.max_time
    if getattr(used.get("init"), "ndim", 0):
        used["init"] = "earlier labels"
    distance = getattr(model, "distance_", None)
    return Run(
        method=setup.method,
        labels=model.labels_,
        objective=float(model.inertia_),
        broken_must_links=broken[0],
        broken_cannot_links=broken[1],
        broken_soft_pairs=sum(soft),
        seconds=elapsed,
        settings=used,
        facts=_facts(model),
        history=getattr(model, "history_", None),
        stopped=patience.stopped,
        X=X if distance is None else distance.transform(X),
        distance=distance,
        model=model,
        broken_soft=getattr(model, "broken_", None),
    )


_FACTS = {
    "n_iter_": "iterations",
    "n_populations_": "populations",
    "n_local_searches_": "local_searches",
    "n_local_iterations_": "local_iterations",
    "n_unproven_": "unproven_assignments",
    "stop_reason_": "stop_reason",
}


def _facts(model: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for attribute, name in _FACTS.items():
        value = getattr(model, attribute, None)
        if isinstance(value, str) or (value is not None and getattr(value, "ndim", 0) == 0):
            found[name] = value if isinstance(value, str) else int(value)
    if getattr(model, "distance_", None) is not None:
        found["distance"] = model.metric_
        found["feature_weights"] = [float(weight) for weight in model.feature_weights_]
    if hasattr(model, "view_weights_"):
        found["view_weights"], found["held_out"] = model.view_weights_, model.held_out_
        found["decided_by"], found["notes"] = model.decided_by_, list(model.notes_)
    if hasattr(model, "lower_bound_"):  # exact methods
        found["lower_bound"] = float(model.lower_bound_)
        found["proof"] = {"sentence": above_best(float(model.inertia_), found["lower_bound"])}
    if getattr(model, "quotas_", None):
        found["quotas"] = [
            {key: _plain(value) for key, value in quota.items()} for quota in model.quotas_
        ]
    prices = getattr(model, "soft_prices_", None)
    if prices is not None:
        found["soft_prices"] = {"spread": float(prices.spread), "penalty": prices.penalty}
    if hasattr(model, "size_bounds_"):
        found["size_bounds"] = model.size_bounds_.tolist()
        found["sizes_held"] = model.cluster_sizes_.tolist()
        found["size_prices"] = _plain(getattr(model, "size_prices_", None))
    if getattr(model, "objective_", model.inertia_) != model.inertia_:  # broken pairs were paid for
        found["objective_with_penalties"] = float(model.objective_)
    return found


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value
