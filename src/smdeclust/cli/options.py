"""Options: how a command becomes what typer shows, and the options that several commands share.

A command's docstring describes its options: it ends with sections of entries such as ``--out -o
DIR: Folder to write to.``: names, what the value is called, and help. Where the parameter has
another name than the option, that follows in parentheses. The title of a section is that of the
panel in the help (``Options``: none). Parameters that are dataclasses mean one option per field,
described in the docstring of the class; some of them are chosen as in ``Annotated[Reading, "label
encoding"]``.
"""

import inspect
import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer

Command = Callable[..., Any]
# An option of this type, with limits: what goes to ``typer.Option`` beside its description.
Count = Annotated[int, {"min": 1}]
Natural = Annotated[int, {"min": 0}]
Seconds = Annotated[float, {"min": 0}]

_SECTION = re.compile(r"^([A-Z][\w ]+):\n(?=  --)", re.MULTILINE)
_ENTRY = re.compile(r"(--.+?)(?: \((\w+)\))?: (.+)")


def option(form: str, help: str, panel: str | None = None, **more: Any) -> Any:
    """An option: its names and what its value is called (``--out -o FILE``), and its help."""
    names = [word for word in form.split() if word.startswith("-")]
    value = form.split()[len(names) :]
    metavar = value[0] if value else None
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel=panel, **more)


def as_command(function: Command) -> tuple[Command, str]:
    """The function as typer takes it, one parameter per option, and what its docstring says."""
    hints = get_type_hints(function, include_extras=True)
    text, described = _read(function.__doc__ or "")
    groups: dict[str, Any] = {}
    own, of_groups = [], []
    for name, parameter in inspect.signature(function).parameters.items():
        group, *chosen = get_args(hints[name]) or (hints[name],)
        if is_dataclass(group):
            wanted = chosen[0].split() if chosen else [field.name for field in fields(group)]
            there = [field for field in fields(group) if field.name in wanted]
            groups[name] = group, wanted
            types, about = get_type_hints(group, include_extras=True), _read(group.__doc__ or "")[1]
            of_groups += [_shown(f.name, types[f.name], f.default, about) for f in there]
        else:
            own.append(_shown(name, hints[name], parameter.default, described))

    def command(**given: Any) -> Any:
        for name, (group, names) in groups.items():
            given[name] = group(**{each: given.pop(each) for each in names})
        return function(**given)

    shown = [*own, *of_groups]
    command.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in shown}
    return command, text


def _shown(name: str, hint: Any, default: Any, described: dict[str, Any]) -> inspect.Parameter:
    if name in described:
        kind, more = get_args(hint) if hasattr(hint, "__metadata__") else (hint, {})
        hint = Annotated[kind, option(*described[name], **more)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _read(doc: str) -> tuple[str, dict[str, tuple[str, str, str | None]]]:
    """What a docstring says, and for each parameter names, help and panel of its option."""
    text, *sections = _SECTION.split(inspect.cleandoc(doc))
    found = {}
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        for entry in re.split(r"^  (?=--)", body, flags=re.MULTILINE)[1:]:
            match = _ENTRY.fullmatch(" ".join(entry.split()))
            assert match is not None, entry
            form, parameter, help = match.groups()
            name = parameter or re.split("[ /]", form)[0][2:].replace("-", "_")
            found[name] = form, help, None if title == "Options" else title
    return text.rstrip(), found


# ---- options of several commands

DataFile = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="A table (CSV, Excel, OpenDocument, Parquet, Feather, JSON lines) or points (.npy, "
        ".npz, .h5ad, or text with a first line 'n d').",
    ),
]
NClusters = Annotated[
    int | None,
    option("--clusters -k K", "Number of clusters (default: from the header of the data).", min=1),
]
ConstraintFiles = Annotated[
    list[Path] | None,
    option("--constraints --pairs -c FILE", "File of pairs, in any format; repeat for more files."),
]


Seed = Annotated[int, option("N", "Random seed.", min=0, max=2**31 - 1)]
MaxTime = Annotated[
    float | None, option("SECONDS", "Time limit; you get the best result found by then.", min=0)
]
Quotas = Annotated[
    list[str] | None,
    option(
        "--quota COLUMN=LOW..HIGH",
        "What every cluster must contain: gender=0.4..0.6 (shares of each value), "
        "gender:female=10..14 (a count of one value), amount=..500 (a sum), amount:mean=2..3, "
        "level:share=0.2..0.4 (shares of each value in a column of numbers), gender:female=3,4,5.. "
        "(one bound for each cluster; the search decides which gets which); repeat for more.",
    ),
]
AsJson = Annotated[bool, option("--json", "Print the result as JSON, for scripts.")]
Force = Annotated[bool, option("--force", "Replace existing files.")]
MethodName = Annotated[str, option("--method -m NAME", "Method ('compare --help' lists all).")]
