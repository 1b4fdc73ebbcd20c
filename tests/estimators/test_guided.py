"""GuidedClustering as its users meet it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from smdeclust import (
    Constraints,
    GuidedClustering,
    InfeasibleConstraintsError,
    InvalidInputError,
    NoFeasibleSolutionError,
)
from smdeclust.estimators import guided as guided_module
from smdeclust.problem import Problem
from smdeclust.views import Scene, Seen
from smdeclust.views import consensus as consensus_module

NAMES = {"given", "learned", "graph", "graph-learned", "parts", "classes"}


def draw_pairs(y, n_pairs, seed=0):
    rng = np.random.default_rng(seed)
    pairs = rng.integers(0, len(y), (4 * n_pairs, 2))
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    pairs = rng.permutation(pairs)[:n_pairs]
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    return {"must_link": pairs[same], "cannot_link": pairs[~same]}


def holds(labels, must_link=(), cannot_link=()):
    together = all(labels[i] == labels[j] for i, j in must_link)
    return together and all(labels[i] != labels[j] for i, j in cannot_link)


@pytest.fixture(scope="module")
def moons():
    """Two long clusters that no two centers tell apart."""
    X, y = make_moons(240, noise=0.06, random_state=0)
    return X, y, draw_pairs(y, 30)


@pytest.fixture(scope="module")
def fitted(moons):
    X, _, pairs = moons
    return GuidedClustering(2, random_state=0).fit(X, **pairs)


@parametrize_with_checks(
    [GuidedClustering(2, random_state=0)],
    expected_failed_checks=lambda _: {
        f"check_sample_weight_equivalence_on_{kind}_data": "neighbors are counted by rows"
        for kind in ("dense", "sparse")
    },
)
def test_scikit_learn_checks(estimator, check):
    """scikit-learn's check of this name passes."""
    check(estimator)


def test_finds_long_clusters(moons, fitted):
    """Pairs hold, moons are found, and the views say how it was decided."""
    X, y, pairs = moons
    assert holds(fitted.labels_, **pairs)
    assert adjusted_rand_score(y, fitted.labels_) > 0.95
    assert set(fitted.view_weights_) == set(fitted.views_) == NAMES
    assert set(fitted.held_out_) == NAMES | {"consensus", "refined"}
    assert sum(fitted.view_weights_.values()) == pytest.approx(1.0)
    assert fitted.view_weights_["graph"] > fitted.view_weights_["given"]
    assert "graph" in fitted.notes_[0]
    assert "corrected for chance" in fitted.notes_[0]
    for seen in fitted.views_.values():
        assert holds(seen.labels, **pairs)
    for k in range(2):
        np.testing.assert_allclose(fitted.cluster_centers_[k], X[fitted.labels_ == k].mean(axis=0))


def test_same_seed_same_result(moons, fitted):
    """The same seed gives the same labels and weights; a clone and a pickle agree."""
    X, _, pairs = moons
    again = clone(fitted).fit(X, **pairs)
    np.testing.assert_array_equal(again.labels_, fitted.labels_)
    assert again.view_weights_ == fitted.view_weights_
    copied = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copied.predict(X[:20] + 0.01), fitted.predict(X[:20] + 0.01))


def test_rows_and_units(moons, fitted):
    """Permuted rows and other units give nearly the same clusters."""
    X, _, pairs = moons
    order = np.random.default_rng(0).permutation(len(X))
    place = np.argsort(order)
    turned = {kind: place[pairs[kind]] for kind in pairs}
    other = GuidedClustering(2, random_state=0).fit(X[order] * 1e-90, **turned)
    assert adjusted_rand_score(other.labels_, fitted.labels_[order]) > 0.95


def test_predict(moons, fitted):
    """New rows are placed along the moons; pairs with old rows, among new ones and sizes hold."""
    X, _, _ = moons
    new, classes = make_moons(100, noise=0.06, random_state=1)
    labels = fitted.predict(new)
    assert adjusted_rand_score(classes, labels) > 0.9
    assert adjusted_rand_score(fitted.predict(X), fitted.labels_) > 0.9
    known = Constraints(
        [(0, len(X)), (len(X) + 1, len(X) + 2)], [(0, len(X) + 1)], n_points=len(X) + 100
    )
    placed = fitted.predict(new, constraints=known)
    assert placed[0] == fitted.labels_[0]
    assert placed[1] == placed[2] != fitted.labels_[0]
    assert (placed != labels).sum() <= 3
    sized = fitted.predict(new, size_max=50)
    assert np.bincount(sized).tolist() == [50, 50]
    alone = fitted.predict(new[:4], constraints=Constraints(cannot_link=[(0, 1)], n_points=4))
    assert alone[0] != alone[1]


