"""predict, transform and score on Dask collections."""

from typing import Any

import numpy as np

from smdeclust.exceptions import InvalidInputError
from smdeclust.points import dask_blocks
from smdeclust.points.validation import as_dask_array, as_weights


def lazy_predict(X: Any, cluster_centers: np.ndarray, names: np.ndarray | None = None) -> Any:
    """The nearest center of each row, as a Dask array; the same holds as of distances."""
    distances = lazy_transform(X, cluster_centers, names)
    return distances.map_blocks(np.argmin, axis=1, dtype=np.int64, drop_axis=1)


def lazy_transform(X: Any, cluster_centers: np.ndarray, names: np.ndarray | None = None) -> Any:
    """The (n, K) distances of rows to centers, as a Dask array.

    No distance is computed yet; of a data frame the lengths of its partitions are. A value that is
    not finite raises an error when the distances are computed.
    """
    array = same_features(X, cluster_centers, names)
    chunks = (array.chunks[0], (len(cluster_centers),))
    return array.map_blocks(
        dask_blocks.distances_of, cluster_centers, dtype=np.float64, chunks=chunks
    )


def least_squares(
    X: Any, cluster_centers: np.ndarray, names: np.ndarray | None, sample_weight: Any
) -> float:
    """The sum of squared distances of rows to their nearest centers, computed now."""
    import dask.array as da

    squares = lazy_transform(X, cluster_centers, names).min(axis=1) ** 2
    weight = as_weights(sample_weight, squares.shape[0])
    if weight is not None:
        squares = squares * da.from_array(weight, chunks=squares.chunks)
    return float(squares.sum().compute())


def same_features(X: Any, cluster_centers: np.ndarray, names: np.ndarray | None) -> Any:
    """A Dask collection as an array, where its columns are those of the clusters."""
    if names is not None and hasattr(X, "columns") and list(X.columns) != list(names):
        raise InvalidInputError(
            f"X has the columns {', '.join(map(str, X.columns))}, but the model was fitted on "
            f"{', '.join(map(str, names))}, in this order."
        )
    array = as_dask_array(X)
    if array.shape[1] != cluster_centers.shape[1]:
        raise InvalidInputError(
            f"X has {array.shape[1]} features, but the model was fitted on "
            f"{cluster_centers.shape[1]}."
        )
    return array
