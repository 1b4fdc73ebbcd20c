"""Valid inequalities that tighten the relaxation, and the projection that enforces them.

For a center ``i`` and a set ``S`` of other groups, every clustering satisfies

    sum_{j in S} Z_ij  <=  Z_ii + sum_{pairs {j, k} of S} Z_jk :

if ``t`` members of ``S`` share the cluster of ``i``, of weight ``1 / z``, this reads
``t z <= z + t (t - 1) / 2 z``, which holds for every integer ``t >= 0``. One member gives the pair
inequality, two the triangle inequality; three to five close what triangles leave open.

A cut is a row ``[i, j1, j2, ...]`` of ``WIDTH`` group numbers, padded with -1.
"""

from itertools import combinations

import numpy as np

from smdeclust.exact.relaxation import BoolArray, FloatArray, IntArray
from smdeclust.kernels import kernel
from smdeclust.points.threads import map_on_threads

WIDTH = 6
FAR_BELOW = -1e300
# Members of a cut are groups with at least this share of Z_ii in common with the center.
NEAR = 0.05
# From MANY groups on, only every SAMPLED-th center is looked at first, so that at most PLENTY times
# the cuts that are kept are found.
MANY, SAMPLED, PLENTY = 400, 16, 20


@kernel()
def separate(Z, apart, centers, min_violation, per_pair, OUT_cuts, OUT_violation):  # type: ignore[no-untyped-def]
    """Find violated cuts of these centers, at most ``per_pair`` for each (center, first member).

    Greedy: for each pair (i, j), the best third group k, then further groups while each adds to the
    violation. O(n^3) in the worst case, but only entries above a small threshold are looked at, and
    no further member adds more than the best third one (where Z >= 0). OUT_: written; returns how
    many were found.
    """
    n = Z.shape[0]
    count = 0
    capacity = OUT_cuts.shape[0]
    more = OUT_cuts.shape[1] - 3  # members after the second
    near = np.empty(n, np.int64)
    gain = np.empty(n)
    for i in centers:
        zii = Z[i, i]
        if zii <= 0.0:
            continue
        m = 0
        for j in range(n):
            if j != i and not apart[i, j] and Z[i, j] > NEAR * zii:
                near[m] = j
                m += 1
        for a in range(m):
            j = near[a]
            if count >= capacity:
                return count
            base = Z[i, j] - zii
            if base > min_violation * zii:
                OUT_cuts[count, 0] = i
                OUT_cuts[count, 1] = j
                OUT_cuts[count, 2:] = -1
                OUT_violation[count] = base / zii
                count += 1
            for b in range(m):
                gain[b] = Z[i, near[b]] - Z[j, near[b]]
            gain[a] = -1.0
            most = -1.0
            for _ in range(per_pair):
                largest = 0
                for b in range(1, m):
                    if gain[b] > gain[largest]:
                        largest = b
                if m < 2 or gain[largest] <= 0.0 or count >= capacity:
                    break
                k = near[largest]
                total = base + gain[largest]
                most = max(most, gain[largest])
                if total + more * most <= min_violation * zii:
                    break
                gain[largest] = -1.0
                if total < -0.3 * zii:
                    break  # further members would hardly make up for that
                OUT_cuts[count, 0] = i
                OUT_cuts[count, 1] = j
                OUT_cuts[count, 2] = k
                OUT_cuts[count, 3:] = -1
                size = 3
                while size < OUT_cuts.shape[1]:
                    best = 1e-3 * zii
                    best_group = -1
                    for b in range(m):
                        extra = near[b]
                        value = Z[i, extra]
                        if value <= best:
                            continue
                        for c in range(1, size):
                            if OUT_cuts[count, c] == extra:
                                value = -1.0
                                break
                            value -= Z[OUT_cuts[count, c], extra]
                            if value <= best:
                                break
                        if value > best:
                            best = value
                            best_group = extra
                    if best_group < 0:
                        break
                    OUT_cuts[count, size] = best_group
                    size += 1
                    total += best
                if total > min_violation * zii:
                    OUT_violation[count] = total / zii
                    count += 1
    return count


