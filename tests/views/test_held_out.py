"""Folds of knowledge, and what clusterings keep of what was held out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from smdeclust import Constraints, InvalidInputError, SMDEClust, held_out_score
from smdeclust.structure.groups import contract
from smdeclust.views import Fold, HeldOut, folds


def groups_of(known):
    return contract(len(known), known.must_link, known.cannot_link).of_point


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(4, 30), st.integers(2, 30), st.booleans())
def test_nothing_held_out_is_implied(seed, n, m, labelled):
    """What is held out follows from everything, and nothing of it from the rest of its fold."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    if labelled:
        known = Constraints.from_labels(np.where(rng.random(n) < 0.7, y, -1))
    else:
        pairs = rng.integers(0, n, (m, 2))
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        same = y[pairs[:, 0]] == y[pairs[:, 1]]
        known = Constraints(pairs[same], pairs[~same], n_points=n)
    whole = groups_of(known)
    apart = {frozenset(pair) for pair in whole[known.cannot_link].tolist()}
    cut = 0
    for fold in folds(known, np.random.default_rng(seed)):
        rest = groups_of(fold.known)
        rest_apart = {frozenset(pair) for pair in rest[fold.known.cannot_link].tolist()}
        for (i, j), together in zip(fold.pairs.tolist(), fold.together, strict=True):
            assert (y[i] == y[j]) == together
            if together:
                assert whole[i] == whole[j]
                assert rest[i] != rest[j]
                cut += 1
            else:
                assert frozenset((whole[i], whole[j])) in apart
                assert frozenset((rest[i], rest[j])) not in rest_apart
        assert len(fold.known.must_link) <= n - len(np.unique(whole))
    if known:
        expected = n - len(np.unique(whole))  # every edge of a star once
        assert cut in (expected, 0)


def test_labelled_points_are_set_free():
    """With labels, a fold frees labelled points and asks about all other classes."""
    labels = np.repeat([0, 1, 2], 6)
    for fold in folds(Constraints.from_labels(labels), np.random.default_rng(0)):
        free = set(fold.pairs[fold.together][:, 1].tolist())
        assert free
        group = groups_of(fold.known)
        assert len(fold.known.cannot_link) == 3  # the classes stay apart
        for row in free:
            assert (group == group[row]).sum() == 1
            others = fold.pairs[~fold.together & (fold.pairs == row).any(axis=1)]
            assert len({labels[i] for pair in others.tolist() for i in pair} - {labels[row]}) == 2


def test_pairs_that_happen_to_be_complete_are_no_labels():
    """A cannot-link beside must-links of other points is held out; two pairs make two folds."""
    rng = np.random.default_rng(0)
    for must in ([(0, 1)], [(0, 1), (4, 5), (6, 7)]):
        known = Constraints(must, [(2, 3)], n_points=8)
        held = np.concatenate([fold.together for fold in folds(known, rng)])
        assert (held.sum(), (~held).sum()) == (len(must), 1)
    assert len(list(folds(Constraints([(0, 1)], [(1, 2)], n_points=8), rng))) == 2


def test_soft_pairs_count_by_confidence():
    """Soft pairs are held out once, copies together, and weigh 2 p - 1."""
    known = Constraints(
        soft_must_link=[(0, 1, 0.9), (1, 0, 0.9), (2, 3, 0.5)],
        soft_cannot_link=[(0, 2, 0.75), (1, 3, 0.75)],
        n_points=4,
    )
    seen = []
    for fold in folds(known, np.random.default_rng(0)):
        assert len(fold.known.soft_must_link) + len(fold.known.soft_cannot_link) < 5
        for pair, together, weight in zip(fold.pairs, fold.together, fold.weight, strict=True):
            seen.append((*sorted(pair.tolist()), bool(together), round(float(weight), 6)))
        copies = sum(set(pair) == {0, 1} for pair in fold.pairs.tolist())
        assert copies in (0, 2)
    assert sorted(seen) == [
        (0, 1, True, 0.8), (0, 1, True, 0.8), (0, 2, False, 0.5), (1, 3, False, 0.5),
        (2, 3, True, 0.0),
    ]  # fmt: skip


