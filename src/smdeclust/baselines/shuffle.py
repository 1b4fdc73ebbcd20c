"""Random orders inside compiled loops."""

from __future__ import annotations

import numpy as np

from smdeclust.kernels import kernel


def make_seed(rng: np.random.Generator) -> np.ndarray:
    """Draw the state that `shuffle` advances."""
    return np.array([rng.integers(2**63)], dtype=np.uint64)


@kernel()
def shuffle(values, seed):
    """Shuffle in place (Fisher-Yates on splitmix64). Changes `values` and `seed`."""
    for i in range(len(values) - 1, 0, -1):
        seed[0] += np.uint64(0x9E3779B97F4A7C15)
        z = seed[0]
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
        j = np.int64(z % np.uint64(i + 1))
        values[i], values[j] = values[j], values[i]
