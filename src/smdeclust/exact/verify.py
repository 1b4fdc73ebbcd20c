"""Check a certificate from the data alone: short, and no code shared with the solver.

The labels must keep every pair; their cost is bounded above. The rows are split into parts (mostly
one) that keep must-link groups whole. A clustering of all rows, restricted to a part, is a
clustering of the part, and costs there at least what the part's tree proves (`verify_tree`: its
leaves cover every clustering; `verify_bound`: the bound of one leaf). Costs add up over parts.
Everything is bounded with its rounding errors, so the result holds in exact arithmetic.
"""

import math
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from joblib import Parallel, delayed  # type: ignore[import-untyped]
from scipy.optimize import linear_sum_assignment

from smdeclust.constraints.given import hard_pairs
from smdeclust.exact.certificate import Certificate, Proof, relative_gap
from smdeclust.exact.verify_bound import EPS, MOST_BYTES, Leaf, gamma, in_range, leaf_bound, require
from smdeclust.exact.verify_tree import Tree, check_forest, close, iterate, multipliers_of

DEFAULT_TOL = 1e-4
# Squares of larger numbers overflow; squares of smaller differences vanish.
_LARGEST, _SMALLEST = 1e140, 1e-140
_LIGHTEST = 1e-60
# Costs beyond these powers of two, and costs below this number, would lose digits or all of them.
_MOST_EXPONENT = 960
VANISHING = 1e-290


@dataclass(frozen=True)
class VerifiedBound:
    """The result of `verify`, which holds in exact arithmetic.

    Attributes
    ----------
    lower_bound, upper_bound
        A lower bound on the objective of every feasible clustering, and an upper bound on the
        objective of the labels.
    gap
        ``(upper - lower) / upper``, or 0 if the objective of the labels is 0.
    optimal
        Whether the gap is within `tol`.
    leaf_bounds
        The bound of every leaf. It is infinite if the pairs of the leaf contradict each other.
    n_clusters, tol
        The number of clusters, and the gap at which the clustering counts as optimal.
    n_parts
        The number of parts into which the points were split.
    """

    lower_bound: float
    upper_bound: float
    gap: float
    optimal: bool
    leaf_bounds: tuple[float, ...]
    n_clusters: int = 0
    tol: float = DEFAULT_TOL
    n_parts: int = 1


@dataclass(frozen=True)
class Data:
    """The problem as given: points scaled to size about 1, weights, pairs, K and sizes."""

    X: np.ndarray
    w: np.ndarray
    together: np.ndarray
    apart: np.ndarray
    n_clusters: int
    size_min: np.ndarray
    size_max: np.ndarray
    shift: int
    weight_shift: int  # the points and the weights as given are 2 to these powers larger

    @property
    def exponent(self) -> int:
        """Costs of the data as given are 2 to this power larger."""
        return 2 * self.shift + self.weight_shift


