"""The scikit-learn estimators of our own methods; strings become objects here."""

import warnings
from typing import TYPE_CHECKING, Any

from smdeclust.estimators.exact import ExactMSSC
from smdeclust.estimators.pair_costs import PairCost, PairCostTable, pair_costs
from smdeclust.estimators.search import Search
from smdeclust.estimators.smdeclust import SMDEClust

if TYPE_CHECKING:
    from smdeclust.estimators.guided import GuidedClustering
    from smdeclust.estimators.learned_distance import LearnedDistance

__all__ = [
    "ExactMSSC",
    "GuidedClustering",
    "LearnedDistance",
    "PairCost",
    "PairCostTable",
    "SMDEClust",
    "Search",
    "pair_costs",
]

_FORMER = {
    "CVQE", "DILS", "LCVQE", "PCCC", "BLPKMeans", "COPKMeans", "HGMeans", "KempeSwapKMeans",
    "NonsmoothClustering", "PCKMeans", "RepetitiveBB", "SizedKMeans", "SoftHGMeans",
    "VNSClustering",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    # Views need much of scikit-learn: what needs them is imported when it is used.
    if name == "GuidedClustering":
        from smdeclust.estimators.guided import GuidedClustering

        return GuidedClustering
    if name == "LearnedDistance":
        from smdeclust.estimators.learned_distance import LearnedDistance

        return LearnedDistance
    if name not in _FORMER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import smdeclust

    warnings.warn(
        f"{__name__}.{name} is now smdeclust.baselines.{name}; the old name is removed in 0.4.",
        FutureWarning,
        stacklevel=2,
    )
    return getattr(smdeclust, name)