@pytest.mark.parametrize("seed", range(6))
def test_hard_pairs_always_hold(seed):
    """Wrong, dense and contradicting classes of pairs: what is hard holds in every view."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(12, 60)), int(rng.integers(2, 5))
    X = rng.normal(size=(n, int(rng.integers(1, 6))))
    pairs = draw_pairs(rng.integers(0, k, n), int(rng.integers(2, n)), seed)
    model = GuidedClustering(k, random_state=seed).fit(X, **pairs)
    assert holds(model.labels_, **pairs)
    assert len(np.unique(model.labels_)) == k
    for seen in model.views_.values():
        assert holds(seen.labels, **pairs)


def test_sizes():
    """Bounds on sizes hold together with pairs, and sizes go with labels."""
    X, y = make_blobs([60, 25, 15], random_state=0, cluster_std=1.5)
    pairs = draw_pairs(y, 20)
    model = GuidedClustering(3, size_min=20, size_max=45, random_state=0).fit(X, **pairs)
    assert holds(model.labels_, **pairs)
    np.testing.assert_array_equal(model.cluster_sizes_, np.bincount(model.labels_))
    assert model.cluster_sizes_.min() >= 20
    assert model.cluster_sizes_.max() <= 45
    with pytest.raises(InfeasibleConstraintsError):
        GuidedClustering(3, size_max=10).fit(X)


def test_soft_pairs(moons):
    """Soft pairs teach: moons are found although every tenth pair is wrong; prices work too."""
    X, y, _ = moons
    rng = np.random.default_rng(1)
    pairs = draw_pairs(y, 120)
    both = np.concatenate([pairs["must_link"], pairs["cannot_link"]])
    together = (np.arange(120) < len(pairs["must_link"])) ^ (rng.random(120) < 0.1)
    soft = {"soft_must_link": both[together].tolist(), "soft_cannot_link": both[~together].tolist()}
    model = GuidedClustering(2, random_state=0).fit(X, must_link=[(0, 2)] if y[0] == y[2] else [],
                                                    **soft)  # fmt: skip
    assert adjusted_rand_score(y, model.labels_) > 0.9
    priced = Constraints(
        soft_must_link=both[together], soft_must_link_price=np.full(together.sum(), 0.5),
        n_points=len(X),
    )  # fmt: skip
    labels = GuidedClustering(2, random_state=0).fit(X, constraints=priced).labels_
    assert len(np.unique(labels)) == 2


def test_labels(moons):
    """Ten labelled points of each class are enough for moons, and they keep their classes."""
    X, y, _ = moons
    partial = np.full(len(y), -1)
    for c in (0, 1):
        partial[np.flatnonzero(y == c)[::12]] = c
    model = GuidedClustering(2, random_state=0).fit(X, constraints=Constraints.from_labels(partial))
    assert adjusted_rand_score(y, model.labels_) > 0.95
    known = partial >= 0
    assert adjusted_rand_score(partial[known], model.labels_[known]) == 1.0


def test_without_pairs(moons):
    """Without pairs the views agree among themselves, and nothing is held out."""
    X, _, _ = moons
    model = GuidedClustering(2, random_state=0).fit(X)
    assert set(model.view_weights_) == {"given", "graph", "parts"}
    assert model.held_out_ == {}
    assert "no pairs" in model.notes_[0]


@pytest.mark.parametrize("pairs", [{"must_link": [(0, 1)]}, {"cannot_link": [(0, 1), (2, 3)]}])
def test_few_pairs(moons, pairs):
    """A single pair, or two of one kind, hold; weights stay close to equal."""
    X, _, _ = moons
    model = GuidedClustering(2, random_state=0).fit(X, **pairs)
    assert holds(model.labels_, **pairs)
    assert max(model.view_weights_.values()) < 0.3


class Radius:
    """A view of one's own: the distance from the middle."""

    name = "radius"

    def prepare(self, X, n_clusters, seed):
        self.middle = X.mean(axis=0)

    def see(self, scene: Scene) -> Seen:
        radius = np.linalg.norm(scene.X - self.middle, axis=1)[:, None]
        labels = scene.cluster(radius)
        means = np.array([radius[labels == k].mean() for k in range(scene.n_clusters)])
        return Seen(labels, radius, model=means)

    def place(self, seen: Seen, X) -> Seen:
        radius = np.linalg.norm(X - self.middle, axis=1)[:, None]
        return Seen(np.abs(radius - seen.model).argmin(axis=1), radius)


