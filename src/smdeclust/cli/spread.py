"""How options are declared: each in a line, several of them as the fields of a dataclass."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import wraps
from typing import Any, get_type_hints

import typer

Command = Callable[..., Any]


def option(form: str, help: str, panel: str | None = None, **more: Any) -> Any:
    """An option: its names and what its value is called (``--out -o FILE``), and its help.

    Without a name it is that of the parameter; `more` goes to ``typer.Option``.
    """
    names = [word for word in form.split() if word.startswith("-")]
    value = form.split()[len(names) :]
    metavar = value[0] if value else None
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel=panel, **more)


def spread(group: type, name: str, chosen: Sequence[str] = ()) -> Callable[[Command], Command]:
    """Give a command the fields of a dataclass as options, in place of its parameter `name`.

    The types of the fields are annotated as options; `chosen` are those to offer, none: all.
    """
    hints = get_type_hints(group, include_extras=True)
    offered = [field for field in fields(group) if not chosen or field.name in chosen]

    def decorate(command: Command) -> Command:
        @wraps(command)
        def with_group(**given: Any) -> Any:
            values = {field.name: given.pop(field.name) for field in offered}
            return command(**given, **{name: group(**values)})

        own = get_type_hints(command, include_extras=True)
        shown = [
            parameter.replace(annotation=own[each], kind=inspect.Parameter.KEYWORD_ONLY)
            for each, parameter in inspect.signature(command).parameters.items()
            if each != name
        ]
        shown += [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=field.default,
                annotation=hints[field.name],
            )
            for field in offered
        ]
        with_group.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
        with_group.__annotations__ = {each.name: each.annotation for each in shown}
        del with_group.__wrapped__  # type: ignore[attr-defined]
        return with_group

    return decorate
