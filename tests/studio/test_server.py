"""The server answers those who know the token, refuses everybody else, and crashes for nobody."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

from smdeclust.studio import guard
from smdeclust.studio.desk import Desk
from smdeclust.studio.opening import Source, from_path
from smdeclust.studio.server import make_app
from tests.studio.live import sheet_of

TOKEN, HOST = "s3cret", "127.0.0.1:8000"
EVIL = '<script>alert(1)</script>"&'


class Idle:
    """In place of the solver's process: takes jobs and does nothing."""

    def __init__(self, *_: object) -> None:
        self.n = 0

    def submit(self, kind: str, payload: object, *, new_epoch: bool = False) -> int:
        self.n += 1
        return self.n

    def close(self) -> None:
        pass


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setattr("smdeclust.studio.desk.Worker", Idle)
    desk = Desk(tmp_path / "work")
    X = np.random.default_rng(0).normal(size=(12, 3))
    ids = (EVIL, *(f"p{i}" for i in range(1, 12)))
    desk.open_source(Source(sheet_of(X, ("a", EVIL, "c"), ids), Path("made"), tmp_path / "work"), 3)
    return desk


@pytest.fixture
def client(desk: Desk) -> Iterator[TestClient]:
    app = make_app(desk, TOKEN, frozenset({HOST}))
    with TestClient(app, base_url=f"http://{HOST}") as client:
        yield client


def test_tables_of_the_same_name_have_folders_of_their_own(desk: Desk, tmp_path: Path) -> None:
    """The first has name-studio, the other its whole name; a table that was renamed continues."""
    first, other = tmp_path / "kunden.csv", tmp_path / "kunden.tsv"
    first.write_text("a,b\n1,2\n3,4\n5,7\n")
    other.write_text("a\tb\n1\t2\n3\t4\n")
    desk.open_source(from_path(first), 2)
    assert from_path(first).folder == tmp_path / "kunden-studio"
    assert from_path(other).folder == tmp_path / "kunden.tsv-studio"
    first.unlink()
    assert from_path(other).folder == tmp_path / "kunden-studio"


def test_a_file_may_say_how_many_clusters(desk: Desk, tmp_path: Path) -> None:
    """Points with K in their first line open with that many clusters; who says a number decides."""
    path = tmp_path / "points.txt"
    path.write_text("4 2 2\n0 0\n0 1\n5 5\n5 6\n")
    for given, expected in ((None, 2), (3, 3), (None, 3)):  # the last as saved
        desk.open_source(from_path(path, tmp_path / "points"), given)
        assert desk.wishes.n_clusters == expected


def test_the_page_and_its_parts(client: TestClient) -> None:
    """The page, its modules and the library for pictures are served from here."""
    page = client.get(f"/{TOKEN}/")
    assert page.status_code == 200
    assert "http" not in page.text.replace("http-equiv", "")
    named = re.findall(r'static/([^"]+)"', page.text)
    for name in (*named, "picture.js", "panels.js", "service.js", "marks.js", "looks.js"):
        assert client.get(f"/{TOKEN}/static/{name}").status_code == 200
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy
    assert page.headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    "path", ["/", "/api/state", "/wrong/api/state", f"//{TOKEN}/api/state", "/static/app.js"]
)
def test_without_the_token(client: TestClient, path: str) -> None:
    """Nothing is answered without the token."""
    assert client.get(path).status_code == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "evil.example:8000"}, 421),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": f"https://{HOST}"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"origin": f"http://{HOST}", "sec-fetch-site": "same-origin"}, 200),
    ],
)
def test_other_hosts_and_origins(client: TestClient, headers: dict[str, str], status: int) -> None:
    """Requests that name another host, or come from another page, are refused."""
    assert client.get(f"/{TOKEN}/api/state", headers=headers).status_code == status
    assert client.get(f"/{TOKEN}/api/events", headers=headers | {"host": "x"}).status_code == 421


