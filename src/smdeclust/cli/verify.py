"""``smdeclust verify``: check a certificate from the data alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from smdeclust.cli import opening, options, screen
from smdeclust.cli.certify import WeightFile
from smdeclust.cli.errors import CommandError
from smdeclust.cli.fitted import read_labels, read_weights
from smdeclust.cli.options import Reading


def verify(
    data: options.DataFile,
    certificate: Annotated[
        Path, typer.Argument(metavar="CERTIFICATE", help="What 'certify --out' wrote.")
    ],
    reading: Reading,
    clusters: Annotated[int | None, {"min": 1}] = None,
    constraints: options.ConstraintFiles = None,
    labels: Path | None = None,
    tol: Annotated[float | None, {"min": 0, "max": 0.999}] = None,
    weights: WeightFile = None,
    as_json: options.AsJson = False,
) -> None:
    """Check a certificate: derive its bound again from the data, trusting nothing in the file.

    Ends with code 1 where the certificate does not stand. Pass -k to require a certain number of
    clusters; without it, any number is accepted and printed.

    Example:
      smdeclust verify people.csv proof.npz -k 4 -c pairs.csv

    Options:
      --clusters -k K: Required number of clusters.
      --labels -l FILE: labels.csv of the clustering in question (default: the certificate's own).
      --tol GAP: Gap that counts as optimal (default: 1e-4).
    """
    from smdeclust.exact import Certificate
    from smdeclust.exact import verify as check
    from smdeclust.exceptions import SMDEClustError
    from smdeclust.io.files import check_path

    with screen.progress("Verifying"):
        inputs = opening.read_inputs(data, constraints, reading)
        opening.mention_quotas(inputs)
        check_path(certificate)
        about = None if labels is None else read_labels(labels, inputs.table)
        weight = inputs.weight if weights is None else read_weights(weights, inputs.table)
        try:
            bound = check(
                inputs.X,
                Certificate.load(certificate),
                must_link=inputs.constraints.must_link,
                cannot_link=inputs.constraints.cannot_link,
                sample_weight=weight,
                n_clusters=clusters if clusters is not None else inputs.table.n_clusters,
                tol=tol,
                labels=about,
            )
        except (SMDEClustError, OSError, MemoryError):
            raise
        except Exception as error:
            # A damaged file may hold anything, so anything may go wrong while it is checked.
            kind = type(error).__name__
            raise CommandError(
                f"{certificate}: this is not a certificate ({kind}: {error})."
            ) from error
    names = ("lower_bound", "upper_bound", "gap", "optimal", "n_clusters", "tol", "n_parts")
    document = {"valid": True, **{name: getattr(bound, name) for name in names}}
    document["n_leaves"] = len(bound.leaf_bounds)
    if as_json:
        screen.print_json(document)
        return
    screen.print_table(
        [
            ("certificate", "valid"),
            ("clusters", f"{bound.n_clusters}"),
            ("proves", f"optimal to {bound.tol:g}" if bound.optimal else "a bound, not optimality"),
            ("objective", screen.number(bound.upper_bound, 12)),
            ("lower bound", screen.number(bound.lower_bound, 12)),
            ("gap", f"{100 * bound.gap:.4f} %"),
        ]
    )
