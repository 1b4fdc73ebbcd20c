"""Views weighted by held-out pairs and labels, and merged under all constraints."""

import copy
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.metrics import adjusted_rand_score

from smdeclust.constraints import Constraints
from smdeclust.constraints.store import SOFT
from smdeclust.views.held_out import N_FOLDS, Fold, HeldOut, folds
from smdeclust.views.refined import FOREST, SECOND_LOOK, Refined, can_look_again
from smdeclust.views.scene import Scene, Seen, View, kept_as_hard, rows_to_learn_from

logger = logging.getLogger("smdeclust")

# Rows that views are weighed on at most, those in pairs first (among fewer, neighbors are farther
# away and pairs denser), and rows of all folds together; there are two folds at least.
MAX_WEIGHED = 10_000
ROWS_OF_FOLDS = 30_000

# Skills are not known better than this, however many pairs are held out.
LEAST_ERROR = 0.02

# Fewer soft pairs than this do not tell how many of them are right; their confidence until then.
ENOUGH_PAIRS, GUESS = 20, 0.8

# Passes that draw borders, if enough pairs are held out to judge the first two of them; or one.
N_PASSES, ENOUGH_TO_LOOK = 3, 100

# What a step of refining gains as a rule, in ARI, and the standard deviation of that between data.
USUAL_GAIN, SPREAD_OF_GAINS = 0.015, 0.04

# Of a limit on time, what weighing may take.
SHARE_OF_WEIGHING = 0.5

# Local searches of a clustering that is only weighed, and of one that counts.
QUICK, WHOLE = 8, 30

# The ways of merging views, each built on the one before; and all names that views may not have.
CONSENSUS, REFINED, AGAIN = "consensus", "refined", "refined again"
TAKEN = {CONSENSUS, REFINED, AGAIN, FOREST, SECOND_LOOK}


@dataclass(frozen=True, eq=False)
class Merged:
    """Views merged: one-hot labels, scaled by weights, clustered under all that is known."""

    labels: np.ndarray  # (N,) clusters
    scale: dict[str, np.ndarray]  # (K,) what the one-hot labels of each view are multiplied by
    # from one-hot labels to coordinates, and the means of the clusters there
    mean: np.ndarray
    basis: np.ndarray
    centers: np.ndarray
    unit: float  # s^2 of its costs, by which soft pairs are priced

    @classmethod
    def of(cls, seen: Mapping[str, Seen], weights: Mapping[str, float], scene: Scene) -> "Merged":
        """Merge views of these weights."""
        k, best = scene.n_clusters, max(seen, key=lambda name: weights[name])
        scale = {}
        for name, one in seen.items():
            share = np.maximum(np.bincount(one.labels, minlength=k), 1) / len(one.labels)
            # Where one view decides, its small clusters are not lost among squares of large ones.
            scale[name] = np.sqrt(weights[name] / weights[best]) / share ** (weights[name] / 2)
        raw = one_hot(seen, scale, k)
        mean = raw.mean(axis=0)
        # The leading directions carry nearly all.
        basis = np.linalg.eigh((raw - mean).T @ (raw - mean))[1][:, -2 * k :]
        Y = (raw - mean) @ basis
        labels = scene.cluster(Y, seen[best].labels)
        centers = np.stack([Y[labels == c].mean(axis=0) for c in range(k)])
        least = cdist(Y, centers, "sqeuclidean").min(axis=1).mean()
        return cls(labels, scale, mean, basis, centers, max(float(least) / Y.shape[1], 1e-3))

    def costs(self, seen: Mapping[str, Seen], _X: np.ndarray) -> np.ndarray:
        """(n, K) squared distances of placed points to the clusters."""
        raw = one_hot(seen, self.scale, len(self.centers))
        return cdist((raw - self.mean) @ self.basis, self.centers, "sqeuclidean")


def one_hot(seen: Mapping[str, Seen], scale: Mapping[str, np.ndarray], k: int) -> np.ndarray:
    """(n, views x K) labels of all views side by side."""
    return np.hstack([np.eye(k)[seen[name].labels] * scale[name] for name in scale])


