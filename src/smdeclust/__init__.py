"""Minimum sum-of-squares clustering under strict must-link and cannot-link constraints."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.2.0"

# public name -> module; loaded on first use, so that `import smdeclust` is quick
_HOME = {
    "SMDEClust": "smdeclust.estimators",
    "GuidedClustering": "smdeclust.estimators",
    "TableFeatures": "smdeclust.tables.features",
    "LearnedDistance": "smdeclust.estimators",
    "BLPKMeans": "smdeclust.estimators",
    "COPKMeans": "smdeclust.estimators",
    "PCCC": "smdeclust.estimators",
    "PCKMeans": "smdeclust.estimators",
    "SoftHGMeans": "smdeclust.estimators",
    "ExactMSSC": "smdeclust.estimators",
    "HGMeans": "smdeclust.estimators",
    "DILS": "smdeclust.estimators",
    "NonsmoothClustering": "smdeclust.estimators",
    "RepetitiveBB": "smdeclust.estimators",
    "CVQE": "smdeclust.estimators",
    "LCVQE": "smdeclust.estimators",
    "KempeSwapKMeans": "smdeclust.estimators",
    "VNSClustering": "smdeclust.estimators",
    "SizedKMeans": "smdeclust.estimators",
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
    "Constraints": "smdeclust.constraints",
    "pair_costs": "smdeclust.estimators",
    "Problem": "smdeclust.problem",
    "exact_assignment": "smdeclust.assignment",
    "greedy_assignment": "smdeclust.assignment",
}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'smdeclust' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
