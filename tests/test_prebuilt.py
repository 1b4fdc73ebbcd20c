"""Kernels that come compiled, and how all kernels are compiled."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from smdeclust import prebuilt

MODULE = """
from smdeclust.kernels import kernel

@kernel()
def twice(x):
    return 2 * x

@kernel()
def four_times(x):
    return twice(twice(x))
"""
CALL = """
from some_kernels import four_times, twice
assert four_times(3) == 12
print(len(four_times.compiled.stats.cache_hits), len(twice.compiled.signatures))
"""


def run(folder: Path, code: str = CALL, **settings: str) -> str:
    """What a new process with nothing compiled prints."""
    (folder / "some_kernels.py").write_text(MODULE)
    paths = [str(folder), str(Path(prebuilt.__file__).parents[1])]
    cold = folder / f"cache {len(list(folder.glob('cache*')))}"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "NUMBA_CACHE_DIR": str(cold),
             **settings},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_built_kernels_are_taken_and_damaged_ones_compiled(tmp_path: Path) -> None:
    """What a build wrote is loaded by a process without a cache; nothing else changes."""
    processor = prebuilt._processor()
    if processor is None:
        pytest.skip("no kernels are built for this kind of processor")
    folder = tmp_path / "compiled"
    run(tmp_path, SMDECLUST_PREBUILD=str(folder), NUMBA_CPU_NAME=processor[0])
    (built,) = (folder / prebuilt.tag()).iterdir()  # an inner kernel is part of the outer one
    # A hit of the cache, and the inner kernel was never compiled for Python.
    assert run(tmp_path, SMDECLUST_PREBUILT=str(folder)) == "1 0"
    built.write_bytes(b"damaged")
    assert run(tmp_path, SMDECLUST_PREBUILT=str(folder)) == "0 0"


def test_other_machines_compile_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels for processors that can do more than this one are not taken."""
    (tmp_path / prebuilt.tag()).mkdir()
    monkeypatch.setenv("SMDECLUST_PREBUILT", str(tmp_path))
    monkeypatch.delenv("NUMBA_CPU_NAME", raising=False)
    needed: set[str] = set()
    monkeypatch.setattr(prebuilt, "_processor", lambda: ("some", needed))
    prebuilt.ready_folder.cache_clear()
    assert prebuilt.ready_folder() == tmp_path / prebuilt.tag()
    needed.add("no machine has this")
    prebuilt.ready_folder.cache_clear()
    assert prebuilt.ready_folder() is None
    prebuilt.ready_folder.cache_clear()


def test_the_command_line_says_whether_it_compiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With nothing kept, it compiles, unless compiled kernels came with the package."""
    from smdeclust.cli.output import starting

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("NUMBA_CPU_NAME", raising=False)
    monkeypatch.setattr(prebuilt, "_processor", lambda: ("some", set()))
    (tmp_path / "came" / prebuilt.tag()).mkdir(parents=True)
    for folder, said in (("", "compiling"), (str(tmp_path / "came"), "starting")):
        monkeypatch.setenv("SMDECLUST_PREBUILT", folder)
        prebuilt.ready_folder.cache_clear()
        assert starting().startswith(said)
    prebuilt.ready_folder.cache_clear()


def test_kernels_are_pickled_by_name() -> None:
    """Other processes look a kernel up, and compile or load it when they call it."""
    from smdeclust.structure.groups import join_pairs

    assert pickle.loads(pickle.dumps(join_pairs)) is join_pairs


def test_threads_share_what_was_made_of_a_kernel() -> None:
    """What one thread has made of a function is what a slower one gets, too."""
    from smdeclust.kernels import Kernel
    from smdeclust.structure.groups import join_pairs

    make = vars(Kernel)["compiled"].func  # (without the lock that Python had until 3.11)
    assert make(join_pairs) is make(join_pairs) is join_pairs.compiled


def test_garbage_is_collected_after_threads_have_compiled(tmp_path: Path) -> None:
    """A thread that comes while another one compiles does not switch collection off for good."""
    call = """
import gc, threading
from some_kernels import four_times, twice
first, busy = threading.Thread(target=four_times, args=(3,)), threading.Event()
is_on, switch_off = gc.isenabled, gc.disable
def disable():
    switch_off()
    busy.set()
def isenabled():
    found = is_on()
    if not found:
        first.join()
    return found
gc.disable, gc.isenabled = disable, isenabled
first.start()
busy.wait()
twice(3)
first.join()
print(is_on())
"""
    assert run(tmp_path, call) == "True"


def test_no_folder_to_write_to(tmp_path: Path) -> None:
    """Where numba finds no folder for its cache, kernels are compiled without one."""
    without = """