def verify(
    X: Any,
    certificate: Certificate,
    *,
    must_link: Any = None,
    cannot_link: Any = None,
    sample_weight: Any = None,
    n_clusters: int | None = None,
    tol: float | None = None,
    labels: Any = None,
    size_min: Any = None,
    size_max: Any = None,
    n_jobs: int | None = None,
    max_bytes: int = MOST_BYTES,
    constraints: Any = None,
) -> VerifiedBound:
    """Check a certificate, and compute its bound from the data.

    Parameters
    ----------
    X
        The (N, d) points.
    certificate
        The result of `certify` or `Certificate.load`.
    must_link, cannot_link
        The pairs of the problem.
    sample_weight
        The (N,) non-negative weights, if the problem has weights.
    n_clusters
        The number of clusters. By default, any number is accepted, and the result contains it.
    tol
        The relative gap at which the clustering counts as optimal. By default, 1e-4 or the
        certificate's own tolerance, whichever is smaller.
    labels
        The clustering to judge. By default, that of the certificate.
    size_min, size_max
        The bounds on the number of points in a cluster, if the problem has such bounds.
    n_jobs
        The number of threads for the parts of a large certificate. None means 1.
    max_bytes
        The maximum memory for one leaf. Certificates that need more are rejected.
    constraints
        A :class:`~smdeclust.Constraints` object instead of the pairs.

    Returns
    -------
    VerifiedBound
        What is proven.

    Raises
    ------
    InvalidCertificateError
        The labels, the tree, a multiplier or the claimed bound is not valid.
    """
    must_link, cannot_link = hard_pairs("verify", X, constraints, must_link, cannot_link)
    k = certificate.n_clusters
    require(isinstance(k, int | np.integer) and k >= 1, f"{k!r} clusters")
    if n_clusters is not None:
        require(k == n_clusters, f"it is about {k} clusters, not {n_clusters}")
    claimed = certificate.tol
    require(_number(claimed) and 0 <= claimed < 1, f"its tolerance is {claimed!r}, not in [0, 1)")
    require(tol is None or (_number(tol) and 0 <= tol < 1), f"tol must be in [0, 1), got {tol!r}")
    data = admit(X, sample_weight, must_link, cannot_link, int(k), size_min, size_max)

    upper = _cost_above(data, check_labels(data, certificate.labels))
    claim = certificate.upper_bound
    require(
        _number(claim) and abs(claim - upper) <= 1e-9 * upper,
        f"its labels cost {upper!r}, not {claim!r} as claimed",
    )
    judged = upper if labels is None else _cost_above(data, check_labels(data, labels))
    lower, bounds, n_parts = proven_below(data, certificate.proof, n_jobs, max_bytes)
    require(_number(certificate.lower_bound), "the claimed lower bound is not a number")
    require(
        lower >= certificate.lower_bound,
        f"the claimed lower bound {certificate.lower_bound!r} does not follow: "
        f"the proof gives {lower!r}",
    )
    require(lower <= min(upper, judged), f"a bound of {lower!r} is above the labels' cost")
    if certificate.status == "optimal":
        gap = relative_gap(upper, lower)
        require(gap <= claimed, f"claimed optimal to {claimed:g}, but the gap is {gap:g}")
    limit = min(claimed, DEFAULT_TOL) if tol is None else float(tol)
    gap = relative_gap(judged, lower)
    return VerifiedBound(lower, judged, gap, gap <= limit, bounds, int(k), float(limit), n_parts)


def _number(value: Any) -> bool:
    return isinstance(value, float | int | np.number) and math.isfinite(value)


def admit(
    X: Any, sample_weight: Any, must_link: Any, cannot_link: Any, k: int, low: Any = None,
    high: Any = None,
) -> Data:  # fmt: skip
    """The data, checked, and scaled by powers of two (which rounds nothing) to size about 1."""
    X = np.asarray(X, dtype=np.float64)
    require(X.ndim == 2 and X.size > 0 and bool(np.all(np.isfinite(X))), "X is not a finite matrix")
    n = len(X)
    largest, spread = float(np.abs(X).max()), float(np.ptp(X, axis=0).max())
    require(
        largest <= _LARGEST and (spread == 0 or spread >= _SMALLEST),
        f"X spans {spread:.3g} with values up to {largest:.3g}: squares overflow or vanish",
    )
    try:
        w = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        w = np.empty(0)
    require(w.shape == (n,) and bool(np.all(np.isfinite(w) & (w >= 0))), "weights")
    heaviest = float(w.max())
    usual = heaviest > 0 and 1e-100 < heaviest < 1e100
    require(usual and bool(np.all((w == 0) | (w >= _LIGHTEST * heaviest))), "weights too unequal")
    together, apart = (_pairs(pairs, n) for pairs in (must_link, cannot_link))
    low, high = 0 if low is None else low, np.inf if high is None else high
    lows, highs = _bounds(low, k), _bounds(high, k)
    require(
        bool(np.all((lows >= 0) & (lows <= highs) & (highs >= 1))),
        f"sizes from {low!r} to {high!r}",
    )
    shift = math.frexp(spread)[1] if spread > 0 else 0
    weight_shift = math.frexp(heaviest)[1] - 1  # weights of 1 stay
    require(  # (of multipliers, and of costs)
        max(abs(2 * (shift + weight_shift)), abs(2 * shift + weight_shift)) <= _MOST_EXPONENT,
        f"squares of {spread:.3g} times weights of {heaviest:.3g} overflow or vanish",
    )
    return Data(
        np.ldexp(X, -shift), np.ldexp(w, -weight_shift), together, apart, k,
        lows, highs, shift, weight_shift,
    )  # fmt: skip


