"""One run: load, warm up, fit, and judge the labels."""

from __future__ import annotations

import faulthandler
import json
import os
import platform
import time
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from joblib import cpu_count  # type: ignore[import-untyped]
from numpy.typing import NDArray

from smdeclust.exceptions import NoFeasibleSolutionError
from smdeclust.extras import versions
from smdeclust.paper.data import Instance
from smdeclust.paper.methods import resolve
from smdeclust.paper.plan import Run
from smdeclust.paper.store import Outcome
from smdeclust.points.centers import cost_of
from smdeclust.structure.pairs import count_broken, count_distinct

_warm: set[str] = set()

# A run's own limit is for `fit`; this one is for loading and compiling before, and judging after.
LIMIT_ASIDE = 1800.0
LATE = 1  # the code of a process that `faulthandler` ends


def execute(run: Run) -> Outcome:
    """Carry out a run in this process; a failure is an outcome, not an exception.

    The process ends, with the code `LATE`, where ``fit`` takes longer than the limit of the run.
    """
    _end_after(LIMIT_ASIDE)
    try:
        instance: Instance = resolve(run.loader)(run.dataset, run.configuration)
        factory = resolve(run.method.factory)
        model = factory(instance.n_clusters, run.seed, **run.method.settings)
        _warm_up(run, factory)
    except Exception as error:
        return Outcome("failed", _sentence(error), machine=describe_machine())
    _end_after(run.time_limit)
    started, cpu = time.perf_counter(), time.process_time()
    status, reason = "ok", ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(instance.X, must_link=instance.must_link, cannot_link=instance.cannot_link)
    except NoFeasibleSolutionError as error:
        status, reason = "infeasible", _sentence(error)
    except Exception as error:
        status, reason = "failed", _sentence(error)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu
    _end_after(LIMIT_ASIDE)
    judged: dict[str, Any] = {}
    if status == "ok":
        try:
            judged = _judge(run, instance, np.asarray(model.labels_))
            judged["details"] |= _proof(model)
        except Exception as error:
            status, reason = "failed", f"the labels cannot be judged: {_sentence(error)}"
    _end_after(None)
    return Outcome(
        status,
        reason,
        seconds=seconds,
        cpu_seconds=cpu_seconds,
        local_searches=_count(model, "n_local_searches_"),
        local_iterations=_count(model, "n_local_iterations_"),
        iterations=_count(model, "n_iter_"),
        stop_reason=getattr(model, "stop_reason_", getattr(model, "status_", None)),
        parameters=_parameters(model),
        machine=describe_machine(),
        **judged,
    )


def _end_after(seconds: float | None) -> None:
    """End this process after so many seconds, whatever it is doing then; None: do not."""
    faulthandler.cancel_dump_traceback_later()
    if seconds is not None:
        faulthandler.dump_traceback_later(max(seconds, 1e-3), exit=True, file=_nowhere())


@cache
def _nowhere() -> Any:
    return open(os.devnull, "w")


def _proof(model: Any) -> dict[str, Any]:
    """What an exact method says beside its labels."""
    if not hasattr(model, "certificate_"):
        return {}
    bound, gap = float(model.lower_bound_), float(model.gap_)
    return {"lower_bound": bound, "gap": gap, "improved": bool(model.certificate_.improved)}


def _judge(run: Run, instance: Instance, labels: NDArray[np.int64]) -> dict[str, Any]:
    """All that follows from the labels, the same way for every method."""
    if labels.shape != (len(instance.X),):
        raise ValueError(f"labels_ has shape {labels.shape} for {len(instance.X)} points")
    must, cannot = count_broken(instance.must_link, instance.cannot_link, labels)
    counted = {}
    for configuration in run.count:
        pairs = resolve(run.loader)(run.dataset, configuration)
        both = pairs.must_link, pairs.cannot_link
        broken = count_broken(*both, labels)
        counted[configuration] = [*broken, *map(count_distinct, both)]
    agreement = None
    if instance.y is not None:
        from sklearn.metrics import adjusted_rand_score

        agreement = float(adjusted_rand_score(instance.y, labels))
    return {
        "objective": cost_of(instance.X, labels),
        "broken_must_links": must,
        "broken_cannot_links": cannot,
        "adjusted_rand": agreement,
        "details": {"broken": counted} if counted else {},
    }


def _warm_up(run: Run, factory: Callable[..., Any]) -> None:
    """Fit something tiny first, so that compiling is not timed."""
    mark = run.method.factory + json.dumps(dict(run.method.settings), sort_keys=True)
    if mark in _warm:
        return
    # Overlapping clusters and pairs by class: many cannot-links break, so all kernels are called.
    rng = np.random.default_rng(0)
    classes = np.arange(60) % 3
    X = rng.normal(size=(60, 2)) + classes[:, None]
    pairs = rng.choice(60, size=(45, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    together = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    must, cannot = pairs[together][:5], pairs[~together]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            factory(3, 0, **run.method.settings).fit(X, must_link=must, cannot_link=cannot)
    except NoFeasibleSolutionError:
        pass
    _warm.add(mark)


def _parameters(model: Any) -> dict[str, Any]:
    try:
        return json.loads(json.dumps(model.get_params(), default=repr))
    except Exception:  # an estimator of somebody else need not have them
        return {}


def _count(model: Any, name: str) -> int | None:
    value = getattr(model, name, None)
    return None if value is None else int(value)


def _sentence(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:2000]


@cache
def describe_machine() -> dict[str, Any]:
    """Processor, cores, memory, system and versions; no name of the machine or of its user."""
    return {
        "processor": _processor(),
        "cores": cpu_count(),
        "memory_gib": _memory_gib(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": versions(),
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _memory_gib() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, ValueError, OSError):
        return None
