"""The linear relaxation of a core, grown lazily from broken inequalities.

Nodes enter only when an inequality involves them; all other nodes keep their cheapest label. That
label, the key of a node, is no column: it is what the other labels leave of 1. Then the basis of
slacks is dual feasible, and so is every basis after new rows, new nodes or removed labels: the dual
simplex always continues where it stopped.
"""

from typing import Any

import numpy as np

from smdeclust.assignment.cores.cuts import violated_cliques, violated_odd_cycles
from smdeclust.assignment.cores.instance import BoolArray, FloatArray, Instance, IntArray
from smdeclust.assignment.cores.linear_program import NO_SOLUTION, OPTIMAL, linear_program
from smdeclust.assignment.status import Budget

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
        self.column = np.full((n, n_labels), -1, np.int64)
        self.active = np.zeros(n, dtype=bool)
        # Of nodes that have entered: the key, and the row of the sum of the other labels.
        self.key, self.row = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
        self.x = np.zeros((n, n_labels))
        self.x[np.arange(n), masked.argmin(axis=1)] = 1.0
        self.open = allowed.copy()  # upper bounds now in the LP
        self.feasible = True
        # Cuts, for the safe bound: rows of the LP, how many variables each has, right-hand sides;
        # and of the variables the place in x, and the coefficient.
        none = np.empty(0, np.int64)
        self._cuts: tuple[list[Any], ...] = ([none], [none], [np.empty(0)], [none], [np.empty(0)])
        self._columns = [none]  # the place in x of each column
        self._n_cols, self._n_rows, self.n_cuts = 1, 0, 0
        self._purge_at = 500
        self._program = linear_program()
        # HiGHS finds no contradiction in rows without any column: one is always 0.
        self._program.add_columns(np.zeros(1), np.zeros(1))

    # ---------------------------------------------------------------- growing the LP

    def _activate(self, entering: IntArray) -> None:
        new = np.zeros(len(self.active), dtype=bool)
        new[entering] = True
        nodes = np.flatnonzero(new & ~self.active)
        if len(nodes) == 0:
            return
        self.active[nodes] = True
        # Any open label may be the key: with the cheapest the basis stays dual feasible.
        masked = np.where(self.open[nodes], self.costs[nodes], np.inf)
        self.key[nodes] = masked.argmin(axis=1)
        others = self.allowed[nodes]
        others[np.arange(len(nodes)), self.key[nodes]] = False
        row, label = np.nonzero(others)
        node = nodes[row]
        m = len(node)
        columns = self._n_cols + np.arange(m)
        self.column[node, label] = columns
        upper = np.where(self.open[node, label], np.inf, 0.0)
        cost = self.costs[node, label] - self.costs[node, self.key[node]]
        self._program.add_columns(cost, upper)
        starts = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=len(nodes)))))
        self._program.add_rows(
            np.zeros(len(nodes)), np.ones(len(nodes)), starts, columns, np.ones(m)
        )
        self.row[nodes] = self._n_rows + np.arange(len(nodes))
        self._columns.append(node * self.x.shape[1] + label)
        self._n_cols += m
        self._n_rows += len(nodes)

    def add_rows(self, rows: Rows) -> None:
        """Add rows: the weighted sum of x over the variables of each is at most its rhs."""
        starts, nodes, labels, coefficients, rhs = rows
        self._activate(nodes)
        m, size = len(rhs), np.diff(starts)
        row = np.repeat(np.arange(m), size)
        known = self.allowed[nodes, labels]
        if not known.all():
            row, nodes, labels = row[known], nodes[known], labels[known]
            coefficients, size = coefficients[known], np.bincount(row, minlength=m)
        # A key is 1 less the other labels of its node.
        of_key = labels == self.key[nodes]
        which, label = np.nonzero(self.column[nodes[of_key]] >= 0)
        lines = np.concatenate([row[~of_key], row[of_key][which]])
        columns = self.column[
            np.concatenate([nodes[~of_key], nodes[of_key][which]]),
            np.concatenate([labels[~of_key], label]),
        ]
        values = np.concatenate([coefficients[~of_key], -coefficients[of_key][which]])
        taken = np.bincount(row[of_key], coefficients[of_key], m)
        entries, where = np.unique(lines * self._n_cols + columns, return_inverse=True)
        begin = np.searchsorted(entries, np.arange(m + 1) * self._n_cols)
        columns, values = entries % self._n_cols, np.bincount(where, values)
        self._program.add_rows(np.full(m, -np.inf), rhs - taken, begin, columns, values)
        places = nodes * self.x.shape[1] + labels
        new = self._n_rows + np.arange(m), size, rhs, places, coefficients
        for cuts, more in zip(self._cuts, new, strict=True):
            cuts.append(more)
        self._n_rows += m
        self.n_cuts += m

    def separate(self, *, cycles: bool) -> int:
        """Add rows that x breaks, odd cycles if asked or there are no others; returns how many."""
        known = self.allowed & self.active[:, None]
        given = self.x, known, self.indptr, self.indices
        x = self._with_second_choices() if self.n_cuts == 0 else self.x
        starts, nodes, label = violated_cliques(x, *given[1:], 1e-6, 4000)
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

    def _with_second_choices(self) -> FloatArray:
        """x, with the second cheapest labels of nodes that break a pair: rows to be broken next."""
        source, target = self.instance.pairs.hard_part.edges.T
        same = (self.x[source] * self.x[target]).any(axis=1)
        nodes = np.union1d(source[same], target[same])
        others = np.where(self.open[nodes] & (self.x[nodes] == 0), self.costs[nodes], np.inf)
        x = self.x.copy()
        x[nodes, others.argmin(axis=1)] = 1.0
        return x

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
        self.row[self.active] = renumber[self.row[self.active]]
        kept = renumber[rows[~basic]], size[~basic], rhs[~basic], places[variables]
        self._cuts = tuple([each] for each in (*kept, coefficients[variables]))
        self._n_rows -= int(gone.sum())
        self.n_cuts -= int(gone.sum())

    # ---------------------------------------------------------------- solving

    def restrict(self, open_labels: BoolArray) -> None:
        """Set which labels are open (a subset of those allowed at the start)."""
        changed = open_labels != self.open
        nodes = np.flatnonzero(changed.any(axis=1))
        if len(nodes) == 0:
            return
        was_open, self.open = self.open, open_labels.copy()
        idle = nodes[~self.active[nodes]]
        self.x[idle] = 0.0
        self.x[idle, np.where(open_labels[idle], self.costs[idle], np.inf).argmin(axis=1)] = 1.0
        changed[self.column < 0] = False
        if changed.any():
            upper = np.where(open_labels[changed], np.inf, 0.0)
            self._program.set_upper(self.column[changed], upper)
        entered = nodes[self.active[nodes]]
        key_open = open_labels[entered, self.key[entered]]
        for i in np.flatnonzero(key_open != was_open[entered, self.key[entered]]):
            # Without its key, the other labels of a node make up 1.
            self._program.set_low(self.row[entered[i]], 0.0 if key_open[i] else 1.0)

    def solve(self, budget: Budget) -> bool:
        """Re-optimize and charge the pivots, at least one; False if it failed (see `feasible`)."""
        status = self._program.solve(budget)
        self.feasible = status != NO_SOLUTION
        if status != OPTIMAL:
            return False
        self.x.ravel()[np.concatenate(self._columns)] = np.maximum(self._program.x[1:], 0.0)
        nodes = np.flatnonzero(self.active)
        self.x[nodes, self.key[nodes]] = 0.0
        self.x[nodes, self.key[nodes]] = np.maximum(1.0 - self.x[nodes].sum(axis=1), 0.0)
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
