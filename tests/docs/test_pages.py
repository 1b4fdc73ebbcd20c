"""What the README and the documentation show is what happens: every block is run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import pytest

from smdeclust.exceptions import DataNotFoundError
from tests.conftest import find_data_root
from tests.docs.blocks import Block, find_blocks, run_python, run_shell
from tests.docs.recipes import RECIPES

ROOT = Path(__file__).resolve().parents[2]
# The commands of the README run as processes; those of other pages within this one.
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Pages that look different where the paper's data are at hand.
USES_DATA = re.compile(r"load_set[12]|load_constraints\(|smdeclust paper|run_paper\(")

# Modules that an extra of the package brings.
EXTRAS = ("dask", "distributed", "torch", "gurobipy")


def page_id(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def executed(page: Path) -> list[Block]:
    blocks = find_blocks(page.read_text(encoding="utf-8"))
    return [block for block in blocks if block.is_python or block.commands]


RUN = [page for page in PAGES if executed(page)]


def run_page(page: Path, folder: Path) -> None:
    namespace: dict[str, Any] = {"__name__": "__docs__"}
    left_out = []
    for block in executed(page):
        where = f"{page_id(page)}:{block.line}"
        if block.not_run is not None:
            left_out.append(f"{where} {block.not_run}")
            continue
        try:
            if block.is_python:
                run_python(block, page, namespace)
            else:
                result = run_shell(block, folder, own_processes=page == PAGES[0])
                assert result.returncode == 0, (
                    f"{where}: exit code {result.returncode}\n{result.stdout}\n{result.stderr}"
                )
                assert "Traceback" not in result.stderr, f"{where}\n{result.stderr}"
        except DataNotFoundError as error:
            left_out.append(f"{where} data are not at hand: {error}")
        except ModuleNotFoundError as error:
            if error.name not in EXTRAS:
                raise
            left_out.append(f"{where} needs the extra {error.name}")
        finally:
            plt.close("all")
    if left_out and page not in RECIPES:
        pytest.skip("all other blocks ran; left out: " + "; ".join(left_out))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to run in, an empty cache, and no window."""
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SMDECLUST_CACHE", str(tmp_path / ".cache"))
    # Nothing is downloaded here: these tests are about the pages, not about the network.
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    return tmp_path


@pytest.mark.parametrize("page", RUN, ids=page_id)
def test_blocks_run_without_data(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every block of the page runs in an empty folder, without the paper's data."""
    monkeypatch.delenv("SMDECLUST_DATA", raising=False)
    run_page(page, folder)
    if page in RECIPES:
        assert (folder / f"{page.stem}.png").stat().st_size > 3000


@pytest.mark.data
@pytest.mark.parametrize(
    "page",
    [page for page in RUN if any(USES_DATA.search(block.code) for block in executed(page))],
    ids=page_id,
)
def test_blocks_run_with_data(
    page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, paper_data: Path
) -> None:
    """Every block of a page that may use the paper's data runs with them."""
    monkeypatch.setenv("SMDECLUST_DATA", str(paper_data))
    assert find_data_root() == paper_data
    run_page(page, folder)


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_blocks_name_their_language(page: Path) -> None:
    """Every fenced block says what it is, so that none escapes the tests unseen."""
    for block in find_blocks(page.read_text(encoding="utf-8")):
        assert block.language, f"{page_id(page)}:{block.line} has no language (use text for none)"


def test_readme_and_pages_have_code() -> None:
    """The README shows Python and shell, and so does the page for beginners."""
    for name in ("README.md", "docs/getting-started.md"):
        blocks = executed(ROOT / name)
        assert any(block.is_python for block in blocks)
        assert any("smdeclust" in block.commands for block in blocks)


def test_recipes_are_listed_and_show_their_picture() -> None:
    """The page of recipes and the front page link to every recipe; each shows its own picture."""
    front = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    index = (ROOT / "docs" / "recipes" / "index.md").read_text(encoding="utf-8")
    assert RECIPES
    for page in RECIPES:
        assert f"({page.name})" in index
        assert f"(recipes/{page.name})" in front
        assert f"]({page.stem}.png)" in page.read_text(encoding="utf-8")
        assert page.with_suffix(".png").exists()
