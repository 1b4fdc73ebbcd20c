"""Separation for the hard cores: rows that an LP solution breaks, of (node, label) variables.

Cliques of one label, and lifted odd cycles of the conflict graph. Kernels take the LP solution x,
the `allowed` labels and the hard pairs.
"""

import numpy as np

from smdeclust.kernels import kernel

#: Values closer than this to 0 or 1 count as integral.
INTEGRALITY = 1e-6


@kernel()
def has_edge(indptr, indices, u, v):
    """Binary search of v among the (sorted) neighbors of u."""
    low, high = indptr[u], indptr[u + 1]
    while low < high:
        mid = (low + high) // 2
        if indices[mid] < v:
            low = mid + 1
        else:
            high = mid
    return low < indptr[u + 1] and indices[low] == v


@kernel()
def _joins(indptr, indices, u, members, m):
    """Whether u has an edge to all of the first m members but the first."""
    for t in range(1, m):
        if not has_edge(indptr, indices, u, members[t]):
            return False
    return True


@kernel()
def violated_cliques(x, allowed, indptr, indices, min_violation, capacity):
    """Maximal cliques whose mass in one label exceeds one, grown greedily from every edge.

    Returns the cliques as (starts, nodes, label per clique). `indices` must be sorted per node.
    Growth prefers large x; nodes outside the support, which cost the LP nothing, come last and
    make the inequality maximal among the allowed labels.
    """
    n, n_labels = x.shape
    starts = np.zeros(capacity + 1, np.int64)
    nodes = np.empty(64 * capacity + n, np.int64)
    labels = np.empty(capacity, np.int64)
    count = 0
    position = np.full(n, -1, np.int64)
    support = np.empty(n, np.int64)
    members = np.empty(n, np.int64)
    for k in range(n_labels):
        size = 0
        for v in range(n):
            if x[v, k] > 1e-9:
                support[size] = v
                size += 1
        if size < 2:
            continue
        values = np.empty(size)
        for i in range(size):
            values[i] = -x[support[i], k]
        order = np.argsort(values, kind="mergesort")
        local = np.empty(size, np.int64)
        for i in range(size):
            local[i] = support[order[i]]
            position[local[i]] = i
        # Sparse upper triangle only: the support of one label can be thousands of nodes.
        for i in range(size):
            v = local[i]
            covered = np.zeros(size, np.bool_)
            for e in range(indptr[v], indptr[v + 1]):
                j = position[indices[e]]
                if j <= i or covered[j]:
                    continue
                if count == capacity or starts[count] + n > len(nodes):
                    break
                members[0], members[1], m = v, local[j], 2
                total = x[v, k] + x[local[j], k]
                # A node of the clique with few neighbors bounds the candidates.
                for f in range(indptr[v], indptr[v + 1]):
                    q = position[indices[f]]
                    if q > i and q != j:
                        u = local[q]
                        if _joins(indptr, indices, u, members, m):
                            members[m] = u
                            m += 1
                            total += x[u, k]
                if total <= 1.0 + min_violation:
                    continue
                for t in range(1, m):
                    covered[position[members[t]]] = True
                for f in range(indptr[v], indptr[v + 1]):
                    u = indices[f]
                    if position[u] >= 0 or not allowed[u, k]:
                        continue
                    if _joins(indptr, indices, u, members, m):
                        members[m] = u
                        m += 1
                begin = starts[count]
                for t in range(m):
                    nodes[begin + t] = members[t]
                labels[count] = k
                count += 1
                starts[count] = begin + m
        for i in range(size):
            position[local[i]] = -1
    return starts[: count + 1], nodes[: starts[count]], labels[:count]


@kernel()
def _push(heap_key, heap_item, size, key, item):
    i = size
    while i > 0:
        parent = (i - 1) // 2
        if heap_key[parent] <= key:
            break
        heap_key[i], heap_item[i] = heap_key[parent], heap_item[parent]
        i = parent
    heap_key[i], heap_item[i] = key, item
    return size + 1


@kernel()
def _pop(heap_key, heap_item, size):
    """Remove the smallest entry (read it at position 0 beforehand)."""
    size -= 1
    key, item = heap_key[size], heap_item[size]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        if child + 1 < size and heap_key[child + 1] < heap_key[child]:
            child += 1
        if heap_key[child] >= key:
            break
        heap_key[i], heap_item[i] = heap_key[child], heap_item[child]
        i = child
    heap_key[i], heap_item[i] = key, item
    return size


