"""``--quota`` on the command line: columns of the file, shares, counts, sums."""

from __future__ import annotations

import json
import re
from html import unescape

import numpy as np
import pytest

from smdeclust import Constraints


@pytest.fixture
def pupils(tmp_path):
    """Twenty-four pupils with a gender and an amount."""
    rng = np.random.default_rng(0)
    lines = ["id,a,b,girl,amount"]
    for row in range(24):
        a, b = rng.normal(size=2) + 2 * (row % 3)
        lines.append(f"p{row},{a:.3f},{b:.3f},{int(row < 10)},{1 + row % 4}")
    path = tmp_path / "pupils.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_counts_and_sums(cli, pupils):
    """A count of one value and a sum hold in every cluster, and are shown."""
    options = ["-k", 3, "--features", "a,b", "--quota", "girl=3..4", "--quota", "amount=..25"]
    result = cli("fit", pupils, *options, "--json")
    assert result.code == 0, result.err
    document = json.loads(result.out)
    girls, amounts = document["quotas"]
    assert girls["of"] == "sum"
    assert all(3 <= held <= 4 for held in girls["held"])
    assert sum(girls["held"]) == 10
    assert max(amounts["held"]) <= 25
    assert all(len(quota["price"]) == 3 for quota in document["quotas"])


@pytest.mark.parametrize(
    ("quota", "of", "least"),
    [
        ("girl=0.3..0.6", "mean", 0.3),  # of 0 and 1: the share of 1
        ("amount:share=0.2..0.4", "share", 0.2),
        ("amount:count=1..4", "count", 1),
    ],
)
def test_shares_of_numbers(cli, pupils, quota, of, least):
    """Values that are numbers have shares and counts, too."""
    result = cli("fit", pupils, "-k", 3, "--features", "a,b", "--quota", quota, "--json")
    assert result.code == 0, result.err
    found = json.loads(result.out)["quotas"]
    assert {each["of"] for each in found} == {of}
    assert len(found) == (1 if of == "mean" else 4)
    assert min(min(each["held"]) for each in found) >= least


@pytest.mark.parametrize(
    ("quota", "words"),
    [
        ("girl", "expected COLUMN=LOW..HIGH"),
        ("girl=a..b", "expected COLUMN=LOW..HIGH"),
        ("boy=1..2", "there is no column 'boy'"),
        ("girl=4..", "there are 10"),
        ("girl:2=1..", "no point has the value '2'"),
        ("girl:1=3..4,3..4", "or one bound per cluster (gender:f=3,4..5,6)"),
    ],
)
def test_what_is_wrong_is_said(cli, pupils, quota, words):
    """Bad forms, unknown columns and values, impossible bounds."""
    result = cli("fit", pupils, "-k", 3, "--features", "a,b", "--quota", quota)
    assert result.code != 0
    assert words in " ".join(result.err.split())


def test_bounds_that_differ_by_cluster(cli, pupils, tmp_path):
    """One for each cluster, separated by commas; an empty one is none."""
    quota = ["--quota", "girl:1=2,,5..2,3,5", "--quota", "girl:0=3,5,6.."]
    options = ["--features", "a,b", *quota, "--out", tmp_path / "out", "--pair-costs", 0]
    result = cli("fit", pupils, "-k", 3, *options)
    assert result.code == 0, result.err
    document = json.loads((tmp_path / "out" / "result.json").read_text())
    girls, boys = document["quotas"]
    assert sorted(girls["held"]) == [2, 3, 5]
    assert girls["high"] == girls["held"]
    assert sorted(boys["low"]) == [3, 5, 6]
    shown = ",".join(f"{low:g}" for low in boys["low"])
    assert f"count of girl 0 ({shown}..)" in " ".join(result.out.split())


def test_true_is_counted(cli, pupils):
    """A column of True and False in a file means the same as in Python: True is counted."""
    lines = pupils.read_text().splitlines()
    flags = ["senior", *(str(row % 4 == 0) for row in range(23)), ""]
    pupils.write_text("\n".join(map(",".join, zip(lines, flags, strict=True))) + "\n")
    options = ["-k", 3, "--features", "a,b", "--quota", "senior=1..3", "--json"]
    result = cli("fit", pupils, *options)
    assert result.code == 0, result.err
    (seniors,) = json.loads(result.out)["quotas"]
    assert seniors["value"] is True
    assert sum(seniors["held"]) == 6
    assert 1 <= min(seniors["held"]) <= max(seniors["held"]) <= 3


def test_methods_without_quotas_refuse(cli, pupils):
    """Nothing is dropped in silence."""
    quota = ["--quota", "girl=1.."]
    result = cli("fit", pupils, "-k", 3, "--features", "a,b", "-m", "cop-kmeans", *quota)
    assert result.code != 0
    assert "does not support quotas" in " ".join(result.err.split())


