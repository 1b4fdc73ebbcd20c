"""``smdeclust certify`` and ``verify``: prove how good a clustering is, and check such a proof."""

import io
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from smdeclust.cli import opening, options, output
from smdeclust.cli.errors import CommandError
from smdeclust.cli.fitted import beside, in_folder, read_json, with_pairs_of
from smdeclust.exact.certificate import above_best
from smdeclust.exceptions import SMDEClustError
from smdeclust.io import write_bytes
from smdeclust.io.files import check_path
from smdeclust.io.per_point import labels_beside, weights_beside
from smdeclust.points.centers import cost_of

WeightFile = Annotated[
    Path | None,
    options.option("--weights FILE", "CSV of two columns: row or id, and the point's weight."),
]

_BETTER = "not optimal: a better clustering was found"
_BETTER_ELSEWHERE = "a better clustering was found, but for another problem (see the notes)"
_STATUS = {
    "optimal": "proven optimal",
    "interrupted": "not proven: interrupted",
    "time_limit": "not proven: time ran out",
    "memory_limit": "not proven: out of memory",
    "too_large": "not proven: too large",
    "precision_limit": "not proven to this tolerance: rounding errors",
    "parts": "not proven to this tolerance: the data were split into parts",
}


def certify(
    data: options.DataFile,
    reading: opening.Reading,
    labels: Path | None = None,
    constraints: options.ConstraintFiles = None,
    out: Path | None = None,
    tol: Annotated[float, {"min": 0, "max": 0.999}] = 1e-4,
    weights: WeightFile = None,
    parts: str = "auto",
    jobs: options.Count = 1,
    folder: Path | None = None,
    max_time: options.MaxTime = None,
    as_json: options.AsJson = False,
    force: options.Force = False,
) -> None:
    """Prove a lower bound on the objective of every feasible clustering, to show how good yours is.

    The bound is tight for up to about 1,000 groups of must-linked points. Larger data are split
    into parts, which makes the bound weaker. Columns, pairs and sizes are those of the fit that
    wrote the labels (or of --result), unless the options name other pairs. Press Ctrl-C to get the
    bound found so far. 'smdeclust verify' checks the certificate independently.

    Example:
      smdeclust certify people.csv --labels result/labels.csv -c pairs.csv --out proof.npz

    Options:
      --labels -l FILE: labels.csv of a fit (default: that of --result).
      --out -o FILE: Certificate to write (.npz).
      --tol GAP: Largest relative gap that counts as optimal.
      --parts auto|N: Number of parts to split large data into; more parts give weaker bounds.
      --jobs N: Number of parts to prove at the same time, each in its own process.
      --folder DIR: Save finished parts here, to continue another time.
    """
    from smdeclust.exact import certify as find_certificate

    output.check_file(out, force=force)
    with output.progress("Proving") as update:
        update("reading")
        reading = replace(reading, result=reading.result or beside(labels))
        if (about := labels or reading.result) is None:
            raise CommandError("Which labels? Pass --labels FILE, or --result DIR of a fit.")
        labels = labels or in_folder(about, "labels.csv")
        inputs, sizes, differs = _read_problem(data, constraints, reading)
        opening.mention_soft(inputs, "only hard pairs can be certified")
        found = labels_beside(labels, inputs.table)
        weight = inputs.weight if weights is None else weights_beside(weights, inputs.table)
        update("branch and cut")
        certificate = find_certificate(
            inputs.X,
            found,
            must_link=inputs.constraints.must_link,
            cannot_link=inputs.constraints.cannot_link,
            sample_weight=weight,
            **sizes,
            tol=tol,
            max_time=max_time,
            n_jobs=jobs,
            parts=int(parts) if parts.isdecimal() else parts,
            folder=folder,
            progress=update,
        )
        if out is not None:
            write_bytes(out, as_bytes(certificate))
    document: dict[str, Any] = {
        name: getattr(certificate, name)
        for name in (
            "status", "lower_bound", "upper_bound", "gap", "tol", "improved", "n_clusters",
            "n_groups", "n_nodes", "seconds", "message",
        )
    }  # fmt: skip
    given = cost_of(inputs.X, found, weight)
    if given <= 1e-12 * cost_of(inputs.X, found * 0, weight):  # rounding errors
        given = 0.0
    better = given > certificate.upper_bound * (1 + 1e-9)
    sentence = above_best(given, certificate.lower_bound)
    gap = max(0.0, 1 - certificate.lower_bound / given) if given > 0 else 0.0
    document |= {"given_objective": given, "given_gap": gap, "sentence": sentence}
    document |= {"standardized": inputs.standardized, "file": None if out is None else str(out)}
    if as_json:
        output.print_json(document)
        return
    better_found = _BETTER_ELSEWHERE if differs else _BETTER
    rows = [
        ("result", better_found if better else _STATUS.get(certificate.status, certificate.status)),
        ("objective of the given labels", output.number(given, 12)),
        ("lower bound", output.number(certificate.lower_bound, 12)),
        ("gap", f"{100 * gap:.4f}% of this objective"),
        ("quality", sentence),
        ("nodes", f"{certificate.n_nodes:,}"),
        ("time", output.seconds(certificate.seconds)),
    ]
    if better:
        other = output.number(certificate.upper_bound, 12)
        proven = " (proven optimal)" if certificate.status == "optimal" else ""
        where = f"; it is in {out}" if out is not None else "; to save it, pass --out FILE"
        rows.append(("better clustering", f"objective {other}{proven}{where}"))
    if certificate.message:
        rows.append(("note", certificate.message))
    output.print_table(rows)
    if out is not None:
        output.print_result(str(out))


