"""Tables of people on the command line: roles at the door, the same preparation everywhere."""

from __future__ import annotations

import csv
import json
import re
from html import unescape

import numpy as np
import pandas as pd
import pytest

from smdeclust import TableFeatures
from smdeclust.io import read_frame
from smdeclust.points.centers import cost_of

FORMULA = "=cmd|'/C calc'!A0"


@pytest.fixture
def customers(tmp_path):
    """Sixty customers of three kinds: names, decimal commas, a gap, a formula for an id."""
    rng = np.random.default_rng(0)
    kind = np.arange(60) % 3
    income = [f"{v:.2f}".replace(".", ",") for v in 20000 * (1 + kind) + rng.normal(0, 900, 60)]
    frame = pd.DataFrame(
        {
            "customer_id": [FORMULA, *(f"C{i:02d}" for i in range(1, 60))],
            "name": [f"Ann Bell{i}" for i in range(60)],
            "age": [str(30 + 15 * k + i % 4) if i != 5 else "" for i, k in enumerate(kind)],
            "income": income,
            "channel": np.array(["shop", "online", "partner"])[kind],
            "target": kind,
        }
    )
    path = tmp_path / "customers.csv"
    frame.to_csv(path, index=False, sep=";", encoding="cp1252")
    (tmp_path / "pairs.csv").write_text(f"i,j,type\nC01,C04,ml\nC01,C02,cl\n{FORMULA},C03,ml\n")
    return path


def fit(cli, data, tmp_path, *options):
    out = tmp_path / "out"
    pairs = tmp_path / "pairs.csv"
    result = cli("fit", data, "-k", 3, "-c", pairs, "--out", out, "--no-report", *options)
    assert result.code == 0, result.err
    return out, result


def test_said_at_the_door(cli, customers, tmp_path):
    """Every column with its role, why, and what was done; none is cut."""
    _, result = fit(cli, customers, tmp_path)
    said = " ".join(result.err.split())
    for word in ("customer_id id", "name text", "age number", "channel category", "target class"):
        assert word in said
    assert "1 missing" in said
    assert "agreement with the classes" in result.out
    wide = tmp_path / "wide.csv"
    pd.DataFrame(np.random.default_rng(0).normal(size=(30, 80))).add_prefix("col").to_csv(
        wide, index=False
    )
    said = cli("fit", wide, "-k", 2).err
    assert all(f"col{i} " in said for i in range(80))


def test_roles_can_be_changed(cli, customers, tmp_path):
    """--role, and a wrong one is a sentence."""
    _, result = fit(cli, customers, tmp_path, "--role", "channel=left out", "--json")
    assert json.loads(result.out)["columns"] == ["age", "income"]
    assert json.loads(result.out)["roles"]["channel"] == "left out"
    for role, words in (("age", "COLUMN=ROLE"), ("age=magic", "expected one of number"),
                        ("nope=id", "no such column")):  # fmt: skip
        assert words in cli("fit", customers, "-k", 3, "--role", role).err


def test_the_table_comes_back(cli, customers, tmp_path):
    """Their own table as it came, with a column cluster; centers in its units."""
    out, _ = fit(cli, customers, tmp_path)
    before = customers.read_bytes().decode("cp1252").splitlines()
    after = (out / "table.csv").read_bytes().decode("cp1252").splitlines()
    assert after[0] == before[0] + ";cluster"
    assert [line.rpartition(";")[0] for line in after[2:]] == before[2:]
    with (out / "centers.csv").open() as stream:
        centers = list(csv.DictReader(stream))
    assert sorted(row["channel"] for row in centers) == ["online", "partner", "shop"]
    assert sorted(round(float(row["income"]) / 20000) for row in centers) == [1, 2, 3]
    document = json.loads((out / "result.json").read_text())
    assert any("channel: 100% shop" in words for words in document["set_apart"])


