"""Two-block splitting for the relaxation: the Fantope on one side, signs and cuts on the other.

Minimise ``<C, Y>`` over ``Y`` in the Fantope and ``V`` non-negative, zero on cannot-links and
within the cuts, ``Y = V``. Any scaled multiplier ``U`` that the V-step leaves behind has the form
``rho U = -(Lambda + B' mu)`` with ``Lambda >= 0`` off the cannot-links and ``mu >= 0``, so that

    f >= constant + scale * (sum of the K smallest eigenvalues of C + rho U, one of them along u)

however far the iteration is from converged. That bound is what everything here is after.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np

from smdeclust.exact import cuts as cutting
from smdeclust.exact.relaxation import FloatArray, IntArray, Relaxation
from smdeclust.exact.spectrum import FantopeProjector, sum_of_smallest

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Settings:
    """Parameters of the splitting method; none of them can make a bound wrong."""

    over_relaxation: float = 1.6
    first_round: int = 60
    """Iterations before the first cuts."""
    round_length: int = 40
    """Iterations between two rounds of cuts."""
    check_every: int = 20
    """Iterations between two evaluations of the bound."""
    cuts_per_group: float = 16.0
    min_violation: float = 0.03
    """Violation, relative to Z_ii, from which a cut is added; lowered when few are found."""
    least_violation: float = 1e-5
    keep_slack: float = 1e-3
    """A cut without multiplier and with more slack than this is dropped."""
    sweeps: int = 2
    filter_degree: int = 4
    patience: float = 20.0
    """Branch when closing the gap would take more than this many rounds at the present pace."""
    max_rounds: int = 60


@dataclass
class State:
    """Where the splitting method stands: enough to go on, or to start a child node."""

    V: FloatArray
    U: FloatArray
    rho: float
    cuts: IntArray
    mu: FloatArray


@dataclass(frozen=True)
class Dual:
    """Multipliers and the bound that follows from them (``U``, ``mu`` scaled by ``1 / rho``)."""

    bound: float
    U: FloatArray
    rho: float
    cuts: IntArray
    mu: FloatArray


class Ending(Enum):
    """Why the splitting method stopped."""

    TARGET = "target"
    STALLED = "stalled"
    TIME = "time"


@dataclass(frozen=True)
class Outcome:
    """The best multipliers met, the last primal matrix, and why it stopped."""

    dual: Dual
    Y: FloatArray
    state: State
    ending: Ending
    iterations: int


def cold_start(node: Relaxation) -> State:
    """Start from the barycenter, without multipliers and without cuts."""
    n = node.n_groups
    V = np.outer(node.unit, node.unit)
    return State(V, np.zeros((n, n)), 0.3, np.empty((0, cutting.WIDTH), np.int64), np.empty(0))


def safe_bound(node: Relaxation, U: FloatArray, rho: float) -> float:
    """Lower bound on f from scaled multipliers."""
    M = node.cost + rho * U
    M = 0.5 * (M + M.T)
    return node.constant + node.scale * sum_of_smallest(M, node.unit, node.n_clusters - 1)


def solve(
    node: Relaxation,
    state: State,
    *,
    target: float,
    deadline: float = np.inf,
    on_round: Callable[[FloatArray], float] | None = None,
    settings: Settings = Settings(),  # noqa: B008 (frozen)
) -> Outcome:
    """Raise the lower bound of one node until it reaches ``target``, stalls or runs out of time.

    Parameters
    ----------
    node
        The relaxation.
    state
        Where to start; its arrays are taken over.
    target
        Stop as soon as the bound is at least this.
    deadline
        On the clock of `time.perf_counter`.
    on_round
        Called with Y at each round of cuts; returns the target from now on (a better clustering
        that it finds lowers it).
    settings
        See `Settings`.
    """
    root = node.sqrt_weights
    project = FantopeProjector(node.unit, node.n_clusters, degree=settings.filter_degree)
    V, U, rho, cuts, mu = state.V, state.U, state.rho, state.cuts, state.mu
    norms = cutting.squared_norms(cuts, root, node.apart)
    work = np.empty_like(V)
    best = Dual(safe_bound(node, U, rho), U.copy(), rho, cuts, mu.copy())
    iteration = rounds = 0
    next_round = settings.first_round if len(cuts) == 0 else settings.round_length
    history = [best.bound]
    min_violation = settings.min_violation
    ending = Ending.TARGET
    Y = V.copy()
    while best.bound < target:
        Y = project(V - U - node.cost * (1.0 / rho))
        primal, change = cutting.signs_and_cuts_step(
            Y, settings.over_relaxation, node.apart, cuts, norms, root, settings.sweeps,
            mu, V, U, work,
        )  # fmt: skip
        iteration += 1
        if iteration % settings.check_every == 0:
            bound = safe_bound(node, U, rho)
            if bound > best.bound:
                best = Dual(bound, U.copy(), rho, cuts, mu.copy())
            if time.perf_counter() > deadline:
                ending = Ending.TIME
                break
        if iteration % 10 == 0:
            # Both residuals per unit of their own scale: |Y| is about sqrt(K), |C| is 1.
            ratio = primal / (np.sqrt(node.n_clusters) * rho * change + 1e-300)
            factor = 1.25 if ratio > 2.0 else 0.8 if ratio < 0.5 else 1.0
            rho *= factor
            U /= factor
            mu /= factor
        if iteration == next_round and best.bound < target:
            rounds += 1
            if on_round is not None:
                target = on_round(Y)
                if best.bound >= target:
                    break
            keep = (mu > 0.0) | (cutting.slacks(V, cuts, root) < settings.keep_slack)
            Z = Y / np.outer(root, root)
            new = cutting.new_cuts(
                Z,
                node.apart,
                cuts[keep],
                limit=int(settings.cuts_per_group * node.n_groups),
                min_violation=min_violation,
            )
            # Deep cuts first; shallow ones only when there are hardly any others.
            few = 0.5 * settings.cuts_per_group if min_violation > 1e-3 else 1.0
            if len(new) < few * node.n_groups:
                min_violation = max(0.3 * min_violation, settings.least_violation)
            logger.debug(
                "it %d bound %.9g missing %.3g rho %.2g primal %.1e change %.1e cuts %d - %d + %d",
                iteration, best.bound, target - best.bound, rho, primal, change,
                len(cuts), np.sum(~keep), len(new),
            )  # fmt: skip
            # The bound flutters while the multipliers of new cuts settle: look back a few rounds.
            history.append(best.bound)
            if rounds >= 5:
                pace = (history[-1] - history[-5]) / 4.0
                if pace * settings.patience < target - best.bound or rounds >= settings.max_rounds:
                    ending = Ending.STALLED
                    break
            cuts = np.ascontiguousarray(np.vstack([cuts[keep], new]))
            mu = np.concatenate([mu[keep], np.zeros(len(new))])
            norms = cutting.squared_norms(cuts, root, node.apart)
            next_round = iteration + settings.round_length
    return Outcome(best, Y, State(V, U, rho, cuts, mu), ending, iteration)
