"""Nothing false is accepted: forged claims, forged files, and data where digits run out."""

from __future__ import annotations

import io
import sys
import zipfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smdeclust.exact import Certificate, InvalidCertificateError, certify, verify
from smdeclust.exact.certificate import Proof
from smdeclust.exceptions import InvalidInputError
from tests.exact.brute import all_costs, random_problem


@pytest.fixture(scope="module")
def honest() -> tuple[np.ndarray, Certificate]:
    """Three blobs, their best clustering, and a true certificate."""
    rng = np.random.default_rng(7)
    X = np.vstack([rng.normal(size=(15, 2)) + c for c in ([0, 0], [4, 0], [2, 4])])
    certificate = certify(X, np.repeat([0, 1, 2], 15), tol=1e-5)
    assert certificate.status == "optimal"
    return X, certificate


def empty_claim(X: np.ndarray, labels: np.ndarray, k: int, **claims: object) -> Certificate:
    """A certificate with no proof at all that claims to be optimal."""
    parts = [X[labels == c] for c in np.unique(labels)]
    upper = float(sum(np.sum((part - part.mean(axis=0)) ** 2) for part in parts if len(part)))
    values: dict[str, object] = {"gap": 0.0, "status": "optimal", "tol": 1e-4, **claims}
    return Certificate(labels, k, 0.0, upper, **values)  # type: ignore[arg-type]


def test_labels_that_are_no_numbers(honest: tuple) -> None:
    """NaN as the label of all or of one cluster is refused, and so are other fractions."""
    X, certificate = honest
    for value in (np.nan, 0.5):
        for rows in (slice(None), slice(0, 15)):
            labels = certificate.labels.astype(float)
            labels[rows] = value
            with pytest.raises(InvalidCertificateError):
                verify(X, replace(certificate, labels=labels))
            with pytest.raises(InvalidCertificateError):
                verify(X, empty_claim(X, labels, len(np.unique(labels))))
            with pytest.raises(InvalidCertificateError):
                verify(X, certificate, labels=labels)
    with pytest.raises(InvalidInputError, match="NaN"):
        certify(X, np.full(len(X), np.nan))


def test_a_tolerance_that_says_nothing(honest: tuple) -> None:
    """Random labels with an empty proof and a tolerance of 1 or infinity prove nothing."""
    X, _ = honest
    labels = np.random.default_rng(0).integers(0, 3, len(X))
    for tol in (1.0, np.inf, np.nan, -1.0):
        with pytest.raises(InvalidCertificateError):
            verify(X, empty_claim(X, labels, 3, tol=tol))
    lax = empty_claim(X, labels, 3, tol=0.999999, status="time_limit")
    assert not verify(X, lax).optimal
    with pytest.raises(InvalidCertificateError):
        verify(X, lax, tol=np.inf)
    with pytest.raises(InvalidInputError, match="tol"):
        certify(X, labels, tol=np.inf)


def test_the_caller_says_what_is_to_be_proven(honest: tuple) -> None:
    """K, the tolerance and the labels in question are the caller's; the result repeats them."""
    X, certificate = honest
    alone = empty_claim(X, np.arange(len(X)), len(X))
    with pytest.raises(InvalidCertificateError, match="clusters"):
        verify(X, alone, n_clusters=3)
    assert verify(X, alone).n_clusters == len(X)  # true, and it says of which problem
    found = verify(X, certificate, n_clusters=3, tol=1e-4)
    assert (found.n_clusters, found.tol, found.optimal) == (3, 1e-4, True)
    assert not verify(X, certificate, tol=0.0).optimal
    worse = certificate.labels.copy()
    worse[0] = 1
    about_worse = verify(X, certificate, labels=worse)
    assert about_worse.upper_bound > certificate.upper_bound
    assert not about_worse.optimal
    with pytest.raises(InvalidCertificateError):
        verify(X, certificate, labels=np.zeros(len(X), int))


