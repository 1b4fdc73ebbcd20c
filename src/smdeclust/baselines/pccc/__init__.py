"""PCCC (Baumann and Hochbaum 2024): hard and soft pairs, with the exact assignment."""

from smdeclust.baselines.pccc.search import pccc_search
from smdeclust.baselines.pccc.soft_graph import SoftGraph

__all__ = ["SoftGraph", "pccc_search"]
