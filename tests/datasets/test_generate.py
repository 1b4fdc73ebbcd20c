"""Made data and pairs: the published rule to the last bit, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smdeclust.datasets import (
    list_datasets,
    make_constraints,
    make_constraints_from_labels,
    make_synthetic,
)
from smdeclust.exceptions import InvalidInputError
from smdeclust.io import read_constraints, read_table, write_constraints


@pytest.mark.data
@pytest.mark.parametrize("info", list_datasets(3), ids=lambda info: info.name)
def test_third_set_is_reproduced(paper_data: Path, tmp_path: Path, info) -> None:
    """Points and all seven constraint files of each synthetic set come out bit for bit."""
    folder = paper_data / "set3" / info.name
    made = make_synthetic(info.n_points, info.n_clusters)
    table = read_table(folder / "data.csv")
    assert np.array_equal(made.X, table.X)
    assert np.array_equal(made.y, table.labels)
    for configuration in info.configurations:
        written = tmp_path / "made.json"
        write_constraints(make_constraints(made.y, int(configuration)), written, "json")
        published = folder / "constraints" / f"{configuration}.json"
        assert written.read_text() == published.read_text().rstrip("\n")


@pytest.mark.data
@pytest.mark.parametrize("name", ["banana", "letter", "shuttle", "mnist"])
def test_second_set_constraints_are_reproduced(paper_data: Path, tmp_path: Path, name: str) -> None:
    """The constraint files of the second set come out bit for bit from the classes."""
    folder = paper_data / "set2" / name
    with np.load(folder / f"{name}.npz", allow_pickle=False) as archive:
        y = archive["y"]
    for size in (100, 200, 500, 1000):
        written = tmp_path / "made.json"
        write_constraints(make_constraints(y, size), written, "json")
        published = folder / "constraints" / f"{size}.json"
        assert written.read_text() == published.read_text().rstrip("\n")


@pytest.mark.data
def test_pairs_do_not_depend_on_classes(paper_data: Path) -> None:
    """CIFAR-10's files hold the pairs that the rule draws for 60000 points."""
    made = make_constraints(np.zeros(60000, dtype=int), 1000)
    published = read_constraints(paper_data / "set2/cifar10/constraints/1000.json")
    pairs = np.concatenate([published.must_link, published.cannot_link])
    assert np.array_equal(made.must_link, np.unique(pairs, axis=0))


@settings(deadline=None, max_examples=100)
@given(
    y=st.lists(st.integers(0, 3), min_size=2, max_size=12),
    share=st.floats(0, 1),
    seed=st.integers(0, 2**32 - 1),
)
def test_pairs_are_true(y: list[int], share: float, seed: int) -> None:
    """Any number of pairs up to all: different, ordered, of the kind that the classes say."""
    n_all = len(y) * (len(y) - 1) // 2
    wanted = round(share * n_all)
    made = make_constraints(y, wanted, random_state=seed)
    assert made.n_pairs == wanted
    assert all(i < j and y[i] == y[j] for i, j in made.must_link)
    assert all(i < j and y[i] != y[j] for i, j in made.cannot_link)
    pairs = np.concatenate([made.must_link, made.cannot_link])
    assert len(np.unique(pairs, axis=0)) == wanted


@settings(deadline=None, max_examples=100)
@given(
    y=st.lists(st.sampled_from("abc"), min_size=1, max_size=30),
    fraction=st.floats(0, 1),
    seed=st.integers(0, 100),
)
def test_labelled_fraction(y: list[str], fraction: float, seed: int) -> None:
    """All pairs of the labelled points are there, each of the kind that the classes say."""
    made = make_constraints_from_labels(y, fraction, random_state=seed)
    rows = np.unique(np.concatenate([made.must_link, made.cannot_link]))
    n_labelled = len(rows)
    assert made.n_pairs == n_labelled * (n_labelled - 1) // 2
    assert n_labelled in (int(np.ceil(round(fraction * len(y), 9))), 0)
    assert all(y[i] == y[j] for i, j in made.must_link)
    assert all(y[i] != y[j] for i, j in made.cannot_link)


def test_fraction_of_tenths() -> None:
    """0.1 of 30 points are 3 points, although 0.1 * 30 is above 3 in floating point."""
    assert make_constraints_from_labels(np.zeros(30), 0.1).n_pairs == 3


def test_other_mixtures() -> None:
    """Dimension, spread, scaling and seed are choices; classes are numbered as they occur."""
    made = make_synthetic(60, 4, n_features=3, cluster_std=0.01, standardize=False, random_state=5)
    assert made.X.shape == (60, 3)
    assert made.y is not None
    assert np.unique(made.y, return_index=True)[0].tolist() == [0, 1, 2, 3]
    within = [made.X[made.y == k].std(axis=0).max() for k in range(4)]
    assert max(within) < 0.02
    again = make_synthetic(60, 4, n_features=3, cluster_std=0.01, standardize=False, random_state=5)
    assert np.array_equal(made.X, again.X)


@pytest.mark.parametrize(
    "call",
    [
        lambda: make_synthetic(3, 4),
        lambda: make_synthetic(0, 1),
        lambda: make_synthetic(5, 2.0),
        lambda: make_synthetic(5, 2, cluster_std=-1),
        lambda: make_constraints([0, 1, 0], 4),
        lambda: make_constraints([0, 1, 0], -1),
        lambda: make_constraints([0, 1, 0], 1.5),
        lambda: make_constraints([[0, 1]], 1),
        lambda: make_constraints([0.0, np.nan], 1),
        lambda: make_constraints([0, 1], 1, random_state=-1),
        lambda: make_constraints_from_labels([0, 1], 1.5),
        lambda: make_constraints_from_labels([0, 1], "all"),
        lambda: make_constraints_from_labels(np.zeros(20000), 1.0),
        lambda: list_datasets(4),
    ],
)
def test_refusals(call) -> None:
    """What cannot be made is refused with a sentence, and does not loop for ever."""
    with pytest.raises(InvalidInputError):
        call()


@pytest.mark.parametrize("unknown", [-1, None, np.nan])
def test_unknown_classes_are_in_no_pair(unknown) -> None:
    """-1, None and NaN are no class: such points are linked to nothing."""
    y = [0, unknown, 0, 1, unknown, 1]
    pairs = make_constraints_from_labels(y, 1.0)
    assert pairs.must_link.tolist() == [[0, 2], [3, 5]]
    assert pairs.cannot_link.tolist() == [[0, 3], [0, 5], [2, 3], [2, 5]]
    drawn = make_constraints(y, 6)
    assert drawn == pairs
    assert len(drawn) == 6
