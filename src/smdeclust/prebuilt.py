"""Compiled kernels that come with the package, so that the first call need not wait for them.

numba compiles a kernel when it is first called. A wheel may bring the results along, in
`_compiled/TAG/`: machine code for one system, Python and numba. Where nothing there fits, numba
compiles as usual. `python -m smdeclust.prebuilt FOLDER` writes such a folder.

numba renews its own cache only if the file of a kernel changes, but a compiled kernel contains the
kernels that it calls: `Kept` also looks at the sources of all modules that its module imports.
"""

import hashlib
import os
import pickle
import platform
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba

from smdeclust import __version__

# Processors that kernels are built for, and what a machine must have to run them.
PROCESSORS: dict[str, tuple[str, set[str]]] = {
    "x86_64": ("x86-64-v3", {"avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"}),
    "arm64": ("generic", set()),
}
# from smdeclust.a.b import c, d
_IMPORT = rb"^(?:from|import) (smdeclust[\w.]*)(?: import \(?([^)#]*?)[)\n])?"
SAME = {"amd64": "x86_64", "aarch64": "arm64"}


def tag() -> str:
    """What compiled kernels depend on: this version and its sources, system, Python, numba."""
    python = sysconfig.get_config_var("SOABI") or f"cp{sys.version_info[0]}{sys.version_info[1]}"
    system = f"{platform.system().lower()}-{_machine()}"
    return f"{__version__}.{_sources()}-{system}-{python}-numba{numba.__version__}"


@cache
def _sources() -> str:
    """A digest of the package: kernels hold what they call, and constants, of other files."""
    digest, home = hashlib.sha256(), Path(__file__).parent
    for file in sorted(home.rglob("*.py")):
        digest.update(file.relative_to(home).as_posix().encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


@cache
def sources_of(file: Path) -> str:
    """A digest of a module and of all modules of this package that it imports, in turn."""
    found, waiting = {}, [file.resolve()]
    while waiting:
        here = waiting.pop()
        if here not in found:
            found[here], imported = _module(here)
            waiting += imported
    return hashlib.sha256(b"".join(found[where] for where in sorted(found))).hexdigest()[:16]


@cache
def _module(file: Path) -> tuple[bytes, tuple[Path, ...]]:
    """A digest of one file, and the files of this package that it imports."""
    home = Path(__file__).resolve().parents[1]
    text, files = file.read_bytes(), []
    for name, parts in re.findall(_IMPORT, text, re.MULTILINE):
        place = home.joinpath(*name.decode().split("."))
        below = [place / word.strip() for word in parts.decode().split(",")]
        for path in (place, *below):
            files += [f for f in (path.with_suffix(".py"), path / "__init__.py") if f.is_file()]
    return hashlib.sha256(text).digest(), tuple(files)


def _machine() -> str:
    name = platform.machine().lower()
    return SAME.get(name, name)


def _processor() -> tuple[str, set[str]] | None:
    return PROCESSORS.get(_machine())


@cache
def ready_folder() -> Path | None:
    """Where the kernels for this machine are, if there are any."""
    home = os.environ.get("SMDECLUST_PREBUILT", str(Path(__file__).parent / "_compiled"))
    processor = _processor()
    if not home or processor is None or not Path(home).is_dir() or "NUMBA_CPU_NAME" in os.environ:
        return None
    folder = Path(home) / tag()
    if not folder.is_dir():
        return None
    features = llvm.get_host_cpu_features() if processor[1] else {}
    return folder if all(features.get(name) for name in processor[1]) else None


class Kept:
    """The cache of a kernel: what came with the package first, then what numba keeps."""

    def __init__(self, function: Callable[..., Any], kept: Any) -> None:
        self.function, self.kept, self.stamped = function, kept, False

    def _stamp(self) -> None:
        """Let numba forget what was compiled from other sources; none are read at import."""
        file = getattr(self.kept, "_cache_file", None)
        if not self.stamped and hasattr(file, "_source_stamp"):
            sources = sources_of(Path(self.function.__code__.co_filename))
            file._source_stamp = (file._source_stamp, sources)  # type: ignore[union-attr]
        self.stamped = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self.kept, name)

    def _name(self, signature: Any) -> str:
        code = self.function.__code__
        key = self.function.__module__, code.co_qualname, str(signature), code.co_code.hex()
        return hashlib.sha256(repr(key).encode()).hexdigest()[:32]

    def load_overload(self, signature: Any, context: Any) -> Any:
        """A compiled kernel, or None."""
        folder = ready_folder()
        if folder:
            try:
                from numba.core.compiler import CompileResult

                context.refresh()
                stored = pickle.loads((folder / self._name(signature)).read_bytes())
                return CompileResult._rebuild(context, *stored)
            except Exception:  # not there, damaged, or another numba: it is compiled
                pass
        self._stamp()
        return self.kept.load_overload(signature, context)

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep a compiled kernel; in a build, put it into the folder for others as well."""
        self._stamp()
        self.kept.save_overload(signature, compiled)
        target = os.environ.get("SMDECLUST_PREBUILD")
        if target:
            from numba.core.serialize import dumps

            folder = Path(target) / tag()
            folder.mkdir(parents=True, exist_ok=True)
            (folder / self._name(signature)).write_bytes(dumps(compiled._reduce()))


def build(folder: Path) -> None:
    """Compile all kernels for any machine of this kind and write them to ``folder/TAG``."""
    processor = _processor()
    if processor is None:
        raise SystemExit(f"No kernels are built for {platform.machine()} processors.")
    with tempfile.TemporaryDirectory() as empty:
        settings = {
            "NUMBA_CPU_NAME": processor[0],
            "NUMBA_CPU_FEATURES": "",
            "NUMBA_CACHE_DIR": empty,
            "NUMBA_DISABLE_INTEL_SVML": "1",  # a library that is often missing
            "SMDECLUST_PREBUILD": str(folder.resolve()),
        }
        command = [sys.executable, "-m", "smdeclust", "warm-up"]
        subprocess.run(command, env={**os.environ, **settings}, check=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Name the folder for the compiled kernels: python -m smdeclust.prebuilt FOLDER")
    build(Path(sys.argv[1]))
