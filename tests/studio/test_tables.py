"""Tables that strangers bring: they open, their columns have roles, and everything comes back."""

from __future__ import annotations

import csv
import io
import json
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from starlette.testclient import TestClient

from smdeclust.exceptions import InvalidInputError
from smdeclust.queries.picture import match_labels
from smdeclust.studio import opening, solving, view
from smdeclust.studio.desk import Desk
from smdeclust.studio.server import make_app, thumbnail
from smdeclust.studio.sheet import Sheet
from smdeclust.studio.wishes import Ground, Wishes, change
from tests.studio.live import sheet_of
from tests.studio.test_server import HOST, TOKEN, Idle

Image = pytest.importorskip("PIL.Image")
N = 60


def people(n: int = N) -> pd.DataFrame:
    """Customers with everything that tables have."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, n)
    return pd.DataFrame(
        {
            "customer_id": 10001 + np.arange(n),
            "name": [f"Person {i}" for i in range(n)],
            "joined": [f"2021-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(n)],
            "city": np.array(["Paris", "Köln", "Oslo"])[kind],
            "age": rng.normal(30 + 12 * kind, 5).round(),
            "spend": np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(3 + kind, 0.4)),
            "member": np.where(rng.random(n) < 0.5, "yes", "no"),
            "notes": [f"=HYPERLINK('x') visit {i}, buys {'gifts' * (i % 3)}" for i in range(n)],
            "photo": [f"faces/{i}.png" for i in range(n)],
            "site": [f"https://example.com/{i}" for i in range(n)],
        }
    )


def as_bytes(write: Callable[[io.BytesIO], Any]) -> bytes:
    out = io.BytesIO()
    write(out)
    return out.getvalue()


FRAME = people()
TABLES: dict[str, bytes] = {
    "people.csv": FRAME.to_csv(index=False).encode(),
    "german.csv": FRAME.to_csv(index=False, sep=";", decimal=",").encode("latin-1"),
    "tabs.tsv": FRAME.to_csv(index=False, sep="\t").encode("utf-16"),
    "excel.xlsx": as_bytes(lambda out: FRAME.to_excel(out, index=False)),
    "lines.jsonl": FRAME.to_json(orient="records", lines=True).encode(),
    "columns.parquet": as_bytes(lambda out: FRAME.to_parquet(out, index=False)),
    "array.npy": as_bytes(lambda out: np.save(out, np.random.default_rng(0).normal(size=(N, 4)))),
    "numbers.csv": FRAME[["age", "spend"]].to_csv(index=False).encode(),
    "repeated.csv": pd.concat([FRAME, FRAME]).to_csv(index=False).encode(),
    "words.csv": FRAME[["customer_id", "notes"]]
    .assign(notes=[f"letter on {'money' if i % 2 else 'music'} and {i} things" for i in range(N)])
    .to_csv(index=False)
    .encode(),
    "wide.csv": pd.DataFrame(np.random.default_rng(1).normal(size=(N, 200))).to_csv().encode(),
    "flags.csv": FRAME[["customer_id", "member", "city"]].to_csv(index=False).encode(),
}


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setattr("smdeclust.studio.desk.Worker", Idle)
    return Desk(tmp_path / "work")


@pytest.fixture
def client(desk: Desk) -> Iterator[TestClient]:
    app = make_app(desk, TOKEN, frozenset({HOST}))
    with TestClient(app, base_url=f"http://{HOST}/{TOKEN}/") as client:
        yield client


def send(client: TestClient, name: str) -> dict[str, Any]:
    answer = client.post("api/open", params={"name": name}, content=TABLES[name])
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def found(desk: Desk, labels: np.ndarray) -> None:
    desk._take_solution({"labels": labels, "objective": 1.0, "final": True, "broken": []})


@pytest.mark.parametrize("name", TABLES)
def test_tables_of_strangers(client: TestClient, desk: Desk, name: str) -> None:
    """Each opens, is drawn, shown by rows, summed up by cluster, exported, and opens again."""
    state = send(client, name)
    n = state["n_points"]
    assert n in (N, 2 * N)
    assert any(column["counts"] for column in state["sheet"])
    assert all(column["why"] and column["done"] for column in state["sheet"])
    found(desk, np.arange(n) % 3)
    assert len(desk.solution["clusters"]) == 3
    json.dumps(desk.state(), allow_nan=False)
    for query in ("kind=pca", "kind=pairs"):
        assert len(client.get(f"api/places?{query}").content) == 8 * n
    for column in state["columns"][:20]:
        answer = client.get("api/places", params={"kind": "columns", "x": column, "y": column})
        assert len(answer.content) == 8 * n
        assert json.loads(answer.headers["x-axes"])[0]["title"] == column
        rows = client.get("api/rows", params={"sort": column}).json()["rows"]
        assert len(rows) == min(n, view.PAGE)
    back = pd.read_csv(io.BytesIO(client.get("api/export/table.csv").content))
    assert back["cluster"].tolist() == (np.arange(n) % 3).tolist()
    sheet = client.get("api/export/table.xlsx")
    assert len(pd.read_excel(io.BytesIO(sheet.content))) == n
    client.post("api/act", json={"do": "pairs", "pairs": [[0, 4]], "together": True})
    again = client.post("api/open", params={"name": name}, content=TABLES[name]).json()
    assert again["n_pairs"] == 1


def test_roles_by_one_click(client: TestClient, desk: Desk) -> None:
    """A role is changed, undone and kept; one that leaves nothing to compare is refused."""
    state = send(client, "people.csv")
    roles = {column["name"]: column["role"] for column in state["sheet"]}
    assert roles["customer_id"] == "id"
    assert (roles["joined"], roles["age"], roles["member"]) == ("date", "number", "yes/no")
    assert roles["notes"] == "text"
    assert "customer_id" not in state["columns"]
    before = view.chosen_points(desk.need_table(), desk.wishes).shape[1]
    act = lambda **more: client.post("api/act", json={"do": "set", **more})  # noqa: E731
    assert act(roles={"age": "left out"}).status_code == 200
    assert view.chosen_points(desk.need_table(), desk.wishes).shape[1] == before - 1
    assert act(roles={"notes": "text"}).status_code == 200
    assert view.chosen_points(desk.need_table(), desk.wishes).shape[1] > before
    assert act(roles={"notes": "number"}).status_code == 400
    assert act(roles=dict.fromkeys(roles, "left out")).status_code == 400
    assert act(columns=["name"]).status_code == 400
    assert act(roles={"nothing": "id"}).status_code == 400
    assert act(roles={"age": "wizard"}).status_code == 400
    client.post("api/act", json={"do": "undo"})
    assert dict(desk.wishes.roles) == {"age": "left out"}


def test_portraits_in_the_words_of_the_table(client: TestClient, desk: Desk) -> None:
    """Categories by their share, dates as dates, numbers in their own units."""
    send(client, "people.csv")
    cities = FRAME["city"].map({"Paris": 0, "Köln": 1, "Oslo": 2}).to_numpy()
    found(desk, cities)
    columns = desk.state()["columns"]
    first = desk.solution["clusters"][0]
    assert first["means"][columns.index("city")] == "Paris 100%"
    assert first["means"][columns.index("joined")].startswith("2021-")
    mean = FRAME["age"][cities == 0].mean()
    assert first["means"][columns.index("age")] == pytest.approx(mean)
    assert any("Paris (100%" in entry["words"] for entry in first["apart"])


def test_formulas_are_neutralized_and_come_back(client: TestClient, desk: Desk) -> None:
    """Cells that a spreadsheet would run are marked in every exported file; ids are read back."""
    evil = ["=cmd|' /C calc'!A0", "+1+1", "@SUM(1)", "-x", "\tq", "'quoted", "fine", "-5"]
    text = io.StringIO()
    csv.writer(text).writerows(
        [["id", "a", "b"], *([name, i, i % 3] for i, name in enumerate(evil))]
    )
    content = text.getvalue().encode()
    assert client.post("api/open?name=evil.csv", content=content).status_code == 200
    client.post("api/act", json={"do": "set", "roles": {"id": "id"}})
    ids = desk.need_table().ids
    assert ids is not None
    pairs = [[0, j] for j in range(1, len(evil))]
    by = {"note": "=1+1", "by": "@me"}
    action = {"do": "pairs", "pairs": pairs, "together": True, "confidence": 0.9, **by}
    assert client.post("api/act", json=action).status_code == 200
    client.post("api/act", json={"do": "label", "rows": [0, 1], "name": "=danger()"})
    client.post("api/act", json={"do": "name", "cluster": 0, "name": "=HYPERLINK(1)"})
    found(desk, np.zeros(len(evil), np.int64))
    for name in ("pairs.csv", "labels.csv", "table.csv"):
        for row in csv.reader(io.StringIO(client.get(f"api/export/{name}").text)):
            for cell in row:
                number = cell.lstrip("-").replace(".", "").isdigit()
                assert number or not cell.startswith(("=", "+", "-", "@", "\t", "\r")), cell
    again = client.post("api/open?name=evil.csv", content=content).json()
    assert again["n_pairs"] == len(pairs)
    assert again["pair_notes"][0] == ["=1+1", "@me"]
    assert again["labelled"] == [[0, "=danger()"], [1, "=danger()"]]


def test_labels_join_and_part() -> None:
    """Points of one label belong together, of different labels apart; contradictions say so."""
    from smdeclust.studio.conflicts import find_conflict

    ground = Ground(10, ("a",))
    wishes = Wishes(3, ("a",))
    for rows, name in (([0, 1, 2], "x"), ([3, 4], "y"), ([5], "z")):
        wishes = change(wishes, {"do": "label", "rows": rows, "name": name}, ground)
    known = wishes.constraints(ground)
    assert sorted(map(tuple, known.must_link.tolist())) == [(0, 1), (0, 2), (3, 4)]
    assert sorted(map(tuple, known.cannot_link.tolist())) == [(0, 3), (0, 5), (3, 5)]
    assert find_conflict(wishes, ground, []) is None
    said = {"do": "pairs", "pairs": [[2, 4]], "together": True}
    wanted = change(wishes, said, ground)
    conflict = find_conflict(wanted, ground, [wanted.pairs[0]])
    assert conflict is not None
    for way in conflict["ways"]:
        after = wishes
        for action in way["actions"]:
            after = change(after, action, ground)
        assert find_conflict(after, ground, []) is None
    ways = [way["label"] for way in conflict["ways"]]
    assert ways == [
        "Make the new pair soft (90% sure)",
        "Remove the label x of",
        "Remove the label y of",
    ]
    with pytest.raises(InvalidInputError):
        change(wishes, {"do": "label", "rows": [99], "name": "x"}, ground)
    assert change(wishes, {"do": "label", "rows": [5], "name": ""}, ground).labelled[-1][0] == 4


def test_pictures_only_from_the_folder(tmp_path: Path, client: TestClient, desk: Desk) -> None:
    """Thumbnails come from the folder of the table; nothing outside can be named or linked."""
    home = tmp_path / "home"
    (home / "faces").mkdir(parents=True)
    Image.new("RGB", (900, 600), "red").save(home / "faces" / "0.png")
    Image.new("RGB", (9, 9), "blue").save(tmp_path / "secret.png")
    (home / "faces" / "link.png").symlink_to(tmp_path / "secret.png")
    (home / "faces" / "text.png").write_text("not a picture")
    names = ["faces/0.png", "../secret.png", "faces/link.png", "faces/text.png",
             str(tmp_path / "secret.png"), "faces/none.png", "x\0.png", "~/a.png"]  # fmt: skip
    frame = pd.DataFrame({"id": [f"p{i}" for i in range(8)], "a": range(8), "photo": names})
    frame.assign(photo=frame["photo"].str.replace("\0", "")).to_csv(home / "t.csv", index=False)
    state = client.post("api/open", params={"path": str(home / "t.csv")}).json()
    assert state["pictures"] == ["photo"]
    codes = [
        client.get("api/picture", params={"row": i, "column": "photo"}).status_code
        for i in range(8)
    ]
    assert codes == [200, 404, 404, 404, 404, 404, 404, 404]
    answer = client.get("api/picture", params={"row": 0, "column": "photo"})
    with Image.open(io.BytesIO(answer.content)) as image:
        assert max(image.size) == 320
    assert client.get("api/picture?row=0&column=a").status_code == 404
    assert client.get("api/picture?row=99&column=photo").status_code == 404
    assert thumbnail(home / "t.csv") is None
    assert desk.need_table().picture_path("a\0.png") is None


def test_a_folder_of_pictures_and_vectors(tmp_path: Path, desk: Desk) -> None:
    """A folder of pictures is a table, by pixels or by vectors beside it."""
    folder = tmp_path / "pictures"
    folder.mkdir()
    for i in range(12):
        Image.new("RGB", (20, 30), ["red", "green", "blue"][i % 3]).save(folder / f"{i:02d}.jpg")
    source = opening.from_path(folder)
    assert source.sheet.points(()).shape == (12, 3 * opening.THUMBNAIL**2)
    assert source.sheet.picture_columns == ("picture",)
    np.save(tmp_path / "vectors.npy", np.arange(24.0).reshape(12, 2))
    beside = opening.from_path(folder, vectors=tmp_path / "vectors.npy")
    assert beside.sheet.points(()).tolist() == np.arange(24.0).reshape(12, 2).tolist()
    desk.open_source(beside)
    assert desk.state()["has_vectors"]
    np.save(tmp_path / "short.npy", np.zeros((3, 2)))
    with pytest.raises(InvalidInputError, match="3 points for 12 rows"):
        opening.from_path(folder, vectors=tmp_path / "short.npy")
    (folder / "99.png").write_text("no picture")
    with pytest.raises(InvalidInputError, match="cannot be read"):
        opening.from_path(folder)


def test_paths_and_sheets(tmp_path: Path, client: TestClient) -> None:
    """A table is opened by its path, of a spreadsheet any sheet, each with what was said about it;
    a wrong path is a sentence."""
    path = tmp_path / "two.xlsx"
    with pd.ExcelWriter(path) as writer:
        FRAME.to_excel(writer, sheet_name="all", index=False)
        FRAME.head(20).to_excel(writer, sheet_name="some", index=False)
    assert client.post("api/open", params={"path": str(path)}).json()["n_points"] == N
    some = client.post("api/open", params={"path": f'"{path}"', "sheet": "some"})
    assert some.json()["n_points"] == 20
    whole = client.post("api/open", params={"name": "two.xlsx"}, content=path.read_bytes()).json()
    assert (whole["pages"], whole["page"]) == (["all", "some"], "all")
    assert "choose it below" in whole["reading"][0]
    client.post("api/act", json={"do": "pairs", "pairs": [[0, 4]], "together": True})
    other = client.post("api/open", params={"sheet": "some"}).json()
    assert (other["page"], other["n_points"], other["n_pairs"]) == ("some", 20, 0)
    again = client.post("api/open", params={"sheet": "all"}).json()
    assert (again["page"], again["n_points"], again["n_pairs"]) == ("all", N, 1)
    assert again["folder"] == whole["folder"] != other["folder"]
    for wrong in ("", "/no/such/file.csv", "a\0b", "x" * 5000):
        answer = client.post("api/open", params={"path": wrong})
        assert answer.status_code in (400, 507)
        assert answer.json()["sentence"]
    assert client.post("api/open", params={"path": str(path), "sheet": "no"}).status_code == 400


def test_errors_in_words_of_the_page(client: TestClient) -> None:
    """No option of the command line is recommended where there is none."""
    send(client, "people.csv")
    answers = [
        client.post("api/open", params={"name": "t.csv"}, content=b"a,b\n1,\x002\n"),
        client.post("api/pairs", content=b"C1,C2\nC3,C4\n"),
        client.post("api/pairs", content=b"i,j,type\nno,such,ml\n"),
    ]
    sentences = [answer.json()["sentence"] for answer in answers]
    assert not [sentence for sentence in sentences if "--" in sentence or "=..." in sentence]
    assert "save it as UTF-8" in sentences[0]
    assert "a third column, type, with ml or cl" in sentences[1]


@pytest.mark.parametrize(
    ("name", "scaled"), [("people.csv", True), ("array.npy", False), ("excel.xlsx", True)]
)
def test_the_notebook_runs(
    client: TestClient, desk: Desk, tmp_path: Path, name: str, scaled: bool
) -> None:
    """The cells of the notebook run as they are and keep pairs and labels."""
    send(client, name)
    client.post("api/act", json={"do": "pairs", "pairs": [[0, 5]], "together": True})
    client.post("api/act", json={"do": "label", "rows": [1, 2], "name": "one"})
    client.post("api/act", json={"do": "label", "rows": [3], "name": "two"})
    client.post("api/act", json={"do": "set", "standardize": scaled})
    document = json.loads(client.get("api/export/notebook.ipynb").text)
    text = "\n\n".join(cell["source"] for cell in document["cells"])
    check = "y = model.labels_\nassert y[0] == y[5] and y[1] == y[2] and y[2] != y[3]\n"
    expected = view.chosen_points(desk.need_table(), desk.wishes)
    np.save(tmp_path / "expected.npy", expected)
    check += "import numpy\nassert numpy.allclose(X, numpy.load('expected.npy'))"
    subprocess.run([sys.executable, "-c", f"{text}\n{check}\n"], check=True, cwd=tmp_path)


def test_k_by_splitting_and_merging() -> None:
    """Splitting gives K centers near the clusters on the screen, merging the best two united."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(c, 0.2, (30, 2)) for c in ((0, 0), (6, 0), (0, 6), (6, 6))])
    truth = np.repeat(np.arange(4), 30)
    two = solving.split_or_merge(X, truth, 2)
    assert two.shape == (2, 2)
    four = solving.split_or_merge(X, truth // 2, 4)
    means = solving.cluster_means(X, truth, 4)
    assert np.sort(((four[:, None] - means) ** 2).sum(axis=2).min(axis=1)).max() < 0.01
    same = solving.split_or_merge(np.ones((10, 1)), np.zeros(10, np.int64), 3)
    assert same.shape == (3, 1)
    labels = match_labels(np.array([2, 2, 0, 0, 1]), np.array([0, 0, 1, 1, 7]), 3)
    assert labels.tolist() == [0, 0, 1, 1, 2]


def test_jobs_of_the_solver() -> None:
    """First answers at any K, why, K suggested, a map: each gives what the page shows."""
    from smdeclust.studio.worker import Job

    sheet = Sheet(people(150))
    wishes = Wishes(3, tuple(sheet.frame.columns))
    handlers = solving.make_handlers(sheet)

    def do(kind: str, payload: Any) -> list[tuple[str, Any]]:
        sent: list[tuple[str, Any]] = []
        handlers[kind](Job(1, 1, kind, payload), lambda *m: sent.append(m), lambda: False)
        return sent

    ground = Ground(150, wishes.columns)
    wishes = change(wishes, {"do": "pairs", "pairs": [[0, 1]], "together": False}, ground)
    labels = do("near", (wishes, None))[-1][1]["labels"]
    for k in (7, 2, 3):
        labels = do("near", (change(wishes, {"do": "set", "n_clusters": k}, ground), labels))[-1][
            1
        ]["labels"]
        assert sorted(set(labels.tolist())) == list(range(k))
        assert labels[0] != labels[1]
    final = do("search", (wishes, labels.astype(np.int64)))[-1][1]
    assert final["final"]
    shown = final["labels"].astype(np.int64)
    why = do("why", (wishes, shown, 0))[-1][1]
    assert why["cluster"] == shown[0]
    assert why["pairs"] == [[1, False, 1.0]]
    assert len(why["nearest"]) == 3
    places = do("map", wishes)[-1][1]
    assert places.shape == (150, 2)
    assert np.isfinite(places).all()
    asked = do("suggest", (wishes, shown, [], False))[-1][1]["asked"]
    assert len(asked) == 2
    again = do("suggest", (wishes, shown, [tuple(asked)], False))[-1][1]
    assert again["asked"] != asked
    row, *others = do("suggest", (wishes, shown, [], True))[-1][1]["asked"]
    assert row not in others
    assert len({int(shown[other]) for other in others}) == len(others)
    do("warm", None)


def test_shapes_too() -> None:
    """Two rings are found by shape, pairs hold, and a new pair moves few points at first."""
    from sklearn.datasets import make_circles

    from smdeclust.studio.worker import Job

    X, y = make_circles(200, factor=0.4, noise=0.04, random_state=0)
    sheet = sheet_of(X, ("a", "b"))
    handlers, ground = solving.make_handlers(sheet), Ground(200, ("a", "b"))
    rng = np.random.default_rng(0)
    wishes = Wishes(2, ("a", "b"), metric="shapes")
    for i, j in rng.choice(200, (40, 2), replace=False).tolist():
        pair = {"do": "pairs", "pairs": [[i, j]], "together": bool(y[i] == y[j])}
        wishes = change(wishes, pair, ground)

    def do(kind: str, payload: Any) -> dict[str, Any]:
        sent: list[tuple[str, Any]] = []
        handlers[kind](Job(1, 1, kind, payload), lambda *m: sent.append(m), lambda: False)
        return dict(sent[-1][1])

    shown = do("search", (wishes, do("near", (wishes, None))["labels"].astype(np.int64)))
    labels = shown["labels"].astype(np.int64)
    assert shown["final"]
    assert max((labels == y).mean(), (labels != y).mean()) > 0.95
    i, j = np.flatnonzero(y == 0)[:2].tolist()
    more = change(wishes, {"do": "pairs", "pairs": [[i, j]], "together": True}, ground)
    assert np.count_nonzero(do("near", (more, labels))["labels"] != labels) <= 2
    assert do("why", (more, labels, i))["by_shape"]


def test_a_sheet_goes_to_other_processes() -> None:
    """Also after rows were shown; missing words are nothing."""
    sheet = sheet_of(np.arange(6.0).reshape(3, 2), ("a", "b"), ["x", "y", "z"])
    frame = sheet.frame.assign(word=["u", None, "v"])
    sheet = Sheet(frame, fixed=sheet.fixed | {"word": "category"})
    assert [sheet.row(row)[-1] for row in range(3)] == ["u", None, "v"]
    again = pickle.loads(pickle.dumps(sheet))
    assert again.row(1) == sheet.row(1) == [2.0, 3.0, None]
