"""Assign exactly, move centers, in turn; deep: then swap Kempe chains."""

from smdeclust.local_search.search import PROOF_PIVOTS, local_search, prove

__all__ = ["PROOF_PIVOTS", "local_search", "prove"]
