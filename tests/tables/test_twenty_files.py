"""Twenty files as people have them: each gets right roles, or the one sentence that helps."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from smdeclust import InvalidInputError, SMDEClust, TableFeatures
from smdeclust.io import read_frame

N = 60
RNG = np.random.default_rng(7)
KIND = np.arange(N) % 3
FIRST = ("Ann", "Bob", "Cid", "Dan", "Eva", "Fay")
LAST = ("Alt", "Bell", "Cole", "Dorn", "Eder", "Fox", "Gray", "Hahn", "Ito", "Jung")
NAMES = [f"{first} {last}" for first in FIRST for last in LAST]
DAYS = pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 900, N), "D"))
AMOUNT = 1000 * (1 + KIND) + RNG.normal(0, 80, N)
AGE = (25 + 15 * KIND + RNG.integers(0, 9, N)).tolist()
CITY = np.array(["Rome", "Oslo", "Bonn"])[(KIND + (RNG.random(N) < 0.1)) % 3].tolist()


def number(value: float, style: str) -> str:
    """A number as Germans (de), French (fr), Swiss (ch) or Americans (us) write it."""
    plain = f"{value:,.2f}"
    marks = {"de": (".", ","), "fr": ("\u202f", ","), "ch": ("'", "."), "us": (",", ".")}[style]
    return plain.replace(",", "\0").replace(".", marks[1]).replace("\0", marks[0])


def customers(folder: Path) -> Path:
    frame = pd.DataFrame(
        {"customer_id": range(10001, 10001 + N), "name": NAMES, "age": AGE, "city": CITY,
         "joined": DAYS.dt.strftime("%Y-%m-%d"), "newsletter": np.where(KIND > 0, "yes", "no"),
         "spent": AMOUNT.round(2)}
    )  # fmt: skip
    frame.to_csv(folder / "customers.csv", index=False)
    return folder / "customers.csv"


def german(folder: Path) -> Path:
    frame = pd.DataFrame(
        {"Kundennr": [f"K{i:04d}" for i in range(N)], "Straße": [f"Am Weg {i}" for i in range(N)],
         "Umsatz": [number(v, "de") for v in AMOUNT], "Aktiv": np.where(KIND == 1, "ja", "nein"),
         "Seit": DAYS.dt.strftime("%d.%m.%Y"),
         "PLZ": [f"{i:05d}" for i in RNG.integers(1000, 99999, N)]}
    )  # fmt: skip
    frame.to_csv(folder / "export.csv", index=False, sep=";", encoding="cp1252")
    return folder / "export.csv"


def french(folder: Path) -> Path:
    frame = pd.DataFrame(
        {"référence": [f"R-{i}" for i in range(N)],
         "montant": [number(v, "fr") + " €" for v in AMOUNT], "âge": AGE,
         "abonné": np.where(KIND == 0, "oui", "non")}
    )  # fmt: skip
    frame.to_csv(folder / "donnees.csv", index=False, sep=";", encoding="utf-8-sig")
    return folder / "donnees.csv"


def swiss(folder: Path) -> Path:
    saldo = [number(v, "ch") + " CHF" for v in AMOUNT]
    frame = pd.DataFrame({"konto": [f"CH-{i}" for i in range(N)], "saldo": saldo, "alter": AGE})
    frame.to_csv(folder / "saldo.txt", index=False, sep="\t", encoding="utf-16")
    return folder / "saldo.txt"


def american(folder: Path) -> Path:
    frame = pd.DataFrame({"revenue": ["$" + number(v, "us") for v in AMOUNT],
                          "growth": [f"{v:.1f}%" for v in RNG.normal(3, 1, N)],
                          "closed": DAYS.dt.strftime("%m/%d/%Y")})  # fmt: skip
    frame.to_csv(folder / "sales.csv", index=False)
    return folder / "sales.csv"


def two_sheets(folder: Path) -> Path:
    frame = pd.DataFrame(
        {"id": [f"p{i}" for i in range(N)], "age": AGE, "city": CITY, "seen": DAYS}
    )
    with pd.ExcelWriter(folder / "book.xlsx") as book:
        frame.to_excel(book, sheet_name="2024", index=False)
        frame[:3].to_excel(book, sheet_name="2023", index=False)
    return folder / "book.xlsx"


def titled_sheet(folder: Path) -> Path:
    frame = pd.DataFrame({"key": [f"p{i}" for i in range(N)], "score": AMOUNT, "city": CITY})
    with pd.ExcelWriter(folder / "report.xlsx") as book:
        frame.to_excel(book, index=False, startrow=3)
        book.sheets["Sheet1"]["A1"] = "Quarterly report"
    return folder / "report.xlsx"


def many_missing(folder: Path) -> Path:
    spellings = ["", "NA", "N/A", "n/a", "nan", "NULL", "null", "?", "-", "#N/A"]
    ages = [spellings[i // 5] if i % 5 == 0 and i < 50 else age for i, age in enumerate(AGE)]
    frame = pd.DataFrame({"age": ages, "city": [*CITY[:-4], *["None"] * 4], "spent": AMOUNT})
    frame.to_csv(folder / "gaps.csv", index=False)
    return folder / "gaps.csv"


def odd_words(folder: Path) -> Path:
    ages = ["unknown" if i in (7, 20) else age for i, age in enumerate(AGE)]
    pd.DataFrame({"age": ages, "spent": AMOUNT}).to_csv(folder / "odd.csv", index=False)
    return folder / "odd.csv"


def repeated_ids(folder: Path) -> Path:
    ids = [f"C{i}" for i in range(N - 1)] + ["C0"]
    frame = pd.DataFrame({"client_id": ids, "age": AGE, "spent": AMOUNT})
    frame.to_csv(folder / "twice.csv", index=False)
    return folder / "twice.csv"


def answer_in_the_middle(folder: Path) -> Path:
    frame = pd.DataFrame({"a": AMOUNT, "species": CITY, "b": RNG.normal(size=N)})
    frame.to_csv(folder / "middle.csv", index=False)
    return folder / "middle.csv"


def wide(folder: Path) -> Path:
    frame = pd.DataFrame(RNG.normal(size=(N, 200)), columns=[f"gene {i}" for i in range(200)])
    frame.to_csv(folder / "wide.csv", index_label="")
    return folder / "wide.csv"


def no_header(folder: Path) -> Path:
    frame = pd.DataFrame({0: RNG.normal(size=N), 1: AMOUNT, 2: CITY})
    frame.to_csv(folder / "iris.data", index=False, header=False)
    return folder / "iris.data"


def quoted_breaks(folder: Path) -> Path:
    notes = [f"first, then\nmore lines about case {i}" for i in range(N)]
    frame = pd.DataFrame({"ticket_id": range(5, 5 + N), "note": notes, "hours": AMOUNT / 100})
    frame.to_csv(folder / "tickets.csv", index=False)
    return folder / "tickets.csv"


def json_lines(folder: Path) -> Path:
    rows = [{"uuid": f"{i:08x}-aa", "age": AGE[i], "vip": bool(KIND[i])} for i in range(N)]
    (folder / "events.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder / "events.jsonl"


def parquet(folder: Path) -> Path:
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"when": DAYS, "city": pd.Categorical(CITY), "n": AGE, "ok": KIND > 1})
    frame.to_parquet(folder / "t.parquet")
    return folder / "t.parquet"


def survey(folder: Path) -> Path:
    frame = pd.DataFrame(
        {"respondent_id": range(1, N + 1), "q1": RNG.integers(1, 6, N), "q2": RNG.integers(1, 6, N),
         "comment": [f"I like {c} since {i} years" if i % 2 else "" for i, c in enumerate(CITY)],
         "wt": RNG.uniform(0.6, 1.5, N), "other": [None] * (N - 5) + ["x"] * 5, "wave": 3}
    )  # fmt: skip
    frame.to_csv(folder / "survey.csv", index=False)
    return folder / "survey.csv"


def one_row(folder: Path) -> Path:
    (folder / "one.csv").write_text("a,b\n1,2\n")
    return folder / "one.csv"


def ragged(folder: Path) -> Path:
    (folder / "ragged.csv").write_text("a,b,c\n1,2,3\n4,5\n6,7,8,9\n")
    return folder / "ragged.csv"


def only_ids(folder: Path) -> Path:
    pd.DataFrame({"id": range(N), "email": [f"u{i}@x.org" for i in range(N)]}).to_csv(
        folder / "ids.csv", index=False
    )
    return folder / "ids.csv"


WELL: list[tuple[Callable[[Path], Path], dict[str, str]]] = [
    (customers, {"customer_id": "id", "name": "text", "age": "number", "city": "category",
                 "joined": "date", "newsletter": "yes/no", "spent": "number"}),
    (german, {"Kundennr": "id", "Straße": "text", "Umsatz": "number", "Aktiv": "yes/no",
              "Seit": "date", "PLZ": "left out"}),
    (french, {"référence": "id", "montant": "number", "âge": "number", "abonné": "yes/no"}),
    (swiss, {"konto": "id", "saldo": "number", "alter": "number"}),
    (american, {"revenue": "number", "growth": "number", "closed": "date"}),
    (two_sheets, {"id": "id", "age": "number", "city": "category", "seen": "date"}),
    (titled_sheet, {"key": "id", "score": "number", "city": "category"}),
    (many_missing, {"age": "number", "city": "category", "spent": "number"}),
    (odd_words, {"age": "number", "spent": "number"}),
    (repeated_ids, {"client_id": "id", "age": "number", "spent": "number"}),
    (answer_in_the_middle, {"a": "number", "species": "class", "b": "number"}),
    (wide, {"column 1": "id", **{f"gene {i}": "number" for i in range(200)}}),
    (no_header, {"x0": "number", "x1": "number", "x2": "category"}),
    (quoted_breaks, {"ticket_id": "id", "note": "text", "hours": "number"}),
    (json_lines, {"uuid": "id", "age": "number", "vip": "yes/no"}),
    (parquet, {"when": "date", "city": "category", "n": "number", "ok": "yes/no"}),
    (survey, {"respondent_id": "id", "q1": "category", "q2": "category", "comment": "text",
              "wt": "weight", "other": "left out", "wave": "left out"}),
]  # fmt: skip


@pytest.mark.parametrize(("make", "roles"), WELL, ids=[make.__name__ for make, _ in WELL])
def test_right_roles(make: Callable[[Path], Path], roles: dict[str, str], tmp_path: Path) -> None:
    """Every column has the role that a person would give it, and the rest clusters."""
    if make in (two_sheets, titled_sheet):
        pytest.importorskip("python_calamine")
    file = read_frame(make(tmp_path))
    features = TableFeatures()
    Z = features.fit_transform(file.frame)
    assert features.roles_ == roles
    assert len(Z) == N
    assert np.isfinite(Z).all()
    labels = SMDEClust(3, random_state=0, max_time=2).fit(Z, cannot_link=[(0, 1)]).labels_
    assert labels[0] != labels[1]


def test_amounts_mean_the_same_everywhere(tmp_path: Path) -> None:
    """However an amount is written, it is the same number."""
    for make, column in ((german, "Umsatz"), (french, "montant"), (swiss, "saldo"),
                         (american, "revenue")):  # fmt: skip
        frame = read_frame(make(tmp_path)).frame
        units = TableFeatures().fit(frame[[column]]).in_units(frame)
        assert units[:, 0] == pytest.approx(AMOUNT, abs=0.006), make.__name__


def test_none_is_a_level(tmp_path: Path) -> None:
    """None is a city here; ten other spellings are missing ages."""
    frame = read_frame(many_missing(tmp_path)).frame
    features = TableFeatures().fit(frame)
    assert "10 missing" in features.done_["age"]
    assert "city=None" in features.get_feature_names_out()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (one_row, "No column can be used as a feature: a: left out \\(one value \\(1\\)\\)"),
        (ragged, "line 3: found 2 cells, expected 3.*2 lines have this problem: 3, 4"),
        (only_ids, "No column can be used as a feature: id: id"),
    ],
)
def test_the_sentence_that_helps(make: Callable, sentence: str, tmp_path: Path) -> None:
    """What cannot be clustered says why, and what to do."""
    with pytest.raises(InvalidInputError, match=sentence):
        TableFeatures().fit(read_frame(make(tmp_path)).frame)
