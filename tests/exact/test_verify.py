"""verify rejects every certificate whose claim does not follow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from smdeclust.exact import Certificate, InvalidCertificateError, certify, verify
from smdeclust.exact.verify_bound import smallest_eigenvalues
from smdeclust.exceptions import InvalidInputError


@pytest.fixture(scope="module")
def case() -> tuple[np.ndarray, Certificate, dict[str, np.ndarray]]:
    """A problem with pairs whose proof needs multipliers, and its certificate."""
    rng = np.random.default_rng(2)
    X = np.vstack([rng.normal(size=(12, 2)) + c for c in ([0, 0], [3, 0], [1.5, 2.5])])
    labels = np.repeat([0, 1, 2], 12)
    pairs = {
        "must_link": np.array([[0, 1], [1, 2], [13, 14]]),
        "cannot_link": np.array([[0, 15], [3, 20], [4, 30], [16, 29]]),
    }
    certificate = certify(X, labels, tol=1e-5, **pairs)
    assert certificate.status == "optimal"
    return X, certificate, pairs


@pytest.fixture(scope="module")
def branched() -> tuple[np.ndarray, Certificate]:
    """A certificate with a real tree, from an unconstrained problem and few cuts."""
    from smdeclust.exact import certify as module  # noqa: F401
    from smdeclust.exact.admm import Settings
    from smdeclust.exact.relaxation import PointData
    from smdeclust.exact.tree import Search
    from tests.exact.brute import all_costs

    none = np.empty((0, 2), np.int64)
    X = np.random.default_rng(5).uniform(size=(10, 2))
    optimum, labels = all_costs(X, 3, none, none)[0]
    result = Search(
        PointData.build(X, 3, none, none),
        lambda node, Y: optimum,
        upper_bound=optimum,
        target=lambda upper: upper * (1 - 1e-5),
        settings=Settings(cuts_per_group=0.0, max_rounds=4, patience=0.0),
    ).run()
    assert result.n_nodes > 1
    lower = result.lower_bound - 1e-9
    return X, Certificate(
        labels, 3, lower, optimum, 1 - lower / optimum, "optimal", 1e-4, proof=result.proof
    )


def test_accepts_what_certify_returns(case: tuple) -> None:
    """The untouched certificate passes, with a bound at least as good as claimed."""
    X, certificate, pairs = case
    verified = verify(X, certificate, **pairs)
    assert verified.optimal
    assert verified.lower_bound >= certificate.lower_bound


def test_accepts_a_tree(branched: tuple) -> None:
    """A proof with several leaves passes."""
    X, certificate = branched
    assert len(verify(X, certificate).leaf_bounds) > 1


def edit(certificate: Certificate, name: str, change: Callable[[np.ndarray], np.ndarray]) -> object:
    """Return the certificate with one array of its proof changed."""
    value = change(getattr(certificate.proof, name).copy())
    return replace(certificate, proof=replace(certificate.proof, **{name: value}))


def put(index: object, value: object) -> Callable[[np.ndarray], np.ndarray]:
    """Set one entry."""

    def change(array: np.ndarray) -> np.ndarray:
        array[index] = value
        return array

    return change


def largest_up(array: np.ndarray) -> np.ndarray:
    """Make the largest entry larger by a fifth."""
    array[np.argmax(np.abs(array))] *= 1.2
    return array


TAMPERED = {
    "a multiplier larger": ("lambda_value", largest_up),
    "a multiplier doubled": ("lambda_value", put(slice(0, 3), 50.0)),
    "multipliers without sign": ("lambda_value", lambda a: -a),
    "multiplier not a number": ("lambda_value", put(0, np.nan)),
    "multiplier of no row": ("lambda_row", put(0, 10_000)),
    "multiplier of row -1": ("lambda_row", put(0, -1)),
    "multipliers dropped": ("lambda_value", lambda a: a * 0.0),
    "multipliers cut short": ("lambda_value", lambda a: a[:-5]),
    "a cut negative": ("cut_value", lambda a: -a),
    "cut of no row": ("cut_rows", put((0, 1), 10_000)),
    "cut without center": ("cut_rows", put((0, 0), -1)),
    "cuts with real rows": ("cut_rows", lambda a: a.astype(float)),
    "cuts of other rows": ("cut_rows", lambda a: np.where(a < 0, a, (a + 7) % 36)),
    "pointer out of range": ("lambda_ptr", put(-1, 10**7)),
    "leaf renamed": ("leaf_node", put(0, 3)),
    "no tree": ("parent", lambda a: a[:0]),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_rejects_a_changed_proof(case: tuple, what: str) -> None:
    """A proof changed in any of these ways no longer carries its claim."""
    X, certificate, pairs = case
    with pytest.raises(InvalidCertificateError):
        verify(X, edit(certificate, *TAMPERED[what]), **pairs)


def test_rejects_changed_claims_and_labels(case: tuple) -> None:
    """Bounds, labels and the number of clusters are checked, not believed."""
    X, certificate, pairs = case
    other = certificate.labels.copy()
    other[5] = 1 - other[5] if other[5] < 2 else 0
    missing = np.where(certificate.labels == 2, 1, certificate.labels)
    for bad in (
        replace(certificate, lower_bound=certificate.upper_bound * (1 + 1e-4)),
        replace(certificate, upper_bound=certificate.upper_bound * 0.99),
        replace(certificate, labels=other),
        replace(certificate, labels=missing),
        replace(certificate, labels=certificate.labels[:-1]),
        replace(certificate, n_clusters=2),
        replace(certificate, tol=1e-12, lower_bound=0.0),
    ):
        with pytest.raises(InvalidCertificateError):
            verify(X, bad, **pairs)


def test_rejects_another_problem(case: tuple) -> None:
    """Exchanged or added pairs, other points and other weights are another problem."""
    X, certificate, pairs = case
    swapped = {"must_link": pairs["cannot_link"], "cannot_link": pairs["must_link"]}
    with pytest.raises(InvalidCertificateError):
        verify(X, certificate, **swapped)
    with pytest.raises(InvalidCertificateError):
        verify(X, certificate, must_link=[(0, 12)], cannot_link=pairs["cannot_link"])
    with pytest.raises(InvalidCertificateError):
        verify(0.9 * X, certificate, **pairs)
    with pytest.raises(InvalidCertificateError):
        verify(X, certificate, sample_weight=np.linspace(0.5, 2.0, len(X)), **pairs)


def test_rejects_dropped_constraints(case: tuple) -> None:
    """Without the pairs, cheaper clusterings exist, and the claim does not hold for them."""
    X, certificate, _ = case
    with pytest.raises(InvalidCertificateError):
        verify(X, certificate)


def test_rejects_a_tree_with_a_leaf_missing(branched: tuple) -> None:
    """Dropping a leaf, its multipliers, or one side of a branching leaves clusterings uncovered."""
    X, certificate = branched
    proof = certificate.proof
    last = len(proof.parent) - 1
    without = {name: getattr(proof, name)[:-1] for name in ("parent", "kind", "first", "second")}
    keep = proof.leaf_node != last
    cut = replace(
        proof,
        **without,
        leaf_node=proof.leaf_node[keep],
        lambda_ptr=proof.lambda_ptr[:-1],
        cut_ptr=proof.cut_ptr[:-1],
    )
    for bad in (
        replace(proof, **without),
        cut,
        replace(proof, kind=np.abs(proof.kind)),
        replace(proof, first=np.where(np.arange(last + 1) == last, 0, proof.first)),
        replace(proof, leaf_node=proof.leaf_node[:-1]),
        replace(proof, parent=np.where(np.arange(last + 1) == last, last, proof.parent)),
    ):
        with pytest.raises(InvalidCertificateError):
            verify(X, replace(certificate, proof=bad))


def test_eigenvalue_bound_is_rigorous_on_hard_matrices() -> None:
    """The deducted margin covers the error on spectra that are known exactly."""
    rng = np.random.default_rng(0)
    for n in (3, 10, 40):
        # Exactly known spectra: symmetric integer matrices of the form a I + b 1 1'.
        a, b = int(rng.integers(-9, 9)), int(rng.integers(1, 9))
        A = a * np.eye(n) + b * np.ones((n, n))
        value, margin = smallest_eigenvalues(A, n - 1)
        exact = a * (n - 1)
        assert value - margin <= exact
        assert margin <= 1e-10 * (1 + np.linalg.norm(A))


def test_save_and_load(case: tuple, tmp_path: Path) -> None:
    """What is read back is what was written, and it verifies."""
    X, certificate, pairs = case
    path = tmp_path / "proof.npz"
    certificate.save(path)
    back = Certificate.load(path)
    assert back.lower_bound == certificate.lower_bound
    assert back.status == "optimal"
    assert np.array_equal(back.labels, certificate.labels)
    assert verify(X, back, **pairs).lower_bound == verify(X, certificate, **pairs).lower_bound


def test_load_refuses_what_is_no_certificate(tmp_path: Path) -> None:
    """Another file, or one with pickled objects, is refused with a clear error."""
    for content in ({"a": np.arange(3)}, {"format": np.array([{}], dtype=object)}):
        path = tmp_path / "other.npz"
        np.savez(path, **content)
        with pytest.raises(InvalidInputError, match="certificate"):
            Certificate.load(path)
    path = tmp_path / "text.npz"
    path.write_text("no archive")
    with pytest.raises(InvalidInputError, match="certificate"):
        Certificate.load(path)