def verify(
    data: options.DataFile,
    certificate: Annotated[
        Path, typer.Argument(metavar="CERTIFICATE", help="What 'certify --out' wrote.")
    ],
    reading: opening.Reading,
    clusters: Annotated[int | None, {"min": 1}] = None,
    constraints: options.ConstraintFiles = None,
    labels: Path | None = None,
    tol: Annotated[float | None, {"min": 0, "max": 0.999}] = None,
    weights: WeightFile = None,
    as_json: options.AsJson = False,
) -> None:
    """Check a certificate: compute its bound again from the data, trusting nothing in the file.

    Columns, pairs and sizes are those of the fit in the folder of the certificate or the labels (or
    of --result), unless the options name other pairs. The exit code is 1 if the certificate is not
    valid. Pass -k to require a certain number of clusters. Without it, any number is accepted and
    printed.

    Example:
      smdeclust verify people.csv proof.npz -k 4 -c pairs.csv

    Options:
      --clusters -k K: Required number of clusters.
      --labels -l FILE: labels.csv of the clustering in question (default: the certificate's own).
      --tol GAP: Largest relative gap that counts as optimal (default: 1e-4, or the certificate's
        own tolerance if that is smaller).
    """
    from smdeclust.exact import Certificate
    from smdeclust.exact import verify as check

    with output.progress("Verifying"):
        check_path(certificate)
        reading = replace(reading, result=reading.result or beside(labels or certificate))
        inputs, sizes, _ = _read_problem(data, constraints, reading)
        about = None if labels is None else labels_beside(labels, inputs.table)
        weight = inputs.weight if weights is None else weights_beside(weights, inputs.table)
        try:
            bound = check(
                inputs.X,
                Certificate.load(certificate),
                must_link=inputs.constraints.must_link,
                cannot_link=inputs.constraints.cannot_link,
                sample_weight=weight,
                **sizes,
                n_clusters=clusters if clusters is not None else inputs.table.n_clusters,
                tol=tol,
                labels=about,
            )
        except (SMDEClustError, OSError, MemoryError):
            raise
        except Exception as error:
            # A damaged file may hold anything, so anything may go wrong while it is checked.
            raise CommandError(f"{certificate}: this is not a certificate ({error!r}).") from error
    names = ("lower_bound", "upper_bound", "gap", "optimal", "n_clusters", "tol", "n_parts")
    document = {"valid": True, **{name: getattr(bound, name) for name in names}}
    document["n_leaves"] = len(bound.leaf_bounds)
    if as_json:
        output.print_json(document)
        return
    proves = f"optimal to {bound.tol:g}" if bound.optimal else "a bound, not optimality"
    rows = [("certificate", "valid"), ("clusters", f"{bound.n_clusters}"), ("proves", proves)]
    costs = {"objective": bound.upper_bound, "lower bound": bound.lower_bound}
    rows += [(name, output.number(value, 12)) for name, value in costs.items()]
    output.print_table([*rows, ("gap", f"{100 * bound.gap:.4f}%")])


def _read_problem(data: Path, pairs: Any, reading: Any) -> tuple[Any, dict[str, Any], bool]:
    """Data and pairs (of the fit, if none are given), sizes, and whether the fit's differ."""
    inputs, place = opening.read_inputs(data, pairs, reading), reading.result
    opening.mention_quotas(inputs)
    differs = bool(inputs.constraints.quotas or inputs.constraints.n_soft)
    file = Path() if place is None else in_folder(place, "result.json")
    if not file.is_file():
        return inputs, {}, differs
    fit = read_json(file, "the result.json of a fit")
    try:
        sizes = {name: fit["settings"].get(name) for name in ("size_min", "size_max")}
        left_out = {"soft pair": fit["n_soft_pairs"], "quota": len(fit.get("quotas", ()))}
        if inputs.pair_paths or any(inputs.pair_columns.values()):
            left_out["soft pair"] = 0
        elif "must_link" not in fit or fit["broken_must_links"] + fit["broken_cannot_links"]:
            left_out["pair"] = fit["n_must_links"] + fit["n_cannot_links"]
        else:
            inputs = with_pairs_of(fit, inputs, file)
        counts = " and ".join(output.plural(n, what) for what, n in left_out.items() if n)
        other = fit.get("distance") or (fit["method"] == "guided" and "guided")
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise CommandError(f"{file}: it does not match the data ({error!r}).") from error
    if counts:
        output.note(f"the fit had {counts}. This certificate is about the problem without them.")
    if other:
        output.note(f"the fit ({other}) did not minimize this sum of squares: a gap is expected.")
    return inputs, sizes, bool(differs or counts or other)


def as_bytes(certificate: Any) -> bytes:
    """The certificate as a file."""
    stream = io.BytesIO()
    certificate.save(stream)
    return stream.getvalue()
