"""All methods as scikit-learn estimators; the only place where strings become objects."""

from smdeclust.estimators.blp_kmeans import BLPKMeans
from smdeclust.estimators.cop_kmeans import COPKMeans
from smdeclust.estimators.cvqe import CVQE, LCVQE
from smdeclust.estimators.dils import DILS
from smdeclust.estimators.exact import ExactMSSC
from smdeclust.estimators.guided import GuidedClustering
from smdeclust.estimators.hg_means import HGMeans
from smdeclust.estimators.kempe_swap import KempeSwapKMeans
from smdeclust.estimators.learned_distance import LearnedDistance
from smdeclust.estimators.nonsmooth import NonsmoothClustering
from smdeclust.estimators.pair_costs import PairCost, PairCostTable, pair_costs
from smdeclust.estimators.pccc import PCCC
from smdeclust.estimators.pck_means import PCKMeans
from smdeclust.estimators.repetitive import RepetitiveBB
from smdeclust.estimators.sized_kmeans import SizedKMeans
from smdeclust.estimators.smdeclust import SMDEClust
from smdeclust.estimators.soft_hg_means import SoftHGMeans
from smdeclust.estimators.vns import VNSClustering

__all__ = [
    "CVQE",
    "DILS",
    "LCVQE",
    "PCCC",
    "BLPKMeans",
    "COPKMeans",
    "ExactMSSC",
    "GuidedClustering",
    "HGMeans",
    "KempeSwapKMeans",
    "LearnedDistance",
    "NonsmoothClustering",
    "PCKMeans",
    "PairCost",
    "PairCostTable",
    "RepetitiveBB",
    "SMDEClust",
    "SizedKMeans",
    "SoftHGMeans",
    "VNSClustering",
    "pair_costs",
]
