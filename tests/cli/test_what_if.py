"""``what-if``: what dropping and adding pairs changes, without touching the files."""

from __future__ import annotations

import json

import numpy as np
import pytest

from smdeclust import SMDEClust
from smdeclust.io import read_constraints, read_table


def test_agrees_with_two_fits(cli, flowers, tmp_path):
    """The two objectives are those of fits with and without the pair; the moved points differ."""
    path = tmp_path / "pairs.csv"
    table = read_table(flowers)
    pairs = read_constraints(path, ids=table.ids)
    i, j = pairs.cannot_link[0]
    options = ["-k", 3, "-c", path, "--drop", f"f{j},f{i}", "--save", tmp_path / "less.csv"]
    result = cli("what-if", flowers, *options, "--raw", "--json")
    assert result.code == 0
    document = json.loads(result.out)
    rest = pairs.drop(cannot_link=[(i, j)])
    objectives = [
        SMDEClust(3, random_state=0)
        .fit(table.X, must_link=each.must_link, cannot_link=each.cannot_link)
        .inertia_
        for each in (pairs, rest)
    ]
    assert document["objective"] == pytest.approx(objectives[0])
    assert document["objective_changed"] == pytest.approx(objectives[1])
    assert document["difference"] <= 0
    assert document["n_moved"] == len(document["moved"])
    less = read_constraints(tmp_path / "less.csv", ids=table.ids)
    assert np.array_equal(less.cannot_link, rest.cannot_link)
    assert len(read_constraints(path, ids=table.ids).cannot_link) == len(pairs.cannot_link)


def test_soft_pairs_are_paid_for(cli, tmp_path):
    """With soft pairs both objectives are those of fits, what broken pairs cost included."""
    data, pairs = tmp_path / "line.csv", tmp_path / "soft.csv"
    data.write_text("id,x\n" + "".join(f"p{i},{i + 20 * (i > 7)}\n" for i in range(16)))
    rows = ["i,j,type,confidence", "p0,p15,ml,0.6", "p1,p2,cl,0.9", "p3,p4,ml,"]
    pairs.write_text("\n".join(rows) + "\n")
    given = ("-k", 2, "--raw", "--json")
    found = json.loads(cli("what-if", data, "-c", pairs, "--add", "cl:p5,p6", *given).out)
    fits = []
    for more in ("", "p5,p6,cl,\n"):
        pairs.write_text("\n".join(rows) + "\n" + more)
        fits.append(json.loads(cli("fit", data, "-c", pairs, *given).out))
    assert [each["broken_soft_pairs"] for each in fits] != [0, 0]
    assert fits[0]["soft_prices"] == fits[1]["soft_prices"]
    paid = [each["objective_with_penalties"] for each in fits]
    assert found["objective"] == pytest.approx(paid[0])
    assert found["objective_changed"] == pytest.approx(paid[1])


def test_adding(cli, flowers, tmp_path):
    """A pair added holds afterwards; one that contradicts the others ends with code 2."""
    document = json.loads(cli("what-if", flowers, "-k", 3, "--add", "ml:f0,f59", "--json").out)
    assert document["n_pairs_changed"] == 1
    assert document["difference"] > 0
    assert document["n_moved"] >= 1
    clash = cli(
        "what-if", flowers, "-k", 3, "-c", tmp_path / "bad.txt", "--drop", "cl:f3,f1",
        "--add", "cl:f1,f2",
    )  # fmt: skip
    assert clash.code == 2
    assert "f1 - f2" in clash.err


def test_repair_names_the_option(cli, flowers, tmp_path):
    """Where dropping the added pair is the least repair, it is named as it was given."""
    pairs = tmp_path / "chain.csv"
    pairs.write_text("i,j,type\nf0,f3,ml\nf3,f6,ml\n")
    clash = cli("what-if", flowers, "-k", 3, "-c", pairs, "--add", "cl:f0,f6")
    assert clash.code == 2
    repair = clash.err.split("Smallest repair")[1]
    assert "cannot-link f0 - f6  (--add cl:f0,f6)" in repair
    assert "--repair FILE" not in repair


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "--drop A,B"),
        (["--drop", "f0"], "expected a pair"),
        (["--drop", "f0,f1"], "no such pair"),
        (["--drop", "f0,nobody"], "'nobody' is not an id"),
        (["--add", "f0,f1"], "ml:f0,f1"),
    ],
)
def test_mistakes(cli, flowers, arguments, words):
    """What is wrong with a pair is said."""
    result = cli("what-if", flowers, "-k", 3, *arguments)
    assert result.code == 1
    assert words in result.err
