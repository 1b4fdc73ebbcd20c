"""TableFeatures: any table becomes coordinates, and says what it did."""

from __future__ import annotations

import datetime
import json
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from smdeclust import Constraints, InvalidInputError, SMDEClust, TableFeatures
from smdeclust.tables.values import as_moments, values_of


def customers(n: int = 120) -> pd.DataFrame:
    """A table with one column of every kind."""
    rng = np.random.default_rng(0)
    joined = pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 3650, n), "D")
    income = [f"{v:,.2f}".translate(str.maketrans(",.", ".,")) for v in rng.lognormal(10, 1, n)]
    table = pd.DataFrame(
        {
            "customer_id": np.arange(n) + 10001,
            "name": [f"Ann Bell{i}" for i in range(n)],
            "age": rng.integers(18, 80, n).astype(float),
            "income": income,
            "channel": rng.choice(["retail", "wholesale", "online"], n),
            "active": rng.choice(["ja", "nein"], n),
            "since": pd.Series(joined).dt.strftime("%d.%m.%Y"),
            "plz": [f"{i:05d}" for i in rng.integers(0, 99999, n)],
            "fax": [None] * (n - 20) + ["x"] * 20,
            "firm": "ACME",
            "wt": rng.uniform(0.5, 1.5, n),
            "note": [f"a note about {rng.choice(['cats', 'dogs'])} and {i}" for i in range(n)],
            "target": rng.integers(0, 3, n),
        }
    )
    table.loc[3, "age"] = None
    return table


ROLES = {
    "customer_id": "id", "name": "text", "age": "number", "income": "number",
    "channel": "category", "active": "yes/no", "since": "date", "plz": "left out",
    "fax": "left out", "firm": "left out", "wt": "weight", "note": "text", "target": "class",
}  # fmt: skip


def test_roles_and_reasons():
    """Every column has a role, a reason and what was done; ids, classes, weights are found."""
    table = customers()
    features = TableFeatures().fit(table)
    assert features.roles_ == ROLES
    assert (features.id_column_, features.class_column_) == ("customer_id", "target")
    assert features.weight_column_ == "wt"
    assert features.reasons_["fax"] == "83% empty"
    assert "1 missing" in features.done_["age"]
    assert [line[0] for line in features.describe()] == list(table)
    names = features.get_feature_names_out().tolist()
    assert names[:2] == ["age", "income"]
    assert "channel=retail" in names
    assert features.columns_out()[-1] == "since"
    Z = features.transform(table)
    assert Z.shape == (120, len(names)) == (120, 7)
    assert np.isfinite(Z).all()


def test_names_are_ids_where_there_are_no_others():
    """People's names that are all different name the rows, unless an id column does."""
    table = customers()
    assert TableFeatures().fit(table.drop(columns="customer_id")).roles_["name"] == "id"
    table.loc[1, "name"] = table.loc[0, "name"]
    assert TableFeatures().fit(table.drop(columns="customer_id")).roles_["name"] == "text"
    table = table[["age", "note"]].assign(
        film=[f"The Movie {i}" for i in range(120)], link=[f"http://x.org/{i}" for i in range(120)]
    )
    roles = {"age": "number", "note": "text", "film": "id", "link": "left out"}
    assert TableFeatures().fit(table).roles_ == roles


def test_a_few_rows_have_ids_too():
    """Four different ids in a column named id name the rows of a tiny table."""
    table = pd.DataFrame({"id": list("xyzw"), "a": [1, 3, 5, 8], "b": [2, 4, 7, 9]})
    assert TableFeatures().fit(table).id_column_ == "id"


def test_texts_that_are_alike():
    """Texts without any difference but numbers give no large coordinates, nor do new texts."""
    table = pd.DataFrame({"t": [f"entry number {i} of them" for i in range(30)], "x": range(1, 31)})
    features = TableFeatures(roles={"t": "text", "x": "number"}).fit(table)
    other = features.transform(pd.DataFrame({"t": ["something else, entry 7"], "x": [3]}))
    assert np.abs(other).max() < 5
    assert np.abs(features.transform(table)).max() < 5


