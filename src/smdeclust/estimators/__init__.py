"""All methods as scikit-learn estimators; the only place where strings become objects."""

from smdeclust.estimators.blp_kmeans import BLPKMeans
from smdeclust.estimators.cop_kmeans import COPKMeans
from smdeclust.estimators.exact import ExactMSSC
from smdeclust.estimators.learned_distance import LearnedDistance
from smdeclust.estimators.pair_costs import PairCost, PairCostTable, pair_costs
from smdeclust.estimators.pccc import PCCC
from smdeclust.estimators.pck_means import PCKMeans
from smdeclust.estimators.smdeclust import SMDEClust
from smdeclust.estimators.soft_hg_means import SoftHGMeans

__all__ = [
    "PCCC",
    "BLPKMeans",
    "COPKMeans",
    "ExactMSSC",
    "LearnedDistance",
    "PCKMeans",
    "PairCost",
    "PairCostTable",
    "SMDEClust",
    "SoftHGMeans",
    "pair_costs",
]
