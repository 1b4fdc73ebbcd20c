"""How files are read on the command line: columns, encodings, and errors that name options."""

from __future__ import annotations

import inspect
import json

import numpy as np
import pytest

from smdeclust.cli.app import COMMANDS
from smdeclust.cli.options import as_command
from smdeclust.constraints import Constraints
from smdeclust.exceptions import InvalidInputError
from smdeclust.io import read_table
from smdeclust.io.files import COMMAND_LINE


def test_a_last_column_y_is_a_coordinate(cli, tmp_path):
    """An x,y file is clustered on both columns; the columns used are said, and how to change it."""
    data = tmp_path / "xy.csv"
    data.write_text("x,y\n" + "".join(f"{i % 2},{100 * (i // 2)}\n" for i in range(6)))
    result = cli("fit", data, "-k", 3, "--json", "--raw")
    document = json.loads(result.out)
    assert document["columns"] == ["x", "y"]
    assert document["labels"][0] == document["labels"][1] != document["labels"][2]
    labelled = cli("fit", data, "-k", 2, "--label", "y", "--json")
    assert json.loads(labelled.out)["columns"] == ["x"]
    assert "compared with the clusters" in " ".join(labelled.err.split())


def test_one_column_with_nearly_all_variance(cli, tmp_path):
    """Said where numbers are taken as they are; not said once columns are prepared."""
    data = tmp_path / "d.csv"
    data.write_text("age,income\n" + "".join(f"{20 + i},{1000 * (i % 7)}\n" for i in range(30)))
    assert "column income has" in cli("fit", data, "-k", 2, "--raw", "--role", "age=number").err
    assert "of the variance" not in cli("fit", data, "-k", 2).err


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-16-le"])
def test_encodings(cli, tmp_path, encoding):
    """Text in other encodings reads by itself, pairs with --encoding."""
    text = "id;größe;höhe\nä;1,5;2\nö;3;4,25\nü;8;9\n"
    data, pairs = tmp_path / "d.csv", tmp_path / "p.csv"
    data.write_bytes(text.encode(encoding))
    pairs.write_bytes("i;j;type\nä;ü;ml\n".encode(encoding))
    options = ["fit", data, "-k", 2, "-c", pairs, "--json"]
    assert cli("fit", data, "-k", 2).code == 0
    plain = cli(*options)
    if encoding != "utf-16":
        assert plain.code == 1
        assert "--encoding" in plain.err
        plain = cli(*options, "--encoding", encoding)
    document = json.loads(plain.out)
    assert document["columns"] == ["größe", "höhe"]
    assert document["ids"] == ["ä", "ö", "ü"]
    assert document["labels"][0] == document["labels"][2]
    assert "no encoding" in cli(*options, "--encoding", "klingon").err
    assert "for pairs, UTF-8" in " ".join(cli("fit", "--help").out.replace("│", "").split())


def test_all_bad_cells_at_once(cli, tmp_path):
    """Where numbers are read as they are, bad cells come in one message, counted by column."""
    data = tmp_path / "d.csv"
    data.write_text("a,name,b\n1,ann,2\n,bob,3\n4,eve,x\n5,joe,nan\n")
    with pytest.raises(InvalidInputError) as caught:
        read_table(data)
    for piece in ("7 cells", "all 4 of column 'name'", "1 of column 'a' (line 3)",
                  "2 of column 'b' (lines 4, 5)"):  # fmt: skip
        assert piece in str(caught.value)
    data.write_text("a,b\n1,2\n3\n4,5\n6\n")
    assert "2 lines have this problem: 3, 5" in cli("fit", data, "-k", 2).err


