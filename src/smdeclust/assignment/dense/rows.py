"""Separation for soft pairs and for labels that somebody must have: rows that a solution breaks.

Each function returns rows as `LinearRelaxation.add_rows` takes them: where each begins, its nodes,
labels and coefficients, and its right-hand side. A soft pair e is a node; z is its label 1, broken.
"""

from __future__ import annotations

import numpy as np

from smdeclust.assignment.dense.instance import Instance
from smdeclust.assignment.dense.types import FloatArray, IntArray

Rows = tuple[IntArray, IntArray, IntArray, FloatArray, FloatArray]

# What a row must be broken by.
LEAST = 1e-6


def kept_apart(instance: Instance, x: FloatArray) -> Rows:
    """Soft cannot-links: x[u, k] + x[v, k] - z <= 1 for every label."""
    pairs = np.flatnonzero(~instance.together)
    u, v = instance.ends[pairs].T
    z = instance.n_nodes + pairs
    which, label = np.nonzero(x[u] + x[v] - x[z, 1:2] > 1.0 + LEAST)
    n = len(which)
    nodes = np.column_stack([u[which], v[which], z[which]]).ravel()
    labels = np.column_stack([label, label, np.ones(n, np.int64)]).ravel()
    return 3 * np.arange(n + 1), nodes, labels, np.tile([1.0, 1.0, -1.0], n), np.ones(n)


def kept_together(instance: Instance, x: FloatArray) -> Rows:
    """Soft must-links: the sum of x[u, k] - x[v, k] over any labels is at most z; over those where
    it is positive it is largest."""
    pairs = np.flatnonzero(instance.together)
    u, v = instance.ends[pairs].T
    z = instance.n_nodes + pairs
    more = x[u] - x[v]
    broken = np.maximum(more, 0.0).sum(axis=1) > x[z, 1] + LEAST
    u, v, z, more = u[broken], v[broken], z[broken], more[broken]
    row, label = np.nonzero(more > 0.0)
    every = np.arange(len(u))
    rows = np.concatenate([row, row, every])
    order = np.argsort(rows, kind="stable")
    nodes = np.concatenate([u[row], v[row], z])[order]
    labels = np.concatenate([label, label, np.ones(len(u), np.int64)])[order]
    coefficients = np.concatenate([np.ones(len(row)), -np.ones(len(row) + len(u))])[order]
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(u)))])
    return starts, nodes, labels, coefficients, np.zeros(len(u))


def all_filled(instance: Instance, x: FloatArray) -> Rows:
    """Labels that are needed: somebody who counts has each of them."""
    counted = np.flatnonzero(instance.counts)
    missing = np.flatnonzero(instance.need & (x[counted].sum(axis=0) < 1.0 - LEAST))
    n = len(missing)
    starts = len(counted) * np.arange(n + 1)
    size = n * len(counted)
    return (
        starts,
        np.tile(counted, n),
        np.repeat(missing, len(counted)),
        -np.ones(size),
        -np.ones(n),
    )
