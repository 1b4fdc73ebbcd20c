"""Benchmarks over time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks import history

LINES = [
    "            import s first fit s",
    "nothing compiled 0.010 20.5",
    "compiled before 0.010 0.2",
]


def test_kept_runs_are_listed_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each number is found by the words beside it; runs of a benchmark make one picture."""
    monkeypatch.setattr(history, "FOLDER", tmp_path)
    for day in (1, 2):
        entry = {"benchmark": "engine.cold", "date": f"2026-11-0{day}T00:00:00+00:00"}
        (tmp_path / f"2026110{day}.json").write_text(json.dumps({**entry, "lines": LINES}))
    assert history.numbers_of(history.entries()[0])["nothing compiled [1]"] == 20.5
    assert history.entries("another") == []
    history.plot("engine.cold", tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 1000


def test_what_is_kept_can_be_read() -> None:
    """Every stored run names its date, commit and machine."""
    kept = history.entries()
    assert kept
    for entry in kept:
        assert {"benchmark", "date", "commit", "machine", "lines"} <= set(entry)


def test_two_releases_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last run of each benchmark of both counts, number by number; a day names a run too."""
    monkeypatch.setattr(history, "FOLDER", tmp_path)
    for day, version, seconds in ((1, "0.2.0", 9.0), (2, "0.2.0", 4.0), (3, "0.3.0", 2.0)):
        entry = {"benchmark": "engine.cold", "date": f"2026-11-0{day}T00:00:00+00:00"}
        lines = {"lines": [f"first fit {seconds}"], "version": version}
        (tmp_path / f"2026110{day}.json").write_text(json.dumps({**entry, **lines}))
    assert history.compare("0.2.0", "0.3.0") == [("engine.cold", "first fit [0]", 4.0, 2.0)]
    assert history.compare("2026-11-01", "0.3.0")[0][2:] == (9.0, 2.0)
    with pytest.raises(SystemExit, match="Choose one of 0.2.0, 0.3.0"):
        history.compare("0.1.0", "0.3.0")


def test_rows_with_the_same_words_are_told_apart() -> None:
    """Tables whose rows have no words keep all their rows."""
    numbers = history.numbers_of({"lines": ["20 10 0.5", "20 50 0.7"]})
    assert numbers["(no words) [2]"] == 0.5
    assert numbers["(no words) #2 [2]"] == 0.7


def test_comparing_prints_what_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Numbers that differ are printed with their ratio, the others counted."""
    monkeypatch.setattr(history, "FOLDER", tmp_path)
    for version, seconds in (("0.2.0", 4.0), ("0.3.0", 2.0)):
        entry = {"benchmark": "engine", "date": "2026-11-01T00:00:00+00:00", "version": version}
        lines = {"lines": [f"fit {seconds} 100"]}
        (tmp_path / f"{version}.json").write_text(json.dumps({**entry, **lines}))
    monkeypatch.setattr("sys.argv", ["history", "compare", "0.2.0", "0.3.0"])
    history.main()
    printed = capsys.readouterr().out
    assert "fit [0]" in printed
    assert "0.50x" in printed
    assert printed.endswith("Equal numbers: 1.\n")
