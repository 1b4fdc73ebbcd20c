"""The paper's data: optima proven to 1e-6 agree with the best values known."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from smdeclust.estimators.exact import ExactMSSC
from smdeclust.exact import verify


@pytest.mark.data
@pytest.mark.parametrize(
    "instance", ["iris/ml_0_cl_50_0", "iris/ml_50_cl_50_1", "wine/ml_100_cl_0_0"]
)
def test_optimum_is_the_best_known(paper_data: Path, instance: str) -> None:
    """The proven optimum is the best value known, and the certificate verifies."""
    name, configuration = instance.split("/")
    folder = paper_data / "set1" / name
    with (folder / f"{name}.txt").open() as stream:
        k = int(stream.readline().split()[2])
        X = np.loadtxt(stream)
    pairs: dict[str, list[tuple[int, int]]] = {"ML": [], "CL": []}
    for line in (folder / "constraints" / f"{configuration}.txt").read_text().splitlines():
        if line.strip():
            kind, i, j = line.split()
            pairs[kind].append((int(i), int(j)))
    links = {"must_link": pairs["ML"] or None, "cannot_link": pairs["CL"] or None}
    model = ExactMSSC(k, tol=1e-6, random_state=0).fit(X, **links)
    best = json.loads((paper_data / "best_known.json").read_text())[instance]
    assert model.status_ == "optimal"
    assert model.inertia_ == pytest.approx(best, rel=1e-6)
    assert verify(X, model.certificate_, **links).gap <= 1e-6
