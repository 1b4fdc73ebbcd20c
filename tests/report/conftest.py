"""A report of a small problem with awkward names, made once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from smdeclust.cli.app import run

# what a name in a file might try to do to a page
NASTY = "<script>alert(1)</script>&\"'"


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``report.html`` of seventy points, one of them with a nasty id."""
    folder = tmp_path_factory.mktemp("report")
    rng = np.random.default_rng(7)
    classes = np.arange(70) % 4
    X = rng.normal(size=(70, 3)) + 1.2 * rng.normal(size=(4, 3))[classes]
    ids = [f"item {i}" for i in range(70)]
    ids[0] = NASTY
    quoted = [f'"{name.replace(chr(34), 2 * chr(34))}"' for name in ids]
    lines = ["id,height,width,<b>depth</b>,class"]
    lines += [
        f"{quoted[i]}," + ",".join(f"{v:.3f}" for v in X[i]) + f",{classes[i]}" for i in range(70)
    ]
    (folder / "things.csv").write_text("\n".join(lines) + "\n")
    pairs = ["i,j,type"]
    for _ in range(40):
        i, j = rng.choice(70, 2, replace=False)
        pairs.append(f"{quoted[i]},{quoted[j]},{'ml' if classes[i] == classes[j] else 'cl'}")
    pairs.append(f"{quoted[0]},{quoted[4]},ml")
    (folder / "pairs.csv").write_text("\n".join(pairs) + "\n")
    arguments = ["fit", folder / "things.csv", "-k", 4, "-c", folder / "pairs.csv"]
    assert run([*map(str, arguments), "--out", str(folder / "out"), "--seed", "1"]) == 0
    return folder / "out" / "report.html"
