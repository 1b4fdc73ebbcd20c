"""Claims about colours, markers and the package as a whole."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations

import numpy as np
from matplotlib.colors import to_rgb

from smdeclust.plotting import style

# Machado, Oliveira and Fernandes (2009), full severity, on linear RGB.
_DEUTERANOPIA = np.array(
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]
)
_PROTANOPIA = np.array(
    [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ]
)


def _linear(color: str) -> np.ndarray:
    rgb = np.array(to_rgb(color))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def _lab(linear: np.ndarray) -> np.ndarray:
    matrix = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    xyz = matrix @ np.clip(linear, 0, 1) / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_colors_differ_for_colour_blind_readers() -> None:
    """Any two colours keep a visible distance (CIELAB 15) under both red-green deficiencies."""
    for simulate in (np.eye(3), _DEUTERANOPIA, _PROTANOPIA):
        seen = [_lab(simulate @ _linear(color)) for color in style.COLORS]
        assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 15


def test_first_three_colors_differ_in_grey() -> None:
    """The colours of the three first clusters differ in lightness alone."""
    lightness = [_lab(_linear(color))[0] for color in style.COLORS[:3]]
    assert min(abs(a - b) for a, b in combinations(lightness, 2)) > 12


def test_cluster_styles_are_distinct() -> None:
    """A hundred clusters have a hundred different pairs of colour and marker."""
    assert len({style.cluster_style(k) for k in range(100)}) == 100


def test_many_clusters_keep_distinct_styles_and_separate_colors() -> None:
    """Colours by place: pairs with the marker stay distinct, and neighbours differ in colour."""
    grid = np.stack(np.meshgrid(np.arange(10.0), np.arange(10.0)), axis=-1).reshape(-1, 2)
    colors = style.cluster_colors(grid)
    pairs = {(c, style.MARKERS[k % len(style.MARKERS)]) for k, c in enumerate(colors)}
    assert len(pairs) == 100
    distance = np.linalg.norm(grid[:, None] - grid[None], axis=2)
    same = np.array([[a == b for b in colors] for a in colors])
    touching = (distance == 1.0) & same
    # The distinct pairs come first, so a few neighbours may share a colour, never many.
    assert touching.sum() / 2 <= 0.05 * (distance == 1.0).sum() / 2


def test_import_of_the_package_leaves_matplotlib_alone() -> None:
    """``import smdeclust`` does not load matplotlib."""
    code = "import sys, smdeclust; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
