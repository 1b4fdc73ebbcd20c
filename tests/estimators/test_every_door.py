"""The same knowledge is taken, or refused in the same words, wherever it is handed in."""

from __future__ import annotations

import numpy as np
import pytest

from smdeclust import Constraints, InvalidInputError, SMDEClust, certify, verify

X = np.arange(12.0)[:, None] ** 1.5
MUST, CANNOT = [(0, 1)], [(2, 3)]
KNOWN = Constraints(MUST, CANNOT, n_points=12)
QUICK = {"max_populations": 1, "max_no_improvement": 5, "random_state": 0}


def test_certify_takes_lists_of_sizes():
    """K bounds as SMDEClust takes them; the labels must fit them in some order."""
    apart = X + 40.0 * np.repeat([0, 1, 2], [2, 4, 6])[:, None]
    model = SMDEClust(3, size_min=[2, 4, 6], size_max=[2, 4, 6], **QUICK).fit(apart)
    bounds = {"size_min": [6, 2, 4], "size_max": [6, 2, 4]}
    proof = certify(apart, model.labels_, **bounds)
    assert proof.upper_bound == pytest.approx(model.inertia_)
    assert sorted(np.bincount(proof.labels)) == [2, 4, 6]
    found = verify(apart, proof, n_clusters=3, **bounds)
    assert found.lower_bound <= model.inertia_ * (1 + 1e-12)
    with pytest.raises(InvalidInputError, match="2 to 6 points"):
        certify(apart, model.labels_, size_max=[5, 5, 5])
    with pytest.raises(ValueError, match="break the sizes"):
        verify(apart, proof, size_max=[5, 6, 5], size_min=[3, 3, 3])
    with pytest.raises(ValueError, match="not one number or 3"):
        verify(apart, proof, size_max=[5, 6])


def test_constraints_are_taken_by_certify_verify_and_plots():
    """constraints= means the same as bare pairs."""
    labels = SMDEClust(3, **QUICK).fit(X, constraints=KNOWN).labels_
    one = certify(X, labels, constraints=KNOWN)
    other = certify(X, labels, must_link=MUST, cannot_link=CANNOT)
    assert one.lower_bound == other.lower_bound
    assert verify(X, one, constraints=KNOWN).lower_bound == pytest.approx(one.lower_bound)
    with pytest.raises(InvalidInputError, match="were both given"):
        certify(X, labels, constraints=KNOWN, must_link=MUST)
    soft = KNOWN.add(soft_must_link=[(4, 5)])
    with pytest.raises(InvalidInputError, match="certify does not support soft pairs"):
        certify(X, labels, constraints=soft)
    plotting = pytest.importorskip("smdeclust.plotting")
    from matplotlib import pyplot

    ax = plotting.plot_clusters(X, labels, constraints=soft)
    assert "must-link" in " ".join(text.get_text() for text in ax.get_legend().get_texts())
    pyplot.close(ax.figure)


def test_predict_takes_bare_pairs():
    """must_link= and cannot_link= of predict are pairs of the new rows."""
    model = SMDEClust(3, **QUICK).fit(X)
    new = [[0.1], [0.2], [40.0]]
    apart = model.predict(np.array(new), cannot_link=[(0, 1)])
    assert apart[0] != apart[1]
    same = model.predict(np.array(new), constraints=Constraints(must_link=[(0, 2)], n_points=3))
    assert np.array_equal(model.predict(np.array(new), must_link=[(0, 2)]), same)
    assert np.array_equal(model.predict(new, must_link=[(0, 2)]), same)
    with pytest.raises(InvalidInputError, match="not both"):
        model.predict(np.array(new), must_link=[(0, 1)], constraints=KNOWN)


def test_confidences_below_a_half_are_refused_at_every_door(tmp_path):
    """As a triple, as an array, for all pairs, from CSV and from JSON: the same sentence."""
    for given in (
        {"soft_must_link": [(0, 1, 0.3)]},
        {"soft_must_link": [(0, 1)], "soft_must_link_confidence": [0.3]},
        {"soft_must_link": [(0, 1)], "soft_must_link_confidence": 0.3},
        {"soft_cannot_link": np.array([[0, 1, 0.3]])},
    ):
        with pytest.raises(InvalidInputError, match=r"opposite is more likely.*0\.7"):
            Constraints(**given, n_points=3)
    files = {
        "a.csv": "i,j,type,confidence\n0,1,ml,0.3\n",
        "a.json": '{"sml": [[0, 1]], "sml_proba": [0.3]}',
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(InvalidInputError, match=r"from 0\.5 to 1"):
            Constraints.read(tmp_path / name, n_points=3)


def test_infinite_prices_are_not_written_as_nan(tmp_path):
    """Files hold no prices; an infinite one is refused like any other."""
    known = Constraints(soft_must_link=[(0, 1)], soft_must_link_price=[np.inf], n_points=3)
    with pytest.raises(InvalidInputError, match="have a price"):
        known.write(tmp_path / "a.csv")
    assert not (tmp_path / "a.csv").exists()
    known.hardened().write(tmp_path / "a.csv")
    assert len(Constraints.read(tmp_path / "a.csv", n_points=3).must_link) == 1


def test_no_groups_of_some_points():
    """An empty list of groups says how many points there are where that is given."""
    for kind in ("must_link", "cannot_link"):
        assert len(Constraints.from_groups([], n_points=3, kind=kind)) == 3
        assert len(Constraints.from_groups([], ids=["a", "b"], kind=kind)) == 2
    with pytest.raises(InvalidInputError, match="3 entries.*n_points=5"):
        Constraints.from_groups([0, 0, 1], n_points=5)


@pytest.mark.parametrize("labels", [[[0, 1], [1, 0]], [np.zeros(2), np.ones(2)], [{}, {}]])
def test_labels_are_one_entry_a_point(labels):
    """Labels in two dimensions, or of things that are no names, are refused by position."""
    with pytest.raises(InvalidInputError, match="labels must have one entry per point.*entry 0"):
        Constraints.from_labels(labels)


def test_plain_lists_with_pairs():
    """Rows in a list, whose method `index` is no index."""
    rows = [[0.0], [1.0], [9.0], [9.5]]
    model = SMDEClust(2, **QUICK).fit(rows, cannot_link=[(0, 1)])
    assert model.labels_[0] != model.labels_[1]
