"""Where the numbers live: one protocol (`protocol`), and storages that `choose` picks from."""

from smdeclust.points.protocol import Abilities, Batch
from smdeclust.points.stored import Points
from smdeclust.points.validation import is_dask

__all__ = ["Abilities", "Batch", "Points", "is_dask"]
