"""A part whose library is not installed says so in one sentence."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from contextlib import suppress
from pathlib import Path

import pytest

from smdeclust.extras import EXTRA_OF, MissingExtraError, frugal, optional

BLOCKED = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Block())
"""


def run_without(blocked: list[str], code: str) -> subprocess.CompletedProcess[str]:
    """Run `code` in a Python in which these libraries are not there."""
    program = BLOCKED.format(blocked=blocked) + code
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)


def test_every_extra_exists() -> None:
    """The extras that errors name are in pyproject.toml, and hold that library."""
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    for library, extra in EXTRA_OF.items():
        named = library.replace("_", "-")
        assert any(line.startswith(named) for line in project["optional-dependencies"][extra])


def test_core_needs_no_extra() -> None:
    """A fit, a prediction and a certificate work with no optional library at all."""
    code = (
        "import numpy as np; from smdeclust import SMDEClust, certify;"
        "X = np.random.default_rng(0).normal(size=(20, 2));"
        "m = SMDEClust(2, random_state=0).fit(X, cannot_link=[(0, 1)]); m.predict(X);"
        "certify(X, m.labels_); print('fine')"
    )
    done = run_without(list(EXTRA_OF), code)
    assert done.stdout.strip() == "fine", done.stderr


@pytest.mark.parametrize(
    ("library", "code"),
    [
        ("matplotlib", "import smdeclust.plotting"),
        ("typer", "from smdeclust.cli import main; main(['--help'])"),
        (
            "torch",
            "from smdeclust import SMDEClust; SMDEClust(2, device='cpu').fit([[0.], [1]])",
        ),
    ],
)
def test_missing_library(library: str, code: str) -> None:
    """The sentence names the library and the extra."""
    done = run_without([library], code)
    assert done.returncode != 0
    assert f"needs {library}, which is not installed" in done.stderr
    assert f"smdeclust[{EXTRA_OF[library]}]" in done.stderr


def test_own_faults_are_not_hidden() -> None:
    """A missing module that is no optional library stays the error it is."""
    with pytest.raises(ModuleNotFoundError, match="no_such_module"), optional("This"):
        import no_such_module  # noqa: F401
    assert issubclass(MissingExtraError, ImportError)


def test_frugal_work_leaves_the_memory_pool_as_it_was():
    """Within the block, text of tables is malloc's; afterwards all is as before, whatever fails."""
    arrow = pytest.importorskip("pyarrow")
    before = arrow.default_memory_pool().backend_name
    with frugal():
        with suppress(ValueError), frugal():
            raise ValueError
        assert arrow.default_memory_pool().backend_name == "system"
    assert arrow.default_memory_pool().backend_name == before
