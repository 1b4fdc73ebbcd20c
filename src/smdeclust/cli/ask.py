"""``smdeclust ask``: one question after the other, side by side, answered at the keyboard."""

import sys
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from smdeclust.cli import opening, options, output
from smdeclust.cli.errors import STOPPED, TERMINATED, CommandError, Outcome, Terminated
from smdeclust.exceptions import InfeasibleConstraintsError
from smdeclust.io.table import texts_of
from smdeclust.tables.values import Columns

# Columns shown for a question: those that differ most. Clusters shown at once.
MOST_COLUMNS = 40
MOST_CLUSTERS = 6
_NAMES = ("category", "yes/no", "id", "class")  # roles of numbers that are not compared by size
KEYS = "? don't know, u undo, q quit"
KEY_OF = {"same": "y", "different": "n", "unknown": "?", "undo": "u", "quit": "q"}


def ask(
    data: options.DataFile,
    reading: opening.Reading,
    clusters: options.NClusters = None,
    constraints: options.ConstraintFiles = None,
    answers: Path | None = None,
    labels: bool = False,
    strategy: str = "influence",
    metric: str = "guided",
    budget: options.Count = 1000,
    seed: options.Seed = 0,
) -> None:
    """Ask the question whose answer would help most, learn from the answer, and ask the next one.

    Each answer is saved immediately. To continue later, run the same command again. Answer with y,
    n, ? (don't know), u (undo) or q (quit); with --labels, answer with a number.

    Example:
      smdeclust ask people.csv -k 5 --constraints pairs.csv --standardize

    Options:
      --answers FILE: CSV that answers are added to (default: the last --constraints file).
      --labels: Ask "which of these does it belong with?" and show an example from each cluster.
      --strategy NAME: How pairs are chosen: influence or random.
      --metric NAME: guided (clusters of any shape), or a distance for round clusters: euclidean,
        diagonal, learned (from pairs) or auto.
      --budget N: Maximum number of questions.
    """
    from smdeclust.queries.answers import AnswerFile, shape_of

    given = list(constraints or ())
    file = answers or (given[-1] if given else None)
    if file is None:
        raise CommandError("Where should answers go? Name a CSV with --answers FILE.")
    if reading.format not in (None, "csv", "ids"):
        raise CommandError(
            f"Answers are added to a CSV, but --format {reading.format} applies to all files of "
            "pairs. Leave it out, or make a CSV of the pairs with smdeclust convert."
        )
    begun = shape_of(file, reading.encoding) is not None
    present = [path for path in dict.fromkeys([*given, file]) if path != file or begun]
    inputs = opening.read_inputs(data, present, reading)
    opening.mention_columns(inputs)
    opening.mention_weights(inputs, "when questions are chosen, all rows count equally")
    k = opening.resolve_k(clusters, inputs)
    saved = AnswerFile(
        file,
        inputs.table.ids if inputs.pairs_by == "id" else None,
        reading.index_base or 0,
        reading.encoding,
    )
    session = _Session(inputs, k, saved, strategy, metric, seed, labels)
    try:
        session.solve()
        session.run(budget)
    except (KeyboardInterrupt, Terminated) as stop:
        if not session.wrote:
            raise
        sys.stdout.write("\n")
        session.say_known()
        raise Outcome(STOPPED if isinstance(stop, KeyboardInterrupt) else TERMINATED) from None
    session.say_known()


