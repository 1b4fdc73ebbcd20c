"""Small files as a user has them, and a way to run the command line within the test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from smdeclust.cli.app import run


@dataclass(frozen=True)
class Result:
    """What a command did."""

    code: int
    out: str
    err: str


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Run ``smdeclust`` with these arguments."""

    def call(*arguments: object) -> Result:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        assert "Unexpected error" not in captured.err
        return Result(code, captured.out, captured.err)

    return call


@pytest.fixture
def flowers(tmp_path: Path) -> Path:
    """Sixty points with ids and classes: three blobs that overlap a little."""
    rng = np.random.default_rng(3)
    classes = np.repeat([0, 1, 2], 20)
    X = rng.normal(size=(60, 3)) + 2.0 * np.eye(3)[classes]
    lines = ["id,a,b,c,class"]
    for row, (point, y) in enumerate(zip(X, classes, strict=True)):
        lines.append(f"f{row}," + ",".join(f"{v:.4f}" for v in point) + f",kind{y}")
    path = tmp_path / "flowers.csv"
    path.write_text("\n".join(lines) + "\n")
    pairs = ["i,j,type"]
    for _ in range(25):
        i, j = rng.choice(60, 2, replace=False)
        pairs.append(f"f{i},f{j},{'ml' if classes[i] == classes[j] else 'cl'}")
    (tmp_path / "pairs.csv").write_text("\n".join(pairs) + "\n")
    (tmp_path / "bad.txt").write_text("ML f1 f2\nML f7 f8\nML f2 f3\nCL f9 f10\nCL f3 f1\n")
    return path
