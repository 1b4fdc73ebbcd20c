"""Small pieces of HTML; everything that comes from outside is escaped here."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources

_NUMBER_TYPES = (int, float)
# Besides printable characters: white space, and the narrow space between thousands.
_SHOWN_AS_THEY_ARE = "\n\t\u202f"


def text(value: object) -> str:
    """Escaped text; characters that HTML does not allow are shown as escapes."""
    shown = "".join(
        c if c.isprintable() or c in _SHOWN_AS_THEY_ARE else c.encode("unicode_escape").decode()
        for c in str(value)
    )
    return escape(shown.encode("utf-8", "backslashreplace").decode())


def number(value: float, digits: int = 6) -> str:
    """A number for people."""
    if not math.isfinite(value):
        return "–"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}".replace(",", "\u202f")
    return f"{value:.{digits}g}"


def facts(rows: Iterable[tuple[str, object]]) -> str:
    """A table of names and values."""
    body = "".join(f"<tr><th scope='row'>{text(n)}</th><td>{text(v)}</td></tr>" for n, v in rows)
    return f"<div class='scroll'><table class='facts'><tbody>{body}</tbody></table></div>"


def table(header: Sequence[str], rows: Iterable[Sequence[object]], *, name: str) -> str:
    """A table that can be sorted by each column; numbers sort as numbers."""
    lines = [list(row) for row in rows]
    numeric = [
        bool(lines) and all(isinstance(row[c], _NUMBER_TYPES) for row in lines)
        for c in range(len(header))
    ]
    head = "".join(
        f"<th scope='col'{' class=num' if is_number else ''}>{text(title)}</th>"
        for title, is_number in zip(header, numeric, strict=True)
    )
    body = "".join(
        f"<tr>{''.join(_cell(v, n) for v, n in zip(row, numeric, strict=True))}</tr>"
        for row in lines
    )
    classes = "sortable small" if len(lines) <= 12 else "sortable"
    return (
        f"<div class='scroll'><table class='{classes}' id='{text(name)}'>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cell(value: object, is_number: bool) -> str:
    if is_number and isinstance(value, _NUMBER_TYPES):
        return f"<td class='num' data-v='{float(value)!r}'>{text(number(float(value)))}</td>"
    return f"<td>{text(value)}</td>"


def figure(picture: bytes, kind: str, description: str, caption: str) -> str:
    """A picture within the page."""
    types = {"svg": "image/svg+xml", "png": "image/png"}
    encoded = base64.b64encode(picture).decode()
    size = ""
    if kind == "png":  # drawn at one and a half times the size at which it is shown
        size = f" width='{int.from_bytes(picture[16:20], 'big') * 2 // 3}'"
    return (
        f"<figure><img{size} src='data:{types[kind]};base64,{encoded}' alt='{text(description)}'>"
        f"<figcaption>{text(caption)}</figcaption></figure>"
    )


def tiles(entries: Iterable[tuple[str, str, bool]]) -> str:
    """The numbers that matter most: value, what it is, whether it is bad."""
    return (
        "<div class='tiles'>"
        + "".join(
            f"<div class='tile'><b{' class=bad' if bad else ''}>{text(value)}</b>"
            f"<span>{text(name)}</span></div>"
            for value, name, bad in entries
        )
        + "</div>"
    )


def page(title: str, body: str) -> str:
    """A whole page. Its own policy forbids it to load or send anything."""
    style = (resources.files("smdeclust.report") / "page.css").read_text("utf-8")
    script = (resources.files("smdeclust.report") / "sort.js").read_text("utf-8")
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{allowed}'; base-uri 'none'; form-action 'none'"
    )
    return (
        "<!DOCTYPE html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
        "<link rel='icon' href='data:,'>\n"
        f"<title>{text(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n{body}\n"
        f"<script>{script}</script>\n</body>\n</html>\n"
    )
