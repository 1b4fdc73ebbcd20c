"""Constraints: one object for what people know."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smdeclust import Constraints, InvalidInputError, SMDEClust

NAMES = ["ann", "bob", "cid", "dan", "eve"]


def known() -> Constraints:
    return Constraints(
        must_link=[("ann", "bob"), ("cid", "dan")],
        cannot_link=[("ann", "eve")],
        soft_must_link=[("ann", "cid", 0.8), ("bob", "dan")],
        soft_cannot_link=[("eve", "dan", 1.0)],
        ids=NAMES,
    )


def pairs_of(array: np.ndarray) -> set[tuple[int, int]]:
    return {(min(p), max(p)) for p in array.tolist()}


@pytest.mark.parametrize(
    "ids",
    [
        NAMES,
        pd.Series(NAMES),
        pd.Index(NAMES),
        np.array(NAMES),
        np.array(NAMES, dtype=object),
        tuple(NAMES),
    ],
)
@pytest.mark.parametrize("as_pairs", [list, np.array, pd.DataFrame])
def test_pairs_by_id(ids, as_pairs):
    """Ids from any column and pairs in any table are resolved to rows."""
    c = Constraints(must_link=as_pairs([("eve", "ann")]), ids=ids)
    assert c.must_link.tolist() == [[4, 0]]
    assert c.named("must_link") == [("eve", "ann")]
    assert len(c) == 5


def test_polars_ids():
    """Polars columns are ids and pairs too."""
    pl = pytest.importorskip("polars")
    c = Constraints(pl.DataFrame({"a": ["eve"], "b": ["bob"]}), ids=pl.Series(NAMES))
    assert c.must_link.tolist() == [[4, 1]]


def test_integer_ids_are_ids_and_not_rows():
    """With ids, pairs are ids, whatever they look like; by_row says otherwise."""
    c = Constraints(must_link=[(10, 30)], ids=[30, 20, 10])
    assert c.must_link.tolist() == [[2, 0]]
    by_row = Constraints(must_link=[(0, 2)], ids=[30, 20, 10], by_row=True)
    assert c == by_row
    with pytest.raises(InvalidInputError, match=r"pair 0 names 0, which is not an id"):
        c.add(cannot_link=[(0, 1)])
    assert c.add(cannot_link=[(0, 1)], by_row=True).named("cannot_link") == [(30, 20)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"must_link": [("anne", "bob")], "ids": NAMES}, "Did you mean 'ann'"),
        ({"must_link": [("ann", "bob", "cid")], "ids": NAMES}, "expected a pair of ids"),
        ({"must_link": ["ab"], "ids": NAMES}, "expected a pair of ids"),
        ({"ids": ["a", "b", "a"]}, "rows 0 and 2 have the same id 'a'"),
        ({"ids": ["a", None]}, "row 1 has no id"),
        ({"ids": ["a", float("nan")]}, "row 1 has no id"),
        ({"ids": pd.DataFrame({"a": [1]})}, "one column"),
        ({"ids": ["a"], "n_points": 2}, "1 ids for 2 points"),
        ({"must_link": [(0, 5)], "n_points": 5}, "rows are numbered 0 to 4"),
        ({"must_link": [(0, -1)]}, "rows are numbered from 0"),
        ({"n_points": -1}, "n_points must be an integer of at least 0 or None, got -1"),
        ({"soft_must_link": [(0, 1, 0.3)]}, "opposite is more likely.*confidence 0.7"),
        ({"soft_must_link": [(0, 1, 1.3)]}, "expected 0.5 to 1"),
        ({"soft_must_link": [(0, 1, 0.8)], "soft_must_link_confidence": 0.9}, "already"),
        ({"soft_must_link": [(0, 1)], "soft_must_link_price": -1.0}, "below 0"),
        ({"soft_must_link": [(0,)]}, r"expected \(i, j\) or \(i, j, confidence\)"),
    ],
)
def test_mistakes_are_said(arguments, message):
    """What cannot be used is an error that says where and what to do."""
    with pytest.raises(InvalidInputError, match=message):
        Constraints(**arguments)


def test_soft_pairs():
    """Confidences and prices stand beside the pairs; confidence 1 is hard."""
    c = known()
    assert c.soft_must_link_confidence.tolist() == [0.8, 0.95]
    assert (c.n_pairs, c.n_soft) == (6, 3)
    hard = c.hardened()
    assert hard.n_soft == 2
    assert hard.named("cannot_link") == [("ann", "eve"), ("eve", "dan")]
    assert hard.hardened() is hard
    priced = Constraints(soft_cannot_link=[(0, 1), (1, 2)], soft_cannot_link_price=[2.5, np.inf])
    assert np.isnan(priced.soft_cannot_link_confidence).all()
    assert priced.hardened().cannot_link.tolist() == [[1, 2]]


def test_algebra():
    """Add, join, drop and subtract do what sets do; order and way round do not matter."""
    c = Constraints(must_link=[(0, 1), (2, 3)], cannot_link=[(0, 2)], n_points=5)
    more = c.add(must_link=[(1, 0), (3, 4)])
    assert len(more.must_link) == 3  # (1, 0) was there
    assert more == Constraints([(4, 3), (3, 2), (0, 1)], [(2, 0)], n_points=5)
    assert more != c
    assert more.drop(must_link=[(4, 3)]) == c
    assert (more - c).must_link.tolist() == [[3, 4]]
    assert (c | more) == more == (more + c)
    assert c - Constraints(n_points=5) == c
    with pytest.raises(InvalidInputError, match=r"must_link: \(0, 4\) is not among"):
        c.drop(must_link=[(0, 4)])
    with pytest.raises(InvalidInputError, match="for 5 points, the other for 6"):
        c | Constraints(n_points=6)
    with pytest.raises(InvalidInputError, match="Row 1 is 'b' here and 'c' there"):
        Constraints(ids=["a", "b"]) | Constraints(ids=["a", "c"])


def test_immutable_and_travels():
    """Nothing changes it, and a pickle is equal to it."""
    c = known()
    with pytest.raises(AttributeError, match="cannot change"):
        c.must_link = []  # type: ignore[assignment]
    with pytest.raises(ValueError, match="read-only"):
        c.must_link[0, 0] = 3
    assert pickle.loads(pickle.dumps(c)) == c
    source = np.array([[0, 1]])
    kept = Constraints(source, n_points=3)
    source[0, 0] = 2
    assert kept.must_link.tolist() == [[0, 1]]
    with pytest.raises(TypeError):
        iter(c)
    assert not Constraints(n_points=3)
    assert kept


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_restriction(data):
    """c[rows]: exactly the pairs with both ends inside, renumbered, with their confidences."""
    n = data.draw(st.integers(1, 12))
    row = st.integers(0, n - 1)
    pairs = st.lists(st.tuples(row, row), max_size=12)
    must, cannot = data.draw(pairs), data.draw(pairs)
    soft = [(i, j, 0.5 + 0.04 * k) for k, (i, j) in enumerate(data.draw(pairs))]
    c = Constraints(must, cannot, soft, n_points=n, ids=[f"p{i}" for i in range(n)], by_row=True)
    rows = data.draw(st.lists(row, unique=True))
    new = {old: position for position, old in enumerate(rows)}
    some = c[np.array(rows, dtype=int)]
    assert len(some) == len(rows)
    assert list(some.ids) == [f"p{i}" for i in rows]
    inside = [(new[i], new[j]) for i, j in must if i in new and j in new]
    assert [tuple(p) for p in some.must_link.tolist()] == inside
    inside = [(new[i], new[j]) for i, j in cannot if i in new and j in new]
    assert [tuple(p) for p in some.cannot_link.tolist()] == inside
    strong = [(new[i], new[j], p) for i, j, p in soft if i in new and j in new]
    found = zip(some.soft_must_link.tolist(), some.soft_must_link_confidence, strict=True)
    assert [(*p, s) for p, s in found] == strong


def test_ways_to_choose_rows():
    """Integers, slices and masks choose the same rows; repeated and unknown rows are errors."""
    c = known()
    assert c[[0, 1, 4]] == c[np.array([True, True, False, False, True])] == c[[0, -4, -1]]
    assert c[1:] == c[[1, 2, 3, 4]]
    assert c[:] == c
    assert len(c[[]]) == 0
    assert c[::-1] == c[[4, 3, 2, 1, 0]]
    for rows, message in [([0, 0], "twice"), ([7], "0 to 4"), ([True], "1 entries"), (1.5, "by")]:
        with pytest.raises(InvalidInputError, match=message):
            c[rows]
    unsized = Constraints([(0, 1), (1, 2)])
    assert unsized[[1, 2]].must_link.tolist() == [[0, 1]]
    with pytest.raises(InvalidInputError, match="n_points= .*or ids="):
        len(unsized)
    with pytest.raises(InvalidInputError, match="n_points= .*or ids="):
        unsized[1:]


@pytest.mark.parametrize(
    "labels",
    [
        [0, 1, -1, 0, 1],
        np.array([0.0, 1, np.nan, 0, 1]),
        ["a", "b", None, "a", "b"],
        ["a", "b", "", "a", "b"],
        np.array(["a", "b", -1, "a", "b"]),
        pd.Series(["a", "b", None, "a", "b"]),
        pd.Series([0, 1, pd.NA, 0, 1], dtype="Int64"),
        pd.Series(pd.Categorical(["a", "b", None, "a", "b"])),
    ],
)
def test_partial_labels(labels):
    """-1, None, NaN, NA and empty text are unknown; classes are together, and apart."""
    c = Constraints.from_labels(labels)
    assert pairs_of(c.must_link) == {(0, 3), (1, 4)}
    assert pairs_of(c.cannot_link) == {(0, 1)}
    assert len(c) == 5


def test_text_that_means_missing():
    """The spellings of nothing that tables know are no class, no group and no value to count."""
    c = Constraints.from_labels(["a", "?", "k.A.", "-", "n/a", "b", "a", ""])
    assert pairs_of(c.must_link) == {(0, 6)}
    assert pairs_of(c.cannot_link) == {(0, 5)}
    groups = pd.Series(["x@y", "-", "-", "k.A.", "k.A.", None, "x@y"])
    assert pairs_of(Constraints.from_groups(groups).must_link) == {(0, 6)}
    assert [q.value for q in Constraints().quota(["f", "-", "m", "n/a"], high=1).quotas] == [
        "f",
        "m",
    ]


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (["1.000,5", "2", "-3", "", "4 €"], "numbers written as text"),
        ([f"customer {i}" for i in range(30)], "30 different values in 30 rows"),
    ],
)
def test_quotas_on_text_that_holds_no_categories(column, said):
    """One bound for numbers written as text, or for names, is an error unless counts are meant."""
    with pytest.raises(InvalidInputError, match=said):
        Constraints().quota(column, high=100)
    different = len({cell for cell in column if cell})
    assert len(Constraints().quota(column, high=100, of="count").quotas) == different
    assert len(Constraints().quota(column, high={column[0]: 100}).quotas) == 1


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(-1, 3), min_size=1, max_size=12),
    st.data(),
)
def test_slices_of_labels_are_labels_of_slices(labels, data):
    """Chains through a class survive the loss of a row: c[rows] says what labels[rows] say."""
    rows = sorted(data.draw(st.sets(st.integers(0, len(labels) - 1))))
    y = np.array(labels)
    assert Constraints.from_labels(y)[rows] == Constraints.from_labels(y[rows])
    assert Constraints.from_groups(y)[rows] == Constraints.from_groups(y[rows])


def test_groups():
    """Groups by column or as lists, together or apart."""
    c = Constraints.from_groups(["x", "y", None, "x", "x"])
    assert pairs_of(c.must_link) == {(0, 3), (3, 4)}
    assert len(c.cannot_link) == 0
    photos = Constraints.from_groups([7, 7, 7, -1, 8], kind="cannot_link")
    assert pairs_of(photos.cannot_link) == {(0, 1), (0, 2), (1, 2)}
    lists = Constraints.from_groups([["ann", "bob"], ["bob", "eve"]], ids=NAMES)
    assert pairs_of(lists.must_link) == {(0, 1), (1, 4)}
    apart = Constraints.from_groups([[0, 1], [1, 4]], kind="cannot_link", n_points=5)
    assert pairs_of(apart.cannot_link) == {(0, 1), (1, 4)}
    with pytest.raises(InvalidInputError, match="n_points= .*or ids="):
        Constraints.from_groups([[0, 1]])


@pytest.mark.parametrize("ending", ["json", "csv"])
def test_files(tmp_path, ending):
    """What is written is read back, by id and by row."""
    c = known()
    path = tmp_path / f"pairs.{ending}"
    c.write(path)
    assert "ann" in path.read_text()
    back = Constraints.read(path, ids=NAMES)
    assert back == c
    assert "pairs." in back.where("must_link", 0)
    c.write(path, by_row=True)
    assert Constraints.read(path, ids=NAMES, by_row=True) == c
    more = back.add(must_link=[("dan", "eve")])
    assert more.where("must_link", 0).startswith(str(path))
    assert more.where("must_link", 2) == "must_link pair 2"
    assert c.drop(must_link=[("ann", "bob")]).n_pairs == 5


def test_files_that_cannot_hold_it(tmp_path):
    """Prices, soft pairs in links and odd ids are refused with a reason."""
    priced = Constraints(soft_must_link=[(0, 1)], soft_must_link_price=2.0, n_points=2)
    with pytest.raises(InvalidInputError, match="price"):
        priced.write(tmp_path / "a.json")
    spaced = Constraints([("a b", "c")], ids=["a b", "c"])
    with pytest.raises(InvalidInputError, match="'a b'"):
        spaced.write(tmp_path / "a.txt")
    with pytest.raises(InvalidInputError, match="pass a format"):
        spaced.write(tmp_path / "a")
    spaced.write(tmp_path / "a.csv")
    assert Constraints.read(tmp_path / "a.csv", ids=["a b", "c"]) == spaced


def test_label_files_slice_as_labels(tmp_path):
    """Labels from a file keep their chains when rows are left out."""
    path = tmp_path / "labels.txt"
    path.write_text("a\nb\na\n\na\nb\n")
    c = Constraints.read(path, n_points=6, format="labels")
    assert pairs_of(c[[0, 1, 4, 5]].must_link) == {(0, 2), (1, 3)}


def test_looks():
    """The repr counts; the notebook shows the first pairs, escaped."""
    assert repr(known()) == (
        "Constraints of 5 points with ids: 2 must-links, 1 cannot-link, 2 soft must-links, "
        "1 soft cannot-link"
    )
    assert repr(Constraints()) == "Constraints: no pairs"
    html = Constraints([("<a>", "b")], ids=["<a>", "b"])._repr_html_()
    assert "&lt;a&gt; – b" in html
    assert "<a>" not in html


def test_dates_are_ids():
    """The index of a time series, and pairs by its dates."""
    days = pd.date_range("2024-01-01", periods=4)
    known = Constraints(must_link=[(days[0], days[2])], ids=days)
    assert known.must_link.tolist() == [[0, 2]]


def test_soft_pairs_of_no_point():
    """Out of range they are named, also where the constraints know no number of points."""
    known = Constraints(soft_must_link=[(0, 999)])
    with pytest.raises(InvalidInputError, match="999"):
        SMDEClust(2).fit(np.arange(10.0)[:, None], constraints=known)
    with pytest.raises(InvalidInputError, match="max_time"):
        SMDEClust(2, max_time="5").fit(np.arange(10.0)[:, None])
