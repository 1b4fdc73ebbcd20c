"""The words that people read: American spelling, and none of the phrases that made them stop."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
# People instead of things, idioms of other languages, British spelling.
AVOIDED = re.compile(
    r"\b(nobody|everybody|somebody|anybody|in vain|for want of|so many|goes on|as it came"
    r"|(and|is|are) said|Euclid's|colours?|behaviours?|neighbours?|centres?|grey"
    r"|labell(ed|ing)|(optim|minim|initial|standard|normal|recogn)is(e|es|ed|ing|ation))\b",
    re.IGNORECASE,
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_avoid_words_that_stop_readers(page: Path) -> None:
    """No page has a word of the list; code blocks count, because people read them."""
    lines = enumerate(page.read_text(encoding="utf-8").splitlines(), start=1)
    found = [f"line {n}: {match[0]}" for n, line in lines if (match := AVOIDED.search(line))]
    assert not found, f"{page.name}: {'; '.join(found)}"


# On pages for users, also words that stand for too many things, or have another name elsewhere.
USERS = [
    page
    for page in PAGES
    if page.name in ("README.md", "index.md", "getting-started.md", "studio.md", "glossary.md")
    or page.parent.name in ("how-to", "recipes", "gallery", "tutorials", "reference")
]
OVERWORKED = re.compile(
    r"\b(in the shell|terminal|the (tab|option) \*|COP-K\w*Means|PCK-Means|minus the objective"
    r"|keeps? (all|every|the) (pairs?|constraints?|bounds)|(pairs|constraints) (all )?hold"
    r"|row numbers?|(?<!--)pictures?)\b"
)


@pytest.mark.parametrize("page", USERS, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_for_users_have_one_word_for_one_thing(page: Path) -> None:
    """No page has a word of the list."""
    lines = enumerate(page.read_text(encoding="utf-8").splitlines(), start=1)
    found = [f"line {n}: {match[0]}" for n, line in lines if (match := OVERWORKED.search(line))]
    assert not found, f"{page.name}: {'; '.join(found)}"


def test_terms_of_the_glossary_are_followed_by_their_definition() -> None:
    """A term stands alone on its line, and the next line begins its definition."""
    lines = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").splitlines()
    terms = [n for n, line in enumerate(lines) if line.startswith("**")]
    assert len(terms) > 20
    for n in terms:
        assert lines[n].endswith("**")
        assert lines[n + 1].startswith(":   "), lines[n]


@pytest.mark.parametrize(
    "word", ["excel", "deduplicate", "balanced", "embedding", "photos", "fair", "speaker", "teams"]
)
def test_search_finds_the_words_of_readers(word: str) -> None:
    """Some page for users has a word that begins with this one: the search compares no stems."""
    begins = re.compile(rf"\b{word}", re.IGNORECASE)
    assert any(begins.search(page.read_text(encoding="utf-8")) for page in USERS)


def test_newest_changes_avoid_them_too() -> None:
    """The newest section of the changelog has none of these words."""
    newest = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ")[1]
    assert [match[0] for match in AVOIDED.finditer(newest)] == []
