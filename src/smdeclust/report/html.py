"""Templates to text; in HTML all that comes from outside is escaped, and nothing is loaded."""

import base64
import hashlib
import math
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from smdeclust.extras import optional
from smdeclust.io.files import printable as without_controls

# Besides printable characters: white space, and the narrow space between thousands.
_SHOWN_AS_THEY_ARE = "\n\t\u202f"


def printable(value: object) -> str:
    """Text whose characters HTML allows; the others are shown as escapes."""
    shown = without_controls(str(value), _SHOWN_AS_THEY_ARE)
    return shown.encode("utf-8", "backslashreplace").decode()


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


def code(value: Any) -> str:
    """A value as it is written in Python."""
    if isinstance(value, list):
        return f"[{', '.join(map(code, value))}]"
    return f"Path({str(value)!r})" if isinstance(value, Path) else repr(value)


def arguments(given: Mapping[str, Any]) -> str:
    """Arguments as they are written in Python; None is left out."""
    return ", ".join(f"{name}={code(value)}" for name, value in given.items() if value is not None)


@cache
def _environment() -> Any:
    with optional("The report"):
        from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    environment = Environment(
        loader=PackageLoader("smdeclust.report"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # Applied to every value before it is escaped; markup made by templates stays as it is.
        finalize=lambda value: value if hasattr(value, "__html__") else printable(value),
    )
    thousands = "{:,}".format
    environment.filters |= {"number": number, "thousands": thousands, "data_address": data_address}
    environment.filters |= {"code": code, "arguments": arguments}
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
