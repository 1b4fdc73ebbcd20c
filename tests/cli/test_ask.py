"""``ask``: answers land in the pairs file in its own shape, and nothing said of them is untrue."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys

import pytest

from smdeclust.constraints import Constraints
from smdeclust.queries.answers import DIFFERENT, SAME, Answer, AnswerFile

PEOPLE = "id,a,b\nann,0,0\nbob,0.2,0.1\ncid,5,5\ndan,5.1,5.2\neve,2.4,2.6\nfay,9,0\n"
NAMES = ("ann", "bob", "cid", "dan", "eve", "fay")


@pytest.fixture
def people(tmp_path):
    """Six people."""
    path = tmp_path / "people.csv"
    path.write_text(PEOPLE)
    return path


@pytest.fixture
def ask(cli, people, monkeypatch):
    """Run ``ask`` and answer with these words; a word may be an exception to raise."""

    def call(words, *arguments):
        class Typed(io.StringIO):
            def readline(self):
                word = next(given, "")
                if isinstance(word, BaseException):
                    raise word
                return word and f"{word}\n"

        given = iter(words)
        monkeypatch.setattr(sys, "stdin", Typed())
        return cli("ask", people, "-k", 2, *arguments)

    return call


SHAPES = {
    "three columns": ("i,j,type\nann,cid,cl\n", r"\w+,\w+,ml\n"),
    "four columns": ("i,j,type,confidence\nann,cid,cl,\n", r"\w+,\w+,ml,\n"),
    "no end of line": ("i,j,type\nann,cid,cl", r"\n\w+,\w+,ml\n"),
    "Windows": ("i,j,type\r\nann,cid,cl\r\n", r"\w+,\w+,ml\r\n"),
    "long words": ("i,j,type\nann,cid,cannot-link\n", r"\w+,\w+,must-link\n"),
    "capitals": ("i,j,type\nann,cid,CL\n", r"\w+,\w+,ML\n"),
    "signs": ("i,j,type\nann,cid,-1\n", r"\w+,\w+,1\n"),
    "other order": ("type;id_1;id_2\ndifferent;ann;cid\n", r"same;\w+;\w+\n"),
    "tabs": ("i\tj\tweight\ttype\nann\tcid\t0.9\tapart\n", r"\w+\t\w+\t\ttogether\n"),
}


@pytest.mark.parametrize("name", SHAPES)
def test_answers_have_the_shape_of_the_file(ask, cli, people, tmp_path, name):
    """An answer is one line more in the file's own columns, delimiter and words; it reads again."""
    before, added = SHAPES[name]
    pairs = tmp_path / "pairs.csv"
    pairs.write_bytes(before.encode())
    done = ask(["y", "q"], "-c", pairs)
    assert done.code == 0
    after = pairs.read_bytes().decode()
    assert after.startswith(before)
    assert re.fullmatch(added, after[len(before) :])
    assert cli("check", people, "-k", 2, "-c", pairs).code == 0
    assert ask(["q"], "-c", pairs).code == 0


@pytest.mark.parametrize("name", SHAPES)
def test_undo_leaves_the_file_as_it_was(ask, tmp_path, name):
    """Undo takes the bytes of the answer away, and no others."""
    pairs = tmp_path / "pairs.csv"
    pairs.write_bytes(SHAPES[name][0].encode())
    done = ask(["y", "?", "u", "u", "u", "q"], "-c", pairs)
    assert done.code == 0
    assert "There is nothing to undo." in done.err + done.out
    assert pairs.read_bytes().decode() == SHAPES[name][0]


@pytest.mark.parametrize("content", ['{"ml": [], "cl": [["ann", "cid"]]}\n', "CL ann cid\n"])
def test_other_formats_are_left_alone(ask, cli, people, tmp_path, content):
    """A file that is no CSV is refused before the first question; with --answers both are read."""
    pairs, answers = tmp_path / "pairs.txt", tmp_path / "answers.csv"
    pairs.write_text(content)
    done = ask(["y", "q"], "-c", pairs)
    assert done.code == 1
    assert "--answers FILE" in done.err
    for _ in range(2):
        assert ask(["y", "q"], "-c", pairs, "--answers", answers).code == 0
    assert pairs.read_text() == content
    assert len(answers.read_text().splitlines()) == 3
    assert cli("check", people, "-k", 2, "-c", pairs, "-c", answers).code == 0
    refused = ask(["y"], "-c", pairs, "--answers", answers, "--format", "links")
    assert refused.code == 1
    assert "--format links" in refused.err


