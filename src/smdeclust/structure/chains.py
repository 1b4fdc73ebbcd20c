"""Kempe chains: groups that change places between two clusters as one, so that pairs still hold."""

from smdeclust.kernels import kernel


@kernel()
def kempe_chain(g, target, labels, indptr, indices, mark, stamp, chain):
    """Write the Kempe chain of `g` towards cluster `target` to `chain`; returns its length.

    `mark` equals `stamp` exactly at the nodes of the chain afterwards. O(edges of the chain).
    """
    source = labels[g]
    chain[0] = g
    mark[g] = stamp
    n, i = 1, 0
    while i < n:
        v = chain[i]
        i += 1
        other = target if labels[v] == source else source
        for e in range(indptr[v], indptr[v + 1]):
            u = indices[e]
            if labels[u] == other and mark[u] != stamp:
                mark[u] = stamp
                chain[n] = u
                n += 1
    return n


@kernel()
def soft_gain(chain, soft, labels, a, b, mark, stamp):
    """How much less broken soft pairs cost if the chain is swapped; those inside it stay."""
    indptr, indices, price, together = soft
    gain = 0.0
    for g in chain:
        other = b if labels[g] == a else a
        for e in range(indptr[g], indptr[g + 1]):
            u = indices[e]
            if mark[u] == stamp:
                continue
            worth = price[e] if not together[e] else -price[e]
            if labels[u] == labels[g]:
                gain += worth
            elif labels[u] == other:
                gain -= worth
    return gain
