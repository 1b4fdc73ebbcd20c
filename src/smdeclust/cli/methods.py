"""The methods by their names on the command line, and one run of any of them."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from smdeclust.cli import screen
from smdeclust.cli.errors import CommandError
from smdeclust.cli.patience import Patience

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
    "cop-kmeans": Method("COP-KM", "COPKMeans"),
    "pccc": Method("PCCC", "PCCC"),
    "pck-means": Method("PCK-Means", "PCKMeans", strict=False),
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
    """One fitted model and what is said about it."""

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
    broken_soft: Any = None  # the soft pairs that broke, where the method says what they cost

    @property
    def n_broken(self) -> int:
        """Hard pairs that do not hold."""
        return self.broken_must_links + self.broken_cannot_links


def check_method(name: str) -> str:
    """Return a method's name as it is written here, or say which there are."""
    key = name.strip().lower().replace("_", "-")
    if key not in METHODS:
        raise CommandError(f"There is no method {name!r}. There are: {', '.join(METHODS)}.")
    return key


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


def make_model(setup: Setup, callback: Any = None) -> Any:
    """The estimator of a method: seed, time and callback where it has them, and the settings."""
    import smdeclust

    method = METHODS[setup.method]
    estimator = getattr(smdeclust, method.estimator)
    has = inspect.signature(estimator.__init__).parameters
    max_time = setup.patience.left(setup.max_time)
    wanted = {"random_state": setup.seed, "max_time": max_time, "callback": callback}
    options = {key: value for key, value in wanted.items() if key in has and value is not None}
    options |= setup.settings
    if method.variant is not None:
        return estimator.from_paper(method.variant, n_clusters=setup.n_clusters, **options)
    return estimator(setup.n_clusters, **options)


def takes_soft_pairs(name: str) -> bool:
    """Whether a method uses soft pairs."""
    return bool(_estimator(name)._knows_soft)


def takes_weights(name: str) -> bool:
    """Whether a method's ``fit`` takes weights of the points."""
    return "sample_weight" in inspect.signature(_estimator(name).fit).parameters


def fit_arguments(name: str, constraints: Any, weight: Any = None) -> dict[str, Any]:
    """What is known as a method's ``fit`` takes it: soft pairs and weights where it takes any.

    Quotas are handed to all: a method that does not know them says so.
    """
    known = constraints if takes_soft_pairs(name) else constraints.hard_only()
    return {"constraints": known} | ({"sample_weight": weight} if takes_weights(name) else {})


def _estimator(name: str) -> Any:
    import smdeclust

    return getattr(smdeclust, METHODS[name].estimator)


def run_method(setup: Setup, X: Any, constraints: Any, weight: Any = None) -> Run:
    """Fit one method and measure it; violations are counted here, not taken from the model."""
    from smdeclust.structure.pairs import count_broken

    patience = setup.patience
    model = make_model(setup, screen.solver_progress(setup.update, lambda: patience.stopped))
    patience.can_stop = "callback" in model.get_params(deep=False)
    start = time.perf_counter()
    model.fit(X, **fit_arguments(setup.method, constraints, weight))
    elapsed = time.perf_counter() - start
    patience.can_stop = False
    broken = count_broken(constraints.must_link, constraints.cannot_link, model.labels_)
    soft = count_broken(constraints.soft_must_link, constraints.soft_cannot_link, model.labels_)
    used = {k: v for k, v in model.get_params(deep=False).items() if k != "callback"}
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
    from smdeclust.exact.certificate import above_best

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
