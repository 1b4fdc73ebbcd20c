"""Code blocks of Markdown pages, and how one is run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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


def run_shell(block: Block, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the commands of a block in a folder, with this environment's smdeclust first."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return subprocess.run(
        ["bash", "-eu", "-o", "pipefail", "-c", block.commands],
        cwd=folder,
        env={**os.environ, "PATH": path, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
