"""No silent loss: every kind of knowledge against every reader of it.

A reader answers as enumeration does, or refuses in a sentence that names what it cannot do. The
table `REFUSED` lists the refusals; every other cell of `KNOWN` x `READERS` must agree with the
judge, which knows nothing of the library.
"""

from __future__ import annotations

import io
import itertools
import json
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from smdeclust import (
    PCCC,
    ActiveClustering,
    BLPKMeans,
    Constraints,
    COPKMeans,
    ExactMSSC,
    GuidedClustering,
    Search,
    SMDEClust,
    certify,
    choose_n_clusters,
    pair_costs,
    suggest_pairs,
)
from smdeclust.assignment import exact_assignment, greedy_assignment, milp_assignment
from smdeclust.assignment.exact import assign_groups
from smdeclust.estimators.soft import SoftPrices
from smdeclust.exceptions import InfeasibleConstraintsError, SMDEClustError
from smdeclust.local_search import Limits, Searches
from smdeclust.local_search.kempe import swap_chains
from smdeclust.memetic.jumping import Jumps
from smdeclust.problem import Problem
from smdeclust.structure import SoftPairs

N, K = 8, 3
X = np.random.default_rng(8).normal(size=(N, 2))
WEIGHTS = np.array([1.0, 2.0, 0.5, 1.5, 1.0, 3.0, 1.0, 2.0])
PENALTY = 1.0
# Eight points need no long search; on Dask every search takes a while.
SHORT = Search(max_populations=1, max_no_improvement=50)
SHORTEST = Search(max_populations=1, population_size=6, max_no_improvement=30)
# How the command line and the studio search here, too.
SHORTLY = mock.patch.dict("smdeclust.estimators.search.PRESETS", standard=SHORTEST)
EVERY = np.array(list(itertools.product(range(K), repeat=N)))


@dataclass(frozen=True)
class Known:
    """What is known of the points X; `price` is what a broken soft pair costs, times its share."""

    must: tuple = ()
    cannot: tuple = ()
    soft_must: tuple = ()
    soft_cannot: tuple = ()
    weight: Any = None
    sizes: dict = field(default_factory=dict)
    quotas: tuple = ()  # low, high and what they are of: the value "f" of GENDER

    @property
    def constraints(self) -> Constraints:
        soft = {"soft_must_link": list(self.soft_must), "soft_cannot_link": list(self.soft_cannot)}
        known = Constraints(list(self.must), list(self.cannot), **soft, n_points=N)
        for low, high, of in self.quotas:
            known = known.quota(GENDER, {"f": low}, {"f": high}, of=of, name="gender")
        return known

    @property
    def soft(self) -> SoftPairs | None:
        return SoftPrices(0.0, PENALTY).pairs(self.constraints)

    def problem(self) -> Problem:
        pairs = self.constraints
        return Problem.build(
            X, K, pairs.must_link, pairs.cannot_link, self.weight, soft=self.soft,
            quotas=pairs.quotas, **self.sizes,
        )  # fmt: skip

    def without_first_pair(self) -> Known:
        if self.must:
            return replace(self, must=self.must[1:])
        return replace(self, cannot=self.cannot[1:])

    # The judge.

    def holds(self, labels: np.ndarray, ordered: bool = False) -> np.ndarray:
        """Which of these (m, N) labels keep all that must hold (bounds in any order)."""
        kept = np.ones(len(labels), dtype=bool)
        for i, j in self.must:
            kept &= labels[:, i] == labels[:, j]
        for i, j in self.cannot:
            kept &= labels[:, i] != labels[:, j]
        counts = np.array([(labels == k).sum(axis=1) for k in range(K)]).T
        kept &= (counts > 0).all(axis=1)
        girls = np.array([(labels[:, :N][:, GENDER == "f"] == k).sum(axis=1) for k in range(K)]).T
        held = {"count": girls, "share": girls / np.maximum(counts, 1)}
        if self.sizes.get("size_by") == "weight":
            counts = np.array([(WEIGHTS * (labels == k)).sum(axis=1) for k in range(K)]).T
        bounds = [(counts, self.sizes.get("size_min", 0), self.sizes.get("size_max", np.inf))]
        bounds += [(held[of], low, high) for low, high, of in self.quotas]
        fits = np.zeros(len(labels), dtype=bool)
        for order in [range(K)] if ordered else itertools.permutations(range(K)):
            here = np.ones(len(labels), dtype=bool)
            for each, *ends in bounds:
                low, high = (np.broadcast_to(end, K)[list(order)] for end in ends)
                here &= ((each >= low - 1e-9) & (each <= high + 1e-9)).all(axis=1)
            fits |= here
        return kept & fits

    def broken(self, labels: np.ndarray, price: Any = PENALTY.__mul__) -> np.ndarray:
        """What the soft pairs cost that these labels break."""
        cost = np.zeros(len(labels))
        for i, j, confidence in self.soft_must:
            cost += price(confidence) * (labels[:, i] != labels[:, j])
        for i, j, confidence in self.soft_cannot:
            cost += price(confidence) * (labels[:, i] == labels[:, j])
        return cost

    def squares(self, labels: np.ndarray) -> np.ndarray:
        """The sum of squares of these (m, N) labels."""
        weight = np.ones(N) if self.weight is None else self.weight
        total = np.zeros(len(labels))
        for k in range(K):
            inside = (labels == k) * weight
            mass = np.maximum(inside.sum(axis=1), 1e-300)
            center = (inside @ X) / mass[:, None]
            total += inside @ (X**2).sum(axis=1) - mass * (center**2).sum(axis=1)
        return total

    def least(self) -> float:
        """The least objective of all clusterings."""
        labels = EVERY[self.holds(EVERY)]
        return float((self.squares(labels) + self.broken(labels)).min())

    def least_at(self, centers: np.ndarray, ordered: bool = False) -> float:
        """The least cost of labels at these centers."""
        weight = np.ones(N) if self.weight is None else self.weight
        squares = ((X[:, None] - centers) ** 2).sum(axis=2) * weight[:, None]
        labels = EVERY[self.holds(EVERY, ordered)]
        return float((squares[np.arange(N), labels].sum(axis=1) + self.broken(labels)).min())


