"""Parts: they keep groups whole and look alike; their bounds add up, verify, and can be resumed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from smdeclust import SMDEClust
from smdeclust.exact import Certificate, InvalidCertificateError, certify, verify
from smdeclust.exact.admm import Ending
from smdeclust.exact.block import cost_of
from smdeclust.exact.split import split
from smdeclust.exceptions import InfeasibleConstraintsError, InvalidInputError
from smdeclust.problem import Problem
from tests.exact.brute import all_costs, random_problem


@pytest.fixture(scope="module")
def case() -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Three overlapping blobs of 150 points with pairs, and their labels."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 50)
    X = rng.normal(size=(150, 2)) + np.array([[0, 0], [5, 0], [2, 5]])[labels]
    pairs = rng.integers(0, 150, (30, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    return X, labels, {"must_link": pairs[same], "cannot_link": pairs[~same]}


@pytest.fixture(scope="module")
def certificate(case: tuple) -> Certificate:
    """What four parts prove about it."""
    X, labels, pairs = case
    return certify(X, labels, parts=4, **pairs)


@pytest.mark.parametrize("seed", range(20))
def test_split_keeps_groups_whole_and_spreads_clusters(seed: int) -> None:
    """Every must-link group is in one part, every part has its share of every cluster."""
    rng = np.random.default_rng(seed)
    n, k, p = 400, int(rng.integers(2, 6)), int(rng.integers(2, 6))
    labels = rng.permutation(np.arange(n) % k)
    X = rng.normal(size=(n, 3)) + 4.0 * rng.normal(size=(k, 3))[labels]
    pairs = rng.integers(0, n, (120, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    weights = rng.uniform(0.5, 2.0, n) if seed % 2 else None
    problem = Problem.build(X, k, pairs[same], pairs[~same], weights)
    part = split(problem, labels, p)
    assert set(np.unique(part)) == set(range(p))
    assert np.all(part[pairs[same][:, 0]] == part[pairs[same][:, 1]])
    kept = part[pairs[~same][:, 0]] == part[pairs[~same][:, 1]]
    assert kept.mean() > 0.7
    assert np.bincount(part).max() <= 1.5 * n / p
    # Much less is lost between the means of the parts than by a random split.
    w = np.ones(n) if weights is None else weights

    def lost(parts: np.ndarray) -> float:
        total = 0.0
        for c in range(k):
            mean = np.average(X[labels == c], axis=0, weights=w[labels == c])
            for q in range(p):
                rows = (labels == c) & (parts == q)
                if w[rows].sum() > 0:
                    own = np.average(X[rows], axis=0, weights=w[rows])
                    total += w[rows].sum() * float(np.sum((own - mean) ** 2))
        return total

    assert lost(part) < 0.5 * lost(rng.permutation(np.arange(n) % p))


def test_parts_prove_a_bound_that_verifies(case: tuple, certificate: Certificate) -> None:
    """The sum of the parts is near the cost, says what it is, and verifies, also on threads."""
    X, _, pairs = case
    assert certificate.status in {"parts", "optimal"}
    assert certificate.gap < 0.1
    for n_jobs in (None, 2):
        found = verify(X, certificate, n_clusters=3, n_jobs=n_jobs, **pairs)
        assert found.n_parts == 4
        assert found.lower_bound >= certificate.lower_bound
    assert certify(X, certificate.labels, **pairs).lower_bound >= certificate.lower_bound


@pytest.mark.parametrize("seed", range(40))
def test_parts_never_exceed_the_optimum(seed: int) -> None:
    """On enumerated problems the sum over two or three parts is at most the optimum."""
    rng = np.random.default_rng(9000 + seed)
    X, k, must, cannot, weights = random_problem(rng, weighted=seed % 3 == 0)
    if weights is not None:
        weights[rng.integers(len(weights))] = 0.0
    pairs = {"must_link": must, "cannot_link": cannot, "sample_weight": weights}
    try:
        problem = Problem.build(X, k, must, cannot, weights)
    except (InfeasibleConstraintsError, InvalidInputError):  # too few groups have weight
        return
    labels = all_costs(X, k, must, cannot, None)[-1][1]
    best = min(cost_of(problem, found) for _, found in all_costs(X, k, must, cannot, None))
    result = certify(X, labels, parts=min(problem.n_groups, 2 + seed % 2), tol=1e-6, **pairs)
    found = verify(X, result, n_clusters=k, **pairs)
    assert found.lower_bound <= best * (1 + 1e-12) + 1e-15


def test_a_part_cannot_be_forged(case: tuple, certificate: Certificate) -> None:
    """Groups in two parts, a part left out or counted twice, foreign rows: all refused."""
    X, _, pairs = case
    proof = certificate.proof
    torn = proof.part.copy()
    torn[pairs["must_link"][0]] = [0, 1]
    for part in (
        torn,
        np.zeros_like(proof.part),
        np.where(proof.part == 3, 2, proof.part),
        proof.part + 1,
        np.roll(proof.part, 1),
        proof.part[:-1],
        proof.part.astype(float),
    ):
        with pytest.raises(InvalidCertificateError):
            verify(X, replace(certificate, proof=replace(proof, part=part)), **pairs)
    roots = np.flatnonzero(proof.parent < 0)
    fewer = replace(proof, parent=np.where(np.arange(len(proof.parent)) == roots[-1], 0, -1))
    with pytest.raises(InvalidCertificateError):
        verify(X, replace(certificate, proof=fewer), **pairs)


def test_finished_parts_are_used_again(case: tuple, tmp_path: Path) -> None:
    """A second run takes the parts from the folder; a damaged file is proven again."""
    X, labels, pairs = case
    first = certify(X, labels, parts=3, folder=tmp_path, **pairs)
    files = sorted(tmp_path.glob("part-*.npz"))
    assert len(files) == 3
    files[0].write_bytes(files[0].read_bytes()[:100])
    again = certify(X, labels, parts=3, folder=tmp_path, **pairs)
    assert again.n_nodes == 1
    assert again.lower_bound == pytest.approx(first.lower_bound, rel=1e-9)
    verify(X, again, **pairs)


def test_processes_prove_the_same(case: tuple) -> None:
    """Two processes give the bound of one; progress is reported."""
    X, labels, pairs = case
    said: list[str] = []
    one = certify(X, labels, parts=2, **pairs)
    two = certify(X, labels, parts=2, n_jobs=2, progress=said.append, **pairs)
    assert two.lower_bound == pytest.approx(one.lower_bound, rel=1e-9)
    assert len(said) == 2


def test_no_time_gives_the_free_bound_of_every_part(case: tuple) -> None:
    """With no time, the parts' bounds without multipliers add up, and verify."""
    X, labels, pairs = case
    result = certify(X, labels, parts=3, max_time=0.0, **pairs)
    assert result.status == "time_limit"
    assert result.lower_bound > 0.0
    verify(X, result, **pairs)


