"""The scikit-learn estimators of our own methods; strings become objects here."""

from smdeclust.estimators.exact import ExactMSSC
from smdeclust.estimators.guided import GuidedClustering
from smdeclust.estimators.learned_distance import LearnedDistance
from smdeclust.estimators.pair_costs import PairCost, PairCostTable, pair_costs
from smdeclust.estimators.search import Search
from smdeclust.estimators.smdeclust import SMDEClust

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