def test_data_whose_squares_vanish(honest: tuple) -> None:
    """Scaled by 1e-165 every cost is zero in floating point: refused, not optimal."""
    X, certificate = honest
    tiny = 1e-165 * X
    labels = np.random.default_rng(0).integers(0, 3, len(X))
    with pytest.raises(InvalidCertificateError, match="vanish"):
        verify(tiny, replace(certificate, labels=labels, upper_bound=0.0, lower_bound=0.0))
    # Smaller differences inside of clusters than can be squared: an upper bound of 0 is untrue.
    near = np.array([[0.0], [1e-170], [1.0], [1.0]])
    with pytest.raises(InvalidCertificateError):
        verify(near, empty_claim(near, np.array([0, 0, 1, 1]), 2))


def test_multipliers_that_overflow(honest: tuple) -> None:
    """A leaf without a finite bound is refused, also beside other leaves."""
    X, certificate = honest
    proof = certificate.proof
    for value in (1e308, np.inf, np.nan):
        huge = replace(proof, lambda_value=np.full_like(proof.lambda_value, value))
        with pytest.raises(InvalidCertificateError):
            verify(X, replace(certificate, proof=huge, lower_bound=0.0, status="time_limit"))


def test_claims_that_are_no_numbers(honest: tuple) -> None:
    """Bounds of NaN and infinity, and other types, are refused."""
    X, certificate = honest
    for change in (
        {"lower_bound": np.nan},
        {"lower_bound": -np.inf},
        {"upper_bound": np.inf},
        {"upper_bound": np.nan},
        {"upper_bound": "3"},
        {"n_clusters": 3.0},
        {"n_clusters": 0},
        {"tol": "1"},
    ):
        with pytest.raises(InvalidCertificateError):
            verify(X, replace(certificate, **change))


def test_tight_clusters_far_apart_are_not_called_optimal() -> None:
    """Where the cost is lost in the digits of the data, the status says so."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(scale=1e-5, size=(20, 2)) + [1000.0 * c, 0] for c in range(3)])
    good = np.repeat([0, 1, 2, 3], [20, 20, 10, 10])
    bad = good.copy()
    bad[50:] = rng.permutation(bad[40:])[:10]
    result = certify(X, bad)
    assert result.status == "precision_limit" or result.gap <= 1e-4
    assert verify(X, result).optimal == (result.status == "optimal")
    with pytest.raises(InvalidCertificateError):
        verify(X, empty_claim(X, bad, 4))


def test_one_row_far_away_does_not_make_anything_optimal() -> None:
    """A sentinel of 1e9 in one row: random labels of the others are not proven optimal."""
    rng = np.random.default_rng(1)
    X = np.vstack([rng.normal(size=(40, 3)), np.full((1, 3), 1e9)])
    labels = np.concatenate([rng.integers(0, 2, 40), [2]])
    result = certify(X, labels)
    assert result.status != "optimal" or result.upper_bound < 150.0
    with pytest.raises(InvalidCertificateError):
        verify(X, empty_claim(X, labels, 3))


@pytest.mark.parametrize("spread", [1e-2, 1e-4])
def test_the_easiest_data_end_at_the_root(spread: float) -> None:
    """Tight clusters that the root settles need no branching, at any tolerance."""
    rng = np.random.default_rng(3)
    centers = np.array([[0, 0], [5, 0], [0, 7]])
    X = np.vstack([rng.normal(scale=spread, size=(14, 2)) + c for c in centers])
    for tol in (1e-4, 1e-6, 0.0):
        result = certify(X, np.repeat([0, 1, 2], 14), tol=tol)
        assert result.status in {"optimal", "precision_limit"}
        assert result.n_nodes <= 1
        verify(X, result)


@pytest.mark.parametrize("seed", range(40))
def test_no_time_gives_the_spectral_bound(seed: int) -> None:
    """With ``max_time=0`` the bound without multipliers is there; it is positive and verifies."""
    X = np.random.default_rng(seed).normal(size=(30, 5))
    labels = (X[:, 0] > 0).astype(int)
    result = certify(X, labels, max_time=0.0)
    assert result.status == "time_limit"
    assert result.lower_bound > 0.3 * result.upper_bound
    assert verify(X, result).lower_bound >= result.lower_bound


@pytest.mark.parametrize("place", ["improve", "leaf_bound", "new_cuts"])
def test_an_interrupt_keeps_the_bound(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C, wherever it strikes, ends the search; what was proven is returned and verifies."""
    X = np.random.default_rng(0).uniform(size=(60, 2))
    labels = np.random.default_rng(1).integers(0, 6, 60)
    at_once = certify(X, labels, max_time=0.0)
    module = sys.modules[
        {"improve": "smdeclust.exact.block", "leaf_bound": "smdeclust.exact.tree"}.get(
            place, "smdeclust.exact.cuts"
        )
    ]
    original, calls = getattr(module, place), []

    def strike(*arguments: object, **options: object) -> object:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(*arguments, **options)

    monkeypatch.setattr(module, place, strike)
    result = certify(X, labels, tol=0.0)
    assert len(calls) == 2
    assert result.status == "interrupted"
    assert result.lower_bound >= at_once.lower_bound
    verify(X, result)


