"""Claims about the pictures of one run: convergence and diversity."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib import pyplot as plt

from smdeclust.exceptions import InvalidInputError
from smdeclust.plotting import plot_convergence, plot_diversity


@pytest.mark.parametrize("plot", [plot_convergence, plot_diversity])
@pytest.mark.parametrize(
    ("x", "label"),
    [("generation", "generation"), ("evaluations", "local searches"), ("time", "time (s)")],
)
def test_against_each_column(plot, history, x: str, label: str) -> None:
    """Each horizontal column works on given axes, and its meaning stands on the axis."""
    _, ax = plt.subplots()
    assert plot(history, x=x, ax=ax) is ax
    ax.figure.canvas.draw()
    assert ax.get_xlabel() == label


def test_best_found_is_marked_where_it_first_was(history) -> None:
    """The marker stands at the generation of the last improvement, and the reference is drawn."""
    ax = plot_convergence(history, reference=7.5)
    point = next(line for line in ax.lines if line.get_marker() == "o")
    assert (point.get_xdata()[0], point.get_ydata()[0]) == (3, 8.0)
    texts = [t.get_text() for t in ax.get_legend().get_texts()]
    assert texts[:3] == ["best", "mean", "worst"]
    assert "reference (7.5)" in texts


def test_diversity_zero_stays_visible(history) -> None:
    """A collapsed population is inside the view; without one the scale is plainly logarithmic."""
    ax = plot_diversity(history, tol=1e-4)
    assert ax.get_yscale() == "symlog"
    assert ax.get_ylim()[0] <= 0
    positive = {name: column[:5] for name, column in history.items()}
    assert plot_diversity(positive).get_yscale() == "log"


@pytest.mark.parametrize("plot", [plot_convergence, plot_diversity])
def test_one_record_and_a_flat_run(plot, history) -> None:
    """A run of a single generation, and one that never changes, are drawn."""
    for rows in (slice(0, 1), slice(5, 6)):
        plot({name: column[rows] for name, column in history.items()}).figure.canvas.draw()
    flat = {name: np.zeros(4) for name in history} | {"generation": np.arange(4)}
    plot(flat).figure.canvas.draw()


@pytest.mark.parametrize("plot", [plot_convergence, plot_diversity])
def test_bad_histories_are_explained(plot, history) -> None:
    """A wrong x, a missing column, unequal and empty columns are named."""
    with pytest.raises(InvalidInputError, match="x must be one of"):
        plot(history, x="epoch")
    with pytest.raises(InvalidInputError, match="has no 'generation'"):
        plot({name: c for name, c in history.items() if name != "generation"})
    with pytest.raises(InvalidInputError, match="one length"):
        plot(history | {"generation": np.arange(3)})
    with pytest.raises(InvalidInputError, match="not empty"):
        plot({name: c[:0] for name, c in history.items()})
