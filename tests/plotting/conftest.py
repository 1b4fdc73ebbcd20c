"""No window, and no figure left open, in the tests of the pictures."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    from matplotlib import pyplot as plt

    yield
    plt.close("all")


@pytest.fixture
def blobs() -> tuple[np.ndarray, np.ndarray]:
    """Sixty points in three well separated clusters of four features."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(3), 20)
    return rng.normal(size=(60, 4)) + 10.0 * labels[:, None], labels


@pytest.fixture
def history() -> dict[str, np.ndarray]:
    """The record of a run of six generations that ends with one value in the population."""
    return {
        "generation": np.arange(6),
        "evaluations": 20 * np.arange(1, 7),
        "time": 0.1 * np.arange(1, 7),
        "best": np.array([10.0, 9.0, 9.0, 8.0, 8.0, 8.0]),
        "mean": np.array([12.0, 10.0, 9.5, 8.5, 8.1, 8.0]),
        "worst": np.array([15.0, 12.0, 10.0, 9.0, 8.5, 8.0]),
        "diversity": np.array([90.0, 40.0, 9.0, 1.0, 0.1, 0.0]),
    }