def test_skill():
    """All kept is 1, one large cluster and every point alone are 0; one kind alone is against
    chance; leads have a standard error."""
    pairs = np.array([[0, 1], [2, 3], [0, 2], [1, 3]])
    fold = Fold(Constraints(n_points=4), pairs, np.array([True, True, False, False]), np.ones(4))
    held = HeldOut()
    right, one, alone = np.array([0, 0, 1, 1]), np.zeros(4, int), np.arange(4)
    held.add(fold, {"right": right, "one": one, "alone": alone})
    assert [held.skill(name) for name in ("right", "one", "alone")] == pytest.approx([1, 0, 0])
    assert held.kept("right") == 1
    assert held.kept("one") == pytest.approx(0.5)
    lead, error = held.lead("right", "one")
    assert lead == pytest.approx(1.0)
    assert error == pytest.approx(np.sqrt(0.5))
    single = HeldOut()
    single.add(Fold(fold.known, pairs[2:], np.zeros(2, bool), np.ones(2)), {"one": one, "r": right})
    assert single.skill("one") == pytest.approx(0.0)
    assert single.skill("r") == pytest.approx(0.5)


def test_skill_is_about_the_adjusted_rand_index():
    """Merged classes keep must-links cheaply: with all pairs held out, skills rank as the adjusted
    Rand index does, and the skill of a clustering of usual sizes is the index."""
    rng = np.random.default_rng(0)
    classes = np.arange(200) % 10
    noisy = np.where(rng.random(200) < 0.15, rng.integers(0, 10, 200), classes)
    labels = {"noisy": noisy, "merged": np.minimum(classes, 7), "right": classes}
    pairs = np.stack(np.triu_indices(200, 1), axis=1)
    together = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    held = HeldOut()
    held.add(Fold(Constraints(n_points=200), pairs, together, np.ones(len(pairs))), labels)
    for name, found in labels.items():
        assert held.skill(name) == pytest.approx(adjusted_rand_score(classes, found), abs=0.03)


def test_nothing_to_hold_out():
    """No pairs, or one: no folds."""
    rng = np.random.default_rng(0)
    assert list(folds(Constraints(n_points=5), rng)) == []
    assert list(folds(Constraints([(0, 1)], n_points=5), rng)) == []


def test_score_prefers_the_right_number_of_clusters_and_not_the_largest():
    """As scoring of a grid search over K it finds the K of the data; chance is 0 for any K."""
    from functools import partial

    from sklearn.model_selection import GridSearchCV

    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 20)
    X = rng.normal(size=(60, 2)) + 10 * np.eye(3, 2)[y] - 10 * (y == 2)[:, None]
    known = Constraints.from_labels(np.where(np.arange(60) % 3 == 0, y, -1))
    rows = np.arange(60)
    search = GridSearchCV(
        SMDEClust(3, max_time=1, random_state=0),
        {"n_clusters": [3, 4, 6]},
        scoring=partial(held_out_score, constraints=known),
        cv=[(rows, rows)],
    )
    search.fit(X, constraints=known)
    assert search.best_params_ == {"n_clusters": 3}
    assert search.best_score_ == pytest.approx(1.0)
    noise = rng.normal(size=(60, 2))
    chance = held_out_score(SMDEClust(6, random_state=0), noise, constraints=known)
    assert abs(chance) < 0.35


def test_score_needs_pairs():
    """One pair cannot be held out."""
    known = Constraints(must_link=[(0, 1)], n_points=4)
    with pytest.raises(InvalidInputError, match="at least two pairs"):
        held_out_score(SMDEClust(2), np.arange(8.0).reshape(4, 2), constraints=known)
