"""A forest of randomized trees on the columns: what tells clusters apart one column at a time."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier

from smdeclust.views.scene import LEAST_WEIGHT, Scene, Seen

FOREST = "forest"

# Trees, fewest points of a leaf, and points that a tree grows from at most.
N_TREES, LEAST_LEAF, MAX_GROWN_FROM = 50, 3, 5000


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees that were grown from the labels of some points."""

    trees: ExtraTreesClassifier
    shares: np.ndarray  # (N, K) votes for each cluster, of the trees that did not see the point

    @classmethod
    def of(cls, scene: Scene, labels: np.ndarray) -> Self:
        """Grow trees from these labels of the points of a scene."""
        trees = ExtraTreesClassifier(
            N_TREES,
            min_samples_leaf=LEAST_LEAF,
            bootstrap=True,
            oob_score=True,
            max_samples=MAX_GROWN_FROM if len(labels) > MAX_GROWN_FROM else None,
            random_state=scene.seed,
        )
        weight = np.maximum(scene.weights / scene.weights.mean(), LEAST_WEIGHT)
        trees.fit(scene.X, labels, weight)
        return cls(trees, np.nan_to_num(trees.oob_decision_function_))

    def place(self, X: np.ndarray) -> Seen:
        """Votes for the clusters of new points."""
        shares = self.trees.predict_proba(X)
        return Seen(shares.argmax(axis=1), features=shares)
