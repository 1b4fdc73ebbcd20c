"""Files in and out: pairs of every format, data tables, labels and results."""

from smdeclust.io.constraints import Constraints
from smdeclust.io.read import FORMATS, pairs_from_groups, read_constraints
from smdeclust.io.tables.parquet_store import map_parquet
from smdeclust.io.tables.read import TABLE_FORMATS, read_table
from smdeclust.io.tables.table import Table
from smdeclust.io.write import (
    WRITABLE_FORMATS,
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
    "map_parquet",
    "pairs_from_groups",
    "read_constraints",
    "read_table",
    "write_bytes",
    "write_centers",
    "write_constraints",
    "write_json",
    "write_labels",
    "write_rows",
    "write_text",
]
