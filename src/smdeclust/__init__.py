"""Minimum sum-of-squares clustering under strict must-link and cannot-link constraints."""

from importlib import import_module
from typing import Any

__version__ = "0.3.0"

# public name -> module; loaded on first use, so that `import smdeclust` is quick
_HOME = {
    "SMDEClust": "smdeclust.estimators",
    "Search": "smdeclust.estimators",
    "GuidedClustering": "smdeclust.estimators",
    "TableFeatures": "smdeclust.tables.features",
    "ExactMSSC": "smdeclust.estimators",
    "LearnedDistance": "smdeclust.estimators",
    "pair_costs": "smdeclust.estimators",
    "Constraints": "smdeclust.constraints",
    "ActiveClustering": "smdeclust.queries",
    "choose_n_clusters": "smdeclust.queries",
    "suggest_labels": "smdeclust.queries",
    "suggest_pairs": "smdeclust.queries",
    "held_out_score": "smdeclust.views",
    "certify": "smdeclust.exact",
    "verify": "smdeclust.exact",
    "InfeasibleConstraintsError": "smdeclust.exceptions",
    "InvalidInputError": "smdeclust.exceptions",
    "NoFeasibleSolutionError": "smdeclust.exceptions",
}
# Names that can be imported from here, too: the methods to compare with, parts of the engine, and
# the studio.
_ALSO = {
    **dict.fromkeys(
        ("BLPKMeans", "COPKMeans", "CVQE", "DILS", "HGMeans", "KempeSwapKMeans", "LCVQE",
         "NonsmoothClustering", "PCCC", "PCKMeans", "RepetitiveBB", "SizedKMeans", "SoftHGMeans",
         "VNSClustering"),
        "smdeclust.baselines",
    ),
    "Problem": "smdeclust.problem",
    "exact_assignment": "smdeclust.assignment",
    "explore": "smdeclust.studio.explore",
    "greedy_assignment": "smdeclust.assignment",
}  # fmt: skip

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name) or _ALSO.get(name)
    if home is None:
        raise AttributeError(f"module 'smdeclust' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