@pytest.mark.parametrize("ending", ["xlsx", "parquet"])
def test_it_comes_back_as_it_came(cli, customers, tmp_path, ending):
    """Excel gives Excel, Parquet gives Parquet."""
    pytest.importorskip("python_calamine" if ending == "xlsx" else "pyarrow")
    data = tmp_path / f"c.{ending}"
    frame = read_frame(customers).frame.assign(customer_id=[f"C{i:02d}" for i in range(60)])
    getattr(frame, "to_excel" if ending == "xlsx" else "to_parquet")(data, index=False)
    (tmp_path / "pairs.csv").write_text("i,j,type\nC01,C04,ml\n")
    out, _ = fit(cli, data, tmp_path)
    back = read_frame(out / f"table.{ending}").frame
    assert list(back) == [*frame, "cluster"]
    assert back["income"].astype(float).tolist() == frame["income"].astype(float).tolist()


def test_formulas_are_made_safe(cli, customers, tmp_path):
    """No cell of what is written begins like a formula; our own files read back."""
    out, _ = fit(cli, customers, tmp_path)
    for name in ("labels.csv", "table.csv"):
        assert f"\n{FORMULA}" not in (out / name).read_text(encoding="cp1252")
    assert (out / "labels.csv").read_text().splitlines()[1].startswith("'=cmd")
    labels = out / "labels.csv"
    pairs = tmp_path / "pairs.csv"
    assert cli("certify", customers, "--labels", labels, "-c", pairs, "--max-time", 5).code == 0
    again = cli("fit", out / "table.csv", "-k", 3, "-c", pairs, "--json")
    assert json.loads(again.out)["ids"][0] == FORMULA


def test_the_same_preparation_everywhere(cli, customers, tmp_path):
    """predict, certify, plot, what-if and compare use the columns as the fit did."""
    out, _ = fit(cli, customers, tmp_path)
    document = json.loads((out / "result.json").read_text())
    labels = np.array(document["labels"])
    new = json.loads(cli("predict", customers, "--result", out, "--json").out)
    assert new["labels"] == labels.tolist()
    pairs = tmp_path / "pairs.csv"
    sure = cli("certify", customers, "-l", out / "labels.csv", "-c", pairs, "--json")
    assert json.loads(sure.out)["given_objective"] == pytest.approx(document["objective"])
    picture = tmp_path / "p.png"
    assert cli("plot", customers, "-l", out / "labels.csv", "--out", picture).code == 0
    change = ["--drop", "C01,C04", "--json"]
    half = tmp_path / "half.csv"
    text = customers.read_bytes().decode("cp1252").splitlines()
    half.write_text("\n".join(text[:31]) + "\n")
    pairs.write_text("i,j,type\nC01,C04,ml\n")
    same = [half, "-k", 3, "-c", pairs, "--result", out]
    assert cli("what-if", *same, *change).code == 0
    assert cli("compare", *same, "-m", "smdeclust", "--json").code == 0
    Z = TableFeatures.from_dict(json.loads((out / "columns.json").read_text())).transform(
        read_frame(half).frame
    )
    found = json.loads(cli("fit", half, "-k", 3, "-c", pairs, "--result", out, "--json").out)
    assert found["objective"] == pytest.approx(cost_of(Z, np.array(found["labels"])))


def test_a_proof_is_about_the_labels_given(cli, flowers, tmp_path):
    """Labels that are bad for these numbers are never called proven optimal."""
    scaled = tmp_path / "scaled.csv"
    lines = [line.split(",") for line in flowers.read_text().splitlines()]
    rows = [[line[0], *(str(float(v) * s) for v, s in zip(line[1:4], (100, 1, 1), strict=True))]
            for line in lines[1:]]  # fmt: skip
    scaled.write_text("\n".join(",".join(r) for r in [lines[0][:4], *rows]) + "\n")
    out = tmp_path / "out"
    assert cli("fit", scaled, "-k", 3, "--standardize", "--out", out, "--no-report").code == 0
    alone = tmp_path / "alone.csv"
    alone.write_text((out / "labels.csv").read_text())
    said = cli("certify", scaled, "--labels", alone, "--raw", "--max-time", 20)
    words = " ".join(said.out.split())
    assert "not optimal: a better clustering was found" in words
    found = cli("certify", scaled, "--labels", alone, "--raw", "--max-time", 20, "--json")
    document = json.loads(found.out)
    assert document["given_objective"] > 1.5 * document["upper_bound"]
    assert document["given_gap"] > 0.3
    # beside the folder of the fit nothing can be forgotten
    proven = cli("certify", scaled, "--labels", out / "labels.csv", "--max-time", 20, "--json")
    document = json.loads(proven.out)
    assert document["given_objective"] == pytest.approx(
        json.loads((out / "result.json").read_text())["objective"]
    )


