"""``two-column``: one file of must-links, one of cannot-links, lines ``i j`` or ``i,j``."""

from __future__ import annotations

from smdeclust.io.collector import PairCollector, Reading
from smdeclust.io.constraints import Constraints
from smdeclust.io.files import bad_line, decode, lines_of, shown
from smdeclust.io.tokens import data_lines, split_words
from smdeclust.io.wording import argument


def read(content: bytes, reading: Reading) -> Constraints:
    """Read one file of ``i j`` lines; the kind of its pairs comes with ``reading``."""
    path = reading.path
    assert reading.kind is not None
    collector = PairCollector(path)
    for number, line in data_lines(lines_of(decode(content, path))):
        words = split_words(line)
        if len(words) != 2:
            raise bad_line(
                path,
                number,
                shown(line),
                "'i j' or 'i,j'",
                f"Correct the line, or say the format of the file ({argument('format')}).",
            )
        i, j = (reading.rows(word, path, number) for word in words)
        collector.add(reading.kind, i, j, number)
    return collector.build()