def test_a_view_of_ones_own():
    """An object with prepare, see and place is a view; alone and beside others."""
    rng = np.random.default_rng(0)
    angle, y = rng.random(200) * 6.28, np.arange(200) % 2
    radius = np.where(y == 0, 1.0, 2.0) + rng.normal(size=200) * 0.2
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    pairs = draw_pairs(y, 40)
    mine = Radius()
    for views in ([mine], ["given", mine]):
        model = GuidedClustering(2, views=views, random_state=0).fit(X, **pairs)
        assert adjusted_rand_score(y, model.labels_) > 0.9
        assert adjusted_rand_score(y, model.predict(X)) > 0.9
    assert model.view_weights_["radius"] > 0.8
    assert not hasattr(mine, "middle")  # the view that was given is not changed


@pytest.mark.parametrize("views", ["graph", ["parts"], ["given", "classes"]])
def test_some_views(moons, views):
    """One name, a list of one, and some of them."""
    X, _, pairs = moons
    model = GuidedClustering(2, views=views, random_state=0).fit(X, **pairs)
    assert holds(model.labels_, **pairs)
    assert set(model.view_weights_) == {views} if isinstance(views, str) else set(views)


def test_errors(moons):
    """Unknown views, Dask, sparse data and contradictions get a sentence; nothing is changed."""
    X, _, pairs = moons
    for views, message in (
        ("round", "'round' is neither"), ([3], "neither the name"), ([], "one view or several"),
        (["given", "given"], "different names"),
    ):  # fmt: skip
        with pytest.raises(InvalidInputError, match=message):
            GuidedClustering(2, views=views).fit(X, **pairs)
    with pytest.raises(InfeasibleConstraintsError):
        GuidedClustering(2).fit(X, must_link=[(0, 1)], cannot_link=[(1, 0)])
    with pytest.raises(InvalidInputError, match="max_time"):
        GuidedClustering(2, max_time=-1).fit(X)


def test_time_and_callback(moons):
    """With no time there is still an answer that holds; a callback ends the run; Ctrl-C leaves the
    model as it was."""
    X, _, pairs = moons
    model = GuidedClustering(2, max_time=0.0, random_state=0).fit(X, **pairs)
    assert holds(model.labels_, **pairs)
    assert set(model.view_weights_) == {"given"}
    assert "Time ran out" in " ".join(model.notes_)
    stopped = GuidedClustering(2, callback=lambda state: True, random_state=0).fit(X, **pairs)
    assert holds(stopped.labels_, **pairs)

    def interrupt(state):
        raise KeyboardInterrupt

    before = model.labels_
    with pytest.raises(KeyboardInterrupt):
        model.set_params(callback=interrupt, max_time=None).fit(X, **pairs)
    assert model.labels_ is before


def test_many_rows(moons, monkeypatch):
    """Beyond a number of rows some are seen and the others placed; all pairs hold all the same."""
    X, y, pairs = moons
    monkeypatch.setattr(guided_module, "MAX_ROWS", 150)
    monkeypatch.setattr(consensus_module, "MAX_WEIGHED", 100)
    model = GuidedClustering(2, size_min=100, random_state=0).fit(X, **pairs)
    assert holds(model.labels_, **pairs)
    assert len(model.views_["given"].labels) == 150
    assert model.cluster_sizes_.min() >= 100
    assert adjusted_rand_score(y, model.labels_) > 0.9


def test_threads_are_put_back(moons):
    """BLAS has as many threads after a fit as before."""
    from threadpoolctl import threadpool_info

    X, _, pairs = moons
    before = [pool["num_threads"] for pool in threadpool_info()]
    GuidedClustering(2, views=["given"], random_state=0).fit(X, **pairs)
    assert [pool["num_threads"] for pool in threadpool_info()] == before


def test_odd_data():
    """Equal points, one column, more columns than points, weights."""
    pairs = {"must_link": [(0, 1), (1, 5)], "cannot_link": [(0, 3)]}
    rng = np.random.default_rng(0)
    for X in (np.ones((12, 3)), np.arange(12.0)[:, None], rng.normal(size=(12, 40))):
        model = GuidedClustering(2, random_state=0).fit(X, sample_weight=np.arange(1, 13), **pairs)
        assert holds(model.labels_, **pairs)
        assert len(model.predict(X)) == 12


def dense(seed=0, n=150, k=5, n_pairs=900):
    """Blobs that overlap, and so many cannot-links that some labels are hard to find."""
    rng = np.random.default_rng(seed)
    X, y = make_blobs(n, centers=k, n_features=4, cluster_std=4.0, random_state=seed)
    pairs = rng.integers(0, n, (20 * n_pairs, 2))
    return X, pairs[y[pairs[:, 0]] != y[pairs[:, 1]]][:n_pairs]


