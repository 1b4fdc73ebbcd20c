"""A linear program that grows and is solved again and again: columns in [0, upper], rows by range.

SciPy brings HiGHS along, which can continue from the last basis; but only through a private module.
Where that module is not as it is here, the public ``scipy.optimize.linprog`` takes over: slower,
with the same answers. (The package highspy is not used: it and OR-Tools cannot be in one process.)
"""

from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, vstack

from smdeclust.assignment.status import Budget

OPTIMAL, NO_SOLUTION, UNSOLVED = 0, 1, 2

# Rows with more room than this are slack.
SLACK = 1e-9


def linear_program() -> "LinearProgram":
    """An empty one."""
    return WarmProgram() if warm_start_works() else LinearProgram()


@cache
def warm_start_works() -> bool:
    """Whether SciPy's HiGHS can be used as :class:`WarmProgram` does: tried on x + y >= 1."""
    try:
        program = WarmProgram()
        program.add_columns(np.array([1.0, 2.0]), np.full(2, np.inf))
        ends = np.array([0, 2]), np.array([0, 1])
        program.add_rows(np.ones(1), np.ones(1), *ends, np.ones(2))
        program.make_basic(np.array([0]), 1)
        program.add_rows(np.full(1, -np.inf), np.full(1, 5.0), *ends, np.ones(2))
        solved = program.solve(Budget(deadline=1e300, max_pivots=100)) == OPTIMAL
        program.drop_rows(program.slack_rows())
        program.set_upper(np.array([0]), np.zeros(1))
        solved = solved and program.solve(Budget()) == OPTIMAL
        return bool(solved and np.allclose(program.x, [0, 1]) and np.allclose(program.row_dual, 2))
    except Exception:  # whatever a changed private module raises
        return False


class LinearProgram:
    """The sum of cost times x, least, by ``linprog``: from the start each time."""

    def __init__(self) -> None:
        self._costs, self._upper = np.zeros(0), np.zeros(0)
        self._low, self._high = np.zeros(0), np.zeros(0)
        self._rows: Any = csr_array((0, 0))
        # The last optimum, and what a unit more on each row's side would change.
        self.x, self.row_dual = np.zeros(0), np.zeros(0)

    def add_columns(self, costs: np.ndarray, upper: np.ndarray) -> None:
        """Add columns that are in no row yet."""
        self._costs = np.concatenate([self._costs, costs])
        self._upper = np.concatenate([self._upper, upper])
        self._rows.resize(len(self._high), len(self._costs))

    def add_rows(
        self, low: Any, high: np.ndarray, starts: np.ndarray, columns: np.ndarray, values: Any
    ) -> None:
        """Add rows in compressed form."""
        self._low = np.concatenate([self._low, np.broadcast_to(low, len(high))])
        self._high = np.concatenate([self._high, high])
        shape = len(high), len(self._costs)
        more = csr_array((np.asarray(values), columns, starts), shape=shape)
        self._rows = vstack([self._rows, more], format="csr")

    def make_basic(self, columns: np.ndarray, n_rows: int) -> None:
        """Start the next solve with these columns in the basis instead of the last rows."""

    def set_upper(self, columns: np.ndarray, upper: np.ndarray) -> None:
        """Change the upper bounds of some columns."""
        self._upper[columns] = upper

    def set_low(self, row: int, low: float) -> None:
        """Change what a row, which is at most 1, is at least."""
        self._low[row] = low

    def slack_rows(self) -> np.ndarray:
        """Which rows do not bind now."""
        if len(self.x) != len(self._costs):
            return np.zeros(len(self._high), dtype=bool)
        at = self._rows @ self.x
        return (at > self._low + SLACK) & (at < self._high - SLACK)

    def drop_rows(self, gone: np.ndarray) -> None:
        """Remove slack rows."""
        self._rows = self._rows[~gone]
        self._low, self._high = self._low[~gone], self._high[~gone]
        if len(self.row_dual):
            self.row_dual = self.row_dual[~gone]

    def solve(self, budget: Budget) -> int:
        """Solve, charging the pivots (at least one): OPTIMAL, NO_SOLUTION, or UNSOLVED."""
        matrix, equal = self._rows, self._low == self._high
        options: Any = {"dual_feasibility_tolerance": 1e-9}
        if budget.max_pivots < np.inf:
            options["maxiter"] = int(min(max(1, budget.max_pivots - budget.pivots), 2**31 - 1))
        if budget.deadline < np.inf:
            options["time_limit"] = max(0.01, budget.time_left())
        given: Any = {
            "c": self._costs,
            "A_ub": matrix[~equal], "b_ub": self._high[~equal],
            "A_eq": matrix[equal], "b_eq": self._high[equal],
            "bounds": np.column_stack([np.zeros(len(self._upper)), self._upper]),
            "method": "highs-ds", "options": options,
        }  # fmt: skip
        result: Any = linprog(**given)
        budget.pivots += max(1, int(result.nit))
        if result.status != 0:
            return NO_SOLUTION if result.status == 2 else UNSOLVED
        self.x, self.row_dual = result.x, np.empty(len(equal))
        self.row_dual[~equal], self.row_dual[equal] = (
            result.ineqlin.marginals,
            result.eqlin.marginals,
        )
        return OPTIMAL


