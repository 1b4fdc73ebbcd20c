"""Borders between clusters, drawn in several passes on the features of all views and a forest."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import log_softmax

from smdeclust.views.classes import mean_length, see_classes
from smdeclust.views.forest import FOREST, Forest
from smdeclust.views.scene import Scene, Seen
from smdeclust.views.second_look import SECOND_LOOK, look_again, place_again


@dataclass(frozen=True, eq=False)
class Borders:
    """One pass: borders between clusters that are about where some labels have them."""

    labels: np.ndarray
    weights: np.ndarray
    offsets: dict[str, np.ndarray]
    sizes: dict[str, float]
    forest: Forest
    own: np.ndarray  # (N, K) log probabilities of the points themselves

    @classmethod
    def of(cls, seen: Mapping[str, Seen], start: np.ndarray, scene: Scene) -> "Borders | None":
        """Draw borders from some labels; ``None`` where no view offers features."""
        offered = {n: one.features for n, one in seen.items() if one.features is not None}
        if not offered:
            return None
        forest = Forest.of(scene, start)
        offered[FOREST] = forest.shares
        # Features of a view are centered and of length 1 on average, so that views count alike.
        offsets = {n: f.mean(axis=0) for n, f in offered.items()}
        sizes = {n: mean_length(f - offsets[n]) for n, f in offered.items()}
        features = stacked(offered, offsets, sizes)
        labels, weights = see_classes(features, start, scene)
        own = log_softmax(features @ weights, axis=1)
        return cls(labels, weights, offsets, sizes, forest, own)

    def place(self, seen: Mapping[str, Seen], X: np.ndarray) -> np.ndarray:
        """(n, K) log probabilities of points that the views have placed."""
        placed = {**seen, FOREST: self.forest.place(X)}
        features = {n: np.asarray(placed[n].features) for n in self.offsets}
        shown = stacked(features, self.offsets, self.sizes)
        return np.asarray(log_softmax(shown @ self.weights, axis=1))


def stacked(
    offered: Mapping[str, np.ndarray], offsets: Mapping[str, np.ndarray], sizes: Mapping[str, float]
) -> np.ndarray:
    """(n, m) features of all views, and a constant."""
    parts = [(offered[n] - offsets[n]) / sizes[n] for n in offsets]
    return np.hstack([*parts, np.full((len(parts[0]), 1), 0.3)])


@dataclass(frozen=True, eq=False)
class Refined:
    """Clusters by the mean of what all passes say."""

    labels: np.ndarray
    passes: list[Borders]
    looks: list[Seen]  # what each pass after the first saw beside the views

    @classmethod
    def of(
        cls, seen: Mapping[str, Seen], start: np.ndarray, scene: Scene, n_passes: int = 1
    ) -> "Refined | None":
        """Draw borders, look at the points by what tells these clusters apart, draw them again."""
        first = Borders.of(seen, start, scene)
        if first is None:
            return None
        refined = cls(first.labels, [first], [])
        for _ in range(n_passes - 1):
            if scene.engine.clock.spent() >= 1:
                break
            refined = refined.again(seen, scene)
        return refined

    def again(self, seen: Mapping[str, Seen], scene: Scene) -> Self:
        """One pass more."""
        more = look_again(self.labels, seen, scene)
        found = Borders.of(more, more[SECOND_LOOK].labels, scene)
        assert found is not None
        passes = [*self.passes, found]
        costs = -np.mean([one.own for one in passes], axis=0)
        labels = scene.assign(costs, 0.25, self.labels)
        return type(self)(labels, passes, [*self.looks, more[SECOND_LOOK]])

    def costs(self, seen: Mapping[str, Seen], X: np.ndarray) -> np.ndarray:
        """(n, K) minus the mean log probabilities of points that the views have placed."""
        shown = [seen, *(place_again(look, seen) for look in self.looks)]
        each = [one.place(placed, X) for one, placed in zip(self.passes, shown, strict=True)]
        return -np.asarray(np.mean(each, axis=0))
