"""Files in and out: pairs of every format, data tables, labels and results."""

from smdeclust.constraints import Constraints
from smdeclust.io.files import plain_cell, safe_cell
from smdeclust.io.frames import TABLE_FORMATS, read_frame
from smdeclust.io.parquet_store import map_parquet
from smdeclust.io.read import FORMATS, pairs_from_groups, read_constraints
from smdeclust.io.table import Table, read_table
from smdeclust.io.table_file import TableFile
from smdeclust.io.write import (
    WRITABLE_FORMATS,
    frame_bytes,
    write_bytes,
    write_centers,
    write_constraints,
    write_json,
    write_labels,
    write_rows,
    write_text,
)

__all__ = [
    "FORMATS",
    "TABLE_FORMATS",
    "WRITABLE_FORMATS",
    "Constraints",
    "Table",
    "TableFile",
    "frame_bytes",
    "map_parquet",
    "pairs_from_groups",
    "plain_cell",
    "read_constraints",
    "read_frame",
    "read_table",
    "safe_cell",
    "write_bytes",
    "write_centers",
    "write_constraints",
    "write_json",
    "write_labels",
    "write_rows",
    "write_text",
]