def test_raw_numbers(cli, customers, tmp_path):
    """--raw takes columns of numbers as they are; a gap in one is a sentence."""
    gap = cli("fit", customers, "-k", 3, "--raw")
    assert gap.code == 1
    assert "Column 'age', line 7: found nothing" in gap.err
    found = cli("fit", customers, "-k", 3, "--raw", "--role", "age=left out", "--json")
    assert json.loads(found.out)["columns"] == ["income"]


def test_points_beside_a_table(cli, customers, tmp_path):
    """--points clusters vectors; the table names the rows and comes back."""
    rng = np.random.default_rng(1)
    np.save(tmp_path / "v.npy", rng.normal(size=(60, 5)) + 9 * (np.arange(60) % 3)[:, None])
    out, result = fit(cli, customers, tmp_path, "--points", tmp_path / "v.npy", "--json")
    document = json.loads(result.out)
    assert document["n_features"] == 5
    assert document["ari"] == 1.0
    assert "cluster" in (out / "table.csv").read_text(encoding="cp1252").splitlines()[0]
    np.save(tmp_path / "v.npy", rng.normal(size=(6, 5)))
    wrong = cli("fit", customers, "-k", 3, "--points", tmp_path / "v.npy")
    assert "6 points for the 60 rows" in wrong.err


def test_repeated_ids(cli, tmp_path):
    """Ids that repeat are said; pairs by id are refused in a sentence, pairs by row are not."""
    data, pairs = tmp_path / "d.csv", tmp_path / "p.csv"
    lines = "".join(f"C{i % 29},{i * 0.5},{i % 7}\n" for i in range(30))
    data.write_text("client_id,a,b\n" + lines)
    pairs.write_text("i,j,type\nC1,C2,ml\n")
    assert "the id 'C0' again" in cli("fit", data, "-k", 2).err
    refused = cli("fit", data, "-k", 2, "-c", pairs)
    assert refused.code == 1
    assert "line 31: found the id 'C0' again" in refused.err
    pairs.write_text("i,j,type\n1,2,ml\n")
    assert cli("fit", data, "-k", 2, "-c", pairs, "--pairs-by-row").code == 0


def test_nothing_written_says_how(cli, customers):
    """Without --out: sizes, what sets clusters apart, and how to get the rest."""
    result = cli("fit", customers, "-k", 3)
    assert "what sets it apart" in result.out
    assert len(result.out.splitlines()) < 40
    assert "--out DIR" in " ".join(result.err.split())