def test_missing_and_empty_files(ask, tmp_path):
    """The file of answers may be missing or empty; a file of pairs that is missing is an error."""
    answers = tmp_path / "answers.csv"
    answers.touch()
    assert ask(["y", "u", "q"], "--answers", answers).code == 0
    assert ask(["y", "q"], "--answers", answers).code == 0
    assert answers.read_text().startswith("i,j,type,confidence\n")
    done = ask(["q"], "-c", tmp_path / "typo.csv", "--answers", answers)
    assert done.code == 1
    assert "typo.csv" in done.err


def test_rows_counted_from_1(ask, tmp_path):
    """Answers are counted and encoded as the options say that the file is."""
    pairs = tmp_path / "pairs.csv"
    pairs.write_bytes("i,j,type\n1,3,cl\n".encode("utf-16"))
    row = ["--pairs-by-row", "--index-base", 1]
    shown = ask(["n", "q"], "-c", pairs, *row)
    assert shown.code == 0
    last = pairs.read_bytes().decode("utf-16").splitlines()[-1].split(",")
    names = [NAMES[int(word) - 1] for word in last[:2]]
    head = next(line for line in shown.out.splitlines() if "differ by" in line)
    assert head.split()[:2] == names
    assert ask(["q"], "-c", pairs, *row).code == 0


def test_confidence_needs_its_column(tmp_path):
    """A soft answer is not written into a file without confidences; the error says what to do."""
    path = tmp_path / "pairs.csv"
    path.write_text("i,j,type\n0,1,ml\n")
    with pytest.raises(Exception, match=r"no column confidence.*save_to"):
        AnswerFile(path).append(Answer((2, 3), SAME, 0.8))
    assert path.read_text() == "i,j,type\n0,1,ml\n"


