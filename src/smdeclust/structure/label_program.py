"""Labels of groups as an integer program: the one place where its rows are written."""

from typing import Any

import numpy as np
from scipy.optimize import Bounds as Box
from scipy.optimize import LinearConstraint, milp
from scipy.sparse import csr_array

from smdeclust.structure.bounds import Bounds

# scipy's status of "other" ends: with no solution it is an error of the solver, not of the problem.
FAILED = 4

# Solutions whose regrets sum to less than the largest one over this are looked for again: HiGHS
# ends at an absolute gap.
SHARP = 16.0


# Bounds count kinds of groups where labels are this many times more.
MORE_LABELS = 4


class LabelProgram:
    """Every group has one of the labels that it may have: one binary column each, further rows and
    columns as they are added.

    `group` and `label` are what the first columns stand for, `following` and `numbers` the columns
    that need not be whole and those that may exceed 1 (see `count_by_kind`).
    """

    def __init__(self, allowed: np.ndarray) -> None:
        self.group, self.label = np.nonzero(allowed)
        self._column: np.ndarray = np.full(allowed.shape, -1)
        self._column[self.group, self.label] = np.arange(len(self.group))
        self._values: list[np.ndarray] = []
        self._places: list[np.ndarray] = []
        self._low: list[np.ndarray] = []
        self._high: list[np.ndarray] = []
        self._n_rows, self.n_columns = 0, len(self.group)
        self._counted = self.group, self.label, np.arange(self.n_columns)
        self.following = self.numbers = np.empty(0, dtype=np.int64)
        ones = np.ones(len(allowed))
        self.add_rows(np.ones(self.n_columns), self.group, np.arange(self.n_columns), ones, ones)

    def add_columns(self, n: int) -> np.ndarray:
        """Return the numbers of n more columns."""
        self.n_columns += n
        return np.arange(self.n_columns - n, self.n_columns)

    def add_rows(self, values: Any, rows: Any, columns: Any, low: Any, high: Any) -> None:
        """Add rows (numbered from 0 here) by their entries, each between `low` and `high`."""
        low, high = np.broadcast_arrays(np.atleast_1d(low), np.atleast_1d(high))
        self._values.append(values)
        self._places.append(np.stack([np.asarray(rows) + self._n_rows, columns]))
        self._low.append(low)
        self._high.append(high)
        self._n_rows += len(low)

    def add_pairs(self, ends: np.ndarray, price: np.ndarray, together: np.ndarray) -> np.ndarray:
        """Add (m, 2) pairs of groups; returns one more column for each soft one: broken.

        x_uk + x_vk <= 1 (+ broken) where u and v should be apart, x_uk - x_vk <= 0 (+ broken)
        where they should be together. An infinite price forbids.
        """
        soft = np.isfinite(price)
        broken = np.full(len(ends), -1)
        broken[soft] = self.add_columns(int(np.count_nonzero(soft)))
        first, second = self._column[ends[:, 0]], self._column[ends[:, 1]]
        edge, k = np.nonzero((first >= 0) & ((second >= 0) | together[:, None]))
        other, at = second[edge, k], np.arange(len(edge))
        has, free = other >= 0, broken[edge] >= 0
        sign = np.where(together[edge], -1.0, 1.0)
        self.add_rows(
            np.concatenate([np.ones(len(at)), sign[has], -np.ones(np.count_nonzero(free))]),
            np.concatenate([at, at[has], at[free]]),
            np.concatenate([first[edge, k], other[has], broken[edge][free]]),
            np.full(len(at), -np.inf),
            np.where(together[edge], 0.0, 1.0),
        )
        return broken[soft]

    def count_by_kind(self, counts: np.ndarray, alone: np.ndarray) -> None:
        """Let bounds that are added later count groups by kind: those of equal (B, G) `counts`.

        How many of a kind each cluster has is one whole column. The labels of these groups (of
        those that are `alone`, in no pair) follow: a transport has whole solutions by itself.
        """
        k, members = self._column.shape[1], np.flatnonzero(alone)
        found: Any = np.unique(counts[:, alone], axis=1, return_index=True, return_inverse=True)
        _, first, kind = found
        theirs = alone[self.group]
        if MORE_LABELS * len(first) * k > np.count_nonzero(theirs):
            return
        of_group = np.zeros(len(alone), dtype=np.int64)
        of_group[members] = kind.ravel()
        self.following, rest = np.flatnonzero(theirs), np.flatnonzero(~theirs)
        self.numbers = many = self.add_columns(len(first) * k)
        at, which = self.following, np.arange(len(many))
        rows = of_group[self.group[at]] * k + self.label[at]
        self.add_rows(
            np.concatenate([np.ones(len(at)), -np.ones(len(many))]),
            np.concatenate([rows, which]), np.concatenate([at, many]), np.zeros(len(many)), 0.0,
        )  # fmt: skip
        standing_for, cluster = members[first[which // k]], which % k
        self._counted = (
            np.concatenate([self.group[rest], standing_for]),
            np.concatenate([self.label[rest], cluster]),
            np.concatenate([rest, many]),
        )

    def add_bounds(self, bounds: Bounds) -> None:
        """Add bounds on what the clusters hold.

        In any order, K x K more columns say which: z[k, j], that cluster k takes the bounds of j;
        its sums are at least those of low_j z[k, j], and at most those of high_j z[k, j].
        """
        k, (group, label, at) = bounds.low.shape[1], self._counted
        taker, taken = np.divmod(np.arange(k * k), k)
        z = self.add_columns(k * k) if bounds.any_order else np.empty(0, np.int64)
        for b, counts in enumerate(bounds.counts):
            # Solvers keep rows to 1e-6, whatever their scale.
            unit = max(float(np.abs(counts).mean()) if counts.size else 0.0, np.finfo(float).tiny)
            counted, slack = counts[group] / unit, float(bounds.slack[b, 0])
            low, high = (bounds.low[b] - slack) / unit, (bounds.high[b] + slack) / unit
            filled = bounds.filled[b] / unit
            if not bounds.any_order:
                self.add_rows(counted, label, at, low - filled, high - filled)
                continue
            low, high = low[taken] - filled[taker], high[taken] - filled[taker]
            reach = float(np.abs(counts).sum()) / unit  # infinity is no coefficient
            where = np.concatenate([label, taker]), np.concatenate([at, z])
            least, most = np.maximum(low, -reach), np.minimum(high, reach)
            self.add_rows(np.concatenate([counted, -least]), *where, np.zeros(k), np.inf)
            self.add_rows(np.concatenate([counted, -most]), *where, np.full(k, -np.inf), 0.0)
        if bounds.any_order:
            for side in (taker, taken):
                self.add_rows(np.ones(k * k), side, z, np.ones(k), 1.0)

    def rows(self) -> tuple[Any, np.ndarray, np.ndarray]:
        """The matrix of all rows, and their lows and highs."""
        places = np.concatenate(self._places, axis=1)
        entries = np.concatenate(self._values), (places[0], places[1])
        matrix = csr_array(entries, shape=(self._n_rows, self.n_columns))
        return matrix, np.concatenate(self._low), np.concatenate(self._high)

    def solve(
        self,
        cost: np.ndarray,
        *,
        whole: Any = 1,
        upper: Any = 1.0,
        max_time: float = np.inf,
        max_nodes: int | None = None,
    ) -> Any:
        """Solve by HiGHS to a gap of zero; asked again without presolve where that fails.

        `whole` says which columns are integer, `upper` is their upper bound (from 0 on).
        """
        options: Any = {"mip_rel_gap": 0.0}
        if max_time < np.inf:
            options["time_limit"] = max(0.0, max_time)
        if max_nodes is not None:
            options["node_limit"] = max_nodes
        given: Any = {
            "integrality": np.broadcast_to(whole, self.n_columns),
            "bounds": Box(0, upper),
            "constraints": LinearConstraint(*self.rows()),
        }
        result: Any = milp(cost, options=options, **given)
        if result.status == FAILED and result.x is None:
            result = milp(cost, options={**options, "presolve": False}, **given)
        return result

    def labels(self, x: np.ndarray) -> np.ndarray:
        """(G,) labels of a solution."""
        labels = np.zeros(len(self._column), dtype=np.int64)
        chosen = x[: len(self.group)] > 0.5
        labels[self.group[chosen]] = self.label[chosen]
        return labels


def least_violation(
    bounds: Bounds, ends: np.ndarray, liquid: float, max_time: float, whole: bool
) -> tuple[float, bool]:
    """By how much some sum of a single bound must be outside of it; and whether that is known.

    Without costs, clusters take theirs in any order. The (m, 2) groups of `ends` must be apart.
    `liquid` is what is there beside the groups and can be divided among the clusters: in whole
    numbers, or (not `whole`) at will.
    """
    k = bounds.low.shape[1]
    program = LabelProgram(np.ones((bounds.counts.shape[1], k), dtype=bool))
    program.add_pairs(ends, np.full(len(ends), np.inf), np.zeros(len(ends), dtype=bool))
    n_labels, clusters = len(program.group), np.arange(k)
    flow = program.add_columns(k)
    (off,) = program.add_columns(1)
    rows = np.concatenate([program.label, clusters, clusters])
    columns = np.concatenate([np.arange(n_labels), flow, np.full(k, off)])
    inside = np.append(bounds.counts[0][program.group], np.ones(k))
    program.add_rows(np.append(inside, np.ones(k)), rows, columns, bounds.low[0], np.inf)
    program.add_rows(np.append(inside, -np.ones(k)), rows, columns, -np.inf, bounds.high[0])
    program.add_rows(np.ones(k), np.zeros(k, int), flow, liquid, liquid)
    is_whole, upper = np.ones(program.n_columns, dtype=np.int8), np.ones(program.n_columns)
    is_whole[flow], is_whole[off], upper[n_labels:] = whole, 0, np.inf
    result = program.solve(
        (np.arange(program.n_columns) == off) * 1.0, whole=is_whole, upper=upper, max_time=max_time
    )
    least = float(result.fun) if result.status == 0 else float(result.mip_dual_bound or 0.0)
    return least, result.status == 0 or least > 1e-6
