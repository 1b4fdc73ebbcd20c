"""``check``: what the pairs ask for, and which of them cannot hold together."""

from __future__ import annotations

import json

import pytest


def test_feasible(cli, flowers, tmp_path):
    """Feasible pairs: code 0, the counts, and how many plain k-means breaks."""
    result = cli("check", flowers, "-k", 3, "--pairs", tmp_path / "pairs.csv", "--json")
    assert result.code == 0
    document = json.loads(result.out)
    assert document["verdict"] == "feasible"
    n_pairs = document["must_links"]["n_pairs"] + document["cannot_links"]["n_pairs"]
    assert n_pairs == 25
    assert document["groups"]["n_groups"] <= 60
    assert document["kmeans"].keys() == {"broken_must_links", "broken_cannot_links"}


def test_contradiction_in_ids_and_lines(cli, flowers, tmp_path):
    """A contradiction: code 2 and exactly the pairs of it, with ids and lines."""
    result = cli("check", flowers, "-k", 3, "-c", tmp_path / "bad.txt", "--json")
    assert result.code == 2
    conflict = json.loads(result.out)["conflict"]
    assert conflict["minimal"]
    assert [(p["type"], p["ids"], p["where"].split(", ")[-1]) for p in conflict["pairs"]] == [
        ("must_link", ["f1", "f2"], "line 1"),
        ("must_link", ["f2", "f3"], "line 3"),
        ("cannot_link", ["f3", "f1"], "line 5"),
    ]


def test_contradiction_for_people(cli, flowers, tmp_path):
    """The same as a table of 80 columns on standard output."""
    result = cli("check", flowers, "-k", 3, "-c", tmp_path / "bad.txt")
    assert result.code == 2
    assert "These 3 pairs cannot all be satisfied" in result.out
    assert "f3 - f1" in result.out


def test_all_contradictions_and_the_least_repair(cli, flowers, tmp_path):
    """Ten planted contradictions come in one round; the mended file can hold."""
    bad, mended = tmp_path / "many.csv", tmp_path / "mended.csv"
    lines = ["i,j,type"]
    for i in range(0, 30, 3):
        lines += [f"f{i},f{i + 1},ml", f"f{i + 1},f{i + 2},ml", f"f{i},f{i + 2},cl"]
    bad.write_text("\n".join([*lines, "f40,f41,cl"]) + "\n")
    result = cli("check", flowers, "-k", 3, "-c", bad, "--repair", mended, "--json")
    assert result.code == 2
    document = json.loads(result.out)
    assert len(document["conflicts"]) == 10
    assert document["complete"] is True
    assert len(document["repair"]["pairs"]) == 10
    assert document["repair"]["proven"] is True
    assert cli("check", flowers, "-k", 3, "-c", mended).code == 0
    assert len(mended.read_text().splitlines()) == 1 + 21
    said = cli("check", flowers, "-k", 3, "-c", bad).out
    assert "Contradiction 10 of 10" in said
    assert "Smallest repair: drop these 10 pairs" in " ".join(said.split())
    assert cli("check", flowers, "-k", 3, "-c", bad, "--repair", mended).code == 1  # it exists
    assert "--repair" in cli("fit", flowers, "-k", 3, "-c", bad).err


@pytest.mark.parametrize(
    "records",
    [
        [b"Zeile1;Zeile2;Art\r\n", b"f0;f1;ml\r\n", b"f1;f2;ml\r\n", b"f0;f2;cl\r\n"],
        [b"\xef\xbb\xbfnote\ti\tj\ttype\n", b'"two\nlines"\tf0\tf1\tsame\n', b"\tf1\tf2\tsame\n\n",
         b"\tf0\tf2\tapart"],
    ],
)  # fmt: skip
def test_repair_keeps_the_form_of_the_file(cli, flowers, tmp_path, records):
    """Header, delimiter, words, notes, line ends and marks stay; only a pair is missing."""
    pairs, mended = tmp_path / "pairs.csv", tmp_path / "mended.csv"
    pairs.write_bytes(b"".join(records))
    assert cli("check", flowers, "-k", 3, "-c", pairs, "--repair", mended).code == 2
    after = [line for line in mended.read_bytes().split(b"\n") if line]
    others = ([r for r in records if r != dropped] for dropped in records[1:])
    assert after in [[line for line in b"".join(r).split(b"\n") if line] for r in others]
    assert cli("check", flowers, "-k", 3, "-c", mended).code == 0


def test_repair_prefers_little_confidence(cli, flowers, tmp_path):
    """With --soft, the pair of least confidence is dropped."""
    pairs, mended = tmp_path / "soft.csv", tmp_path / "mended.csv"
    pairs.write_text("i,j,type,confidence\nf0,f1,ml,0.9\nf1,f2,ml,0.6\nf0,f2,cl,0.99\nf5,f6,ml,\n")
    assert cli("check", flowers, "-k", 3, "-c", pairs).code == 0
    result = cli("check", flowers, "-k", 3, "-c", pairs, "--soft", "--repair", mended, "--json")
    assert result.code == 2
    (dropped,) = json.loads(result.out)["repair"]["pairs"]
    assert dropped["ids"] == ["f1", "f2"]
    assert "f1,f2" not in mended.read_text()
    assert "f0,f1,ml,0.9" in mended.read_text()


def test_clique(cli, flowers, tmp_path):
    """Four points all apart in three clusters: the six cannot-links; in four clusters: fine."""
    pairs = tmp_path / "apart.txt"
    names = [f"f{i}" for i in range(4)]
    pairs.write_text("".join(f"CL {a} {b}\n" for a in names for b in names if a < b))
    result = cli("check", flowers, "-k", 3, "-c", pairs, "--json")
    assert result.code == 2
    assert json.loads(result.out)["conflict"]["n_pairs"] == 6
    assert cli("check", flowers, "-k", 4, "-c", pairs).code == 0


def test_repeated_and_self_pairs_are_counted(cli, flowers, tmp_path):
    """Repeated, reversed and self pairs are harmless and said."""
    pairs = tmp_path / "again.txt"
    pairs.write_text("ML f1 f2\nML f2 f1\nML f3 f3\n")
    counts = json.loads(cli("check", flowers, "-k", 3, "-c", pairs, "--json").out)["must_links"]
    assert counts == {"n_pairs": 3, "n_self": 1, "n_repeated": 1}
