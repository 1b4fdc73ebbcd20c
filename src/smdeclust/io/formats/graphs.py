"""``graphs``: one file of must-links, one of cannot-links, lines ``i j weight``, rows from 1.

This is what S-HG-MEANS reads (``.link`` files). Weight 1 is a hard pair, a weight between 0 and 1 a
soft pair of that confidence.
"""

from __future__ import annotations

from smdeclust.io.collector import PairCollector, Reading, parse_confidence
from smdeclust.io.constraints import Constraints
from smdeclust.io.files import bad_line, decode, lines_of, shown
from smdeclust.io.tokens import data_lines, split_words
from smdeclust.io.wording import argument


def read(content: bytes, reading: Reading) -> Constraints:
    """Read one file of ``i j weight`` lines; the kind of its pairs comes with ``reading``."""
    path = reading.path
    assert reading.kind is not None
    collector = PairCollector(path)
    for number, line in data_lines(lines_of(decode(content, path))):
        words = split_words(line)
        if len(words) != 3:
            raise bad_line(
                path,
                number,
                shown(line),
                "'i j weight'",
                f"Correct the line, or say the format of the file ({argument('format')}).",
            )
        weight = parse_confidence(words[2], path, number)
        i, j = (reading.rows(word, path, number) for word in words[:2])
        collector.add(reading.kind, i, j, number, None if weight == 1 else weight)
    return collector.build()
