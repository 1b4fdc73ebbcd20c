"""How Constraints look in a terminal and in a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from smdeclust.constraints.store import Store

_WORDS = {
    "must_link": "must-link",
    "cannot_link": "cannot-link",
    "soft_must_link": "soft must-link",
    "soft_cannot_link": "soft cannot-link",
}
_SHOWN = 5


def as_text(constraints: Store) -> str:
    """Return one line: how many points, how many pairs of each kind."""
    counts = [
        f"{n:,} {word}{'' if n == 1 else 's'}"
        for kind, word in _WORDS.items()
        if (n := len(getattr(constraints, kind)))
    ]
    size = constraints.n_points
    points = "" if size is None else f" of {size:,} point{'' if size == 1 else 's'}"
    ids = "" if constraints.ids is None else " with ids"
    return f"Constraints{points}{ids}: {', '.join(counts) or 'no pairs'}"


def as_html(constraints: Store) -> str:
    """Return a small table: each kind, how many, the first few pairs."""
    lines = []
    for kind, word in _WORDS.items():
        pairs = getattr(constraints, kind)
        if len(pairs) == 0:
            continue
        few = constraints.named(kind, slice(_SHOWN))
        shown = ", ".join(f"{escape(str(i))} – {escape(str(j))}" for i, j in few)
        more = ", …" if len(pairs) > _SHOWN else ""
        lines.append(f"<tr><td>{word}s</td><td>{len(pairs):,}</td><td>{shown}{more}</td></tr>")
    head = escape(as_text(constraints).split(":")[0])
    body = "".join(lines) or "<tr><td colspan='3'>no pairs</td></tr>"
    return (
        f"<table><caption>{head}</caption><tr><th>kind</th><th>pairs</th><th>first ones</th></tr>"
        f"{body}</table>"
    )
