"""Plans: expansion, identity of runs, order, and the paper's numbers."""

from __future__ import annotations

import pytest

from smdeclust.exceptions import InvalidInputError
from smdeclust.paper import EXPERIMENTS, SCALES, Data, Method, Part, Plan, paper_plan
from smdeclust.paper.plan import in_order
from tests.paper import toy


def test_a_part_is_the_product_of_its_factors() -> None:
    """Two methods, two configurations and three seeds are twelve different runs."""
    part = Part((toy.method("a"), toy.method("b", pause=1)), (toy.data("x", "y"),), (0, 1, 2))
    runs = Plan("p", "P", (part,)).runs()
    assert len(runs) == 12
    assert len({run.key for run in runs}) == 12


def test_equal_runs_of_two_experiments_are_one() -> None:
    """The name of a method does not make a run another one; its settings do."""
    first, second = toy.plan(toy.method("a")), toy.plan(toy.method("b"))
    assert len(in_order([first, second])) == 1
    third = toy.plan(toy.method("a", pause=0.5))
    assert len(in_order([first, second, third])) == 2


def test_lower_priority_numbers_run_first() -> None:
    """The order of runs over plans is that of the priorities of their parts."""
    late = Plan("l", "L", (Part((toy.method("late", pause=1),), (toy.data(),), (0,), priority=9),))
    soon = Plan("s", "S", (Part((toy.method("soon"),), (toy.data(),), (0,), priority=1),))
    assert [run.method.name for run in in_order([late, soon])] == ["soon", "late"]


def test_plans_survive_the_way_through_text() -> None:
    """to_json and from_json are inverse on every plan of the paper, at every scale."""
    for scale in SCALES:
        for name in EXPERIMENTS:
            plan = paper_plan(name, scale)
            again = Plan.from_json(plan.to_json())
            assert [run.key for run in again.runs()] == [run.key for run in plan.runs()]
            assert again.skipped == plan.skipped


def test_the_paper_scale_has_the_papers_numbers_of_runs() -> None:
    """Methods times configurations times seeds, as the paper's text says."""
    expected = {
        "variants": 4 * 3 * 30 * 5,
        "synthetic": 3 * 18 * 7 * 3,
        "large": 3 * 5 * 4 * 3,
        "exact": 2 * 10 * 30 * 5 + 10 * 30,
        "soft": 3 * 5 * 30 * 5,
        "violations": 10 + 3 * (18 + 5),
    }
    for name, count in expected.items():
        plan = paper_plan(name, "paper")
        assert len(plan.runs()) == count
        assert not plan.skipped


def test_what_a_smaller_scale_leaves_out_is_listed() -> None:
    """Every data set of the paper's plan is either in the smaller plan or in its list."""
    for name in EXPERIMENTS:
        everything = {run.dataset for run in paper_plan(name, "paper").runs()}
        for scale in ("small", "smoke"):
            plan = paper_plan(name, scale)
            taken = {run.dataset for run in plan.runs()}
            listed = {item.what for item in plan.skipped}
            assert everything <= taken | listed


def test_smoke_needs_no_data_of_the_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the folder of data, stand-ins and made data take over, and the list says so."""
    monkeypatch.delenv("SMDECLUST_DATA", raising=False)
    plan = paper_plan("exact", "smoke")
    assert {run.dataset for run in plan.runs()} == {"sklearn-iris", "sklearn-wine"}
    assert any(item.what == "iris" and "is used" in item.reason for item in plan.skipped)
    assert paper_plan("large", "smoke").runs() == []


def test_unknown_names_are_errors_that_list_the_known_ones() -> None:
    """A wrong experiment or scale names those there are."""
    with pytest.raises(InvalidInputError, match="variants"):
        paper_plan("variant")
    with pytest.raises(InvalidInputError, match="smoke"):
        paper_plan("variants", "tiny")


def test_an_unconstrained_part_counts_pairs_instead_of_running_each_configuration() -> None:
    """One run per data set and seed, which counts the broken pairs of every configuration."""
    part = Part((toy.method(),), (toy.data("a", "b"),), (0, 1), unconstrained=True)
    runs = part.runs()
    assert [(run.configuration, run.count) for run in runs] == [("none", ("a", "b"))] * 2


def test_a_method_can_be_changed_under_another_name() -> None:
    """`but` keeps the factory and the other settings."""
    changed = Method("m", "a:b", {"x": 1, "y": 2}).but("n", y=3)
    assert changed == Method("n", "a:b", {"x": 1, "y": 3})
    assert Data("d", ("c",)).loader.startswith("smdeclust.")
