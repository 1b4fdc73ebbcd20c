"""Search: presets, the former names of its fields, and what it refuses."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from smdeclust import InvalidInputError, Search, SMDEClust

X = np.random.default_rng(0).normal(size=(80, 3)) + 3 * np.arange(80)[:, None] % 4


def test_presets():
    """Presets are searches by name; the standard one is what nobody has to name."""
    assert Search.preset("standard") == Search()
    assert Search.preset("quick") != Search()
    standard = SMDEClust(4, random_state=0).fit(X)
    named = SMDEClust(4, random_state=0, search=Search()).fit(X)
    assert np.array_equal(standard.labels_, named.labels_)
    quick = SMDEClust(4, search="quick", random_state=0).fit(X)
    assert quick.n_local_searches_ <= 10
    paper = SMDEClust(4, search="paper", random_state=0).fit(X)
    variant = SMDEClust.from_paper("SG-MDE", n_clusters=4, random_state=0).fit(X)
    assert paper.n_local_searches_ == variant.n_local_searches_
    assert paper.inertia_ == variant.inertia_


def test_former_names_work_with_a_warning():
    """A field of the search as a parameter of SMDEClust means the same, and says where it went."""
    with pytest.warns(FutureWarning, match=r"search=Search\(population_size=...\)"):
        before = SMDEClust(4, population_size=5, max_populations=1, random_state=0).fit(X)
    search = Search(population_size=5, max_populations=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        after = SMDEClust(4, search=search, random_state=0).fit(X)
        again = clone(after).fit(X)
    assert np.array_equal(before.labels_, after.labels_)
    assert before.n_local_searches_ == after.n_local_searches_ == again.n_local_searches_


def test_variants_take_fields_of_the_search():
    """from_paper takes both kinds of overrides."""
    model = SMDEClust.from_paper(
        "SM-MDE", n_clusters=3, population_size=6, max_generations=2, max_time=9
    )
    assert model.search.population_size == 6
    assert model.search.mutation
    assert model.search.assignment == "exact"
    assert model.max_time == 9


def test_it_is_a_small_value():
    """It cannot be changed, shows what differs from the standard, and makes changed copies."""
    search = Search(max_populations=4)
    with pytest.raises(AttributeError):
        search.tol = 1.0
    assert repr(search) == "Search(max_populations=4)"
    assert search.replace(max_populations=10) == Search()
    assert hash(search) == hash(Search(max_populations=4))
    assert "population_size\n    The size of a population, P, at least 4." in Search.__doc__


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"population_size": 3}, "population_size must be an integer of at least 4"),
        ({"assignment": "lucky"}, "assignment must be one of"),
        ({"mutation": 1}, "mutation must be True or False"),
        ({"scale_factor": (0.9, 0.1)}, "scale_factor"),
        ({"scale_factor": (0.1, 0.5, 0.9)}, "scale_factor"),
        ({"alpha": 2}, "alpha must be a number of at least 0 and at most 1"),
        ({"max_local_searches": "many"}, "max_local_searches"),
        ({"max_populations": 2}, "max_populations"),
        ({"colour": "red"}, "has no colour"),
    ],
)
def test_it_refuses_what_cannot_be(given, words):
    """Fields are checked when a search is made, and as former names when fit is called."""
    with pytest.raises(InvalidInputError, match=words):
        Search().replace(**given)
    if "colour" not in given:
        with pytest.warns(FutureWarning), pytest.raises(InvalidInputError, match=words):
            SMDEClust(3, **given).fit(X)


@pytest.mark.parametrize("search", ["fast", None, 3, {"tol": 1}])
def test_unknown_searches(search):
    """Anything else than a preset or a Search is refused by name."""
    with pytest.raises(InvalidInputError, match="search must be one of quick, standard, paper"):
        SMDEClust(3, search=search).fit(X)


def test_proven():
    """proven_ says in one word what n_unproven_ counts."""
    model = SMDEClust(4, search="quick", random_state=0).fit(X, cannot_link=[(0, 4), (4, 8)])
    assert model.proven_ is True
    assert model.n_unproven_ == 0
