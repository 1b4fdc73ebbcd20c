"""A forest of randomized trees on the columns: what tells clusters apart one column at a time."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier

from smdeclust.views.scene import Scene, Seen, Tempered

FOREST = "forest"

# Trees, fewest points of a leaf, and points that a tree grows from at most.
N_TREES, LEAST_LEAF, MAX_GROWN_FROM = 50, 3, 5000


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees that were grown from the labels of some points."""

    trees: ExtraTreesClassifier
    tempered: Tempered  # thresholds are drawn from the range of a column: outliers would spoil them
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
        # Not by weight: a heavy point would be in the sample of every tree, and get no votes.
        trees.fit(scene.tempered.map(scene.X), labels)
        return cls(trees, scene.tempered, np.nan_to_num(trees.oob_decision_function_))

    def place(self, X: np.ndarray) -> Seen:
        """Votes for the clusters of new points."""
        shares = self.trees.predict_proba(self.tempered.map(X))
        return Seen(shares.argmax(axis=1), features=shares)