def _bounds(given: Any, k: int) -> np.ndarray:
    """Bounds on the sizes of K clusters, of which each takes one."""
    numbers = np.ndim(given) <= 1 and all(isinstance(size, Real) for size in np.atleast_1d(given))
    require(numbers and np.size(given) in (1, k), f"sizes: {given!r} is not one number or {k}")
    return np.broadcast_to(np.asarray(given, dtype=np.float64), (k,))


def _pairs(pairs: Any, n: int) -> np.ndarray:
    found = np.asarray([] if pairs is None else pairs)
    require(found.size == 0 or (found.ndim == 2 and found.shape[1] == 2), "pairs of rows")
    found = found.reshape(-1, 2)
    require(found.size == 0 or in_range(found, 0, n), "a pair refers to no row of the data")
    return found.astype(np.int64)


def check_labels(data: Data, labels: Any) -> np.ndarray:
    """Labels that form K clusters, keep every pair and the sizes; or reject."""
    labels = np.asarray(labels)
    n = len(data.X)
    require(labels.shape == (n,), f"labels of shape {labels.shape} for {n} points")
    require(labels.dtype.kind in "iu", f"labels must be whole numbers, not {labels.dtype}")
    _, numbers, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    k = data.n_clusters
    require(len(sizes) == k, f"the labels form {len(sizes)} clusters, not {k}")
    for pairs, same in ((data.together, True), (data.apart, False)):
        wrong = pairs[(numbers[pairs[:, 0]] == numbers[pairs[:, 1]]) != same]
        word = "together" if same else "apart"
        require(len(wrong) == 0, f"the labels do not keep rows {wrong[:1].tolist()} {word}")
    breaks = (sizes[:, None] < data.size_min) | (sizes[:, None] > data.size_max)
    require(
        not breaks[linear_sum_assignment(breaks)].any(),
        f"clusters of {sizes.min()} to {sizes.max()} points break the sizes",
    )
    return numbers.reshape(-1)


def _cost_above(data: Data, labels: np.ndarray) -> float:
    """Upper bound on the cost of labels. Any centers give one, so rounded means will do."""
    costs = []
    for label in range(data.n_clusters):
        rows = (labels == label) & (data.w > 0)
        X, w = data.X[rows], data.w[rows]
        if len(X) == 0 or not np.ptp(X, axis=0).any():
            continue  # equal points cost nothing, exactly
        gaps = X - (X[0] + (w @ (X - X[0])) / w.sum())
        size = _exponent(gaps)  # of this cluster, so that its squares have digits
        squares = np.sum(np.ldexp(gaps, -size) ** 2, axis=1)
        # What underflows is at most the smallest number there is, each.
        cost = math.fsum(w * squares) * (1 + gamma(X.shape[1] + 8)) + X.size * 5e-324
        costs.append(math.ldexp(cost, 2 * size) + 5e-324)
    total = float(np.ldexp(math.fsum(costs) * (1 + 4 * EPS), data.exponent))
    require(not costs or total >= VANISHING, "the squares of the distances to centers vanish")
    return total


def _exponent(values: np.ndarray) -> int:
    """The power of two that makes the largest of them about 1."""
    return math.frexp(float(np.abs(values).max()))[1]


def _below(value: float, exponent: int) -> float:
    """2 to a power times a bound that is not negative, not rounded up: tiny ones count as zero."""
    found = float(np.ldexp(value, exponent))
    require(math.isfinite(found), "a bound overflows")
    return found if found >= VANISHING else 0.0