@pytest.mark.parametrize("encoding", [None, "utf-16", "utf-8-sig", "cp1252"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_any_id_reads_again(tmp_path, encoding, delimiter):
    """Ids with delimiters, quotes and umlauts, in any encoding, are read as they were written."""
    ids = ['a,b;c\td "e"', "ü", "x y", "#z"]
    path = tmp_path / "pairs.csv"
    path.write_bytes(delimiter.join(["i", "j", "type"]).encode(encoding or "utf-8"))
    answers = AnswerFile(path, ids, encoding=encoding)
    answers.append(Answer((0, 1), SAME))
    answers.append(Answer((2, 3), DIFFERENT))
    found = Constraints.read(path, ids=ids, encoding=encoding)
    assert found.must_link.tolist() == [[0, 1]]
    assert found.cannot_link.tolist() == [[2, 3]]


def test_interrupted_after_an_answer(ask, tmp_path):
    """Ctrl-C with an answer given ends as q does, with code 3; without one with code 130."""
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("i,j,type\nann,cid,cl\n")
    done = ask(["y", KeyboardInterrupt()], "-c", pairs)
    assert done.code == 3
    assert "No output file was changed" not in done.err
    assert f"2 pairs known; answers are in {pairs}." in " ".join((done.out + done.err).split())
    assert len(pairs.read_text().splitlines()) == 3
    done = ask([KeyboardInterrupt()], "-c", pairs)
    assert done.code == 130
    assert "No output file was changed" in done.err


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
def test_interrupted_process(people, tmp_path):
    """The same with a true signal, at the second question."""
    answers = tmp_path / "answers.csv"
    process = subprocess.Popen(
        [sys.executable, "-m", "smdeclust", "ask", people, "-k", "2", "--answers", answers],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("y\n")
    process.stdin.flush()
    while "Question 2" not in (line := process.stdout.readline()):
        assert line
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 3
    assert "1 pair known" in said
    assert len(answers.read_text().splitlines()) == 2


def test_words(ask, tmp_path):
    """Questions count on after "don't know"; reasons name the point, sure of nothing."""
    done = ask(["?", "y", "n", "?", "n", "q"], "--answers", tmp_path / "answers.csv")
    said = " ".join((done.out + done.err).split())
    assert "Question 1:" in said
    assert "Question 2:" in said
    assert said.count("Question 1:") == 1
    assert "This pair is skipped" in said
    assert re.search(rf"({'|'.join(NAMES)}) may belong to cluster \d or", said)
    for wrong in ("This point", "% likely", " 1 points", " 1 open points"):
        assert wrong not in said


def test_undo_takes_back_what_was_typed_last(ask, tmp_path):
    """After "don't know", undo asks that question again and keeps the answer before it."""
    answers = tmp_path / "answers.csv"
    done = ask(["yes", "unknown", "undo", "quit"], "--answers", answers)
    assert done.code == 0
    titles = re.findall(r"Question (\d):[^?]*\?\s+(\w+) +(\w+)", done.out)
    assert [number for number, *_ in titles] == ["1", "2", "3", "2"]
    assert titles[3] == titles[1]
    assert len(answers.read_text().splitlines()) == 2


def test_undo_takes_an_added_cluster_back(ask, tmp_path):
    """The cluster that the last answer needed goes with the answer."""
    pairs = tmp_path / "pairs.csv"
    known = "i,j,type\nann,bob,ml\ncid,dan,ml\nann,cid,cl\neve,ann,cl\nfay,ann,cl\n"
    pairs.write_text(known)
    more = ["-c", pairs, "--metric", "euclidean", "--strategy", "random"]
    done = ask(["n", "y", "undo", "n", "n", "q"], *more)
    assert done.out.count("Use 3 clusters from now on?") == 2
    assert pairs.read_text() == known


def test_all_columns_are_shown(cli, ask, people, tmp_path, monkeypatch):
    """Columns that are no features are shown as well, text as it is written, empty ones too."""
    people.write_text(
        "id,a,b,job,fax\nann,0,0,nurse,\nbob,0.2,0.1,baker,\ncid,5,5,pilot,\n"
        "dan,5.1,5.2,pilot,\neve,2.4,2.6,clerk,\nfay,9,0,smith,\n"
    )
    done = ask(["q"], "--answers", tmp_path / "answers.csv", "--features", "a,b")
    assert done.code == 0
    assert re.search(r"job +(nurse|baker|pilot|clerk|smith)", done.out)
    assert re.search(r"fax +- +- +\n", done.out)


def test_labels(ask, cli, people, tmp_path):
    """A number names a cluster: one must-link; 0: cannot-links to all that were shown."""
    answers = tmp_path / "answers.csv"
    done = ask(["1", "7", "0", "y", "q"], "--labels", "--answers", answers)
    assert done.code == 0
    said = " ".join((done.out + done.err).split())
    assert "which of these does" in said
    assert "0 none of these" in said
    assert "Please answer with one of" in said
    lines = answers.read_text().splitlines()[1:]
    assert ",ml," in lines[0]
    assert len(lines) > 1
    assert all(",cl," in line for line in lines[1:])
    assert cli("check", people, "-k", 3, "-c", answers).code == 0
    again = tmp_path / "again.csv"
    assert ask(["1", "u", "0", "y", "u", "q"], "--labels", "--answers", again).code == 0
    assert again.read_text().splitlines()[1:] == []


@pytest.mark.parametrize(("words", "strategy"), [("ny", "influence"), ("n", "random")])
def test_more_clusters_are_offered(ask, tmp_path, words, strategy):
    """Answers that need a third cluster: it is offered; without it the answer is not kept."""
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("i,j,type\nann,cid,cl\nann,fay,cl\n")
    more = ["-c", pairs, "--metric", "euclidean", "--strategy", strategy]
    done = ask(list(words) * 12, *more)
    said = " ".join((done.out + done.err).split())
    assert "require at least 3 clusters" in said
    assert "Use 3 clusters from now on?" in said
    assert ("so it is not used" in said) == (words == "n")
    assert len(pairs.read_text().splitlines()) > 3


def german(n):
    """A table as a German Excel writes it: dates with points, decimal commas, codes of places."""
    lines = [f"K-{i:03d};{1 + i % 28:02d}.03.{2010 + i % 9};{1 + i % 7}.00{i % 9},5;1011{i % 3}"
             for i in range(n)]  # fmt: skip
    return "Kundennr;Kunde seit;Umsatz;PLZ\n" + "\n".join(lines) + "\n"


def test_numbers_and_dates_as_people_write_them(ask, people, tmp_path):
    """Their differences are in standard deviations, the largest first; codes have none."""
    people.write_text(german(30))
    shown = ask(["q"], "--answers", tmp_path / "answers.csv").out
    gaps = dict(re.findall(r"^ (Kunde seit|Umsatz|PLZ).*?(\d\.\d)? *$", shown, re.MULTILINE))
    assert [bool(gaps[name]) for name in ("Kunde seit", "Umsatz", "PLZ")] == [True, True, False]
    found = [float(gap) for gap in gaps.values() if gap]
    assert found == sorted(found, reverse=True)


def test_narrow_terminals(ask, people, tmp_path, monkeypatch):
    """Records that do not fit beside each other are in several tables: no word is broken."""
    people.write_text(german(40))
    for width, n_tables in ((80, 2), (120, 1)):
        monkeypatch.setenv("COLUMNS", str(width))
        shown = ask(["q"], "--answers", tmp_path / "answers.csv", "--labels", "-k", 4).out
        assert shown.count("Question 1") == n_tables
        assert all(f"{number}: K-0" in shown for number in range(1, 5))
        assert len(re.findall(r"\d\d\.03\.20\d\d", shown)) == 4 + n_tables
