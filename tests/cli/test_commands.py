"""The other commands: each does its work, says how it is used, and reads what others wrote."""

from __future__ import annotations

import json
import signal

import numpy as np
import pytest

from smdeclust.cli import methods
from smdeclust.cli.app import COMMANDS
from smdeclust.io import read_constraints, read_table


@pytest.mark.parametrize("name", [*COMMANDS])
def test_help_has_an_example(cli, name):
    """Every command has --help with an example that starts with its name."""
    result = cli(name, "--help")
    assert result.code == 0
    assert f"smdeclust {name}" in result.out.split("Example:")[1]


def test_program(cli):
    """Without arguments the help, with --version the version, an unknown command is an error."""
    assert "demo" in cli().out
    assert cli("--version").out.startswith("smdeclust ")
    assert cli("nonsense").code == 1


def test_demo(cli, tmp_path):
    """The demo keeps all pairs, agrees better with the classes than k-means, writes two files."""
    result = cli("demo", "--out", tmp_path / "demo", "--json")
    assert result.code == 0
    document = json.loads(result.out)
    assert document["smdeclust"]["violations"] == 0
    assert document["smdeclust"]["ari"] > document["kmeans"]["ari"]
    assert sorted(p.name for p in (tmp_path / "demo").iterdir()) == ["clusters.png", "labels.csv"]
    again = cli("demo", "--out", tmp_path / "demo")
    assert again.code == 1  # a second time only with --force
    assert "--force" in again.err
    assert cli("demo", "--out", tmp_path / "demo", "--force").code == 0