MUST, CANNOT = ((0, 5), (1, 2)), ((0, 1), (3, 4), (3, 5))
SOFT_MUST = ((0, 3, 0.9), (6, 7, 0.6), (6, 7, 0.6), (7, 6, 0.8))  # one of them three times
SOFT_CANNOT = ((2, 7, 0.7), (1, 4, 0.9), (0, 3, 0.6))
DIFFERENT = {"size_min": [1, 2, 4], "size_max": [2, 3, 5]}
GENDER = np.array(["f", "m", "f", "m", "f", "f", "m", "m"])
KNOWN = {
    "must-links": Known(must=MUST),
    "cannot-links": Known(cannot=CANNOT),
    "soft must-links": Known(must=((4, 5),), soft_must=SOFT_MUST),
    "soft cannot-links": Known(cannot=((4, 5),), soft_cannot=SOFT_CANNOT),
    "sizes": Known(cannot=((0, 1),), sizes={"size_min": 2, "size_max": 3}),
    "sizes by weight": Known(
        must=((0, 1),), weight=WEIGHTS,
        sizes={"size_min": 3.0, "size_max": 5.0, "size_by": "weight"},
    ),
    "K bounds": Known(cannot=((0, 1),), sizes=DIFFERENT),
    "quotas": Known(must=((0, 1),), quotas=((1, 2, "count"), (0.3, 0.6, "share"))),
    "K quotas": Known(
        cannot=((0, 2),), sizes={"size_min": [2, 2, 3]},
        quotas=(([1, 2, 1], [1, 2, 1], "count"), ([0.5, 0.6, 0.25], [0.5, 1.0, 0.4], "share")),
    ),
    "weights": Known(must=((0, 1),), weight=WEIGHTS),
    "everything": Known(MUST, CANNOT, SOFT_MUST, SOFT_CANNOT, WEIGHTS, DIFFERENT),
}  # fmt: skip


def fitted(known: Known, storage: Any = None, **options: Any) -> SMDEClust:
    given = {"penalty": PENALTY, "search": SHORT, **known.sizes, **options}
    model = SMDEClust(K, random_state=0, **given)
    model._storage = storage
    return model.fit(X, constraints=known.constraints, sample_weight=known.weight)


def agree(value: float, known: Known) -> None:
    assert value == pytest.approx(known.least(), rel=1e-6)


