"""The command line ``smdeclust``: its commands, what they share, and the program (`app`)."""

import sys
from collections.abc import Sequence

from smdeclust.extras import MissingExtraError, optional


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line, with these arguments or its own, and leave with its exit code."""
    try:
        with optional("The command line"):
            from smdeclust.cli.app import run
    except MissingExtraError as error:
        raise SystemExit(f"Error: {error}") from None
    except KeyboardInterrupt:  # Ctrl-C while the first modules load
        sys.stderr.write("Error: Interrupted. No output file was changed.\n")
        raise SystemExit(130) from None
    raise SystemExit(run(arguments))
