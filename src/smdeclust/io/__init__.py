"""Files in and out: pairs of every format, data tables, labels and results."""

from smdeclust.io.constraints import Constraints
from smdeclust.io.read import FORMATS, read_constraints
from smdeclust.io.write import (
    WRITABLE_FORMATS,
    write_bytes,
    write_centers,
    write_constraints,
    write_json,
    write_labels,
    write_text,
)

__all__ = [
    "FORMATS",
    "WRITABLE_FORMATS",
    "Constraints",
    "read_constraints",
    "write_bytes",
    "write_centers",
    "write_constraints",
    "write_json",
    "write_labels",
    "write_text",
]