@np.errstate(over="ignore", invalid="ignore")  # what overflows is refused
def proven_below(
    data: Data, proof: Proof, n_jobs: int | None = None, max_bytes: int = MOST_BYTES
) -> tuple[float, tuple[float, ...], int]:
    """Lower bound of all parts together, the bounds of all leaves, and the number of parts."""
    trees = check_forest(proof, len(data.X))
    group = close(len(data.X), data.together, data.apart, data.n_clusters)
    require(group is not None, "the pairs contradict each other")
    assert group is not None
    if len(trees) > 1:
        part = np.empty(len(data.X), np.int64)
        for number, tree in enumerate(trees):
            part[tree.rows] = number
        first = np.empty(int(group.max()) + 1, np.int64)
        first[group] = part
        require(bool(np.all(first[group] == part)), "a must-link group lies in two parts")
        data = replace(data, size_min=np.zeros(1), size_max=np.full(1, np.inf))  # bits of clusters
    found = Parallel(n_jobs or 1, prefer="threads")(
        delayed(part_bound)(data, group, proof, tree, max_bytes) for tree in trees
    )
    bounds = tuple(float(np.ldexp(b, data.exponent)) for _, leaves in found for b in leaves)
    total = math.fsum(lower for lower, _ in found) * (1 - 2 * EPS)
    return _below(total, data.exponent), bounds, len(trees)


def part_bound(
    data: Data, group: np.ndarray, proof: Proof, tree: Tree, max_bytes: int = MOST_BYTES
) -> tuple[float, list[float]]:
    """Lower bound on the cost of the rows of one part, and the bounds of its leaves."""
    n, rows, k = len(data.X), tree.rows, data.n_clusters
    place = np.full(n, -1)
    place[rows] = np.arange(len(rows))
    X, w = data.X[rows], data.w[rows]
    if not w.any():
        return 0.0, [0.0] * len(tree.leaves)
    P = X - (w @ X) / w.sum()
    # This part by itself is to be of size about 1, too.
    size, heavy = _exponent(P), math.frexp(float(w.max()))[1] - 1
    P, w, up = np.ldexp(P, -size), np.ldexp(w, -heavy), 2 * size + heavy
    smaller = -2 * (data.shift + size + data.weight_shift + heavy)
    # One row stands for its group, so that groups joined through other parts stay joined.
    names, of_row = np.unique(group[rows], return_inverse=True)
    number = np.full(int(group.max()) + 1, -1)
    number[names] = np.arange(len(names))
    given = number[group[data.apart]]
    given = given[np.all(given >= 0, axis=1)]
    bounds = []
    for leaf, together, apart in iterate(proof, tree):
        pairs = np.vstack([given, number[group[apart]]])
        joined = close(len(names), number[group[together]], pairs, k)
        if joined is None or (len(rows) == n and joined.max() + 1 < k):
            bounds.append(np.inf)  # no clustering here at all
            continue
        widest = float(data.size_min.min()), float(data.size_max.max())
        problem = Leaf(P, w, joined[of_row], joined[pairs], k, *widest)
        multipliers = multipliers_of(proof, leaf, place)
        bound, _ = leaf_bound(problem, multipliers.scaled(smaller), max_bytes)
        require(math.isfinite(bound), f"leaf {leaf} has no finite bound")
        bounds.append(bound)
    require(math.isfinite(min(bounds)), "no leaf has a clustering, though the labels are one")
    # Rounding of X - offset moves each coordinate by at most eps / 2 of the difference, and
    # sqrt(f) is 1-Lipschitz in the (weighted) points.
    moved = EPS * math.sqrt(math.fsum(w * np.sum(P * P, axis=1))) * (1 + gamma(P.shape[1] + 8))
    lowest = math.sqrt(max(min(bounds), 0.0)) * (1 - 2 * EPS) - moved
    lower = _below(max(lowest, 0.0) ** 2 * (1 - 4 * EPS), up)
    return lower, [float(np.ldexp(bound, up)) for bound in bounds]
