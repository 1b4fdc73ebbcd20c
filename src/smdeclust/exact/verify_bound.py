"""Check one leaf: the bound that its multipliers prove, with every rounding error deducted.

At a leaf the rows form G groups (rows that must be together) with weights ``w_g`` and ``B_g = (sum
of w_i p_i over the group) / sqrt(w_g)``. ``Y[g, h] = sqrt(w_g w_h) / (weight of the cluster)`` for
groups together, else 0, is a projector of rank K with ``Y u = u``, ``u = sqrt(w / sum w)``, and

    f = sum_i w_i |p_i|^2 - <B B', Y>.

With ``Z = Y / sqrt(w_g w_h)``, each of these is true of every clustering of the leaf:

* ``Z >= 0`` everywhere, and ``Z[g, h] = 0`` for groups that are apart;
* for any ``i`` and ``j1, j2, ...``: ``Z[i,i] - sum_a Z[i,ja] + sum_{a<b} Z[ja,jb] >= 0`` (if t of
  the members are with i, it says ``1 - t + t (t - 1) / 2 >= 0``, true for integers);
* ``1 / size_max <= Z[g, g] <= 1 / size_min`` where sizes are given and every row weighs 1.

Take non-negative multiples of these terms off: ``M = -B B' - (multipliers)``. Then
``f >= sum w |p|^2 + u'Mu + (sum of the K - 1 smallest eigenvalues of M orthogonal to u)``.
Adding ``u b' + b u'`` with any b changes nothing for ``R = Y - u u'``, since ``R u = 0``; b is
chosen to lift the direction u out of the way.

A matrix error of Frobenius norm e moves ``<., Y>`` by at most ``sqrt(K) e``. Sums of k rounded
terms carry ``gamma(k)`` of the sum of absolute values.
"""

import math
from dataclasses import dataclass

import numpy as np

from smdeclust.exact.certificate import VALUES, InvalidCertificateError, Multipliers

EPS = float(np.finfo(np.float64).eps)
# Square matrices of numbers, one row per group, that are in memory while a leaf is checked; and the
# most bytes that they may take by default (3,600 groups).
_MATRICES = 10
MOST_BYTES = 2**30


def require(condition: bool, message: str) -> None:
    """Reject the certificate unless the condition holds."""
    if not condition:
        raise InvalidCertificateError(f"certificate rejected: {message}")


def gamma(k: float) -> float:
    """Relative error bound of k successive roundings (Higham, 2002), doubled to be generous."""
    return 2.0 * k * EPS / (1.0 - 2.0 * k * EPS)


@dataclass(frozen=True)
class Leaf:
    """The clusterings that one leaf stands for, on the rows of one part."""

    points: np.ndarray
    weights: np.ndarray
    group: np.ndarray  # group of every row, from 0
    apart: np.ndarray  # (m, 2) pairs of groups that are apart
    n_clusters: int  # the most clusters these rows can form; splitting a cluster never costs more
    size_min: float = 0.0
    size_max: float = np.inf


def leaf_bound(
    leaf: Leaf, multipliers: Multipliers, max_bytes: int = MOST_BYTES
) -> tuple[float, float]:
    """Lower bound on the cost of every clustering of the leaf, and what rounding took off it.

    Rows of the multipliers are rows of ``leaf``. Points and weights are of size about 1, so that
    nothing overflows, and what underflows is far below what is deducted. Without multipliers it
    takes as much memory as the points; with them, matrices of groups by groups, which are refused
    before they are made where they would take more than `max_bytes`.
    """
    d = leaf.points.shape[1]
    weight = exact_sums(leaf.weights, leaf.group)
    heavy = np.flatnonzero(weight > 0)  # rows without weight cost nothing wherever they are
    number = np.full(len(weight), -1)
    number[heavy] = np.arange(len(heavy))
    group = number[leaf.group]
    weight = weight[heavy]
    k = min(leaf.n_clusters, len(heavy))

    seen = group >= 0
    points, point_weights, of_point = leaf.points[seen], leaf.weights[seen], group[seen]
    squares = np.sum(points * points, axis=1)
    energy = math.fsum(point_weights * squares)
    B = np.zeros((len(heavy), d))
    np.add.at(B, of_point, point_weights[:, None] * points)
    B /= np.sqrt(weight)[:, None]
    largest = int(np.bincount(of_point).max())
    # A group's sum is off by gamma(size) of the sum of |w p|, at most gamma sqrt(w_g energy_g).
    slip = 3.0 * gamma(largest + 8) * energy + gamma(d + 4) * energy
    u = np.sqrt(weight / math.fsum(weight))

    if not any(len(getattr(multipliers, name)) for name in VALUES) and d < len(heavy):
        below, margin = _without_multipliers(B, u, k)
        lost = margin + slip + 2 * k * gamma(2 * len(heavy) + d + 16) * energy
        return energy + below - lost, lost
    matrices = _MATRICES * 8 * len(heavy) ** 2
    require(
        matrices <= max_bytes,
        f"checking the multipliers of {len(heavy)} groups takes {matrices / 2**30:.1f} GiB of "
        f"memory, more than the {max_bytes / 2**30:.1f} allowed (max_bytes)",
    )
    L, L_slip, constant, constant_slip = _sum_up(leaf, multipliers, group, len(heavy))
    divisor = np.sqrt(np.outer(weight, weight))
    M = -(B @ B.T) - L / divisor
    M = 0.5 * (M + M.T)
    M_slip = gamma(d + 4) * energy
    M_slip += float(np.linalg.norm(L_slip / divisor)) * (1 + gamma(8))
    below, margin = _trace_bound(M, u, k)
    lost = margin + slip + constant_slip + math.sqrt(k) * (1 + EPS) * M_slip
    return energy + constant + below - lost, lost


