"""Every constraint format gives the same pairs, and every mistake a sentence with file and line."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from smdeclust.constraints import KINDS
from smdeclust.exceptions import InvalidInputError
from smdeclust.io import Constraints, read_constraints, write_constraints, write_labels

MUST = [[0, 1], [2, 3]]
CANNOT = [[1, 2]]
MATRIX = np.zeros((4, 4), dtype=int)
MATRIX[[0, 1, 2, 3], [1, 0, 3, 2]] = 1
MATRIX[[1, 2], [2, 1]] = -1
DENSE = "\n".join(" ".join(map(str, row)) for row in MATRIX) + "\n"

TEXTS = {
    "json": json.dumps({"ml": MUST, "cl": CANNOT}),
    "links": "ML 0 1\nML 2 3\nGAMMA 4\nDELTA 0.5\nCL 1 2\n",
    "csv": "i,j,type\n0,1,ml\n2,3,must-link\n1,2,-1\n",
    "signed": "0 1 1\n2 3 1\n1 2 -1\n",
    "matrix": DENSE,
}


def save(folder: Path, content: str | bytes, name: str = "pairs.txt") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def assert_pairs(found: Constraints) -> None:
    assert found.must_link.tolist() == MUST
    assert found.cannot_link.tolist() == CANNOT
    assert found.must_link.dtype == np.int64
    assert found.soft_must_link.shape == (0, 2)


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("given", [True, False])
def test_one_file_formats(tmp_path: Path, name: str, given: bool) -> None:
    """Each one-file format is detected and read, and reads the same when it is named."""
    path = save(tmp_path, TEXTS[name])
    assert_pairs(read_constraints(path, format=name if given else None, n_points=4))


@pytest.mark.parametrize("ending", ["\r\n", "\r"])
def test_other_line_ends_and_byte_order_mark(tmp_path: Path, ending: str) -> None:
    """Files of other systems read the same."""
    content = b"\xef\xbb\xbf" + TEXTS["links"].replace("\n", ending).encode()
    found = read_constraints(save(tmp_path, content))
    assert_pairs(found)
    assert found.where("cannot_link", 0).endswith("line 5")


def test_two_file_formats(tmp_path: Path) -> None:
    """Two-column and graphs take must-links first, cannot-links second; graphs counts from 1."""
    must = save(tmp_path, "0 1\n2 3\n", "must.txt")
    cannot = save(tmp_path, "1,2\n", "cannot.txt")
    assert_pairs(read_constraints([must, cannot]))
    must = save(tmp_path, "1 2 1\n3 4 1\n", "must.link")
    cannot = save(tmp_path, "2 3 1\n", "cannot.link")
    assert_pairs(read_constraints([must, cannot], format="graphs", n_points=4))


def test_two_column_from_one(tmp_path: Path) -> None:
    """index_base=1 shifts a two-column file, and a row 0 is then an error."""
    must, cannot = save(tmp_path, "1 2\n3 4\n", "m"), save(tmp_path, "2 3\n", "c")
    assert_pairs(read_constraints([must, cannot], index_base=1, n_points=4))
    wrong = save(tmp_path, "0 1\n", "w")
    with pytest.raises(
        InvalidInputError, match="line 1: found row 0, expected row positions from 1"
    ):
        read_constraints(wrong, index_base=1, kind="ml")


def test_graph_weights(tmp_path: Path) -> None:
    """Weight 1 of a graph is hard, a smaller one is the confidence of a soft pair."""
    path = save(tmp_path, "1 2 1\n2 3 0.75\n")
    found = read_constraints(path, kind="cl")
    assert found.cannot_link.tolist() == [[0, 1]]
    assert found.soft_cannot_link.tolist() == [[1, 2]]
    assert found.soft_cannot_link_confidence.tolist() == [0.75]


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "npy", "npz", "triangle"])
def test_matrix_files(tmp_path: Path, form: str) -> None:
    """Dense and sparse matrix files give the same pairs, one triangle or both."""
    path = tmp_path / "matrix.bin"
    with path.open("wb") as stream:
        if form == "npy":
            np.save(stream, MATRIX.astype(float))
        elif form == "npz":
            np.savez_compressed(stream, M=MATRIX.astype(np.int8))
        elif form == "triangle":
            np.save(stream, np.triu(MATRIX))
        else:
            sp.save_npz(stream, sp.csr_matrix(MATRIX).asformat(form))
    assert_pairs(read_constraints(path, n_points=4))
    swapped = read_constraints(path, must_link_sign=-1)
    assert swapped.cannot_link.tolist() == MUST
    assert swapped.must_link.tolist() == CANNOT


def test_matrix_refusals(tmp_path: Path) -> None:
    """Contradictions, other entries, wrong sizes and a row apart from itself are errors."""
    path = tmp_path / "m.npy"
    cases = {
        "contradict": [[0, 1], [-1, 0]],
        "the entry '2'": [[0, 2], [0, 0]],
        "the entry 'nan'": [[0, np.nan], [0, 0]],
        "itself": [[-1, 0], [0, 0]],
        "n x n": [[0, 1, 0], [0, 0, 0]],
    }
    for words, rows in cases.items():
        np.save(path, np.array(rows))
        with pytest.raises(InvalidInputError, match=words):
            read_constraints(path, format="matrix")
    np.save(path, MATRIX)
    with pytest.raises(InvalidInputError, match="5 x 5"):
        read_constraints(path, n_points=5)


def test_sparse_indices_are_checked(tmp_path: Path) -> None:
    """A sparse file whose indices leave the matrix is an error and not a crash."""
    path = tmp_path / "m.npz"
    np.savez(path, format=b"csr", shape=[2, 2], data=[1], indices=[9], indptr=np.array([0, 1, 1]))
    with pytest.raises(InvalidInputError, match="outside the matrix"):
        read_constraints(path)


def test_groups(tmp_path: Path) -> None:
    """Rows of a group are kept apart pairwise, or together by a chain; -1 is free."""
    path = save(tmp_path, "5\n-1\n5\n5\n0\n")
    apart = read_constraints(path, format="groups", kind="cl", n_points=5)
    assert apart.cannot_link.tolist() == [[0, 2], [0, 3], [2, 3]]
    assert apart.where("cannot_link", 1) == f"{path}, lines 1 and 4"
    together = read_constraints(path, format="groups", kind="ml")
    assert together.must_link.tolist() == [[0, 2], [2, 3]]
    with pytest.raises(InvalidInputError, match="Pass kind='ml' or kind='cl'"):
        read_constraints(path, format="groups")
    with pytest.raises(InvalidInputError, match="line 1: found '-2'"):
        read_constraints(save(tmp_path, "-2\n"), format="groups", kind="cl")


def test_labels(tmp_path: Path) -> None:
    """Known classes hold together within and apart across; empty and -1 are unknown."""
    path = save(tmp_path, "label\na\n\nb\na\n-1\nb\n")
    found = read_constraints(path, n_points=6)
    assert found.must_link.tolist() == [[0, 3], [2, 5]]
    assert found.cannot_link.tolist() == [[0, 2]]
    assert found.where("must_link", 1) == f"{path}, lines 4 and 7"
    with pytest.raises(InvalidInputError, match="6 entries, expected 7"):
        read_constraints(path, n_points=7)
    with pytest.raises(InvalidInputError, match="found 'NaN'"):
        read_constraints(save(tmp_path, "a\nNaN\n"), format="labels")


@pytest.mark.parametrize(
    "content",
    [
        '{"ml": [["a", "b c"], [7, "d"]], "cl": [["b c", "7"]]}',
        "ML,a,b c\nML,7,d\nCL,b c,7\n",
        "ML\ta\tb c\nML\t7\td\nCL\tb c\t7\n",
        'i,j,type\na,"b c",ml\n7,d,ml\nb c,7,cl\n',
        "a,b c,1\n7,d,1\nb c,7,-1\n",
    ],
)
def test_ids(tmp_path: Path, content: str) -> None:
    """Every pair form resolves ids, numbers among them, through the ids of the data."""
    path = save(tmp_path, content)
    for name in (None, "ids"):
        assert_pairs(read_constraints(path, ids=["a", "b c", 7, "d"], format=name))
    with pytest.raises(InvalidInputError, match="found the id '[^']*', expected an id of the data"):
        read_constraints(path, ids=["x", "y", "z", "w"])


def test_ids_that_look_the_same(tmp_path: Path) -> None:
    """An umlaut may be one character or two, in either file; other spellings are suggested."""
    for ours, theirs in (("NFC", "NFD"), ("NFD", "NFC")):
        ids = [unicodedata.normalize(ours, name) for name in ("Lena Krüger", "Otto Weiß")]
        path = save(tmp_path, unicodedata.normalize(theirs, "i,j,type\nLena Krüger,Otto Weiß,ml\n"))
        assert read_constraints(path, ids=ids).must_link.tolist() == [[0, 1]]
    path = save(tmp_path, "i,j,type\nLena Kruger,Otto Weiß,ml\n")
    with pytest.raises(InvalidInputError, match=r"line 2: .*Did you mean 'Lena Krüger'\?"):
        read_constraints(path, ids=["Lena Krüger", "Otto Weiß"])


def test_labels_of_named_points(tmp_path: Path) -> None:
    """Labels may name their points by id or row; points that are not listed are unknown."""
    path = save(tmp_path, "id,label\nd,x\na,y\nb,x\nc,\n")
    found = read_constraints(path, ids=list("abcde"))
    assert found.must_link.tolist() == [[1, 3]]
    assert found.cannot_link.tolist() == [[0, 1]]
    assert found.where("must_link", 0) == f"{path}, lines 4 and 2"
    write_labels(path, [1, 0, 1])
    assert read_constraints(path).must_link.tolist() == [[0, 2]]
    with pytest.raises(InvalidInputError, match="line 3: found the point '0' again.*line 2"):
        read_constraints(save(tmp_path, "row,label\n0,1\n0,2\n"))


def test_ids_of_the_data_must_differ(tmp_path: Path) -> None:
    """Repeated and empty ids are errors that name the rows."""
    path = save(tmp_path, "ML a b\n")
    with pytest.raises(InvalidInputError, match="Rows 0 and 2 have the same id 'a'"):
        read_constraints(path, ids=["a", "b", "a"])
    with pytest.raises(InvalidInputError, match="The id of row 1 is empty"):
        read_constraints(path, ids=["a", " "])


def test_soft_pairs(tmp_path: Path) -> None:
    """Soft pairs keep their confidence in json (both spellings) and csv."""
    document = {"ml": [], "cl": [[0, 1]], "sml": [[1, 2]], "sml_weights": [0.5]}
    found = read_constraints(save(tmp_path, json.dumps(document)))
    assert found.soft_must_link.tolist() == [[1, 2]]
    assert found.soft_must_link_confidence.tolist() == [0.5]
    found = read_constraints(save(tmp_path, "i,j,type,confidence\n0,1,cl,\n1,2,ml,0.5\n"))
    assert found.cannot_link.tolist() == [[0, 1]]
    assert found.soft_must_link_confidence.tolist() == [0.5]


def test_notes_of_people_are_passed_over(tmp_path: Path) -> None:
    """Columns note and by of a pairs CSV are for people; any other column is refused."""
    path = save(tmp_path, 'i,j,type,confidence,note,by\n0,1,ml,,"same name, same street",Ann\n')
    found = read_constraints(path, n_points=2)
    assert found.must_link.tolist() == [[0, 1]]
    with pytest.raises(InvalidInputError, match="Remove the other columns"):
        read_constraints(save(tmp_path, "i,j,type,color\n0,1,ml,red\n"))


@pytest.mark.parametrize("format", ["json", "links", "csv"])
def test_round_trip(tmp_path: Path, format: str) -> None:
    """What is written is read back equal, soft pairs too where the format holds them."""
    soft = (
        {}
        if format == "links"
        else {
            "soft_must_link": [[0, 9]],
            "soft_must_link_confidence": [0.6 + 0.2],
            "soft_cannot_link": [[3, 4], [3, 5]],
            "soft_cannot_link_confidence": [1.0, 0.5],
        }
    )
    written = Constraints(must_link=MUST, cannot_link=CANNOT, **soft)
    path = tmp_path / "out"
    write_constraints(written, path, format)
    found = read_constraints(path)
    assert found == written
    np.testing.assert_array_equal(found.must_link, written.must_link)


PAIRS = st.lists(st.tuples(st.integers(0, 10**15), st.integers(0, 10**15)), max_size=8)
SOFT = st.lists(
    st.tuples(st.integers(0, 99), st.integers(0, 99), st.floats(0.5, 1)),
    max_size=5,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(must=PAIRS, cannot=PAIRS, soft_must=SOFT, soft_cannot=SOFT)
def test_formats_agree(tmp_path: Path, must, cannot, soft_must, soft_cannot) -> None:
    """Any pairs survive json and csv unchanged, repetitions, order and confidences included."""
    written = Constraints(
        must_link=must,
        cannot_link=cannot,
        soft_must_link=[pair[:2] for pair in soft_must],
        soft_cannot_link=[pair[:2] for pair in soft_cannot],
        soft_must_link_confidence=[pair[2] for pair in soft_must],
        soft_cannot_link_confidence=[pair[2] for pair in soft_cannot],
    )
    for format in ("json", "csv"):
        write_constraints(written, tmp_path / "out", format)
        found = read_constraints(tmp_path / "out")
        assert found == written
        for name in KINDS:
            np.testing.assert_array_equal(getattr(found, name), getattr(written, name))


def test_links_refuses_soft_pairs(tmp_path: Path) -> None:
    """Soft pairs are not dropped silently where the format has no room for them."""
    soft = Constraints(soft_must_link=[[0, 1]], soft_must_link_confidence=[0.5])
    with pytest.raises(InvalidInputError, match="cannot store soft pairs"):
        write_constraints(soft, tmp_path / "x", "links")
    with pytest.raises(InvalidInputError, match="expected one of json, links, csv"):
        write_constraints(soft, tmp_path / "x", "signed")
    assert not list(tmp_path.iterdir())


def test_origins_name_file_and_line(tmp_path: Path) -> None:
    """Each pair knows its file and line, also across files and in JSON over several lines."""
    first = save(tmp_path, "# comment\n\nML 0 1\nCL 1 2\n", "a.txt")
    second = save(tmp_path, '{"cl": [\n[1, 3],\n[0,\n 2]],\n"ml": [[4, 5]]}', "b.json")
    found = read_constraints([first, second])
    assert found.where("must_link", 0) == f"{first}, line 3"
    assert [found.where("cannot_link", index) for index in range(3)] == [
        f"{first}, line 4",
        f"{second}, line 2",
        f"{second}, line 3",
    ]
    assert found.where("must_link", 1) == f"{second}, line 5"


WRONG = {
    "line 2: found 'ML 1', expected": "ML 0 1\nML 1\n",
    "line 2: found 'XL 0 1', expected": "ML 0 1\nXL 0 1\n",
    "line 1: found 'a', expected a row position": "ML a 1\n",
    "line 1: found '1.5', expected a row position": "ML 0 1.5\n",
    "line 1: found row -1, expected": "ML 0 -1\n",
    "line 1: found row 4, expected rows 0 to 3.*index_base=1": "ML 0 4\n",
    "line 1: found '9999": "ML 0 " + "9" * 5000 + "\n",
    "line 2: found a NUL byte": "ML 0 1\nML 0\0 1\n",
    "line 2: found the type 'maybe'": "i,j,type\n0,1,maybe\n",
    "line 2: found 2 cells, expected 3": "i,j,type\n0,1\n",
    "not valid JSON": '{"ml": [[0, 1]',
    "found the key 'must'": '{"must": [[0, 1]], "ml": []}',
    r"line 1: found '\[0\]' as entry 0 of ml": '{"ml": [[0]]}',
    "found 'null' in ml": '{"ml": [[0, null]]}',
    "a key twice": '{"ml": [], "ml": []}',
    "found a list, expected an object": "[1, 2]",
    "without them": '{"sml": [[0, 1]]}',
    "2 numbers in sml_proba": '{"sml": [[0, 1]], "sml_proba": [0.5, 0.5]}',
    r"the confidence '1.5' \(entry 0 of sml_proba\)": '{"sml": [[0, 1]], "sml_proba": [1.5]}',
    "the confidence '0'": "i,j,type,confidence\n0,1,ml,0\n",
    "line 2: found '2 3 5', expected 'i j 1'": "0 1 -1\n2 3 5\n",
    "deeply nested": "[" * 100_000,
    "the file is empty": "\n# nothing\n",
    "expected pairs: a CSV with the header i,j,type": "hello world again\n",
}


@pytest.mark.parametrize(
    "words", [("gleich", "verschieden"), ("ml", "cl"), ("juntos", "separados")]
)
def test_headers_in_other_languages(tmp_path: Path, words: tuple[str, str]) -> None:
    """Three columns that end with kinds of pairs are read by position, and a warning says so."""
    lines = ["Kunde 1;Kunde 2;Art", f"K-1;K-2;{words[0]}", f"K-2;K-3;{words[1]}", ""]
    path = save(tmp_path, "\r\n".join(lines))
    with pytest.warns(UserWarning, match="'Kunde 1;Kunde 2;Art' is read as i,j,type"):
        found = read_constraints(path, ids=["K-1", "K-2", "K-3"])
    assert found.must_link.tolist() == [[0, 1]]
    assert found.cannot_link.tolist() == [[1, 2]]
    path = save(tmp_path, "x;y;n\n1;2;1\n2;3;1\n")  # a table, not pairs
    with pytest.raises(InvalidInputError, match="expected pairs"):
        read_constraints(path)


@pytest.mark.parametrize("message", WRONG)
def test_mistakes_are_named(tmp_path: Path, message: str) -> None:
    """A malformed file gives InvalidInputError naming file, line, found and expected."""
    path = save(tmp_path, WRONG[message])
    with pytest.raises(InvalidInputError, match=message) as caught:
        read_constraints(path, n_points=4)
    assert str(path) in str(caught.value)


def test_not_utf8(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 are named with their line."""
    path = save(tmp_path, b"ML 0 1\nML \xff 2\n")
    with pytest.raises(InvalidInputError, match="line 2: found the byte 0xff, expected UTF-8"):
        read_constraints(path)


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("0\n1\n-1\n", ["groups", "labels"]),
        ("0 1 1\n2 3 1\n", ["signed", "graphs"]),
        ("0 1\n1 0\n", ["two-column", "matrix"]),
        ("0 1 1\n1 0 -1\n1 -1 0\n", ["signed", "matrix"]),
        ("0.0 1.0 1.0\n1.0 0.0 -1.0\n1.0 -1.0 0.0\n", ["signed", "matrix"]),
    ],
)
def test_ambiguous_content(tmp_path: Path, content: str, names: list[str]) -> None:
    """Content that fits two formats is not guessed: both are named, and naming one settles it."""
    path = save(tmp_path, content)
    with pytest.raises(InvalidInputError, match=f"formats {' and '.join(names)}"):
        read_constraints(path)


