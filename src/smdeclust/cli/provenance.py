"""What a result came from: files by digest, versions, and how to make it again."""

from __future__ import annotations

import hashlib
import platform
import shlex
from dataclasses import fields
from importlib import metadata
from pathlib import Path
from typing import Any

from smdeclust.cli import methods
from smdeclust.cli.methods import METHODS, Run
from smdeclust.cli.opening import Inputs
from smdeclust.cli.options import Reading

_PACKAGES = ("smdeclust", "numpy", "scipy", "scikit-learn", "numba")


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that decide about results."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:  # run from a folder that was never installed
            found[package] = "unknown"
    return found


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def command_line(arguments: list[str]) -> str:
    """The command as it can be typed again."""
    return shlex.join(["smdeclust", *arguments])


def snippet(
    inputs: Inputs, reading: Reading, run: Run, setup: methods.Setup, quotas: list[str]
) -> str:
    """Python code that gives the same clustering: it reads the files as the command did."""
    method = METHODS[run.method]
    options = {f.name: getattr(reading, f.name) for f in fields(reading)}
    changed = {f.name: options[f.name] for f in fields(reading) if options[f.name] != f.default}
    files = f"{_code(inputs.path)}, {_code(list(inputs.pair_paths))}"
    lines = [
        "from pathlib import Path",
        "",
        f"from smdeclust import {method.estimator}",
        "from smdeclust.cli.opening import read_inputs",
        "from smdeclust.cli.options import Reading",
        *(["from smdeclust.cli.quotas import with_quotas"] if quotas else []),
        "",
        f"inputs = read_inputs({files}, Reading({_arguments(changed)}))",
        *([f"inputs = with_quotas(inputs, {quotas!r})"] if quotas else []),
    ]
    chosen = {key: run.settings.get(key) for key in ("random_state", "max_time")}
    chosen |= {key: value for key, value in setup.settings.items() if key != "init"}
    if "init" in setup.settings:
        lines.append("# (It began with earlier labels: give them as init= to begin there.)")
    named = f", {_arguments(chosen)}"
    if method.variant is None:
        model = f"{method.estimator}({setup.n_clusters}{named}"
    else:
        variant = f"{method.variant!r}, n_clusters={setup.n_clusters}"
        model = f"{method.estimator}.from_paper({variant}{named}"
    left_out = inputs.constraints.n_soft and not methods.takes_soft_pairs(run.method)
    hard = ".hard_only()" if left_out else ""
    weight = methods.takes_weights(run.method) and inputs.weight is not None
    fit = (
        f"inputs.X, constraints=inputs.constraints{hard}" + ", sample_weight=inputs.weight" * weight
    )
    return "\n".join([*lines, f"model = {model})", f"model.fit({fit})", "print(model.inertia_)"])


def _arguments(options: dict[str, Any]) -> str:
    return ", ".join(f"{key}={_code(value)}" for key, value in options.items() if value is not None)


def _code(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_code, value))}]"
    return f"Path({str(value)!r})" if isinstance(value, Path) else repr(value)
