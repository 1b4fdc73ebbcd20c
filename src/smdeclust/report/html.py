"""Templates to HTML: everything that comes from outside is escaped, and the page loads nothing."""

from __future__ import annotations

import base64
import hashlib
import math
from functools import cache
from html import escape
from importlib import resources
from typing import Any

from smdeclust.extras import optional

# Besides printable characters: white space, and the narrow space between thousands.
_SHOWN_AS_THEY_ARE = "\n\t\u202f"


def printable(value: object) -> str:
    """Text whose characters HTML allows; the others are shown as escapes."""
    shown = "".join(
        c if c.isprintable() or c in _SHOWN_AS_THEY_ARE else c.encode("unicode_escape").decode()
        for c in str(value)
    )
    return shown.encode("utf-8", "backslashreplace").decode()


def text(value: object) -> str:
    """Escaped text."""
    return escape(printable(value))


def number(value: float, digits: int = 6) -> str:
    """A number for people."""
    if not math.isfinite(value):
        return "–"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}".replace(",", "\u202f")
    return f"{value:.{digits}g}"


def data_address(picture: bytes, kind: str) -> str:
    """A picture as an address within the page."""
    types = {"svg": "image/svg+xml", "png": "image/png"}
    return f"data:{types[kind]};base64,{base64.b64encode(picture).decode()}"


def is_number(value: object) -> bool:
    """Whether a cell of a table sorts as a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


@cache
def _environment() -> Any:
    with optional("The report"):
        from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("smdeclust.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # Applied to every value before it is escaped; markup made by templates stays as it is.
        finalize=lambda value: value if hasattr(value, "__html__") else printable(value),
    )
    environment.filters |= {"number": number, "data_address": data_address}
    environment.tests["sortable_number"] = is_number
    return environment


def render(template: str, **values: Any) -> str:
    """Fill a template of this folder; the page's own policy forbids it to load or send anything."""
    files = resources.files("smdeclust.report") / "templates"
    style = (files / "page.css").read_text("utf-8")
    script = (files / "sort.js").read_text("utf-8")
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        _environment()
        .get_template(template)
        .render(style=style, script=script, script_digest=allowed, **values)
    )
