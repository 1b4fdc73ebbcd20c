"""The report as text: what it says, and that it is complete in itself."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import escape
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest

from smdeclust.constraints import Constraints
from smdeclust.report import Content, html, page, render_report
from smdeclust.tables.profile import set_apart
from tests.report.conftest import NASTY


class _Links(HTMLParser):
    """Every address that a page mentions, and whether its tags are closed."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag, attributes):
        self.addresses += [
            v or "" for k, v in attributes if k in ("src", "href", "action", "srcset")
        ]
        if tag not in ("meta", "link", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_complete_in_itself(report):
    """No address but anchors and data within the page; tags are balanced."""
    page = report.read_text()
    parser = _Links()
    parser.feed(page)
    assert parser.open == []
    assert all(a.startswith(("#", "data:")) for a in parser.addresses)
    assert "url(" not in page
    assert "@import" not in page


def test_names_are_escaped(report):
    """Nothing from the files becomes markup."""
    page = report.read_text()
    assert NASTY not in page
    assert page.count("<script") == 1
    assert "<b>depth" not in page


def test_thousands_are_numbers():
    """A large number is shown with narrow spaces, not with the name of that character."""
    assert html.printable(html.number(24871.0)) == "24\u202f871"


@pytest.mark.parametrize(
    "heading",
    ["Input and settings", "Result", "The clusters", "What the pairs cost",
     "Points that moved because of the pairs", "The pairs that cost most", "How to reproduce it"],
)  # fmt: skip
def test_sections(report, heading):
    """Every question of the reader has its section."""
    assert f"<h2>{heading}</h2>" in report.read_text()


def test_clusters_before_settings(report):
    """The reader meets the clusters and their profiles before the settings of the solver."""
    page = report.read_text()
    places = [page.index(f"<section id='{name}'>") for name in ("clusters", "profiles", "asked")]
    assert places == sorted(places)


def test_moved_points_by_distance(report):
    """Points that the pairs moved farthest come first."""
    body = report.read_text().split("id='moved-table'")[1].split("</table>")[0]
    rows = [re.findall(r"data-v='([^']+)'", row) for row in body.split("<tr>")[2:]]
    extra = [float(row[-1]) for row in rows]
    assert len(extra) > 1
    assert extra == sorted(extra, reverse=True)


def test_profiles():
    """Quantiles of each feature by cluster are those of numpy, the telling feature comes first."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 50)
    raw = rng.normal(size=(100, 3))
    raw[:, 2] += 10 * labels
    content = SimpleNamespace(
        raw=raw, labels=labels, n_clusters=2, feature_names=("noise", "more noise", "telling")
    )
    found = page.profiles(content)
    first = found["features"][0]
    assert first["name"] == "telling"
    median = np.median(raw[labels == 1, 2])
    assert first["bars"][2]["quantiles"][2] == median
    assert first["bars"][1]["median"] < first["bars"][0]["median"] < first["bars"][2]["median"]
    for role, low, high in (("number", "low", "high"), ("date", "early", "late")):
        words = set_apart(raw, content.feature_names, labels, 2, {"telling": role})
        assert words == [f"{low} telling", f"{high} telling"]
    shares = np.array([[1.0, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 0], [0] * 6]).T
    words = set_apart(shares, ["a=x", "b=y", "c=z"], np.repeat([0, 1], 3), 2, {})
    assert [said.split(", ")[0] for said in words] == ["a: 100% x", "a: never x"]


def test_categories_are_shares():
    """The profile of a value of a category is its share; the means have more rows than columns."""
    raw = np.array([[1.0, 1, 1, 0, 0, 0], [3, 4, 5, 6, 7, 8]]).T
    content = Content(
        title="", X=raw, raw=raw, feature_names=("kind=a", "size"), labels=np.repeat([0, 1, 1], 2),
        n_clusters=2, constraints=Constraints(n_points=6), ids=None, objective=1.0, seconds=1.0,
        asked=(), facts=(), columns="", method_title="",
    )  # fmt: skip
    first = next(each for each in page.profiles(content)["features"] if each["share"])
    assert first["name"] == "kind=a"
    assert [bar["quantiles"][2] for bar in first["bars"]] == pytest.approx([0.5, 1, 0.25])
    written = render_report(content)
    assert "<b>kind=a</b> <span class='note'>share of points</span>" in written
    assert ">25%</text>" in written
    means = written.split("id='means-table'")[1].split("</table>")[0]
    assert re.findall(r"<td>(.*?)</td>", means) == ["share of kind=a", "mean size"]
    many = replace(content, labels=np.arange(6) // 2, n_clusters=3)
    means = render_report(many).split("id='means-table'")[1].split("</table>")[0]
    assert re.findall(r"<th .*?>(.*?)</th>", means) == ["cluster", "share of kind=a", "mean size"]


def test_says_whether_columns_were_standardised(report):
    """The choice is stated at the top and in the table of what was asked."""
    assert report.read_text().count("as given") >= 2


def test_numbers_agree_with_the_result(report):
    """The costs in the page follow from the result: with pairs, without, and the difference."""
    page = report.read_text()
    result = json.loads((report.parent / "result.json").read_text())
    body = page.split("id='cost-table'")[1].split("</table>")[0]
    values = [float(v) for v in re.findall(r"data-v='([^']+)'", body)]
    assert values[0] == result["objective"]
    with_pairs, without = values[0], values[len(values) // 2]
    assert without <= with_pairs
    added = 100 * (with_pairs - without) / without
    assert f"{added:+.2f}%" in page


def test_costs_of_pairs_are_data_too(report):
    """result.json has the pairs of the page, with their costs, the most expensive first."""
    costs = json.loads((report.parent / "result.json").read_text())["pair_costs"]
    body = report.read_text().split("id='pairs-table'")[1].split("</table>")[0]
    assert len(costs) == body.count("<tr>") - 1
    values = [pair["cost"] for pair in costs]
    assert values == sorted(values, reverse=True)
    assert f"data-v='{values[0]}'" in body


def test_same_input_same_page(report, tmp_path, monkeypatch):
    """But for the time it took, a report is reproducible."""
    from smdeclust.cli.app import run

    folder = report.parent.parent
    arguments = ["fit", folder / "things.csv", "-k", 4, "-c", folder / "pairs.csv"]
    assert run([*map(str, arguments), "--out", str(tmp_path / "out"), "--seed", "1"]) == 0

    def settled(path):
        page = re.sub(r"\d+ ms|\d+\.\d s", "TIME", path.read_text())
        return page.replace(str(tmp_path / "out"), "OUT").replace(str(report.parent), "OUT")

    assert settled(tmp_path / "out" / "report.html") == settled(report)


@pytest.mark.parametrize("value", ["\x00\x1b[0m", "\ud800", "a\u202eb", "<&>'\""])
def test_any_text_can_be_written(value):
    """Control characters, lone surrogates and markup become harmless, encodable text."""
    shown = escape(html.printable(value))
    shown.encode()
    assert "<" not in shown
    assert "\x00" not in shown


def test_numbers_for_people():
    """Six digits that matter, thousands apart, a dash for nothing."""
    assert html.number(1234567) == "1\u202f234\u202f567"
    assert html.number(0.123456789) == "0.123457"
    assert html.number(float("nan")) == "–"
    assert html.number(np.float64(2.0)) == "2"


def test_weights_of_columns_are_drawn():
    """A learned distance adds one picture, which says what the pairs say about the columns."""
    X, names = np.random.default_rng(0).normal(size=(20, 2)), ("a", "b")
    plain = Content(
        title="", X=X, raw=X, feature_names=names, labels=np.arange(20) % 2, n_clusters=2,
        constraints=Constraints(), ids=None, objective=1.0, seconds=0.0, asked=(), facts=(),
        columns="as given", method_title="",
    )  # fmt: skip
    learned = replace(plain, feature_weights=[0.5, 1.5])
    assert set(page.figures(learned)) - set(page.figures(plain)) == {"weights"}
    words = "The weight of each column"
    assert [words in render_report(content) for content in (plain, learned)] == [False, True]