@pytest.mark.parametrize(
    "name", ["../desk.py", "..%2fdesk.py", "%2e%2e/desk.py", "/etc/passwd", "index.html", ""]
)
def test_no_other_file(client: TestClient, name: str) -> None:
    """No path leads out of the few files of the page and of the exports."""
    for place in ("static", "api/export"):
        answer = client.get(f"/{TOKEN}/{place}/{name}")
        assert answer.status_code in (400, 403, 404)
        assert "import" not in answer.text


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b"[1]", b'"x"', b"\xff\xfe", b'[{"do": "pairs"}]', b"[" * 100_000,
     b'[{"do": "set", "n_clusters": 1e999}]', b'[{"do": "set", "n_clusters": NaN}]',
     b'[{"do": "name", "cluster": 0, "name": {"a": 1}}, {"do": "fly"}]'],
)  # fmt: skip
def test_malformed_messages(client: TestClient, desk: Desk, body: bytes) -> None:
    """A message that is not an action is answered with a sentence, and changes nothing."""
    before = desk.state()
    answer = client.post(f"/{TOKEN}/api/act", content=body)
    assert answer.status_code == 400
    assert answer.json()["sentence"]
    assert desk.state() == before
    assert client.post(f"/{TOKEN}/api/suggest", content=b"[3]").status_code == 400


