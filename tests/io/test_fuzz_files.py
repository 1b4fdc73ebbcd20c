"""Thousands of random and mutated files: a result or InvalidInputError, never anything else."""

from __future__ import annotations

import io
import json
import os
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from smdeclust.exceptions import InvalidInputError
from smdeclust.io import FORMATS, TABLE_FORMATS, Constraints, read_constraints, read_table

MANY = settings(
    max_examples=int(os.environ.get("SMDECLUST_FUZZ_EXAMPLES", "1000")),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def _binary() -> list[bytes]:
    dense = np.zeros((4, 4), dtype=np.int64)
    dense[0, 1] = 1
    dense[2, 3] = -1
    contents = []
    for save in (
        lambda stream: np.save(stream, dense.astype(float)),
        lambda stream: np.save(stream, np.array([0, 1, -1])),
        lambda stream: np.savez(stream, X=dense, y=np.arange(4)),
        lambda stream: np.savez_compressed(stream, X=dense, ids=np.array(list("abcd"))),
        lambda stream: sp.save_npz(stream, sp.csr_matrix(dense)),
        lambda stream: sp.save_npz(stream, sp.coo_matrix(dense), compressed=False),
    ):
        stream = io.BytesIO()
        save(stream)
        contents.append(stream.getvalue())
    try:
        import pandas as pd

        stream = io.BytesIO()
        pd.DataFrame({"id": ["a", "b"], "x": [1.0, 2.0], "y": [0, 1]}).to_parquet(stream)
        contents.append(stream.getvalue())
    except ImportError:
        pass
    return contents


SEEDS = [
    json.dumps(
        {"ml": [[0, 1]], "cl": [[1, 2], [0, 3]], "sml": [[0, 2]], "sml_proba": [0.5]}
    ).encode(),
    b"ML 0 1\nCL 1 2\nGAMMA 3\nDELTA 0.5\n",
    b"i,j,type,confidence\n0,1,ml,\n1,2,cl,0.5\n",
    b"0 1 1\n1 2 -1\n",
    b"1 2 1\n2 3 0.5\n",
    b"0,1\n2,3\n",
    b"0 1 0 0\n1 0 0 0\n0 0 0 -1\n0 0 -1 0\n",
    b"0\n-1\n0\n1\n",
    b"label\na\n\nb\n",
    b"id,a,b,class\nq,1,2.5,x\nr,3,4e-3,y\n",
    b'"a";"b"\n1;2\n',
    b"2 3 2\n1 2 3\n4 5 6\n",
    *_binary(),
]
WORDS = st.sampled_from(
    [b"", b" ", b",", b"\n", b"\r", b"\0", b'"', b"[", b"]", b"{", b"-1", b"1e999", b"nan", b"NaN"]
    + [
        b"9" * 30,
        b"9" * 5000,
        b"1_0",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        "١".encode(),
        b"ML",
        b"i,j,type",
    ]
    + [
        b"-0",
        b"0x1",
        b"true",
        b"null",
        b"\x85",
        b"\x1c",
        b"\x0c",
        b"Infinity",
        b"PK\x03\x04",
        b"PAR1",
    ]
)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A valid file with some bytes removed, doubled, replaced or put in."""
    content = bytearray(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(0, 6))):
        start = draw(st.integers(0, len(content)))
        stop = min(len(content), start + draw(st.integers(0, 12)))
        action = draw(st.sampled_from(["cut", "word", "bytes", "double", "end"]))
        if action == "cut":
            del content[start:stop]
        elif action == "word":
            content[start:stop] = draw(WORDS)
        elif action == "bytes":
            content[start:stop] = draw(st.binary(max_size=8))
        elif action == "double":
            content[start:start] = content[start:stop]
        else:
            del content[start:]
    return bytes(content)


files = st.one_of(
    mutated(),
    st.binary(max_size=200),
    st.lists(WORDS, max_size=20).map(b" ".join),
    st.text().map(lambda text: text.encode("utf-8", "surrogatepass")),
)


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "file"


@MANY
@given(
    content=files,
    format=st.sampled_from([None, None, *FORMATS]),
    n_points=st.sampled_from([None, 4, 0]),
    ids=st.sampled_from([None, None, ["a", "b", "1", "0"]]),
    kind=st.sampled_from([None, "ml", "cl"]),
    index_base=st.sampled_from([None, 0, 1]),
)
def test_constraint_files(
    place: Path,
    content: bytes,
    format: str | None,
    n_points: int | None,
    ids: list[str] | None,
    kind: str | None,
    index_base: int | None,
) -> None:
    """Any bytes as a constraint file give pairs within the data or InvalidInputError."""
    place.write_bytes(content)
    try:
        found = read_constraints(
            place, format=format, n_points=n_points, ids=ids, kind=kind, index_base=index_base
        )
    except InvalidInputError:
        return
    assert isinstance(found, Constraints)
    limit = n_points if ids is None else len(ids)
    for name in ("must_link", "cannot_link", "soft_must_link", "soft_cannot_link"):
        pairs = getattr(found, name)
        assert pairs.shape[1:] == (2,)
        assert (pairs >= 0).all()
        assert limit is None or (pairs < limit).all()
        for index in range(len(pairs)):
            assert str(place) in found.where(name, index)


@MANY
@given(
    content=files,
    format=st.sampled_from([None, None, *TABLE_FORMATS]),
    label=st.sampled_from([None, False, "class", "y"]),
    id_column=st.sampled_from([None, False, "id"]),
    header=st.booleans(),
)
def test_data_files(
    place: Path,
    content: bytes,
    format: str | None,
    label: str | bool | None,
    id_column: str | bool | None,
    header: bool,
) -> None:
    """Any bytes as a data file give a finite table or InvalidInputError, and no warning."""
    place.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            table = read_table(
                place, format=format, label=label, id_column=id_column, header=header
            )
        except InvalidInputError:
            return
    assert table.X.ndim == 2
    assert np.isfinite(table.X).all()
    assert len(table.feature_names) == table.X.shape[1]
    assert table.ids is None or len(set(table.ids)) == len(table.X)
    assert table.labels is None or len(table.labels) == len(table.X)
