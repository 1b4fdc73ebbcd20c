"""Replacement (lines 10 to 14): an offspring takes its target's place if it is better."""

from dataclasses import dataclass

from smdeclust.memetic.population import State, is_among
from smdeclust.problem import Solution

# A gain of a smaller share of what clusters can change makes no difference to a population.
LEAST_CHANGE = 1e-6


@dataclass(frozen=True)
class Replacement:
    """Immediate replacement: the next target of the same generation already sees it."""

    # better means better by at least this, times the objective if `relative`
    least_gain: float = 1e-6
    # whether `least_gain` is a share of the objective (the paper's is absolute)
    relative: bool = False
    # the part of every objective that no clustering changes
    constant: float = 0.0

    def is_better(self, child: Solution, than: Solution) -> bool:
        """Whether the gain is more than rounding."""
        scale = abs(than.objective) if self.relative else 1.0
        return than.objective - child.objective >= self.least_gain * scale > 0

    def __call__(self, state: State, target: int, child: Solution) -> None:
        """Put the child in its target's place if it is better, and keep count."""
        improved = change = False
        before = state.population[target]
        if self.is_better(child, before):
            least = LEAST_CHANGE * abs(before.objective - self.constant)
            change = before.objective - child.objective >= least
            change = change and not is_among(state.population, child)
            state.population[target] = child
            improved = self.update_best(state, child)
        state.n_without_improvement = 0 if improved else state.n_without_improvement + 1
        state.n_without_change = 0 if change else state.n_without_change + 1

    def update_best(self, state: State, child: Solution) -> bool:
        """Make the child the best solution if it is; returns whether that counts as better."""
        best = state.best
        if best is None or child.objective < best.objective:
            state.best = child
        return best is None or self.is_better(child, best)
