"""Assign exactly, move centers, in turn; deep: then swap Kempe chains. Start at `search`."""

from smdeclust.local_search.search import (
    Searches,
    can_go_deep,
    last_proof,
    local_search,
    search_all,
)
from smdeclust.local_search.state import PROOF_PIVOTS, Limits

__all__ = [
    "PROOF_PIVOTS",
    "Limits",
    "Searches",
    "can_go_deep",
    "last_proof",
    "local_search",
    "search_all",
]