def test_group_column(cli, tmp_path):
    """Rows of one photo go apart, those of one household together; the column is no feature."""
    data = tmp_path / "d.csv"
    rng = np.random.default_rng(0)
    lines = [f"{x:.3f},{y:.3f},p{i // 3}" for i, (x, y) in enumerate(rng.normal(size=(12, 2)))]
    data.write_text("\n".join(["u,v,photo", *lines, "0,0,"]) + "\n")
    assert "--kind" in cli("fit", data, "-k", 3, "--group-column", "photo").err
    apart = cli("fit", data, "-k", 3, "--group-column", "photo", "--kind", "cl", "--json")
    document = json.loads(apart.out)
    labels = np.array(document["labels"])
    assert document["columns"] == ["u", "v"]
    assert document["n_cannot_links"] == 12
    for photo in range(4):
        assert len(set(labels[3 * photo : 3 * photo + 3])) == 3
    together = cli("fit", data, "-k", 3, "--group-column", "photo", "--kind", "ml", "--json")
    labels = np.array(json.loads(together.out)["labels"])
    for photo in range(4):
        assert len(set(labels[3 * photo : 3 * photo + 3])) == 1


def test_kind_is_about_groups_or_about_a_file(cli, tmp_path):
    """With a group column, a file of pairs must say its kind itself: --kind is not about both."""
    data, pairs, typed = (tmp_path / name for name in ("d.csv", "p.txt", "typed.csv"))
    data.write_text("u,v,photo\n" + "".join(f"{i % 5},{i % 7},p{i // 2}\n" for i in range(12)))
    pairs.write_text("0 4\n1 7\n")
    groups = ["--group-column", "photo", "--kind", "cl"]
    refused = cli("fit", data, "-k", 3, "-c", pairs, *groups)
    assert refused.code == 1
    assert "smdeclust convert" in refused.err
    assert "--kind applies to --group-column" in refused.err
    assert cli("convert", pairs, "--kind", "ml", "--out", typed).code == 0
    document = json.loads(cli("fit", data, "-k", 3, "-c", typed, *groups, "--json").out)
    assert (document["n_must_links"], document["n_cannot_links"]) == (2, 6)


def test_class_column(cli, tmp_path):
    """Rows of a known class go together, different classes apart, empty cells anywhere."""
    data = tmp_path / "d.csv"
    kinds = ["red", "blue", "", "red", "blue", "-1"] * 2
    lines = [f"{i % 5},{i % 7},{kind}" for i, kind in enumerate(kinds)]
    data.write_text("\n".join(["u,v,kind", *lines]) + "\n")
    advice = cli("fit", data, "-k", 2, "--group-column", "kind").err
    assert "--class-column kind" in advice
    result = cli("fit", data, "-k", 2, "--class-column", "kind", "--json")
    document = json.loads(result.out)
    labels = np.array(document["labels"])
    assert document["columns"] == ["u", "v"]
    assert document["class_column"] == "kind"
    red, blue = ({labels[i] for i, each in enumerate(kinds) if each == k} for k in ("red", "blue"))
    assert len(red) == len(blue) == 1
    assert red != blue
    known = Constraints.from_labels([None if k in ("", "-1") else k for k in kinds])
    assert document["n_must_links"] == len(known.must_link)
    assert document["n_cannot_links"] == len(known.cannot_link)
    assert "makes pairs" in result.err
    assert "--class-column" in cli("fit", data, "-k", 2, "--class-column", "color").err


def test_convert_needs_only_the_ids(cli, tmp_path):
    """Other columns of the data, text or broken, do not matter."""
    (tmp_path / "d.csv").write_text("name,city,age\nann,Rome,3\nbob,Oslo,\neve,,x\n")
    (tmp_path / "p.csv").write_text("id_1,id_2,constraint_type\nann,eve,must-link\n")
    result = cli(
        "convert", tmp_path / "p.csv", "--data", tmp_path / "d.csv", "--id", "name", "--to", "links"
    )
    assert result.out == "ML 0 2\n"