def test_too_large(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """A body that is too large is refused, with and without a length in front."""
    monkeypatch.setattr(guard, "LARGEST_BODY", 1000)
    answer = client.post(f"/{TOKEN}/api/open?name=a.csv", content=b"x" * 1001)
    assert answer.status_code == 413
    parts = (b"x" * 100 for _ in range(20))
    assert client.post(f"/{TOKEN}/api/open?name=a.csv", content=parts).status_code == 413
    claimed = {"content-length": str(2**30)}
    assert client.post(f"/{TOKEN}/api/act", content=b"[]", headers=claimed).status_code == 413


def test_actions_are_kept_at_once(client: TestClient, desk: Desk, tmp_path: Path) -> None:
    """What was said is on the disk before the answer comes, and a new desk goes on from there."""
    url = f"/{TOKEN}/api/act"
    client.post(url, json=[{"do": "pairs", "pairs": [[0, 1]], "together": True}])
    client.post(url, json={"do": "pairs", "pairs": [[2, 3]], "together": False, "confidence": 0.8})
    client.post(url, json={"do": "set", "n_clusters": 4, "size_max": 6})
    client.post(url, json={"do": "name", "cluster": 1, "name": "the others"})
    again = Desk(tmp_path / "work")
    again.open_source(Source(desk.need_table(), Path("made"), tmp_path / "work"))
    assert again.wishes == desk.wishes
    assert (
        client.get(f"/{TOKEN}/api/export/pairs.csv").text.splitlines()[0] == "i,j,type,confidence"
    )


def test_impossible_wishes_are_not_kept(client: TestClient, desk: Desk) -> None:
    """A contradiction is answered with its pairs and ways out, and nothing is stored."""
    url = f"/{TOKEN}/api/act"
    client.post(url, json={"do": "pairs", "pairs": [[0, 1], [1, 2]], "together": True})
    before = desk.wishes
    answer = client.post(url, json={"do": "pairs", "pairs": [[0, 2]], "together": False})
    assert answer.status_code == 409
    assert answer.json()["ways"]
    assert answer.json()["names"]["0"] == EVIL
    assert desk.wishes == before


def test_a_pairs_file(client: TestClient, desk: Desk) -> None:
    """Pairs by id in a file are added; a file that cannot be read is named as what it is."""
    answer = client.post(f"/{TOKEN}/api/pairs", content=b"i,j,type\np1,p2,ml\np3,p4,cl\n")
    assert answer.status_code == 200
    assert [pair.key for pair in desk.wishes.pairs] == [(1, 2), (3, 4)]
    wrong = client.post(f"/{TOKEN}/api/pairs", content=b"i,j,type\np1,nobody,ml\n")
    assert wrong.status_code == 400
    assert "nobody" in wrong.json()["sentence"]
    assert str(desk.folder_path) not in wrong.json()["sentence"]


def test_an_upload(client: TestClient, desk: Desk) -> None:
    """A table that is sent is kept in the work folder under a harmless name."""
    content = b"id,a,b\nx,1,2\ny,3,4\nz,5,7\nw,8,9\n"
    answer = client.post(f"/{TOKEN}/api/open?name=../../evil.csv", content=content)
    assert answer.status_code == 200
    assert sorted(p.name for p in desk.folder_path.iterdir()) == [
        "evil.csv", "pairs.csv", "settings.json",
    ]  # fmt: skip
    assert answer.json()["n_points"] == 4
    pickle = client.post(f"/{TOKEN}/api/open?name=a.npy", content=b"\x93NUMPY\x01\x00garbage")
    assert pickle.status_code == 400
    assert desk.need_table().ids == ("x", "y", "z", "w")


def test_rows_places_and_search(client: TestClient, desk: Desk) -> None:
    """Places of all kinds, pages of the table, and ids found by any part of them."""
    for query in ("kind=pca", "kind=pairs", "kind=columns&x=a&y=c"):
        answer = client.get(f"/{TOKEN}/api/places?{query}")
        assert len(np.frombuffer(answer.content, "<f4")) == 24
    assert client.get(f"/{TOKEN}/api/places?kind=columns&x=a&y=nothing").status_code == 400
    rows = client.get(f"/{TOKEN}/api/rows?sort=a&descending=1").json()["rows"]
    values = [row["values"][0] for row in rows]
    assert values == sorted(values, reverse=True)
    found = client.get(f"/{TOKEN}/api/find", params={"text": "SCRIPT"}).json()
    assert [row["id"] for row in found] == [EVIL]
    assert client.get(f"/{TOKEN}/api/row?row=99").status_code == 404


def test_undo_over_the_wire(client: TestClient, desk: Desk) -> None:
    """Undo and redo of random actions: the wishes and the files follow."""
    url, seen = f"/{TOKEN}/api/act", [desk.wishes]
    rng = np.random.default_rng(1)
    for _ in range(20):
        i, j = rng.choice(12, 2, replace=False).tolist()
        action = {"do": "pairs", "pairs": [[i, j]], "together": True, "confidence": 0.7}
        client.post(url, json=action)
        if desk.wishes != seen[-1]:
            seen.append(desk.wishes)
    for wishes in seen[-2::-1]:
        client.post(url, json={"do": "undo"})
        assert desk.wishes == wishes
    state = json.loads((desk.folder_path / "settings.json").read_text())
    assert state["n_clusters"] == 3


def contrast(one: str, other: str) -> float:
    """The contrast of two colors, from 1 to 21 (WCAG 2)."""

    def luminance(color: str) -> float:
        parts = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_in_light_and_dark(client: TestClient) -> None:
    """Text has 4.5 to 1 on the page and on cards; edges of controls and points have 3 to 1."""
    css = client.get(f"/{TOKEN}/static/style.css").text
    looks = client.get(f"/{TOKEN}/static/looks.js").text
    palettes = re.findall(r"const (?:LIGHT|DARK) = \[(.*?)\]", looks, re.DOTALL)
    schemes = re.findall(r":root \{(.*?)\}", css, re.DOTALL)
    assert len(schemes) == len(palettes) == 2
    for scheme, palette in zip(schemes, palettes, strict=True):
        color = dict(re.findall(r"--([\w-]+): (#\w{6})", scheme))
        for behind in (color["page"], color["card"]):
            for name in ("text", "faint", "accent", "bad"):
                assert contrast(color[name], behind) >= 4.5, name
        assert contrast(color["accent-text"], color["accent"]) >= 4.5
        drawn = re.findall(r"#\w{6}", palette)
        assert len(drawn) == 24
        for mark in (*drawn, color["edge"], color["bar"], color["bar-low"]):
            assert contrast(mark, color["page"]) >= 3, mark
