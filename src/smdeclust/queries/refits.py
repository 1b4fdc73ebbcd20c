"""Quick refits as answers arrive: from the current solution, by the view of largest weight."""

from typing import Any

import numpy as np
from sklearn.base import clone

from smdeclust.constraints import Constraints
from smdeclust.queries.picture import match_labels

# Views in the learned distance; where they outweigh the others, nearness is measured in it.
IN_LEARNED = ("learned", "graph-learned", "classes")

# Answers that the advice to stop looks back on, and the share of points that still matters.
LOOK_BACK = 20
LEAST_CHANGE = 0.01


class Refits:
    """Fits an estimator again and again.

    Of several views only the heaviest is fitted again; all of them are weighed anew when there are
    half as many answers more than the last time.
    """

    model: Any  # the last one that was fitted
    coordinates: np.ndarray  # (N, r) points in which nearness counts for this model

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        self.has_views = "views" in estimator.get_params()
        self._heaviest: str | None = None
        self._next_weighing = 0

    def fit(
        self,
        points: np.ndarray,
        known: Constraints,
        n_clusters: int,
        n_answers: int,
        *,
        whole: bool = False,
    ) -> Any:
        """Cluster under what is known now; `whole`: with all views, whatever the time it takes."""
        model = clone(self.estimator).set_params(n_clusters=n_clusters)
        before = self.model.labels_ if hasattr(self, "model") else []
        if "init" in model.get_params() and len(np.unique(before)) == n_clusters:
            model.set_params(init=before)
        narrow = self._heaviest is not None and not whole and n_answers < self._next_weighing
        if narrow:
            model.set_params(views=[self._heaviest])
        self.model = model.fit(points, constraints=known)
        if not narrow:
            self._next_weighing = max(10, n_answers + n_answers // 2)
            weights = getattr(model, "view_weights_", {})
            if len(weights) > 1:
                self._heaviest = max(weights, key=lambda name: weights[name])
            self.coordinates = measured_in(model, points)
        return self.model

    def is_due(self, n_answers: int, n_since: int, n_surprises: int) -> bool:
        """Whether to cluster again, after answers of which some were not as expected.

        A model that is fitted at once follows every answer. With views, the first surprises count
        at once, later ones by twos, threes and so on.
        """
        if not self.has_views:
            return n_since > 0
        return n_since >= 10 or n_surprises > n_answers // 25


def measured_in(model: Any, points: np.ndarray) -> np.ndarray:
    """Points in the coordinates in which the model measures distances, as float64."""
    distance = getattr(model, "distance_", None)
    if distance is not None:
        return np.asarray(distance.transform(points), dtype=np.float64)
    views = getattr(model, "views_", {})
    if "learned" in views and len(views["learned"].labels) == len(points):
        weights = model.view_weights_
        if sum(weights.get(name, 0.0) for name in IN_LEARNED) > 0.5:
            return np.asarray(views["learned"].coordinates, dtype=np.float64)
    return np.asarray(points, dtype=np.float64)


def stop_advice(before: np.ndarray, labels: np.ndarray) -> str:
    """Advice to stop if the last `LOOK_BACK` answers moved almost no point, otherwise ""."""
    k = 1 + int(max(before.max(), labels.max()))
    n_moved = int(np.count_nonzero(match_labels(before, labels, k) != labels))
    if n_moved > LEAST_CHANGE * len(labels):
        return ""
    return (
        f"The last {LOOK_BACK} answers moved {n_moved} of {len(labels)} points: more answers will "
        f"hardly change the clusters."
    )
