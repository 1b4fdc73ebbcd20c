"""read_frame: tables as exports write them, read without being told how."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from smdeclust.exceptions import InvalidInputError
from smdeclust.io import frame_bytes, read_frame

PLAIN = "id,city,size\n1,Köln,1.5\n2,Orléans,2.25\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    """Marks, UTF-16 and Western text are recognized, and what is no UTF is said."""
    path = tmp_path / "t.csv"
    path.write_bytes(PLAIN.encode(encoding))
    file = read_frame(path)
    assert file.frame["city"].tolist() == ["Köln", "Orléans"]
    assert file.frame["size"].tolist() == [1.5, 2.25]
    assert bool(file.notes) == (encoding == "cp1252")


def test_cyrillic(tmp_path: Path) -> None:
    """Other alphabets in their own encodings are recognized too."""
    path = tmp_path / "t.csv"
    path.write_bytes("имя;возраст\nИван;31\nАнна;52\nПётр;8\n".encode("cp1251"))
    assert read_frame(path).frame["имя"].tolist() == ["Иван", "Анна", "Пётр"]


@pytest.mark.parametrize(
    ("text", "separator", "decimal", "numbers"),
    [
        ("a,b\n1.5,2\n3,4\n", ",", ".", [1.5, 3.0]),
        ("a;b\n1,5;2\n3;4\n", ";", ",", [1.5, 3.0]),
        ("a\tb\n1,5\t2\n3\t4\n", "\t", ",", [1.5, 3.0]),
        ("a|b\n1.5|2\n3|4\n", "|", ".", [1.5, 3.0]),
        ("1.5 2\n3.0 4\n", r"\s+", ".", [1.5, 3.0]),
    ],
)
def test_separators(tmp_path: Path, text: str, separator: str, decimal: str, numbers: list) -> None:
    """Separators and decimal marks are seen from the content."""
    path = tmp_path / "t.csv"
    path.write_text(text)
    file = read_frame(path)
    assert (file.separator, file.decimal) == (separator, decimal)
    assert file.frame.iloc[:, 0].tolist() == numbers


def test_headers(tmp_path: Path) -> None:
    """Lines of numbers are no header; years above numbers are."""
    path = tmp_path / "t.csv"
    path.write_text("5.1,3.5,setosa\n4.9,3.0,setosa\n")
    file = read_frame(path)
    assert list(file.frame) == ["x0", "x1", "x2"]
    assert "no header" in file.notes[0]
    assert len(read_frame(path, header=True).frame) == 1
    path.write_text("land,2019,2020\nA,1.5,2.5\nB,3.5,4\n")
    assert list(read_frame(path).frame) == ["land", "2019", "2020"]
    path.write_text(",a,b,\n0,1,2,\n1,3,4,\n")
    assert list(read_frame(path).frame) == ["column 1", "a", "b"]


def test_cells_stay_as_written(tmp_path: Path) -> None:
    """Codes keep their zeros, even where they come late; line breaks in quotes are no lines."""
    path = tmp_path / "t.csv"
    late = "".join(f"{i},{i}\n" for i in range(100, 500)) + "007,8\n"
    path.write_text("code,n\n" + late)
    assert read_frame(path).frame["code"].iloc[-1] == "007"
    path.write_text('note,n\n"two\nlines",1\nNone,2\n"a ""b""",x\n')
    file = read_frame(path)
    assert file.frame["note"].tolist() == ["two\nlines", "None", 'a "b"']
    assert list(file.lines or ()) == [2, 4, 5]


def test_spreadsheets(tmp_path: Path) -> None:
    """The first sheet with a table, another by name or number, titles above the table."""
    pytest.importorskip("python_calamine")
    pytest.importorskip("openpyxl")
    path = tmp_path / "book.xlsx"
    frame = pd.DataFrame(
        {"id": ["a", "b"], "n": [1, 2], "when": pd.to_datetime(["2024-01-05"] * 2)}
    )
    with pd.ExcelWriter(path) as book:
        pd.DataFrame().to_excel(book, sheet_name="Cover", index=False)
        frame.to_excel(book, sheet_name="People", index=False, startrow=2)
        book.sheets["People"]["A1"] = "Our people"
        frame.assign(n=[7, 8]).to_excel(book, sheet_name="Old", index=False)
    file = read_frame(path)
    assert file.sheet == "People"
    assert "'Old'" in file.notes[0]
    assert file.frame["n"].tolist() == [1, 2]
    assert file.frame["when"].dtype.kind == "M"
    assert read_frame(path, sheet="Old").frame["n"].tolist() == [7, 8]
    assert read_frame(path, sheet=3).frame["n"].tolist() == [7, 8]
    with pytest.raises(InvalidInputError, match="no sheet 'New'.*'People'"):
        read_frame(path, sheet="New")


