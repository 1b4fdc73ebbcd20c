"""Assign exactly, move centers, in turn; deep: then swap Kempe chains. Start at `search`."""

from smdeclust.local_search.limits import PROOF_PIVOTS
from smdeclust.local_search.search import can_go_deep, local_search, prove, search_all

__all__ = ["PROOF_PIVOTS", "can_go_deep", "local_search", "prove", "search_all"]