def test_certificates_and_files(cli, pupils, tmp_path):
    """Proofs say that quotas are not part of them; a file of quotas is used, and checked."""
    options = ["-k", 3, "--features", "a,b"]
    said = "The certificate ignores the quotas"
    result = cli("fit", pupils, *options, "--certify", "--quota", "girl=1..")
    assert result.code == 0, result.err
    assert said in " ".join(result.err.split())
    assert "which the bound ignores" in " ".join(result.out.split())
    known = Constraints(ids=[f"p{row}" for row in range(24)])
    known = known.quota([row < 10 for row in range(24)], 3, 4, name="girl")
    known.write(tmp_path / "known.json")
    result = cli("fit", pupils, *options, "-c", tmp_path / "known.json", "--json")
    (girls,) = json.loads(result.out)["quotas"]
    assert sorted(girls["held"]) == [3, 3, 4]
    result = cli("check", pupils, "-k", 4, "-c", tmp_path / "known.json")
    assert "4 clusters with at least 3 of True need 12" in " ".join(
        (result.out + result.err).split()
    )
    result = cli("convert", tmp_path / "known.json", "--data", pupils, "--to", "csv")
    assert "The format csv cannot store quotas" in " ".join(result.err.split())


def test_report_of_bounds(cli, pupils, tmp_path):
    """Counts and shares against bounds for each cluster, and what one more would save."""
    options = ["-k", 3, "--features", "a,b", "--size-min", 7, "--quota", "girl:1=0.4.."]
    result = cli("fit", pupils, *options, "--out", tmp_path / "result", "--pair-costs", 0)
    assert result.code == 0, result.err
    assert "share of girl 1 (0.4..)" in result.out
    assert "one more (or less) would save" in result.out
    page = (tmp_path / "result" / "report.html").read_text()
    assert "Bounds on clusters" in page
    assert "share of girl 1" in page
    assert "7.0" not in re.sub(r"<[^>]*>", " ", page.split("Bounds on clusters")[1][:2000])
    document = json.loads((tmp_path / "result" / "result.json").read_text())
    assert document["sizes_held"] == document["cluster_sizes"]
    assert len(document["size_prices"]) == 3
    sizes, (girls,) = document["cluster_sizes"], document["quotas"]
    for size, share in zip(sizes, girls["held"], strict=True):
        assert f"{round(size * share)} of {size} ({share:.0%})" in page


def test_check_takes_quotas(cli, pupils):
    """What cannot hold is explained as by fit, what can is said; in words and for machines."""
    options = ["check", pupils, "-k", 3, "--features", "a,b", "--quota"]
    result = cli(*options, "girl=4..")
    assert result.code == 2
    assert "there are 10" in " ".join(result.err.split())
    document = json.loads(cli(*options, "girl=4..", "--json").out)
    assert document["error"]["exit_code"] == 2
    result = cli(*options, "girl=3..4")
    assert result.code == 0, result.err
    assert "all pairs, sizes and quotas can be satisfied" in " ".join(result.out.split())


def test_the_code_in_the_report_has_the_quotas(cli, pupils, tmp_path, capsys):
    """The lines of Python in the report give the same clustering under the same quotas."""
    options = ["-k", 3, "--features", "a,b", "--quota", "girl=3..4", "--pair-costs", 0]
    assert cli("fit", pupils, *options, "--out", tmp_path / "result").code == 0
    page = (tmp_path / "result" / "report.html").read_text()
    blocks = [unescape(block) for block in re.findall(r"<pre>(.*?)</pre>", page, re.S)]
    known: dict = {}
    exec(next(block for block in blocks if "from smdeclust import" in block), known)
    document = json.loads((tmp_path / "result" / "result.json").read_text())
    assert known["model"].inertia_ == pytest.approx(document["objective"])
    assert sorted(known["model"].quotas_[0]["held"].tolist()) == [3, 3, 4]


@pytest.mark.parametrize(
    ("cells", "role"),
    [
        (["1.000,5", "2.000,5", "9.000,5", "8.000,5"], "id=id"),
        (["0100", "0200", "0900", "0800"], "betrag=number"),  # codes, unless you say otherwise
    ],
)
def test_numbers_are_read_as_the_table_reads_them(cli, tmp_path, cells, role):
    """A quota on a column with the role number bounds the sum, however the numbers are written."""
    path = tmp_path / "german.csv"
    lines = [f'p{row},"{cell}",{row}' for row, cell in enumerate(cells)]
    path.write_text("\n".join(["id,betrag,x", *lines]) + "\n")
    options = ["-k", 2, "--role", role, "--quota", "betrag=..12000", "--json"]
    result = cli("check", path, *options)
    assert result.code == 0, result.err
    assert json.loads(result.out)["n_quotas"] == 1
