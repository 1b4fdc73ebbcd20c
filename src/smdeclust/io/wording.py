"""What an argument is called in messages: by its Python name, or as an option of the command line.

The same sentence helps in both places, because it asks here how to write what it advises.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

# What is advised -> how it is written in Python. The command line has the same keys.
PYTHON: Mapping[str, str] = {
    "answers": "save_to=...",
    "encoding": "encoding=...",
    "features": "features=[...]",
    "format": "format=...",
    "group_column": "group_column=...",
    "ids": "ids=...",
    "id_column": "id_column=...",
    "index_base": "index_base=...",
    "index_base=1": "index_base=1",
    "kind": "kind='ml' or kind='cl'",
    "label": "label=...",
    "missing_feature": "Name one of them.",
    "must_link_sign": "must_link_sign=...",
    "no_header": "header=False",
    "pairs_by_row": "ids=None",
    "sheet": "sheet=...",
    "table_format": "format=...",
}
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
