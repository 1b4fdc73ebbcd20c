"""Assign exactly, move centers, in turn; deep: then swap Kempe chains. Start at `search`."""

from smdeclust.local_search.limits import PROOF_PIVOTS, Limits
from smdeclust.local_search.search import (
    Searches,
    can_go_deep,
    last_proof,
    local_search,
    search_all,
)

__all__ = [
    "PROOF_PIVOTS",
    "Limits",
    "Searches",
    "can_go_deep",
    "last_proof",
    "local_search",
    "search_all",
]
