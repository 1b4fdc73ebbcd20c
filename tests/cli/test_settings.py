"""Options that set up the method: they reach it, the report keeps to them, others say no."""

from __future__ import annotations

import json
import re
from html import unescape

import numpy as np
import pytest

from smdeclust.io import read_table


def test_metric(cli, flowers, tmp_path, capsys):
    """A learned distance is used, shown, and the recipe of the report gives the same objective."""
    out = tmp_path / "out"
    options = ["-k", 3, "-c", tmp_path / "pairs.csv", "--metric", "learned", "--out", out]
    result = cli("fit", flowers, *options)
    assert result.code == 0
    assert "weights of columns" in result.out
    document = json.loads((out / "result.json").read_text())
    assert document["distance"] == "learned"
    assert len(document["feature_weights"]) == 3
    page = (out / "report.html").read_text()
    blocks = [unescape(block) for block in re.findall(r"<pre>(.*?)</pre>", page, re.S)]
    code = next(block for block in blocks if "from smdeclust import" in block)
    capsys.readouterr()
    exec(code, {})
    assert float(capsys.readouterr().out) == pytest.approx(document["objective"])
    # Both clusterings of the report are measured in one distance: pairs can only cost.
    body = page.split("id='cost-table'")[1].split("</table>")[0]
    values = [float(v) for v in re.findall(r"data-v='([^']+)'", body)]
    assert values[0] == document["objective"] >= values[len(values) // 2]


def test_options_that_a_method_lacks(cli, flowers):
    """Said with the methods that have them."""
    result = cli("fit", flowers, "-k", 3, "-m", "cop-kmeans", "--metric", "learned")
    assert result.code == 1
    assert "--metric: COP-k-means lacks this option" in result.err
    assert "smdeclust" in result.err


def test_sizes(cli, flowers):
    """No cluster is smaller or larger than asked; what cannot be is explained."""
    result = cli("fit", flowers, "-k", 3, "--size-min", 18, "--size-max", 22, "--json")
    sizes = json.loads(result.out)["cluster_sizes"]
    assert min(sizes) >= 18
    assert max(sizes) <= 22
    for command in ("fit", "check"):
        refused = cli(command, flowers, "-k", 3, "--size-min", 21)
        assert refused.code in (1, 2)
        assert "size_min" not in refused.err
        assert "--size-min" in refused.err
    assert cli("check", flowers, "-k", 3, "--size-min", 18, "--size-max", 22).code == 0
    assert "--size-max" in cli("fit", flowers, "-k", 3, "--size-max", "few").err


def test_init(cli, flowers, tmp_path):
    """A fit from an earlier result keeps its cluster numbers, and is no worse."""
    out, pairs = tmp_path / "out", tmp_path / "pairs.csv"
    assert cli("fit", flowers, "-k", 3, "-c", pairs, "--out", out, "--no-report").code == 0
    before = json.loads((out / "result.json").read_text())
    labels = np.array(before["labels"])
    turned = (labels + 1) % 3
    ids = read_table(flowers).ids
    lines = [f"{name},{label}" for name, label in zip(ids, turned, strict=True)]
    (out / "labels.csv").write_text("\n".join(["id,label", *lines]) + "\n")
    result = cli("fit", flowers, "-k", 3, "-c", pairs, "--init", out, "--json")
    after = json.loads(result.out)
    assert after["objective"] <= before["objective"] * (1 + 1e-9)
    assert np.mean(np.array(after["labels"]) == turned) > 0.9