def read_fit(known: Known, storage: Any = None, **options: Any) -> None:
    model = fitted(known, storage, **options)
    assert known.holds(model.labels_[None]).all()
    _bounds_hold(model)
    assert model.objective_ == pytest.approx(model.inertia_ + known.broken(model.labels_[None])[0])
    agree(model.objective_, known)


def _bounds_hold(model: SMDEClust) -> None:
    """The bounds that a model says each cluster has are those that it keeps."""
    if hasattr(model, "size_bounds_"):
        low, high = model.size_bounds_.T
        assert ((model.cluster_sizes_ >= low - 1e-9) & (model.cluster_sizes_ <= high + 1e-9)).all()
    for quota in model.quotas_:
        assert ((quota["held"] >= quota["low"]) & (quota["held"] <= quota["high"])).all()


def read_dask(known: Known) -> None:
    dask = pytest.importorskip("dask.array")
    search = SHORTEST if known.sizes else replace(SHORTEST, population_size=10)
    model = SMDEClust(K, penalty=PENALTY, random_state=0, search=search, **known.sizes)
    points = dask.from_array(X, chunks=(4, 2))
    model.fit(points, constraints=known.constraints, sample_weight=known.weight)
    assert known.holds(np.asarray(model.labels_)[None]).all()
    _bounds_hold(model)
    agree(model.objective_, known)


def read_torch(known: Known) -> None:
    pytest.importorskip("torch")
    model = fitted(known, "torch:cpu")
    assert known.holds(model.labels_[None]).all()
    assert model.objective_ == pytest.approx(known.least(), rel=1e-4)


def read_warm(known: Known) -> None:
    start = EVERY[known.holds(EVERY)][0]
    read_fit(known, init=start)
    model = fitted(known, warm_start=True)
    agree(model.fit(X, constraints=known.constraints, sample_weight=known.weight).objective_, known)


def read_exact(known: Known) -> None:
    centers = X[[0, 3, 6]]
    found = exact_assignment(known.problem(), centers)
    assert known.holds(found.labels[None]).all()
    assert found.cost == pytest.approx(known.least_at(centers))


def read_milp(known: Known) -> None:
    centers = X[[0, 3, 6]]
    found = milp_assignment(known.problem(), centers)
    assert known.holds(found.labels[None]).all()
    assert found.cost == pytest.approx(known.least_at(centers))


def read_greedy(known: Known) -> None:
    problem, centers = known.problem(), X[[0, 3, 6]]
    found = greedy_assignment(problem, centers)
    assert found.violations == problem.violations(found.labels)[1]
    assert found.cost >= known.least_at(centers) * (1 - 1e-9) or found.violations


def read_allowed(known: Known) -> None:
    """Some groups may take only some of the clusters: their other costs are infinite."""
    problem = known.problem()
    rng = np.random.default_rng(1)
    for _ in range(5):
        costs = rng.random((problem.n_groups, K))
        costs[rng.random(costs.shape) < 0.25] = np.inf
        every = EVERY[known.holds(EVERY)]
        groups = np.array([problem.group_labels(labels) for labels in every])
        total = costs[np.arange(problem.n_groups), groups].sum(axis=1) + known.broken(every)
        labels, cost, bound = assign_groups(problem, costs)
        if labels is None:
            assert total.min() == bound == np.inf
            continue
        assert known.holds(problem.expand(labels)[None]).all()
        assert np.isfinite(costs[np.arange(problem.n_groups), labels]).all()
        assert cost + problem.always_broken == pytest.approx(total.min())
        assert bound == pytest.approx(cost)


