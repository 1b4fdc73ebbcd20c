"""The report in a real browser: it renders, complains of nothing, sorts and prints."""

from __future__ import annotations

import re

import pytest

from tests.report.browser import Browser, find_browser

EXECUTABLE = find_browser()
pytestmark = pytest.mark.skipif(
    EXECUTABLE is None, reason="no Chromium on this machine (set CHROMIUM, or install chromium)"
)


@pytest.fixture(scope="module")
def page(report):
    """The report, opened."""
    assert EXECUTABLE is not None
    with Browser(EXECUTABLE) as browser:
        browser.size(1000, 900)
        browser.open(report)
        yield browser


def test_renders_without_complaint_or_request(page, report):
    """All pictures are drawn; the console is empty; nothing but the file itself is requested."""
    pictures = page.run("Array.from(document.images).map(i => [i.complete, i.naturalWidth])")
    assert len(pictures) >= 4
    assert all(done and width > 0 for done, width in pictures)
    assert page.console == []
    assert [r for r in page.requests if not r.startswith("data:")] == [report.resolve().as_uri()]
    assert page.run("document.title").startswith("Clusters of")


def _column(page, table: str, column: int) -> list[str]:
    return page.run(
        f"Array.from(document.querySelectorAll('#{table} tbody tr'))"
        f".map(r => r.cells[{column}].dataset.v ?? r.cells[{column}].textContent)"
    )


def _click(page, table: str, column: int) -> None:
    page.run(f"document.querySelectorAll('#{table} thead [role=button]')[{column}].click()")


@pytest.mark.parametrize(("table", "column"), [("clusters-table", 1), ("clusters-table", 4),
                                               ("pairs-table", 2)])  # fmt: skip
def test_numbers_sort_as_numbers(page, table, column):
    """A click sorts upwards, another one downwards; aria-sort says which."""
    numbers = sorted(float(v) for v in _column(page, table, column))
    assert len(numbers) > 1
    _click(page, table, column)
    assert [float(v) for v in _column(page, table, column)] == numbers
    _click(page, table, column)
    assert [float(v) for v in _column(page, table, column)] == numbers[::-1]
    heads = page.run(f"Array.from(document.querySelectorAll('#{table} th')).map(h => h.ariaSort)")
    assert heads[column] == "descending"
    assert heads.count("descending") == 1


def test_names_sort_as_people_count(page):
    """item 9 comes before item 10."""
    _click(page, "moved-table", 0)
    names = [n for n in _column(page, "moved-table", 0) if n.startswith("item")]
    assert names == sorted(names, key=lambda n: int(n.split()[1]))


def test_keyboard_sorts_too(page):
    """Enter on a focused head does what a click does."""
    page.run(
        "var b = document.querySelector('#clusters-table thead [role=button]'); b.focus();"
        "b.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true}))"
    )
    clusters = [float(v) for v in _column(page, "clusters-table", 0)]
    assert clusters in (sorted(clusters), sorted(clusters)[::-1])
    assert page.run("document.activeElement.getAttribute('role')") == "button"


@pytest.mark.parametrize("width", [360, 768, 1400])
def test_fits_the_window(page, width):
    """On a phone and on a wide screen, only tables scroll sideways, never the page."""
    page.size(width, 900)
    assert page.run("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark(page, scheme):
    """The page follows the reader's choice: its text stands out from the paper in both."""
    page.call(
        "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}]
    )
    colors = page.run(
        "['color', 'backgroundColor'].map(n => getComputedStyle(document.body)[n])"
        ".map(c => c.match(/\\d+/g).slice(0, 3).map(Number).reduce((a, b) => a + b) / 3)"
    )
    ink, paper = colors
    assert (paper > 200 and ink < 60) if scheme == "light" else (paper < 60 and ink > 200)
    page.call("Emulation.setEmulatedMedia", features=[])


def test_words_are_whole_on_a_phone(page):
    """On a narrow screen no cell of a table is narrower than its longest word."""
    page.size(400, 900)
    narrow = page.run(
        "Array.from(document.querySelectorAll('table.sortable td, table.sortable th'))"
        ".filter(c => c.scrollWidth > c.clientWidth + 1).length"
    )
    assert narrow == 0
    page.size(1000, 900)


def test_points_have_names(page):
    """Every point of the drawing has its name as a title, which browsers show under the pointer."""
    titles = page.run(
        "Array.from(document.querySelector('svg.scatter').querySelectorAll('use > title'))"
        ".map(t => t.textContent)"
    )
    assert len(titles) == 70
    assert sum(title.startswith("item 9: cluster ") for title in titles) == 1


def test_prints_to_pdf(page):
    """A few pages on paper, pictures included, and nothing is cut off at the right."""
    page.size(1000, 900)
    printed = page.pdf()
    assert printed.startswith(b"%PDF")
    n_pages = len(re.findall(rb"/Type\s*/Page[^s]", printed))
    assert 2 <= n_pages <= 15
    page.call("Emulation.setEmulatedMedia", media="print")
    assert page.run("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert page.run("getComputedStyle(document.querySelector('.scroll')).maxHeight") == "none"
    page.call("Emulation.setEmulatedMedia", media="")
