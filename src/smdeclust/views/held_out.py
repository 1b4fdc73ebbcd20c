"""Held-out pairs and labels: what clusterings keep of pairs that they were fitted without.

Every pair is held out once, in one of four folds (of labels: every point but one of each class).
A pair says something only where the others do not imply it, so must-links are first replaced by a
star in each group, and cannot-links by one for every two groups. Cutting an edge of a star sets one
point free, which is how labeled points are held out, too: all that its group says of other groups
is then evidence about this point.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone

from smdeclust.constraints import KINDS, Constraints
from smdeclust.exceptions import InvalidInputError
from smdeclust.structure.groups import contract

N_FOLDS = 4

# Most cannot-links that are counted because one of their points was set free.
MAX_FOLLOWING = 200_000

_NONE = np.empty((0, 2), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Fold:
    """Some knowledge to fit with, and pairs that do not follow from it."""

    known: Constraints  # to fit with
    pairs: np.ndarray  # (m, 2) held out
    together: np.ndarray  # (m,) whether each is a must-link
    weight: np.ndarray  # (m,) how much each counts: 1, or 2 p - 1 for a soft pair of confidence p


def folds(known: Constraints, rng: np.random.Generator, n_folds: int = N_FOLDS) -> Iterator[Fold]:
    """Yield folds, fewer where there are fewer pairs, in which every pair that others do not imply
    is held out once (of labels: every point but one of each class); `known` are pairs of a known
    number of points."""
    star, apart = _independent(known)
    soft = np.concatenate([known.soft_must_link, known.soft_cannot_link])
    n_soft_must = len(known.soft_must_link)
    soft_weight = _soft_weights(known)
    # A soft pair that is given twice is held out as a whole.
    copy = np.unique(np.sort(soft, axis=1), axis=0, return_inverse=True)[1].reshape(-1)
    n_different = int(copy.max()) + 1 if len(copy) else 0
    # Of labels only points are held out: that classes are apart is what makes them classes.
    points_only = len(star) + n_different > 1 and _are_labels(known, star, apart)
    n_apart = 0 if points_only else len(apart)
    n_folds = min(n_folds, len(star) + n_apart + n_different)
    if n_folds < 2:
        return
    # Dealt out in turn, so that folds of few pairs are of about one size.
    deal = np.arange(len(star) + n_apart + n_different) % n_folds
    ends = np.cumsum([len(star), n_apart])
    star_fold, apart_fold, soft_fold = (rng.permutation(part) for part in np.split(deal, ends))
    apart_fold = apart_fold if n_apart else np.full(len(apart), -1)
    soft_fold = soft_fold[copy]
    no_hard = {kind: np.zeros(len(getattr(known, kind)), bool) for kind in KINDS[:2]}
    for number in range(n_folds):
        cut, out, gone = star_fold == number, apart_fold == number, soft_fold == number
        masks = no_hard | {
            "soft_must_link": ~gone[:n_soft_must],
            "soft_cannot_link": ~gone[n_soft_must:],
        }
        rest = known.keep(masks).add(star[~cut], apart[~out], by_row=True)
        loose = np.concatenate([apart[out], _following(star[cut], known, rng)])
        follows = _not_implied(loose, rest)
        held = [star[cut], follows, soft[gone]]
        together = np.repeat([True, False], [int(cut.sum()), len(follows)])
        is_must = np.arange(len(soft)) < n_soft_must
        yield Fold(
            rest,
            np.concatenate(held),
            np.concatenate([together, is_must[gone]]),
            np.concatenate([np.ones(len(together)), soft_weight[gone]]),
        )


def _independent(known: Constraints) -> tuple[np.ndarray, np.ndarray]:
    """Hard must-links as one star per group, and one cannot-link for every two groups."""
    n_points = len(known)
    group = contract(n_points, known.must_link, known.cannot_link).of_point
    degree = np.bincount(known.cannot_link.ravel(), minlength=n_points)
    # The point with most cannot-links is the middle: cutting an edge leaves them in place.
    order = np.lexsort((np.arange(n_points), -degree, group))
    first = np.concatenate([[True], np.diff(group[order]) > 0])
    middle = order[first][group]
    leaves = np.flatnonzero(middle != np.arange(n_points))
    star = np.stack([middle[leaves], leaves], axis=1)
    between = np.sort(group[known.cannot_link], axis=1)
    _, once = np.unique(between, axis=0, return_index=True)
    return star, known.cannot_link[np.sort(once)]


def _are_labels(known: Constraints, star: np.ndarray, apart: np.ndarray) -> bool:
    """Whether hard pairs say no more than that some points are of classes, all of them apart."""
    group = contract(len(known), known.must_link, apart).of_point
    classes = np.unique(group[apart])
    complete = len(apart) == len(classes) * (len(classes) - 1) // 2
    return complete and bool(np.isin(group[star], classes).all())


def _following(cut: np.ndarray, known: Constraints, rng: np.random.Generator) -> np.ndarray:
    """Cannot-links of the leaves that were cut off, from what is known of their groups."""
    if not len(cut) or not len(known.cannot_link):
        return _NONE
    group = contract(len(known), known.must_link, known.cannot_link).of_point
    ends = np.concatenate([known.cannot_link, known.cannot_link[:, ::-1]])
    others = csr_array(
        (np.ones(len(ends)), (group[ends[:, 0]], ends[:, 1])),
        shape=(int(group.max()) + 1, len(known)),
    )
    leaves = rng.permutation(cut[:, 1])
    counts = np.diff(others.indptr)[group[leaves]]
    leaves = leaves[np.cumsum(counts) <= max(MAX_FOLLOWING, int(counts[0]))]
    found = others[group[leaves]].tocoo()
    return np.stack([leaves[found.row], found.col], axis=1).astype(np.int64)


def _not_implied(apart: np.ndarray, rest: Constraints) -> np.ndarray:
    """Those of some cannot-links that do not follow from `rest`, one for every two groups."""
    group = contract(len(rest), rest.must_link, rest.cannot_link).of_point
    size = int(group.max()) + 1

    def code(pairs: np.ndarray) -> np.ndarray:
        low, high = np.sort(group[pairs], axis=1).T
        return low * size + high

    codes, once = np.unique(code(apart), return_index=True)
    return apart[once[~np.isin(codes, code(rest.cannot_link))]]


def _soft_weights(known: Constraints) -> np.ndarray:
    confidence = np.concatenate(
        [known.soft_must_link_confidence, known.soft_cannot_link_confidence]
    )
    price = np.concatenate([known.soft_must_link_price, known.soft_cannot_link_price])
    largest = np.nanmax(price, initial=0.0) or 1.0
    return np.where(np.isnan(confidence), price / largest, np.maximum(2 * confidence - 1, 0.0))


def held_out_score(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    constraints: Constraints,
    n_folds: int = N_FOLDS,
    random_state: Any = 0,
) -> float:
    """Score an estimator by the share of held-out pairs that its clusters satisfy.

    Parameters
    ----------
    estimator
        An estimator of this package. It is cloned for each fit.
    X
        The (N, d) points. Every fit uses all of them, because only pairs are held out.
    y
        Ignored.
    constraints
        Pairs, labels or groups. Each pair that does not follow from others is held out once. With
        labels, each labeled point is held out once, except one point of each class.
    n_folds
        The number of parts into which the pairs are divided.
    random_state
        The seed of the division.

    Returns
    -------
    float
        The share of satisfied held-out must-links plus that of cannot-links, minus 1. A perfect
        score is 1, and chance is 0.

    Examples
    --------
    >>> from smdeclust import Constraints, SMDEClust, held_out_score
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> known = Constraints.from_labels([c if i % 5 == 0 else -1 for i, c in enumerate(y)])
    >>> three, six = SMDEClust(3, random_state=0), SMDEClust(6, random_state=0)
    >>> held_out_score(three, X, constraints=known) > held_out_score(six, X, constraints=known)
    True
    """
    found = HeldOut()
    for fold in folds(constraints, np.random.default_rng(random_state), n_folds):
        found.add(fold, {"": clone(estimator).fit_predict(X, constraints=fold.known)})
    if not found.n_pairs:
        raise InvalidInputError(
            "held_out_score needs at least two pairs that do not follow from each other."
        )
    return found.skill("")


class HeldOut:
    """What each of several clusterings kept of the pairs that were held out."""

    def __init__(self) -> None:
        self._kept: dict[str, list[np.ndarray]] = defaultdict(list)
        self._chance: dict[str, list[np.ndarray]] = defaultdict(list)
        self._together: list[np.ndarray] = []
        self._weight: list[np.ndarray] = []

    def add(self, fold: Fold, labels: Mapping[str, np.ndarray]) -> None:
        """Note what labels that were found without these pairs keep; the same names each time."""
        self._together.append(fold.together)
        self._weight.append(fold.weight)
        for name, found in labels.items():
            same = found[fold.pairs[:, 0]] == found[fold.pairs[:, 1]]
            alike = float(((np.bincount(found) / len(found)) ** 2).sum())
            self._kept[name].append((same == fold.together).astype(float))
            self._chance[name].append(np.where(fold.together, alike, 1 - alike))

    @property
    def names(self) -> list[str]:
        """What was compared."""
        return list(self._kept)

    @property
    def n_pairs(self) -> int:
        """Number of pairs held out."""
        return sum(map(len, self._weight))

    @property
    def one_pair(self) -> float:
        """What one pair counts in a skill, of the kind that is rarer."""
        return float(self._shares().max())

    def skill(self, name: str) -> float:
        """Share of must-links kept plus share of cannot-links kept, less 1, corrected for sizes.

        Chance is 0 whatever K. Where one kind is missing: the share kept beyond chance.
        """
        beyond = float(self._shares() @ self._gains(name)) - float(self._both_kinds)
        if not self._both_kinds:
            return beyond
        # Clusters that merge classes keep nearly all cannot-links of many classes. The adjusted
        # Rand index sees through it: Cohen's kappa of all pairs. The share of pairs that should be
        # together is that of the clusterings (not of the pairs held out: people choose these).
        must = np.concatenate(self._together)
        alike = {n: float(np.concatenate(self._chance[n])[must].mean()) for n in self.names}
        own, usual = alike[name], float(np.median(list(alike.values())))
        either = usual * (1 - own) + own * (1 - usual)
        return min(1.0, beyond * 2 * usual * (1 - usual) / either) if either else beyond

    def kept(self, name: str) -> float:
        """Weighted share of the pairs held out that were kept, as one tells people."""
        weight = np.concatenate(self._weight)
        return float(weight @ np.concatenate(self._kept[name]) / (weight.sum() or 1.0))

    def lead(self, name: str, other: str) -> tuple[float, float]:
        """By how much one skill exceeds another, and the standard error of that."""
        gap, share = self._gains(name) - self._gains(other), self._shares()
        return self.skill(name) - self.skill(other), float(np.sqrt((share**2) @ (gap**2)))

    @property
    def _both_kinds(self) -> bool:
        return len(np.unique(np.concatenate(self._together))) == 2

    def _gains(self, name: str) -> np.ndarray:
        """Which pairs were kept; where one kind is missing, beyond chance."""
        chance = 0.0 if self._both_kinds else np.concatenate(self._chance[name])
        return np.concatenate(self._kept[name]) - chance

    def _shares(self) -> np.ndarray:
        """The weight of each pair, adding up to 1 within each kind."""
        together, weight = np.concatenate(self._together), np.concatenate(self._weight)
        share = np.zeros(len(weight))
        for kind in (True, False):
            chosen = together == kind
            share[chosen] = weight[chosen] / (weight[chosen].sum() or 1.0)
        return share