def test_names_in_two_lines_and_totals(tmp_path: Path) -> None:
    """Merged cells above the names become part of them; sums and another sheet are said."""
    lines = [["", "2023", "", "2024", ""], ["shop", "sales", "cost", "sales", "cost"]]
    lines += [[f"s{i}", str(i), "2.5", str(i + 1), "3.5"] for i in range(5)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(map(",".join, [*lines, ["Total", "10", "12.5", "15", "17.5"]])))
    file = read_frame(path)
    assert list(file.frame) == ["shop", "2023 sales", "2023 cost", "2024 sales", "2024 cost"]
    assert file.notes[0] == "The names of columns are in lines 1 and 2."
    assert "a total (Total)" in file.notes[1]
    assert len(file.frame) == 6
    back = frame_bytes(file, {"cluster": [0] * 6}).decode().split("\n")
    assert back[:3] == [",2023,,2024,", "shop,sales,cost,sales,cost,cluster", "s0,0,2.5,1,3.5,0"]
    path.write_text(",v,,w\na,1,x,2\nb,3,y,4\n")  # a name that is missing is no second line
    assert list(read_frame(path).frame) == ["column 1", "v", "column 3", "w"]
    pytest.importorskip("python_calamine")
    pytest.importorskip("openpyxl")
    with pd.ExcelWriter(tmp_path / "t.xlsx") as book:
        pd.DataFrame({"Made by": ["Ann"]}).to_excel(book, sheet_name="Info", index=False)
        pd.DataFrame(lines).to_excel(book, sheet_name="Shops", index=False, header=False)
    file = read_frame(tmp_path / "t.xlsx")
    assert (file.sheet, list(file.frame)[1]) == ("Shops", "2023 sales")
    assert file.rows == [3, 4, 5, 6, 7]


def write_open_document(path: Path, **sheets: list[list[str | float]]) -> None:
    """The smallest OpenDocument tables that office programs open."""
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "table", "text")
    )

    def cell(value: str | float) -> str:
        kind = "string" if isinstance(value, str) else f'float" office:value="{value}'
        return (
            f'<table:table-cell office:value-type="{kind}"><text:p>{value}</text:p>'
            "</table:table-cell>"
        )

    def table(name: str, rows: list[list[str | float]]) -> str:
        cells = ["".join(map(cell, row)) or "<table:table-cell/>" for row in rows]
        body = "".join(f"<table:table-row>{row}</table:table-row>" for row in cells)
        return f'<table:table table:name="{name}">{body}</table:table>'

    content = (
        f'<?xml version="1.0"?><office:document-content {spaces}><office:body><office:spreadsheet>'
        + "".join(table(name, rows) for name, rows in sheets.items())
        + "</office:spreadsheet></office:body></office:document-content>"
    )
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        file.writestr("META-INF/manifest.xml", '<?xml version="1.0"?><manifest/>')
        file.writestr("content.xml", content)


def test_open_document(tmp_path: Path) -> None:
    """OpenDocument tables read like Excel's."""
    path = tmp_path / "t.ods"
    write_open_document(path, Sheet1=[["id", "n"], ["a", 1], ["b", 2]])
    assert read_frame(path).frame["n"].tolist() == [1, 2]


def test_columnar_and_json(tmp_path: Path) -> None:
    """Parquet, Feather, JSON lines and a JSON list give the same frame."""
    frame = pd.DataFrame({"id": ["a", "b"], "n": [1, 2]})
    (tmp_path / "t.jsonl").write_text(frame.to_json(orient="records", lines=True))
    (tmp_path / "u.json").write_text(json.dumps(frame.to_dict("records")))
    names = ["t.jsonl", "u.json"]
    if pytest.importorskip("pyarrow"):
        frame.to_parquet(tmp_path / "t.parquet")
        frame.to_feather(tmp_path / "t.feather")
        names += ["t.parquet", "t.feather"]
    for name in names:
        pd.testing.assert_frame_equal(read_frame(tmp_path / name).frame, frame, check_dtype=False)
    if "t.parquet" in names:  # row names that are no column
        frame.set_axis(["x", "y"]).to_parquet(tmp_path / "t.parquet")
        assert read_frame(tmp_path / "t.parquet").frame["index"].tolist() == ["x", "y"]
    (tmp_path / "t.jsonl").write_text('{"a": 1}\n{"a": \n')
    with pytest.raises(InvalidInputError, match="line 2: found .* expected one JSON object"):
        read_frame(tmp_path / "t.jsonl")
    for text, sentence in (
        (frame.to_json(), "expected JSON objects, one per row"),
        ("<html><table><tr><td>1</td></tr></table>", "a web page.*save it as CSV or .xlsx"),
    ):
        (tmp_path / "t").write_text(text)
        with pytest.raises(InvalidInputError, match=sentence):
            read_frame(tmp_path / "t")