def read_kempe(known: Known) -> None:
    """Swaps of chains break nothing, and tell truly whether they lower the objective."""
    problem, every = known.problem(), EVERY[known.holds(EVERY)]
    bounds, helped = problem.group_bounds, 0
    for start in every[:: max(1, len(every) // 20)]:
        labels = problem.group_labels(start)
        centers = problem.enter(problem.centers(labels))
        within = bounds and bounds.with_order(bounds.match(bounds.held(labels)))
        before = known.squares(start[None])[0] + known.broken(start[None])[0]
        swapped = swap_chains(
            problem.contracted, labels, centers, before - problem.constant, within
        )
        ended = problem.expand(labels)[None]
        after = known.squares(ended)[0] + known.broken(ended)[0]
        assert known.holds(ended).all()
        assert swapped == (after < before * (1 - 1e-9))
        assert swapped == (ended != start).any()
        assert centers == pytest.approx(problem.enter(problem.centers(labels)))
        helped += swapped
    assert helped


def read_jumps(known: Known) -> None:
    """Searches that jump break nothing, and their objective is that of their labels."""
    problem, every = known.problem(), EVERY[known.holds(EVERY)]
    search = Searches(problem, True, Limits())
    jumps = Jumps(problem.contracted, search, None, problem.group_bounds is not None, search.steps)
    totals = []
    for start in every[:: max(1, len(every) // 20)]:
        centers = problem.enter(problem.centers(problem.group_labels(start)))
        found = jumps(centers)
        for each in (found, jumps.confirm(found)):
            labels = problem.expand(each.labels)[None]
            assert known.holds(labels).all()
            totals.append(known.squares(labels)[0] + known.broken(labels)[0])
            assert each.objective == pytest.approx(totals[-1])
    agree(min(totals), known)


def read_predict(known: Known) -> None:
    """All rows are new, in the clusters of a model of other points."""
    model = SMDEClust(K, penalty=PENALTY, random_state=0).fit(X + 0.3)
    sizes = {name: value for name, value in known.sizes.items() if name != "size_by"}
    more = {} if known.weight is None else {"sample_weight": known.weight}
    labels = model.predict(X, constraints=known.constraints, **sizes, **more)
    squares = ((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    every = EVERY[_kept_by_new_rows(known, EVERY)]
    value, least = (
        squares[np.arange(N), each].sum(axis=1) + known.broken(each)
        for each in (labels[None], every)
    )
    assert value[0] == pytest.approx(least.min())


def _kept_by_new_rows(known: Known, labels: np.ndarray) -> np.ndarray:
    """The same where clusters may be empty and sizes are those of the clusters, in order."""
    counts = np.array([(labels == k).sum(axis=1) for k in range(K)]).T
    low, high = known.sizes.get("size_min", 0), known.sizes.get("size_max", N)
    kept = ((counts >= low) & (counts <= high)).all(axis=1)
    filled = np.hstack([labels, np.tile(np.arange(K), (len(labels), 1))])
    kept &= replace(known, sizes={}, quotas=()).holds(filled)
    if known.quotas:
        kept &= replace(known, must=(), cannot=(), sizes={}).holds(labels)
    return kept


def read_predict_beside(known: Known) -> None:
    """The last rows are new; pairs with old rows leave their groups only some of the clusters."""
    n_old = 5
    model = SMDEClust(K, penalty=PENALTY, random_state=0, search=SHORT).fit(X[:n_old])
    new = np.array(list(itertools.product(range(K), repeat=N - n_old)))
    every = np.hstack([np.tile(model.labels_, (len(new), 1)), new])
    later = {
        name: tuple(pair for pair in getattr(known, name) if max(pair[:2]) >= n_old)
        for name in ("must", "cannot", "soft_must", "soft_cannot")
    }
    sizes = {name: value for name, value in known.sizes.items() if name != "size_by"}
    counts = np.array([(new == k).sum(axis=1) for k in range(K)]).T
    kept = (counts >= sizes.get("size_min", 0)) & (counts <= sizes.get("size_max", N))
    fits = kept.all(axis=1) & replace(known, **later, sizes={}).holds(every)
    squares = ((X[n_old:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    bill = replace(known, **later).broken(every)
    cost = squares[np.arange(N - n_old), new].sum(axis=1) + bill
    more = {} if known.weight is None else {"sample_weight": known.weight[n_old:]}
    try:
        labels = model.predict(X[n_old:], constraints=known.constraints, **sizes, **more)
    except InfeasibleConstraintsError:
        assert not fits.any()
        return
    (found,) = np.flatnonzero((new == labels).all(axis=1))
    assert fits[found]
    assert cost[found] == pytest.approx(cost[fits].min())


def read_guided(known: Known) -> None:
    """Clusters need not be round there: what must hold holds, and what is told is true."""
    views = ("given", "graph-learned", "parts")
    model = GuidedClustering(K, views=views, random_state=0, **known.sizes)
    model.fit(X, constraints=known.constraints, sample_weight=known.weight)
    labels = model.labels_[None]
    assert known.holds(labels).all()
    _bounds_hold(model)
    assert model.inertia_ == pytest.approx(known.squares(labels)[0])
    bill = known.broken(labels, model.soft_prices_)[0]
    assert model.objective_ == pytest.approx(model.inertia_ + bill)


def read_active(known: Known) -> None:
    """Answers that the best clustering gives change neither it nor what is known beside them."""
    labels = EVERY[known.holds(EVERY)]
    best = labels[np.argmin(known.squares(labels) + known.broken(labels))]
    model = SMDEClust(K, penalty=PENALTY, random_state=0, search=SHORT, **known.sizes)
    more = {} if known.weight is None else {"sample_weight": known.weight}
    asked = ActiveClustering(model, lambda i, j: best[i] == best[j], budget=2, random_state=0)
    asked.fit(X, known.constraints, **more)
    assert known.holds(asked.labels_[None]).all()
    agree(asked.estimator_.objective_, known)


def read_certify(known: Known) -> None:
    model, pairs = fitted(known), known.constraints
    certificate = certify(
        X, model.labels_, constraints=pairs, sample_weight=known.weight, **known.sizes
    )
    assert certificate.lower_bound <= known.least() * (1 + 1e-6)
    assert certificate.lower_bound > 0.5 * known.least()


def read_exact_mssc(known: Known) -> None:
    model = ExactMSSC(K, **known.sizes)
    model.fit(X, constraints=known.constraints, sample_weight=known.weight)
    assert known.holds(model.labels_[None]).all()
    agree(model.inertia_, known)
    assert model.lower_bound_ <= known.least() * (1 + 1e-6)


def read_pair_costs(known: Known) -> None:
    model = fitted(known)
    first = known.must[0] if known.must else known.cannot[0]
    table = pair_costs(model, X, known.constraints, [first], sample_weight=known.weight)
    saved = known.least() - known.without_first_pair().least()
    assert table[0].saves == pytest.approx(saved, abs=1e-9)


def read_pccc(known: Known) -> None:
    model = PCCC(K, penalty=PENALTY, n_init=30, random_state=0, **known.sizes)
    model.fit(X, constraints=known.constraints, sample_weight=known.weight)
    assert known.holds(model.labels_[None]).all()
    agree(model.objective_, known)


def read_baseline(known: Known) -> None:
    for kind in (BLPKMeans, COPKMeans):
        model = kind(K, random_state=0, **known.sizes)
        model.fit(X, constraints=known.constraints, sample_weight=known.weight)
        assert known.holds(model.labels_[None]).all()
        assert model.inertia_ >= known.least() * (1 - 1e-9)


def read_choose(known: Known) -> None:
    model = SMDEClust(penalty=PENALTY, random_state=0, **known.sizes)
    more = {} if known.weight is None else {"sample_weight": known.weight}
    found = choose_n_clusters(
        X, [K], constraints=known.constraints, estimator=model, n_folds=2, n_samples=2, **more
    )
    agree(found.table[0].objective, known)


def read_suggest(known: Known) -> None:
    pairs = known.constraints
    found = suggest_pairs(fitted(known), X, constraints=pairs, n_pairs=4)
    said = {frozenset(p[:2]) for p in (*known.must, *known.cannot)}
    said |= {frozenset(p[:2]) for p in (*known.soft_must, *known.soft_cannot)}
    assert not said & {frozenset(map(int, each.pair)) for each in found}


def command(known: Known, folder: Path, name: str, *more: str) -> dict[str, Any]:
    """What a command of the command line says of these points, as JSON."""
    from smdeclust.cli.app import run

    weight = () if known.weight is None else ("--role", "w=weight")
    columns = X if known.weight is None else np.column_stack([X, known.weight])
    head = "a,b" if known.weight is None else "a,b,w"
    np.savetxt(folder / "points.csv", columns, "%.17g", ",", header=head, comments="")
    known.constraints.write(folder / "pairs.json")
    sizes = [
        word
        for option, size in known.sizes.items()
        for word in (f"--{option.replace('_', '-')}", ",".join(map(str, np.atleast_1d(size))))
    ]
    files = [str(folder / "points.csv"), "-k", str(K), "-c", str(folder / "pairs.json"), "--raw"]
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), SHORTLY:
        code = run([name, *files, *weight, *sizes, *more, "--json"])
    if code != 0:
        raise SMDEClustError(out.getvalue() + err.getvalue())
    return json.loads(out.getvalue())


def read_what_if(known: Known) -> None:
    kind, (i, j) = ("ml", known.must[0]) if known.must else ("cl", known.cannot[0])
    with tempfile.TemporaryDirectory() as folder:
        options = ("--penalty", str(PENALTY), "--drop", f"{kind}:{i},{j}")
        said = command(known, Path(folder), "what-if", *options)
    agree(said["objective"], known)
    agree(said["objective_changed"], known.without_first_pair())


def read_report(known: Known) -> None:
    """The report of ``fit``: the objective, and what single pairs cost, or why that is not said."""
    told = []
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch("smdeclust.report.render_report", lambda content: told.append(content) or ""),
    ):
        out = ("--out", f"{folder}/out", "--penalty", str(PENALTY), "--pair-costs", "2")
        command(known, Path(folder), "fit", *out)
    (content,) = told
    value = content.objective + known.broken(content.labels[None])[0]
    assert known.holds(content.labels[None]).all()
    agree(value, known)
    if content.costs is None:
        raise SMDEClustError(content.costs_note)
    free = replace(known, must=(), cannot=())
    assert content.free_objective == pytest.approx(free.least(), rel=1e-6)
    for cost in content.costs:
        field = cost.kind.removesuffix("_link")
        pairs = list(getattr(known, field))
        del pairs[cost.position]
        without = replace(known, **{field: tuple(pairs)})
        assert cost.saves == pytest.approx(known.least() - without.least(), abs=1e-9)


def read_compare(known: Known) -> None:
    """Prices come from the confidences there: the best labels under these are the judge's."""
    with tempfile.TemporaryDirectory() as folder:
        said = command(known, Path(folder), "compare", "--methods", "smdeclust")["methods"][0]
    prices = SoftPrices.estimate(known.problem(), None)
    labels = EVERY[known.holds(EVERY)]
    total = known.squares(labels) + known.broken(labels, prices)
    best = labels[[np.argmin(total)]]
    assert said["objective"][0] == pytest.approx(known.squares(best)[0], rel=1e-6)
    assert (said["violations"], said["clusters_out_of_bounds"]) == ([0], [0])
    n_broken = {frozenset(p[:2]) for p in known.soft_must if best[0, p[0]] != best[0, p[1]]}
    n_apart = {frozenset(p[:2]) for p in known.soft_cannot if best[0, p[0]] == best[0, p[1]]}
    assert said["broken_soft_pairs"] == [len(n_broken) + len(n_apart)]


def read_studio(known: Known) -> None:
    """What is said on the page, and what its solver answers."""
    from pandas import DataFrame

    from smdeclust.studio.sheet import Sheet
    from smdeclust.studio.solving import make_handlers
    from smdeclust.studio.wishes import Wishes, change
    from smdeclust.studio.worker import Job

    frame, roles = DataFrame(X, columns=["a", "b"]), {"a": "number", "b": "number"}
    if known.weight is not None:
        frame["w"], roles["w"] = known.weight, "weight"
    if known.quotas:
        frame["gender"], roles["gender"] = GENDER, "category"
    sheet = Sheet(frame, fixed=roles)
    wishes = Wishes(K, ("a", "b"), standardize=False)
    for pairs, together in ((known.must, True), (known.cannot, False)):
        if pairs:
            said = {"do": "pairs", "pairs": [list(p) for p in pairs], "together": together}
            wishes = change(wishes, said, sheet.ground)
    # One pair of rows is one pair on the page: the last that was said of it counts.
    last = {frozenset(p[:2]): (p, True) for p in known.soft_must}
    last |= {frozenset(p[:2]): (p, False) for p in known.soft_cannot}
    for (i, j, sure), together in last.values():
        said = {"do": "pairs", "pairs": [[i, j]], "together": together, "confidence": sure}
        wishes = change(wishes, said, sheet.ground)
    if known.sizes:
        wishes = change(wishes, {"do": "set", **known.sizes}, sheet.ground)
    if known.quotas:
        names = ("low", "high", "of")
        quotas = [
            {"column": "gender", "value": "f"} | dict(zip(names, q, strict=True))
            for q in known.quotas
        ]
        wishes = change(wishes, {"do": "set", "quotas": quotas}, sheet.ground)
    sent: list[tuple[str, Any]] = []
    handlers = make_handlers(sheet)
    look = lambda: False  # noqa: E731
    with SHORTLY:
        handlers["search"](Job(0, 0, "search", (wishes, None)), lambda *a: sent.append(a), look)
    solution = next(content for name, content in reversed(sent) if name == "solution")
    labels = np.asarray(solution["labels"])
    only = replace(
        known,
        soft_must=tuple(p for p, together in last.values() if together),
        soft_cannot=tuple(p for p, together in last.values() if not together),
    )
    prices = SoftPrices.estimate(known.problem(), None)
    every = EVERY[only.holds(EVERY)]
    least = (only.squares(every) + only.broken(every, prices)).min()
    assert only.holds(labels[None]).all()
    value = only.squares(labels[None]) + only.broken(labels[None], prices)
    assert value[0] == pytest.approx(least, rel=1e-6)
    assert solution["objective"] == pytest.approx(least, rel=1e-6)


READERS = {
    "fit, dense": read_fit,
    "fit, Lloyd alone": lambda known: read_fit(known, search=replace(SHORT, local_search="lloyd")),
    "fit, blocks": lambda known: read_fit(known, "blocks"),
    "fit, sparse": lambda known: read_fit(known, "sparse"),
    "fit, torch": read_torch,
    "fit, dask": read_dask,
    "warm start": read_warm,
    "exact assignment": read_exact,
    "plain MILP": read_milp,
    "greedy": read_greedy,
    "allowed clusters": read_allowed,
    "Kempe chains": read_kempe,
    "jumps": read_jumps,
    "predict": read_predict,
    "predict beside old rows": read_predict_beside,
    "certify": read_certify,
    "ExactMSSC": read_exact_mssc,
    "pair_costs": read_pair_costs,
    "PCCC": read_pccc,
    "baselines": read_baseline,
    "choose_n_clusters": read_choose,
    "suggest_pairs": read_suggest,
    "GuidedClustering": read_guided,
    "ActiveClustering": read_active,
    "what-if": read_what_if,
    "report": read_report,
    "compare": read_compare,
    "studio": read_studio,
}
SIZES = ("sizes", "sizes by weight", "K bounds", "everything")
QUOTAS = ("quotas", "K quotas")
SOFT = ("soft must-links", "soft cannot-links", "everything")
WEIGHED = ("weights", "sizes by weight", "everything")
UNWEIGHED = ("predict", "predict beside old rows", "choose_n_clusters", "ActiveClustering")
# Who refuses what, and the word that the sentence (or Python, of an argument) must hold.
REFUSED: dict[tuple[str, str], str] = {
    **{("greedy", kind): "soft" for kind in SOFT},
    **{("greedy", kind): "bounds on clusters" for kind in SIZES if kind not in SOFT},
    **{("baselines", kind): "size_m" for kind in SIZES},
    **{("baselines", kind): "soft" for kind in SOFT},
    **{("PCCC", kind): "size_m" for kind in SIZES},
    **{("ExactMSSC", kind): "soft" for kind in SOFT},
    **{("certify", kind): "soft" for kind in SOFT},
    **{(reader, "sizes by weight"): "size_by" for reader in ("certify", "ExactMSSC")},
    **{(reader, kind): "sample_weight" for reader in UNWEIGHED for kind in WEIGHED},
    **{(reader, "sizes by weight"): "size-by" for reader in ("what-if", "report", "compare")},
    **{("report", kind): "with soft pairs, a single pair has no clear cost" for kind in SOFT},
    **{("studio", kind): "whole number|size_by" for kind in SIZES if kind != "sizes"},
    ("studio", "K quotas"): "whole number",
    **{(reader, kind): "quotas" for reader in ("certify", "ExactMSSC") for kind in QUOTAS},
    **{("greedy", kind): "bounds on clusters" for kind in QUOTAS},
    **{("baselines", kind): "quotas" for kind in QUOTAS},
    **{("PCCC", kind): "quotas|size_m" for kind in QUOTAS},
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", KNOWN)
def test_cell(kind, reader):
    """A reader agrees with enumeration, or refuses by name what it cannot do."""
    word = REFUSED.get((reader, kind))
    if word is None:
        READERS[reader](KNOWN[kind])
        return
    with pytest.raises((SMDEClustError, TypeError), match=word):
        READERS[reader](KNOWN[kind])
