"""``predict``: new rows in the clusters of an earlier fit, pairs kept."""

from __future__ import annotations

import json

import numpy as np
import pytest

from smdeclust import SMDEClust
from smdeclust.datasets import standardize
from smdeclust.io import read_table


@pytest.fixture
def fitted(cli, flowers, tmp_path):
    """A fit of the flowers but the last ten, these as new rows, and the folder of the fit."""

    def make(*options):
        lines = flowers.read_text().splitlines()
        old, new = tmp_path / "old.csv", tmp_path / "new.csv"
        old.write_text("\n".join(lines[:51]) + "\n")
        new.write_text("\n".join([lines[0], *lines[51:]]).replace(",class", ",note") + "\n")
        out = tmp_path / "out"
        arguments = ["-k", 3, "--out", out, "--no-report", *options]
        assert cli("fit", old, *arguments).code == 0
        return old, new, out

    return make


@pytest.mark.parametrize("options", [[], ["--standardize"], ["--metric", "learned"]])
def test_nearest_center(cli, fitted, options):
    """Without pairs the labels are those of the estimator's own predict."""
    old, new, out = fitted(*options)
    result = cli("predict", new, "--result", out, "--json")
    assert result.code == 0
    document = json.loads(result.out)
    assert document["ids"] == [f"f{i}" for i in range(50, 60)]
    X = read_table(old).X
    X_new = read_table(new, features=["a", "b", "c"]).X
    if "--standardize" in options:
        both = np.vstack([X, X_new])
        X, X_new = standardize(X), (both[50:] - X.mean(0)) / X.std(0)
    metric = "learned" if "--metric" in options else "euclidean"
    model = SMDEClust(3, metric=metric, random_state=0).fit(X)
    assert document["labels"] == model.predict(X_new).tolist()
    lines = cli("predict", new, "--result", out).out.splitlines()
    assert lines[0] == "id,label"


def test_pairs(cli, fitted, tmp_path):
    """New rows keep pairs among themselves and to old rows; what cannot be is code 2."""
    _, new, out = fitted()
    old_labels = dict(line.split(",") for line in (out / "labels.csv").read_text().splitlines()[1:])
    pairs = tmp_path / "new-pairs.csv"
    pairs.write_text("i,j,type\nf50,f51,cl\nf52,f0,ml\nf53,f0,cl\nf54,f55,ml\n")
    result = cli("predict", new, "--result", out, "-c", pairs, "--json")
    assert result.code == 0
    document = json.loads(result.out)
    label = dict(zip(document["ids"], document["labels"], strict=True))
    assert label["f50"] != label["f51"]
    assert label["f52"] == int(old_labels["f0"]) != label["f53"]
    assert label["f54"] == label["f55"]
    pairs.write_text("i,j,type\nf50,f0,ml\nf50,f0,cl\n")
    assert cli("predict", new, "--result", out, "-c", pairs).code == 2


def test_mistakes(cli, fitted, tmp_path):
    """No result, another table: a sentence."""
    _, new, out = fitted()
    nothing = cli("predict", new, "--result", tmp_path / "none").err
    assert nothing.count("none") == nothing.count("no such file") == 1
    assert "--result" in nothing
    assert cli("predict", new, "--result", new).code == 1
    other = tmp_path / "other.csv"
    other.write_text("id,a\nx,1\n")
    missing = cli("predict", other, "--result", out).err
    assert "no column 'b'" in missing
    assert "--features" not in missing
    assert "--result" in missing
    assert "Name one of them" in cli("predict", new, "--result", out, "--id", "who").err
    document = json.loads((out / "result.json").read_text())
    document["model"]["centers"] = [[0.0]]
    (out / "result.json").write_text(json.dumps(document))
    assert "do not fit together" in cli("predict", new, "--result", out).err
