"""Nearest centers at prices: every group to the least weight x squared distance + price."""

from __future__ import annotations

import numpy as np

from smdeclust.kernels import summing_kernel
from smdeclust.points.lanes import AT_ONCE, LANES


@summing_kernel()
def find_priced(lanes, weights, part, n_parts, centers, prices, labels, margins):
    """Label the groups of one part of the blocks; O(G K d).

    `margins` is by how much the second best is worse. Parts may run at once. `lanes` and `weights`
    are filled up to whole blocks; `labels` and `margins` have as many entries.
    """
    n_clusters, n_blocks = len(centers), len(lanes)
    height = n_clusters + n_clusters % 2
    wide = np.zeros((height, lanes.shape[1]))
    for k in range(n_clusters):
        for j in range(centers.shape[1]):
            wide[k, j] = centers[k, j]
    here, there = np.empty(LANES), np.empty(LANES)
    second = np.empty(LANES)
    for b in range(part * n_blocks // n_parts, (part + 1) * n_blocks // n_parts):
        nearest, least = labels[b * LANES :], margins[b * LANES :]
        heavy = weights[b * LANES :]
        for i in range(LANES):
            nearest[i] = 0
            least[i] = np.inf
            second[i] = np.inf
        for k in range(0, n_clusters, 2):
            for i in range(LANES):
                here[i] = 0.0
                there[i] = 0.0
            for j in range(0, lanes.shape[1], AT_ONCE):
                x0, x1, x2, x3 = lanes[b, j], lanes[b, j + 1], lanes[b, j + 2], lanes[b, j + 3]
                y0, y1, y2, y3 = wide[k, j], wide[k, j + 1], wide[k, j + 2], wide[k, j + 3]
                z0, z1, z2, z3 = (
                    wide[k + 1, j], wide[k + 1, j + 1], wide[k + 1, j + 2], wide[k + 1, j + 3],
                )  # fmt: skip
                for i in range(LANES):
                    a0, a1, a2, a3 = x0[i] - y0, x1[i] - y1, x2[i] - y2, x3[i] - y3
                    b0, b1, b2, b3 = x0[i] - z0, x1[i] - z1, x2[i] - z2, x3[i] - z3
                    here[i] += (a0 * a0 + a1 * a1) + (a2 * a2 + a3 * a3)
                    there[i] += (b0 * b0 + b1 * b1) + (b2 * b2 + b3 * b3)
            price = prices[k]
            for i in range(LANES):
                value = heavy[i] * here[i] + price
                closer = value < least[i]
                other = least[i] if closer else value
                second[i] = other if other < second[i] else second[i]
                least[i] = value if closer else least[i]
                nearest[i] = k if closer else nearest[i]
            if k + 1 < n_clusters:
                price = prices[k + 1]
                for i in range(LANES):
                    value = heavy[i] * there[i] + price
                    closer = value < least[i]
                    other = least[i] if closer else value
                    second[i] = other if other < second[i] else second[i]
                    least[i] = value if closer else least[i]
                    nearest[i] = k + 1 if closer else nearest[i]
        for i in range(LANES):
            least[i] = second[i] - least[i]
