"""Claims about the picture of clusters and pairs."""

from __future__ import annotations

import json

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection

from smdeclust.exceptions import InvalidInputError
from smdeclust.plotting import plot_clusters
from smdeclust.plotting.clusters import thin_pairs, thin_points


def _texts(ax) -> list[str]:
    return [t.get_text() for t in ax.get_legend().get_texts()]


def _segments(ax) -> int:
    lines = [c for c in ax.collections if isinstance(c, LineCollection)]
    return sum(len(c.get_segments()) for c in lines)


@pytest.mark.parametrize("n_features", [1, 2, 3, 4])
def test_any_dimension(blobs, n_features: int) -> None:
    """One, two and more features are drawn; PCA is named from three on."""
    X, labels = blobs
    ax = plot_clusters(X[:, :n_features], labels, must_link=[(0, 1)], cannot_link=[(0, 59)])
    ax.figure.canvas.draw()
    assert ax.get_xlabel().startswith("PC 1" if n_features > 2 else "feature 0")
    assert "1 must-link" in _texts(ax)
    assert "1 cannot-link" in _texts(ax)
    assert _segments(ax) == 2


def test_violated_pairs_are_counted(blobs) -> None:
    """Split must-links and joined cannot-links, and only those, are called broken."""
    X, labels = blobs
    ax = plot_clusters(
        X, labels, must_link=[(0, 1), (0, 30)], cannot_link=[(0, 2), (1, 3), (0, 59)]
    )
    assert "1 must-link broken" in _texts(ax)
    assert "2 cannot-links broken" in _texts(ax)
    assert _segments(ax) == 5


def test_given_axes_are_used_and_inputs_kept(blobs) -> None:
    """The axes passed come back, no further figure is made, and X and labels are unchanged."""
    X, labels = blobs
    before = X.copy()
    _, ax = plt.subplots()
    assert plot_clusters(X, labels, ax=ax) is ax
    assert len(plt.get_fignums()) == 1
    np.testing.assert_array_equal(X, before)


def test_large_data_are_thinned_and_it_is_said() -> None:
    """30,000 points with 8,000 pairs: few are drawn, the legend tells how many of how many."""
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(30_000, 2)), rng.integers(0, 3, 30_000)
    pairs = rng.integers(0, 30_000, (8000, 2))
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    ax = plot_clusters(X, labels, must_link=pairs[same], cannot_link=pairs[~same])
    assert _segments(ax) == 500
    assert f"250 of {same.sum():,} must-links" in _texts(ax)
    assert "of 30,000 points" in ax.get_legend().get_title().get_text()


def test_many_clusters_are_named_at_their_centers_without_overlap() -> None:
    """Sixty clusters: no sixty legend entries, and no two numbers cover one another."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    labels = (np.argsort(np.argsort(X[:, 0])) // 10).astype(int)
    ax = plot_clusters(X, labels)
    ax.figure.canvas.draw()
    assert len(_texts(ax)) == 1
    boxes = [t.get_window_extent().padded(-2) for t in ax.texts]
    assert 5 < len(boxes) <= 60
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_violated_pairs_survive_thinning() -> None:
    """Thinning pairs keeps every violated one while they fit, and is reproducible."""
    violated = np.zeros(5000, dtype=bool)
    violated[::100] = True
    first = thin_pairs(violated, 200, np.random.default_rng(1))
    assert violated[first].sum() == 50
    assert len(first) == len(set(first)) == 200
    np.testing.assert_array_equal(first, thin_pairs(violated, 200, np.random.default_rng(1)))


def test_thinning_points_keeps_small_clusters_and_asked_ones() -> None:
    """A cluster of one point among 9,999 stays, and so do the points of drawn pairs."""
    labels = np.zeros(10_000, dtype=np.int64)
    labels[17] = 1
    keep = np.array([3, 9_998])
    shown = thin_points(labels, keep, 100, np.random.default_rng(0))
    assert {3, 17, 9_998} <= set(shown.tolist())
    assert len(shown) <= 104


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": [0, 1]}, "each of the 60 points"),
        ({"labels": np.zeros(60)}, "integers"),
        ({"must_link": [(0, 60)]}, r"must_link: pair 0 is \(0, 60\)"),
        ({"cannot_link": [(0, 1, 2)]}, "cannot_link: expected"),
        ({"X": np.full((60, 2), np.nan)}, "row 0"),
        ({"X": np.zeros(60)}, "2 dimensions"),
        ({"centers": np.zeros((3, 9))}, "4 columns"),
        ({"feature_names": ["a"]}, "1 names"),
    ],
)
def test_bad_input_is_explained(blobs, change: dict, message: str) -> None:
    """What is wrong and where, for each argument."""
    arguments = {"X": blobs[0], "labels": blobs[1], **change}
    with pytest.raises(InvalidInputError, match=message):
        plot_clusters(**arguments)


@pytest.mark.data
def test_paper_set_3(paper_data) -> None:
    """A synthetic instance of the paper: its own classes break none of its pairs."""
    folder = paper_data / "set3" / "n1000_k20"
    table = np.loadtxt(folder / "data.csv", delimiter=",", skiprows=1)
    pairs = json.loads((folder / "constraints" / "1000.json").read_text())
    ax = plot_clusters(
        table[:, :2], table[:, 2].astype(int), must_link=pairs["ml"], cannot_link=pairs["cl"]
    )
    ax.figure.canvas.draw()
    assert not any("broken" in t for t in _texts(ax))