def test_generate_fit_certify_verify(cli, tmp_path):
    """Made data and pairs go through fit, certify and verify; a tampered proof is refused."""
    made, out, proof = tmp_path / "made", tmp_path / "out", tmp_path / "proof.npz"
    assert cli("generate", "-n", 40, "-k", 3, "--pairs", 20, "--spread", 3, "--out", made).code == 0
    data, pairs = made / "data.csv", made / "constraints.json"
    assert cli("fit", data, "-k", 3, "-c", pairs, "--out", out, "--no-report").code == 0
    labels = out / "labels.csv"
    result = cli("certify", data, "-l", labels, "-c", pairs, "--out", proof, "--json")
    assert result.code == 0
    assert json.loads(result.out)["status"] == "optimal"
    result = cli("verify", data, proof, "-c", pairs, "--json")
    assert json.loads(result.out)["optimal"] is True
    assert cli("verify", data, proof).code == 1  # without the pairs it proves another bound
    result = cli("verify", data, proof, "-c", pairs, "-k", 3, "-l", labels, "--tol", 1e-3, "--json")
    assert {"n_clusters": 3, "tol": 1e-3, "optimal": True}.items() <= json.loads(result.out).items()
    assert cli("verify", data, proof, "-c", pairs, "-k", 4).code == 1  # it is about three clusters
    weights = tmp_path / "weights.csv"
    weights.write_text("row,weight\n" + "".join(f"{row},{1 + row % 3}\n" for row in range(40)))
    heavy = tmp_path / "heavy.npz"
    with_weights = ("-c", pairs, "--weights", weights)
    assert cli("certify", data, "-l", labels, *with_weights, "--out", heavy).code == 0
    assert cli("verify", data, heavy, *with_weights).code == 0
    assert cli("verify", data, heavy, "-c", pairs).code == 1  # another problem
    broken = bytearray(proof.read_bytes())
    broken[len(broken) // 2] ^= 255
    proof.write_bytes(bytes(broken))
    assert cli("verify", data, proof, "-c", pairs).code == 1
    assert cli("verify", data, pairs, "-c", pairs).code == 1


def test_fit_certifies(cli, flowers, tmp_path):
    """--certify says how far from the best possible it is, and writes a proof that verifies."""
    out = tmp_path / "out"
    result = cli("fit", flowers, "-k", 3, "--certify", "--out", out, "--pair-costs", 0, "--json")
    assert result.code == 0, result.err
    proof = json.loads(result.out)["proof"]
    assert "above the best possible" in proof["sentence"]
    assert "above the best possible" in (out / "report.html").read_text()
    assert cli("verify", flowers, out / "proof.npz", "-l", out / "labels.csv").code == 0


def test_generate_for_given_data(cli, flowers, tmp_path):
    """Pairs made from the classes of a file agree with them."""
    assert cli("generate", "--data", flowers, "--pairs", 30, "--out", tmp_path / "p").code == 0
    pairs = read_constraints(tmp_path / "p" / "constraints.json")
    classes = read_table(flowers).labels
    assert (classes[pairs.must_link[:, 0]] == classes[pairs.must_link[:, 1]]).all()
    assert (classes[pairs.cannot_link[:, 0]] != classes[pairs.cannot_link[:, 1]]).all()
    assert len(pairs.must_link) + len(pairs.cannot_link) == 30


@pytest.mark.parametrize("target", ["json", "links", "csv"])
def test_convert_keeps_the_pairs(cli, flowers, tmp_path, target):
    """Ids become rows, and the pairs stay the same in every format written."""
    out = tmp_path / f"pairs.{target}"
    result = cli("convert", tmp_path / "pairs.csv", "--data", flowers, "--to", target, "--out", out)
    assert result.code == 0 or target == "csv"
    if target == "csv":  # the file exists: refused, then forced
        out = tmp_path / "other.csv"
        cli("convert", tmp_path / "pairs.csv", "--data", flowers, "--out", out)
    before = read_constraints(tmp_path / "pairs.csv", ids=read_table(flowers).ids)
    after = read_constraints(out)
    assert np.array_equal(before.must_link, after.must_link)
    assert np.array_equal(before.cannot_link, after.cannot_link)


def test_convert_prints_without_out(cli, tmp_path):
    """Without --out the pairs go to standard output, as they are."""
    source = tmp_path / "p.txt"
    source.write_text("ML 0 1\nCL 1 2\n")
    assert cli("convert", source, "--to", "links").out == "ML 0 1\nCL 1 2\n"


def test_compare(cli, flowers, tmp_path):
    """One row a method, a table and a picture in the folder; all strict methods break nothing."""
    out = tmp_path / "cmp"
    result = cli(
        "compare", flowers, "-k", 3, "-c", tmp_path / "pairs.csv", "-m",
        "smdeclust,blp-kmeans,pck-means", "--runs", 2, "--out", out, "--json",
    )  # fmt: skip
    assert result.code == 0
    methods = json.loads(result.out)["methods"]
    assert [m["method"] for m in methods] == ["smdeclust", "blp-kmeans", "pck-means"]
    assert methods[0]["violations"] == methods[1]["violations"] == [0, 0]
    assert sorted(p.name for p in out.iterdir()) == [
        "comparison.csv", "comparison.json", "comparison.png",
    ]  # fmt: skip
    assert cli("compare", flowers, "-k", 3, "-m", "smdeclust").code == 0


def test_compare_explains_contradictions(cli, flowers, tmp_path):
    """Contradictory pairs: the same words as those of fit, unless every method may break pairs."""
    given = flowers, "-k", 3, "-c", tmp_path / "bad.txt"
    refused = cli("compare", *given, "-m", "cop-kmeans,pck-means")
    assert refused.code == 2
    assert refused.err == cli("fit", *given).err
    assert cli("compare", *given, "-m", "pck-means").code == 0


@pytest.mark.parametrize("bounds", [["--size-min", 25, "--size-max", 19], ["--size-min", 21]])
@pytest.mark.parametrize("method", ["smdeclust", "cop-kmeans"])
def test_compare_refuses_impossible_sizes(cli, flowers, monkeypatch, bounds, method):
    """Sizes that cannot be: the code and the words of fit, before any method runs."""
    expected = cli("fit", flowers, "-k", 3, *bounds)

    def never(*_, **__):
        raise AssertionError("a method ran")

    monkeypatch.setattr(methods, "run_method", never)
    refused = cli("compare", flowers, "-k", 3, "-m", method, *bounds)
    assert (refused.code, refused.err) == (expected.code, expected.err)
    assert refused.code in (1, 2)
    assert refused.out == ""
    assert "--size-min" in refused.err


def test_compare_says_which_sizes_are_off(cli, flowers):
    """A method that does not bound sizes is not ranked unless its clusters keep them anyway."""
    given = "compare", flowers, "-k", 3, "-m", "sized-kmeans,cop-kmeans"
    tight = *given, "--size-min", 20, "--size-max", 20
    sized, free = json.loads(cli(*tight, "--json").out)["methods"]
    assert sized["clusters_out_of_bounds"] == [0]
    assert free["clusters_out_of_bounds"][0] > 0
    shown = cli(*tight).out
    assert "sizes off" in shown
    row = next(line for line in shown.splitlines() if "COP-k-means" in line).split()
    assert row[3:6] == ["-", "0", str(free["clusters_out_of_bounds"][0])]
    loose = json.loads(cli(*given, "--size-max", "60,60,59", "--json").out)["methods"]
    assert [row["clusters_out_of_bounds"] for row in loose] == [[0], [0]]
    assert "sizes off" not in cli(*given).out


def test_compare_until_ctrl_c(cli, flowers, monkeypatch):
    """The first Ctrl-C shows the methods that are done, with code 3."""
    real = methods.run_method

    def interrupted(setup, X, *more):
        if setup.method == "blp-kmeans" and len(X) == 60:
            signal.raise_signal(signal.SIGINT)
        return real(setup, X, *more)

    monkeypatch.setattr(methods, "run_method", interrupted)
    result = cli("compare", flowers, "-k", 3, "-m", "cop-kmeans,blp-kmeans,pccc", "--json")
    assert result.code == 3
    assert [m["method"] for m in json.loads(result.out)["methods"]] == ["cop-kmeans"]


def test_completion(cli, monkeypatch):
    """The shell's request for completions is answered with commands and options."""
    for words, expected in (("smdeclust fi", "fit"), ("smdeclust fit --stand", "--standardize")):
        monkeypatch.setenv("_SMDECLUST_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
        assert expected in cli().out


def test_plot(cli, flowers, tmp_path):
    """Every picture, in every format; what is missing is said."""
    out, pairs = tmp_path / "out", tmp_path / "pairs.csv"
    assert cli("fit", flowers, "-k", 3, "-c", pairs, "--out", out, "--no-report").code == 0
    labels = ["--labels", out / "labels.csv"]
    for kind, start in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")):
        file = tmp_path / f"c.{kind}"
        assert cli("plot", flowers, *labels, "-c", pairs, "--out", file).code == 0
        assert file.read_bytes().startswith(start)
    for picture in ("margins", "graph"):
        file = tmp_path / f"{picture}.png"
        assert cli("plot", flowers, *labels, "-c", pairs, "-p", picture, "--out", file).code == 0
    for picture in ("convergence", "diversity"):
        file = tmp_path / f"{picture}.png"
        assert cli("plot", out / "result.json", "-p", picture, "--out", file).code == 0
    assert cli("plot", flowers, "--out", tmp_path / "n.png").code == 1
    assert cli("plot", flowers, *labels, "--out", tmp_path / "n.gif").code == 1
    assert cli("plot", flowers, "-p", "convergence", "--out", tmp_path / "n.png").code == 1


def test_paper_names_its_experiments(cli, tmp_path):
    """An unknown experiment: a sentence and code 1."""
    result = cli("paper", "--experiment", "nonsense", "--out", tmp_path / "r")
    assert result.code == 1
    assert result.err.startswith("Error: ")


def test_compare_takes_every_method(cli, tmp_path):
    """Each method by its name gives a row, and with bounds on sizes those that keep them say so."""
    from smdeclust.cli.methods import METHODS

    rng = np.random.default_rng(0)
    rows = "\n".join(f"{x},{y}" for x, y in rng.normal(size=(24, 2)) + 4 * np.arange(24)[:, None])
    (tmp_path / "data.csv").write_text("x,y\n" + rows + "\n")
    (tmp_path / "pairs.csv").write_text("a,b,type\n0,1,must-link\n2,20,cannot-link\n")
    given = "compare", tmp_path / "data.csv", "-k", 2, "-c", tmp_path / "pairs.csv"
    names = ",".join(METHODS)
    result = json.loads(cli(*given, "--method", names, "--max-time", 2, "--json").out)
    assert [row["method"] for row in result["methods"]] == list(METHODS)
    assert all(row["n_failed"] == 0 for row in result["methods"])
    assert all(
        row["violations"] == [0] for row in result["methods"] if METHODS[row["method"]].strict
    )
    sized = "sized-kmeans,blp-kmeans,cop-kmeans"
    result = json.loads(cli(*given, "-m", sized, "--size-min", 10, "--json").out)
    assert [row["bounds_used"] for row in result["methods"]] == [True, True, False]


def test_plot_and_verify_find_the_fit(cli, flowers, tmp_path):
    """Pairs of a fit are drawn and verified without naming their file; ids are named, not rows."""
    out, pairs = tmp_path / "fit", tmp_path / "two.csv"
    pairs.write_text("i,j,type\nf1,f2,ml\nf2,f3,ml\n")
    assert cli("fit", flowers, "-k", 3, "-c", pairs, "--out", out).code == 0
    drawn = cli("plot", flowers, "-r", out, "-p", "graph", "--out", tmp_path / "graph.png")
    assert (drawn.code, "2 pairs taken from the fit" in drawn.err) == (0, True)
    assert cli("certify", flowers, "-r", out, "--out", out / "proof.npz").code == 0
    verified = cli("verify", flowers, out / "proof.npz")
    assert (verified.code, "2 pairs taken from the fit" in verified.err) == (0, True)
    for command in ("fit", "check"):
        said = cli(command, flowers, "-k", 30, "-c", pairs, "--size-max", 2).err
        assert "Must-links join 'f1', 'f2', 'f3' into one group of 3 points" in " ".join(
            said.split()
        )
