"""Branching: which pair to decide, how a child starts from its parent, and multipliers as rows."""

from __future__ import annotations

import numpy as np

from smdeclust.exact import cuts as cutting
from smdeclust.exact.admm import Dual, State
from smdeclust.exact.certificate import Multipliers
from smdeclust.exact.relaxation import FloatArray, IntArray, Relaxation


def representatives(node: Relaxation) -> IntArray:
    """First point of every group."""
    _, first = np.unique(node.group_of_point, return_index=True)
    return first.astype(np.int64)


def branching_pair(node: Relaxation, Y: FloatArray) -> tuple[int, int] | None:
    """Pair of rows whose groups are most undecided: ``max min(Z_ij, |Z_i - Z_j|^2)``.

    Both are zero for some pair only if the groups are clearly apart or clearly together. Where Y is
    a projector, ``|Z_i - Z_j|^2`` in the metric of the weights is ``Z_ii + Z_jj - 2 Z_ij``.
    Returns None where no two groups can still be decided.
    """
    root = node.sqrt_weights
    Z = Y / np.outer(root, root)
    size = np.diag(Z)
    difference = size[:, None] + size[None, :] - 2.0 * Z
    # Heavy groups first: deciding them moves the bound of both children most.
    score = np.minimum(Z, difference) * np.outer(root, root)
    score[node.apart] = -np.inf
    score[np.tril_indices(len(score))] = -np.inf
    flat = int(np.argmax(score))
    i, j = divmod(flat, len(score))
    if not np.isfinite(score[i, j]):
        return None
    rows = representatives(node)
    return int(rows[i]), int(rows[j])


def child_state(parent: Relaxation, child: Relaxation, state: State) -> State:
    """Start of a child: V averaged over merged groups, multipliers summed, cuts renamed.

    Multipliers are taken on the scale of Z, where merging two groups adds up the coefficients of
    what becomes the same entry. Cuts in which two names coincide are dropped.
    """
    new_of_old = child.group_of_point[representatives(parent)]
    n_old, n_new = parent.n_groups, child.n_groups
    join = np.zeros((n_new, n_old))
    join[new_of_old, np.arange(n_old)] = 1.0
    root, child_root = parent.sqrt_weights, child.sqrt_weights
    # Y_child = (E' W^1/2) ... : projector onto vectors constant on the merged groups.
    embed = join * root[None, :] / child_root[:, None]
    V = embed @ state.V @ embed.T

    ratio = parent.scale / child.scale
    Lambda = -state.U - cutting.combined(state.cuts, state.mu, root)
    Lambda = (join @ (Lambda * np.outer(root, root)) @ join.T) / np.outer(child_root, child_root)
    free = child.apart | (np.eye(n_new, dtype=bool) & (child.z_high < np.inf))
    Lambda = np.where(free, Lambda, np.maximum(Lambda, 0.0)) * ratio
    cuts, mu = _rename(state.cuts, state.mu * ratio, new_of_old)
    U = -Lambda - cutting.combined(cuts, mu, child_root)
    return State(0.5 * (V + V.T), 0.5 * (U + U.T), state.rho, cuts, mu)


def _rename(cuts: IntArray, mu: FloatArray, new_of_old: IntArray) -> tuple[IntArray, FloatArray]:
    renamed = np.where(cuts < 0, -1, new_of_old[cuts])
    big = np.iinfo(np.int64).max
    ordered = np.sort(np.where(renamed < 0, big, renamed), axis=1)
    distinct = ~np.any((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != big), axis=1)
    members = np.sort(np.where(renamed[:, 1:] < 0, big, renamed[:, 1:]), axis=1)
    members[members == big] = -1
    renamed = np.column_stack([renamed[:, 0], members])
    return np.ascontiguousarray(renamed[distinct]), mu[distinct].copy()


def as_rows(node: Relaxation, dual: Dual) -> Multipliers:
    """Translate the multipliers of a node to rows of the data, one representative per group."""
    rows = representatives(node).astype(np.int32)
    root = node.sqrt_weights
    factor = node.scale * dual.rho
    Lambda = -dual.U - cutting.combined(dual.cuts, dual.mu, root)
    Lambda = 0.5 * (Lambda + Lambda.T)
    # Rounding leaves specks of either sign where a multiplier is zero.
    speck = 1e-15 * np.abs(Lambda).max(initial=0.0)
    sizes = np.zeros(node.n_groups)
    leans = np.diag(Lambda) > speck if node.z_low > 0.0 else np.zeros(node.n_groups, bool)
    if node.z_high < np.inf:
        leans |= np.diag(Lambda) < -speck
    sizes[leans] = np.diag(Lambda)[leans] * factor * node.weights[leans]
    np.fill_diagonal(Lambda, np.where(leans, 0.0, np.diag(Lambda)))
    Lambda[~node.apart & (Lambda <= speck)] = 0.0
    Lambda *= factor * np.outer(root, root)
    i, j = np.nonzero(np.triu(Lambda))
    value = np.where(i == j, 1.0, 2.0) * Lambda[i, j]  # Z_ij and Z_ji are one and the same
    used = dual.mu > 0.0
    cuts = dual.cuts[used]
    cut_rows = np.where(cuts < 0, np.int32(-1), rows[cuts]).astype(np.int32)
    return Multipliers(
        rows[i], rows[j], value, cut_rows, dual.mu[used] * factor, rows[leans], sizes[leans]
    )
