"""``signed``: lines ``i j 1`` (must-link) and ``i j -1`` (cannot-link), as for COP-Kmeans."""

from __future__ import annotations

from smdeclust.io.collector import PairCollector, Reading
from smdeclust.io.constraints import Constraints
from smdeclust.io.files import bad_line, decode, lines_of, shown
from smdeclust.io.tokens import data_lines, parse_whole, split_words
from smdeclust.io.wording import argument

_KINDS = {1: "must_link", -1: "cannot_link"}


def read(content: bytes, reading: Reading) -> Constraints:
    """Read ``i j 1`` and ``i j -1`` lines."""
    path = reading.path
    collector = PairCollector(path)
    for number, line in data_lines(lines_of(decode(content, path))):
        words = split_words(line)
        kind = _KINDS.get(parse_whole(words[2]) or 0) if len(words) == 3 else None
        if kind is None:
            raise bad_line(
                path,
                number,
                shown(line),
                "'i j 1' (must-link) or 'i j -1' (cannot-link)",
                f"Correct the line, or say the format of the file ({argument('format')}).",
            )
        i, j = (reading.rows(word, path, number) for word in words[:2])
        collector.add(kind, i, j, number)
    return collector.build()
