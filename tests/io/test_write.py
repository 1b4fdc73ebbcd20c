"""What is written is whole or not there, and reads back."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from smdeclust.exceptions import InvalidInputError
from smdeclust.io import write_bytes, write_centers, write_json, write_labels, write_text


def test_labels(tmp_path: Path) -> None:
    """Labels are written with the ids of the data, quoted where needed, or row positions."""
    path = tmp_path / "labels.csv"
    write_labels(path, np.array([1, 0]), ids=["a,b", 'c"d'], id_name="who")
    frame = pd.read_csv(path)
    assert frame.columns.tolist() == ["who", "label"]
    assert frame["who"].tolist() == ["a,b", 'c"d']
    write_labels(path, [2, 2])
    assert path.read_text() == "row,label\n0,2\n1,2\n"
    with pytest.raises(InvalidInputError, match="1 ids for 2 labels"):
        write_labels(path, [0, 1], ids=["a"])
    with pytest.raises(InvalidInputError, match="shape"):
        write_labels(path, [[0, 1]])


def test_centers_keep_every_bit(tmp_path: Path) -> None:
    """Centers read back equal to the last bit."""
    centers = np.random.default_rng(0).normal(size=(3, 2)) * 10.0 ** np.arange(-8, -6)
    write_centers(tmp_path / "c.csv", centers, ["u", "v"])
    frame = pd.read_csv(tmp_path / "c.csv", dtype=str).astype(float)
    assert frame.columns.tolist() == ["cluster", "u", "v"]
    assert np.array_equal(frame[["u", "v"]].to_numpy(), centers)
    with pytest.raises(InvalidInputError, match="1 names for 2 features"):
        write_centers(tmp_path / "c.csv", centers, ["u"])


def test_json(tmp_path: Path) -> None:
    """numpy values become plain ones, values that JSON lacks become null or an error."""
    path = tmp_path / "r.json"
    document = {
        "a": np.arange(2),
        "b": np.float64(0.1),
        3: [np.nan, np.inf],
        "p": Path("x"),
        "t": (True, None),
    }
    write_json(path, document)
    assert json.loads(path.read_text()) == {
        "a": [0, 1],
        "b": 0.1,
        "3": [None, None],
        "p": "x",
        "t": [True, None],
    }
    with pytest.raises(InvalidInputError, match="type object"):
        write_json(path, {"x": object()})
    assert json.loads(path.read_text())["b"] == 0.1


def test_a_failed_write_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that fills up leaves the old file and nothing beside it."""
    path = tmp_path / "out.txt"
    write_text(path, "before")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_text(path, "after")
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_devices_are_written_directly() -> None:
    """A device is not replaced by a file, and its failure is an OSError."""
    with pytest.raises(OSError):
        write_bytes("/dev/full", b"x")
    assert not Path("/dev/full").is_file()


def test_links_and_folders(tmp_path: Path) -> None:
    """A symbolic link stays one, a folder is an OSError, a missing folder too."""
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    for wrong in (tmp_path, tmp_path / "no" / "file"):
        with pytest.raises(OSError):
            write_text(wrong, "x")
