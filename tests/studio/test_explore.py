"""explore: the studio beside a notebook."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import smdeclust
from tests.studio.test_safety import Idle


@pytest.fixture
def people(monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    """Twelve people by name, and a studio whose solver does nothing."""
    monkeypatch.setattr("smdeclust.studio.desk.Worker", Idle)
    rng = np.random.default_rng(0)
    names = pd.Index([f"p{i}" for i in range(12)], name="who")
    return pd.DataFrame(rng.normal(size=(12, 2)), columns=["a", "b"], index=names)


def _get(url: str, **headers: str) -> urllib.request.Request:
    return urllib.request.Request(url, headers={k.replace("_", "-"): v for k, v in headers.items()})


def test_said_in_the_page_known_in_python(people: pd.DataFrame, tmp_path: Path) -> None:
    """Pairs given are in the page, pairs said there are in Python, and all is kept."""
    given = smdeclust.Constraints(must_link=[("p0", "p1")], ids=people.index)
    studio = smdeclust.explore(people, 2, constraints=given, folder=tmp_path / "work")
    assert studio.url in repr(studio)
    assert f"<iframe src='{studio.url}'" in studio._repr_html_()
    action = {"do": "pairs", "pairs": [[2, 3]], "together": False}
    body = json.dumps(action).encode()
    urllib.request.urlopen(urllib.request.Request(studio.url + "api/act", data=body), timeout=20)
    assert studio.constraints.must_link.tolist() == [[0, 1]]
    assert studio.constraints.cannot_link.tolist() == [[2, 3]]
    assert studio.labels is None
    studio.close()
    again = smdeclust.explore(people, folder=tmp_path / "work")
    assert again.constraints.n_pairs == 2
    again.close()
    with pytest.raises(smdeclust.InvalidInputError, match="quotas"):
        smdeclust.explore(people, constraints=given.quota(["x", "y"] * 6, 0.2, name="q"))


def test_only_the_page_may_be_framed(people: pd.DataFrame, tmp_path: Path) -> None:
    """A notebook of this machine shows the page in a frame; nothing else from there is answered."""
    studio = smdeclust.explore(people, 2, folder=tmp_path)
    page = _get(studio.url, sec_fetch_site="cross-site", sec_fetch_dest="iframe")
    with urllib.request.urlopen(page, timeout=20) as answer:
        policy = answer.headers["content-security-policy"]
    assert "frame-ancestors http://127.0.0.1:* http://localhost:*" in policy
    asked = _get(studio.url + "api/state", sec_fetch_site="cross-site", sec_fetch_dest="empty")
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(asked, timeout=20)
    wrong = _get(studio.url[:-2] + "/", sec_fetch_site="cross-site", sec_fetch_dest="iframe")
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(wrong, timeout=20)
    studio.close()


def test_tables_stay_as_they_are(people: pd.DataFrame, tmp_path: Path) -> None:
    """Numbered columns, an index of dates, a column of the index's name: every row once, and only
    columns are features."""
    numbered = smdeclust.explore(pd.DataFrame(people.to_numpy()), 2)
    assert numbered.constraints.n_points == 12
    numbered.close()
    dated = people.set_index(pd.date_range("2020", periods=12))
    twice = people.assign(id=range(12)).set_index(pd.Index([0, 0, *range(10)]))
    for frame, role in ((dated, "id"), (twice, "left out")):
        studio = smdeclust.explore(frame, 2)
        assert (
            studio._desk.need_table().roles["id" if frame is dated else "id of the index"] == role
        )
        studio.close()


def test_a_folder_belongs_to_its_table(people: pd.DataFrame, tmp_path: Path) -> None:
    """Another table, contradicting pairs and pairs of other points are refused; nothing is lost."""
    known = smdeclust.Constraints(must_link=[(0, 11)], n_points=12)
    smdeclust.explore(people, 2, constraints=known, folder=tmp_path).close()
    before = (tmp_path / "table.csv").read_bytes()
    with pytest.raises(smdeclust.InvalidInputError, match="belongs to another table"):
        smdeclust.explore(people.iloc[:5], 2, folder=tmp_path)
    other = smdeclust.Constraints(cannot_link=[(0, 11)], n_points=12)
    with pytest.raises(smdeclust.InvalidInputError, match="a different answer about p0 and p11"):
        smdeclust.explore(people, 2, constraints=other, folder=tmp_path)
    assert (tmp_path / "table.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"constraints": smdeclust.Constraints(must_link=[(0, 5)], n_points=60)}, "60"),
        ({"constraints": [(0, 1)]}, "onstraints"),
        (
            {
                "constraints": smdeclust.Constraints(
                    soft_must_link=[(0, 1)], soft_must_link_price=[3.0], n_points=12
                )
            },
            "prices",
        ),
        (
            {
                "constraints": smdeclust.Constraints(n_points=12).quota(
                    ["x", "y"] * 6, 0.2, name="q"
                )
            },
            "quotas",
        ),
        ({"n_clusters": "a"}, "whole number"),
    ],
)
def test_bad_input(people: pd.DataFrame, tmp_path: Path, given: dict, words: str) -> None:
    """A sentence, and no file is left."""
    with pytest.raises(smdeclust.InvalidInputError, match=words):
        smdeclust.explore(people, **({"n_clusters": 2} | given), folder=tmp_path / "new")
    assert not (tmp_path / "new" / "table.csv").exists()


def test_an_index_of_several_levels(people: pd.DataFrame) -> None:
    """It has no one name for a row."""
    with pytest.raises(smdeclust.InvalidInputError, match="several levels"):
        smdeclust.explore(people.set_index(["a", "b"]).assign(c=1.0), 2)
