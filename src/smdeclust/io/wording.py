"""What an argument is called in messages: by its Python name, or as an option of the command line.

The same sentence helps in both places, because it asks here how to write what it advises.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

# What is advised -> how it is written in Python, and on the command line.
_BOTH = {
    "answers": ("save_to=...", "--answers FILE"),
    "encoding": ("encoding=...", "--encoding NAME"),
    "features": ("features=[...]", "--features A,B,..."),
    "format": ("format=...", "--format NAME"),
    "group_column": ("group_column=...", "--group-column COLUMN"),
    "ids": ("ids=...", "--id COLUMN, --pairs-by-id"),
    "id_column": ("id_column=...", "--id COLUMN"),
    "index_base": ("index_base=...", "--index-base 0|1"),
    "index_base=1": ("index_base=1", "--index-base 1"),
    "kind": ("kind='ml' or kind='cl'", "--kind ml or --kind cl"),
    "label": ("label=...", "--label COLUMN"),
    "must_link_sign": ("must_link_sign=...", "--must-link-sign 1|-1"),
    "n_points": ("n_points=... or ids=...", "--data FILE"),
    "pairs_by_row": ("ids=None", "--pairs-by-row"),
    "sheet": ("sheet=...", "--sheet NAME"),
    "table_format": ("format=...", "--data-format NAME"),
}
PYTHON: Mapping[str, str] = {name: words[0] for name, words in _BOTH.items()}
COMMAND_LINE: Mapping[str, str] = {name: words[1] for name, words in _BOTH.items()}
_words: ContextVar[Mapping[str, str]] = ContextVar("words", default=PYTHON)


def argument(name: str) -> str:
    """How to write an argument, for whoever reads the message."""
    return _words.get()[name]


@contextmanager
def use_words(words: Mapping[str, str]) -> Iterator[None]:
    """Within the block, messages call arguments by these words."""
    token = _words.set(words)
    try:
        yield
    finally:
        _words.reset(token)