@pytest.mark.parametrize(
    ("pairs", "arguments", "words"),
    [
        ("ML 0 1\n", ["--pairs-by-id", "--role", "nr=left out"], "--id"),
        ("ML f1 nobody\n", [], "--pairs-by-row"),
        ("ML f1 f2\n", ["--pairs-by-row"], "--id COLUMN"),
        ("ML 1 60\n", ["--pairs-by-row"], "--index-base 1"),
        ("0 1\n", ["--pairs-by-row"], "--kind ml or --kind cl"),
        ("0 1 1\n", ["--pairs-by-row"], "--format"),
        ("what is this\n", [], "--format"),
        ("", [], "--format"),
        ("ML 0 1\n", ["--format", "magic"], "--format"),
        ("ML 0 1\n", ["--data-format", "magic"], "--data-format"),
        ("ML 0 1\n", ["--label", "x"], "--label"),
        ("ML 0 1\n", ["--id", "x"], "--id"),
        ("ML 0 1\n", ["--features", "x"], "--features"),
        ("ML 0 1\n", ["--group-column", "x"], "--group-column"),
        ("ML 0 1\n", ["--must-link-sign", "3"], "--must-link-sign"),
        ("ML 0 1\n", ["--kind", "both"], "--kind"),
    ],
)
def test_errors_name_options(cli, flowers, tmp_path, pairs, arguments, words):
    """What a message advises is written as on the command line, never as a Python argument."""
    (tmp_path / "p.txt").write_text(pairs)
    if "--pairs-by-id" in arguments:
        flowers.write_text(flowers.read_text().replace("id,", "nr,", 1).replace("f", ""))
    result = cli("fit", flowers, "-k", 3, "-c", tmp_path / "p.txt", *arguments)
    assert result.code == 1
    assert words in result.err
    for python in ("format=", "index_base", "id_column", "header=", "kind=", "ids=", "None"):
        assert python not in result.err


def test_words_of_both_worlds():
    """Options that messages advise on the command line are options of a command."""
    there = {
        option for command in COMMANDS.values() for option in options_of(as_command(command)[0])
    }
    advised = {word for words in COMMAND_LINE.values() for word in words.split() if "--" in word}
    assert {word.rstrip(",") for word in advised} <= there


def options_of(command):
    """The long names of a command's options."""
    for parameter in inspect.signature(command).parameters.values():
        (declared,) = getattr(parameter.annotation, "__metadata__", None) or (None,)
        names = [
            getattr(declared, "default", None),
            *(getattr(declared, "param_decls", None) or ()),
        ]
        names = [name for name in names if isinstance(name, str)]
        for name in names or [f"--{parameter.name.replace('_', '-')}"]:
            yield from name.split("/")


@pytest.mark.parametrize(
    "header",
    ["id_1,id_2,constraint_type", "ID 1;ID 2;Type", "a\tb\tkind", "source,target,link", "j,i,type"],
)
def test_headers_of_pairs(cli, flowers, tmp_path, header):
    """The usual names of the columns of pairs read."""
    mark = next(m for m in ",;\t" if m in header)
    pairs = tmp_path / "p.csv"
    pairs.write_text(f"{header}\n{mark.join(['f0', 'f30', 'Must Link'])}\n")
    document = json.loads(cli("fit", flowers, "-k", 3, "-c", pairs, "--json").out)
    assert document["n_must_links"] == 1


def test_unknown_headers(cli, flowers, tmp_path):
    """An unknown header is read by position, with a note, if the kinds below it are known; else the
    message shows what a file of pairs looks like."""
    pairs = tmp_path / "p.csv"
    pairs.write_text("who,whom,why\nf0,f1,ml\n")
    said = cli("fit", flowers, "-k", 3, "-c", pairs)
    assert said.code == 0
    assert "the header 'who,whom,why' is read as i,j,type" in " ".join(said.err.split())
    pairs.write_text("who,whom,why\nf0,f1,maybe\n")
    said = cli("fit", flowers, "-k", 3, "-c", pairs)
    assert said.code == 1
    assert "i,j,type" in said.err
    assert "4,7,ml" in said.err


@pytest.mark.parametrize("first", ["4,7,m1", "f4,f7,mlx"])
def test_a_mistyped_first_pair_is_no_header(cli, flowers, tmp_path, first):
    """A first line whose points look like those below is a pair: its kind is refused."""
    below = "f4,f8,cl\nf1,f2,ml" if first[0] == "f" else "4,8,cl\n1,2,ml"
    (tmp_path / "p.csv").write_text(f"{first}\n{below}\n")
    said = cli("check", flowers, "-k", 3, "-c", tmp_path / "p.csv")
    assert said.code == 1
    assert first in said.err
