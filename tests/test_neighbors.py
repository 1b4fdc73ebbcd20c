"""Packages that people have beside this one: imports in either order, and both work."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

OURS = """
import numpy as np
from smdeclust import SMDEClust
X = np.random.default_rng(0).normal(size=(40, 2))
links = [(i, j) for i in range(8) for j in range(i)]
assert len(set(SMDEClust(8, search="quick", random_state=0).fit(X, cannot_link=links).labels_)) == 8
import sys
assert "highspy" not in sys.modules
"""
THEIRS = {
    "ortools": """
from ortools.graph.python import min_cost_flow
from ortools.linear_solver import pywraplp
from ortools.sat.python import cp_model
solver = pywraplp.Solver.CreateSolver("GLOP")
x = solver.NumVar(0, 3, "x")
solver.Maximize(x)
assert solver.Solve() == 0 and abs(x.solution_value() - 3) < 1e-6
""",
    "k_means_constrained": """
import numpy as np
from k_means_constrained import KMeansConstrained
KMeansConstrained(2, size_min=2).fit(np.arange(8.0)[:, None])
""",
    "torch": "import torch; assert torch.ones(3).sum() == 3\n",
    "pandas": "import pandas; assert len(pandas.DataFrame({'a': [1]})) == 1\n",
}


@pytest.mark.parametrize("name", THEIRS)
def test_ours_after_a_neighbor(name: str) -> None:
    """A dense core is solved after a neighbor was imported, and the neighbor works after that."""
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is absent")
    run(THEIRS[name] + OURS + THEIRS[name])


def test_ours_before_all_neighbors() -> None:
    """A dense core is solved before, between and after all neighbors that are installed."""
    run(OURS + "".join(THEIRS[name] + OURS for name in THEIRS if importlib.util.find_spec(name)))


def run(code: str) -> None:
    """Run the code in a process of its own."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
