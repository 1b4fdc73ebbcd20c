"""The paper's three sets of data, and data made as they were."""

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
