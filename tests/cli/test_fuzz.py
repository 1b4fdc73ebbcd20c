"""Malformed files and command lines: an exit code and a sentence, never a traceback."""

from __future__ import annotations

import io
import json
import os
from contextlib import redirect_stderr, redirect_stdout

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from smdeclust.cli.app import run

# A thousand in the suite; SMDECLUST_FUZZ=20 makes it twenty thousand.
FACTOR = int(os.environ.get("SMDECLUST_FUZZ", "1"))
FUZZ = settings(
    max_examples=150 * FACTOR,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

DATA = "id,a,b\n" + "".join(f"p{i},{i % 3},{i * i % 7}\n" for i in range(8))
words = st.sampled_from(
    [
        "",
        "0",
        "1",
        "7",
        "8",
        "-1",
        "1e9",
        "nan",
        "inf",
        "p1",
        "p2",
        "ML",
        "CL",
        "ml",
        "i,j,type",
        "é",
    ]
    + [
        "1.5",
        "99999999999999999999",
        '"',
        "\t",
        ",",
        ";",
        "[",
        "]",
        "{",
        '{"ml": [[0, 1]]}',
        "\0",
        "#",
    ]
)
lines = st.lists(
    st.lists(words, max_size=5).flatmap(
        lambda row: st.sampled_from([" ", ",", "\t", ";"]).map(lambda mark: mark.join(row))
    ),
    max_size=8,
).map(lambda rows: "\n".join(rows).encode())
numbers = st.one_of(st.integers(-2, 10), st.floats(), st.text(max_size=3), st.none())
documents = st.recursive(
    st.one_of(numbers, st.booleans()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(["ml", "cl", "sml", "scl", "sml_proba", "x"]), inner),
    ),
    max_leaves=12,
).map(lambda value: json.dumps(value).encode())
contents = st.one_of(st.binary(max_size=200), lines, documents)


def call(arguments: list[str]) -> None:
    """Run a command; it must end with one of its codes and without a traceback or a bug report."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run(arguments)
    assert code in (0, 1, 2), (arguments, err.getvalue())
    assert "Traceback" not in err.getvalue()
    assert "Unexpected error" not in err.getvalue(), err.getvalue()
    assert code == 0 or err.getvalue() or out.getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with sound data."""
    path = tmp_path_factory.mktemp("fuzz")
    (path / "data.csv").write_text(DATA)
    (path / "labels.csv").write_text("id,label\n" + "".join(f"p{i},{i % 2}\n" for i in range(8)))
    return path


@FUZZ
@given(content=contents, k=st.integers(1, 9), by_row=st.booleans())
def test_malformed_pairs(folder, content, k, by_row):
    """Any bytes as a file of pairs."""
    (folder / "pairs").write_bytes(content)
    options = ["--pairs-by-row"] if by_row else []
    arguments = [str(folder / "data.csv"), "-k", str(k), "-c", str(folder / "pairs"), *options]
    call(["check", *arguments])


@FUZZ
@given(content=st.one_of(contents, lines.map(lambda text: b"id,a,b\n" + text)))
def test_malformed_data(folder, content):
    """Any bytes as data."""
    (folder / "some").write_bytes(content)
    call(["check", str(folder / "some"), "-k", "2", "--json"])


@settings(FUZZ, max_examples=40 * FACTOR)
@given(content=st.one_of(contents, lines.map(lambda text: b"id,label\n" + text)))
def test_malformed_labels_and_certificates(folder, content):
    """Any bytes as labels, as a certificate and as a result."""
    (folder / "given").write_bytes(content)
    data, given_file = str(folder / "data.csv"), str(folder / "given")
    call(["certify", data, "-l", given_file, "--max-time", "1"])
    call(["verify", data, given_file])
    call(["plot", given_file, "-p", "convergence", "-o", str(folder / "p.png"), "--force"])
    call(["convert", given_file, "--force", "-o", str(folder / "converted.json")])
    call(["predict", data, "--result", given_file])


options = st.sampled_from(
    ["-k", "-c", "--constraints", "--format", "--kind", "--index-base", "--id", "--label", "--json"]
    + [
        "--features",
        "--standardize",
        "--method",
        "--seed",
        "--no-header",
        "--pairs-by-id",
        "--max-time",
    ]
    + ["--data-format", "--must-link-sign", "--report", "--version", "-h", "--", "-x"]
    + ["--encoding", "--group-column", "--drop", "--add", "--metric", "--size-min", "--init"]
    + ["--repair", "--soft", "--result", "--penalty"]
)


@settings(FUZZ, max_examples=80 * FACTOR)
@given(
    command=st.sampled_from(
        [
            "fit",
            "check",
            "what-if",
            "predict",
            "compare",
            "convert",
            "plot",
            "certify",
            "verify",
            "?",
        ]
    ),
    rest=st.lists(
        st.one_of(options, words.filter(lambda w: "\0" not in w), st.just("DATA")), max_size=7
    ),
)
def test_malformed_command_lines(folder, command, rest, monkeypatch):
    """Any options in any order."""
    monkeypatch.chdir(folder)
    arguments = [command, *(str(folder / "data.csv") if word == "DATA" else word for word in rest)]
    call(
        [*arguments, "--max-time", "0.05"]
        if command in ("fit", "compare", "what-if")
        else arguments
    )