@dataclass
class _Session:
    inputs: opening.Inputs
    k: int
    saved: Any  # the AnswerFile
    strategy: str
    metric: str
    seed: int
    by_label: bool
    known: Any = None
    refits: Any = None
    # before each answer: what was known, K, how many were skipped, lines that it wrote
    earlier: list[tuple[Any, int, int, int]] = field(default_factory=list)
    looks: list[Any] = field(default_factory=list)  # clusters after each answer
    skipped: list[tuple[int, int]] = field(default_factory=list)
    wrote: bool = False
    advised: bool = False

    def __post_init__(self) -> None:
        from smdeclust import Constraints, GuidedClustering, SMDEClust
        from smdeclust.queries.refits import Refits

        self.known = Constraints(n_points=len(self.inputs.X)) | self.inputs.constraints
        if self.metric == "guided":
            model: Any = GuidedClustering(self.k, random_state=self.seed)
        else:
            model = SMDEClust(self.k, metric=self.metric, random_state=self.seed)
        self.refits = Refits(model)

    def solve(self) -> str:
        """Cluster with what is known; returns what changed, in words."""
        before = self.looks[-1:]
        self.model = self.refits.fit(self.inputs.X, self.known, self.k, len(self.looks))
        self.looks.append(self.model.labels_)
        moved = sum(int((labels != self.model.labels_).sum()) for labels in before)
        return f"{output.plural(moved, 'point')} moved."

    def run(self, budget: int) -> None:
        """Questions until there are no more, or the person stops."""
        n_asked = 0
        while n_asked < budget:
            question = self.next_question(n_asked)
            if question is None:
                output.say("No question is left whose answer could change the clusters.")
                break
            row, others = question
            self.show(row, others, n_asked + 1)
            word = self.read(len(others))
            if word == "q":
                break
            n_asked += self.take(word, row, others)
            self.advise()

    def next_question(self, n_asked: int) -> tuple[int, tuple[int, ...]] | None:
        """A row, and the rows beside it; the reason is kept for the output."""
        from smdeclust import suggest_labels, suggest_pairs

        known: dict[str, Any] = {
            "constraints": self.known, "skip": self.skipped, "ids": self.inputs.table.ids,
        }  # fmt: skip
        if self.by_label:
            found: Any = suggest_labels(self.model, self.inputs.X, **known)
        else:
            known |= {"strategy": self.strategy, "random_state": self.seed + n_asked}
            found = suggest_pairs(self.model, self.inputs.X, **known)
        if not found:
            return None
        self.reason = found[0].reason
        if self.by_label:
            return found[0].row, found[0].representatives[:MOST_CLUSTERS]
        return found[0].pair[0], found[0].pair[1:]

    def advise(self) -> None:
        """Say once when more answers hardly matter."""
        from smdeclust.queries.refits import LOOK_BACK, stop_advice

        if not self.advised and len(self.looks) > LOOK_BACK:
            said = stop_advice(self.looks[-LOOK_BACK - 1], self.looks[-1])
            if said:
                output.say(f"{said} You can stop here with q.")
            self.advised = bool(said)

    def say_known(self) -> None:
        """How many pairs are known, and where they are."""
        n_pairs = len(self.known.must_link) + len(self.known.cannot_link)
        output.say(f"{output.plural(n_pairs, 'pair')} known; answers are in {self.saved.path}.")

    def show(self, row: int, others: tuple[int, ...], number: int) -> None:
        """The rows side by side, what differs most first; in several tables if they are wide."""
        rows = (row, *others)
        lines = self.columns(rows)
        hidden = len(lines) - MOST_COLUMNS
        lines = lines[:MOST_COLUMNS]
        if hidden > 0:
            more = f"and {output.plural(hidden, 'column')} that differ less"
            lines.append([more, *["" for _ in rows], ""])
        labels = self.model.labels_
        lines.append(["in cluster", *[str(labels[r]) for r in rows], ""])
        names = [self.inputs.name(r) for r in rows]
        title = f"Question {number}: do these belong together?"
        if self.by_label:
            title = f"Question {number}: which of these does {names[0]} belong with?"
            names[1:] = [f"{at}: {name}" for at, name in enumerate(names[1:], start=1)]
        lines.insert(0, ["", *names, "differ by (std)"])
        last = len(rows) + 1
        wide = [3 + min(24, max(len(line[at]) for line in lines)) for at in range(last + 1)]
        room = output.width() - wide[0] - wide[1] - wide[last]
        fit = min(len(others), max(1, room // max(wide[2:last])))
        for begin in range(2, last, fit):
            # The difference is that of all the others: beside some of them it would be wrong.
            shown = [0, 1, *range(begin, min(begin + fit, last)), *[last] * (fit == len(others))]
            head, *body = ([line[at] for at in shown] for line in lines)
            reason = self.reason if begin + fit >= last else None
            output.print_table(body, header=head, title=title, caption=reason)
        sys.stdout.flush()

    @cached_property
    def amounts(self) -> dict[str, np.ndarray]:
        """The columns of numbers and dates, in their standard deviations."""
        file, found = self.inputs.file, {}
        roles = self.inputs.features.roles_ if self.inputs.features else {}
        for name, values in Columns(file.frame, file.decimal).items():
            column = values.column
            if values.kind == "moments":
                column = (column - column.min()).dt.total_seconds()
            if values.kind != "words" and roles.get(name) not in _NAMES and column.std() > 0:
                found[name] = (column / column.std(ddof=0)).to_numpy(np.float64)
        return found

    def columns(self, rows: tuple[int, ...]) -> list[list[str]]:
        """Every column of the table for these rows: those that differ most first."""
        found = []
        for name, column in self.inputs.file.frame.items():
            if name == self.inputs.table.id_name:
                continue
            cells = column.iloc[list(rows)]
            words = [word.removesuffix(" 00:00:00") for word in texts_of(cells)]
            if cells.dtype.kind in "fiu":
                words = [output.number(float(cell)) for cell in cells]
            gap, said = float(len(set(words)) > 1), ""
            if name in self.amounts:
                there = self.amounts[name][list(rows)]
                gap = float(np.nanmax(np.abs(there - there[0]), initial=0.0))
                said = "" if np.isnan(there - there[0])[1:].all() else f"{gap:.1f}"
            found.append((gap, [str(name), *words, said]))
        found.sort(key=lambda item: -item[0])
        return [line for _, line in found]

    def read(self, n_others: int) -> str:
        """One of the words that a question takes; the end of input is q."""
        from smdeclust.queries.answers import WORDS

        words = [str(at) for at in range(n_others + 1)] if self.by_label else ["y", "n"]
        keys = f"1 to {n_others}, 0 none of these" if self.by_label else "y same, n different"
        while True:
            sys.stdout.write(f"[{keys}, {KEYS}] > ")
            sys.stdout.flush()
            line = sys.stdin.readline()
            if not line:
                sys.stdout.write("\n")
                return "q"
            word = line.strip().lower()
            word = KEY_OF.get(WORDS.get(word, word), word)
            if self.by_label and word == "none":
                word = "0"
            if word in [*words, "?", "u", "q"]:
                return word
            output.say(f"Please answer with one of: {keys}, {KEYS}.")

    def take(self, word: str, row: int, others: tuple[int, ...]) -> int:
        """Learn from an answer; returns by how much the number of the question grows."""
        from smdeclust.queries.answers import SAME, as_answer, as_label_answers

        before = (self.known, self.k, len(self.skipped))
        if word == "?":
            self.earlier.append((*before, 0))
            self.skipped.extend((row, other) for other in others)
            what = "question" if self.by_label else "pair"
            output.say(f"This {what} is skipped.")
            return 1
        if word == "u":
            return self.undo()
        if self.by_label:
            told = as_label_answers(row, others, "none" if word == "0" else int(word) - 1)
        else:
            told = [as_answer((row, others[0]), word)]
        kind = "must_link" if told[0].verdict == SAME else "cannot_link"
        pairs = [answer.pair for answer in told]
        self.known = self.known.add(**{kind: pairs}, by_row=True)
        changed = self.solve_or_grow()
        if changed is None:
            self.known = before[0]
            self.earlier.append((*before, 0))
            self.skipped.extend(pairs)
            return 1
        self.wrote = True
        self.earlier.append((*before, len(told)))
        for answer in told:
            self.saved.append(answer)
        output.say(changed)
        return 1

    def undo(self) -> int:
        """Take the last answer back, also one that was "don't know" or not kept."""
        if not self.earlier:
            output.say("There is nothing to undo.")
            return 0
        self.known, self.k, n_skipped, n_lines = self.earlier.pop()
        del self.skipped[n_skipped:]
        for _ in range(n_lines):
            self.saved.drop_last()
        said = "Taken back."
        if n_lines:
            said += f" {self.solve()}"
            del self.looks[-2:]
        output.say(said)
        return -1

    def solve_or_grow(self) -> str | None:
        """Cluster; where the answers require more clusters, offer one more. None: not used."""
        try:
            return self.solve()
        except InfeasibleConstraintsError as error:
            if self.known.check(self.k + 1, max_time=5.0).feasible:
                output.say(f"These answers require at least {self.k + 1} clusters: {error}")
                sys.stdout.write(f"Use {self.k + 1} clusters from now on? [y, n] > ")
                sys.stdout.flush()
                if sys.stdin.readline().strip().lower()[:1] == "y":
                    self.k += 1
                    return self.solve()
            output.say(f"This answer contradicts earlier ones, so it is not used: {error}")
            return None
        except (KeyboardInterrupt, Terminated):
            output.say("\nThe last answer was not saved: its clusters were still being computed.")
            raise
