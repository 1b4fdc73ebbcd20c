"""``links``: lines ``ML i j`` / ``CL i j``, as PC-SOS-SDP writes them."""

from __future__ import annotations

from smdeclust.io.collector import PairCollector, Reading
from smdeclust.io.constraints import Constraints
from smdeclust.io.files import bad_line, decode, lines_of, shown
from smdeclust.io.tokens import data_lines, parse_number, split_words
from smdeclust.io.wording import argument

_KINDS = {"ML": "must_link", "CL": "cannot_link"}
# Cluster size and diameter bounds of related solvers: legal lines, but not pairs.
_PARAMETERS = ("GAMMA", "DELTA")
KEYWORDS = (*_KINDS, *_PARAMETERS)


def read(content: bytes, reading: Reading) -> Constraints:
    """Read ``ML i j`` and ``CL i j`` lines; ``GAMMA x`` and ``DELTA x`` are passed over."""
    path = reading.path
    collector = PairCollector(path)
    for number, line in data_lines(lines_of(decode(content, path))):
        words = split_words(line)
        keyword = words[0].upper()
        if keyword in _PARAMETERS and len(words) == 2 and parse_number(words[1]) is not None:
            continue
        if keyword not in _KINDS or len(words) != 3:
            raise bad_line(
                path,
                number,
                shown(line),
                "'ML i j' or 'CL i j' (or 'GAMMA x', 'DELTA x')",
                f"Correct the line, or say the format of the file ({argument('format')}).",
            )
        i, j = (reading.rows(word, path, number) for word in words[1:])
        collector.add(_KINDS[keyword], i, j, number)
    return collector.build()


def write(constraints: Constraints) -> str:
    """Return the pairs as ``links`` text; there is no room for soft pairs."""
    return "".join(
        f"{keyword} {i} {j}\n"
        for keyword, kind in _KINDS.items()
        for i, j in constraints.named(kind)
    )
