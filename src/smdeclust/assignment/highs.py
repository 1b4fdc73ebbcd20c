"""The MILP solver, asked again where its presolve fails."""

from __future__ import annotations

from typing import Any

from scipy.optimize import milp

# scipy's status of "other" ends: with no solution it is an error of the solver, not of the problem.
FAILED = 4


def solve_milp(cost: Any, *, options: Any, **problem: Any) -> Any:
    """As ``scipy.optimize.milp``; once more without presolve where that ends in a solve error."""
    result = milp(cost, options=options, **problem)
    if result.status == FAILED and result.x is None:
        again: Any = {**options, "presolve": False}
        result = milp(cost, options=again, **problem)
    return result