def fraction_cost(X: np.ndarray, labels: np.ndarray) -> Fraction:
    """Cost in exact arithmetic."""
    total = Fraction(0)
    for label in np.unique(labels):
        rows = [[Fraction(float(v)) for v in row] for row in X[labels == label]]
        for column in zip(*rows, strict=True):
            total += sum(v * v for v in column) - sum(column) ** 2 / len(column)
    return total


@pytest.mark.parametrize("seed", range(40))
def test_bounds_hold_in_exact_arithmetic(seed: int) -> None:
    """Lower and upper bound enclose the optimum, computed in fractions."""
    rng = np.random.default_rng(3000 + seed)
    X, k, must, cannot, _ = random_problem(rng)
    X = X * 10.0 ** rng.integers(-3, 4) + 10.0 ** rng.integers(-2, 6)
    best = min(all_costs(X, k, must, cannot)[:3], key=lambda pair: fraction_cost(X, pair[1]))[1]
    result = certify(X, best, must_link=must, cannot_link=cannot, tol=1e-6)
    found = verify(X, result, must_link=must, cannot_link=cannot, n_clusters=k)
    assert Fraction(found.lower_bound) <= fraction_cost(X, best)
    assert Fraction(found.upper_bound) >= fraction_cost(X, result.labels)


def rewritten(path: Path, name: str, content: bytes | None) -> Path:
    """The archive with one member replaced or left out."""
    other = path.with_name("other.npz")
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(other, "w") as target:
        for item in source.namelist():
            if item != name:
                target.writestr(item, source.read(item))
        if content is not None:
            target.writestr(name, content, compress_type=zipfile.ZIP_DEFLATED)
    return other


def forged_header(shape: str) -> bytes:
    """An array file whose header promises more than it has."""
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + bytes(16)


