"""Replacement (lines 10 to 14): an offspring takes its target's place if it is better."""

from __future__ import annotations

from dataclasses import dataclass

from smdeclust.memetic.population import State, is_among
from smdeclust.problem import Solution

# A gain of a smaller share of the objective makes no difference to where a population goes.
LEAST_CHANGE = 1e-6


@dataclass(frozen=True)
class Replacement:
    """Immediate replacement: the next target of the same generation already sees it."""

    # better means better by at least this, times the objective if `relative`
    least_gain: float = 1e-6
    # whether `least_gain` is a share of the objective (the paper's is absolute)
    relative: bool = False

    def is_better(self, child: Solution, than: Solution) -> bool:
        """Whether the gain is more than rounding."""
        scale = abs(than.objective) if self.relative else 1.0
        return than.objective - child.objective >= self.least_gain * scale > 0

    def __call__(self, state: State, target: int, child: Solution) -> None:
        """Put the child in its target's place if it is better, and keep count."""
        improved, before, others = False, state.population[target], list(state.population)
        if self.is_better(child, before):
            state.population[target] = child
            improved = self.update_best(state, child)
        change = before.objective - child.objective > LEAST_CHANGE * abs(before.objective)
        change &= not is_among(others, child)
        state.n_without_improvement = 0 if improved else state.n_without_improvement + 1
        state.n_without_change = 0 if change else state.n_without_change + 1

    def update_best(self, state: State, child: Solution) -> bool:
        """Make the child the best solution if it is; returns whether that counts as better."""
        best = state.best
        if best is None or child.objective < best.objective:
            state.best = child
        return best is None or self.is_better(child, best)
