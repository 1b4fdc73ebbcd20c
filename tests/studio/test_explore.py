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
    with pytest.raises(smdeclust.InvalidInputError, match="say quotas in the page"):
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
