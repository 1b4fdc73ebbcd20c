"""The program as a process: streams, signals, full disks; never a traceback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "smdeclust"]


def _run(arguments, **options):
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output="stdout" not in options,
        text=True,
        **options,
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("extra", [[], ["--json"]])
def test_full_disk_behind_standard_output(flowers, tmp_path, extra):
    """A result that cannot be written: code 1 and one sentence."""
    with open("/dev/full", "w") as full:
        done = _run(
            ["check", flowers, "-k", 3, "-c", tmp_path / "bad.txt", *extra],
            stdout=full,
            stderr=subprocess.PIPE,
        )
    assert done.returncode == 1
    assert "disk is full" in done.stderr
    assert "Traceback" not in done.stderr


def test_solvers_that_print_spoil_no_output(flowers):
    """What a library writes to the file of standard output does not come between our lines."""
    program = (
        "import os, sys; from smdeclust import SMDEClust; from smdeclust.cli import main\n"
        "fit = SMDEClust.fit\n"
        "def loud(*given, **more): os.write(1, b'noise'); return fit(*given, **more)\n"
        "SMDEClust.fit = loud; main(sys.argv[1:])"
    )
    given = ["fit", str(flowers), "-k", "3", "--json"]
    done = subprocess.run([sys.executable, "-c", program, *given], capture_output=True, text=True)
    assert done.returncode == 0
    assert len(json.loads(done.stdout)["labels"]) == 60
    assert "noise" in done.stderr


def test_file_size_limit(flowers, tmp_path):
    """A file that grows beyond a limit: code 1, a sentence, and no part of a file is left."""
    before = sorted(tmp_path.iterdir())
    resource = pytest.importorskip("resource")
    done = _run(
        ["convert", flowers.parent / "pairs.csv", "--data", flowers, "--out", tmp_path / "p.json"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50, 50)),
    )
    assert done.returncode == 1
    assert "disk is full" in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(tmp_path.iterdir()) == before


def test_not_a_terminal(flowers, tmp_path):
    """Piped, there is no progress and no colour: standard error is empty, no escape codes."""
    done = _run(["check", flowers, "-k", 3, "-c", tmp_path / "pairs.csv"])
    assert done.returncode == 0
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_reader_that_stops_early(flowers):
    """As in ``smdeclust fit ... | head -1``: no complaint."""
    process = subprocess.Popen(
        [*COMMAND, "fit", str(flowers), "-k", "3"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.wait(60) == 0
    said = process.stderr.read()
    assert b"what was done" in said
    assert b"Error" not in said


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
@pytest.mark.parametrize(("sent", "codes"), [(signal.SIGINT, (3, 130)), (signal.SIGTERM, (143,))])
def test_signals(tmp_path, sent, codes):
    """Ctrl-C ends with the best answer so far and code 3, or with 130 where there is none yet;
    the system's request to end with its code, a sentence and no output folder."""
    data = tmp_path / "data.csv"
    data.write_text("x,y\n" + "".join(f"{i % 97},{i % 89}\n" for i in range(60_000)))
    # Python itself dies of a signal that comes before it is up: wait until it is.
    script = (
        "import sys, smdeclust.cli.app; from smdeclust.cli import main; print('up', flush=True);"
        "main(sys.argv[1:])"
    )
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            script,
            "fit",
            str(data),
            "-k",
            "80",
            "--out",
            str(tmp_path / "out"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    time.sleep(3)
    process.send_signal(sent)
    _, said = process.communicate(timeout=60)
    assert process.returncode in codes
    assert "Traceback" not in said
    if process.returncode == 3:
        assert "best result found so far" in said
        assert len((tmp_path / "out" / "labels.csv").read_text().splitlines()) == 60_001
    else:
        assert "Error: " in said
        assert not (tmp_path / "out").exists()


def test_closed_streams(flowers, tmp_path):
    """Without standard output and error at all, the exit code still tells."""
    line = f"{' '.join(COMMAND)} check {flowers} -k 3 -c {tmp_path / 'bad.txt'} >&- 2>&-"
    assert subprocess.run(["sh", "-c", line]).returncode == 2


def test_import_does_not_load_the_command_line():
    """``import smdeclust`` loads neither the command line nor its packages."""
    code = (
        "import sys, smdeclust; "
        "print([m for m in ('typer', 'rich', 'smdeclust.cli') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[]\n"