def test_hostile_files_are_refused_before_memory_is_taken(honest: tuple, tmp_path: Path) -> None:
    """Forged headers, bombs, missing and foreign members, damage: one clear sentence each."""
    X, certificate = honest
    path = tmp_path / "proof.npz"
    certificate.save(path)
    member = "proof_lambda_value.npy"
    bomb = io.BytesIO()
    np.save(bomb, np.zeros(300_000_000, np.uint8))
    for content in (
        forged_header("(1000000000000,)"),
        forged_header("(-1,)"),
        forged_header("(2, 2)"),
        forged_header("(2, 2"),  # an open bracket: numpy asks tokenize, which has its own error
        b"nothing",
        None,
    ):
        with pytest.raises(InvalidInputError, match="not a certificate"):
            Certificate.load(rewritten(path, member, content))
    with pytest.raises(InvalidInputError, match="unpack"):
        Certificate.load(rewritten(path, member, bomb.getvalue()), max_bytes=10**8)
    with pytest.raises(InvalidInputError, match="expected only arrays"):
        Certificate.load(rewritten(path, "readme.txt", b"hello"))
    damaged = bytearray(path.read_bytes())
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(60):
        broken = bytearray(damaged)
        for at in rng.integers(0, len(broken), 8):
            broken[at] ^= int(rng.integers(1, 256))
        path.with_name("broken.npz").write_bytes(bytes(broken))
        try:
            verify(X, Certificate.load(path.with_name("broken.npz")), n_clusters=3)
        except (InvalidInputError, InvalidCertificateError):
            refused += 1
    assert refused >= 55  # the rest hit bytes that carry no value, such as time stamps
    path.with_name("cut.npz").write_bytes(bytes(damaged[: len(damaged) // 2]))
    with pytest.raises(InvalidInputError, match="not a certificate"):
        Certificate.load(path.with_name("cut.npz"))


def test_cuts_without_width_are_refused(honest: tuple) -> None:
    """A cut needs a center and a member."""
    X, certificate = honest
    for shape in ((3, 0), (3, 1), (0, 0)):
        proof = replace(
            certificate.proof,
            cut_rows=np.zeros(shape, np.int32),
            cut_value=np.zeros(shape[0]),
            cut_ptr=np.array([0, shape[0]]),
        )
        with pytest.raises(InvalidCertificateError):
            verify(X, replace(certificate, proof=proof))


def test_memory_grows_with_groups_not_points() -> None:
    """20,000 points in 40 groups are checked without an N x N matrix."""
    import tracemalloc

    rng = np.random.default_rng(0)
    group = np.arange(20_000) % 40
    X = rng.normal(size=(40, 2))[group] + 0.1 * rng.normal(size=(20_000, 2))
    must = np.column_stack([np.arange(40, 20_000), np.arange(19_960)])
    labels = (X[:40, 0] > 0).astype(int)[group]
    result = certify(X, labels, must_link=must, tol=1e-4)
    tracemalloc.start()
    verify(X, result, must_link=must, n_clusters=2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6


def test_one_multiplier_cannot_ask_for_memory() -> None:
    """A forged certificate of one multiplier at N = 40,000 is refused before memory is taken."""
    import tracemalloc

    X = np.random.default_rng(0).normal(size=(40_000, 2))
    labels = (X[:, 0] > 0).astype(int)
    honest = certify(X, labels, max_time=0)
    proof = replace(
        Proof(),
        lambda_row=np.array([0]),
        lambda_column=np.array([1]),
        lambda_value=np.array([1e-9]),
        lambda_ptr=np.array([0, 1]),
    )
    forged = replace(honest, proof=proof, lower_bound=0.0, status="time_limit")
    tracemalloc.start()
    with pytest.raises(InvalidCertificateError, match="40000 groups takes 119.2 GiB"):
        verify(X, forged, n_clusters=2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6


def test_mutations_of_a_certificate_are_never_wrong(honest: tuple) -> None:
    """Whatever is changed, what still passes is true: its bound is at most the optimum."""
    X, certificate = honest
    optimum = certificate.upper_bound
    rng = np.random.default_rng(0)
    names = [n for n in Proof.__dataclass_fields__ if getattr(certificate.proof, n).size]
    for _ in range(150):
        name = names[rng.integers(len(names))]
        array = getattr(certificate.proof, name).copy()
        at = tuple(rng.integers(0, s) for s in array.shape)
        if array.dtype.kind == "f":
            array[at] *= rng.choice([-1.0, 0.0, 0.5, 2.0, 1e6])
        else:
            array[at] += rng.choice([-100, -1, 1, 7])
        bad = replace(certificate, proof=replace(certificate.proof, **{name: array}))
        try:
            found = verify(X, replace(bad, lower_bound=0.0, status="time_limit"))
        except InvalidCertificateError:
            continue
        assert found.lower_bound <= optimum * (1 + 1e-9)


@pytest.mark.parametrize("route", ["weights", "far point"])
def test_costs_that_vanish_are_refused(route: str) -> None:
    """Squares too small for numbers are not a cost of zero: random labels are never optimal."""
    X = np.random.default_rng(1).normal(size=(40, 3))
    labels = np.random.default_rng(0).integers(0, 3, 40)
    given: dict[str, Any] = {}
    if route == "weights":
        X, given = X * 1e-120, {"sample_weight": np.full(40, 1e-99)}
    else:
        X = np.vstack([X * 1e-165, np.full((1, 3), 1e-139)])
        labels = np.append(labels, 3)
    k = int(labels.max()) + 1
    forged = Certificate(labels, k, 0.0, 0.0, 0.0, "optimal", 1e-4)
    with pytest.raises(InvalidCertificateError, match="vanish"):
        verify(X, forged, n_clusters=k, **given)
    with pytest.raises((InvalidInputError, InvalidCertificateError)):
        certify(X, labels, max_time=2, **given)


def test_costs_that_overflow_are_refused() -> None:
    """Large numbers times large weights: a sentence, not an OverflowError."""
    X = np.random.default_rng(1).normal(size=(10, 2)) * 1e130
    forged = Certificate(np.arange(10) % 2, 2, 0.0, 1.0, 1.0, "time_limit", 1e-4)
    with pytest.raises(InvalidCertificateError, match="overflow"):
        verify(X, forged, n_clusters=2, sample_weight=np.full(10, 1e99))


@pytest.mark.parametrize("seed", range(40))
def test_a_part_far_smaller_than_the_whole_has_a_true_bound(seed: int) -> None:
    """Rows that are tiny beside the spread of all: no part is bounded above its optimum."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 12))
    near = rng.normal(size=n) * 2.0 ** (-74 + int(rng.integers(-1, 3)))
    X = np.concatenate([near, [2.0**460, 2.0**460]])[:, None]
    labels = np.concatenate([np.zeros(n, int), [1, 1]])
    together = [[0, i] for i in range(1, n)]
    exact = [Fraction(value) for value in near.tolist()]
    mean = sum(exact, Fraction(0)) / n
    optimum = sum(((value - mean) ** 2 for value in exact), Fraction(0))
    cost = float(optimum) * (1 + 1e-15)
    none, zero = np.array([-1, -1]), np.zeros(3, int)
    proof = Proof(
        parent=none, kind=zero[:2], first=none, second=none, leaf_node=np.array([0, 1]),
        lambda_ptr=zero, cut_ptr=zero, size_ptr=zero, part=labels,
    )  # fmt: skip
    forged = Certificate(labels, 2, 0.0, cost, 1.0, "parts", 1e-4, proof=proof)
    try:
        found = verify(X, forged, must_link=together, n_clusters=2)
    except InvalidCertificateError:
        return
    assert Fraction(found.lower_bound) <= optimum <= Fraction(found.upper_bound)


@pytest.mark.parametrize(
    "given",
    [
        {"n_jobs": -5}, {"n_jobs": 0}, {"n_jobs": "x"}, {"tol": "a"}, {"tol": None},
        {"max_time": "a"}, {"max_time": np.nan}, {"max_time": -1}, {"labels": [None] * 12},
        {"labels": np.zeros((12, 1), int)}, {"parts": 0}, {"parts": 1.5},
    ],
)  # fmt: skip
def test_bad_options_get_a_sentence(given: dict[str, Any]) -> None:
    """Whatever is wrong about an option, the error names it."""
    X = np.random.default_rng(0).normal(size=(12, 2))
    options = {"labels": np.arange(12) % 3} | given
    with pytest.raises(InvalidInputError, match=next(iter(given))):
        certify(X, **options)


@pytest.mark.parametrize("noise", [1e-10, 1e-13, 1e-16])
def test_near_duplicates_are_verified(noise: float) -> None:
    """Clusters of nearly equal points, one of them light: certify and verify agree on the cost,
    which is not below the true one."""
    rng = np.random.default_rng(3)
    X = 0.3 + np.repeat(np.arange(3.0), 8)[:, None] + noise * rng.normal(size=(24, 2))
    weights = np.where(np.arange(24) % 8 == 0, 1e-40, 1.0)
    labels = np.repeat(np.arange(3), 8)
    found = certify(X, labels, sample_weight=weights, max_time=5)
    checked = verify(X, found, sample_weight=weights, n_clusters=3)
    cost = Fraction(0)
    for label in range(3):
        rows = [(Fraction(weights[i]), [Fraction(v) for v in X[i].tolist()]) for i in range(24)
                if labels[i] == label]  # fmt: skip
        total = sum(w for w, _ in rows)
        for j in range(2):
            mean = sum(w * x[j] for w, x in rows) / total
            cost += sum(w * (x[j] - mean) ** 2 for w, x in rows)
    assert Fraction(checked.lower_bound) <= cost <= Fraction(checked.upper_bound)