@kernel()
def _conflict_graph(x, indptr, indices):
    """The conflict graph of the fractional variables: their (node, label, value) and CSR arcs."""
    n, n_labels = x.shape
    ident = np.full((n, n_labels), -1, np.int64)
    count = 0
    for v in range(n):
        for k in range(n_labels):
            if INTEGRALITY < x[v, k] < 1.0 - INTEGRALITY:
                ident[v, k] = count
                count += 1
    node, label, value = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count)
    ptr = np.zeros(count + 1, np.int64)
    for fill in range(2):
        arcs, slack = np.empty(ptr[count], np.int64), np.empty(ptr[count])
        at, i = 0, 0
        for v in range(n):
            for k in range(n_labels):
                if ident[v, k] < 0:
                    continue
                node[i], label[i], value[i] = v, k, x[v, k]
                for other in range(n_labels):
                    j = ident[v, other]
                    if j >= 0 and j != i:
                        if fill == 1:
                            arcs[at] = j
                            slack[at] = max(0.0, 1.0 - x[v, k] - x[v, other])
                        at += 1
                for e in range(indptr[v], indptr[v + 1]):
                    u = indices[e]
                    j = ident[u, k]
                    if j >= 0:
                        if fill == 1:
                            arcs[at] = j
                            slack[at] = max(0.0, 1.0 - x[v, k] - x[u, k])
                        at += 1
                i += 1
                ptr[i] = at
    return node, label, value, ptr, arcs, slack


@kernel()
def _lift(x, allowed, indptr, indices, nodes, labels, coefficients, begin, length, capacity, hits):
    """Lift variables into an odd cycle stored at `begin`; returns the size of the row (OUT).

    A variable that conflicts with many of the cycle leaves room for few of them, so its coefficient
    is what it takes away: the hub of a wheel takes all. The lifted ones conflict pairwise, so at
    most one is chosen and their coefficients hold together. `hits` is a zero workspace (n, K).
    """
    n_labels = x.shape[1]
    total = 0
    for t in range(begin, begin + length):
        total += indptr[nodes[t] + 1] - indptr[nodes[t]] + n_labels
    touched = np.empty(total, np.int64)
    count = 0
    for t in range(begin, begin + length):
        v, k = nodes[t], labels[t]
        for e in range(indptr[v], indptr[v + 1]):
            u = indices[e]
            if allowed[u, k]:
                if hits[u, k] == 0:
                    touched[count] = u * n_labels + k
                    count += 1
                hits[u, k] += 1
        for other in range(n_labels):
            if other != k and allowed[v, other]:
                if hits[v, other] == 0:
                    touched[count] = v * n_labels + other
                    count += 1
                hits[v, other] += 1
    for t in range(begin, begin + length):
        hits[nodes[t], labels[t]] = 0
    rhs = (length - 1) // 2
    kept, weight, gain = 0, np.empty(count), np.empty(count, np.int64)
    blocked = np.empty(length, np.bool_)
    for i in range(count):
        u, k = divmod(touched[i], n_labels)
        enough = hits[u, k] >= 3
        hits[u, k] = 0
        if not enough:
            continue
        first = -1
        for t in range(length):
            v = nodes[begin + t]
            same = v == u
            if labels[begin + t] == k and not same:
                same = has_edge(indptr, indices, u, v)
            blocked[t] = same
            if same and first < 0:
                first = t
        room, run = 0, 0
        for step in range(1, length + 1):
            if blocked[(first + step) % length]:
                room += (run + 1) // 2
                run = 0
            else:
                run += 1
        if rhs - room > 0:
            touched[kept] = touched[i]
            gain[kept] = rhs - room
            weight[kept] = -(gain[kept] * (x[u, k] + 1e-4))
            kept += 1
    order = np.argsort(weight[:kept], kind="mergesort")
    size = length
    for i in range(kept):
        if begin + size >= capacity:
            break
        u, k = divmod(touched[order[i]], n_labels)
        fits = True
        for t in range(begin + length, begin + size):
            if nodes[t] == u:
                continue
            if labels[t] != k or not has_edge(indptr, indices, u, nodes[t]):
                fits = False
                break
        if fits:
            nodes[begin + size], labels[begin + size] = u, k
            coefficients[begin + size] = gain[order[i]]
            size += 1
    return size


