"""One row per run in an SQLite file, written when the run ends.

Rows are committed one by one, with a write-ahead log and full synchronisation: a process that is
killed at any moment leaves all rows of ended runs behind, and the next one continues from there.
"""

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from smdeclust.exceptions import SMDEClustError
from smdeclust.paper.plan import Plan, Run

_OF_RUN = "dataset, configuration, method, factory, loader, settings, seed, time_limit, finished"


class StoreBusyError(SMDEClustError, RuntimeError):
    """Another process is writing to the file."""


@dataclass(frozen=True)
class Outcome:
    """The result of a run."""

    # ``"ok"`` (there are labels, which may break pairs), ``"infeasible"`` (the method found no
    # feasible labels), ``"failed"`` (an exception), ``"timeout"``, ``"crashed"`` (its process died)
    status: str
    reason: str = ""  # in words, where the status is not ``"ok"``
    # sum of squared distances to the means of the clusters, computed from the labels
    objective: float | None = None
    # of ``fit`` alone: not loading, not compiling
    seconds: float | None = None
    cpu_seconds: float | None = None
    # as the estimator says
    local_searches: int | None = None
    local_iterations: int | None = None
    iterations: int | None = None
    stop_reason: str | None = None
    # counted on the labels
    broken_must_links: int | None = None
    broken_cannot_links: int | None = None
    adjusted_rand: float | None = None  # agreement with the classes
    # anything else; ``broken`` holds the broken and all pairs of each configuration counted
    details: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)  # all parameters of the estimator
    machine: dict[str, Any] = field(default_factory=dict)  # processor, system and versions


class Store:
    """An SQLite file with the results of runs, and with the plans that they belong to.

    Parameters
    ----------
    path
        The SQLite file.
    writing
        Whether to open the file for writing. It is created if it does not exist. If another
        process is already writing to it, the error is a `StoreBusyError`.
    """

    def __init__(self, path: Path | str, *, writing: bool = False) -> None:
        self.path = Path(path)
        self._guard: sqlite3.Connection | None = None
        if writing:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._guard = self._become_writer()
        elif not self.path.is_file():
            raise FileNotFoundError(
                f"{self.path} does not exist: there are no results yet. Run the experiments first."
            )
        self._rows = sqlite3.connect(self.path, timeout=60.0)
        self._rows.row_factory = sqlite3.Row
        if writing:
            self._rows.execute("PRAGMA journal_mode = WAL")
            self._rows.execute("PRAGMA synchronous = FULL")
            of_outcome = ", ".join(field.name for field in fields(Outcome))
            self._rows.executescript(
                f"CREATE TABLE IF NOT EXISTS runs (key TEXT PRIMARY KEY, {_OF_RUN}, {of_outcome});"
                "CREATE TABLE IF NOT EXISTS plans (name TEXT PRIMARY KEY, scale TEXT, plan TEXT);"
            )

    def _become_writer(self) -> sqlite3.Connection:
        # An exclusive transaction in a file of its own: the system drops it when the process ends,
        # however it ends, on every platform.
        guard = sqlite3.connect(f"{self.path}.lock", timeout=0.5, isolation_level=None)
        try:
            guard.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            guard.close()
            raise StoreBusyError(
                f"Another process is writing to {self.path}. Wait for it, or choose another folder."
            ) from error
        return guard

    def close(self) -> None:
        """Close the file."""
        self._rows.close()
        if self._guard is not None:
            self._guard.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, run: Run, outcome: Outcome, finished: str) -> None:
        """Store the result of a run. When this method returns, the result is on disk."""
        row = {
            "key": run.key,
            "dataset": run.dataset,
            "configuration": run.configuration,
            "method": run.method.name,
            "factory": run.method.factory,
            "loader": run.loader,
            "settings": json.dumps(dict(run.method.settings), sort_keys=True),
            "seed": run.seed,
            "time_limit": run.time_limit,
            "finished": finished,
            **{
                name: json.dumps(value, sort_keys=True) if isinstance(value, dict) else value
                for name, value in vars(outcome).items()
            },
        }
        names, marks = ", ".join(row), ", ".join(f":{name}" for name in row)
        with self._rows:
            self._rows.execute(f"INSERT OR REPLACE INTO runs ({names}) VALUES ({marks})", row)

    def save_plans(self, plans: Iterable[Plan], scale: str) -> None:
        """Store plans with their scale."""
        with self._rows:
            self._rows.executemany(
                "INSERT OR REPLACE INTO plans (name, scale, plan) VALUES (?, ?, ?)",
                [(plan.name, scale, plan.to_json()) for plan in plans],
            )

    def plans(self) -> dict[str, tuple[str, Plan]]:
        """Return the scale and the plan of each experiment, by its name."""
        rows = self._rows.execute("SELECT name, scale, plan FROM plans ORDER BY rowid")
        return {row["name"]: (row["scale"], Plan.from_json(row["plan"])) for row in rows}

    def rows(self) -> dict[str, dict[str, Any]]:
        """Return the results of all runs, by the key of the run."""
        found = {}
        for row in self._rows.execute("SELECT * FROM runs"):
            record = dict(row)
            for name in ("settings", "details", "parameters", "machine"):
                record[name] = json.loads(record[name])
            found[record["key"]] = record
        return found

    def is_done(self, run: Run) -> bool:
        """Return whether a run is stored. If it timed out, a longer limit makes it a new run."""
        row = self._rows.execute(
            "SELECT status, time_limit FROM runs WHERE key = ?", (run.key,)
        ).fetchone()
        if row is None or row["status"] != "timeout":
            return row is not None
        return run.time_limit is not None and run.time_limit <= row["time_limit"]

    def forget_failures(self) -> int:
        """Delete runs that failed, crashed or reached their limit, and return their number."""
        failed = "status IN ('failed', 'crashed', 'timeout')"
        with self._rows:
            return self._rows.execute(f"DELETE FROM runs WHERE {failed}").rowcount