def test_parts_that_are_not_begun_count_as_out_of_time(case: tuple, monkeypatch) -> None:
    """Where the share of a part is too short to begin it, the free bound stands and is named."""
    X, labels, pairs = case
    monkeypatch.setattr("smdeclust.exact.parts._LEAST_SHARE", 1e6)
    result = certify(X, labels, parts=3, max_time=100.0, **pairs)
    free = certify(X, labels, parts=3, max_time=0.0, **pairs)
    assert result.status == "time_limit"
    assert result.lower_bound == free.lower_bound
    verify(X, result, **pairs)


def test_time_that_is_left_joins_parts(case: tuple) -> None:
    """With time left, the weakest parts are proven together, which proves more."""
    X, labels, pairs = case
    short = certify(X, labels, parts=6, **pairs)
    longer = certify(X, labels, parts=6, max_time=60.0, **pairs)
    assert longer.lower_bound > short.lower_bound
    assert verify(X, longer, **pairs).n_parts < 6


def test_parts_must_be_a_number(case: tuple) -> None:
    """Anything else is refused with what is possible."""
    X, labels, pairs = case
    for parts in (0, "all", 1000):
        with pytest.raises(InvalidInputError, match="parts"):
            certify(X, labels, parts=parts, **pairs)


def test_an_interrupted_part_ends_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while a part is proven: no further part is begun, and the status says so."""
    import smdeclust.exact.parts as module

    begun = []

    def interrupted(problem, labels, **given):
        begun.append(len(labels))
        return replace(prove(problem, labels, **given), ending=Ending.INTERRUPTED)

    prove = module.bound_block
    monkeypatch.setattr(module, "bound_block", interrupted)
    X = np.random.default_rng(0).normal(size=(90, 2))
    labels = SMDEClust(3, random_state=0).fit_predict(X)
    found = certify(X, labels, parts=3, tol=1e-9, max_time=20)
    assert begun == [30]
    assert found.status == "interrupted"
    assert verify(X, found, n_clusters=3).lower_bound >= found.lower_bound > 0


def test_interrupted_while_points_are_dealt(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same before there are any parts."""
    import smdeclust.exact.parts as module

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "split", interrupted)
    X = np.random.default_rng(0).normal(size=(60, 2))
    found = certify(X, np.arange(60) % 3, parts=3)
    assert found.status == "interrupted"
    assert verify(X, found, n_clusters=3).lower_bound >= found.lower_bound
