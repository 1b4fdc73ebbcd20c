"""Assign exactly, move centers, in turn; deep: then swap Kempe chains. Start at `search`."""

from smdeclust.local_search.limits import PROOF_PIVOTS, Limits
from smdeclust.local_search.search import (
    can_go_deep,
    local_search,
    make_search,
    make_search_all,
    prove,
    search_all,
)

__all__ = [
    "PROOF_PIVOTS",
    "Limits",
    "can_go_deep",
    "local_search",
    "make_search",
    "make_search_all",
    "prove",
    "search_all",
]