@dataclass(frozen=True, eq=False)
class Guided:
    """Where the views lead."""

    views: list[View]  # the views, prepared
    seen: dict[str, Seen]  # what each sees under all that is known
    weights: dict[str, float]  # of the views; they add up to 1
    # skill of each view, the consensus and refining it, and which share of the pairs held out they
    # kept; empty without pairs
    skill: dict[str, float]
    kept: dict[str, float]
    decision: Merged | Refined  # what decided
    decided_by: str  # the consensus, the refined one, or the only view
    # share of the soft pairs that seem to be right, where that was estimated
    share_right: float | None = None

    def costs(self, X: np.ndarray) -> np.ndarray:
        """(n, K) what it costs to put each of some points into each cluster."""
        placed = {
            view.name: view.place(self.seen[view.name], X)
            for view in self.views
            if view.name in self.seen
        }
        return self.decision.costs(placed, X)


def guide(scene: Scene, views: Sequence[View]) -> Guided:
    """Weigh views by knowledge held out and merge them.

    The first of the views is seen whatever the time. Others are left out where it is over.
    """
    clock = scene.engine.clock
    known, share_right = calibrated(scene, views)
    scene = replace(scene, known=known, n_searches=WHOLE)
    if len(views) > 1 or clock.deadline is not None:
        clock.begin_step(1 / (len(views) + 2))
        scene.engine.first = scene.plain
    held_out, weights = HeldOut(), {view.name: 1.0 for view in views}
    if len(views) > 1:
        held_out, weights = weigh(scene, views)
    views = [copy.deepcopy(view) for view in views]
    seen: dict[str, Seen] = {}
    for number, view in enumerate(views):
        if seen and not clock.suffices(view.name, len(scene.X)):
            continue
        clock.begin_step(1 / (len(views) - number + 1))
        seen[view.name] = _prepared(view, scene).see(scene)
        logger.info("view %s seen", view.name)
    if not held_out.names:
        weights = agreement(seen)
    total = sum(weights[name] for name in seen)
    weights = {name: weights[name] / total for name in seen}
    clock.begin_step(1.0)
    merged = Merged.of(seen, weights, scene)
    decision: Merged | Refined = merged
    decided_by = CONSENSUS if len(seen) > 1 else next(iter(seen))
    chosen = choice(held_out) if clock.spent() < 1 else CONSENSUS
    if chosen != CONSENSUS:
        n_passes = N_PASSES if chosen == AGAIN and len(seen) == len(views) else 1
        if refined := Refined.of(seen, merged.labels, scene, n_passes):
            decision, decided_by = refined, AGAIN if len(refined.passes) > 1 else REFINED
    skill, kept = ({n: of(n) for n in held_out.names} for of in (held_out.skill, held_out.kept))
    return Guided(views, seen, weights, skill, kept, decision, decided_by, share_right)


def choice(held_out: HeldOut) -> str:
    """How far to go: each step of refining whose gain has a posterior mean of at least 0.

    The prior is normal. The error of a lead has its own part and that of one pair more or less.
    """
    best = CONSENSUS
    for name in (REFINED, AGAIN):
        if name in held_out.names:
            lead, error = held_out.lead(name, best)
            against = -lead / max(error**2 + held_out.one_pair**2, 1e-12)
            best = name if against <= USUAL_GAIN / SPREAD_OF_GAINS**2 else best
    return best


def _prepared(view: View, scene: Scene) -> View:
    view.prepare(scene.X, scene.n_clusters, scene.seed)
    return view


def calibrated(scene: Scene, views: Sequence[View]) -> tuple[Constraints, float | None]:
    """Soft pairs of one confidence with the share of them that a view can keep, if that is less.

    Nobody who gives all pairs the same confidence has looked at each of them; what clusters can
    keep says more about how many are right. Returns this share, too, where it was used.
    """
    known = scene.known
    sure = np.concatenate([known.soft_must_link_confidence, known.soft_cannot_link_confidence])
    if known.n_soft < ENOUGH_PAIRS or np.ptp(sure) > 0:
        return known, None
    doubted = replace(scene, known=_all_as_sure(known, min(sure[0], GUESS)), n_searches=QUICK)
    kept = []
    for view in views:
        if view.name in ("given", "graph"):
            labels = _prepared(copy.deepcopy(view), scene).see(doubted).labels
            kept.append(kept_as_hard(known, labels).n_pairs - known.hard_only().n_pairs)
    if not kept:
        return known, None
    share = float(np.clip((max(kept) + 1) / (known.n_soft + 2), 0.55, sure[0]))
    if share > sure[0] - 0.02:
        return known, None
    return _all_as_sure(known, share), share