@pytest.mark.parametrize("max_time", [0.0, 1.0])
def test_dense_cannot_links_hold_whatever_the_time(max_time):
    """Labels that keep everything come first, and stand in for what there is no time for."""
    X, pairs = dense()
    model = GuidedClustering(5, max_time=max_time, random_state=0).fit(X, cannot_link=pairs)
    assert Problem.build(X, 5, None, pairs).holds(model.labels_)
    if max_time == 0:
        assert model.held_out_ == {}
        assert "Time ran out" in model.notes_[-1]


class Watch:
    """A view that sees the first labels and notes how much time it gets."""

    def __init__(self, name, seconds):
        self.name, self.seconds = name, seconds

    def __deepcopy__(self, memo):
        return self

    def prepare(self, X, n_clusters, seed):
        pass

    def see(self, scene):
        self.seconds.append(scene.engine.clock.left())
        return Seen(scene.plain)

    def place(self, seen, X):
        return Seen(np.zeros(len(X), dtype=int))


def test_every_view_gets_a_share_of_the_time(moons):
    """Views that are weighed get a small share each; later, each one a share of what is left."""
    X, _, pairs = moons
    seconds = []
    views = [Watch(name, seconds) for name in "abc"]
    GuidedClustering(2, views=views, max_time=1000, random_state=0).fit(X, **pairs)
    weighing, seeing = seconds[:-3], seconds[-3:]
    assert len(weighing) == 4 * 3
    assert max(weighing) < 1000 / 10
    assert seeing == sorted(seeing)
    assert seeing[0] <= 1000 / 4
    assert seeing[2] <= 1000 / 2


@pytest.mark.parametrize("view", ["graph", "graph-learned", "learned", "parts", "classes"])
def test_weights_count_in_every_view(moons, view):
    """The unit of weights plays no part; points of hardly any weight do not decide on others."""
    X, y, pairs = moons
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(X))

    def fit(points, weight):
        model = GuidedClustering(2, views=[view], random_state=0)
        return model.fit(points, sample_weight=weight, **pairs).labels_

    if view in ("graph", "parts"):  # elsewhere a weight is a number of points to learn from
        assert adjusted_rand_score(fit(X, weight), fit(X, 8 * weight)) == 1
    if view == "parts":  # its small clusters are drawn, others from other rows
        return
    bridge = np.column_stack([np.linspace(-0.5, 1.5, 40), np.full(40, 0.25)])
    light = np.r_[np.ones(len(X)), np.full(40, 1e-9)]
    found = fit(np.vstack([X, bridge]), light)[: len(X)]
    assert adjusted_rand_score(y, found) >= adjusted_rand_score(y, fit(X, None)) - 0.1


def test_broken_soft_pairs_are_told():
    """broken_ holds the soft pairs that are not kept, and objective_ adds their prices."""
    X = np.concatenate([np.arange(8.0), 100 + np.arange(8.0)])[:, None]
    known = Constraints(
        must_link=[(0, 1)], cannot_link=[(0, 8)], n_points=16,
        soft_must_link=[(2, 3, 0.9), (4, 12, 0.6)],
    )  # fmt: skip
    model = GuidedClustering(2, views="given", random_state=0).fit(X, constraints=known)
    (broken,) = model.broken_
    assert broken.pair == (4, 12)
    assert (broken.kind, broken.confidence) == ("must_link", 0.6)
    assert np.isnan(broken.keeping)
    assert broken.price > 0
    assert model.objective_ == pytest.approx(model.inertia_ + broken.price)
    assert broken.price == pytest.approx(model.soft_prices_(broken.confidence))
    model.fit(X, must_link=[(0, 1)])
    assert model.broken_ == []
    assert model.objective_ == model.inertia_


def test_tight_quotas_end_within_their_time(monkeypatch):
    """Where no labels keep six sums to a hair, the search for them ends, and says so."""
    monkeypatch.setattr("smdeclust.estimators.guided.GRACE", 0.1)
    rng = np.random.default_rng(0)
    X, known = rng.normal(size=(120, 3)), Constraints(n_points=120)
    for i in range(6):
        v = rng.normal(size=120)
        low, high = v.sum() / 6 - 1e-4, v.sum() / 6 + 1e-4
        known = known.quota(v, low=low, high=high, of="sum", name=f"v{i}")
    with pytest.raises(NoFeasibleSolutionError, match="quotas"):
        GuidedClustering(6, random_state=0, max_time=0.1).fit(X, constraints=known)
