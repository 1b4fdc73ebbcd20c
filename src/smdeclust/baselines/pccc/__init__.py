"""PCCC (Baumann and Hochbaum 2024): hard and soft pairs, with the exact assignment."""

from smdeclust.baselines.pccc.search import pccc_search

__all__ = ["pccc_search"]
