"""What the site needs beyond Markdown: pages of code and notebooks, links into code, a last look.

``[text](src:memetic/algorithm.py#evolve)`` links to the source page of a module and to a function
or class in it. A name that the code does not have (any more) fails the build.
"""

from __future__ import annotations

import ast
import json
import logging
import re
from pathlib import Path
from posixpath import relpath
from textwrap import indent
from typing import Any

from mkdocs.structure.files import File

log = logging.getLogger("mkdocs.hooks.smdeclust")

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "smdeclust"
LINK = re.compile(r"\]\(src:([\w/]+\.py)(?:#(\w+))?\)")
# Tags that make a browser fetch something as soon as the page is opened.
FETCHED = re.compile(
    r"<(?:script|img|iframe|source)\b[^>]*\bsrc=[\"']?(?:https?:)?//[^\"' >]+"
    r"|<link\b(?![^>]*rel=[\"']?(?:canonical|author|license|alternate))[^>]*\bhref=[\"']?"
    r"(?:https?:)?//[^\"' >]+",
    re.IGNORECASE,
)
# A script of examples/ and what it prints.
EXAMPLE = re.compile(r"^<!-- example: (\w+) -->$", re.MULTILINE)
# :func:`~package.name` of a docstring, as Markdown leaves it.
ROLE = re.compile(r":(?:meth|func|class|mod):<code>(?:~[\w.]+\.(?=\w+</code>))?")


def on_files(files: Any, config: Any) -> Any:
    """Add a page for each module that a page links to."""
    pages = (ROOT / "docs").rglob("*.md")
    linked = {module for page in pages for module, _ in LINK.findall(page.read_text("utf-8"))}
    for name in sorted(linked):
        path = PACKAGE / name
        if path.exists():  # (else the link is reported where it stands)
            content = source_page(name, path.read_text(encoding="utf-8"))
            page = File.generated(config, page_of(name), content=content)
            page.inclusion = page.inclusion.NOT_IN_NAV
            files.append(page)
    for path in sorted((ROOT / "docs" / "tutorials").glob("*.ipynb")):
        text = notebook_page(path.name, json.loads(path.read_text(encoding="utf-8")))
        files.append(File.generated(config, f"tutorials/{path.stem}.md", content=text))
    return files


def notebook_page(name: str, notebook: dict[str, Any]) -> str:
    """A notebook as Markdown: its text, its code, what the code printed and its pictures."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            text = "".join(output.get("text", data.get("text/plain", "")))
            if "image/png" in data:
                picture = "".join(data["image/png"].split())
                alt = "The plot that the code above draws"
                parts.append(f'<img alt="{alt}" src="data:image/png;base64,{picture}">')
            elif output.get("name") != "stderr":
                parts.append(f"```text\n{text.rstrip()}\n```")
    return "\n\n".join([*parts, f"[Download this page as a notebook]({name}){{ download }}"])


def page_of(module: str) -> str:
    """The page that shows a module, given by its path in the package."""
    return f"source/{module.removesuffix('.py')}.md"


def source_page(name: str, text: str) -> str:
    """The code of a module, a heading before each of its definitions."""
    lines = text.splitlines()
    parts = [f"---\ntitle: {name}\nhide: [navigation]\nsearch:\n  exclude: true\n---\n\n# {name}\n"]
    start = 0
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)]) - 1
            parts.append(_code(lines, start, first))
            parts.append(f"## {node.name} {{ #{node.name} }}\n")
            start = first
    parts.append(_code(lines, start, len(lines)))
    return "\n".join(parts)


def _code(lines: list[str], start: int, end: int) -> str:
    while start < end and not lines[start].strip():
        start += 1
    while end > start and not lines[end - 1].strip():
        end -= 1
    if start == end:
        return ""
    code = "\n".join(lines[start:end])
    return f'````python linenums="{start + 1}"\n{code}\n````\n'


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Put in the scripts of the gallery, and resolve links to source code."""
    markdown = EXAMPLE.sub(lambda match: example(match[1]), markdown)
    here = page.file.src_uri.rpartition("/")[0]

    def resolve(match: re.Match[str]) -> str:
        module, name = match.groups()
        path = PACKAGE / module
        if not path.exists():
            log.warning("%s links to src:%s, which is not there", page.file.src_uri, module)
            return match.group()
        if name is not None and f"{{ #{name} }}" not in source_page(
            module, path.read_text(encoding="utf-8")
        ):
            log.warning("%s links to %s, which src:%s has not", page.file.src_uri, name, module)
        anchor = f"#{name}" if name else ""
        return f"]({relpath(page_of(module), here or '.')}{anchor})"

    return LINK.sub(resolve, markdown)


def example(name: str) -> str:
    """A script and its output, folded."""
    code = (ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8")
    output = (ROOT / "docs" / "gallery" / f"{name}.txt").read_text(encoding="utf-8")
    body = f"```python\n{code.rstrip()}\n```\n\nIt prints:\n\n```text\n{output.rstrip()}\n```"
    return f'??? example "{name}.py"\n\n' + indent(body, "    ")


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Show names in docstrings as names; refuse pages that fetch anything from elsewhere."""
    output = ROLE.sub("<code>", output)
    for match in FETCHED.finditer(output):
        log.warning("%s fetches from elsewhere: %s", page.file.src_uri, match.group())
    return output
