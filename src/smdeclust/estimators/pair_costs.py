"""What each pair costs: fit again without it, from where the model is, and compare."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from smdeclust.constraints import KINDS, Constraints
from smdeclust.exceptions import InvalidInputError
from smdeclust.extras import optional
from smdeclust.structure.groups import contract, find_bridges

# Objectives that differ by no more than this share are the same.
SAME = 1e-9


@dataclass(frozen=True, eq=False)
class PairCost:
    """What one pair costs.

    Attributes
    ----------
    kind
        ``"must_link"`` or ``"cannot_link"``.
    position
        The position of the pair among the pairs of its kind.
    pair, names
        Its two row positions, and its two ids (or row positions if there are no ids).
    saves
        How much lower the objective is without the pair. This is never negative.
    moved
        The rows that would change clusters.
    implied
        Whether other pairs imply this one, so that leaving it out changes nothing.
    """

    kind: str
    position: int
    pair: tuple[int, int]
    names: tuple[Any, Any]
    saves: float
    moved: np.ndarray
    implied: bool

    @property
    def n_moved(self) -> int:
        """The number of rows that would change clusters."""
        return len(self.moved)


@dataclass(frozen=True, eq=False)
class PairCostTable(Sequence[PairCost]):
    """The costs of pairs, most expensive first.

    Attributes
    ----------
    rows
        The `PairCost` of each pair.
    objective
        The objective with all pairs.
    complete
        Whether there was enough time for all pairs.
    n_implied
        How many of all hard pairs follow from others.
    n_candidates
        How many pairs may cost something. If `pairs` was a number, this is an estimate with
        unchanged centers.
    """

    rows: tuple[PairCost, ...]
    objective: float
    complete: bool
    n_implied: int = 0
    n_candidates: int = 0

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def to_frame(self) -> Any:
        """Return the table as a pandas data frame."""
        with optional("A data frame"):
            import pandas as pd

        return pd.DataFrame(
            [
                {
                    "kind": row.kind,
                    "first": row.names[0],
                    "second": row.names[1],
                    "saves": row.saves,
                    "share": row.saves / self.objective if self.objective > 0 else 0.0,
                    "n_moved": row.n_moved,
                    "moved": row.moved.tolist(),
                    "implied": row.implied,
                }
                for row in self.rows
            ]
        )

    def __repr__(self) -> str:
        lines = [f"{'pair':<30} {'saves':>12} {'moved':>6}"]
        for row in self.rows[:20]:
            words = f"{row.kind.replace('_', '-')} {row.names[0]} - {row.names[1]}"
            lines.append(f"{words:<30} {row.saves:>12.6g} {row.n_moved:>6}")
        if len(self.rows) > 20:
            lines.append(f"... and {len(self.rows) - 20} more")
        if not self.complete:
            lines.append("(time ran out before the costs of all pairs were computed)")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return str(self.to_frame().drop(columns="moved")._repr_html_())


def pair_costs(
    model: Any,
    X: Any,
    constraints: Constraints,
    pairs: Any = "all",
    *,
    sample_weight: Any = None,
    max_time: float | None = None,
    free_labels: Any = None,
    progress: Callable[[int, int], bool | None] | None = None,
) -> PairCostTable:
    """Compute what leaving out each pair would save, and which points would move.

    The model is fitted again without one pair at a time, starting from its current clustering.

    Parameters
    ----------
    model
        An :class:`~smdeclust.SMDEClust` that was fitted to `X` with these constraints.
    X, constraints, sample_weight
        The arguments of its ``fit``.
    pairs
        ``"all"`` hard pairs; a number of pairs, those that probably cost most; or a list of pairs
        ``(i, j)`` by row position or by id.
    max_time
        The time limit in seconds. Pairs that remain are left out of the table.
    free_labels
        (N,) labels of a clustering without pairs, which helps to choose a number of pairs. If it is
        not given, it is computed.
    progress
        A function that is called with the number of finished pairs and the total number. If it
        returns True, no further pair is left out.

    Returns
    -------
    PairCostTable
        The costs, most expensive first.
    """
    check_is_fitted(model, "labels_")
    if not isinstance(constraints, Constraints) or "init" not in model.get_params(deep=False):
        raise InvalidInputError(
            "pair_costs takes a fitted SMDEClust and the smdeclust.Constraints it was fitted with."
        )
    # Without a pair, the others cost what they cost in the model.
    known = model.soft_prices_.fixed(constraints.hardened())
    labels = np.asarray(model.labels_)
    implied = implied_pairs(known.must_link, known.cannot_link, len(labels))
    n_implied = sum(map(len, implied.values()))
    if isinstance(pairs, int | np.integer) and not isinstance(pairs, bool):
        if free_labels is None:
            none = known.keep(
                {kind: np.zeros(len(getattr(known, kind)), bool) for kind in KINDS[:2]}
            )
            free_labels = _fit_again(model, X, none, sample_weight, np.inf).labels_
        likely = _likely(model, X, known, sample_weight, np.asarray(free_labels))
        likely = [(kind, position) for kind, position in likely if position not in implied[kind]]
        chosen, n_candidates = likely[: max(pairs, 0)], len(likely)
    else:
        chosen = _chosen(known, pairs)
        n_candidates = sum(position not in implied[kind] for kind, position in chosen)
    deadline = np.inf if max_time is None else time.perf_counter() + max_time
    objective = float(getattr(model, "objective_", model.inertia_))
    fits: list[tuple[float, np.ndarray]] = []  # the objective without a pair, and who moves
    for kind, position in chosen:
        value, moved = objective, np.empty(0, dtype=np.int64)
        if position not in implied[kind]:
            if fits and time.perf_counter() > deadline:
                break
            left = deadline - time.perf_counter()
            value, moved, better = _leave_out(model, X, known, kind, position, sample_weight, left)
            objective = min(objective, better)
        fits.append((value, moved))
        if progress is not None and progress(len(fits), len(chosen)):
            break
    rows = []
    for (kind, position), (value, moved) in zip(chosen, fits, strict=False):
        i, j = getattr(known, kind)[position].tolist()
        saves = objective - value if value < objective * (1 - SAME) else 0.0
        given = kind, position, (i, j), known.named(kind, [position])[0], saves
        rows.append(PairCost(*given, moved if saves else moved[:0], position in implied[kind]))
    rows.sort(key=lambda cost: (-cost.saves, cost.kind, cost.position))
    complete = len(fits) == len(chosen)
    return PairCostTable(tuple(rows), objective, complete, n_implied, n_candidates)


def _leave_out(
    model: Any,
    X: Any,
    known: Constraints,
    kind: str,
    position: int,
    sample_weight: Any,
    seconds: float,
) -> tuple[float, np.ndarray, float]:
    """The objective without a pair, who moves, and a better objective with it, if one turned up.

    A fit without the pair that keeps it nevertheless has found a better solution of all pairs.
    """
    mask = np.ones(len(getattr(known, kind)), dtype=bool)
    mask[position] = False
    again = _fit_again(model, X, known.keep({kind: mask}), sample_weight, seconds)
    value = float(getattr(again, "objective_", again.inertia_))
    labels = np.asarray(again.labels_)
    i, j = getattr(known, kind)[position]
    kept = (labels[i] == labels[j]) == (kind == "must_link")
    moved = np.flatnonzero(labels != np.asarray(model.labels_))
    return value, moved, value if kept else np.inf


def _fit_again(model: Any, X: Any, known: Constraints, sample_weight: Any, seconds: float) -> Any:
    """A fit under other constraints, from where the model is."""
    weight = {} if sample_weight is None else {"sample_weight": sample_weight}
    again = clone(model).set_params(init=model, warm_start=False, callback=None)
    if seconds < np.inf:
        again.set_params(max_time=max(seconds, 0.0))
    distance = getattr(model, "distance_", None)
    if distance is not None:  # the same distance throughout, else objectives do not compare
        X = distance.map_points(model._check_points(X, reset=False))
        again.set_params(metric="euclidean", init=model.labels_)
    return again.fit(X, constraints=known, **weight)


def _chosen(known: Constraints, pairs: Any) -> list[tuple[str, int]]:
    """Kind and position of the pairs asked for."""
    if isinstance(pairs, str):
        if pairs != "all":
            raise InvalidInputError(f'pairs must be "all" or a list of pairs, got {pairs!r}.')
        return [(kind, p) for kind in KINDS[:2] for p in range(len(getattr(known, kind)))]
    asked = Constraints(pairs, ids=known.ids, n_points=known.n_points).must_link
    found = []
    for pair in asked.tolist():
        there = []
        for kind in KINDS[:2]:
            same = (np.sort(getattr(known, kind), axis=1) == sorted(pair)).all(axis=1)
            there += [(kind, int(position)) for position in np.flatnonzero(same)[:1]]
        if not there:
            raise InvalidInputError(f"pairs: {tuple(pair)} is not a hard pair of the constraints.")
        found += there
    return found


def _likely(
    model: Any, X: Any, known: Constraints, weight: Any, free: np.ndarray
) -> list[tuple[str, int]]:
    """The pairs that bind at the clustering, by what dropping each gains with the centers as they
    are, or that the labels without pairs break; the largest gain first."""
    must, cannot = known.must_link, known.cannot_link
    rows = np.unique(np.concatenate([must, cannot]))
    if len(rows) == 0:
        return []
    of_rows = np.concatenate(
        [c for _, c in model._costs(model._check_points(X, reset=False)[rows])]
    )
    if weight is not None:
        of_rows = of_rows * np.asarray(weight)[rows, None]
    # Only the rows in pairs count: all others stay where they are.
    grouping = contract(len(model.labels_), must, cannot)
    groups, group = np.unique(grouping.of_point[rows], return_inverse=True)
    costs, own = np.zeros((len(groups), of_rows.shape[1])), np.empty(len(groups), np.int64)
    np.add.at(costs, group, of_rows)
    own[group] = np.asarray(model.labels_)[rows]

    # A must-link: its group is split, and both parts go to their nearest centers.
    bridges = find_bridges(must)
    ordered = of_rows[np.searchsorted(rows, bridges.rows)]
    before = np.vstack([np.zeros(costs.shape[1]), np.cumsum(ordered, axis=0)])
    side = before[bridges.end] - before[bridges.start]
    cut = group[np.searchsorted(rows, must[bridges.links, 0])]
    parts, at = (side, costs[cut] - side), (np.arange(len(cut)), own[cut])
    split = sum(part[at] - part.min(axis=1) for part in parts)

    # A cannot-link: a group moves into the cluster of the other, if no third one is in the way.
    ends = group[np.searchsorted(rows, cannot)]
    once = np.unique(np.sort(ends, axis=1), axis=0)
    n_linked = np.zeros(costs.shape, dtype=np.int64)  # groups of each cluster that one is linked to
    for one, other in (once.T, once.T[::-1]):
        np.add.at(n_linked, (one, own[other]), 1)
    join = np.zeros(len(cannot))
    for mover, host in (ends.T, ends.T[::-1]):
        gain = costs[mover, own[mover]] - costs[mover, own[host]]
        join = np.maximum(join, np.where(n_linked[mover, own[host]] == 1, gain, 0.0))

    scored = []
    for kind, positions, gains in (
        ("must_link", bridges.links, split), ("cannot_link", np.arange(len(cannot)), join),
    ):  # fmt: skip
        first, second = getattr(known, kind)[positions].T
        broken = (free[first] == free[second]) != (kind == "must_link")
        found = zip(positions.tolist(), gains.tolist(), broken.tolist(), strict=True)
        scored += [(-gain, kind, p) for p, gain, is_broken in found if gain > 0 or is_broken]
    return [(kind, p) for _, kind, p in sorted(scored)]


def implied_pairs(must: np.ndarray, cannot: np.ndarray, n_points: int) -> dict[str, set[int]]:
    """Positions of pairs that the others imply: must-links that are not bridges, and cannot-links
    between groups that another cannot-link joins."""
    bridges = set(find_bridges(must).links.tolist())
    grouping = contract(n_points, must, cannot)
    edges = np.sort(grouping.of_point[cannot], axis=1)
    _, number, counts = np.unique(edges, axis=0, return_inverse=True, return_counts=True)
    shared = np.flatnonzero(counts[number.reshape(-1)] > 1) if len(cannot) else np.empty(0, int)
    return {"must_link": set(range(len(must))) - bridges, "cannot_link": set(shared.tolist())}