def _all_as_sure(known: Constraints, confidence: float) -> Constraints:
    sizes = {kind: len(getattr(known, kind)) for kind in SOFT}
    return known._with(**{f"{kind}_confidence": np.full(sizes[kind], confidence) for kind in SOFT})


def weigh(scene: Scene, views: Sequence[View]) -> tuple[HeldOut, dict[str, float]]:
    """What each view and their merger keep of pairs held out, and the weights that follow.

    A fold that time did not suffice for is left out: labels that stand in know all pairs.
    """
    rng = np.random.default_rng(scene.seed)
    scene = scene.on(rows_to_learn_from(len(scene.X), scene.known, rng, MAX_WEIGHED))
    clock = scene.engine.clock
    views = [copy.deepcopy(view) for view in views]
    trials: list[tuple[Fold, Scene, dict[str, Seen]]] = []
    record = HeldOut()
    enough = clock.spent() + SHARE_OF_WEIGHING * (1 - clock.spent())
    step = SHARE_OF_WEIGHING / (N_FOLDS * (len(views) + 1))  # of the whole time
    n_folds = max(2, ROWS_OF_FOLDS // len(scene.X))
    for number, fold in enumerate(islice(folds(scene.known, rng), n_folds)):
        part = replace(scene, known=fold.known, n_searches=QUICK)
        seen = {}
        for place, view in enumerate(views):
            clock.begin_step(step / (1 - step * (number * (len(views) + 1) + place)))
            with clock.timing(view.name, len(part.X)):
                seen[view.name] = (view if number else _prepared(view, part)).see(part)
            if clock.n_stand_ins or clock.spent() > enough:
                break
        else:
            trials.append((fold, part, seen))
            record.add(fold, {name: one.labels for name, one in seen.items()})
            continue
        break
    if not trials:
        return HeldOut(), {view.name: 1 / len(views) for view in views}
    look = record.n_pairs >= ENOUGH_TO_LOOK and can_look_again(views)
    look = look and 2 * clock.spent() < enough  # looks take about as long as views
    weights, n_stand_ins, judged = weights_of(record), clock.n_stand_ins, HeldOut()
    for fold, part, seen in trials:
        clock.begin_step(step)
        labels = {name: one.labels for name, one in seen.items()}
        merged = Merged.of(seen, weights, part)
        refined = Refined.of(seen, merged.labels, part)
        labels[CONSENSUS] = merged.labels
        labels[REFINED] = merged.labels if refined is None else refined.labels
        if refined is not None and look:
            labels[AGAIN] = refined.again(seen, part).labels
        judged.add(fold, labels)
        if clock.n_stand_ins > n_stand_ins:
            return record, weights
    return judged, weights


def weights_of(held_out: HeldOut) -> dict[str, float]:
    """Weights that add up to 1, in proportion to exp(skill / its standard error).

    What is within the error hardly counts; the more pairs, the smaller the error.
    """
    names = held_out.names
    skills = np.array([held_out.skill(name) for name in names])
    # The error of a difference has two parts alike, one of each view.
    gaps = [held_out.lead(one, other)[1] for one, other in combinations(names, 2)]
    error = float(np.sqrt(np.mean(np.square(gaps)) / 2))
    # Views that agree say nothing about the error; that of a share of n pairs is 0.5 / sqrt(n).
    error = max(error, LEAST_ERROR, 0.5 / np.sqrt(held_out.n_pairs))
    share = np.exp((skills - skills.max()) / error)
    return dict(zip(names, (share / share.sum()).tolist(), strict=True))


def agreement(seen: Mapping[str, Seen]) -> dict[str, float]:
    """Weights without any pair, up to a factor: how much each view agrees with the others."""
    labels = [one.labels for one in seen.values()]
    sums = (sum(adjusted_rand_score(a, b) for b in labels) - 1 for a in labels)
    return {name: max(float(total), 1e-3) for name, total in zip(seen, sums, strict=True)}
