"""What a result came from: files by digest, versions, and how to make it again."""

from __future__ import annotations

import hashlib
import platform
import shlex
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


def snippet(inputs: Inputs, reading: Reading, run: Run, setup: methods.Setup) -> str:
    """Python code that gives the same clustering."""
    n_clusters, settings = setup.n_clusters, setup.settings
    method = METHODS[run.method]
    is_table = inputs.is_table
    imports = [f"from smdeclust import {method.estimator}{', TableFeatures' * is_table}"]
    parts = _pairs_code(inputs, reading)
    code = "\n".join(parts)
    readers = [name for name in ("pairs_from_groups", "read_constraints") if name in code]
    readers.append("read_frame" if is_table else "read_table")
    path, rows = str(inputs.path), "" if inputs.kept is None else "[kept]"
    how: dict[str, Any] = {"format": reading.data_format, "encoding": reading.encoding}
    if is_table:
        how |= {"sheet": reading.sheet, "header": False if reading.no_header else None}
        scaling = inputs.features.scaling
        chosen_roles: dict[str, Any] = {"roles": reading.roles() or None}
        chosen_roles |= {} if scaling == "robust" else {"scaling": scaling}
        only = reading.feature_names()
        fit_options = f"frame{'' if only is None else f', only={only!r}'}"
        lines = [
            f"frame = read_frame({_call(path, how)}).frame",
            f"features = TableFeatures({_arguments(chosen_roles)})",
            f"features.fit({fit_options})",
        ]
        if inputs.pairs_by == "id":
            lines.append(f"ids = frame[{inputs.table.id_name!r}].astype(str)")
        if inputs.weight is not None and methods.takes_weights(run.method):
            lines.append(f"weight = frame[{inputs.weight_name!r}].to_numpy(float)")
        if inputs.kept is not None:
            lines.append("kept = (~features.gaps(frame)).nonzero()[0]")
        lines.append(f"X = features.transform(frame{'.iloc[kept]' * bool(rows)})")
        if inputs.table.groups is not None:
            readers.append("Table")
            lines.append(f"groups = frame[{inputs.table.group_name!r}].fillna('').astype(str)")
            lines.append("table = Table(X, groups=tuple(groups))")
    else:
        points = path if reading.points is None else str(reading.points)
        how |= {"label": reading.label, "id_column": reading.id_column}
        lines = [f"table = read_table({_call(points, how if reading.points is None else {})})"]
        if inputs.standardized:
            imports.append("from smdeclust.datasets import standardize")
        lines.append(f"X = {'standardize(table.X)' if inputs.standardized else 'table.X'}")
        if inputs.pairs_by == "id":
            lines.append("ids = table.ids")
    imports.append(f"from smdeclust.io import {', '.join(sorted(readers))}")
    lines = [*imports, "", *lines]
    fit = "X"
    names = methods.fit_arguments(run.method, inputs.constraints, inputs.weight)
    if "sample_weight" in names:
        fit += f", sample_weight=weight{rows}"
    if parts:
        joined = " | ".join(parts)
        lines.append(f"pairs = ({joined}){rows}" if rows else f"pairs = {joined}")
        for name in names:
            if name != "sample_weight":
                fit += ", constraints=pairs" if name == "constraints" else f", {name}=pairs.{name}"
    chosen = {key: run.settings.get(key) for key in ("random_state", "max_time")}
    chosen |= {key: value for key, value in settings.items() if key != "init"}
    if "init" in settings:
        lines.append("# (It began with earlier labels: give them as init= to begin there.)")
    if method.variant is None:
        model = f"{method.estimator}({_call(n_clusters, chosen)})"
    else:
        options = {"n_clusters": n_clusters, **chosen}
        model = f"{method.estimator}.from_paper({_call(method.variant, options)})"
    lines += [f"model = {model}", f"model.fit({fit})", "print(model.inertia_)"]
    return "\n".join(lines)


def _pairs_code(inputs: Inputs, reading: Reading) -> list[str]:
    """Calls that give the pairs: of the files, of the group column."""
    parts = []
    if inputs.pair_paths:
        paths = [str(path) for path in inputs.pair_paths]
        options = reading.pair_options()
        if reading.must_link_sign == 1:
            del options["must_link_sign"]
        ids = ", ids=ids" if inputs.pairs_by == "id" else ""
        call = _call(paths if len(paths) > 1 else paths[0], options)
        n_points = "len(X)" if inputs.kept is None else "len(frame)"
        parts.append(f"read_constraints({call}, n_points={n_points}{ids})")
    if inputs.table.groups is not None:
        parts.append(f"pairs_from_groups(table, {reading.kind!r}, {str(inputs.path)!r})")
    return parts


def _call(first: object, options: dict[str, Any]) -> str:
    return ", ".join([repr(first), *filter(None, [_arguments(options)])])


def _arguments(options: dict[str, Any]) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in options.items() if value is not None)
