"""``fit``: files, exit codes, and a result that can be made again."""

from __future__ import annotations

import csv
import itertools
import json
import re
import signal
from html import unescape
from types import SimpleNamespace

import numpy as np
import pytest

from smdeclust.cli import fit as fit_module
from smdeclust.cli import output
from smdeclust.cli.methods import METHODS
from smdeclust.io import read_constraints, read_table


def test_writes_labels_centers_result_and_report(cli, flowers, tmp_path):
    """The files are there, agree with each other and keep every pair."""
    pairs, out = tmp_path / "pairs.csv", tmp_path / "out"
    result = cli("fit", flowers, "-k", 3, "-c", pairs, "--out", out, "--standardize")
    assert result.code == 0
    assert sorted(p.name for p in out.iterdir()) == [
        "centers.csv", "columns.json", "labels.csv", "report.html", "result.json", "table.csv",
    ]  # fmt: skip
    rows = list(csv.DictReader((out / "labels.csv").open()))
    assert [row["id"] for row in rows] == [f"f{i}" for i in range(60)]
    labels = np.array([int(row["label"]) for row in rows])
    table = read_table(flowers)
    links = read_constraints(pairs, ids=table.ids)
    assert (labels[links.must_link[:, 0]] == labels[links.must_link[:, 1]]).all()
    assert (labels[links.cannot_link[:, 0]] != labels[links.cannot_link[:, 1]]).all()
    document = json.loads((out / "result.json").read_text())
    Z = (table.X - table.X.mean(0)) / table.X.std(0)
    cost = sum(((Z[labels == c] - Z[labels == c].mean(0)) ** 2).sum() for c in range(3))
    assert document["objective"] == pytest.approx(cost)
    assert document["standardized"] is True
    assert document["seed"] == 0
    assert document["settings"]["random_state"] == 0
    assert "deprecated" not in document["settings"].values()
    assert document["versions"]["smdeclust"]
    assert document["cluster_sizes"] == np.bincount(labels).tolist()
    centers = list(csv.reader((out / "centers.csv").open()))
    assert centers[0] == ["cluster", "a", "b", "c"]
    assert np.array(centers[1:], float)[:, 1:] == pytest.approx(
        np.array([table.X[labels == c].mean(0) for c in range(3)])
    )
    assert "columns standardized." in (out / "report.html").read_text()


def test_report_says_how_to_make_it_again_and_is_right(cli, flowers, tmp_path, capsys, monkeypatch):
    """The Python code in the report gives the same objective, the command the same labels."""
    out = tmp_path / "out"
    arguments = ["fit", flowers, "-k", 3, "-c", tmp_path / "pairs.csv", "--out", out, "--seed", 5]
    assert cli(*arguments).code == 0
    page = (out / "report.html").read_text()
    command, snippet = (unescape(block) for block in re.findall(r"<pre>(.*?)</pre>", page, re.S))
    before = json.loads((out / "result.json").read_text())["objective"]
    exec(snippet, {})
    assert float(capsys.readouterr().out) == before
    import shlex

    first = (out / "labels.csv").read_bytes()
    assert cli(*shlex.split(command)[1:], "--force").code == 0
    assert (out / "labels.csv").read_bytes() == first


def test_without_out_prints_what_clusters_are_like(cli, flowers, tmp_path):
    """Sizes and what sets clusters apart on standard output; columns on standard error."""
    result = cli("fit", flowers, "-k", 3, "-c", tmp_path / "pairs.csv")
    assert "what sets it apart" in result.out
    assert "f17" not in result.out
    assert "column" in result.err.splitlines()[1]
    assert "--out DIR" in " ".join(result.err.split())


def test_json(cli, flowers, tmp_path):
    """With --json, standard output is one JSON document with the labels and their ids."""
    result = cli("fit", flowers, "-k", 3, "-c", tmp_path / "pairs.csv", "--json")
    document = json.loads(result.out)
    assert len(document["labels"]) == 60
    assert document["ids"] == [f"f{i}" for i in range(60)]
    assert document["columns"] == ["a", "b", "c"]


