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
    """

    rows: tuple[PairCost, ...]
    objective: float
    complete: bool

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
            lines.append("(time ran out before all pairs were priced)")
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
    progress: Callable[[int, int], None] | None = None,
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
        ``"all"`` hard pairs, or a list of pairs ``(i, j)`` by row position or by id.
    max_time
        The time limit in seconds. Pairs that remain are left out of the table.
    progress
        A function that is called with the number of finished pairs and the total number.

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
    chosen = _chosen(known, pairs)
    implied = implied_pairs(known.must_link, known.cannot_link, len(labels))
    deadline = np.inf if max_time is None else time.perf_counter() + max_time
    objective = float(getattr(model, "objective_", model.inertia_))
    fits: list[tuple[float, np.ndarray]] = []  # the objective without a pair, and who moves
    for kind, position in chosen:
        value, moved = objective, np.empty(0, dtype=np.int64)
        if position not in implied[kind]:
            if fits and time.perf_counter() > deadline:
                break
            value, moved, better = _leave_out(model, X, known, kind, position, sample_weight)
            objective = min(objective, better)
        fits.append((value, moved))
        if progress is not None:
            progress(len(fits), len(chosen))
    rows = []
    for (kind, position), (value, moved) in zip(chosen, fits, strict=False):
        i, j = getattr(known, kind)[position].tolist()
        saves = objective - value if value < objective * (1 - SAME) else 0.0
        given = kind, position, (i, j), known.named(kind, [position])[0], saves
        rows.append(PairCost(*given, moved if saves else moved[:0], position in implied[kind]))
    rows.sort(key=lambda cost: (-cost.saves, cost.kind, cost.position))
    return PairCostTable(tuple(rows), objective, len(fits) == len(chosen))


def _leave_out(
    model: Any, X: Any, known: Constraints, kind: str, position: int, sample_weight: Any
) -> tuple[float, np.ndarray, float]:
    """The objective without a pair, who moves, and a better objective with it, if one turned up.

    A fit without the pair that keeps it nevertheless has found a better solution of all pairs.
    """
    mask = np.ones(len(getattr(known, kind)), dtype=bool)
    mask[position] = False
    weight = {} if sample_weight is None else {"sample_weight": sample_weight}
    again = clone(model).set_params(init=model, warm_start=False, callback=None)
    distance = getattr(model, "distance_", None)
    if distance is not None:  # the same distance throughout, else objectives do not compare
        X = distance.map_points(model._check_points(X, reset=False))
        again.set_params(metric="euclidean", init=model.labels_)
    again.fit(X, constraints=known.keep({kind: mask}), **weight)
    value = float(getattr(again, "objective_", again.inertia_))
    labels = np.asarray(again.labels_)
    i, j = getattr(known, kind)[position]
    kept = (labels[i] == labels[j]) == (kind == "must_link")
    moved = np.flatnonzero(labels != np.asarray(model.labels_))
    return value, moved, value if kept else np.inf


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


def implied_pairs(must: np.ndarray, cannot: np.ndarray, n_points: int) -> dict[str, set[int]]:
    """Positions of pairs that the others imply: must-links that are not bridges, and cannot-links
    between groups that another cannot-link joins."""
    bridges = set(find_bridges(must).links.tolist())
    grouping = contract(n_points, must, cannot)
    edges = np.sort(grouping.of_point[cannot], axis=1)
    _, number, counts = np.unique(edges, axis=0, return_inverse=True, return_counts=True)
    shared = np.flatnonzero(counts[number.reshape(-1)] > 1) if len(cannot) else np.empty(0, int)
    return {"must_link": set(range(len(must))) - bridges, "cannot_link": set(shared.tolist())}
