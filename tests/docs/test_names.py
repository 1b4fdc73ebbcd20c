"""Names in the documentation: code, files, options and commands that a page mentions exist."""

from __future__ import annotations

import inspect
import re
import tomllib
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer

import smdeclust
from smdeclust.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"`([^`\n]+)`")
# snake_case or CamelCase: a name of code. (A single word may be anything.)
IDENTIFIER = re.compile(r"(?<![\w.-])(?:[A-Za-z]\w*_\w*|[A-Z][a-z]+[A-Z]\w*)\b")
DOTTED = re.compile(r"\bsmdeclust(?:\.\w+)+")
MODULE = re.compile(r"python -m ((?:benchmarks|tests|smdeclust)[\w.]*)")
FILE = re.compile(r"(?<![\w/.])((?:src|tests|benchmarks|examples|docs)/[\w/.-]+\.\w+)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
COMMAND = re.compile(r"(?:^|`)smdeclust ([a-z][a-z-]+)", re.MULTILINE)


def page_id(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@cache
def words_of_the_code() -> frozenset[str]:
    """Every word of the sources."""
    found: set[str] = set()
    for folder in ("src", "benchmarks", "examples"):
        for path in (ROOT / folder).rglob("*.py"):
            found |= set(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    for path in [ROOT / "pyproject.toml", ROOT / "Makefile", *(ROOT / "src").rglob("*.json")]:
        found |= set(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    return frozenset(found)


@cache
def command_line() -> dict[str, set[str]]:
    """Options of every command."""
    program: Any = typer.main.get_command(app)
    own = {name for parameter in program.params for name in parameter.opts}
    return {
        name: own
        | {"--help"}
        | {o for parameter in command.params for o in (*parameter.opts, *parameter.secondary_opts)}
        for name, command in program.commands.items()
    }


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_names_exist(page: Path) -> None:
    """Code names between backticks are words of the sources; dotted ones can be imported."""
    text = page.read_text(encoding="utf-8")
    spans = INLINE.findall(FENCED.sub("", text))
    missing = []
    for span in spans:
        if "/" in span or "<" in span or "$" in span:
            continue
        for name in IDENTIFIER.findall(span):
            if name not in words_of_the_code():
                missing.append(name)
        for path in DOTTED.findall(span):
            if not _importable(path):
                missing.append(path)
    assert not missing, f"{page_id(page)}: {', '.join(sorted(set(missing)))}"


def _importable(path: str) -> bool:
    try:
        import_module(path)
    except ModuleNotFoundError:
        module, _, name = path.rpartition(".")
        if not module:
            return False
        try:
            return hasattr(import_module(module), name)
        except ModuleNotFoundError:
            owner, _, attribute = module.rpartition(".")
            holder = getattr(import_module(owner), attribute, None) if owner else None
            return hasattr(holder, name)
    return True


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_modules_and_files_exist(page: Path) -> None:
    """What a page says to run with ``python -m``, and files of the repository that it names."""
    text = page.read_text(encoding="utf-8")
    missing = [name for name in MODULE.findall(text) if find_spec(name.rstrip(".")) is None]
    missing += [name for name in FILE.findall(text) if not (ROOT / name).exists()]
    assert not missing, f"{page_id(page)}: {', '.join(sorted(set(missing)))}"


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_commands_and_options_exist(page: Path) -> None:
    """Commands of ``smdeclust`` and options between backticks or in its command lines."""
    text = page.read_text(encoding="utf-8")
    commands = command_line()
    everything = set().union(*commands.values())
    for script in (ROOT / "benchmarks").glob("*.py"):
        everything |= set(OPTION.findall(script.read_text(encoding="utf-8")))
    missing = [name for name in COMMAND.findall(text) if name not in commands]
    for span in INLINE.findall(FENCED.sub("", text)):
        if span.startswith("--"):
            missing += [option for option in OPTION.findall(span) if option not in everything]
        said = re.match(r"smdeclust ([a-z][a-z-]+)(.*)", span)
        if said and said[1] in commands:
            wrong = [o for o in OPTION.findall(said[2]) if o not in commands[said[1]]]
            missing += [f"{said[1]} {option}" for option in wrong]
        target = re.match(r"make ([a-z]+)\b", span)
        if target and target[1] not in make_targets():
            missing.append(span)
        missing += [f"[{e}]" for e in re.findall(r"smdeclust\[([\w,]+)\]", span) if not extras(e)]
    for line in re.sub(r"\\\n", " ", text).splitlines():
        found = re.match(r"\s*(?:\$ )?smdeclust ([a-z-]+)(.*)", line)
        if found and found[1] in commands:
            own = commands[found[1]]
            missing += [f"{found[1]} {o}" for o in OPTION.findall(found[2]) if o not in own]
    assert not missing, f"{page_id(page)}: {', '.join(sorted(set(missing)))}"


@cache
def make_targets() -> frozenset[str]:
    """What ``make`` can make."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    return frozenset(re.findall(r"^([a-z]+):", text, re.MULTILINE))


def extras(names: str) -> bool:
    """Whether these extras of the package exist."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return set(names.split(",")) <= set(project["optional-dependencies"])


# A call in running text, such as `certify(n_jobs=2)`: its name, and its keywords.
CALL = re.compile(r"(?<![\w.])([A-Za-z]\w+(?:\.[a-z]\w+)*)\(([^()]*(?:\([^()]*\)[^()]*)*)\)")
KEYWORD = re.compile(r"(?:^|, *)([a-z]\w*)=")


def called(name: str) -> Any:
    """What a page calls by a public name: of the package, or a method of one of its classes."""
    head, *rest = name.split(".")
    for home in ("smdeclust", "smdeclust.plotting", "smdeclust.datasets", "smdeclust.io"):
        thing = getattr(import_module(home), head, None)
        if thing is not None and not isinstance(thing, ModuleType):
            for attribute in rest:
                thing = getattr(thing, attribute, None)
            return thing
    return None


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_arguments_in_running_text_exist(page: Path) -> None:
    """Keywords of calls between backticks are parameters of what is called."""
    text = page.read_text(encoding="utf-8")
    wrong = []
    for span in INLINE.findall(FENCED.sub("", text)):
        for name, inside in CALL.findall(span):
            thing = called(name)
            if thing is None or not callable(thing):
                continue
            has = inspect.signature(thing).parameters
            if any(parameter.kind is parameter.VAR_KEYWORD for parameter in has.values()):
                continue
            flat = re.sub(r"\([^()]*\)", "", inside)
            wrong += [f"{name}({word}=)" for word in KEYWORD.findall(flat) if word not in has]
    assert not wrong, f"{page_id(page)}: {', '.join(sorted(set(wrong)))}"


# Words that readers stumble over, and spellings that are not American.
AVOIDED = re.compile(
    r"\b(anew|as ever|behind the same door|dear|dearer|dearest|Euclid's|everybody|for want of|"
    r"in earnest|it is worth to|nobody|seldom|somebody|telling|thereof|whence|whilst|"
    r"with the same face|centimetre\w*|centred|favour\w*|labell\w*|licence|programmes?|"
    r"\w*(?:behaviour|colour|neighbour|minimis|normalis|optimis|recognis|standardis)\w*)\b",
    re.IGNORECASE,
)


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_plain_words(page: Path) -> None:
    """Pages use common words in American spelling."""
    found = AVOIDED.findall(" ".join(page.read_text(encoding="utf-8").split()))
    assert not found, f"{page_id(page)}: {', '.join(sorted(set(found)))}"


@pytest.mark.parametrize("name", smdeclust.__all__)
def test_plain_words_in_docstrings(name: str) -> None:
    """So do the docstrings of public names and of their public methods."""
    value = getattr(smdeclust, name)
    members = [getattr(value, m) for m in dir(value) if not m.startswith("_")]
    texts = [inspect.getdoc(each) or "" for each in [value, *members] if not isinstance(each, str)]
    found = AVOIDED.findall("\n".join(texts))
    assert not found, f"{name}: {', '.join(sorted(set(found)))}"