@pytest.fixture
def survey(tmp_path):
    """Forty answers that count differently, with a gap."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "age": 30 + 20.0 * (np.arange(40) % 2) + rng.normal(0, 6, 40),
            "income": 5 + 2.0 * (np.arange(40) % 2) + rng.normal(0, 0.8, 40),
            "weight": np.round(rng.uniform(0.2, 3, 40), 2),
        }
    )
    path = tmp_path / "survey.csv"
    frame.to_csv(path, index=False)
    return path, frame


def test_weights_of_the_table_count(cli, survey, tmp_path):
    """The column of weights weighs the rows in fit, its proof and certify; else that is said."""
    path, frame = survey
    out = tmp_path / "out"
    result = cli("fit", path, "-k", 2, "--raw", "--certify", "--out", out, "--json")
    assert result.code == 0, result.err
    document = json.loads(result.out)
    labels = np.array(json.loads((out / "result.json").read_text())["labels"])
    X, weight = frame[["age", "income"]].to_numpy(), frame["weight"].to_numpy()
    assert document["weight_column"] == "weight"
    assert document["objective"] == pytest.approx(cost_of(X, labels, weight))
    assert document["proof"]["lower_bound"] <= document["objective"] * (1 + 1e-9)
    centers = np.array(list(csv.reader((out / "centers.csv").open()))[1:], float)[:, 1:]
    expected = [np.average(X[labels == c], axis=0, weights=weight[labels == c]) for c in (0, 1)]
    assert centers == pytest.approx(np.array(expected))
    body = (out / "report.html").read_text().split("id='clusters-table'")[1].split("</table>")[0]
    squares = [re.findall(r"data-v='([^']+)'", row)[3] for row in body.split("<tr>")[2:]]
    assert sum(map(float, squares)) == pytest.approx(document["objective"])
    again = json.loads(cli("certify", path, "-l", out / "labels.csv", "--json").out)
    assert again["given_objective"] == pytest.approx(document["objective"])
    assert cli("verify", path, out / "proof.npz", "-r", out).code == 0
    unweighted = cli("fit", path, "-k", 2, "--role", "weight=left out", "--raw", "--json")
    assert json.loads(unweighted.out)["weight_column"] is None
    assert "If it is a measurement, pass --role weight=number." in " ".join(result.err.split())
    said = cli("fit", path, "-k", 2, "--raw", "--method", "s-hg-means")
    assert said.code == 0
    assert "weights in column weight are not used" in " ".join(said.err.split())


def test_weights_that_are_none(cli, survey):
    """A weight that is missing or below zero is named."""
    path, frame = survey
    for wrong in (-1.0, None):
        frame.loc[3, "weight"] = wrong
        frame.to_csv(path, index=False)
        result = cli("fit", path, "-k", 2, "--role", "weight=weight")
        assert result.code == 1
        assert "row 3" in result.err
        assert "expected a number of at least 0" in " ".join(result.err.split())


def test_a_soft_pair_of_a_row_with_gaps_is_counted_once(cli, customers, tmp_path):
    """The note on pairs that are left out with their rows counts soft pairs like others."""
    soft = tmp_path / "soft.csv"
    soft.write_text("i,j,type,confidence\nC05,C08,ml,0.9\n")
    said = cli("fit", customers, "-k", 3, "-c", soft, "--drop-gaps").err
    assert "left out, and 1 pair with them." in " ".join(said.split())


def test_rows_with_gaps_can_be_left_out(cli, customers, tmp_path, capsys):
    """--drop-gaps: such rows have no cluster, their pairs are left out, the rest is as usual."""
    with (tmp_path / "pairs.csv").open("a") as pairs:
        pairs.write("C05,C08,ml\n")
    out = tmp_path / "out"
    options = ("-c", tmp_path / "pairs.csv", "--drop-gaps")
    result = cli("fit", customers, "-k", 3, *options, "--out", out)
    assert result.code == 0, result.err
    said = " ".join(result.err.split())
    assert "1 row with a missing value left out, and 1 pair with them." in said
    assert "1 missing, their rows left out" in said
    assert "placed at the mean" not in said
    rows = list(csv.DictReader((out / "table.csv").open(encoding="cp1252"), delimiter=";"))
    assert [row["customer_id"] for row in rows if not row["cluster"]] == ["C05"]
    assert len((out / "labels.csv").read_text().splitlines()) == 60
    document = json.loads((out / "result.json").read_text())
    assert (document["n_points"], document["n_must_links"]) == (59, 2)
    certified = cli("certify", customers, "-l", out / "labels.csv", "--json")
    assert json.loads(certified.out)["given_objective"] == pytest.approx(document["objective"])
    page = (out / "report.html").read_text()
    assert "columns prepared to have comparable influence." in page
    snippet = unescape(re.findall(r"<pre>(.*?)</pre>", page, re.S)[1])
    capsys.readouterr()
    exec(snippet, {})
    assert float(capsys.readouterr().out) == pytest.approx(document["objective"])
    raw = ("--raw", "--role", "target=left out", "--json")
    assert cli("fit", customers, "-k", 3, *options[:2], *raw).code == 1
    assert json.loads(cli("fit", customers, "-k", 3, *options, *raw).out)["n_points"] == 59


def test_dropped_gaps_leave_places_of_pairs(cli, tmp_path):
    """After --drop-gaps a contradiction is still named by file and line."""
    rows = [f"{row},{row % 3},{row * 7 % 5}" for row in range(12)]
    (tmp_path / "t.csv").write_text("\n".join(["id,a,b", *rows[:2], "gap,,3", *rows[2:]]) + "\n")
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("i,j,type\ngap,1,ml\n5,6,ml\n5,6,cl\n")
    options = ["-k", 2, "-c", pairs, "--drop-gaps", "--role", "a=number", "--role", "b=number"]
    result = cli("check", tmp_path / "t.csv", *options)
    assert result.code == 2, result.err
    said = " ".join(result.out.split())
    assert "pairs.csv, line 3" in said.replace("pairs.csv,line", "pairs.csv, line")
    assert "line 4" in said


def test_lines_and_labels_that_cost_nothing(cli, tmp_path):
    """A wrong cell of a new file is named by its line; rounding errors do not spoil a proof."""
    data, out = tmp_path / "t.csv", tmp_path / "out"
    kinds = ["7,1 €;red", "1.200,5 €;blue"] * 10
    data.write_text("Sales\n" + "\n".join(["sum;color", *kinds]))
    assert cli("fit", data, "-k", 2, "--out", out, "--no-report").code == 0
    said = " ".join(cli("certify", data, "-l", out / "labels.csv").out.split())
    assert "proven optimal" in said
    assert "gap 0.0000%" in said
    (new := tmp_path / "new.csv").write_text("sum;color\n1,5 €;red\nmuch;red\n")
    assert "Column 'sum', line 3: found 'much'" in " ".join(
        cli("predict", new, "--result", out).err.split()
    )


def test_predict_names_new_values(cli, customers, tmp_path):
    """A value that the fit has not seen is a note of predict, which goes on."""
    out, _ = fit(cli, customers, tmp_path)
    new = tmp_path / "new.csv"
    new.write_bytes(customers.read_bytes().replace(b"partner", b"fax"))
    result = cli("predict", new, "--result", out)
    assert result.code == 0
    said = " ".join(result.err.split())
    assert "Note: column 'channel': 1 value not seen in the fit ('fax', 20 rows)" in said


def test_a_proof_is_about_the_problem_of_the_fit(cli, flowers, tmp_path):
    """certify and verify take pairs and sizes from the folder of a fit; options on pairs win."""
    lines = flowers.read_text().splitlines()
    known = [f"{line},{line[-5:] if row % 4 == 0 else ''}" for row, line in enumerate(lines[1:])]
    flowers.write_text("\n".join([f"{lines[0]},known", *known]) + "\n")
    out, proof = tmp_path / "out", tmp_path / "proof.npz"
    sized = ("--class-column", "known", "--size-max", 22, "--no-report", "--out", out)
    assert cli("fit", flowers, "-k", 3, *sized).code == 0
    fitted = json.loads((out / "result.json").read_text())
    assert fitted["roles"]["known"] == "class"
    assert not [name for name in fitted["settings"] if name.startswith("_")]
    flowers.write_text("\n".join([f"{lines[0]},known", *known[::-1]]) + "\n")  # pairs are by id
    proven = cli("certify", flowers, "--result", out, "--out", proof)
    assert "proven optimal" in proven.out, proven.err
    assert "pairs taken from the fit" in proven.err
    assert cli("verify", flowers, proof, "--result", out).code == 0
    none = tmp_path / "none.csv"
    none.write_text("i,j,type\nf0,f4,ml\n")
    free = json.loads(cli("certify", flowers, "-r", out, "-c", none, "--json").out)
    assert free["upper_bound"] < fitted["objective"] * (1 - 1e-6)
    assert "Which labels?" in cli("certify", flowers).err
    # where the pairs are unknown, that comes before any verdict
    del fitted["must_link"]
    (out / "result.json").write_text(json.dumps(fitted))
    said = cli("certify", flowers, "--labels", out / "labels.csv")
    assert "about the problem without them" in " ".join(said.err.split())
    assert "not optimal" not in said.out
    (out / "result.json").write_text('{"settings": 3}')
    assert "does not match the data" in " ".join(cli("certify", flowers, "-r", out).err.split())
