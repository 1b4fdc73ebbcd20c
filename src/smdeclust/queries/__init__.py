"""Which pair to ask about next, the loop around it, and how many clusters there are."""

from smdeclust.queries.active import ActiveClustering
from smdeclust.queries.choose_k import Choice, choose_n_clusters
from smdeclust.queries.suggest import LabelQuestion, Suggestion, suggest_labels, suggest_pairs

__all__ = [
    "ActiveClustering",
    "Choice",
    "LabelQuestion",
    "Suggestion",
    "choose_n_clusters",
    "suggest_labels",
    "suggest_pairs",
]