class WarmProgram(LinearProgram):
    """HiGHS as SciPy has it, going on from the last basis by the dual simplex method."""

    def __init__(self) -> None:
        from scipy.optimize._highspy import _core

        self._core, self._highs = _core, _core._Highs()
        self.x, self.row_dual = np.zeros(0), np.zeros(0)
        # The number of threads stays as it is: SciPy's integer programs share them.
        for name, value in (
            ("output_flag", False),
            ("presolve", "off"),
            ("simplex_strategy", 1),
            # Devex: steepest-edge weights would be computed again at each of many short solves.
            ("simplex_dual_edge_weight_strategy", 1),
            ("dual_feasibility_tolerance", 1e-9),
        ):
            self._highs.setOptionValue(name, value)

    def add_columns(self, costs: np.ndarray, upper: np.ndarray) -> None:
        m, none = len(costs), np.zeros(0, np.int32)
        starts = np.zeros(m + 1, np.int32)
        self._highs.addCols(m, costs, np.zeros(m), upper, 0, starts, none, np.zeros(0))

    def add_rows(
        self, low: Any, high: np.ndarray, starts: np.ndarray, columns: np.ndarray, values: Any
    ) -> None:
        starts, columns = starts.astype(np.int32), columns.astype(np.int32)
        self._highs.addRows(len(high), low, high, len(columns), starts, columns, values)

    def make_basic(self, columns: np.ndarray, n_rows: int) -> None:
        kinds, basis = self._core.HighsBasisStatus, self._highs.getBasis()
        of_column, of_row = list(basis.col_status), list(basis.row_status)
        if len(of_column) < self._highs.getNumCol():  # nothing solved yet
            of_column = [kinds.kLower] * self._highs.getNumCol()
            of_row = [kinds.kBasic] * self._highs.getNumRow()
        for j in columns:
            of_column[j] = kinds.kBasic
        of_row[len(of_row) - n_rows :] = [kinds.kLower] * n_rows
        self._set_basis(basis, of_column, of_row)

    def _set_basis(self, basis: Any, of_column: list[Any], of_row: list[Any]) -> None:
        basis.col_status, basis.row_status, basis.valid = of_column, of_row, True
        self._highs.setBasis(basis)

    def set_upper(self, columns: np.ndarray, upper: np.ndarray) -> None:
        columns = columns.astype(np.int32)
        self._highs.changeColsBounds(len(columns), columns, np.zeros(len(columns)), upper)

    def set_low(self, row: int, low: float) -> None:
        self._highs.changeRowBounds(int(row), low, 1.0)

    def slack_rows(self) -> np.ndarray:
        basic = self._core.HighsBasisStatus.kBasic
        return np.array([status == basic for status in self._highs.getBasis().row_status])

    def drop_rows(self, gone: np.ndarray) -> None:
        basis = self._highs.getBasis()
        kept = [s for s, g in zip(basis.row_status, gone, strict=True) if not g]
        rows = np.flatnonzero(gone).astype(np.int32)
        self._highs.deleteRows(len(rows), rows)
        # Slack rows are basic, so the basis stays a basis without them.
        self._set_basis(basis, list(basis.col_status), kept)
        if len(self.row_dual):
            self.row_dual = self.row_dual[~gone]

    def solve(self, budget: Budget) -> int:
        if budget.max_pivots < np.inf:
            most = min(max(1, budget.max_pivots - budget.pivots), 2**31 - 1)
            self._highs.setOptionValue("simplex_iteration_limit", int(most))
        if budget.deadline < np.inf:
            # The limit counts from the first run of this solver on.
            left = self._highs.getRunTime() + max(0.01, budget.time_left())
            self._highs.setOptionValue("time_limit", left)
        self._highs.run()
        budget.pivots += max(1, int(self._highs.getInfo().simplex_iteration_count))
        status, kinds = self._highs.getModelStatus(), self._core.HighsModelStatus
        if status != kinds.kOptimal:
            return NO_SOLUTION if status == kinds.kInfeasible else UNSOLVED
        solution = self._highs.getSolution()
        self.x, self.row_dual = np.array(solution.col_value), np.array(solution.row_dual)
        return OPTIMAL
