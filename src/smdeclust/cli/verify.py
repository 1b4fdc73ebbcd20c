"""``smdeclust verify``: check a certificate from the data alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from smdeclust.cli import options, screen
from smdeclust.cli.errors import CommandError
from smdeclust.cli.options import Reading


def verify(
    data: options.DataFile,
    certificate: Annotated[
        Path, typer.Argument(metavar="CERTIFICATE", help="What 'certify --out' wrote.")
    ],
    constraints: options.ConstraintFiles = None,
    as_json: options.AsJson = False,
    id_column: options.IdColumn = None,
    label: options.LabelColumn = None,
    features: options.Features = None,
    data_format: options.DataFormat = None,
    no_header: options.NoHeader = False,
    standardize: options.Standardize = False,
    format: options.PairFormat = None,
    kind: options.PairKind = None,
    index_base: options.IndexBase = None,
    must_link_sign: options.MatrixSign = 1,
    pairs_by_row: options.PairsByRow = None,
) -> None:
    """Check a certificate: derive its bound again from the data, trusting nothing in the file.

    Ends with code 1 where the certificate does not stand.

    Example:
      smdeclust verify people.csv proof.npz -c pairs.csv
    """
    from smdeclust.exact import Certificate
    from smdeclust.exact import verify as check
    from smdeclust.exceptions import SMDEClustError
    from smdeclust.io.files import check_path

    reading = Reading(
        id_column, label, features, data_format, no_header, standardize,
        format, kind, index_base, must_link_sign, pairs_by_row,
    )  # fmt: skip
    with screen.progress("Verifying"):
        inputs = options.read_inputs(data, constraints, reading)
        check_path(certificate)
        try:
            bound = check(
                inputs.X,
                Certificate.load(certificate),
                must_link=inputs.constraints.must_link,
                cannot_link=inputs.constraints.cannot_link,
            )
        except (SMDEClustError, OSError, MemoryError):
            raise
        except Exception as error:
            # A damaged file may hold anything, so anything may go wrong while it is checked.
            kind = type(error).__name__
            raise CommandError(
                f"{certificate}: this is no certificate ({kind}: {error})."
            ) from error
    document = {
        "valid": True,
        "lower_bound": bound.lower_bound,
        "upper_bound": bound.upper_bound,
        "gap": bound.gap,
        "optimal": bound.optimal,
        "n_leaves": len(bound.leaf_bounds),
    }
    if as_json:
        screen.print_json(document)
        return
    screen.print_table(
        [
            ("certificate", "valid"),
            ("proves", "optimal" if bound.optimal else "a bound, not optimality"),
            ("objective", screen.number(bound.upper_bound, 12)),
            ("lower bound", screen.number(bound.lower_bound, 12)),
            ("gap", f"{100 * bound.gap:.4f} %"),
        ]
    )
