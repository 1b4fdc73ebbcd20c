"""Where the numbers live: one protocol (`protocol`), and storages that `choose` picks from."""

from smdeclust.points.dask_arrays import is_dask
from smdeclust.points.protocol import Abilities, Batch
from smdeclust.points.stored import Points

__all__ = ["Abilities", "Batch", "Points", "is_dask"]
