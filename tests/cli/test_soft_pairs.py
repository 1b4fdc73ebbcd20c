"""Soft pairs on the command line: confidences count, and every output shows them."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest


@pytest.fixture
def soft(tmp_path):
    """Two clusters and a point p10 between them, nearer to the first; a soft must-link asks for
    the second."""
    data = tmp_path / "d.csv"
    rows = [f"p{i},{(i % 5) / 10 + 3 * (i // 5)},{(i * 7 % 5) / 10}" for i in range(10)]
    rows.append("p10,1.5,0.2")
    data.write_text("\n".join(["id,u,v", *rows]) + "\n")

    def write(confidence):
        pairs = tmp_path / f"soft{confidence}.csv"
        pairs.write_text(f"i,j,type,confidence\np10,p7,ml,{confidence}\np0,p9,cl,0.9\n")
        return data, pairs

    return write


def fit(cli, files, *options, method="pccc"):
    data, pairs = files
    result = cli("fit", data, "-k", 2, "-c", pairs, "--method", method, "--raw", *options)
    assert result.code == 0
    return result


def test_confidence_changes_the_result(cli, soft):
    """Pairs of high confidence hold at the cost of the objective; those of low confidence break."""
    sure, unsure = (
        json.loads(fit(cli, soft(confidence), "--json", "--penalty", 1.5).out)
        for confidence in (1.0, 0.5)
    )
    assert unsure["broken_soft_pairs"] == 1
    assert sure["broken_soft_pairs"] == 0
    assert sure["objective"] > unsure["objective"]
    assert sure["n_soft_pairs"] == 2
    assert sure["n_soft_must_links"] == 1
    assert unsure["objective_with_penalties"] > unsure["objective"]


def test_default_method_takes_them(cli, soft):
    """The default method weighs soft pairs by confidence as well; --penalty sets the price."""
    likely, unlikely = (
        json.loads(fit(cli, soft(p), "--json", method="smdeclust").out) for p in (0.999999, 0.51)
    )
    assert unlikely["broken_soft_pairs"] == 1
    assert likely["broken_soft_pairs"] == 0
    cheap = fit(cli, soft(0.999999), "--json", "--penalty", 1e-6, method="smdeclust")
    assert json.loads(cheap.out)["broken_soft_pairs"] == 1


@pytest.mark.parametrize("method", ["pccc", "smdeclust"])
def test_report_and_recipe_show_them(cli, soft, tmp_path, capsys, method):
    """The report counts soft pairs, and its Python code gives the same objective."""
    out = tmp_path / "out"
    result = fit(cli, soft(0.6), "--out", out, method=method)
    assert "broken soft pairs" in result.out
    page = (out / "report.html").read_text()
    assert "no pairs were given" not in page
    assert "of 2 soft pairs" in page
    blocks = [unescape(block) for block in re.findall(r"<pre>(.*?)</pre>", page, re.S)]
    code = next(block for block in blocks if "from smdeclust import" in block)
    capsys.readouterr()
    exec(code, {})
    before = json.loads((out / "result.json").read_text())["objective"]
    assert float(capsys.readouterr().out) == before


def test_compare_counts_them(cli, soft):
    """compare says how many soft pairs there are, and which methods do not use them."""
    data, pairs = soft(0.9)
    result = cli("compare", data, "-k", 2, "-c", pairs, "-m", "pccc,blp-kmeans", "--raw")
    said = " ".join(result.out.split())
    assert "2 soft pairs" in said
    assert "* does not use soft pairs" in said


def test_broken_ones_are_named(cli, soft, tmp_path):
    """fit names the soft pairs that broke: by id, with their price and what keeping would cost."""
    result = fit(cli, soft(0.51), "--json", method="smdeclust")
    document = json.loads(result.out)
    (pair,) = document["broken_soft"]
    assert (pair["type"], pair["ids"], pair["rows"]) == ("must_link", ["p10", "p7"], [10, 7])
    assert pair["confidence"] == 0.51
    assert 0 < pair["price"] < pair["keeping"]
    paid = document["objective_with_penalties"] - document["objective"]
    assert paid == pytest.approx(pair["price"])
    said = fit(cli, soft(0.51), method="smdeclust")
    assert "must-link p10 - p7: costs" in said.out
    out = tmp_path / "out"
    said = fit(cli, soft(0.51), "--out", out, "--no-report", method="smdeclust")
    assert "must-link p10 - p7: costs" in said.out
    assert json.loads((out / "result.json").read_text())["broken_soft"] == [pair]


def test_methods_without_prices_name_them_too(cli, soft):
    """Methods that leave soft pairs out, or do not say a price, name those that broke; many are
    cut short."""
    data, pairs = soft(0.9)
    pairs.write_text("i,j,type,confidence\n" + "".join(f"p0,p{i},cl,0.9\n" for i in range(1, 5)))
    many = "".join(f"p0,p{i},ml,0.9\n" for i in range(5, 10))
    pairs.write_text(pairs.read_text() + many)
    result = fit(cli, (data, pairs), "--json", method="cop-kmeans")
    broken = json.loads(result.out)["broken_soft"]
    assert len(broken) == 9
    assert all(pair["price"] is None for pair in broken)
    assert "... and 4 more" in fit(cli, (data, pairs), method="cop-kmeans").out


def test_confidences_below_a_half_are_refused(cli, tmp_path):
    """The opposite is likelier: the line is named, and what to write instead."""
    data, pairs = tmp_path / "data.csv", tmp_path / "pairs.csv"
    data.write_text("x\n0\n1\n5\n6\n")
    pairs.write_text("i,j,type,confidence\n0,1,cl,0.3\n2,3,ml,0.9\n")
    result = cli("fit", data, "-k", 2, "-c", pairs)
    assert result.code == 1
    words = " ".join(result.err.split())
    assert "line 2" in words
    assert "from 0.5 to 1" in words