@kernel()
def select(cuts, order, n, per_pair, limit):  # type: ignore[no-untyped-def]
    """Take cuts in the given order, at most ``per_pair`` of them with the same (center, member)."""
    used = np.zeros((n, n), np.int16)
    taken = np.empty(len(order), np.int64)
    count = 0
    for index in order:
        if count >= limit:
            break
        i = cuts[index, 0]
        free = True
        for c in range(1, cuts.shape[1]):
            j = cuts[index, c]
            if j < 0:
                break
            if used[i, j] >= per_pair:
                free = False
                break
        if not free:
            continue
        for c in range(1, cuts.shape[1]):
            j = cuts[index, c]
            if j < 0:
                break
            used[i, j] += 1
        taken[count] = index
        count += 1
    return taken[:count]


def squared_norms(cuts: IntArray, root: FloatArray, apart: BoolArray) -> FloatArray:
    """Squared Frobenius norm of every cut as a symmetric matrix on Y, cannot-links left out."""
    inverse = np.where(cuts >= 0, 1.0 / root[cuts], 0.0)  # what is no member adds nothing
    total: FloatArray = inverse[:, 0] ** 4
    for a, b in combinations(range(cuts.shape[1]), 2):
        both = (inverse[:, a] * inverse[:, b]) ** 2
        total += np.where(apart[cuts[:, a], cuts[:, b]], 0.0, 0.5 * both)
    return total


@kernel()
def _add_cut(W, cuts, c, inverse, step):  # type: ignore[no-untyped-def]
    """Add ``step`` times the gradient of cut ``c`` to W, on the scale of Z.

    On the scale of Y the entry (i, j) of the gradient is ``+-1 / (2 sqrt(w_i w_j))``, and Z is
    ``Y / sqrt(w_i w_j)``; ``inverse`` holds ``1 / w``.
    """
    i = cuts[c, 0]
    W[i, i] += step * inverse[i] * inverse[i]
    for a in range(1, cuts.shape[1]):
        j = cuts[c, a]
        if j < 0:
            break
        half = 0.5 * step * inverse[j]
        value = half * inverse[i]
        W[i, j] -= value
        W[j, i] -= value
        for b in range(a + 1, cuts.shape[1]):
            k = cuts[c, b]
            if k < 0:
                break
            value = half * inverse[k]
            W[j, k] += value
            W[k, j] += value


@kernel()
def _slack(W, cuts, c, low, high):  # type: ignore[no-untyped-def]
    """Value of cut ``c`` (>= 0 where satisfied) at W within its bounds, on the scale of Z."""
    i = cuts[c, 0]
    total = min(max(W[i, i], low), high)
    for a in range(1, cuts.shape[1]):
        j = cuts[c, a]
        if j < 0:
            break
        total -= max(W[i, j], 0.0)
        for b in range(a + 1, cuts.shape[1]):
            k = cuts[c, b]
            if k < 0:
                break
            total += max(W[j, k], 0.0)
    return total


@kernel()
def signs_and_cuts_step(  # type: ignore[no-untyped-def]
    Y, relaxation, apart, cuts, norms, root, sweeps, low, high, INOUT_mu, INOUT_V, INOUT_U, OUT_W
):
    """V- and U-step: project ``T = relaxed Y + U`` onto {Y >= 0, 0 on cannot-links, cuts}.

    The diagonal is kept from ``low`` to ``high`` on the scale of Z.

    Warm-started dual coordinate ascent: ``V = max(0, T + B' mu)``, each step raises or lowers one
    multiplier. Stopping early leaves V slightly outside, but
    ``U = T - V = min(0, T + B' mu) - B' mu`` holds exactly, and with it the bound read from U.

    Returns the primal residual |Y - V| and the change |V - old V|.
    """
    n = Y.shape[0]
    inverse = 1.0 / (root * root)
    for i in range(n):
        for j in range(n):
            T = relaxation * Y[i, j] + (1.0 - relaxation) * INOUT_V[i, j] + INOUT_U[i, j]
            INOUT_U[i, j] = T
            # A cannot-link is so far below zero that no cut can raise it.
            OUT_W[i, j] = FAR_BELOW if apart[i, j] else T / (root[i] * root[j])
    for c in range(len(cuts)):
        if INOUT_mu[c] != 0.0:
            _add_cut(OUT_W, cuts, c, inverse, INOUT_mu[c])
    for _ in range(sweeps):
        for c in range(len(cuts)):
            slack = _slack(OUT_W, cuts, c, low, high)
            if slack >= 0.0 and INOUT_mu[c] == 0.0:
                continue
            step = max(-slack / norms[c], -INOUT_mu[c])
            if step != 0.0:
                INOUT_mu[c] += step
                _add_cut(OUT_W, cuts, c, inverse, step)
    primal = 0.0
    change = 0.0
    for i in range(n):
        for j in range(n):
            value = max(OUT_W[i, j], 0.0)
            if i == j:
                value = min(max(value, low), high)
            value *= root[i] * root[j]
            primal += (Y[i, j] - value) ** 2
            change += (INOUT_V[i, j] - value) ** 2
            INOUT_V[i, j] = value
            INOUT_U[i, j] -= value
    return np.sqrt(primal), np.sqrt(change)