from numba.core import caching
caching.FunctionCache._impl_class._locator_classes = []
"""
    assert run(tmp_path, without + CALL) == "0 0"


DIFFERENT = {
    "it takes no such options": """
import numba
njit = numba.njit
def other(*args, **options):
    if "no_cfunc_wrapper" in options:
        raise KeyError("Unrecognized options")
    return njit(*args, **options)
numba.njit = other
""",
    "its results are rebuilt by other means": """
import numba.core.compiler
del numba.core.compiler.CompileResult._rebuild
""",
    "its dispatchers have other methods": """
import numba
njit = numba.njit
class Other:
    def __init__(self, dispatcher): object.__setattr__(self, "it", dispatcher)
    def __getattr__(self, name):
        if name in ("_cache", "get_call_template", "get_overload"):
            raise AttributeError(name)
        return getattr(self.it, name)
    def __call__(self, *args): return self.it(*args)
def other(*args, **options):
    made, inner = njit(*args, **options), "no_cpython_wrapper" in options
    return lambda function: Other(made(function)) if inner else made(function)
numba.njit = other
""",
    "its flags are made in another way": """
from numba.core.compiler import Flags
start = Flags.__init__
def other(self, *given, **named):
    if type(self) is not Flags:
        raise TypeError("flags are made in another way")
    start(self, *given, **named)
Flags.__init__ = other
""",
    "what it makes of a function has another form": """
from numba.core import compiler
compiler._LowerResult._replace = None
""",
    "its cache keeps other files": """
from numba.core import caching
save = caching.IndexDataCacheFile.__init__
def other(self, *args, **options):
    save(self, *args, **options)
    self.__dict__["stamp"] = self.__dict__.pop("_source_stamp")
caching.IndexDataCacheFile.__init__ = other
caching.IndexDataCacheFile._load_index = lambda self: {}
caching.IndexDataCacheFile._save_index = lambda self, overloads: None
""",
}


@pytest.mark.parametrize("how", DIFFERENT)
def test_a_numba_with_other_insides_still_works(tmp_path: Path, how: str) -> None:
    """Where numba is not as we know it, the package imports, compiles plainly, and clusters."""
    call = "from some_kernels import four_times\nprint(four_times(3))\n"
    folder = {"SMDECLUST_PREBUILT": str(tmp_path / "compiled")}
    (tmp_path / "compiled" / prebuilt.tag()).mkdir(parents=True)
    assert run(tmp_path, DIFFERENT[how] + call, **folder) == "12"


def test_all_modules_import_with_another_numba(tmp_path: Path) -> None:
    """No module of the package asks numba for more than `kernels` does."""
    walk = """
import importlib, pkgutil, smdeclust
for module in pkgutil.walk_packages(smdeclust.__path__, "smdeclust."):
    if module.name.startswith(("smdeclust.local_search", "smdeclust.assignment", "smdeclust.points",
                               "smdeclust.baselines", "smdeclust.exact", "smdeclust.memetic")):
        try:
            importlib.import_module(module.name)
        except ImportError as error:
            assert error.name in ("torch", "dask", "distributed"), error
print("all")
"""
    assert run(tmp_path, DIFFERENT["it takes no such options"] + walk) == "all"


def test_a_changed_source_is_compiled_again(tmp_path: Path) -> None:
    """A kernel that calls one of another module is compiled again when that module changes."""
    package = tmp_path / "smdeclust_copy"
    inner = "from smdeclust.kernels import kernel\n\n@kernel()\ndef number(x):\n    return x + {}\n"
    outer = (
        "from smdeclust.kernels import kernel\nfrom smdeclust.zz_inner import number\n\n"
        "@kernel()\ndef ask(x):\n    return number(x)\n"
    )
    import shutil

    home = Path(prebuilt.__file__).parent
    shutil.copytree(home, package / "smdeclust", ignore=shutil.ignore_patterns("__pycache__"))
    (package / "smdeclust" / "zz_outer.py").write_text(outer)
    answers = []
    for value in (1, 2, 2):
        (package / "smdeclust" / "zz_inner.py").write_text(inner.format(value))
        code = (
            "from smdeclust.zz_outer import ask\nprint(ask(1), len(ask.compiled.stats.cache_hits))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1",
                 "NUMBA_CACHE_DIR": str(tmp_path / "kept")},
        )  # fmt: skip
        answers.append(done.stdout.strip())
    assert answers == ["2 0", "3 0", "3 1"]
