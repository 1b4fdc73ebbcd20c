"""The assignment with soft pairs as one mixed-integer programme, on HiGHS: an independent judge."""

from __future__ import annotations

import highspy
import numpy as np
from scipy.sparse import coo_array


def solve_programme(
    costs: np.ndarray, ends: np.ndarray, together: np.ndarray, penalty: np.ndarray
) -> np.ndarray | None:
    """Return the cheapest labels to a gap of zero, or ``None`` where there are none.

    Binary x[g, k] where the cost is finite; one z in [0, 1] a soft edge, 1 where it is broken.

    Parameters
    ----------
    costs
        (n, K) cost of each label, infinite where it may not be used.
    ends, together, penalty
        Edges as in `SoftGraph`.
    """
    allowed = np.isfinite(costs)
    if not allowed.any(axis=1).all():
        return None
    groups, clusters = np.nonzero(allowed)
    n_x = len(groups)
    column = np.full(costs.shape, -1, dtype=np.int64)
    column[groups, clusters] = np.arange(n_x)
    soft = np.isfinite(penalty)
    z = n_x + np.cumsum(soft) - 1

    # One row an edge and a cluster:
    #   apart:    x[g, k] + x[h, k] - z <= 1, where both may be there
    #   together: x[g, k] - x[h, k] - z <= 0, where g may be there
    edge, cluster = np.nonzero(allowed[ends[:, 0]] & (allowed[ends[:, 1]] | together[:, None]))
    first, second = column[ends[edge, 0], cluster], column[ends[edge, 1], cluster]
    row = len(costs) + np.arange(len(edge))
    both, is_soft = second >= 0, soft[edge]
    sign = np.where(together[edge], -1.0, 1.0)
    matrix = coo_array(
        (
            np.concatenate([np.ones(n_x + len(edge)), sign[both], -np.ones(is_soft.sum())]),
            (
                np.concatenate([groups, row, row[both], row[is_soft]]),
                np.concatenate([np.arange(n_x), first, second[both], z[edge[is_soft]]]),
            ),
        ),
        shape=(len(costs) + len(edge), n_x + int(soft.sum())),
    )
    regrets = costs - costs.min(axis=1, keepdims=True)
    objective = np.concatenate([regrets[groups, clusters], penalty[soft]])
    upper = np.concatenate([np.ones(len(costs)), np.where(together[edge], 0.0, 1.0)])
    lower = np.concatenate([np.ones(len(costs)), np.full(len(edge), -np.inf)])
    values = _run_highs(objective, matrix, lower, upper, n_x)
    if values is None:
        return None
    share = np.full(costs.shape, -1.0)
    share[groups, clusters] = values[:n_x]
    return share.argmax(axis=1)


def _run_highs(
    objective: np.ndarray,
    matrix: coo_array,
    lower: np.ndarray,
    upper: np.ndarray,
    n_integer: int,
) -> np.ndarray | None:
    """Minimise over [0, 1], the first `n_integer` columns integer; ``None`` where infeasible."""
    by_column = matrix.tocsc()
    n_rows, n_columns = matrix.shape
    # Gaps and tolerances are absolute somewhere inside: hand over costs of a known scale.
    largest = float(objective.max(initial=0.0))
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = n_columns, n_rows
    model.col_cost_ = objective * (1e5 / largest) if largest > 0 else objective
    model.col_lower_, model.col_upper_ = np.zeros(n_columns), np.ones(n_columns)
    model.row_lower_, model.row_upper_ = lower, upper
    model.a_matrix_.start_ = by_column.indptr.astype(np.int32)
    model.a_matrix_.index_ = by_column.indices.astype(np.int32)
    model.a_matrix_.value_ = by_column.data
    kinds = [highspy.HighsVarType.kInteger, highspy.HighsVarType.kContinuous]
    model.integrality_ = [kinds[j >= n_integer] for j in range(n_columns)]
    solver = highspy.Highs()
    for name, value in (
        ("output_flag", False),
        ("threads", 1),  # many small programmes: more threads only wait for each other
        ("mip_rel_gap", 0.0),
        ("mip_abs_gap", 0.0),
    ):
        solver.setOptionValue(name, value)
    solver.passModel(model)
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    return np.array(solver.getSolution().col_value)
