"""Pairs held out: which of two distances, fitted without them, keeps more of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

N_FOLDS = 4

Pairs = tuple[np.ndarray, np.ndarray]


def split_pairs(
    must_link: np.ndarray, cannot_link: np.ndarray, rng: np.random.Generator
) -> Iterator[tuple[Pairs, Pairs]]:
    """Yield the pairs to fit with and those held out, both as must-links and cannot-links."""
    n_folds = min(N_FOLDS, len(must_link) + len(cannot_link))
    must_fold = rng.permutation(len(must_link)) % max(n_folds, 1)
    # The other way round, so that folds of few pairs are of about one size.
    cannot_fold = n_folds - 1 - rng.permutation(len(cannot_link)) % max(n_folds, 1)
    for fold in range(n_folds):
        must, cannot = must_fold == fold, cannot_fold == fold
        yield (
            (must_link[~must], cannot_link[~cannot]),
            (must_link[must], cannot_link[cannot]),
        )


def kept_beyond_chance(labels: np.ndarray, must_link: np.ndarray, cannot_link: np.ndarray) -> float:
    """How many of the pairs these labels keep, less what any labels of these sizes would.

    Without the second part, one large cluster would keep every must-link.
    """
    sizes = np.bincount(labels) / len(labels)
    together = float((sizes**2).sum())
    must = np.count_nonzero(labels[must_link[:, 0]] == labels[must_link[:, 1]])
    cannot = np.count_nonzero(labels[cannot_link[:, 0]] != labels[cannot_link[:, 1]])
    chance = together * len(must_link) + (1 - together) * len(cannot_link)
    return must + cannot - chance
