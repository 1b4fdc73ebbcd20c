"""One local search as a batch of one, and a batch as local searches one by one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from smdeclust.problem import Solution

Search = Callable[[np.ndarray], Solution]
SearchAll = Callable[[list[np.ndarray]], list[Solution]]


def one_of(search_all: SearchAll) -> Search:
    """A search of one start, from a search of many."""
    return lambda start: search_all([start])[0]


def each_by(search: Search) -> SearchAll:
    """A search of many starts, from a search of one."""
    return lambda starts: [search(start) for start in starts]
