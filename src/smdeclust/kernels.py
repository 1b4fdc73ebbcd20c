"""How kernels are compiled, in one place.

No full fastmath: it assumes that infinities do not occur, and here they mean "forbidden". Kernels
copy arrays by loops and not by slices: whole-array statements compile ten times slower.
"""

import gc
import logging
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache, cached_property, partial, update_wrapper
from typing import Any

logger = logging.getLogger(__name__)

FOR_ALL: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


class Kernel:
    """A function that is compiled on first use; numba is not imported before."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self._function, self._options = function, options

    @cached_property
    def compiled(self) -> Any:
        """What numba makes of the function.

        What saves time here uses parts of numba that it may change. Where they are not as expected,
        kernels are compiled as numba does it by itself.
        """
        try:
            made = _tuned(self._function, self._options)
        except Exception as error:
            logger.debug("numba is not as expected: %s", error)
            made = _plain(self._function, self._options)
        return vars(self).setdefault("compiled", made)  # (what another thread has made counts)

    @property
    def _numba_type_(self) -> Any:
        """How numba finds a kernel that another kernel calls."""
        return self.compiled._numba_type_

    def __call__(self, *args: Any) -> Any:
        return self.compiled(*args)

    def __reduce__(self) -> str:
        return self._function.__qualname__


def kernel(**options: Any) -> Callable[[Callable[..., Any]], Kernel]:
    """Compile a function on first use and keep the result on disk, if it did not come compiled."""
    return lambda function: Kernel(function, options)


def _plain(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    import numba

    compiled = numba.njit(**FOR_ALL, **options)(function)
    with suppress(RuntimeError, AttributeError):  # no folder that numba may write to, or it is off
        compiled.enable_caching()
    return compiled


def _tuned(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """The same, with a cache that knows all sources and what came with the package.

    What other kernels call is compiled without an entry from Python: numba would write and optimize
    one for each of them, a fifth of all its work.
    """
    import numba
    from numba.core.compiler_lock import global_compiler_lock as one_by_one

    from smdeclust.prebuilt import Kept

    compiler: Any = numba.njit  # (its type leaves out some of these options)
    less: dict[str, Any] = {**FOR_ALL, "no_cfunc_wrapper": True, **options}
    outer = compiler(**less)(function)
    if outer is function:  # numba is switched off
        return function
    with suppress(RuntimeError):
        outer.enable_caching()
    inner = compiler(no_cpython_wrapper=True, pipeline_class=called_pipeline(), **less)(function)

    def call_template(args: Any, keywords: Any) -> Any:
        """Constants are typed as variables, or each of them would be compiled by itself."""
        plain = {name: numba.types.unliteral(kind) for name, kind in keywords.items()}
        return inner.get_call_template(tuple(map(numba.types.unliteral, args)), plain)

    outer._compiler._customize_flags = inner._compiler._customize_flags = quick_flags()
    outer.get_call_template, outer.get_overload = call_template, inner.get_overload
    outer._cache = Kept(function, outer._cache)
    outer.compile = one_by_one(_undisturbed(outer.compile))
    return outer


def _undisturbed(work: Callable[..., Any]) -> Callable[..., Any]:
    """The same without looking for garbage meanwhile: an eighth of the time to compile."""

    def undisturbed(*args: Any) -> Any:
        collects = gc.isenabled()
        gc.disable()
        try:
            return work(*args)
        finally:
            if collects:
                gc.enable()

    return undisturbed


@cache
def quick_flags() -> Any:
    """The options of a kernel, as numba looks them up to see what it has compiled for another one.

    It does so for every operation, and compares all options by name: a sixth of its work. Only
    these four count for what it compiles for us, so that kernels share it.
    """
    from numba.core.compiler import Flags

    class Quick(Flags):  # type: ignore[misc]
        def __init__(self, flags: Any) -> None:
            super().__init__(flags)
            self.key = str((self.nrt, self.fastmath, self.error_model, self.forceinline))

        def __hash__(self) -> int:
            return hash(self.key)

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Quick) and self.key == other.key

    Quick(Flags())  # (another numba is noticed here, and not by the first call of a kernel)
    return Quick


@cache
def called_pipeline() -> Any:
    """How kernels are compiled that other kernels call: up to the code that these take in.

    numba optimizes what is called and makes machine code of it, and then does so again within every
    caller and the callers of that.
    """
    from numba import _dynfunc  # type: ignore[attr-defined]
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import CompilerBase, DefaultPassBuilder
    from numba.core.compiler_machinery import register_pass
    from numba.core.typed_passes import NativeLowering

    class Library(JITCodeLibrary):  # type: ignore[misc]
        def _optimize_final_module(self) -> None:
            """The callers do."""

        def _finalize_final_module(self) -> None:
            self._finalize_dynamic_globals()
            self._finalized = True

    class Lowering(NativeLowering):  # type: ignore[misc]
        _name = "lowering_of_called_kernels"

        def run_pass(self, state: Any) -> bool:
            try:
                return self._lower(state)
            except Exception as error:  # another numba: as it does it by itself
                logger.debug("numba is not as expected: %s", error)
                state.library, state.flags.no_compile = None, False
                return bool(super().run_pass(state))

        def _lower(self, state: Any) -> bool:
            name = state.func_id.func_name
            state.library = library = Library(state.targetctx.codegen(), name)
            state.flags.no_compile = True
            super().run_pass(state)
            library.finalize()
            done, home = state["cr"], sys.modules[state.func_id.func.__module__]
            entry = _dynfunc.make_function(home, name, "", 0, done.env, (library,))
            state.targetctx.insert_user_function(entry, done.fndesc, [library])
            state["cr"] = done._replace(cfunc=entry)
            return True

    class Pipeline(CompilerBase):  # type: ignore[misc]
        def define_pipelines(self) -> list[Any]:
            passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
            at = [each for each, _ in passes.passes].index(NativeLowering)
            passes.passes[at] = (Lowering, "lowering of a kernel that others call")
            passes.finalize()
            return [passes]

    register_pass(mutates_CFG=True, analysis_only=False)(Lowering)
    return Pipeline


# The same, with sums that may be reordered: inner products become vector code.
summing_kernel = partial(kernel, fastmath={"reassoc", "contract", "nsz"})
