"""What was said: actions, undo and redo, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from smdeclust.exceptions import InvalidInputError
from smdeclust.studio.conflicts import find_conflict
from smdeclust.studio.wishes import Ground, History, Pair, Wishes, change

GROUND = Ground(10, ("a", "b", "c"))
FIRST = Wishes(3, ("a", "b", "c"))


def say(*pairs: list[int], together: bool = True, confidence: float = 1.0) -> dict[str, object]:
    return {
        "do": "pairs", "pairs": list(pairs), "together": together, "confidence": confidence,
    }  # fmt: skip


def test_pairs_replace_each_other() -> None:
    """There is one pair for two rows: the last thing said."""
    wishes = change(FIRST, say([1, 2], [3, 4]), GROUND)
    wishes = change(wishes, say([2, 1], together=False, confidence=0.8), GROUND)
    assert wishes.pairs == (Pair(3, 4, True), Pair(2, 1, False, 0.8))
    wishes = change(wishes, {"do": "drop", "pairs": [[1, 2]]}, GROUND)
    assert wishes.pairs == (Pair(3, 4, True),)


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ({}, "no action"),
        ({"do": "fly"}, "no action 'fly'"),
        (say([1, 1]), "cannot be paired with itself"),
        (say([1, 10]), "from 0 to 9"),
        (say([1, "2"]), "whole number"),
        (say([1, True]), "whole number"),
        (say([1, 2, 3]), "two rows"),
        ({"do": "pairs", "pairs": "x", "together": True}, "list of two rows"),
        ({"do": "pairs", "pairs": [[0, 1]], "together": "yes"}, "true or false"),
        (say([0, 1], confidence=0.3), "from 0.5 to 1"),
        (say([0, 1], confidence=float("nan")), "from 0.5 to 1"),
        ({"do": "set", "n_clusters": 0}, "from 1 to 10"),
        ({"do": "set", "n_clusters": 11}, "from 1 to 10"),
        ({"do": "set", "size_min": 5, "size_max": 4}, "5 is above the largest size 4"),
        ({"do": "set", "columns": []}, "At least one column"),
        ({"do": "set", "columns": ["z"]}, "no column 'z'"),
        ({"do": "set", "metric": "best"}, "one of euclidean"),
        ({"do": "set", "colour": 1}, "no setting 'colour'"),
        ({"do": "name", "cluster": 3, "name": "x"}, "from 0 to 2"),
        ({"do": "set", "quotas": "a"}, "list of quotas"),
        ({"do": "set", "quotas": [{"column": "z", "of": "sum", "low": 1}]}, "no column 'z'"),
        ({"do": "set", "quotas": [{"column": "a", "of": "half", "low": 1}]}, "one of share"),
        ({"do": "set", "quotas": [{"column": "a", "of": "share", "low": 2}]}, "from 0 to 1"),
        ({"do": "set", "quotas": [{"column": "a", "of": "count", "low": -1}]}, "not negative"),
        ({"do": "set", "quotas": [{"column": "a", "of": "sum", "low": "x"}]}, "must be a number"),
    ],
)
def test_refused(action: dict[str, object], words: str) -> None:
    """A wrong action is a sentence that says what was wrong."""
    with pytest.raises(InvalidInputError, match=words):
        change(FIRST, action, GROUND)


def test_undo_and_redo() -> None:
    """Any number of steps back and forth ends where it was; something new ends redo."""
    history = History((FIRST,))
    seen = [FIRST]
    for k in range(1, 6):
        history = history.then(change(history.now, say([0, k]), GROUND))
        seen.append(history.now)
    for wishes in seen[-2::-1]:
        history = history.undo()
        assert history.now == wishes
    assert not history.can_undo
    for wishes in seen[1:]:
        history = history.redo()
        assert history.now == wishes
    history = history.undo().then(FIRST)
    assert not history.can_redo


def test_conflict_with_ways_out() -> None:
    """A chain of must-links against a new cannot-link: the chain, and each way out works."""
    wishes = change(FIRST, say([0, 1], [1, 2]), GROUND)
    new = Pair(0, 2, False)
    wanted = change(wishes, say([0, 2], together=False), GROUND)
    conflict = find_conflict(wanted, GROUND, [new])
    assert conflict is not None
    assert {tuple(pair[:2]) for pair in conflict["pairs"]} == {(0, 1), (1, 2), (0, 2)}
    assert [way["label"] for way in conflict["ways"]] == [
        "Make the new pair soft (90% sure)",
        "Drop",
        "Drop",
    ]
    for way in conflict["ways"]:
        after = wishes
        for action in way["actions"]:
            after = change(after, action, GROUND)
        assert find_conflict(after, GROUND, []) is None
        assert any(pair.key == (0, 2) for pair in after.pairs)


def test_too_many_apart() -> None:
    """Four points all apart need a fourth cluster, and one of the ways is just that."""
    apart = [[i, j] for i in range(4) for j in range(i)]
    wanted = change(FIRST, say(*apart, together=False), GROUND)
    conflict = find_conflict(wanted, GROUND, [Pair(0, 3, False)])
    assert conflict is not None
    assert len(conflict["pairs"]) == 6
    more = next(way for way in conflict["ways"] if way["label"] == "One more cluster")
    after = wanted
    for action in more["actions"]:
        after = change(after, action, GROUND)
    assert after.n_clusters == 4
    assert find_conflict(after, GROUND, []) is None


def test_random_wishes_are_judged_as_problems_are() -> None:
    """On random pairs, a conflict is found exactly where the problem is infeasible."""
    from smdeclust import InfeasibleConstraintsError, Problem

    rng = np.random.default_rng(0)
    for _ in range(100):
        pairs = {}
        for i, j in rng.integers(0, 10, (8, 2)).tolist():
            if i != j:
                pair = Pair(i, j, bool(rng.integers(2)))
                pairs[pair.key] = pair
        wishes = Wishes(2, ("a",), pairs=tuple(pairs.values()))
        must = [p.key for p in pairs.values() if p.together]
        cannot = [p.key for p in pairs.values() if not p.together]
        try:
            Problem.build(np.arange(10.0)[:, None], 2, must, cannot)
            feasible = True
        except InfeasibleConstraintsError:
            feasible = False
        assert (find_conflict(wishes, GROUND, []) is None) == feasible


def test_quotas_become_constraints_and_contradictions_sentences() -> None:
    """A quota on a value is counted as it is; one that no clustering meets is refused in words."""
    gender = ["f", "m"] * 5
    ground = Ground(10, ("gender", "age"), {"gender": gender, "age": [1.0] * 10}.__getitem__)
    wishes = Wishes(2, ("age",))
    half = {"column": "gender", "of": "share", "value": "f", "low": 0.4, "high": 0.6}
    wishes = change(wishes, {"do": "set", "quotas": [half]}, ground)
    (quota,) = wishes.constraints(ground).quotas
    assert (quota.low, quota.high, quota.of) == (0.4, 0.6, "share")
    assert quota.counts.tolist() == [1.0, 0.0] * 5
    assert find_conflict(wishes, ground, []) is None
    assert change(Wishes(2, ("age",)), {"do": "set", "quotas": wishes.settings()["quotas"]}, ground)
    for wrong in (
        {"column": "gender", "of": "count", "low": 4},
        {"column": "age", "of": "sum", "low": 6},
        {"column": "gender", "of": "count", "value": "x", "low": 1},
        {"column": "age", "of": "sum"},
    ):
        wanted = change(wishes, {"do": "set", "quotas": [wrong]}, ground)
        conflict = find_conflict(wanted, ground, [])
        assert conflict is not None, wrong
        assert conflict["sentence"].endswith(".")
