"""Assign exactly, move centers, in turn; deep: then swap Kempe chains."""

from smdeclust.local_search.search import local_search, prove

__all__ = ["local_search", "prove"]