@pytest.mark.parametrize("method", [m for m in METHODS if m != "exact"])
def test_every_method(cli, flowers, tmp_path, method):
    """Each method that this version has runs, and its violations are counted."""
    result = cli(
        "fit",
        flowers,
        "-k",
        3,
        "-c",
        tmp_path / "pairs.csv",
        "-m",
        method,
        "--max-time",
        5,
        "--json",
    )
    assert result.code == 0
    document = json.loads(result.out)
    assert document["method"] == method
    if METHODS[method].strict:
        assert document["broken_must_links"] + document["broken_cannot_links"] == 0


def test_infeasible_names_the_pairs(cli, flowers, tmp_path):
    """Contradictory pairs: code 2, the pairs in ids and lines, no folder."""
    result = cli("fit", flowers, "-k", 3, "-c", tmp_path / "bad.txt", "--out", tmp_path / "out")
    assert result.code == 2
    assert result.out == ""
    for piece in ("f1 - f2", "f2 - f3", "f3 - f1", "line 1)", "line 3)", "line 5)"):
        assert piece in result.err
    assert "f7" not in result.err
    repair = result.err.split("Smallest repair")[1]
    assert "cannot-link f3 - f1" in repair
    assert "line 5)" in repair
    assert not (tmp_path / "out").exists()


