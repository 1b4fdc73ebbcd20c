"""The program: registers the commands, turns every error into a sentence and an exit code."""

import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Annotated, Any

import typer

from smdeclust.cli import errors, output
from smdeclust.cli.ask import ask
from smdeclust.cli.certify import certify, verify
from smdeclust.cli.check import check
from smdeclust.cli.compare import compare
from smdeclust.cli.data import convert, demo, generate
from smdeclust.cli.fit import fit
from smdeclust.cli.fitted import predict
from smdeclust.cli.options import as_command, option
from smdeclust.cli.rooms import choose_k, paper, plot, studio, warm_up
from smdeclust.cli.what_if import what_if
from smdeclust.io.files import COMMAND_LINE, use_words

# typer carries its own copy of click in newer versions: take the class from it, wherever it is.
ClickException: type[Exception] = typer.BadParameter.__mro__[2]

app = typer.Typer(
    name="smdeclust",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(wanted: bool) -> None:
    if wanted:
        import smdeclust

        output.print_result(f"smdeclust {smdeclust.__version__}")
        raise errors.Outcome(errors.DONE)


@app.callback()
def _program(
    version: Annotated[
        bool, option("--version", "Show the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Cluster data so that all must-links and cannot-links are satisfied.

    New here? Run [bold]smdeclust demo[/bold], then [bold]smdeclust fit --help[/bold].
    """


def _unwrapped(doc: str) -> str:
    """Join the lines of paragraphs, which the help wraps by itself; examples stay as they are."""
    paragraphs = doc.split("\n\n")
    return "\n\n".join(p if p.startswith("Example") else " ".join(p.split()) for p in paragraphs)


# In the order in which the help lists them.
_ORDER = (
    demo, fit, check, what_if, ask, choose_k, predict, compare, plot, convert, generate, certify,
    verify, studio, warm_up, paper,
)  # fmt: skip
COMMANDS: dict[str, Callable[..., Any]] = {
    command.__name__.replace("_", "-"): command for command in _ORDER
}
for _name, _function in COMMANDS.items():
    _command_function, _text = as_command(_function)
    app.command(_name, help=_unwrapped(_text))(_command_function)
_command: Any = typer.main.get_command(app)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code, as listed in docs/reference/command-line.md."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    _prepare_streams()
    before = None
    with suppress(ValueError):  # not in the main thread, as in a test
        before = signal.signal(signal.SIGTERM, _on_terminate)
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            with use_words(COMMAND_LINE):
                code = _invoke(given)
            sys.stdout.flush()
        except BaseException as error:
            # typer and rich turn a broken pipe into an exit of their own.
            if isinstance(error, BrokenPipeError) or isinstance(error.__context__, BrokenPipeError):
                _forget_stdout()  # the reader, such as head, has had enough
                code = errors.DONE
            else:
                code = _report(error, as_json="--json" in given)
    if before is not None:
        signal.signal(signal.SIGTERM, before)
    return code


def _invoke(arguments: list[str]) -> int:
    try:
        result = _command(arguments, prog_name="smdeclust", standalone_mode=False, obj=arguments)
        code = result if isinstance(result, int) else errors.DONE
    except errors.Outcome as outcome:
        return outcome.code
    except typer.Exit as leave:
        code = int(leave.exit_code)
    except typer.Abort:
        code = errors.INTERRUPTED
    if code == errors.INTERRUPTED:  # typer has swallowed a Ctrl-C
        raise KeyboardInterrupt
    return code


def _report(error: BaseException, as_json: bool) -> int:
    if os.environ.get("SMDECLUST_DEBUG"):
        traceback.print_exception(error)
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else errors.BAD_INPUT
    if type(error).__name__ == "NoArgsIsHelpError":  # the help was shown, and no more was asked
        return errors.DONE
    if isinstance(error, ClickException):
        code, message = errors.BAD_INPUT, _usage_message(error)
    else:
        code, message = errors.explain(error)
    with suppress(OSError, ValueError):  # standard error may be gone: the code has to do
        output.say(f"Error: {message}", style="red")
    try:
        if as_json:
            output.print_json(errors.as_document(error, code, message))
        if as_json or isinstance(error, OSError):
            sys.stdout.flush()
    except (OSError, ValueError):
        _forget_stdout()
    return code


def _usage_message(error: Any) -> str:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "smdeclust"
    message = error.format_message().strip()
    if message and message[-1] not in ".?!":
        message += "."
    return f"{message} See '{path} --help'."


def _prepare_streams() -> None:
    """Escape text that the terminal cannot show, and discard what goes to a closed stream."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        stream = getattr(sys, name)
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    out: Any = sys.stdout
    with suppress(OSError, ValueError, AttributeError):
        # HiGHS may print lines of its own: only ours go to the file or program that reads them.
        if out.fileno() == 1 and not out.isatty():  # (not in a test or a notebook)
            own = os.dup(1)
            sys.stdout = open(own, "w", encoding=out.encoding, errors=out.errors)  # noqa: SIM115
            os.dup2(2, 1)


def _forget_stdout() -> None:
    """Let what is still buffered go nowhere, else Python complains when it ends."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _on_terminate(*_: object) -> None:
    raise errors.Terminated


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    if not issubclass(category, DeprecationWarning | FutureWarning):
        output.note(" ".join(str(message).split()))