def exact_sums(values: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Sums over groups, rounded once."""
    if not np.any(values != 1.0):
        return np.bincount(group).astype(np.float64)
    order = np.argsort(group, kind="stable")
    ends = np.cumsum(np.bincount(group))
    return np.array([math.fsum(part) for part in np.split(values[order], ends[:-1])])


def _sum_up(
    leaf: Leaf, multipliers: Multipliers, group: np.ndarray, n_groups: int
) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Check signs; return the multipliers as a matrix on Z, its errors, a constant and its error.

    The matrix and, beside it, absolute values and numbers of terms, which bound its rounding.
    """
    apart = np.zeros((n_groups, n_groups), dtype=bool)
    ends = group_pairs(leaf.apart, leaf.group, group)
    apart[ends[:, 0], ends[:, 1]] = apart[ends[:, 1], ends[:, 0]] = True
    flat = n_groups * n_groups
    where: list[np.ndarray] = []
    what: list[np.ndarray] = []

    def add(i: np.ndarray, j: np.ndarray, value: np.ndarray) -> None:
        where.extend((i * n_groups + j, j * n_groups + i))
        what.extend((value / 2, value / 2))

    def place(rows: np.ndarray) -> np.ndarray:
        require(in_range(rows, 0, len(group)), "a multiplier refers to no row of the data")
        found = group[rows]
        require(bool(np.all(found >= 0)), "a row without weight carries a multiplier")
        return found

    values = multipliers.lambda_value
    rows, columns = multipliers.lambda_row, multipliers.lambda_column
    require(len(rows) == len(columns) == len(values), "multipliers: lengths")
    require(bool(np.all(np.isfinite(values))), "a multiplier is not finite")
    i, j = place(rows), place(columns)
    require(
        bool(np.all(values[~apart[i, j]] >= 0)),
        "a negative multiplier of rows not kept apart (are these the pairs of the proof?)",
    )
    add(i, j, values)

    cuts, mu = multipliers.cut_rows, multipliers.cut_value
    require(cuts.ndim == 2 and 2 <= cuts.shape[1] <= 64 and len(cuts) == len(mu), "cuts: shape")
    require(bool(np.all(np.isfinite(mu) & (mu >= 0))), "the multiplier of a cut is negative")
    require(in_range(cuts, -1, len(group)), "a cut refers to no row of the data")
    center = place(cuts[:, 0])
    add(center, center, mu)
    for a in range(1, cuts.shape[1]):
        one = cuts[:, a] >= 0
        first = place(np.where(one, cuts[:, a], cuts[:, 0]))
        add(center[one], first[one], -mu[one])
        for b in range(a + 1, cuts.shape[1]):
            two = one & (cuts[:, b] >= 0)
            add(first[two], place(cuts[two, b]), mu[two])

    sizes, amount = multipliers.size_row, multipliers.size_value
    require(len(sizes) == len(amount) and bool(np.all(np.isfinite(amount))), "sizes: multipliers")
    own = place(sizes)
    constant = constant_slip = 0.0
    if len(sizes):
        require(not np.any(leaf.weights != 1.0), "sizes bound Z only where every row weighs 1")
        require(bool(np.all((amount <= 0) | (leaf.size_max < np.inf))), "no largest size is given")
        require(bool(np.all((amount >= 0) | (leaf.size_min > 0))), "no smallest size is given")
        add(own, own, amount)
        part = np.where(amount > 0, amount / leaf.size_max, amount / max(leaf.size_min, 1.0))
        constant = math.fsum(part)
        constant_slip = gamma(4) * math.fsum(np.abs(part))

    index = np.concatenate(where) if where else np.empty(0, np.int64)
    amounts = np.concatenate(what) if what else np.empty(0)
    L = np.bincount(index, amounts, flat).reshape(n_groups, n_groups)
    size = np.bincount(index, np.abs(amounts), flat)
    terms = np.bincount(index, minlength=flat)
    slip = (2.0 * EPS * (2 * terms + 8) * size * 1.01).reshape(n_groups, n_groups)
    return L, slip, constant, constant_slip


def group_pairs(pairs: np.ndarray, group: np.ndarray, number: np.ndarray) -> np.ndarray:
    """Pairs of groups of the leaf, by the numbers of the groups that have weight."""
    of_group = np.full(int(group.max()) + 1, -1)
    of_group[group] = number
    ends = of_group[pairs.reshape(-1, 2)]
    return ends[np.all(ends >= 0, axis=1)]


def _without_multipliers(B: np.ndarray, u: np.ndarray, k: int) -> tuple[float, float]:
    """``-|u'B|^2 - (sum of the K - 1 largest eigenvalues of B'B off u)``, from a d x d matrix.

    The caller deducts the rounding of the matrix itself.
    """
    along = u @ B
    off = B - np.outer(u, along)
    gram = off.T @ off
    gram = 0.5 * (gram + gram.T)
    below, margin = 0.0, 0.0
    if k > 1:
        below, margin = smallest_eigenvalues(-gram, min(k - 1, len(gram)))
    return below - float(along @ along), margin


def _trace_bound(M: np.ndarray, u: np.ndarray, k: int) -> tuple[float, float]:
    """Bound ``<M, Y>`` below over rank-k projectors Y with Y u = u; the value, and what to deduct.

    ``u`` is rounded: the true one is within gamma(4) of it.
    """
    n = len(u)
    norm = float(np.linalg.norm(M)) * (1 + gamma(n * n))
    require(math.isfinite(norm), "multipliers overflow")
    image = M @ u
    along = float(u @ image)
    lost = gamma(2 * n + 16) * norm
    if k == 1:
        return along, lost
    b = -image + 0.5 * (along + norm) * u
    A = M + np.outer(u, b) + np.outer(b, u)
    length = float(np.linalg.norm(b)) * (1 + gamma(n))
    # Rounding of A, and <u b' + b u', R> = 2 b'R u with |R u| <= gamma(4).
    lost += math.sqrt(k) * gamma(8) * (norm + 2.0 * length) + 2.0 * gamma(8) * length
    below, margin = smallest_eigenvalues(A, k - 1)
    return along + below, lost + margin


def smallest_eigenvalues(A: np.ndarray, count: int) -> tuple[float, float]:
    """Sum of the ``count`` smallest eigenvalues as computed, and how much too large it can be.

    If ``A = Q diag(d) Q' + residual`` and ``|Q'Q - I| <= epsilon``, the theorem of Ostrowski gives
    ``eigenvalue_k(Q diag(d) Q') >= d_k - epsilon |d_k|``, and the residual moves the sum by at most
    ``sqrt(count)`` of its Frobenius norm.
    """
    n = len(A)
    require(bool(np.all(np.isfinite(A))), "multipliers overflow")
    d, Q = np.linalg.eigh(A)
    lengths = np.sum(Q * Q, axis=0)
    gram, gram_error = careful_product(Q.T, Q)
    defect = float(np.linalg.norm(gram - np.eye(n))) * (1 + gamma(n * n)) + gram_error
    again, again_error = careful_product(Q * d, Q.T)
    residual = float(np.linalg.norm(A - again)) * (1 + gamma(n * n)) + again_error
    # Rounding of Q d, and of the difference.
    residual += gamma(2) * (float(np.sum(np.abs(d) * lengths)) + float(np.linalg.norm(A)))
    require(defect < 0.5, "the eigenvectors could not be verified")
    lowest = d[:count]
    margin = math.sqrt(count) * residual + (defect + gamma(count)) * float(np.abs(lowest).sum())
    return float(lowest.sum()), margin * (1 + gamma(8))


def careful_product(A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, float]:
    """``A B`` and a bound on its error in the Frobenius norm.

    Both are split into their leading 24 bits and a rest. Sums of products of leading bits are
    multiples of one power of two and below 2^53 of them: exact, in any order. Only the products
    with a rest, 2^-24 as large, are rounded.
    """
    n = A.shape[1]
    heads, rests, norms = [], [], []
    for matrix, axis in ((A, 1), (B, 0)):
        longest = float(np.sqrt(np.sum(matrix * matrix, axis=axis).max(initial=0.0)))
        exponent = math.frexp(longest)[1] + 1
        head = np.ldexp(np.rint(np.ldexp(matrix, 24 - exponent)), exponent - 24)
        heads.append(head)
        rests.append(matrix - head)
        norms.append(float(np.linalg.norm(matrix)))
    exact = heads[0] @ heads[1]
    small = heads[0] @ rests[1] + rests[0] @ B
    rest_norms = [float(np.linalg.norm(rest)) for rest in rests]
    error = gamma(n + 4) * (norms[0] * rest_norms[1] + rest_norms[0] * norms[1]) * 1.01
    error += 2.0 * EPS * float(np.linalg.norm(exact))  # of the last sum
    return exact + small, error


def in_range(values: np.ndarray, low: int, high: int) -> bool:
    """Whether all values are integers with low <= value < high."""
    return values.dtype.kind in "iu" and bool(np.all((values >= low) & (values < high)))