def test_arrays(tmp_path: Path) -> None:
    """Arrays are points that are taken as they are."""
    np.savez(tmp_path / "x.npz", X=np.eye(3), ids=np.array(list("abc")), names=np.array(["q"]))
    file = read_frame(tmp_path / "x.npz")
    assert file.points is not None
    assert np.array_equal(file.points, np.eye(3))
    assert file.frame["ids"].tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("a.csv", b'name;note\n Ann ;"two\nlines"\nBob;"a; b"\n',
         b'name;note;cluster\n Ann ;"two\nlines";1\nBob;"a; b";0\n'),
        ("b.csv", b'\xef\xbb\xbf"zip","tel"\r\n"01067","+49 30 1"\r\n"1,5","-1.218,85"\r\n\r\n',
         b'\xef\xbb\xbf"zip","tel",cluster\r\n"01067","+49 30 1",1\r\n"1,5","-1.218,85",0\r\n\r\n'),
        ("c.csv", b"who;x\n'-5;@ann\n=cmd|'/C calc'!A0;-HYPERLINK(1)\n",
         b"who;x;cluster\n'-5;@ann;1\n'=cmd|'/C calc'!A0;'-HYPERLINK(1);0\n"),
        ("d.txt", b"1.5  2\n2.5  3", b"1.5  2 1\n2.5  3 0"),
        ("g.csv", b"# by ACME, 2024\nReport\n\nid;a;b\n1;2;3\n4;5;6\n",
         b"# by ACME, 2024\nReport\n\nid;a;b;cluster\n1;2;3;1\n4;5;6;0\n"),
        ("h.csv", b"sep=;\nid;a\n1;2,5\n4;5\n", b"sep=;\nid;a;cluster\n1;2,5;1\n4;5;0\n"),
        ("e.jsonl", b'{"a": {"b": 0.12345678901234567}}\n\n{"c": 1152921504606846977}\n',
         b'{"a": {"b": 0.12345678901234566}, "cluster": 1}\n'
         b'{"c": 1152921504606846977, "cluster": 0}\n'),
        ("f.json", '[{"a": "é"}, {"a": null}]'.encode(),
         '[{"a": "é", "cluster": 1},\n{"a": null, "cluster": 0}]\n'.encode()),
    ],
    ids=["quotes", "crlf", "formulas", "spaces", "titles", "sep", "lines", "array"],
)  # fmt: skip
def test_cells_come_back_as_they_were(tmp_path, name, before, after):
    """A table written back has one column more; nothing else changes but live formulas."""
    path = tmp_path / name
    path.write_bytes(before)
    assert frame_bytes(read_frame(path), {"cluster": [1, 0]}) == after


def test_parquet_comes_back_with_its_types(tmp_path):
    """Types that pandas has no word for stay, as do whole numbers beside gaps."""
    pa = pytest.importorskip("pyarrow")
    times, sizes = pa.array([1000, 2000], pa.time64("ns")), pa.array([2**60 + 1, None])
    table = pa.table({"t": times, "n": sizes, "l": [["a"], []], "v": [1.5, 2.5]})
    for name, module in (("t.parquet", pa.parquet), ("t.feather", pa.feather)):
        write = module.write_table if name == "t.parquet" else module.write_feather
        write(table, tmp_path / name)
        (tmp_path / name).write_bytes(frame_bytes(read_frame(tmp_path / name), {"k": [1, None]}))
        back = module.read_table(tmp_path / name)
        assert back.equals(table.append_column("k", pa.array([1, None])))


@pytest.mark.parametrize("ending", ["xlsx", "ods"])
def test_a_workbook_comes_back_whole(tmp_path, ending):
    """Sheets, titles, formulas and spelled gaps stay; the cluster stands beside its row."""
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")
    lines = [["Report"], [], ["zip", "n", "twice"], ["01067", "k.A.", "=B5*2"], ["04109", 3, "x"]]
    path = tmp_path / f"t.{ending}"
    if ending == "ods":
        write_open_document(path, Sheet=lines, notes=[["keep"]])
    else:
        book = openpyxl.Workbook()
        for line in lines:
            book.active.append(line)
        book.create_sheet("notes").append(["keep"])
        book.save(path)
    file = read_frame(path, sheet="Sheet")
    assert file.lines == [4, 5]
    (tmp_path / "back.xlsx").write_bytes(frame_bytes(file, {"cluster": [1, 0]}))
    back = openpyxl.load_workbook(tmp_path / "back.xlsx")
    assert back.sheetnames == ["Sheet", "notes"]
    cells = [[cell.value for cell in row] for row in back["Sheet"].iter_rows()]
    assert cells[2:] == [["zip", "n", "twice", "cluster"], ["01067", "k.A.", cells[3][2], 1],
                         ["04109", 3, "x", 0]]  # fmt: skip
    assert cells[0][0] == "Report"
    assert ending == "ods" or cells[3][2] == "=B5*2"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"id,a\nx,1\nid,a\ny,2\n", "line 3: found the header again, expected a row .* Remove"),
        (
            b"Report;;\nid;a;b\n1;2;3\n4;5\n",
            "line 4: found 2 cells, expected 3 cells, as in line 2",
        ),
        (b"Report;;\nid;a;a\n1;2;3\n", "line 2: found two columns named 'a'.* Rename"),
        (b"\x1f\x8b\x08\x00\x00", "found a file that is compressed.* Export it as CSV"),
    ],
)
def test_wrong_lines_below_titles(tmp_path, content, sentence):
    """A line is named by its number in the file, whatever stands above the table."""
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(InvalidInputError, match=sentence):
        read_frame(tmp_path / "t.csv")
