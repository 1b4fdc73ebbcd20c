"""Our own choice of questions: spread first, then where doubt is large, against what is known.

Every row is likely to be in the clusters whose answered points are near it on the neighbor graph,
and in the cluster where the model (or, weighted, its views) put it. A question is worth the doubt
that its answer would settle: that of all rows to which this row is nearer than any settled one.
It is divided by the number of answers that it takes to find the row's cluster. So the first
questions go to the middle of large unknown regions, later ones to where clusters meet.
"""

from dataclasses import dataclass

import numpy as np

from smdeclust.queries.picture import Picture
from smdeclust.views.graph import Neighbors

# Rows looked at closely: matrices of their square are made.
MOST_ROWS = 1000
REACH, SHORT_REACH = 0.9, 0.8  # chance that a walk takes another step
# How much the model's clusters count beside one answer next to a row, and doubt about everything.
TRUST, DOUBT = 0.6, 0.6
# Rows that one row stands for less than this are far from it.
LEAST_COVER = 0.02
# Candidates tried until one has a question that is open.
MOST_TRIED = 100


@dataclass(frozen=True, eq=False)
class Nearness:
    """Random walks on the neighbor graph of some rows."""

    rows: np.ndarray  # (n,) rows looked at: all, or a sample that holds those answered about
    # (n, n) how much of an answer about one row reaches another: about 1 at the row itself
    spread: np.ndarray
    # (n, n) the same on shorter walks, 1 at the row itself: how well one stands for the other
    cover: np.ndarray
    points: np.ndarray  # the points it was made of

    @classmethod
    def of(cls, points: np.ndarray, answered: np.ndarray) -> "Nearness":
        """Build the graph of `points`; of many, a sample with rows answered about among them."""
        n = len(points)
        rows = np.arange(n)
        if n > MOST_ROWS:
            # A fixed order, so that the same rows are looked at from question to question.
            order = np.random.default_rng(0).permutation(n)
            known = order[np.isin(order, answered)][: MOST_ROWS // 2]
            others = order[~np.isin(order, known)][: MOST_ROWS - len(known)]
            rows = np.sort(np.concatenate([known, others]))
        # Far from the origin, or in tiny units, squares would cancel or vanish.
        centered = points[rows] - points[rows].mean(axis=0)
        centered /= max(float(np.abs(centered).max()), 1e-300)
        graph = Neighbors.of(centered).graph.toarray()
        degree = np.maximum(graph.sum(axis=1), 1e-300)
        steps = graph / np.sqrt(np.outer(degree, degree))
        spread, cover = (
            (1 - reach) * np.linalg.inv(np.eye(len(rows)) - reach * steps)
            for reach in (REACH, SHORT_REACH)
        )
        own = np.sqrt(cover.diagonal())
        return cls(rows, spread / spread.diagonal().mean(), cover / np.outer(own, own), points)

    def fits(self, points: np.ndarray, answered: np.ndarray) -> bool:
        """Whether it is still right: the same points, with those answered about among its rows."""
        same = points is self.points or np.array_equal(points, self.points)
        return same and (len(points) <= MOST_ROWS or bool(np.isin(answered, self.rows).all()))

    def places(self, rows: np.ndarray) -> np.ndarray:
        """Positions of those of `rows` that are looked at."""
        at = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        return at[self.rows[at] == rows]


@dataclass(frozen=True)
class Question:
    """A pair of rows, and why."""

    row: int  # the row in doubt
    # rows that stand for clusters it may be in: the one to ask about, or all, likeliest first
    representatives: tuple[int, ...]
    score: float  # doubt that would be settled for each answer it takes
    # the cluster asked about, and the next likely one (-1: there is one cluster only)
    cluster: int
    other: int
    known: bool  # whether anything is known about the cluster asked about
    n_near: int  # about how many points are nearer to the row than to any settled one


class Beliefs:
    """The likely clusters of rows, given the answers, and what the chosen questions will settle."""

    home: dict[int, int]  # for each cluster the group that stands for it: the largest in it
    settled: np.ndarray  # (n,) rows whose cluster is known
    chances: np.ndarray  # (n, K) how likely each cluster is

    def __init__(self, picture: Picture, near: Nearness) -> None:
        self.picture, self.near, self.known = picture, near, picture.known
        self.refused = picture.unsure | picture.known.answered
        k, known, labels = picture.n_clusters, picture.known, picture.labels
        self.places = {group: near.places(rows) for group, rows in known.members.items()}
        self.home = {}
        for group, rows in sorted(known.members.items(), key=lambda item: -len(item[1])):
            if len(self.places[group]):
                self.home.setdefault(int(labels[rows[0]]), group)
        self.settled = np.zeros(len(near.rows), dtype=bool)
        reached = np.zeros((len(near.rows), k))
        view = near.spread @ picture.votes[near.rows]
        view /= view.sum(axis=1, keepdims=True)
        for cluster, group in self.home.items():
            self._settle(reached, cluster, group)
        for group in known.members:
            only = self._by_exclusion(group, view)
            if only is not None:
                self._settle(reached, only, group)
        chances = reached + TRUST * view + DOUBT / k
        self.chances = chances / chances.sum(axis=1, keepdims=True)
        self.open_chances = self._without_excluded()
        self.doubt = np.where(self.settled, 0.0, 1 - self.chances.max(axis=1))
        self.covered = near.cover[:, self.settled].max(axis=1, initial=0.0)
        self.used = np.zeros(len(near.rows), dtype=bool)  # rows in questions that were chosen
        # 1, halved for every "don't know" about a row
        self.readiness = np.ones(len(near.rows))
        ends = np.array([row for pair in picture.unsure for row in pair], dtype=np.int64)
        np.multiply.at(self.readiness, near.places(ends), 0.5)

    def _settle(self, reached: np.ndarray, cluster: int, group: int) -> None:
        places = self.places[group]
        reached[:, cluster] += self.near.spread[:, places].sum(axis=1)
        self.settled[places] = True

    def _by_exclusion(self, group: int, view: np.ndarray) -> int | None:
        """The only cluster left for a group, unless that is an unlikely one: then it is asked."""
        if len(self.home) < self.picture.n_clusters or group in self.home.values():
            return None
        apart = set(self.known.apart_from(group).tolist())
        left = [cluster for cluster, home in self.home.items() if home not in apart]
        if len(left) != 1 or len(self.places[group]) == 0:
            return None
        likely = view[self.places[group], left[0]].mean() >= 1 / self.picture.n_clusters
        return left[0] if likely else None

    def _without_excluded(self) -> np.ndarray:
        """The chances, the same for all rows of a group, and 0 where answers say "different"."""
        out = self.chances.copy()
        for group, places in self.places.items():
            if len(places) == 0 or self.settled[places[0]]:
                continue
            out[places] = self.chances[places].mean(axis=0)
            apart = set(self.known.apart_from(group).tolist())
            for cluster in (c for c, home in self.home.items() if home in apart):
                out[places, cluster] = 0.0
        total = out.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(out, total, out=np.zeros_like(out), where=total > 0))

    def worth(self, n_answers: np.ndarray) -> np.ndarray:
        """(n,) the doubt that asking about each row would settle, for each answer it takes."""
        near = self.near
        worth = np.maximum(near.cover - self.covered, 0.0) @ self.doubt
        for places in self.places.values():
            if len(places) > 1 and not self.settled[places[0]]:
                most = near.cover[places].max(axis=0)
                worth[places] = np.maximum(most - self.covered, 0.0) @ self.doubt
        worth *= self.readiness / n_answers
        worth[self.settled | self.used | (self.open_chances.max(axis=1) <= 0)] = 0.0
        return worth

    def first_open(self, worth: np.ndarray, by_label: bool) -> Question | None:
        """The question of most worth whose answer is open."""
        near, known = self.near, self.known
        for place in np.argsort(-worth, kind="stable")[:MOST_TRIED].tolist():
            if worth[place] <= 0:
                break
            row, chances = int(near.rows[place]), self.open_chances[place]
            order = np.argsort(-chances, kind="stable")
            open_ones = [
                (cluster, partner)
                for cluster in order[chances[order] > 0].tolist()
                if (partner := self._partner(place, cluster)) is not None
                and not known.follows(row, partner)
            ]
            if not open_ones or (by_label and len(open_ones) < 2 <= len(chances)):
                continue
            cluster = open_ones[0][0]
            others = [int(c) for c in order if c != cluster]
            closer = near.cover[place] > np.maximum(self.covered, LEAST_COVER)
            n_near = round((np.count_nonzero(closer) - 1) * known.n_points / len(near.rows))
            asked = open_ones if by_label else open_ones[:1]
            return Question(
                row, tuple(partner for _, partner in asked), float(worth[place]), cluster,
                others[0] if others else -1, cluster in self.home, n_near,
            )  # fmt: skip
        return None

    def _partner(self, place: int, cluster: int) -> int | None:
        """A row that stands for a cluster: the one known best, and near; or in the middle of it.

        Asking against the same row again and again, a wrong answer is wrong about one row. Along a
        chain it would be wrong about all rows behind it.
        """
        near, row = self.near, int(self.near.rows[place])
        if cluster in self.home:
            places = self.places[self.home[cluster]]
            nearness = near.spread[place, places]
            score = self.known.n_answers[near.rows[places]] + nearness / (1 + nearness.max())
        else:
            places = np.flatnonzero(self.picture.labels[near.rows] == cluster)
            places = places[places != place]
            rest = np.maximum(self.covered, near.cover[place])
            score = np.maximum(near.cover[places] - rest, 0.0) @ self.doubt
        # Rows not in another question of this call, if there are any.
        for at in np.lexsort((-score, self.used[places])).tolist():
            other = int(near.rows[places[at]])
            if (min(row, other), max(row, other)) not in self.refused:
                return other
        return None

    def suppose_answered(self, question: Question) -> None:
        """The next question is about another place, as if this one were answered."""
        near, rows = self.near, [question.row, question.representatives[0]]
        place, partner = np.searchsorted(near.rows, rows)
        group = int(self.known.group_of[question.row])
        self.used[self.places.get(group, np.array([place]))] = True
        self.used[[place, partner]] = True
        self.covered = np.maximum(self.covered, near.cover[place])
        self.doubt = self.doubt * (1 - near.cover[place])


def choose_questions(
    picture: Picture, near: Nearness | None, n_questions: int, *, by_label: bool = False
) -> list[Question]:
    """The questions most worth asking, about different places: pairs, or a row and all clusters.

    `near` is of these points, if it is there already.
    """
    if picture.known.n_points < 2:
        return []
    near = near or Nearness.of(picture.points, np.flatnonzero(picture.known.is_answered))
    beliefs = Beliefs(picture, near)
    n_answers = np.ones(len(near.rows))
    if not by_label:
        ordered = -np.sort(-beliefs.open_chances, axis=1)
        n_answers = np.maximum(ordered @ np.arange(1, ordered.shape[1] + 1), 1.0)
    found: list[Question] = []
    while len(found) < n_questions:
        question = beliefs.first_open(beliefs.worth(n_answers), by_label)
        if question is None:
            break
        found.append(question)
        beliefs.suppose_answered(question)
    return found
