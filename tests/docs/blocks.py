"""Code blocks of Markdown pages, and how one is run."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, chdir, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any
from unittest import mock

from smdeclust.cli.app import run

FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>```+) *(?P<language>[\w+-]*)[^`]*$")
NOT_RUN = re.compile(r"<!-- not run: (?P<why>.+?) -->")
SHELL = ("sh", "bash", "shell", "console")
# Setting up is what the reader does before; `make test` itself runs these tests.
SET_UP = ("pip ", "make ", "git ", "python -m venv", "source ", "conda ")
SECONDS = 300


@dataclass(frozen=True)
class Block:
    """One fenced block.

    Attributes
    ----------
    language
        What stands behind the fence.
    code
        Its text.
    line
        Line of the page on which the code begins, from 1.
    not_run
        Why it must not be run, from the comment before it; None where it may.
    """

    language: str
    code: str
    line: int
    not_run: str | None = None

    @property
    def is_python(self) -> bool:
        """Whether it is Python to be executed."""
        return self.language in ("python", "py")

    @property
    def commands(self) -> str:
        """What to give to the shell, empty where the block does not run smdeclust or make files."""
        if self.language not in SHELL:
            return ""
        lines = self.code.splitlines()
        if self.language == "console":
            lines = [line[2:] for line in lines if line.startswith("$ ")]
        lines = [line for line in lines if not line.startswith(SET_UP)]
        script = "\n".join(lines)
        return script if re.search(r"\bsmdeclust\b|^cat >", script, re.MULTILINE) else ""


def find_blocks(text: str) -> list[Block]:
    """All fenced blocks of a page, in order."""
    blocks: list[Block] = []
    lines = text.splitlines()
    i = 0
    while i < len(lines):
        opening = FENCE.match(lines[i])
        if opening is None:
            i += 1
            continue
        before = next((line for line in reversed(lines[:i]) if line.strip()), "")
        comment = NOT_RUN.search(before)
        indent, start = len(opening["indent"]), i + 1
        i = start
        while i < len(lines) and not lines[i].strip().startswith(opening["ticks"]):
            i += 1
        code = "\n".join(line[indent:] for line in lines[start:i]) + "\n"
        blocks.append(
            Block(opening["language"], code, start + 1, None if comment is None else comment["why"])
        )
        i += 1
    return blocks


def run_python(block: Block, page: Path, namespace: dict[str, Any]) -> None:
    """Execute a block; tracebacks name the line of the page."""
    source = "\n" * (block.line - 1) + block.code
    exec(compile(source, str(page), "exec"), namespace)


def run_shell(
    block: Block, folder: Path, *, own_processes: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run the commands of a block in a folder, with this environment's smdeclust first.

    With ``own_processes=False`` the shell hands each call of smdeclust to this process, with its
    folder, environment and streams: nothing is imported or loaded again.
    """
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    how: dict[str, Any] = {"cwd": folder, "env": {**os.environ, "PATH": path, "MPLBACKEND": "Agg"}}
    shell = ["bash", "-eu", "-o", "pipefail", "-c"]
    if own_processes or not hasattr(socket, "send_fds"):
        return subprocess.run(
            [*shell, block.commands], capture_output=True, text=True, timeout=SECONDS, **how
        )
    with ExitStack() as stack:
        address = str(Path(stack.enter_context(TemporaryDirectory())) / "door")
        out, err = (stack.enter_context(TemporaryFile("w+")) for _ in range(2))
        door = stack.enter_context(socket.socket(socket.AF_UNIX))
        door.bind(address)
        door.listen()
        door.settimeout(0.02)
        call = f'smdeclust() {{ "{sys.executable}" -IS "{HAND_OVER}" "{address}" "$@"; }}\n'
        process = subprocess.Popen([*shell, call + block.commands], stdout=out, stderr=err, **how)
        stack.callback(process.kill)
        latest = time.monotonic() + SECONDS
        while process.poll() is None:
            if time.monotonic() > latest:
                raise subprocess.TimeoutExpired(block.commands, SECONDS)
            with suppress(TimeoutError):
                answer(door.accept()[0])
        texts = [file.seek(0) or file.read() for file in (out, err)]
        return subprocess.CompletedProcess(block.commands, process.returncode, *texts)


HAND_OVER = Path(__file__).with_name("hand_over.py")


def answer(caller: socket.socket) -> None:
    """Run one command that `hand_over.py` sent, and tell it the exit code."""
    caller.setblocking(True)
    with ExitStack() as stack:
        stack.enter_context(caller)
        start, descriptors, _, _ = socket.recv_fds(caller, 2**16, 3)
        streams = [
            stack.enter_context(open(number, mode))
            for number, mode in zip(descriptors, "rww", strict=True)
        ]
        rest = stack.enter_context(caller.makefile("rb")).read()
        folder, environment, arguments = json.loads(start + rest)
        stack.enter_context(chdir(folder))
        stack.enter_context(mock.patch.dict(os.environ, environment, clear=True))
        for name, stream in zip(("stdin", "stdout", "stderr"), streams, strict=True):
            stack.enter_context(mock.patch.object(sys, name, stream))
        code = run(arguments)
        for stream in streams[1:]:
            stream.flush()
        caller.sendall(bytes([code]))
