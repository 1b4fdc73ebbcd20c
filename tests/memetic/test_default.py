"""The default of SMDEClust: several populations, wired to the real operators."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import adjusted_rand_score

from smdeclust import InvalidInputError, Problem, SMDEClust

X, y = load_iris(return_X_y=True)
PAIRS = {"must_link": [(0, 1), (50, 51)], "cannot_link": [(0, 100), (50, 149), (2, 3), (2, 60)]}


def test_agreement_of_populations():
    """On easy data two populations agree at once, and the counts cover both of them."""
    model = SMDEClust(3, random_state=0).fit(X, **PAIRS)
    assert model.stop_reason_ == "agreement"
    assert model.n_populations_ == 2
    assert model.n_local_searches_ >= 10 * model.n_populations_
    history = model.history_
    assert (np.diff(history["generation"]) >= 0).all()
    assert history["evaluations"][-1] == model.n_local_searches_
    assert history["generation"][-1] == model.n_iter_ + model.n_populations_ - 1


def test_united_population_where_none_agree():
    """When all populations are spent, one more unites them; nothing is lost."""
    data = load_wine(return_X_y=True)[0]
    settings = {"population_size": 4, "max_generations": 1, "max_populations": 4}
    model = SMDEClust(12, n_agree=5, random_state=0, **settings).fit(data)
    assert (model.stop_reason_, model.n_populations_) == ("max_populations", 5)
    assert model.inertia_ == pytest.approx(model.history_["best"].min())


def test_paper_is_one_population():
    """from_paper runs plain Algorithm 1."""
    model = SMDEClust.from_paper("SG-MDE", n_clusters=3, random_state=0).fit(X, **PAIRS)
    assert model.n_populations_ == 1
    assert model.stop_reason_ in ("collapse", "no_improvement")
    assert model.n_local_searches_ == 20 * (model.n_iter_ + 1)


@pytest.mark.parametrize("seed", range(3))
def test_same_seed_same_run(seed):
    """All populations are determined by the seed."""
    data = load_wine(return_X_y=True)[0]
    one, two = (SMDEClust(5, random_state=seed).fit(data, **PAIRS) for _ in range(2))
    np.testing.assert_array_equal(one.labels_, two.labels_)
    for name in set(one.history_) - {"time"}:
        np.testing.assert_array_equal(one.history_[name], two.history_[name])


@pytest.mark.parametrize("limit", [0.0, 1e-3, 0.02])
def test_max_time_keeps_the_best_so_far(limit):
    """Wherever the time ends, in whichever population, the answer is the best of the history."""
    model = SMDEClust(6, max_time=limit, random_state=0).fit(X, **PAIRS)
    assert Problem.build(X, 6, **PAIRS).violations(model.labels_) == (0, 0)
    assert model.inertia_ == pytest.approx(model.history_["best"][-1])


@pytest.mark.parametrize("bad", [{"max_populations": 2}, {"max_populations": 0}, {"n_agree": 0}])
def test_bad_numbers_of_populations(bad):
    """The message names the parameter."""
    with pytest.raises(InvalidInputError, match=next(iter(bad))):
        SMDEClust(3, **bad).fit(X)


@pytest.mark.data
@pytest.mark.parametrize("name", ["glass", "ecoli"])
def test_best_known_of_the_first_set(name, paper_data, monkeypatch):
    """The default finds the best known objective where the paper's setting often does not."""
    from smdeclust.datasets import load_constraints, load_set1

    monkeypatch.setenv("SMDECLUST_DATA", str(paper_data))
    file = Path(__file__).parents[2] / "benchmarks" / "best_objectives.json"
    best = json.loads(file.read_text())
    data = load_set1(name)
    size = 50 if name == "glass" else 100
    for configuration in (f"ml_{size}_cl_0_0", f"ml_0_cl_{size}_1", f"ml_0_cl_{size}_3"):
        pairs = load_constraints(data, configuration)
        links = {"must_link": pairs.must_link, "cannot_link": pairs.cannot_link}
        model = SMDEClust(data.n_clusters, random_state=5).fit(data.X, **links)
        assert model.inertia_ <= best[f"{name}/{configuration}"] * (1 + 1e-8)


@pytest.mark.data
def test_populations_that_must_agree_do_not_stop_at_the_second_best(paper_data, monkeypatch):
    """Two optima of this data set differ by 6e-6. SG-MDE, in the setting of the paper's heuristic
    comparison, collapses on the worse one at this seed; the default reaches the better."""
    from smdeclust.datasets import load_constraints, load_set3

    monkeypatch.setenv("SMDECLUST_DATA", str(paper_data))
    data = load_set3(5000, 2)
    pairs = load_constraints(data, "200")
    links = {"must_link": pairs.must_link, "cannot_link": pairs.cannot_link}
    setting = {"population_size": 10, "max_generations": 10, "max_local_iter": 25}
    one = SMDEClust.from_paper("SG-MDE", n_clusters=2, random_state=0, **setting)
    assert one.fit(data.X, **links).stop_reason_ == "collapse"
    model = SMDEClust(2, random_state=0).fit(data.X, **links)
    assert model.inertia_ <= one.inertia_
    assert model.inertia_ == pytest.approx(6826.735489683117, rel=1e-10)


def test_local_searches_are_limited():
    """A limit on local searches ends the run there; "auto" is none for small data, and the paper's
    setting has none."""
    X = np.random.default_rng(0).normal(size=(200, 2))
    model = SMDEClust(12, max_local_searches=35, random_state=0).fit(X)
    assert (model.n_local_searches_, model.stop_reason_) == (35, "max_local_searches")
    few = SMDEClust(3, random_state=0).fit(X)
    assert few.stop_reason_ != "max_local_searches"
    assert SMDEClust.from_paper("SG-MDE", n_clusters=3).search.max_local_searches is None
    with pytest.raises(InvalidInputError, match="max_local_searches"):
        SMDEClust(3, max_local_searches=0).fit(X)


def test_large_data_make_few_local_searches(monkeypatch):
    """Where points × features × clusters are many, the run ends after the least number."""
    monkeypatch.setattr("smdeclust.estimators.smdeclust.SEARCHES_TIMES_SIZE", 1.0)
    monkeypatch.setattr("smdeclust.estimators.smdeclust.LEAST_SEARCHES", 20)
    X = np.random.default_rng(0).normal(size=(300, 2))
    assert SMDEClust(15, random_state=0).fit(X).n_local_searches_ == 20


def test_very_many_clusters(monkeypatch):
    """With very many clusters starts are spread, trials may fail more often, and there are fewer
    searches: every entity is found, and pairs hold."""
    for module in ("estimators.smdeclust", "memetic.jumping", "memetic.operators"):
        monkeypatch.setattr(f"smdeclust.{module}.VERY_MANY", 20)
    monkeypatch.setattr("smdeclust.estimators.smdeclust.SEARCHES_TIMES_SIZE", 1.0)
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(100), 4)
    X = 3 * rng.normal(size=(100, 6))[y] + 0.2 * rng.normal(size=(400, 6))
    model = SMDEClust(100, random_state=0).fit(X, must_link=[(0, 1)], cannot_link=[(0, 4), (8, 12)])
    assert model.n_local_searches_ == 20
    assert adjusted_rand_score(y, model.labels_) == 1.0
