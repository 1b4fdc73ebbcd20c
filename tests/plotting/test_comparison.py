"""Claims about the comparison of methods."""

from __future__ import annotations

import numpy as np
import pytest

from smdeclust.exceptions import InvalidInputError
from smdeclust.plotting import plot_comparison

RESULTS = {
    "valid": {"objective": 100.0, "ari": 0.9, "time": 2.0, "violations": 0},
    "slow": {"objective": [110.0, 112.0], "ari": [0.8, 0.7], "time": [300.0, 400.0]},
    "soft": {"objective": 90.0, "ari": 0.95, "time": 0.1, "violations": 4},
    "failed": {"objective": np.nan, "ari": np.nan, "time": 0.01},
}


def _widths(panel) -> list[float]:
    return [bar.get_width() for bar in panel.patches]


def test_objective_is_the_excess_over_the_best_valid() -> None:
    """Methods that break pairs do not set the standard and may lie below it."""
    ax = plot_comparison(RESULTS)
    ax.figure.canvas.draw()
    objective, ari, time = ax.child_axes
    np.testing.assert_allclose(_widths(objective), [0.0, 11.0, -10.0], atol=1e-9)
    np.testing.assert_allclose(_widths(ari), [0.9, 0.75, 0.95])
    assert time.get_xscale() == "log"
    assert [t.get_text() for t in objective.get_yticklabels()] == list(RESULTS)


def test_only_methods_that_finished_and_hold_the_pairs_can_be_best() -> None:
    """One bold value a panel: never the soft or the failed method."""
    for panel in plot_comparison(RESULTS).child_axes:
        bold = [t for t in panel.texts if t.get_fontweight() == "bold"]
        assert [round(t.xy[1]) for t in bold] == [0]


def test_failures_are_named() -> None:
    """A method without a result says so where its bar would be."""
    panel = plot_comparison(RESULTS).child_axes[0]
    assert [t.get_text() for t in panel.texts].count("no result") == 1


def test_absent_metrics_are_left_out() -> None:
    """Without known classes there is no agreement panel; unknown metrics are drawn as they are."""
    results = {"a": {"objective": 1.0, "size": 3}, "b": {"objective": 2.0, "size": 4}}
    ax = plot_comparison(results, metrics=("objective", "ari", "size"))
    assert len(ax.child_axes) == 2
    assert _widths(ax.child_axes[1]) == [3, 4]


@pytest.mark.parametrize("results", [{}, {"a": {"objective": np.nan}}, {"a": {"other": 1.0}}])
def test_nothing_to_compare_is_explained(results: dict) -> None:
    """No method, or no value at all, is an error."""
    with pytest.raises(InvalidInputError):
        plot_comparison(results)


@pytest.mark.parametrize("value", [0.0, 1e-12, 5.0, 1e15])
def test_any_magnitude(value: float) -> None:
    """Zero, tiny and huge values are drawn, alone or side by side."""
    row = {"objective": value, "ari": -0.1, "time": value}
    plot_comparison({"only": row}).figure.canvas.draw()
    plot_comparison({"a": row, "b": row | {"time": 1.0}}).figure.canvas.draw()
