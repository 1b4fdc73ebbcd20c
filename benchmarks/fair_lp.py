"""Fair clustering after Bera, Chakrabarty, Flores and Negahbani (NeurIPS 2019), for comparison.

k-means finds centers, a linear program assigns points to them in shares so that every cluster has
between low and high of each value, and iterative rounding makes the shares whole: bounds may then
be broken by a few points. Written from the paper, with HiGHS.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, vstack
from sklearn.cluster import KMeans

EPS = 1e-7


def fair_kmeans(X: np.ndarray, k: int, quotas: tuple[Any, ...], seed: int) -> np.ndarray:
    """(N,) labels; `quotas` are shares of values, as in ``Constraints.quotas``."""
    centers = KMeans(k, n_init=10, random_state=seed).fit(X).cluster_centers_
    costs = ((X[:, None] - centers) ** 2).sum(axis=2)
    shares = _fair_shares(costs, quotas)
    return _rounded(costs, shares, [np.ones(len(X)), *(quota.counts for quota in quotas)])


def _fair_shares(costs: np.ndarray, quotas: tuple[Any, ...]) -> np.ndarray:
    """The linear program: (N, K) shares of least cost within the bounds."""
    n, k = costs.shape
    rows = [_sums(sign * (quota.counts - bound), n, k)
            for quota in quotas for sign, bound in ((1, quota.high), (-1, quota.low))
            if np.isfinite(bound)]  # fmt: skip
    matrix = vstack(rows).tocsr()
    whole = csr_array((np.ones(n * k), (np.repeat(np.arange(n), k), np.arange(n * k))), (n, n * k))
    found = linprog(
        costs.ravel(), matrix, np.zeros(matrix.shape[0]), whole, np.ones(n), method="highs-ds"
    )
    if found.x is None:
        raise ValueError(f"The linear program has no solution: {found.message}")
    return found.x.reshape(n, k)


def _sums(counts: np.ndarray, n: int, k: int) -> csr_array:
    """(K, N K) sums of counts over each cluster."""
    at = np.arange(n * k)
    return csr_array((np.repeat(counts, k), (at % k, at)), (k, n * k))


def _rounded(costs: np.ndarray, shares: np.ndarray, groups: list[np.ndarray]) -> np.ndarray:
    """Iterative rounding: sums stay between their floor and ceiling until few shares are open."""
    n, k = costs.shape
    labels = np.full(n, -1)
    # A point is in so many groups; a sum with at most twice as many open shares (and two) is free.
    few = 2 * (int(np.max(sum((group > 0) * 1 for group in groups))) + 1)
    ends = [(np.floor(group @ shares + EPS), np.ceil(group @ shares - EPS)) for group in groups]
    kept = np.ones((len(groups), k), dtype=bool)
    opened = shares > EPS
    while True:
        for i in np.flatnonzero((labels < 0) & (shares.max(axis=1) > 1 - EPS)):
            labels[i] = int(shares[i].argmax())
        left = np.flatnonzero(labels < 0)
        if len(left) == 0:
            return labels
        opened &= shares > EPS
        row, cluster = np.nonzero(opened[left])
        group_rows, low, high = [], [], []
        for g, group in enumerate(groups):
            fixed = np.bincount(labels[labels >= 0], group[labels >= 0], k)
            for j in range(k):
                mine = np.flatnonzero((cluster == j) & (group[left[row]] > 0))
                kept[g, j] &= len(mine) > few
                if kept[g, j]:
                    group_rows.append((mine, group[left[row[mine]]]))
                    low.append(ends[g][0][j] - fixed[j])
                    high.append(ends[g][1][j] - fixed[j])
        n_x = len(row)
        each = csr_array((np.ones(n_x), (row, np.arange(n_x))), (len(left), n_x))
        upper = lower = None
        if group_rows:
            at = np.concatenate([np.full(len(m), r) for r, (m, _) in enumerate(group_rows)])
            columns = np.concatenate([m for m, _ in group_rows])
            values = np.concatenate([v for _, v in group_rows])
            sums = csr_array((values, (at, columns)), (len(group_rows), n_x))
            upper, lower = vstack([sums, -sums]).tocsr(), np.concatenate([high, -np.array(low)])
        found = linprog(
            costs[left[row], cluster], upper, lower, each, np.ones(len(left)), method="highs-ds"
        )
        if found.x is None:
            raise ValueError(f"Rounding failed: {found.message}")
        shares = np.zeros((n, k))
        shares[left[row], cluster] = found.x
        shares[labels >= 0, labels[labels >= 0]] = 1.0
        fractional = ((shares[left] > EPS) & (shares[left] < 1 - EPS)).any()
        if fractional and not kept.any():  # only ties are left
            labels[left] = shares[left].argmax(axis=1)