@kernel()
def violated_odd_cycles(x, allowed, indptr, indices, min_violation, capacity):
    """Odd cycles of the conflict graph that hold more than (L - 1) / 2 of x.

    A cycle is broken by x if and only if its slacks 1 - x_a - x_b sum to less than one, so the
    shortest odd closed walk through every variable tells (two-sided Dijkstra on the graph doubled
    by parity). Found cycles are lifted. Returns (starts, nodes, labels, coefficients, right-hand
    sides) of the rows.
    """
    node, label, value, ptr, arcs, slack = _conflict_graph(x, indptr, indices)
    count = len(node)
    starts = np.zeros(capacity + 1, np.int64)
    room = 64 * capacity + 2 * count
    out_node = np.empty(room, np.int64)
    out_label = np.empty(room, np.int64)
    out_coefficient = np.ones(room)
    rhs = np.empty(capacity)
    hits = np.zeros(x.shape, np.int64)
    found = 0
    hop = 1e-5  # prefers short cycles among equally broken ones
    dist = np.full(2 * count, np.inf)
    parent = np.full(2 * count, -1, np.int64)
    touched = np.empty(2 * count, np.int64)
    heap_key = np.empty(len(arcs) * 2 + 2 * count + 8)
    heap_item = np.empty(len(arcs) * 2 + 2 * count + 8, np.int64)
    walk = np.empty(4 * count + 2, np.int64)
    last = np.full(count, -1, np.int64)
    seen = np.zeros(count, np.bool_)
    for start in range(count):
        if seen[start] or found == capacity:
            continue
        dist[start] = 0.0
        touched[0] = start
        n_touched = 1
        size = _push(heap_key, heap_item, 0, 0.0, start)
        best = 1.0 - min_violation
        best_a, best_b = -1, -1
        while size > 0:
            key, item = heap_key[0], heap_item[0]
            size = _pop(heap_key, heap_item, size)
            if 2.0 * key >= best:
                break
            if key > dist[item]:
                continue
            side, a = divmod(item, count)
            for e in range(ptr[a], ptr[a + 1]):
                b = arcs[e]
                step = slack[e] + hop
                same = b + side * count
                if dist[same] < np.inf and key + step + dist[same] < best:
                    best = key + step + dist[same]
                    best_a, best_b = item, same
                other = b + (1 - side) * count
                if key + step < dist[other] and key + step < 0.5:
                    if dist[other] == np.inf:
                        touched[n_touched] = other
                        n_touched += 1
                    dist[other] = key + step
                    parent[other] = item
                    size = _push(heap_key, heap_item, size, key + step, other)
        if best_a >= 0:
            length = 0
            c = best_a
            while c != start:
                walk[length] = c % count
                length += 1
                c = parent[c]
            walk[length] = start
            length += 1
            # reverse, then append the way from best_b back to the start
            for i in range(length // 2):
                walk[i], walk[length - 1 - i] = walk[length - 1 - i], walk[i]
            c = best_b
            while c != start:
                walk[length] = c % count
                length += 1
                c = parent[c]
            # A closed walk of odd length holds a simple odd cycle: drop even loops, keep an odd.
            m, begin = 0, 0
            for i in range(length):
                w = walk[i]
                if last[w] >= 0:
                    p = last[w]
                    if (m - p) % 2 == 1:
                        begin = p
                        break
                    for t in range(p + 1, m):
                        last[walk[t]] = -1
                    m = p + 1
                else:
                    last[w], walk[m] = m, w
                    m += 1
            total = 0.0
            for t in range(begin, m):
                total += value[walk[t]]
            for t in range(m):
                last[walk[t]] = -1
            size_c = m - begin
            if size_c % 2 == 1 and size_c >= 3 and total > (size_c - 1) / 2 + 0.5 * min_violation:
                at = starts[found]
                if at + size_c <= room:
                    for t in range(begin, m):
                        out_node[at + t - begin] = node[walk[t]]
                        out_label[at + t - begin] = label[walk[t]]
                        seen[walk[t]] = True
                    rhs[found] = (size_c - 1) // 2
                    found += 1
                    starts[found] = at + _lift(
                        x, allowed, indptr, indices, out_node, out_label, out_coefficient, at,
                        size_c, room, hits,
                    )  # fmt: skip
        for t in range(n_touched):
            dist[touched[t]], parent[touched[t]] = np.inf, -1
    end = starts[found]
    rows = starts[: found + 1], out_node[:end], out_label[:end], out_coefficient[:end]
    return (*rows, rhs[:found])
