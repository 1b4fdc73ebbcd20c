"""The paper's data sets (sets 1, 2 and 3), and synthetic data like those of set 3."""

from smdeclust.datasets.catalog import Dataset, DatasetInfo, list_datasets
from smdeclust.datasets.generate import (
    make_constraints,
    make_constraints_from_labels,
    make_synthetic,
)
from smdeclust.datasets.loaders import (
    load_constraints,
    load_set1,
    load_set2,
    load_set3,
    standardize,
)

__all__ = [
    "Dataset",
    "DatasetInfo",
    "list_datasets",
    "load_constraints",
    "load_set1",
    "load_set2",
    "load_set3",
    "make_constraints",
    "make_constraints_from_labels",
    "make_synthetic",
    "standardize",
]
