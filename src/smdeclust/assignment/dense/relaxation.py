"""The linear relaxation of a core, grown lazily from broken inequalities.

Nodes enter only when an inequality involves them; everybody else sits at its cheapest label. Then
the starting basis (cheapest label basic, slacks basic) is dual feasible, and so is every basis
after new rows, new nodes or removed labels: the dual simplex always continues where it stopped.
"""

from __future__ import annotations

import highspy
import numpy as np

from smdeclust.assignment.budget import Budget
from smdeclust.assignment.dense.cliques import violated_cliques
from smdeclust.assignment.dense.instance import Instance
from smdeclust.assignment.dense.odd_cycles import violated_odd_cycles
from smdeclust.assignment.dense.rows import all_filled, kept_apart, kept_together
from smdeclust.assignment.dense.types import BoolArray, FloatArray, IntArray

_LOWER = highspy.HighsBasisStatus.kLower
_BASIC = highspy.HighsBasisStatus.kBasic


class LinearRelaxation:
    """LP over x[v, k] with clique and odd-cycle rows, added when broken.

    Parameters
    ----------
    instance
        The nodes and their pairs; costs finite where `allowed`.
    allowed
        Labels that may be used; a label may be removed later, never added beyond these.
    """

    def __init__(self, instance: Instance, allowed: BoolArray) -> None:
        self.instance = instance
        costs = instance.costs
        n, n_labels = costs.shape
        self.costs = costs
        self.allowed = allowed.copy()  # columns that may exist
        self.indptr = instance.indptr
        self.indices = instance.indices
        masked = np.where(allowed, costs, np.inf)
        self.nearest = masked.argmin(axis=1).astype(np.int64)
        self.nearest_cost = masked[np.arange(n), self.nearest]
        self.column = np.full((n, n_labels), -1, np.int64)
        self.active = np.zeros(n, dtype=bool)
        self.x = np.zeros((n, n_labels))
        self.x[np.arange(n), self.nearest] = 1.0
        self.open = allowed.copy()  # upper bounds now in the LP
        self.feasible = True
        self._row_dual = np.zeros(0)
        # Cut rows, flat: variables and right-hand sides, for the safe bound.
        self._cut_rows: list[IntArray] = []
        self._cut_size: list[IntArray] = []
        self._cut_node: list[IntArray] = []
        self._cut_label: list[IntArray] = []
        self._cut_coefficient: list[FloatArray] = []
        self._cut_rhs: list[FloatArray] = []
        self._col_node: list[IntArray] = []
        self._col_label: list[IntArray] = []
        self._n_cols = 0
        self._n_rows = 0
        self.n_cuts = 0
        self._purge_at = 500
        self._highs = highspy.Highs()
        for name, value in (
            ("output_flag", False),
            ("threads", 1),
            ("presolve", "off"),
            ("simplex_strategy", 1),
            # Devex: steepest-edge weights would be computed again at each of many short solves.
            ("simplex_dual_edge_weight_strategy", 1),
            ("dual_feasibility_tolerance", 1e-9),
        ):
            self._highs.setOptionValue(name, value)

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
        empty = np.zeros(0, np.int32)
        self._highs.addCols(
            m, cost, np.zeros(m), upper, 0, np.zeros(m + 1, np.int32), empty, np.zeros(0)
        )
        starts = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=len(nodes)))))
        ones = np.ones(len(nodes))
        columns = (self._n_cols + np.arange(m)).astype(np.int32)
        self._highs.addRows(len(nodes), ones, ones, m, starts.astype(np.int32), columns, np.ones(m))
        basis = self._highs.getBasis()
        col_status = list(basis.col_status)
        row_status = list(basis.row_status)
        if len(col_status) < self._n_cols + m:  # nothing solved yet
            col_status = [_LOWER] * (self._n_cols + m)
            row_status = [_BASIC] * (self._n_rows + len(nodes))
        # Any open label may be basic: the cheapest keeps the basis dual feasible.
        masked = np.where(self.open[nodes], self.costs[nodes], np.inf)
        for j in self.column[nodes, masked.argmin(axis=1)]:
            col_status[j] = _BASIC
        for i in range(len(nodes)):
            row_status[self._n_rows + i] = _LOWER
        basis.col_status = col_status
        basis.row_status = row_status
        basis.valid = True
        self._highs.setBasis(basis)
        self._col_node.append(node)
        self._col_label.append(label)
        self._n_cols += m
        self._n_rows += len(nodes)

    def add_rows(
        self,
        starts: IntArray,
        nodes: IntArray,
        labels: IntArray,
        coefficients: FloatArray,
        rhs: FloatArray,
    ) -> None:
        """Add rows: the weighted sum of x over the variables of each is at most its rhs."""
        self._activate(np.unique(nodes))
        columns = self.column[nodes, labels]
        present = columns >= 0
        if not present.all():
            size = np.add.reduceat(present.astype(np.int64), starts[:-1])
            starts = np.concatenate(([0], np.cumsum(size)))
            nodes, labels, columns = nodes[present], labels[present], columns[present]
            coefficients = coefficients[present]
        m = len(rhs)
        self._highs.addRows(
            m,
            np.full(m, -np.inf),
            rhs,
            len(columns),
            starts.astype(np.int32),
            columns.astype(np.int32),
            coefficients,
        )
        self._cut_rows.append(self._n_rows + np.arange(m))
        self._cut_size.append(np.diff(starts))
        self._cut_node.append(nodes)
        self._cut_label.append(labels)
        self._cut_coefficient.append(coefficients)
        self._cut_rhs.append(rhs)
        self._n_rows += m
        self.n_cuts += m

    def separate(self, *, cycles: bool) -> int:
        """Add inequalities that x breaks: cliques, and odd cycles if asked or no clique is broken.

        Returns the number of rows added.
        """
        known = self.allowed & self.active[:, None]
        starts, nodes, labels = violated_cliques(
            self.x, known, self.indptr, self.indices, 1e-6, 4000
        )
        added = len(labels)
        if added:
            rhs = np.ones(added)
            self.add_rows(
                starts, nodes, np.repeat(labels, np.diff(starts)), np.ones(len(nodes)), rhs
            )
        for rows in (kept_apart, kept_together, all_filled):
            found = rows(self.instance, self.x)
            if len(found[-1]):
                self.add_rows(*found)
                added += len(found[-1])
        if cycles or not added:
            starts, nodes, labels, coefficients, rhs = violated_odd_cycles(
                self.x, known, self.indptr, self.indices, 1e-3, 1000
            )
            if len(rhs):
                self.add_rows(starts, nodes, labels, coefficients, rhs)
                added += len(rhs)
        return added

    def purge_if_long(self) -> None:
        """Drop the cut rows that are slack now if the rows have doubled since the last time.

        Slack rows are basic, so the basis stays a basis without them.
        """
        if self.n_cuts <= self._purge_at:
            return
        basis = self._highs.getBasis()
        row_status = list(basis.row_status)
        rows = np.concatenate(self._cut_rows)
        size = np.concatenate(self._cut_size)
        basic = np.array([row_status[r] == _BASIC for r in rows])
        self._purge_at = 2 * (len(rows) - int(basic.sum())) + 200
        if not basic.any():
            return
        gone = np.zeros(self._n_rows, dtype=bool)
        gone[rows[basic]] = True
        dropped = np.flatnonzero(gone).astype(np.int32)
        self._highs.deleteRows(len(dropped), dropped)
        basis.row_status = [s for s, g in zip(row_status, gone, strict=True) if not g]
        basis.valid = True
        self._highs.setBasis(basis)
        renumber = np.cumsum(~gone) - 1
        variables = np.repeat(~basic, size)
        self._cut_rows = [renumber[rows[~basic]]]
        self._cut_size = [size[~basic]]
        self._cut_node = [np.concatenate(self._cut_node)[variables]]
        self._cut_label = [np.concatenate(self._cut_label)[variables]]
        self._cut_coefficient = [np.concatenate(self._cut_coefficient)[variables]]
        self._cut_rhs = [np.concatenate(self._cut_rhs)[~basic]]
        self._row_dual = self._row_dual[~gone]
        self._n_rows -= len(dropped)
        self.n_cuts -= len(dropped)

    # ---------------------------------------------------------------- solving

    def restrict(self, open_labels: BoolArray) -> None:
        """Set which labels are open (a subset of those allowed at the start)."""
        changed = (open_labels != self.open) & (self.column >= 0)
        if changed.any():
            columns = self.column[changed].astype(np.int32)
            upper = np.where(open_labels[changed], np.inf, 0.0)
            self._highs.changeColsBounds(len(columns), columns, np.zeros(len(columns)), upper)
        self.open = open_labels.copy()
        idle = ~self.active
        if idle.any():
            masked = np.where(open_labels[idle], self.costs[idle], np.inf)
            best = masked.argmin(axis=1)
            self.x[idle] = 0.0
            self.x[np.flatnonzero(idle), best] = 1.0

    def solve(self, budget: Budget) -> bool:
        """Re-optimise; False if the LP is infeasible or could not be solved (see `feasible`).

        Charges the pivots, at least one.
        """
        if budget.max_pivots < np.inf:
            most = min(max(1, budget.max_pivots - budget.pivots), 2**31 - 1)
            self._highs.setOptionValue("simplex_iteration_limit", int(most))
        if budget.deadline < np.inf:
            # The limit counts from the first run of this solver on.
            left = self._highs.getRunTime() + max(0.01, budget.time_left())
            self._highs.setOptionValue("time_limit", left)
        self._highs.run()
        budget.pivots += max(1, int(self._highs.getInfo().simplex_iteration_count))
        status = self._highs.getModelStatus()
        self.feasible = status != highspy.HighsModelStatus.kInfeasible
        if status != highspy.HighsModelStatus.kOptimal:
            return False
        solution = self._highs.getSolution()
        values = np.array(solution.col_value)
        node = np.concatenate(self._col_node)
        label = np.concatenate(self._col_label)
        self.x[node, label] = np.maximum(values, 0.0)
        self._row_dual = np.array(solution.row_dual)
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
            rows = np.concatenate(self._cut_rows)
            y = (
                np.minimum(self._row_dual[rows], 0.0)
                if len(self._row_dual)
                else np.zeros(len(rows))
            )
            rhs = np.concatenate(self._cut_rhs)
            size = np.concatenate(self._cut_size)
            n, n_labels = reduced.shape
            flat = np.concatenate(self._cut_node) * n_labels + np.concatenate(self._cut_label)
            weight = np.repeat(y, size) * np.concatenate(self._cut_coefficient)
            used = weight != 0.0
            reduced -= np.bincount(flat[used], weight[used], n * n_labels).reshape(n, n_labels)
            constant = float(y @ rhs)
        lowest = reduced.min(axis=1)
        bound = float(lowest.sum()) + constant
        return bound, reduced - lowest[:, None]
