"""A wheel with compiled kernels for this system, and the check that they load.

python -m benchmarks.wheel dist              # build, compile, pack, check
python -m benchmarks.wheel check dist/*.whl  # install it in an empty environment and fit
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# A first fit in an empty environment: how long it takes, and whether anything was compiled.
FIRST_FIT = """
import sys, time
from smdeclust import SMDEClust
started = time.process_time()
model = SMDEClust(2, random_state=0).fit([[0.0], [1.0], [9.0], [9.5]], cannot_link=[(0, 1)])
seconds = time.process_time() - started
from smdeclust.kernels import Kernel
ours = [module for name, module in sys.modules.items() if name.startswith("smdeclust")]
kernels = {k for m in ours for k in vars(m).values() if isinstance(k, Kernel)}
stats = [vars(k)["compiled"].stats for k in kernels if "compiled" in vars(k)]
found = sum(sum(s.cache_hits.values()) for s in stats)
compiled = sum(sum(s.cache_misses.values()) for s in stats)
print(f"first fit in {seconds:.2f} CPU s: {found} kernels found, {compiled} compiled")
assert found and not compiled, "the kernels in the wheel were not taken"
assert seconds < 1, "the first fit takes a second or more"
"""


def build(target: Path) -> Path:
    """Build the wheel, compile its kernels from an installed copy, and pack them into it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _python("-m", "build", "--wheel", "--outdir", str(folder / "plain"), str(ROOT))
        (plain,) = (folder / "plain").glob("*.whl")
        python = _environment(folder / "env", f"{plain}[cli]")
        _run(python, "-m", "smdeclust.prebuilt", str(folder / "compiled"))
        _python("-m", "wheel", "unpack", str(plain), "-d", str(folder / "open"))
        (package,) = (folder / "open").glob("smdeclust-*")
        (folder / "compiled").rename(package / "smdeclust" / "_compiled")
        target.mkdir(parents=True, exist_ok=True)
        _python("-m", "wheel", "pack", str(package), "-d", str(target))
    return max(target.glob("*.whl"), key=lambda path: path.stat().st_mtime)


def check(wheel: Path) -> None:
    """Install a wheel in an empty environment: the first fit must find its kernels compiled."""
    with tempfile.TemporaryDirectory() as name:
        python = _environment(Path(name) / "env", str(wheel.resolve()))
        _run(python, "-c", FIRST_FIT, cwd=name)


def _environment(folder: Path, package: str) -> Path:
    venv.create(folder, with_pip=True)
    programs = folder / ("Scripts" if sys.platform == "win32" else "bin")
    _run(programs / "python", "-m", "pip", "install", "--quiet", package)
    return programs / "python"


def _python(*arguments: str) -> None:
    _run(Path(sys.executable), *arguments)


def _run(python: Path, *arguments: str, cwd: str | None = None) -> None:
    subprocess.run([str(python), *arguments], check=True, cwd=cwd)


if __name__ == "__main__":
    if sys.argv[1:2] == ["check"] and len(sys.argv) == 3:
        check(Path(sys.argv[2]))
    elif len(sys.argv) == 2:
        made = build(Path(sys.argv[1]))
        check(made)
        print(made)
    else:
        sys.exit(__doc__)
