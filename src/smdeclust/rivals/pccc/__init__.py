"""PCCC (Baumann and Hochbaum 2024): hard and soft pairs, with the exact assignment."""

from smdeclust.rivals.pccc.search import pccc_search
from smdeclust.rivals.pccc.soft_graph import SoftGraph

__all__ = ["SoftGraph", "pccc_search"]
