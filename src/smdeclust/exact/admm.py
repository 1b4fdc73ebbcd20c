"""Two-block splitting for the relaxation: the Fantope on one side, signs and cuts on the other.

Minimize ``<C, Y>`` over ``Y`` in the Fantope and ``V`` non-negative, zero on cannot-links and
within the cuts, ``Y = V``. Any scaled multiplier ``U`` that the V-step leaves behind has the form
``rho U = -(Lambda + B' mu)`` with ``Lambda >= 0`` off the cannot-links and ``mu >= 0``, so that

    f >= constant + scale * (sum of the K smallest eigenvalues of C + rho U, one of them along u)

however far the iteration is from converged. That bound is the purpose of everything here.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from smdeclust.exact import cuts as cutting
from smdeclust.exact.relaxation import FloatArray, IntArray, Relaxation
from smdeclust.exact.spectrum import FantopeProjector, sum_of_smallest

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Settings:
    """Parameters of the splitting method; none of them can make a bound wrong."""

    over_relaxation: float = 1.8
    first_round: int = 60  # iterations before the first cuts
    round_length: int = 40  # iterations between two rounds of cuts
    check_every: int = 20  # iterations between two evaluations of the bound
    # Evaluations without a better bound after which projections are exact for a while.
    idle: int = 6
    cuts_per_group: float = 40.0
    # Violation, relative to Z_ii, from which a cut is added; lowered when few are found.
    min_violation: float = 0.03
    least_violation: float = 1e-5
    keep_slack: float = 1e-3  # a cut without multiplier and with more slack than this is dropped
    sweeps: int = 2
    filter_degree: int = 4
    # Cosine between two stretches of ten iterations from which the next are foretold.
    straight: float = 0.9
    longest_stride: float = 8.0  # stretches that are gone at once at most
    # The pace is slow when closing the gap would take more than this many rounds.
    patience: float = 20.0
    # Branch when what the relaxation is worth varies by less than this share of what it lacks.
    settled: float = 0.5
    # Rounds of too slow a pace that are put up with while the relaxation is worth enough.
    slow_rounds: int = 8
    max_rounds: int = 60
    max_nodes: int = 2**62  # nodes that are bounded before the tree is left as it is
    # Threads for one node. (BLAS is kept to one: on several its small products take longer.)
    n_threads: int = 1


@dataclass(frozen=True)
class State:
    """Where the method stands, to continue or start a child; U and mu are scaled by 1 / rho."""

    V: FloatArray
    U: FloatArray
    rho: float
    cuts: IntArray
    mu: FloatArray


class Ending(Enum):
    """Why the splitting method stopped."""

    TARGET = "target"
    STALLED = "stalled"
    TIME = "time"
    INTERRUPTED = "interrupted"
    PRECISION = "precision"
    NODES = "nodes"


@dataclass(frozen=True)
class Outcome:
    """The best bound, the multipliers it follows from with the last V, the last primal matrix."""

    bound: float
    state: State
    Y: FloatArray
    ending: Ending
    iterations: int


def cold_start(node: Relaxation) -> State:
    """Start from the barycenter, without multipliers and without cuts."""
    n = node.n_groups
    V = np.outer(node.unit, node.unit)
    return State(V, np.zeros((n, n)), 0.3, np.empty((0, cutting.WIDTH), np.int64), np.empty(0))


def safe_bound(
    node: Relaxation, U: FloatArray, rho: float, cuts: IntArray | None = None, mu: Any = None
) -> float:
    """Lower bound on f from scaled multipliers; the cuts matter where sizes are given."""
    M = node.cost + rho * U
    M = 0.5 * (M + M.T)
    value = sum_of_smallest(M, node.unit, node.n_clusters - 1)
    if node.z_low > 0.0 or node.z_high < np.inf:
        value += rho * size_terms(node, U, cuts, mu)
    return node.constant + node.scale * value


def size_terms(node: Relaxation, U: FloatArray, cuts: IntArray | None, mu: Any) -> float:
    """What the bounds on ``Z[i, i]`` add: multipliers times the bound that they lean on."""
    diagonal: FloatArray = -np.diag(U)  # multipliers of Y[i, i] itself, beside the cuts
    if cuts is not None and len(cuts):
        diagonal = diagonal - np.bincount(cuts[:, 0], mu, node.n_groups) / node.weights
    scaled = diagonal * node.weights
    # A multiplier of the wrong sign where there is no bound is a speck: it counts as zero.
    low = np.maximum(scaled, 0.0) * node.z_low
    high = np.minimum(scaled, 0.0) * (node.z_high if node.z_high < np.inf else 0.0)
    return float((low + high).sum())


def solve(
    node: Relaxation,
    state: State,
    *,
    target: float,
    deadline: float = np.inf,
    on_round: Callable[[FloatArray], float] | None = None,
    settings: Settings = Settings(),
) -> Outcome:
    """Raise the lower bound of one node until it reaches ``target``, stalls or runs out of time.

    The arrays of `state` are taken over; the deadline is on the clock of `time.perf_counter`.
    `on_round` is called with Y at each round of cuts, and returns the target from now on (a better
    clustering that it finds lowers it).
    """
    run = _Run(node, state, target, settings)
    try:
        while run.bound < run.target:
            if time.perf_counter() > deadline:
                run.ending = Ending.TIME
                break
            run.iterate()
            if run.iteration == run.next_round and not run.new_round(on_round):
                break
    except KeyboardInterrupt:
        run.ending = Ending.INTERRUPTED
    return Outcome(run.bound, run.best, run.Y, run.ending, run.iteration)


class _Run:
    """One call of `solve`: the iterates, the cuts and the best bound so far."""

    def __init__(self, node: Relaxation, state: State, target: float, settings: Settings) -> None:
        self.node = node
        self.settings = settings
        self.target = target
        self.V, self.U, self.rho = state.V, state.U, state.rho
        self.cuts, self.mu = state.cuts, state.mu
        self.norms = cutting.squared_norms(self.cuts, node.sqrt_weights, node.apart)
        self.work = np.empty_like(self.V)
        self.Y = self.V.copy()
        self.project = FantopeProjector(
            node.unit, node.n_clusters, degree=settings.filter_degree, n_threads=settings.n_threads
        )
        self._keep(safe_bound(node, self.U, self.rho, self.cuts, self.mu))
        self.history = [self.bound]
        self.values: list[float] = []
        self.iteration = self.rounds = self.slow_rounds = 0
        self.next_round = settings.first_round if len(self.cuts) == 0 else settings.round_length
        self.min_violation = settings.min_violation
        self.ending = Ending.TARGET
        self.residuals = (np.inf, np.inf)
        self.exact_until = self.idle = 0
        self.mark: FloatArray | None = None
        self.drift: FloatArray | None = None
        self.stride, self.residual_before = 1.0, np.inf
        self.bound_before, self.primal_before = -np.inf, np.inf

    def _keep(self, bound: float) -> None:
        """Keep the multipliers of the best bound so far (V continues: it is changed in place)."""
        self.bound = bound
        self.best = State(self.V, self.U.copy(), self.rho, self.cuts, self.mu.copy())

    def iterate(self) -> None:
        """One step of the splitting method; now and then the bound, and the step size."""
        node, settings = self.node, self.settings
        self.Y = self.project(
            self.V - self.U - node.cost * (1.0 / self.rho), exact=self.iteration < self.exact_until
        )
        self.residuals = primal, change = self._split(self.Y, settings.over_relaxation)
        self.iteration += 1
        if self.iteration % settings.check_every == 0:
            bound = safe_bound(node, self.U, self.rho, self.cuts, self.mu)
            self.idle += 1
            if bound > self.bound:
                self._keep(bound)
                self.idle = 0
            # Closer to a solution, yet a worse bound, or no better one for long: the filter has
            # missed a direction.
            elif self.idle >= settings.idle or (
                bound < self.bound_before and primal < self.primal_before
            ):
                self.exact_until, self.idle = self.iteration + settings.check_every, 0
            self.bound_before, self.primal_before = bound, primal
        if self.iteration % 10 == 0:
            # Both residuals per unit of their own scale: |Y| is about sqrt(K), |C| is 1.
            ratio = primal / (np.sqrt(node.n_clusters) * self.rho * change + 1e-300)
            factor = 1.25 if ratio > 2.0 else 0.8 if ratio < 0.5 else 1.0
            if factor != 1.0:
                self.mark = None
                self.rho *= factor
                self.U /= factor
                self.mu /= factor
            self.accelerate()

    def accelerate(self) -> None:
        """Go many steps at once where the iterates drift along a line, every ten iterations.

        Where two clusterings cost nearly the same, the iterates move from one to the other at an
        even pace, for hundreds of iterations. V + U says all about where the method stands.
        """
        here = self.V + self.U
        if self.mark is None:
            self.mark, self.drift = here, None
            if self.residuals[0] > 2.0 * self.residual_before:  # the last stride went too far
                self.stride = 1.0
            return
        drift = here - self.mark
        before, self.mark, self.drift = self.drift, here, drift
        if before is None:
            return
        lengths = np.linalg.norm(drift) * np.linalg.norm(before)
        if np.vdot(drift, before) < self.settings.straight * lengths:
            self.stride = max(0.5 * self.stride, 1.0)
            return
        here += self.stride * drift
        self.stride = min(2.0 * self.stride, self.settings.longest_stride)
        self.mark = None
        self.residual_before = self.residuals[0]
        self.U[:] = 0.0
        self._split(here, 1.0)

    def _split(self, Y: FloatArray, relaxation: float) -> tuple[float, float]:
        """The V- and U-step; returns the primal residual and the change of V."""
        node = self.node
        return cutting.signs_and_cuts_step(  # type: ignore[no-any-return]
            Y, relaxation, node.apart, self.cuts, self.norms, node.sqrt_weights,
            self.settings.sweeps, node.z_low, node.z_high, self.mu, self.V, self.U, self.work,
        )  # fmt: skip

    def _stalled(self) -> bool:
        """Whether to branch: the relaxation is worth too little, or its bound rises too slowly."""
        settings = self.settings
        missing = self.target - self.bound
        recent = self.values[-3:]
        # Where it will be branched upon, its own bound does not matter. (A worth below the bound
        # says only that V is still far from the Fantope.)
        lacking = self.target - max(recent)
        settled = max(recent) - min(recent) < settings.settled * lacking
        if settings.max_nodes > 1 and settled and min(recent) >= self.bound:
            return True
        # The bound flutters while the multipliers of new cuts settle: look back a few rounds.
        slow = (self.history[-1] - self.history[-5]) / 4.0 * settings.patience < missing
        self.slow_rounds += slow
        reached = 0.0 <= recent[-1] - self.bound < 0.3 * missing
        late = self.slow_rounds > settings.slow_rounds or self.rounds >= settings.max_rounds
        return (slow and reached) or late

    def new_round(self, on_round: Callable[[FloatArray], float] | None) -> bool:
        """Round to labels, judge the pace, exchange cuts; False if this is to end here."""
        node, settings = self.node, self.settings
        self.rounds += 1
        if on_round is not None:
            self.target = on_round(self.Y)
        if self.bound >= self.target:
            return False
        self.history.append(self.bound)
        # What the relaxation is worth with these cuts, as far as one can tell from V.
        self.values.append(node.constant + node.scale * float(np.vdot(node.cost, self.V)))
        if self.rounds >= 5 and self._stalled():
            self.ending = Ending.STALLED
            return False
        root = node.sqrt_weights
        keep = (self.mu > 0.0) | (cutting.slacks(self.V, self.cuts, root) < settings.keep_slack)
        new = cutting.new_cuts(
            self.Y / np.outer(root, root),
            node.apart,
            self.cuts[keep],
            limit=int(settings.cuts_per_group * node.n_groups),
            min_violation=self.min_violation,
            n_threads=settings.n_threads,
        )
        # Deep cuts first; shallow ones only when there are hardly any others.
        few = 0.5 * settings.cuts_per_group if self.min_violation > 1e-3 else 1.0
        if len(new) < few * node.n_groups:
            self.min_violation = max(0.3 * self.min_violation, settings.least_violation)
        logger.debug(
            "it %d worth %.9g bound %.9g of %.9g rho %.2g residuals %.1e %.1e cuts %d - %d + %d",
            self.iteration, self.values[-1], self.bound, self.target, self.rho,
            *self.residuals, len(self.cuts), np.sum(~keep), len(new),
        )  # fmt: skip
        self.cuts = np.ascontiguousarray(np.vstack([self.cuts[keep], new]))
        self.mu = np.concatenate([self.mu[keep], np.zeros(len(new))])
        self.norms = cutting.squared_norms(self.cuts, root, node.apart)
        self.next_round = self.iteration + settings.round_length
        self.mark = None
        return True
