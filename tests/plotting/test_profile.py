"""Claims about performance profiles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from smdeclust.exceptions import InvalidInputError
from smdeclust.plotting import performance_profile, plot_performance_profile


def test_small_profile_by_hand() -> None:
    """Three problems, two methods, worked out on paper."""
    profile = performance_profile({"a": [1.0, 4.0, np.nan], "b": [2.0, 1.0, 3.0]})
    np.testing.assert_allclose(profile.ratios, [[1, 2], [4, 1], [np.inf, 1]])
    np.testing.assert_allclose(profile.at([1, 2, 4, 100]) * 3, [[1, 1, 2, 2], [2, 3, 3, 3]])
    np.testing.assert_allclose(profile.breakpoints(), [1, 2, 4])


def test_zero_and_all_failed() -> None:
    """0 against 0 is a tie, anything against 0 never catches up, a problem all fail counts."""
    profile = performance_profile({"a": [0.0, 0.0, np.inf], "b": [0.0, 1.0, np.nan]})
    np.testing.assert_allclose(profile.ratios, [[1, 1], [1, np.inf], [np.inf, np.inf]])
    np.testing.assert_allclose(profile.at(1e9).ravel(), [2 / 3, 1 / 3])


def test_tie_tolerance() -> None:
    """A difference below the tolerance is no victory, one above it is."""
    values = {"a": [1.0, 1.0], "b": [1.0 + 1e-9, 1.1]}
    assert performance_profile(values).at(1)[1, 0] == 0
    assert performance_profile(values, tie_tol=1e-6).at(1)[1, 0] == 0.5


@given(
    arrays(
        float,
        st.tuples(st.integers(1, 12), st.integers(1, 4)),
        elements=st.one_of(st.floats(0, 1e6), st.just(np.inf)),
    )
)
def test_profile_is_a_distribution(table: np.ndarray) -> None:
    """Curves rise, stay in [0, 1], agree with counting, and some method is best where one ends."""
    profile = performance_profile({str(s): table[:, s] for s in range(table.shape[1])})
    tau = np.append(profile.breakpoints(), np.inf)
    share = profile.at(tau)
    assert (np.diff(share, axis=1) >= 0).all()
    assert ((share >= 0) & (share <= 1)).all()
    ratios = profile.ratios[:, :, None]
    counted = ((ratios <= tau) & np.isfinite(ratios)).mean(axis=0)
    np.testing.assert_allclose(share, counted)
    solved = np.isfinite(table).any(axis=1)
    assert ((profile.ratios == 1).any(axis=1) == solved).all()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "at least one"),
        ({"a": [1.0], "b": [1.0, 2.0]}, "same problems"),
        ({"a": [-1.0]}, "'a'"),
    ],
)
def test_bad_values_are_explained(values: dict, message: str) -> None:
    """Nothing, unequal lengths and negative values are named."""
    with pytest.raises(InvalidInputError, match=message):
        performance_profile(values)


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_drawing(scale: float) -> None:
    """One curve a method, starting at 1, all of it inside the axes, whatever the spread."""
    rng = np.random.default_rng(0)
    values = {m: 1 + scale * rng.random(30) for m in "abc"}
    values["c"][3] = np.nan
    ax = plot_performance_profile(values, metric="time")
    ax.figure.canvas.draw()
    assert len(ax.lines) == 3
    assert ax.get_xlim()[0] == 1.0
    assert (ax.get_xscale() == "log") == (scale == 100.0)
    assert "time" in ax.get_xlabel()


def test_drawing_when_all_tie() -> None:
    """Equal methods give flat curves and no warning about empty axes."""
    ax = plot_performance_profile({"a": [1.0, 2.0], "b": [1.0, 2.0]})
    ax.figure.canvas.draw()
    assert ax.get_xlim()[1] > 1.0
