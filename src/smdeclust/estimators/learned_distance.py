"""LearnedDistance: a distance learned from pairs, as a scikit-learn transformer."""

from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, diags_array
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from smdeclust.constraints import Constraints
from smdeclust.constraints.given import all_known
from smdeclust.distance import (
    CLUSTERS,
    DIAGONAL,
    FULL,
    N_STARTS,
    Cluster,
    Frame,
    Learned,
    is_sparse,
    learn,
)
from smdeclust.estimators.base import seed_of, validated
from smdeclust.exceptions import InvalidInputError
from smdeclust.local_search import search_all
from smdeclust.local_search.state import is_past
from smdeclust.points import is_dask
from smdeclust.points.validation import as_dask_array, as_weights
from smdeclust.problem import Problem
from smdeclust.structure.groups import contract
from smdeclust.structure.pairs import as_pairs
from smdeclust.views.scene import rows_to_learn_from

# Rows that a distance is learned from at most; pairs come first.
MAX_ROWS = 5000

# Simplex pivots for a proof on a dense core: rounds need good labels, not proven ones.
QUICK_PIVOTS = 200

# Columns above which a diagonal matrix is kept sparse.
MANY_COLUMNS = 1000


class LearnedDistance(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Learn a distance from pairs, as a scikit-learn transformer.

    Points that belong together show in which directions a cluster varies. The transformer shrinks
    these directions. The Euclidean distance of the transformed points is the learned distance, so
    any method can follow in a pipeline. With pairs, the result does not depend on the units of the
    columns. Without pairs, the columns stay as they are. "Learned distances" in the documentation
    describes the criterion that is minimized.

    Parameters
    ----------
    n_clusters
        The number of clusters, K. The distance is then learned from the must-links and, in two
        rounds, from clusters. With ``None``, it is learned from the must-links alone.
    diagonal
        Whether to learn only one weight for each column. Sparse matrices require this.
    random_state
        A seed, ``RandomState`` or ``None``. The same seed gives the same result.

    Attributes
    ----------
    components_
        The (r, d) linear map. With more than 128 columns, r is at most 128. With ``diagonal=True``,
        it is a diagonal matrix, which is sparse if d is large.
    mean_
        The (d,) means of the columns.
    feature_weights_
        How much each column counts: the squared length of a step of one standard deviation. The
        mean is 1. Constant columns have weight 0.
    euclidean_weights_
        How much each column counts in the Euclidean distance.
    labels_
        The clusters of the last round for the rows in ``rows_``, or None.
    rows_
        The rows that the distance was learned from, at most 5000.
    history_
        ``round`` and ``criterion``, with one entry for each round.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.cluster import KMeans
    >>> from smdeclust import LearnedDistance
    >>> pipe = make_pipeline(LearnedDistance(2), KMeans(2, n_init=3, random_state=0))
    >>> X = [[0, 5], [0.1, 0], [1, 5.2], [1.1, 0.1]]
    >>> pipe.fit(X, learneddistance__must_link=[(0, 1), (2, 3)]).predict(X)[0::2].tolist()
    [1, 0]
    """

    def __init__(
        self, n_clusters: int | None = None, *, diagonal: bool = False, random_state: Any = None
    ) -> None:
        self.n_clusters = n_clusters
        self.diagonal = diagonal
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
        constraints: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Learn a distance from the rows of `X` and their pairs.

        Parameters
        ----------
        X
            The (N, d) points. With ``diagonal=True``, they may be a sparse matrix.
        y, must_link, cannot_link, constraints
            As in ``SMDEClust.fit``.
        sample_weight
            The (N,) non-negative weights of the points.
        """
        bare = {"must_link": must_link, "cannot_link": cannot_link}
        known = all_known(self, X, y, constraints, bare)
        rng = np.random.default_rng(seed_of(self))
        return self._learn(*some_rows(self._check(X, reset=True), known, sample_weight, rng), rng)

    def _learn(
        self,
        points: Any,
        known: Constraints,
        weight: np.ndarray | None,
        rows: np.ndarray,
        rng: np.random.Generator,
        deadline: float | None = None,
        n_starts: tuple[int, ...] = N_STARTS,
    ) -> Self:
        """Learn from validated rows."""
        pairs = known.must_link, known.cannot_link
        self._spread = DIAGONAL if self.diagonal else FULL
        self._weights = np.ones(len(rows)) if weight is None else weight
        if not sum(map(len, pairs)):
            self._frame = Frame.as_given(points, self._weights)
            same = self._spread.target(points.shape[1])
            self._describe(Learned(same, same, None, []), rows)
            return self
        cluster = None
        if self.n_clusters is not None:
            problem = Problem.build(points, self.n_clusters, *pairs, weight)
            cluster = quick_clusters(problem, rng, deadline)
        self._frame = Frame.of(points, self._weights, rotate=not self.diagonal)
        learned = learn(
            self._frame.enter(points),
            contract(points.shape[0], *pairs).of_point,
            self._weights,
            self._spread,
            cluster,
            n_columns=self._frame.n_columns,
            n_starts=n_starts,
            is_late=lambda: is_past(deadline),
        )
        self._describe(learned, rows)
        return self

    def _describe(self, learned: Learned, rows: np.ndarray) -> None:
        self.mean_ = self._frame.mean
        self._target = learned.target
        if self.diagonal:
            self._factors = learned.root * self._frame.factor
            self.components_: Any = diags_array(self._factors).tocsr()
            if len(self._factors) <= MANY_COLUMNS:
                self.components_ = np.diag(self._factors)
            steps = (self._factors * self._frame.spread) ** 2
        else:
            self.components_ = self._frame.components(learned.root)
            steps = ((self.components_ * self._frame.spread) ** 2).sum(axis=0)
        self.feature_weights_ = steps / (steps.mean() or 1.0)
        plain = (self._frame.spread / (self._frame.spread.max() or 1.0)) ** 2
        self.euclidean_weights_ = plain / (plain.mean() or 1.0)
        self.labels_, self.rows_ = learned.labels, rows
        criterion = np.array(learned.criterion, dtype=np.float64)
        self.history_ = {"round": np.arange(len(criterion)), "criterion": criterion}

    def criterion(self, X: Any, labels: np.ndarray) -> float:
        """Return the criterion for labels of the rows from which the distance was learned."""
        check_is_fitted(self, "components_")
        points, total = self._frame.enter(self._check(X, reset=False)), float(self._weights.sum())
        inside = self._spread.within(points, np.asarray(labels), self._weights)
        worth = CLUSTERS * self._frame.n_columns / total
        return total * self._spread.log_det(self._target + worth * inside)

    def transform(self, X: Any) -> Any:
        """Return the points in coordinates in which the learned distance is Euclidean.

        Dense points are also centered. Sparse points stay sparse. Dask arrays are transformed
        lazily.
        """
        check_is_fitted(self, "components_")
        if is_dask(X):
            return self.map_points(as_dask_array(X))
        return self.map_points(self._check(X, reset=False))

    def map_points(self, points: Any) -> Any:
        """:meth:`transform` for points that have been checked."""
        if is_sparse(points):
            if self.diagonal:
                return csr_array(points @ diags_array(self._factors))
            return points @ self.components_.T - self.components_ @ self.mean_
        centered = points - self.mean_
        return centered * self._factors if self.diagonal else centered @ self.components_.T

    def map_centers(self, centers: np.ndarray, points: Any) -> np.ndarray:
        """Map dense centers like the points of :meth:`map_points`."""
        uncentered = self.diagonal and is_sparse(points)
        return centers * self._factors if uncentered else self.map_points(centers)

    def inverse_transform(self, Z: Any) -> Any:
        """Return transformed points in the units of the data.

        If the transformer dropped directions, the result is the nearest point with these
        coordinates.
        """
        check_is_fitted(self, "components_")
        if not self.diagonal:
            unit = np.where(self._frame.spread > 0, self._frame.spread, 1.0)
            back = np.linalg.pinv(self.components_ * unit).T
            return np.asarray(Z) @ back * unit + self.mean_
        factors = self._factors
        inverse = np.divide(1.0, factors, out=np.zeros_like(factors), where=factors != 0)
        if is_sparse(Z):
            return csr_array(Z @ diags_array(inverse))
        return np.asarray(Z) * inverse + self.mean_

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    def _check(self, X: Any, *, reset: bool) -> Any:
        if is_sparse(X) and not self.diagonal:
            raise InvalidInputError(
                "X is sparse, but a full distance would make it dense. Use diagonal=True, which "
                "learns one weight for each column, or pass X.toarray()."
            )
        return validated(self, X, reset=reset, sparse=True)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = bool(self.diagonal)
        return tags


def some_rows(
    points: Any, known: Constraints, sample_weight: Any, rng: np.random.Generator
) -> tuple[Any, Constraints, np.ndarray | None, np.ndarray]:
    """The rows to learn from, what is known of them, their weights, and which rows they are."""
    n_points = points.shape[0]
    for kind in ("must_link", "cannot_link"):
        as_pairs(getattr(known, kind), n_points, kind)
    known = known._with(n_points=n_points, quotas=())  # distances are learned from pairs alone
    weight = as_weights(sample_weight, n_points)
    rows = rows_to_learn_from(n_points, known, rng, MAX_ROWS)
    if len(rows) == n_points:
        return points, known, weight, rows
    return points[rows], known[rows], None if weight is None else weight[rows], rows


def quick_clusters(problem: Problem, rng: np.random.Generator, deadline: float | None) -> Cluster:
    """A few local searches under the constraints of `problem`, on other coordinates of its points.

    `rng` draws the starts; after the deadline the first search is the last.
    """
    weights, size = problem.sample_weight, (problem.n_points, problem.n_clusters)
    share = None if weights is None else weights / weights.sum()
    limits: dict[str, Any] = {"proof_pivots": QUICK_PIVOTS, "deadline": deadline}

    def cluster(points: Any, labels: np.ndarray | None, n_starts: int) -> np.ndarray:
        here = Problem.of(problem, points)
        starts = [here.points.fetch(rng.choice(*size, False, share)) for _ in range(n_starts)]
        if labels is not None:
            centers = here.centers(here.group_labels(labels))
            empty = np.isnan(centers).any(axis=1)  # clusters of no weight
            if empty.any():
                centers[empty] = here.points.fetch(rng.choice(*size, False, share)[: empty.sum()])
            starts.insert(0, centers)
        found = search_all(here, [here.enter(start) for start in starts], deep=True, **limits)
        return here.expand(min(found, key=lambda solution: solution.objective).labels)

    return cluster
