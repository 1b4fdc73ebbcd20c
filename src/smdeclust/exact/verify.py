"""Check a certificate from the data alone: short, slow, and no code shared with the solver.

The argument. Let ``w`` be the weights of the N points (ones, unless given), ``W`` their sum, and
for a clustering let ``Z[i, j] = 1 / (weight of the cluster of i)`` if rows i and j are together,
else 0. With ``p`` the points minus any fixed offset, the cost is

    f = sum_i w_i |p_i|^2 - sum_ij w_i w_j (p_i . p_j) Z[i, j].

``Y = D Z D`` with ``D = diag(sqrt(w))`` is a projector of rank K, and ``Y = u u' + R`` with
``u = sqrt(w / W)``, where R is a projector of rank K - 1 with ``R u = 0``. At a leaf of the tree:

* ``Z >= 0`` everywhere, and ``Z[i, j] = 0`` for rows that are apart;
* for any rows ``i`` and ``j1, j2, ...`` : ``Z[i,i] - sum_a Z[i,ja] + sum_{a<b} Z[ja,jb] >= 0``
  (if t of the members are with i, it says ``1 - t + t (t - 1) / 2 >= 0``, true for integers);
* Y is constant (up to D) on rows that must be together: ``Y = E X E'`` with E orthonormal, one
  column ``sqrt(w_i / w_group)`` per group.

So with ``M = -D (P P') D - (multipliers times those non-negative terms)``,
``f >= sum w |p|^2 + u'Mu + (sum of the K - 1 smallest eigenvalues of E'ME orthogonal to E'u)``.
Adding ``a b' + b a'`` with ``a = E'u`` and any vector b changes nothing for R, so b is chosen to
lift the direction ``a`` out of the way.

Every eigenvalue is bounded from the computed eigenvectors: if ``A = Q diag(d) Q' + residual`` with
``|residual| <= delta`` and ``|Q'Q - I| <= epsilon`` in the Frobenius norm, the theorems of Weyl and
Ostrowski give ``eigenvalue_k >= d_k - delta - epsilon |d_k|``. All other operations carry a-priori
rounding bounds (``gamma(k) = k eps / (1 - k eps)``), so the result holds in exact arithmetic.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from smdeclust.exact.certificate import Certificate, InvalidCertificateError

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class VerifiedBound:
    """What was found to hold, in exact arithmetic, for the given data and pairs.

    Attributes
    ----------
    lower_bound, upper_bound
        No feasible clustering costs less than the first; the labels cost at most the second.
    gap
        ``(upper - lower) / upper``, the denominator at least 1e-9 of the total scatter.
    optimal
        Whether the gap is within the certificate's tolerance.
    leaf_bounds
        Bound of every leaf (infinite where the pairs contradict each other).
    """

    lower_bound: float
    upper_bound: float
    gap: float
    optimal: bool
    leaf_bounds: tuple[float, ...]


def verify(
    X: Any,
    certificate: Certificate,
    *,
    must_link: Any = None,
    cannot_link: Any = None,
    sample_weight: Any = None,
) -> VerifiedBound:
    """Re-derive the bound of a certificate from the data, and reject it if the claim is not met.

    Parameters
    ----------
    X
        (N, d) the points.
    certificate
        What `certify` returned or `Certificate.load` read.
    must_link, cannot_link
        The pairs of the problem.
    sample_weight
        (N,) non-negative weights, if the problem has them.

    Raises
    ------
    InvalidCertificateError
        The labels, the tree, a multiplier or the claimed bound does not stand.
    """
    X = np.asarray(X, dtype=np.float64)
    n = len(X)
    together = np.asarray([] if must_link is None else must_link, dtype=np.int64).reshape(-1, 2)
    apart = np.asarray([] if cannot_link is None else cannot_link, dtype=np.int64).reshape(-1, 2)
    w = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    require(X.ndim == 2 and bool(np.all(np.isfinite(X))), "X must be a finite matrix")
    require(
        w.shape == (n,) and bool(np.all(w >= 0)) and w.sum() > 0 and bool(np.all(np.isfinite(w))),
        "weights",
    )
    k = int(certificate.n_clusters)

    upper = check_labels(X, w, certificate, k, together, apart)
    leaves = check_tree(certificate, n)
    offset = (w @ X) / w.sum()
    P = X - offset
    total = float(np.sum(w[:, None] * P**2))
    bounds = []
    for number, branch_together, branch_apart in leaves:
        all_together = np.vstack([together, branch_together])
        all_apart = np.vstack([apart, branch_apart])
        group = close(n, all_together, all_apart, k)
        if group is None or group.max() + 1 < k:
            bounds.append(np.inf)  # no clustering here at all
        else:
            bounds.append(leaf_bound(P, w, k, group, all_apart, certificate, number))
    # Rounding of X - offset moves each coordinate by at most eps / 2 of what is subtracted, and
    # sqrt(f) is 1-Lipschitz in the (weighted) points.
    moved = EPS * np.sqrt(float(np.sum(w[:, None] * P**2))) * (1 + n * EPS)
    lowest = max(min(bounds), 0.0)
    lower = max(np.sqrt(lowest) * (1 - 2 * EPS) - moved, 0.0) ** 2 * (1 - 4 * EPS)
    lower = min(lower, upper)

    require(
        lower >= certificate.lower_bound,
        f"the claimed lower bound {certificate.lower_bound!r} does not follow: "
        f"the proof gives {lower!r}",
    )
    gap = max(upper - lower, 0.0) / max(upper, 1e-9 * total, np.finfo(float).tiny)
    optimal = gap <= certificate.tol
    claimed = certificate.status == "optimal"
    require(
        optimal or not claimed, f"claimed optimal to {certificate.tol:g}, but the gap is {gap:g}"
    )
    return VerifiedBound(float(lower), float(upper), float(gap), bool(optimal), tuple(bounds))


def require(condition: bool, message: str) -> None:
    """Reject the certificate unless the condition holds."""
    if not condition:
        raise InvalidCertificateError(f"certificate rejected: {message}")


def gamma(k: Any) -> Any:
    """Relative error bound of k successive roundings (Higham, 2002), doubled to be generous."""
    return 2.0 * k * EPS / (1.0 - 2.0 * k * EPS)


def check_labels(
    X: np.ndarray, w: np.ndarray, certificate: Certificate, k: int, together: Any, apart: Any
) -> float:
    """Check that the labels are a feasible clustering; return an upper bound on their cost.

    Any centers give an upper bound on the cost of the labels, so rounded means will do.
    """
    labels = np.asarray(certificate.labels)
    require(labels.shape == (len(X),), f"{labels.shape} labels for {len(X)} points")
    require(len(np.unique(labels)) == k, f"the labels do not form {k} clusters")
    for i, j in together:
        require(labels[i] == labels[j], f"rows {i} and {j} must be together, their labels differ")
    for i, j in apart:
        require(labels[i] != labels[j], f"rows {i} and {j} must be apart, their labels agree")
    cost = 0.0
    for label in np.unique(labels):
        rows = labels == label
        center = (w[rows] @ X[rows]) / (w[rows].sum() or 1.0)
        cost += float(np.sum(np.sum(w[rows, None] * (X[rows] - center) ** 2, axis=1)))
    # Non-negative terms, summed over columns, then over rows, then over clusters.
    upper = cost * (1.0 + gamma(X.shape[0] + X.shape[1] + k + 8))
    claim = certificate.upper_bound
    require(
        abs(claim - cost) <= 1e-9 * max(cost, 1e-9 * float(np.sum(w[:, None] * X**2)), 1e-300),
        f"the labels cost {cost!r}, not {claim!r} as claimed",
    )
    return max(upper, claim)


def check_tree(certificate: Certificate, n: int) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """Check that the leaves cover every clustering; return (number, together, apart) of each leaf.

    A node is a leaf or has exactly two children, which decide the same pair in the two ways.
    """
    proof = certificate.proof
    size = len(proof.parent)
    for name in ("kind", "first", "second"):
        require(len(getattr(proof, name)) == size, f"the tree's {name} has the wrong length")
    require(size >= 1 and proof.parent[0] == -1, "the tree has no root")
    children: list[list[int]] = [[] for _ in range(size)]
    for node in range(1, size):
        parent = int(proof.parent[node])
        require(0 <= parent < node, f"node {node} has no parent before it")
        require(0 <= proof.first[node] < n and 0 <= proof.second[node] < n, f"pair of node {node}")
        children[parent].append(node)
    for node, below in enumerate(children):
        if not below:
            continue
        require(len(below) == 2, f"node {node} has {len(below)} children")
        a, b = below
        require(sorted([int(proof.kind[a]), int(proof.kind[b])]) == [-1, 1], f"children of {node}")
        require(
            proof.first[a] == proof.first[b] and proof.second[a] == proof.second[b],
            f"the children of node {node} decide different pairs",
        )
    leaf_nodes = [node for node in range(size) if not children[node]]
    require(
        len(proof.leaf_node) == len(leaf_nodes)
        and set(proof.leaf_node.tolist()) == set(leaf_nodes),
        "the leaves with multipliers are not the leaves of the tree",
    )
    for pointer in (proof.lambda_ptr, proof.cut_ptr):
        require(len(pointer) == len(leaf_nodes) + 1, "pointers of the leaves")
    out = []
    for number, leaf in enumerate(proof.leaf_node.tolist()):
        pairs: dict[int, list[tuple[int, int]]] = {1: [], -1: []}
        node = leaf
        while node != 0:
            pairs[int(proof.kind[node])].append((int(proof.first[node]), int(proof.second[node])))
            node = int(proof.parent[node])
        as_array = [np.array(pairs[kind], dtype=np.int64).reshape(-1, 2) for kind in (1, -1)]
        out.append((number, as_array[0], as_array[1]))
    return out


def close(n: int, together: np.ndarray, apart: np.ndarray, k: int) -> np.ndarray | None:
    """Group of every row under the pairs, or None if they contradict each other.

    With two clusters, two rows that are both apart from a third are together.
    """
    pairs = [(int(i), int(j)) for i, j in together]
    while True:
        neighbours: list[list[int]] = [[] for _ in range(n)]
        for i, j in pairs:
            neighbours[i].append(j)
            neighbours[j].append(i)
        group = np.full(n, -1)
        count = 0
        for start in range(n):
            if group[start] >= 0:
                continue
            group[start] = count
            queue = deque([start])
            while queue:
                for other in neighbours[queue.popleft()]:
                    if group[other] < 0:
                        group[other] = count
                        queue.append(other)
            count += 1
        enemies: dict[int, list[int]] = {}
        for i, j in apart.tolist():
            if group[i] == group[j]:
                return None
            enemies.setdefault(int(group[i]), []).append(j)
            enemies.setdefault(int(group[j]), []).append(i)
        more = []
        if k == 2:
            for rows in enemies.values():
                more += [(rows[0], row) for row in rows[1:] if group[row] != group[rows[0]]]
        if not more:
            return group
        pairs += more


def leaf_bound(
    P: np.ndarray,
    w: np.ndarray,
    k: int,
    group: np.ndarray,
    apart: np.ndarray,
    certificate: Certificate,
    number: int,
) -> float:
    """Rigorous lower bound on the cost of every clustering of one leaf."""
    n, d = P.shape
    proof = certificate.proof
    separated = np.eye(int(group.max()) + 1, dtype=bool) & False
    for i, j in apart:
        separated[group[i], group[j]] = separated[group[j], group[i]] = True

    # The matrix of multipliers, as coefficients of Z; beside it absolute values and term counts,
    # which bound the rounding of each entry.
    L, size, terms = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))

    def add(i: np.ndarray, j: np.ndarray, value: np.ndarray) -> None:
        for matrix, what in ((L, value), (size, np.abs(value)), (terms, np.ones(len(value)))):
            np.add.at(matrix, (i, j), what / 2)
            np.add.at(matrix, (j, i), what / 2)

    start, stop = int(proof.lambda_ptr[number]), int(proof.lambda_ptr[number + 1])
    require(0 <= start <= stop <= len(proof.lambda_value), "multiplier pointers")
    rows, columns = proof.lambda_row[start:stop], proof.lambda_column[start:stop]
    values = proof.lambda_value[start:stop]
    require(len(rows) == len(columns) == len(values), "multipliers of different lengths")
    require(bool(np.all(np.isfinite(values))), "a multiplier is not finite")
    require(in_range(rows, 0, n) and in_range(columns, 0, n), "a multiplier names no row")
    free = separated[group[rows], group[columns]]
    require(bool(np.all(values[~free] >= 0)), "a multiplier of a pair not kept apart is negative")
    add(rows, columns, values)

    start, stop = int(proof.cut_ptr[number]), int(proof.cut_ptr[number + 1])
    require(0 <= start <= stop <= len(proof.cut_value), "cut pointers")
    cuts, mu = proof.cut_rows[start:stop], proof.cut_value[start:stop]
    require(len(cuts) == len(mu), "cuts and multipliers of different lengths")
    require(
        bool(np.all(np.isfinite(mu)) and np.all(mu >= 0)), "the multiplier of a cut is negative"
    )
    require(cuts.ndim == 2 and in_range(cuts, -1, n) and in_range(cuts[:, 0], 0, n), "a cut's rows")
    add(cuts[:, 0], cuts[:, 0], mu)
    for a in range(1, cuts.shape[1]):
        one = cuts[:, a] >= 0
        add(cuts[one, 0], cuts[one, a], -mu[one])
        for b in range(a + 1, cuts.shape[1]):
            two = one & (cuts[:, b] >= 0)
            add(cuts[two, a], cuts[two, b], mu[two])

    # Rows without weight drop out: they must carry no multiplier, and some optimal clustering has
    # weight in every cluster as long as K groups have weight.
    s = np.sqrt(w)
    require(not np.any(terms[s == 0]), "a row without weight carries a multiplier")
    B = s[:, None] * P
    divisor = np.outer(np.where(s > 0, s, 1.0), np.where(s > 0, s, 1.0))
    M = -(B @ B.T) - L / divisor
    M = 0.5 * (M + M.T)
    energy = float(np.sum(np.sum(B * B, axis=1)))
    slip = gamma(d + 8) * energy
    slip += float(np.linalg.norm(gamma(2 * terms + 8) * size / divisor))

    # Compress to vectors constant on groups: E has orthonormal, non-negative columns.
    group_weight = np.bincount(group, w)
    E = np.zeros((n, len(group_weight)))
    E[np.arange(n), group] = np.sqrt(w / np.where(group_weight[group] > 0, group_weight[group], 1))
    E, group_weight = E[:, group_weight > 0], group_weight[group_weight > 0]
    n_groups = len(group_weight)
    require(n_groups >= k, f"fewer than {k} groups have weight")
    A = E.T @ M @ E
    A = 0.5 * (A + A.T)
    norm = float(np.linalg.norm(M)) * (1 + gamma(n * n))
    # 2 n roundings in the products, and those of the sums of weights in the entries of E.
    slip += gamma(4 * n + 32) * norm
    u = np.sqrt(group_weight / w.sum())

    along = float(u @ A @ u)
    slip_along = gamma(4 * n + 32) * norm
    below = 0.0
    margin = 0.0
    if k > 1:
        image = A @ u
        b = -image + 0.5 * (along + norm) * u
        A = A + np.outer(u, b) + np.outer(b, u)
        slip += gamma(n + 16) * (norm + 2.0 * float(np.linalg.norm(b)))
        below, margin = smallest_eigenvalues(A, k - 1)
    rank = k - 1
    constant = energy * (1.0 - gamma(n + d + 4))
    # Projectors of rank r have trace norm r: a matrix error of Frobenius norm e moves <., R> by
    # at most r e, and <., u u'> by at most e.
    return constant + along + below - margin - (rank + 1) * slip - slip_along


def smallest_eigenvalues(A: np.ndarray, count: int) -> tuple[float, float]:
    """Sum of the ``count`` smallest eigenvalues as computed, and how much too large it can be."""
    n = len(A)
    d, Q = np.linalg.eigh(A)
    # Products of n terms carry gamma(n) of the product of absolute values, and the norm of
    # |Q| |d| |Q'| is at most the sum of |d_k| |q_k|^2.
    rounding = gamma(2 * n + 8)
    lengths = np.sum(Q * Q, axis=0)
    residual = float(np.linalg.norm(A - (Q * d) @ Q.T)) * (1 + gamma(n * n))
    residual += rounding * (float(np.sum(np.abs(d) * lengths)) + float(np.linalg.norm(A)))
    defect = float(np.linalg.norm(Q.T @ Q - np.eye(n))) + rounding * float(lengths.sum())
    require(defect < 0.5, "the eigenvectors could not be verified")
    lowest = d[:count]
    return float(lowest.sum()), count * residual + defect * float(np.abs(lowest).sum())


def in_range(values: np.ndarray, low: int, high: int) -> bool:
    """Whether all values are integers with low <= value < high."""
    return values.dtype.kind in "iu" and bool(np.all((values >= low) & (values < high)))
