"""The linear relaxation of a core, grown lazily from broken inequalities.

Nodes enter only when an inequality involves them; all other nodes keep their cheapest label. Then
the starting basis (cheapest label basic, slacks basic) is dual feasible, and so is every basis
after new rows, new nodes or removed labels: the dual simplex always continues where it stopped.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from smdeclust.assignment.budget import Budget
from smdeclust.assignment.cores.cuts import violated_cliques, violated_odd_cycles
from smdeclust.assignment.cores.instance import BoolArray, FloatArray, Instance, IntArray
from smdeclust.assignment.cores.linear_program import NO_SOLUTION, OPTIMAL, linear_program

# A soft pair e is a node of its own; z is its label 1, broken. Rows as `add_rows` takes them: where
# each begins, its nodes, labels and coefficients, and its right-hand side.
Rows = tuple[IntArray, IntArray, IntArray, FloatArray, FloatArray]


class LinearRelaxation:
    """LP over x[v, k] with clique and odd-cycle rows, added when broken.

    Costs are finite where `allowed`; a label may be removed later, never added beyond these.
    """

    def __init__(self, instance: Instance, allowed: BoolArray) -> None:
        self.instance = instance
        costs = instance.costs
        n, n_labels = costs.shape
        self.costs = costs
        self.allowed = allowed.copy()  # columns that may exist
        self.indptr, self.indices = instance.hard
        masked = np.where(allowed, costs, np.inf)
        self.nearest = masked.argmin(axis=1).astype(np.int64)
        self.nearest_cost = masked[np.arange(n), self.nearest]
        self.column = np.full((n, n_labels), -1, np.int64)
        self.active = np.zeros(n, dtype=bool)
        self.x = np.zeros((n, n_labels))
        self.x[np.arange(n), self.nearest] = 1.0
        self.open = allowed.copy()  # upper bounds now in the LP
        self.feasible = True
        # Cuts, for the safe bound: rows of the LP, how many variables each has, right-hand sides;
        # and of the variables the place in x, and the coefficient.
        none = np.empty(0, np.int64)
        self._cuts: tuple[list[Any], ...] = ([none], [none], [np.empty(0)], [none], [np.empty(0)])
        self._columns = [none]  # the place in x of each column
        self._n_cols = self._n_rows = self.n_cuts = 0
        self._purge_at = 500
        self._program = linear_program()

    # ---------------------------------------------------------------- growing the LP

    def _activate(self, nodes: IntArray) -> None:
        nodes = nodes[~self.active[nodes]]
        if len(nodes) == 0:
            return
        self.active[nodes] = True
        row, label = np.nonzero(self.allowed[nodes])
        node = nodes[row]
        m = len(node)
        self.column[node, label] = self._n_cols + np.arange(m)
        upper = np.where(self.open[node, label], np.inf, 0.0)
        cost = self.costs[node, label] - self.nearest_cost[node]
        self._program.add_columns(cost, upper)
        starts = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=len(nodes)))))
        ones, columns = np.ones(len(nodes)), self._n_cols + np.arange(m)
        self._program.add_rows(ones, ones, starts, columns, np.ones(m))
        # Any open label may be basic: the cheapest keeps the basis dual feasible.
        masked = np.where(self.open[nodes], self.costs[nodes], np.inf)
        self._program.make_basic(self.column[nodes, masked.argmin(axis=1)], len(nodes))
        self._columns.append(node * self.x.shape[1] + label)
        self._n_cols += m
        self._n_rows += len(nodes)

    def add_rows(self, rows: Rows) -> None:
        """Add rows: the weighted sum of x over the variables of each is at most its rhs."""
        starts, nodes, labels, coefficients, rhs = rows
        self._activate(np.unique(nodes))
        columns = self.column[nodes, labels]
        present = columns >= 0
        if not present.all():
            size = np.add.reduceat(present.astype(np.int64), starts[:-1])
            starts = np.concatenate(([0], np.cumsum(size)))
            nodes, labels, columns = nodes[present], labels[present], columns[present]
            coefficients = coefficients[present]
        m = len(rhs)
        low = np.full(m, -np.inf)
        self._program.add_rows(low, rhs, starts, columns, coefficients)
        places = nodes * self.x.shape[1] + labels
        new = self._n_rows + np.arange(m), np.diff(starts), rhs, places, coefficients
        for known, more in zip(self._cuts, new, strict=True):
            known.append(more)
        self._n_rows += m
        self.n_cuts += m

    def separate(self, *, cycles: bool) -> int:
        """Add rows that x breaks, odd cycles if asked or there are no others; returns how many."""
        known = self.allowed & self.active[:, None]
        given = self.x, known, self.indptr, self.indices
        starts, nodes, label = violated_cliques(*given, 1e-6, 4000)
        labels = np.repeat(label, np.diff(starts))
        found = [(starts, nodes, labels, np.ones(len(nodes)), np.ones(len(label)))]
        if len(self.instance.ends):
            found += [kept_apart(self.instance, self.x), kept_together(self.instance, self.x)]
        if cycles or not any(len(rows[-1]) for rows in found):
            found.append(violated_odd_cycles(*given, 1e-3, 1000))
        for rows in found:
            if len(rows[-1]):
                self.add_rows(rows)
        return sum(len(rows[-1]) for rows in found)

    def purge_if_long(self) -> None:
        """Drop the cut rows that are slack now if the rows have doubled since the last time."""
        if self.n_cuts <= self._purge_at:
            return
        rows, size, rhs, places, coefficients = map(np.concatenate, self._cuts)
        basic = self._program.slack_rows()[rows]
        self._purge_at = 2 * (len(rows) - int(basic.sum())) + 200
        if not basic.any():
            return
        gone = np.zeros(self._n_rows, dtype=bool)
        gone[rows[basic]] = True
        self._program.drop_rows(gone)
        renumber = np.cumsum(~gone) - 1
        variables = np.repeat(~basic, size)
        kept = renumber[rows[~basic]], size[~basic], rhs[~basic], places[variables]
        self._cuts = tuple([each] for each in (*kept, coefficients[variables]))
        self._n_rows -= int(gone.sum())
        self.n_cuts -= int(gone.sum())

    # ---------------------------------------------------------------- solving

    def restrict(self, open_labels: BoolArray) -> None:
        """Set which labels are open (a subset of those allowed at the start)."""
        changed = (open_labels != self.open) & (self.column >= 0)
        if changed.any():
            upper = np.where(open_labels[changed], np.inf, 0.0)
            self._program.set_upper(self.column[changed], upper)
        self.open = open_labels.copy()
        idle = ~self.active
        if idle.any():
            masked = np.where(open_labels[idle], self.costs[idle], np.inf)
            best = masked.argmin(axis=1)
            self.x[idle] = 0.0
            self.x[np.flatnonzero(idle), best] = 1.0

    def solve(self, budget: Budget) -> bool:
        """Re-optimize and charge the pivots, at least one; False if it failed (see `feasible`)."""
        status = self._program.solve(budget)
        self.feasible = status != NO_SOLUTION
        if status != OPTIMAL:
            return False
        self.x.ravel()[np.concatenate(self._columns)] = np.maximum(self._program.x, 0.0)
        return True

    def reduced_costs(self) -> tuple[float, FloatArray]:
        """A safe bound and reduced costs, from the row duals alone.

        Any non-positive multipliers y of the cut rows give the Lagrangian bound
        ``sum_v min_k r[v, k] + y @ rhs`` with ``r = costs - y @ rows``, whatever the tolerances of
        the LP solver. Returned are that bound and ``r`` less its row minimum (infinite where
        closed): label k of node v costs at least bound + r[v, k].
        """
        reduced = np.where(self.open, self.costs, np.inf)
        constant = 0.0
        if self.n_cuts:
            rows, size, rhs, places, coefficients = map(np.concatenate, self._cuts)
            duals = self._program.row_dual
            y = np.minimum(duals[rows], 0.0) if len(duals) else np.zeros(len(rows))
            weight = np.repeat(y, size) * coefficients
            used = weight != 0.0
            taken = np.bincount(places[used], weight[used], reduced.size)
            reduced -= taken.reshape(reduced.shape)
            constant = float(y @ rhs)
        lowest = reduced.min(axis=1)
        bound = float(lowest.sum()) + constant
        return bound, reduced - lowest[:, None]


# What a row must be broken by.
LEAST = 1e-6


def kept_apart(instance: Instance, x: FloatArray) -> Rows:
    """Soft cannot-links: x[u, k] + x[v, k] - z <= 1 for every label."""
    pairs = np.flatnonzero(~instance.together)
    u, v = instance.ends[pairs].T
    z = instance.n_nodes + pairs
    which, label = np.nonzero(x[u] + x[v] - x[z, 1:2] > 1.0 + LEAST)
    n = len(which)
    nodes = np.column_stack([u[which], v[which], z[which]]).ravel()
    labels = np.column_stack([label, label, np.ones(n, np.int64)]).ravel()
    return 3 * np.arange(n + 1), nodes, labels, np.tile([1.0, 1.0, -1.0], n), np.ones(n)


def kept_together(instance: Instance, x: FloatArray) -> Rows:
    """Soft must-links: the sum of x[u, k] - x[v, k] over any labels is at most z; over those where
    it is positive it is largest."""
    pairs = np.flatnonzero(instance.together)
    u, v = instance.ends[pairs].T
    z = instance.n_nodes + pairs
    more = x[u] - x[v]
    broken = np.maximum(more, 0.0).sum(axis=1) > x[z, 1] + LEAST
    u, v, z, more = u[broken], v[broken], z[broken], more[broken]
    row, label = np.nonzero(more > 0.0)
    every = np.arange(len(u))
    rows = np.concatenate([row, row, every])
    order = np.argsort(rows, kind="stable")
    nodes = np.concatenate([u[row], v[row], z])[order]
    labels = np.concatenate([label, label, np.ones(len(u), np.int64)])[order]
    coefficients = np.concatenate([np.ones(len(row)), -np.ones(len(row) + len(u))])[order]
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(u)))])
    return starts, nodes, labels, coefficients, np.zeros(len(u))