def test_paths_and_options(tmp_path: Path) -> None:
    """Folders, missing files, no files and wrong options are errors of our own type."""
    path = save(tmp_path, "ML 0 1\n")
    for wrong in (tmp_path, tmp_path / "no", [], "a\0b", "x" * 9000, 3, [None]):
        with pytest.raises(InvalidInputError):
            read_constraints(wrong)  # type: ignore[arg-type]
    for options in (
        {"format": "xml"},
        {"format": "ids"},
        {"n_points": -1},
        {"n_points": 1.5},
        {"kind": "both"},
        {"index_base": 2},
        {"must_link_sign": 0},
        {"ids": ["a"], "n_points": 2},
    ):
        with pytest.raises(InvalidInputError):
            read_constraints(path, **options)  # type: ignore[arg-type]


def test_empty_file_of_a_named_format(tmp_path: Path) -> None:
    """A file without pairs is legal where its format is said."""
    assert read_constraints(save(tmp_path, ""), format="links").n_pairs == 0


@pytest.mark.data
def test_shared_files(paper_data: Path, tmp_path: Path) -> None:
    """Every constraint file of the paper reads, and JSON is written back byte for byte."""
    files = sorted(paper_data.glob("set[23]/*/constraints/*.json"))
    assert len(files) == 146
    for path in files:
        write_constraints(read_constraints(path), tmp_path / "copy", "json")
        assert (tmp_path / "copy").read_text() == path.read_text().rstrip("\n")
    files = sorted(paper_data.glob("set1/*/constraints/*.txt"))
    assert len(files) == 300
    for path in files:
        found = read_constraints(path)
        _, n_must, _, n_cannot, _ = path.stem.split("_")
        assert (len(found.must_link), len(found.cannot_link)) == (int(n_must), int(n_cannot))