def test_existing_files_are_kept_unless_forced(cli, flowers, tmp_path):
    """An output folder with results: a sentence and code 1, before any work."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "labels.csv").write_text("mine")
    result = cli("fit", flowers, "-k", 3, "--out", out)
    assert result.code == 1
    assert "--force" in result.err
    assert (out / "labels.csv").read_text() == "mine"
    assert [p.name for p in out.iterdir()] == ["labels.csv"]
    assert cli("fit", flowers, "-k", 3, "--out", out, "--force", "--no-report").code == 0
    assert not (out / "report.html").exists()


@pytest.mark.parametrize("error", [MemoryError(), OSError(28, "No space left on device")])
def test_failure_while_writing_leaves_nothing(cli, flowers, tmp_path, monkeypatch, error):
    """Out of memory or disk: a sentence, code 1, and no folder."""

    def fail(*_, **__):
        raise error

    monkeypatch.setattr("smdeclust.cli.output.os.fsync", fail)
    result = cli("fit", flowers, "-k", 3, "--out", tmp_path / "deep" / "out", "--no-report")
    assert result.code == 1
    assert "\nError: " in result.err
    assert not (tmp_path / "deep").exists()


def test_interrupted(cli, flowers, tmp_path, monkeypatch):
    """Ctrl-C: code 130 and a sentence."""

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(fit_module.methods, "run_method", interrupt)
    result = cli("fit", flowers, "-k", 3, "--out", tmp_path / "out")
    assert result.code == 130
    assert "Interrupted" in result.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("n_presses", "code"), [(1, 3), (2, 130)])
def test_ctrl_c_while_it_searches(cli, flowers, tmp_path, monkeypatch, n_presses, code):
    """The first Ctrl-C writes the best answer so far and says so by its code; two write nothing."""
    make = output.solver_progress

    def pressing(*arguments):
        show, presses = make(*arguments), iter([signal.SIGINT] * n_presses)

        def press(state):
            for one in itertools.islice(presses, 1):
                signal.raise_signal(one)
                if n_presses > 1:
                    signal.raise_signal(one)
            return show(state)

        return press

    monkeypatch.setattr(output, "solver_progress", pressing)
    out = tmp_path / "out"
    result = cli("fit", flowers, "-k", 3, "-c", tmp_path / "pairs.csv", "--out", out)
    assert result.code == code
    assert out.exists() is (code == 3)
    if code == 3:
        document = json.loads((out / "result.json").read_text())
        assert document["stopped_early"] is True
        assert document["stop_reason"] == "callback"
        assert document["local_searches"] == 1
        assert document["broken_must_links"] + document["broken_cannot_links"] == 0
        assert len(document["labels"]) == 60
        assert "stopped by Ctrl-C" in (out / "report.html").read_text()


def test_progress_shows_the_best_of_the_run():
    """A new population that begins worse does not raise the best shown."""
    said = []
    show = output.solver_progress(said.append, lambda: False)
    for island, objective in ((0, 5.0), (1, 9.0), (1, 4.0)):
        best = SimpleNamespace(objective=objective)
        assert not show(SimpleNamespace(best=best, island=island, generation=0, n_local_searches=1))
    assert [text.split("best ")[1].split(",")[0] for text in said] == ["5", "5", "4"]


def test_max_time_covers_the_report(cli, flowers, tmp_path, monkeypatch):
    """Once the time is over the report makes no fit of its own, and says so."""
    calls = []
    real = fit_module.methods.run_method

    def counted(setup, *data):
        calls.append(setup)
        found = real(setup, *data)
        setup.patience._deadline = 0.0  # the time is over
        return found

    monkeypatch.setattr(fit_module.methods, "run_method", counted)
    options = ["-k", 3, "-c", tmp_path / "pairs.csv", "--max-time", 100, "--out", tmp_path / "out"]
    assert cli("fit", flowers, *options).code == 0
    assert len(calls) == 1
    assert "--max-time" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-k", "0"], "-k"),
        (["-k", "61"], "61 clusters"),
        ([], "-k K"),
        (["-k", "3", "-m", "magic"], "Choose from: smdeclust"),
        (["-k", "3", "-c", "nowhere.csv"], "no such file"),
        (["-k", "3", "--label", "x"], "no column"),
        (["-k", "3", "--features", ","], "--features"),
        (["-k", "3", "--wrong"], "No such option"),
        (["-k", "three"], "integer"),
    ],
)
def test_bad_input_is_a_sentence(cli, flowers, arguments, words):
    """Code 1, one sentence on standard error that names the trouble, nothing on standard output."""
    result = cli("fit", flowers, *arguments)
    assert result.code == 1
    assert result.out == ""
    assert words in result.err


def test_pairs_by_row(cli, flowers, tmp_path):
    """Data with ids and pairs by row: an explicit option, else the rows are read as ids."""
    rows = tmp_path / "rows.txt"
    rows.write_text("ML 0 1\nCL 0 30\n")
    assert cli("fit", flowers, "-k", 3, "-c", rows).code == 1
    assert cli("fit", flowers, "-k", 3, "-c", rows, "--pairs-by-row").code == 0


def test_soft_pairs_are_not_dropped_silently(cli, flowers, tmp_path):
    """Where a method cannot take soft pairs, standard error says how many were left out."""
    soft = tmp_path / "soft.csv"
    soft.write_text("i,j,type,confidence\nf0,f1,ml,\nf2,f3,ml,0.5\n")
    result = cli("fit", flowers, "-k", 3, "-c", soft, "-m", "blp-kmeans")
    assert result.code == 0
    assert "1 soft pair" in result.err
    default = cli("fit", flowers, "-k", 3, "-c", soft, "--json")
    assert "soft pair" not in default.err
    assert json.loads(default.out)["soft_pairs_used"] is True


def test_an_exact_method_says_what_it_proved(cli, tmp_path):
    """The bound is on the screen and in the result, as after --certify."""
    data = tmp_path / "data.csv"
    data.write_text("x,z\n" + "".join(f"{i % 3 * 5},{i / 10}\n" for i in range(18)))
    out = tmp_path / "out"
    result = cli("fit", data, "-k", 3, "--method", "exact", "--no-report", "--out", out)
    assert result.code == 0
    assert "above the best possible" in " ".join(result.out.split())
    found = json.loads((out / "result.json").read_text())
    assert found["lower_bound"] <= found["objective"] * (1 + 1e-9)
