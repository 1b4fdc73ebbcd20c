"""Every way of failing as a sentence and an exit code; never a traceback."""

import errno
import os
import re
from typing import Any

from smdeclust.exceptions import InfeasibleConstraintsError, SMDEClustError

DONE, BAD_INPUT, INFEASIBLE, STOPPED, INTERRUPTED, TERMINATED = 0, 1, 2, 3, 130, 143


class Terminated(BaseException):
    """The process was asked to end (SIGTERM)."""


class CommandError(Exception):
    """The command line cannot be carried out as given; the message says what to do."""


class Outcome(Exception):
    """The command is done and has said all there is to say; leave with this code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


_SENTENCES: dict[type[BaseException], tuple[int, str]] = {
    KeyboardInterrupt: (INTERRUPTED, "Interrupted. No output file was changed."),
    Terminated: (TERMINATED, "Terminated. No output file was changed."),
    RecursionError: (BAD_INPUT, "The input is nested too deeply."),
    MemoryError: (
        BAD_INPUT,
        "Out of memory: the data and the pairs need more than is available. Use fewer points or "
        "features, or a machine with more memory.",
    ),
}


def explain(error: BaseException) -> tuple[int, str]:
    """Return the exit code and the sentence of an error."""
    for kind, said in _SENTENCES.items():
        if isinstance(error, kind):
            return said
    if isinstance(error, SMDEClustError):
        infeasible = isinstance(error, InfeasibleConstraintsError)
        # Parameters of the estimators are called as on the command line.
        message = _PARAMETER.sub(
            lambda found: _OPTIONS[found[1]] + (" " if found[2] == "=" else ""), str(error)
        )
        return INFEASIBLE if infeasible else BAD_INPUT, message
    if isinstance(error, CommandError):
        return BAD_INPUT, str(error)
    if isinstance(error, OSError):
        return BAD_INPUT, _os_sentence(error)
    if isinstance(error, ModuleNotFoundError):
        return BAD_INPUT, f"This command needs a package that is not installed: {error.name}."
    return BAD_INPUT, (
        f"Unexpected error ({type(error).__name__}: {error}). This is a bug: please report it, "
        "with the traceback that SMDECLUST_DEBUG=1 shows."
    )


# Parameters of the estimators that are options here.
_OPTIONS = {
    "n_clusters": "-k",
    "size_min": "--size-min",
    "size_max": "--size-max",
    "max_time": "--max-time",
    "metric": "--metric",
    "penalty": "--penalty",
    "init": "--init",
}
_VERBS = "must|allows|of|asks|requires|is"
_PARAMETER = re.compile(rf"\b({'|'.join(_OPTIONS)})(=|\b(?= (?:{_VERBS})\b))")


def _os_sentence(error: OSError) -> str:
    where = f"{os.fsdecode(error.filename)}: " if error.filename else "Writing failed: "
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"{where}the disk is full, or a size limit is reached. Make room and try again."
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"{where}no permission to read or write there. Choose another place."
    return f"{where}{error.strerror or error}."


def as_document(error: BaseException, code: int, message: str) -> dict[str, Any]:
    """The same for machines."""
    document: dict[str, Any] = {"type": type(error).__name__, "message": message, "exit_code": code}
    for name in ("reason", "details"):
        value = getattr(error, name, None)
        if isinstance(value, str | dict):
            document[name] = value
    return {"error": document}
