"""Nothing that was said is lost: refused uploads, kills, two writers, full disks, edited files."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from smdeclust.exceptions import InvalidInputError
from smdeclust.studio import view
from smdeclust.studio.desk import Desk
from smdeclust.studio.opening import Source
from smdeclust.studio.server import make_app
from smdeclust.studio.work_folder import STEP
from tests.studio.live import sheet_of
from tests.studio.test_server import HOST, TOKEN, Idle

N = 1600
FILES = ("pairs.csv", "settings.json", "labels.csv")


def make_desk(folder: Path, n_clusters: int | None = None) -> Desk:
    X = np.random.default_rng(0).normal(size=(N, 3))
    ids = tuple(f"p{i}" for i in range(N))
    desk = Desk(folder)
    desk.open_source(Source(sheet_of(X, ("a", "b", "c"), ids), Path("made"), folder), n_clusters)
    return desk


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setattr("smdeclust.studio.desk.Worker", Idle)
    return make_desk(tmp_path / "work", 5)


@pytest.fixture
def client(desk: Desk) -> Iterator[TestClient]:
    app = make_app(desk, TOKEN, frozenset({HOST}))
    with TestClient(app, base_url=f"http://{HOST}/{TOKEN}/") as client:
        yield client


def say(client: TestClient, *pairs: list[int], **more: Any) -> Any:
    return client.post("api/act", json={"do": "pairs", "pairs": pairs, "together": True, **more})


def contents(folder: Path) -> dict[str, str]:
    return {name: (folder / name).read_text() for name in FILES if (folder / name).exists()}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("bad.csv", b"id,note\nx,\ny,\n"),
        ("pairs.csv", b"\x00\x01\x02"),
        ("made.npy", b"\x93NUMPY\x01\x00garbage"),
        ("empty.csv", b""),
        ("x" * 300 + ".csv", b""),
    ],
)
def test_a_refused_upload_deletes_nothing(
    client: TestClient, desk: Desk, name: str, content: bytes
) -> None:
    """Pairs, settings and labels stay when a table cannot be read."""
    say(client, [0, 1])
    desk._folder.save_labels(np.zeros(N, np.int64))  # type: ignore[union-attr]
    before, table = contents(desk.folder_path), desk.table
    answer = client.post("api/open", params={"name": name}, content=content)
    assert answer.status_code == 400
    assert len(answer.json()["sentence"]) < 1000
    assert contents(desk.folder_path) == before
    assert desk.table is table


def test_an_upload_never_takes_the_place_of_other_work(client: TestClient, desk: Desk) -> None:
    """Each table has a folder of its own; the same table again goes on where it was left."""
    say(client, [0, 1])
    first, before = desk.folder_path, contents(desk.folder_path)
    table = b"id,a,b\nx,1,2\ny,3,4\nz,5,7\nw,8,9\n"
    assert client.post("api/open?name=t.csv", content=table).status_code == 200
    say(client, [0, 2])
    place = desk.folder_path
    other = table.replace(b"9", b"8")
    assert client.post("api/open?name=t.csv", content=other).json()["n_pairs"] == 0
    assert desk.folder_path != place
    assert client.post("api/open?name=t.csv", content=table).json()["n_pairs"] == 1
    assert desk.folder_path == place
    assert contents(first) == before


@pytest.mark.parametrize("length", [80, 255, 300, 5000])
def test_upload_names_of_any_length(client: TestClient, length: int) -> None:
    """A long name is shortened."""
    table = b"id,a,b\nx,1,2\ny,3,4\nz,5,7\n"
    name = "ü" * length + ".csv"
    assert client.post("api/open", params={"name": name}, content=table).status_code == 200


def test_names_beyond_k(client: TestClient, desk: Desk, tmp_path: Path) -> None:
    """A cluster named at K = 5 does not hinder K = 3, and has its name again at K = 5."""
    client.post("api/act", json={"do": "name", "cluster": 4, "name": "late"})
    client.post("api/act", json={"do": "set", "n_clusters": 3})
    again = make_desk(tmp_path / "work")
    assert again.wishes == desk.wishes
    assert dict(again.wishes.names) == {4: "late"}


def test_confidence_just_below_one(client: TestClient, tmp_path: Path) -> None:
    """A pair that may be broken stays one when it is written and read."""
    for n, sure in enumerate([0.9999999, np.nextafter(1, 0), 0.5, 1.0, 1 / 3 + 0.5]):
        say(client, [0, n + 1], confidence=sure)
    again = make_desk(tmp_path / "work")
    assert [pair.confidence for pair in again.wishes.pairs] == [
        0.9999999, np.nextafter(1, 0), 0.5, 1.0, 1 / 3 + 0.5,
    ]  # fmt: skip
    assert not again.wishes.pairs[0].is_hard
    exported = client.get("api/export/pairs.csv").text
    assert "0.9999999" in exported


def test_posts_at_once(client: TestClient, desk: Desk, tmp_path: Path) -> None:
    """1,500 pairs sent by many posts at the same time are all kept."""

    def send(part: int) -> int:
        lines = [f"p{part},p{100 + part * 15 + j},ml" for j in range(15)]
        body = "\n".join(["i,j,type", *lines]).encode()
        return client.post("api/pairs", content=body).status_code

    with ThreadPoolExecutor(16) as pool:
        assert set(pool.map(send, range(100))) == {200}
    assert len(desk.wishes.pairs) == 1500
    assert make_desk(tmp_path / "work").wishes == desk.wishes


def test_two_studios_in_one_folder(desk: Desk, tmp_path: Path) -> None:
    """Two studios write in turn: each goes on from what the other wrote."""
    import asyncio

    other = make_desk(tmp_path / "work")
    for n in range(20):
        one = (desk, other)[n % 2]
        pair = {"do": "pairs", "pairs": [[n, n + 50]], "together": True}
        asyncio.run(one.act([pair, {"do": "name", "cluster": 0, "name": f"step {n}"}]))
    assert {pair.first for pair in make_desk(tmp_path / "work").wishes.pairs} == set(range(20))
    assert other.wishes.names == ((0, "step 19"),)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_kill_at_each_write(desk: Desk, tmp_path: Path) -> None:
    """A change of pairs and settings, killed before or after each step on the disk: all or none."""
    import asyncio

    folder = tmp_path / "work"
    actions = [
        {"do": "pairs", "pairs": [[0, 1]], "together": True},
        {"do": "set", "n_clusters": 4},
    ]
    before = make_desk(folder).wishes
    asyncio.run(desk.act(actions))
    after = make_desk(folder).wishes
    seen = set()
    for place in range(40):
        asyncio.run(desk.act([{"do": "undo"}]))
        child = os.fork()
        if child == 0:
            _die_at(place)
            asyncio.run(desk.act([{"do": "redo"}]))
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        found = make_desk(folder).wishes
        assert found in (before, after)
        assert not (folder / STEP).exists()
        seen.add(found)
        asyncio.run(desk.act([{"do": "redo"}]))
        assert make_desk(folder).wishes == after
        if code == 0:
            break
    else:
        pytest.fail("more writes than expected")
    assert place >= 8  # aside, sync and rename of three files, each before and after
    assert seen == {before, after}


def _die_at(place: int) -> None:
    """End this process before or after the n-th call that changes the disk."""
    count = iter(range(10_000))

    def deadly(function: Any) -> Any:
        def called(*arguments: Any, **named: Any) -> Any:
            if next(count) == place:
                os._exit(9)
            result = function(*arguments, **named)
            if next(count) == place:
                os._exit(9)
            return result

        return called

    os.replace, os.fsync, os.unlink = map(deadly, (os.replace, os.fsync, os.unlink))  # type: ignore[assignment]


@pytest.mark.parametrize("full_at", [1, 2, 3])
def test_a_full_disk(
    client: TestClient, desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full_at: int
) -> None:
    """A full disk is a sentence; what is shown is what is stored."""
    say(client, [0, 1])
    calls, write = iter(range(1, 100)), os.fsync

    def full(handle: int) -> None:
        if next(calls) >= full_at:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(handle)

    monkeypatch.setattr(os, "fsync", full)
    actions = [
        {"do": "pairs", "pairs": [[2, 3]], "together": True}, {"do": "set", "n_clusters": 4},
    ]  # fmt: skip
    answer = client.post("api/act", json=actions)
    if full_at == 1:  # not even the step could be written
        assert answer.status_code == 507
        assert "disk is full" in answer.json()["sentence"]
    monkeypatch.setattr(os, "fsync", write)
    assert make_desk(tmp_path / "work").wishes == desk.wishes
    say(client, [4, 5])
    assert make_desk(tmp_path / "work").wishes == desk.wishes
    assert Path(desk.folder_path / "pairs.csv").read_text().count("p4") == 1


@pytest.mark.parametrize(
    "settings",
    [
        "nan", "-5", "[]", "{", '"x"', "[" * 100_000, "\ud800", '{"n_clusters": NaN}',
        '{"n_clusters": -5}', '{"n_clusters": 1e999}', '{"n_clusters": "3"}',
        '{"n_clusters": 1' + "0" * 400 + "}", '{"n_clusters": true}', '{"size_min": -5}',
        '{"size_max": {}}', '{"columns": 3}', '{"columns": [[1]]}', '{"columns": ["z"]}',
        '{"standardize": "yes"}', '{"metric": ["a"]}', '{"names": [1]}', '{"names": {"x": "y"}}',
        '{"names": {"-1": "y"}}', '{"names": {"0": 5}}', '{"names": {"99999999999": "y"}}',
        '{"names": {"' + "9" * 5000 + '": "y"}}',
    ],
)  # fmt: skip
def test_edited_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str) -> None:
    """Settings that make no sense are a sentence that names the file."""
    monkeypatch.setattr("smdeclust.studio.desk.Worker", Idle)
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "settings.json").write_bytes(settings.encode("utf-8", "surrogatepass"))
    with pytest.raises(InvalidInputError, match=r"settings\.json") as caught:
        make_desk(folder)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ("i,j,type,confidence\np0,p1,ml,nan\n", "line 2.*confidence"),
        ("i,j,type,confidence\np0,p1,ml,-5\n", "line 2.*confidence"),
        ("i,j,type,confidence\np0,p1,ml,1e400\n", "line 2.*confidence"),
        ("i,j,type,confidence\np0,p1,ml,sure\n", "line 2"),
        ("i,j,type\np0,p0,ml\n", "itself"),
        ("i,j,type\np0,nobody,ml\n", "nobody"),
        ("i,j,type\np0,p1,maybe\n", "maybe"),
        ("a,b\n1,2\n", "line 1.*header"),
        ("i,j,type\np0\n", "line 2.*1 cell"),
        ("i,j,type\n" + "x" * 200_000 + ",p1,ml\n", "pairs.csv"),
        ("i,j,type\np0,p1,ml\0\n", "pairs.csv"),
    ],
)
def test_edited_pairs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pairs: str, words: str
) -> None:
    """Pairs that make no sense are a sentence with file and line."""
    monkeypatch.setattr("smdeclust.studio.desk.Worker", Idle)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "pairs.csv").write_text(pairs)
    with pytest.raises(InvalidInputError, match=words):
        make_desk(tmp_path / "work")


@pytest.mark.parametrize("label", ["-5", "nan", "1e9", "9" * 400, "7.5", ""])
def test_edited_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, label: str) -> None:
    """Labels that make no sense are found again."""
    monkeypatch.setattr("smdeclust.studio.desk.Worker", Idle)
    (tmp_path / "work").mkdir()
    lines = [f"p{i},{label if i == 3 else 0}" for i in range(N)]
    (tmp_path / "work" / "labels.csv").write_text("\n".join(["id,label", *lines]))
    assert make_desk(tmp_path / "work").labels is None


def test_costs_of_different_spaces_are_not_compared(client: TestClient, desk: Desk) -> None:
    """After a column was switched off, points that moved are told, and no change of cost."""
    desk._resolve()

    def found(objective: float) -> None:
        labels = np.arange(N) % 5
        desk._take_solution({"labels": labels, "objective": objective, "final": False})

    found(100.0)
    say(client, [0, 1])
    found(110.0)
    assert desk.solution["change_of_cost"] == pytest.approx(0.1)
    client.post("api/act", json={"do": "set", "columns": ["a", "b"]})
    found(50.0)
    assert desk.solution["change_of_cost"] is None
    client.post("api/act", json={"do": "set", "metric": "learned"})
    found(40.0)
    say(client, [0, 2])
    found(30.0)
    assert desk.solution["change_of_cost"] is None


def test_no_cluster_is_set_apart_by_nothing() -> None:
    """Columns in which a cluster is like all points are not named, constant ones neither."""
    X = np.column_stack([np.repeat([0.0, 1.0], 50), np.tile([0.0, 1.0], 50), np.ones(100)])
    sheet = sheet_of(X, ("a", "b", "c"))
    found = view.portraits(sheet, np.repeat([0, 1], 50), 2)
    assert [[a["column"] for a in cluster["apart"]] for cluster in found] == [["a"], ["a"]]


def test_the_exported_lines_run(client: TestClient, desk: Desk, tmp_path: Path) -> None:
    """The lines of Python run as they are, from anywhere, and keep the pairs."""
    rows = [["id", "a", "b"], *([f"r{i}", i % 7, i % 11] for i in range(60))]
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    client.post("api/open?name=t.csv", content=out.getvalue().encode())
    say(client, [0, 3])
    client.post("api/act", json={"do": "set", "size_max": 30})
    text = client.get("api/export/recipe.py").text
    compile(text, "recipe.py", "exec")
    path = tmp_path / "elsewhere" / "recipe.py"
    path.parent.mkdir()
    path.write_text(text + "print(model.labels_[0] == model.labels_[3])\n")
    run = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, cwd=path.parent, check=True
    )
    assert run.stdout.splitlines()[-1] == "True"


def test_work_stays_readable_by_fit(client: TestClient, desk: Desk, tmp_path: Path) -> None:
    """The pairs of the folder are read by the usual readers, too."""
    from smdeclust.io import read_constraints

    say(client, [0, 1], [2, 3], confidence=0.75)
    ids = desk.need_table().ids
    found = read_constraints(desk.folder_path / "pairs.csv", ids=ids)
    assert found.soft_must_link.tolist() == [[0, 1], [2, 3]]
    assert json.loads((desk.folder_path / "settings.json").read_text())["n_clusters"] == 5