def test_what_is_called_an_id_is_no_number():
    """Ids that repeat, German numbers of customers, and whole numbers that all differ are said."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "customer_id": np.repeat(np.arange(100, 120), 2),
            "client key": np.repeat([f"k{i}" for i in range(20)], 2),
            "Kundennummer": rng.choice(90_000, 40, replace=False),
            "store_id": rng.choice(9, 40),
            "pay": rng.choice(90_000, 40, replace=False),
        }
    )
    features = TableFeatures().fit(table)
    assert list(features.roles_.values()) == ["left out", "id", "id", "category", "number"]
    assert "all different: an id?" in features.reasons_["pay"]


def test_given_roles():
    """A given role wins over the guess; text is used only where asked for."""
    table = customers()
    given = {"note": "text", "age": "category", "target": "ignore", "plz": "id"}
    features = TableFeatures(roles=given).fit(table)
    assert features.roles_["target"] == "left out"
    assert features.class_column_ is None
    names = features.get_feature_names_out()
    assert sum(name.startswith("note (text") for name in names) == 10
    assert "age=(other)" in names
    with pytest.raises(InvalidInputError, match="'wrong'.*expected one of number"):
        TableFeatures(roles={"age": "wrong"}).fit(table)
    with pytest.raises(InvalidInputError, match="no such column"):
        TableFeatures(roles={"agee": "number"}).fit(table)


def test_numbers_are_robust():
    """z = (x - median) / (IQR / 1.349), 3 z / sqrt(9 + z^2), deviation 1; gaps at the mean."""
    x = np.array([1.0, 2, 3, 4, 5.5, 6, 700, np.nan])
    Z = TableFeatures(roles={"x": "number"}).fit_transform(pd.DataFrame({"x": x}))[:, 0]
    there = x[:-1]
    z = (there - 4) / ((np.percentile(there, 75) - np.percentile(there, 25)) / 1.349)
    expected = 3 * z / np.sqrt(9 + z**2)
    assert abs(expected).max() < 3
    expected /= expected.std()
    assert Z[:-1] == pytest.approx(expected)
    assert Z[-1] == pytest.approx(expected.mean())


def test_units_and_order_do_not_matter():
    """Other units of a number, other names of levels, another order of rows: the same distances."""
    table = customers()[["age", "channel", "active"]]
    Z = TableFeatures().fit_transform(table)
    other = table.assign(age=1000 * table.age + 7)
    assert TableFeatures().fit_transform(other) == pytest.approx(Z)
    order = np.random.default_rng(1).permutation(len(table))
    assert TableFeatures().fit_transform(table.iloc[order]) == pytest.approx(Z[order])


@pytest.mark.parametrize("counts", [[50, 30, 20], [70, 30], [25] * 40])
def test_a_category_counts_like_a_number(counts):
    """Variances add up to 1, or a split by one value takes away what it does of a normal number;
    levels are equally far apart."""
    levels = np.repeat([f"l{i}" for i in range(len(counts))], counts)
    frame = pd.DataFrame({"level": levels})
    Z = TableFeatures().fit_transform(frame)
    assert Z.shape == (len(levels), {3: 3, 2: 1, 40: 31}[len(counts)])
    splits = [[Z[levels == each], Z[levels != each]] for each in np.unique(levels)]
    left = min(sum(((part - part.mean(0)) ** 2).sum() for part in both) for both in splits)
    removed = Z.var(axis=0).sum() - left / len(Z)
    assert removed <= 2 / np.pi + 1e-9
    assert Z.var(axis=0).sum() == pytest.approx(1) or removed == pytest.approx(2 / np.pi)
    gaps = [((Z[0] - z) ** 2).sum() for z in Z[levels != "l0"]]
    assert gaps == pytest.approx([gaps[0]] * len(gaps))


def test_new_rows():
    """New levels are at the mean; what was missing stays missing; wrong cells get a sentence."""
    table = customers()
    table["age"] = table["age"].map(lambda v: "unknown" if v != v else f"{v:.0f}")
    features = TableFeatures().fit(table)
    assert "'unknown' read as missing" in features.reasons_["age"]
    new = table.iloc[:4].copy()
    new.loc[0, "channel"] = "never seen"
    Z = features.transform(new)
    coder = features._coders["channel"]
    assert Z[0, 2:5] == pytest.approx(coder.mean)
    assert Z[3, 0] == pytest.approx(features._coders["age"].mean[0])
    new.loc[2, "age"] = "old"
    with pytest.raises(InvalidInputError, match="Column 'age', row 2: found 'old', expected a num"):
        features.transform(new)
    new["age"], new.loc[1, "since"] = 1, "31.31.2020"
    with pytest.raises(InvalidInputError, match="Column 'since', row 1: found '31.31.2020'"):
        features.transform(new)
    with pytest.raises(InvalidInputError, match="no column 'since', which was used as a date"):
        features.transform(table.drop(columns="since"))
    # Columns that are not used may be gone.
    assert features.transform(table[["since", "age", "income", "channel", "active"]]).shape[1] == 7


def test_seasons():
    """Dates of several years that prefer a season get it; dates all over the year do not."""
    rng = np.random.default_rng(0)
    years = rng.integers(2010, 2020, 300)
    spread = pd.to_datetime([f"{y}-01-01" for y in years]) + pd.to_timedelta(
        rng.integers(0, 365, 300), "D"
    )
    winter = pd.to_datetime([f"{y}-12-01" for y in years]) + pd.to_timedelta(
        rng.integers(0, 60, 300), "D"
    )
    features = TableFeatures().fit(pd.DataFrame({"sold": winter, "born": spread}))
    assert features.columns_out() == ["sold", "sold", "sold", "born"]


@pytest.mark.parametrize(
    "dates",
    [
        ["2024-03-31", "2023-12-01", "2022-07-15"],
        ["31.03.2024", "01.12.2023", "15.07.2022"],
        ["31/03/2024", "01/12/2023", "15/07/2022"],
        ["03/31/2024", "12/01/2023", "07/15/2022"],
        ["31 March 2024", "1 Dec 2023", "15 Jul 2022"],
        [datetime.date(2024, 3, 31), datetime.date(2023, 12, 1), datetime.date(2022, 7, 15)],
        pd.to_datetime(["2024-03-31", "2023-12-01", "2022-07-15"]).tz_localize("Europe/Berlin"),
    ],
)
def test_ways_to_write_dates(dates):
    """However dates are written, the same day is the same coordinate."""
    frame = pd.DataFrame({"when": list(dates) * 3})
    features = TableFeatures().fit(frame)
    assert features.roles_ == {"when": "date"}
    plain = pd.DataFrame({"when": pd.to_datetime(["2024-03-31", "2023-12-01", "2022-07-15"] * 3)})
    expected = TableFeatures().fit_transform(plain)
    assert features.transform(frame) == pytest.approx(expected, abs=2e-3)  # zones: some hours


def test_a_transformer_of_scikit_learn():
    """clone, pickle, JSON, set_output: the same coordinates."""
    table = customers().set_index(np.arange(120) + 5)
    features = TableFeatures(roles={"note": "text"})
    Z = features.fit_transform(table)
    assert not hasattr(clone(features), "roles_")
    assert np.array_equal(pickle.loads(pickle.dumps(features)).transform(table), Z)
    again = TableFeatures.from_dict(json.loads(json.dumps(features.as_dict())))
    assert np.array_equal(again.transform(table), Z)
    assert again.describe() == features.describe()
    framed = features.set_output(transform="pandas").transform(table)
    assert framed.columns.tolist() == features.get_feature_names_out().tolist()
    assert framed.index.equals(table.index)
    with pytest.raises(InvalidInputError, match="does not describe"):
        TableFeatures.from_dict({"columns": [{"name": "a"}]})


def test_other_frames():
    """polars and arrays give what pandas gives."""
    pl = pytest.importorskip("polars")
    table = customers()
    Z = TableFeatures().fit_transform(table)
    assert np.array_equal(TableFeatures().fit_transform(pl.from_pandas(table)), Z)
    out = TableFeatures().set_output(transform="polars").fit_transform(pl.from_pandas(table))
    assert isinstance(out, pl.DataFrame)
    array = np.random.default_rng(0).normal(size=(30, 2))
    assert TableFeatures().fit(array).get_feature_names_out().tolist() == ["x0", "x1"]


def test_in_a_pipeline_with_constraints_by_id():
    """Ids straight from the frame, from a column or the index; every pair holds."""
    table = customers()
    pairs = {"must_link": [(10001, 10007)], "cannot_link": [(10001, 10002), (10005, 10002)]}
    for frame, ids in (
        (table, table["customer_id"]),
        (table.set_index("customer_id"), table["customer_id"]),
    ):
        known = Constraints(**pairs, ids=ids)
        model = make_pipeline(TableFeatures(), SMDEClust(4, random_state=0))
        labels = model.fit(frame, smdeclust__constraints=known)[-1].labels_
        assert labels[0] == labels[6]
        assert labels[0] != labels[1] != labels[4]
        assert model.predict(frame.iloc[:3]).shape == (3,)


def test_tables_that_cannot_be_used():
    """No rows, no columns, nothing but ids, two columns of one name: a sentence each."""
    for frame, words in (
        (pd.DataFrame({"a": []}), "nothing to learn from"),
        (pd.DataFrame({"id": range(30)}), "No column can be used as a feature: id: id"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns named 'a'"),
        (np.zeros(3), "shape \\(3,\\)"),
    ):
        with pytest.raises(InvalidInputError, match=words):
            TableFeatures().fit(frame)
    with pytest.raises(InvalidInputError, match="Column 'name', row 0: found 'Ann Bell0'"):
        TableFeatures(roles={"name": "number"}).fit(customers())


@pytest.mark.parametrize(
    ("cells", "role", "first"),
    [
        (["-1 218,85 €", "1 000,00 €", "7,5 €"], "number", -1218.85),
        (["(1,136.73)", "2,000.00", "12,34,567.00"], "number", -1136.73),
        (["1.136,73-", "2,00", "3,50"], "number", -1136.73),
        (["\u2212¥5", "\\1,200", "￥7"], "number", -5),
        (["08:30", "10:15", "1:45:00"], "number", 8.5),
        (["0.987", "1.250", "1.500"], "number", 0.987),
        ([2.525, "-", "3,5", 4.0], "number", 2.525),
        (["+49 30 1234567", "+49 151 234 567", "+491712345678"], "text", None),
        ([9007199254740993, 9007199254740995, 9007199254740997], "id", None),
        ([2**70, 2**70 + 1, 2**70 + 2], "id", None),
        (["10-Nov-2022", "05-Jan-2023", "7-Feb-2023"], "date", "2022-11-10"),
        (["2022-11", "2023-01", "2023-02"], "date", "2022-11-01"),
        (["2022年11月10日", "2023年1月5日", "2023年2月7日"], "date", "2022-11-10"),
        ([20221110, 20230105, 20230207], "date", "2022-11-10"),
        (pd.period_range("2022-11", periods=3, freq="M"), "date", "2022-11-01"),
        (["11/10/2022", "05.01.2023", "02/25/2023"], "date", "2022-11-10"),
        (["12 Zimmer 2022", "13 Zimmer 2022", "14 Zimmer 2022"], "text", None),
        (["4. März 2019", "9. Oktober 2020", "11. Dez. 2020"], "date", "2019-03-04"),
        (["4 février 2019", "9 août 2020", "30 juillet 2020"], "date", "2019-02-04"),
        (["Mo, 4 Mar 2019", "Fri, 9 Oct 2020", "Sat, 30 Jan 2021"], "date", "2019-03-04"),
        (["März 2019", "Mai 2020", "Juni 2020"], "date", "2019-03-01"),
        (["03/2019", "11/2020", "05/2021"], "date", "2019-03-01"),
        (["1,200円", "350円", "7円"], "number", 1200),
        (["1 200,50 kr", "350,00 kr", "7,25 kr"], "number", 1200.5),
    ],
)
def test_spellings(cells, role, first):
    """Numbers, dates and codes are read as a person would, whatever wrote them."""
    table = pd.DataFrame({"x": cells, "other": np.arange(len(cells)) ** 2})
    features = TableFeatures().fit(table)
    assert features.roles_["x"] == role
    if first is not None:
        expected = first if role == "number" else 1970 + days_of(first) / 365.2425
        assert features.in_units(table)[0, 0] == pytest.approx(expected)


def days_of(date: str) -> int:
    return (datetime.date.fromisoformat(date) - datetime.date(1970, 1, 1)).days


@pytest.mark.parametrize(
    ("dates", "said"),
    [
        (["03/04/2024", "05/06/2023", "07/07/2022"], "; 03/04/2024 read month first"),
        (["03/04/2024", "25/06/2023", "07/07/2022"], "; 03/04/2024 read day first"),
        (["3.4.2024", "5.6.2023", "7.7.2022"], "; 3.4.2024 read day first"),
        (["03-04-2024", "06-25-2023", "07-07-2022"], "; 03-04-2024 read month first"),
        (["2024-03-04", "2023-05-06", "2022-07-07"], ""),
        (["13/04/2024", "25/06/2023", "07/07/2022"], ""),  # none of them can be read in two ways
    ],
)
@pytest.mark.parametrize("roles", [None, {"when": "date"}])
def test_dates_that_can_be_read_in_two_ways(dates, said, roles):
    """The description says whether the day or the month was read first, with an example."""
    done = TableFeatures(roles).fit(pd.DataFrame({"when": dates * 3})).done_["when"]
    assert done.endswith("outliers pulled in" + said)


@pytest.mark.parametrize("name", ["class", "Klasse", "Etikett", "classe", "clase", "Étiquette"])
def test_classes_in_other_languages(name):
    """A column is a class by its name in several languages, even if most of it is empty."""
    table = pd.DataFrame({"x": np.arange(40.0) ** 2, name: ["a", "b", "c"] * 13 + ["a"]})
    assert TableFeatures().fit(table).class_column_ == name
    table.loc[5:, name] = None
    features = TableFeatures().fit(table)
    assert (features.class_column_, features.columns_out()) == (name, ["x"])


def test_years_of_two_digits():
    """They are read as Excel reads them, whatever the year is now: 75 is not 2075."""
    born = {
        "3.12.75": 1975, "31.10.68 08:30": 1968, "1.1.30": 1930, "1.1.29": 2029,
        "15. Oktober 49": 1949, "2-Mar-24": 2024, "12/31/65": 1965, "2.3.2001": 2001,
        "15.10.2075": 2075,
    }  # fmt: skip
    read = as_moments(pd.Series(list(born)))
    assert read.column.dt.year.tolist() == list(born.values())


def test_words_among_dates():
    """A few words among dates are missing, and said; in new rows others are an error."""
    table = pd.DataFrame({"seen": [f"2022-01-{1 + i % 28:02}" for i in range(60)]})
    table.loc[4, "seen"] = "unbekannt"
    features = TableFeatures().fit(table)
    assert features.reasons_["seen"] == "dates; 'unbekannt' read as missing"
    assert "1 missing" in features.done_["seen"]
    assert features.gaps(table).sum() == 1
    with pytest.raises(InvalidInputError, match="row 1: found 'gestern', expected a date"):
        features.transform(pd.DataFrame({"seen": ["unbekannt", "gestern"]}))


def test_two_answers_are_said():
    """Only one column is the class; another that is named like one is not used in silence."""
    table = pd.DataFrame(
        {"a": np.arange(20.0) ** 2, "label": [0, 1] * 10, "target": ["p", "q"] * 10}
    )
    assert TableFeatures().fit(table).reasons_["label"].endswith("; target is the class")


def test_unknown_values_are_named():
    """Values not seen in the fit, and rows without a known value, are named in one warning."""
    n = np.arange(40)
    table = pd.DataFrame(
        {
            "id": [f"c{i}" for i in n],
            "age": n**2,
            "channel": np.array(["app", "shop", "phone"])[n % 3],
            "news": np.array(["nein", "ja"])[n % 2],
        }
    )
    features = TableFeatures().fit(table)
    new = table.iloc[:4].astype(object)
    new.loc[0, "channel"], new.loc[1:2, "news"] = "fax", "vielleicht"
    new.loc[3, ["age", "channel", "news"]] = [None, "fax", None]
    with pytest.warns(UserWarning, match="not seen in the fit") as caught:
        found = features.transform(new)
    assert [str(each.message) for each in caught] == [
        "column 'channel': 1 value not seen in the fit ('fax', 2 rows) counts as missing; "
        "column 'news': 1 value not seen in the fit ('vielleicht', 2 rows) counts as missing; "
        "no value is known in these rows: 'c3'"
    ]
    assert not np.isnan(found).any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        features.transform(table.assign(age=[None, *n[1:]]))


@pytest.mark.parametrize(("yes", "no"), [("ja", "nein"), ("Yes", "No"), (1, 0), (True, False)])
def test_yes_has_the_coordinate(yes, no):
    """A column of yes and no has one coordinate, which is about yes, however rare; and says so."""
    table = pd.DataFrame({"news": [no, no, yes] * 8})
    features = TableFeatures().fit(table)
    assert features.get_feature_names_out().tolist() == [f"news={yes}"]
    assert features.done_["news"] == f"one coordinate: {yes} or {no}"
    assert features.in_units(table).mean() == pytest.approx(1 / 3)
    assert features.transform(table).mean() == pytest.approx(0)


def test_dates_of_new_tables_are_read_in_the_order_of_the_fit():
    """03/04 is the day or the month as in the fit; a date with the other order is an error."""
    dates = ["03/04/2024", "25/06/2023", "07/07/2022"] * 3
    table = pd.DataFrame({"since": dates, "x": np.arange(9.0)})
    features = TableFeatures.from_dict(TableFeatures({"x": "number"}).fit(table).as_dict())
    for mark in "/-.":
        new = pd.DataFrame({"since": [f"03{mark}04{mark}2024", "2024-04-03"], "x": [1.0, 1.0]})
        found = features.transform(new)
        assert np.array_equal(found[0], found[1])
    new = pd.DataFrame({"since": ["03/04/2024", "04/13/2024"], "x": [1.0, 1.0]})
    with pytest.raises(InvalidInputError, match=r"row 1: found '04/13/2024'.* or 31/03/2024"):
        features.transform(new)
    plain = table.assign(since=[f"2024-0{month}-03" for month in range(1, 10)])
    clear = TableFeatures({"x": "number"}).fit(plain)
    with pytest.warns(UserWarning, match="03/04/2024 read month first"):
        clear.transform(new)


def test_order_of_unclear_dates():
    """Most clear dates decide, then a decimal comma; clear ones of the other order are named."""
    mixed = values_of(pd.Series(["03/04/2024", "25/06/2023", "26/06/2023", "06/25/2023"]))
    assert mixed.order == "; 03/04/2024 read day first, but 06/25/2023 month first"
    assert mixed.column.notna().all()
    assert values_of(pd.Series(["03/04/2024"]), ",").order == "; 03/04/2024 read day first"


def test_amounts_with_mixed_marks_are_no_ids():
    """Numbers of which some cannot be read name no rows: the column is left out, with a reason."""
    mixed = [f"{i}.{i % 90 + 10}" for i in range(30)] + [f"{i},{i % 90 + 10}" for i in range(10)]
    features = TableFeatures().fit(pd.DataFrame({"amount": mixed, "x": np.arange(40) ** 2}))
    assert (features.roles_["amount"], features.id_column_) == ("left out", None)
    assert features.reasons_["amount"].startswith("most are numbers, but not all")


def test_a_date_in_the_other_order_is_read_again():
    """What a fit reads, with a note, its own `transform` reads, too."""
    rng = np.random.default_rng(0)
    parts = zip(rng.integers(1, 29, 60), rng.integers(1, 13, 60), strict=True)
    days = [f"{day:02d}/{month:02d}/2024" for day, month in parts]
    days[7] = "05/16/2024"
    frame = pd.DataFrame({"d": days, "x": rng.normal(size=60)})
    features = TableFeatures().fit(frame)
    np.testing.assert_allclose(features.transform(frame), TableFeatures().fit_transform(frame))