@kernel()
def slacks(V, cuts, root):  # type: ignore[no-untyped-def]
    """Value of every cut at V (zero on cannot-links), relative to ``Z_ii`` of its center."""
    Z = V / np.outer(root, root)
    out = np.empty(len(cuts))
    for c in range(len(cuts)):
        i = cuts[c, 0]
        out[c] = _slack(Z, cuts, c, 0.0, np.inf) / max(Z[i, i], 1e-12)
    return out


@kernel()
def combined(cuts, mu, root):  # type: ignore[no-untyped-def]
    """``B' mu``: the weighted sum of the cuts, as a symmetric matrix on Y."""
    n = len(root)
    inverse = 1.0 / (root * root)
    total = np.zeros((n, n))
    for c in range(len(cuts)):
        if mu[c] != 0.0:
            _add_cut(total, cuts, c, inverse, mu[c])
    return total * np.outer(root, root)


def new_cuts(
    Z: FloatArray,
    apart: BoolArray,
    known: IntArray,
    *,
    limit: int,
    min_violation: float,
    n_threads: int = 1,
) -> IntArray:
    """Return the most violated cuts not yet known, spread over the (center, member) pairs."""
    n = Z.shape[0]
    centers = np.arange(n)

    def find(some: IntArray) -> tuple[IntArray, FloatArray]:
        room = np.empty((min(len(some) * n * 3, 3_000_000 * len(some) // n + 1), WIDTH), np.int64)
        violation = np.empty(len(room))
        count = separate(Z, apart, some, min_violation, 2, room, violation)
        return room[:count], violation[:count]

    if n >= MANY:  # some centers tell how violated those will be that are kept
        shares = np.sort(find(np.arange(0, n, SAMPLED))[1])
        wanted = PLENTY * limit // SAMPLED
        if len(shares) > wanted:
            min_violation = max(min_violation, float(shares[-wanted]))
    parts = map_on_threads(find, np.array_split(centers, n_threads), n_threads)
    found = np.vstack([cuts for cuts, _ in parts])
    violation = np.concatenate([shares for _, shares in parts])
    if len(found) == 0:
        return found
    # Same set in another order is the same cut: sort the members, padding last.
    members = np.sort(np.where(found[:, 1:] < 0, n, found[:, 1:]), axis=1)
    keys = np.column_stack([found[:, 0], members])
    code = _encode(keys, n)
    _, first = np.unique(code, return_index=True)
    known_keys = np.column_stack([known[:, 0], np.where(known[:, 1:] < 0, n, known[:, 1:])])
    first = np.sort(first[~np.isin(code[first], _encode(known_keys, n))])
    found = np.where(keys == n, -1, keys)[first]
    order = np.argsort(-violation[first], kind="stable")
    return found[np.sort(select(found, order, n, 4, limit))]  # center by center


def _encode(keys: IntArray, n: int) -> IntArray:
    """Hash rows to single integers (wrap-around arithmetic; a collision only drops a cut)."""
    code = np.zeros(len(keys), np.uint64)
    for column in range(keys.shape[1]):
        code = code * np.uint64(6364136223846793005) + keys[:, column].astype(np.uint64)
        code ^= code >> np.uint64(29)
    return code.view(np.int64)
