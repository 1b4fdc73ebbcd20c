"""Steps 2 to 4 of the exact assignment on a table of costs: the linked groups, without bounds."""

from functools import partial

import numpy as np

from smdeclust.assignment.active_set import grow_active, nearest_labels, separate
from smdeclust.assignment.components import regrets
from smdeclust.assignment.cores import solve_core
from smdeclust.assignment.cycles import solve_cycles
from smdeclust.assignment.status import HARD, INFEASIBLE, SOLVED, Budget
from smdeclust.structure.graph import PairGraph

# Seconds beyond the deadline that the search for first labels may take: without any there is no
# answer at all.
GRACE = 0.5

Begun = tuple[np.ndarray, np.ndarray]
NO_TABLE = np.empty((0, 0))  # costs are complete: the loop fills nothing
NO_WEIGHTS = np.empty(0)
NO_WEIGHTS.flags.writeable = False


class LinkedLabels:
    """The labels of all groups that take part, and the state of the active set of the linked ones.

    `costs` are (G, K), linked groups first; infinity forbids.
    """

    def __init__(self, costs: np.ndarray, graph: PairGraph) -> None:
        n, n_linked = len(costs), graph.n_nodes
        self.costs = costs
        self.labels = np.empty(n, dtype=np.int64)
        self.nearest = np.empty(n)
        self.regret = np.zeros(n_linked)
        self.gap = np.zeros(n_linked)  # at each active node: cost minus bound of its component
        self.flags = np.zeros((3, n_linked), dtype=np.bool_)
        self.numbers = np.empty((5, n_linked), dtype=np.int64)
        self._linked_costs = costs[:n_linked]
        self._folded = np.empty((n_linked, costs.shape[1]))
        self._graph, self.pairs = graph.arrays, graph

    @property
    def active(self) -> np.ndarray:
        """(L,) which linked groups are in the active set."""
        return self.flags[0]

    def cost(self) -> float:
        """What the labels cost, broken pairs included; infinite if some group has none left."""
        own = float(self.costs[np.arange(len(self.costs)), self.labels].sum())
        return own if self.pairs.is_hard else own + self.pairs.penalty(self._linked_labels)

    def grow(self) -> int:
        """Add the ends of broken pairs to the active set; returns how many there are."""
        self.flags[1] = False
        return int(grow_active(self._linked_labels, self._graph, *self.flags[:2]))

    def unproven(self) -> float:
        """Sum of the gaps of all components; computes their regrets on the way."""
        if not len(self.regret):  # (nothing to compile)
            return 0.0
        regrets(
            self._linked_costs, self._graph, self.active, self.nearest, self._linked_labels,
            self.numbers, self.regret,
        )  # fmt: skip
        names = np.unique(self.numbers[4, self.active])
        return float(self.gap[names].sum())

    def relax(self, upper: np.ndarray | None, budget: Budget, begun: Begun | None = None) -> int:
        """Label all groups; SOLVED (maybe with a gap), INFEASIBLE, or HARD: none found.

        `begun` are labels and flags of the linked groups where cycles were found to be too dense.
        """
        status = SOLVED
        if not len(self.labels):  # (nothing to compile)
            return status
        if begun is not None:
            self._linked_labels[:], self.flags[:] = begun
        nearest_labels(self.costs, len(self.regret), self.active, self.labels, self.nearest)
        if begun is None:
            self.flags[1] = self.active
        else:
            status = self._solve_hard(upper, budget)
        work = (self._graph, self.flags, self.numbers, self._folded, self._linked_labels)
        while status == SOLVED:
            status = separate(self._linked_costs, NO_TABLE, NO_WEIGHTS, *work)
            if status != HARD:
                break
            status = solve_cycles(self._linked_costs, *work)
            if status == HARD:
                status = self._solve_hard(upper, budget)
        return int(status)

    @property
    def _linked_labels(self) -> np.ndarray:
        return self.labels[: len(self.regret)]

    def _solve_hard(self, upper: np.ndarray | None, budget: Budget) -> int:
        """Solve the components that are still fresh, each with all that hangs together with it:
        the core solver looks only at what matters, and need not be asked again as they grow."""
        for number in np.unique(self.pairs.component_of[self.flags[1]]):
            nodes = self.pairs.components[number]
            result = solve_core(
                self._linked_costs[nodes],
                self.pairs.component(nodes),
                upper_labels=None if upper is None else upper[nodes],
                coloring=partial(self._coloring, nodes, budget.deadline),
                budget=budget,
            )
            if result.labels is None:
                return INFEASIBLE if result.proven else HARD
            self.labels[nodes] = result.labels
            self.gap[nodes] = result.cost - result.bound
            self.active[nodes] = True
            self.flags[1, nodes] = False
        return SOLVED

    def _coloring(self, nodes: np.ndarray, deadline: float) -> np.ndarray | None:
        """Labels of some nodes that keep the hard pairs, whatever they cost; None if not found."""
        colors = self.pairs.coloring(self.costs.shape[1], deadline + GRACE)
        return None if colors is None else colors[nodes]
