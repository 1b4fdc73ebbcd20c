"""The runner: every run becomes one row, whatever happens to it or to us."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from smdeclust.exceptions import InvalidInputError
from smdeclust.paper import Method, Store, run_all, run_plans
from smdeclust.paper.store import StoreBusyError
from tests.paper import toy


def run(plan, path: Path, **options) -> dict[str, dict]:
    """Run a plan and return its rows by name of the method."""
    with Store(path, writing=True) as store:
        run_all(plan.runs(), store, jobs=2, **options)
        return {row["method"]: row for row in store.rows().values()}


def test_each_end_is_a_row_with_its_reason(tmp_path: Path) -> None:
    """Success, exception, surrender, broken pairs, a dead process and a long one: all are rows."""
    methods = [
        toy.method("good"),
        toy.method("failing", behaviour="fail"),
        toy.method("helpless", behaviour="give up"),
        toy.method("careless", behaviour="break"),
        toy.method("dying", behaviour="die"),
        toy.method("endless", pause=600.0),
        Method("absent", "tests.paper.toy:NoSuchThing"),
        toy.method("last", pause=0.001),
    ]
    rows = run(toy.plan(*methods, limit=1.0), tmp_path / "runs.sqlite")
    assert {name: row["status"] for name, row in rows.items()} == {
        "good": "ok",
        "failing": "failed",
        "helpless": "infeasible",
        "careless": "ok",
        "dying": "crashed",
        "endless": "timeout",
        "absent": "failed",
        "last": "ok",
    }
    assert "no such luck" in rows["failing"]["reason"]
    assert "code 3" in rows["dying"]["reason"]
    assert "limit" in rows["endless"]["reason"]
    assert "NoSuchThing" in rows["absent"]["reason"]
    # squares of -2.5 .. 2.5 in either half
    assert rows["good"]["objective"] == pytest.approx(2 * 17.5)
    assert rows["good"]["adjusted_rand"] == 1.0
    assert (rows["good"]["broken_must_links"], rows["good"]["broken_cannot_links"]) == (0, 0)
    assert (rows["careless"]["broken_must_links"], rows["careless"]["broken_cannot_links"]) == (
        1,
        0,
    )
    assert rows["good"]["local_iterations"] == 5
    assert rows["good"]["machine"]["versions"]["smdeclust"] != "unknown"


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    """After kill -9 no ended run is lost or repeated, and its workers are gone."""
    root = Path(__file__).resolve().parents[2]
    script = "from tests.paper.toy import run_forever; run_forever({!r})"
    command = [sys.executable, "-c", script.format(str(tmp_path))]
    process = subprocess.Popen(command, cwd=root, stderr=subprocess.DEVNULL)
    path = tmp_path / "runs.sqlite"
    deadline = time.monotonic() + 60.0
    before: dict = {}
    while len(before) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
        if path.is_file():
            try:
                with Store(path) as store:
                    before = store.rows()
            except Exception:  # not made yet
                continue
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    time.sleep(0.5)  # a run that was under way may write its line before its process is gone
    with Store(path) as store:
        before = store.rows()
    assert 3 <= len(before) < 12
    log = tmp_path / "log.txt"
    result = run_plans(
        [toy.plan(toy.method("slow", pause=0.3, log=str(log)), seeds=12)],
        out=tmp_path,
        jobs=2,
        progress=False,
    )
    assert (result.progress.before, result.progress.now) == (len(before), 12 - len(before))
    assert result.progress.left == 0
    with Store(path) as store:
        after = store.rows()
    assert len(after) == 12
    assert all(after[key] == row for key, row in before.items())
    begun = Counter(int(line) for line in log.read_text().split())
    assert all(begun[row["seed"]] == 1 for row in before.values())


def test_a_budget_leaves_the_rest_for_another_time(tmp_path: Path) -> None:
    """When the time is up, running runs are dropped without a row; the next call makes them."""
    plan = toy.plan(toy.method(pause=600.0), seeds=3)
    with Store(tmp_path / "runs.sqlite", writing=True) as store:
        done = run_all(plan.runs(), store, jobs=1, budget=0.5)
        assert (done.before, done.now, done.left) == (0, 0, 3)
        assert store.rows() == {}


def test_an_overlong_run_is_repeated_under_a_longer_limit_only(tmp_path: Path) -> None:
    """Rows of runs that hit their limit stand until more time is granted."""
    path = tmp_path / "runs.sqlite"
    slow = toy.method(pause=1.5)
    run(toy.plan(slow, limit=0.3), path)
    with Store(path, writing=True) as store:
        assert store.is_done(toy.plan(slow, limit=0.2).runs()[0])
        longer = toy.plan(slow, limit=30.0).runs()[0]
        assert not store.is_done(longer)
    assert run(toy.plan(slow, limit=30.0), path)["toy"]["status"] == "ok"


def test_failures_can_be_forgotten(tmp_path: Path) -> None:
    """Only failed rows go."""
    path = tmp_path / "runs.sqlite"
    run(toy.plan(toy.method("good"), toy.method("bad", behaviour="fail")), path)
    with Store(path, writing=True) as store:
        assert store.forget_failures() == 1
        assert [row["method"] for row in store.rows().values()] == ["good"]


def test_only_one_process_writes(tmp_path: Path) -> None:
    """A second writer is refused while the first is there, and let in afterwards."""
    path = tmp_path / "runs.sqlite"
    with Store(path, writing=True), pytest.raises(StoreBusyError, match="Another process"):
        Store(path, writing=True)
    Store(path, writing=True).close()


def test_results_of_nothing_are_a_clear_error(tmp_path: Path) -> None:
    """Reading a store that is not there says so; no process count below one is taken."""
    with pytest.raises(FileNotFoundError, match="Run the experiments first"):
        Store(tmp_path / "nothing.sqlite")
    store = Store(tmp_path / "runs.sqlite", writing=True)
    with store, pytest.raises(InvalidInputError, match="jobs"):
        run_all(toy.plan().runs(), store, jobs=0)
