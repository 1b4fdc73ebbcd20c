"""``smdeclust ask``: one pair after the other, side by side, answered at the keyboard."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from smdeclust.cli import options, screen
from smdeclust.cli.errors import STOPPED, TERMINATED, CommandError, Outcome, Terminated
from smdeclust.cli.options import Inputs, Reading

# Columns shown for a pair: those that differ most.
MOST_COLUMNS = 12
KEYS = "y same, n different, ? don't know, u undo, q quit"


@options.reads_files()
def ask(
    data: options.DataFile,
    clusters: options.NClusters = None,
    constraints: options.ConstraintFiles = None,
    answers: Annotated[
        Path | None,
        typer.Option(
            "--answers",
            metavar="FILE",
            help="CSV that answers are added to (default: the last --constraints file).",
        ),
    ] = None,
    strategy: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="How pairs are chosen: influence, random, explore-consolidate, min-max or npu.",
        ),
    ] = "influence",
    metric: Annotated[
        str,
        typer.Option(metavar="NAME", help="euclidean, diagonal, learned (from pairs) or auto."),
    ] = "euclidean",
    budget: Annotated[int, typer.Option(metavar="N", min=1, help="Most questions.")] = 1000,
    seed: options.Seed = 0,
    *,
    reading: Reading,
) -> None:
    """Show the pair whose answer would help most, learn from the answer, and show the next.

    Every answer is added to the pairs file at once, so nothing is lost; the same command goes on
    where you stopped. Answer with y, n, ?, u (undo) or q (quit).

    Example:
      smdeclust ask people.csv -k 5 --constraints pairs.csv --standardize
    """
    from smdeclust.queries.answers import AnswerFile

    given = list(constraints or ())
    file = answers or (given[-1] if given else None)
    if file is None:
        raise CommandError("Where should answers go? Name a CSV with --answers FILE.")
    begun = _check_answers(file, reading)
    present = [path for path in dict.fromkeys([*given, file]) if path != file or begun]
    inputs = options.read_inputs(data, present, reading)
    options.mention_columns(inputs)
    k = options.resolve_k(clusters, inputs)
    saved = AnswerFile(
        file,
        inputs.table.ids if inputs.pairs_by == "id" else None,
        reading.index_base or 0,
        reading.encoding,
    )
    session = _Session(inputs, k, saved, strategy, metric, seed)
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


def _check_answers(file: Path, reading: Reading) -> bool:
    """Whether the file of answers has lines already; then it must be a CSV of pairs."""
    from smdeclust.io.append import shape_of

    if reading.format not in (None, "csv", "ids"):
        raise CommandError(
            f"Answers are added to a CSV, but --format {reading.format} holds for all files of "
            "pairs. Leave it out, or make a CSV of the pairs with smdeclust convert."
        )
    return shape_of(file, reading.encoding) is not None


@dataclass
class _Session:
    inputs: Inputs
    k: int
    saved: Any  # the AnswerFile
    strategy: str
    metric: str
    seed: int
    known: Any = None
    model: Any = None
    earlier: list[Any] = field(default_factory=list)  # what was known before each answer
    skipped: list[tuple[int, int]] = field(default_factory=list)
    wrote: bool = False

    def __post_init__(self) -> None:
        from smdeclust import Constraints

        pairs = self.inputs.constraints
        empty = Constraints(n_points=len(self.inputs.X))
        self.known = empty.add(
            must_link=pairs.must_link,
            cannot_link=pairs.cannot_link,
            soft_must_link=_with_confidence(pairs, "soft_must_link"),
            soft_cannot_link=_with_confidence(pairs, "soft_cannot_link"),
        )

    def solve(self) -> str:
        """Cluster with what is known; returns what changed, in words."""
        from smdeclust import SMDEClust

        before = self.model
        model = SMDEClust(self.k, random_state=self.seed)
        more = {} if before is None else {"init": before.labels_}
        if self.metric != "euclidean":
            more["metric"] = self.metric
        known = model.get_params()
        model.set_params(**{name: value for name, value in more.items() if name in known})
        model.fit(self.inputs.X, constraints=self.known)
        self.model = model
        if before is None:
            return ""
        moved = int((before.labels_ != model.labels_).sum())
        change = model.inertia_ / before.inertia_ - 1 if before.inertia_ > 0 else 0.0
        cost = "cost unchanged" if abs(change) < 5e-7 else f"cost {change:+.2%}"
        return f"{screen.plural(moved, 'point')} moved, {cost}."

    def run(self, budget: int) -> None:
        """Questions until there are no more, or nobody answers."""
        from smdeclust import suggest_pairs

        n_asked = 0
        while n_asked < budget:
            found = suggest_pairs(
                self.model, self.inputs.X, constraints=self.known, strategy=self.strategy,
                skip=self.skipped, random_state=self.seed + n_asked,
                ids=self.inputs.table.ids,
            )  # fmt: skip
            if not found:
                screen.say("No pair is left whose answer could change the clusters.")
                break
            self.show(found[0], n_asked + 1)
            word = self.read()
            if word == "q":
                break
            n_asked += self.take(word, found[0].pair)

    def say_known(self) -> None:
        """How many pairs are known, and where they are."""
        n_pairs = len(self.known.must_link) + len(self.known.cannot_link)
        screen.say(f"{screen.plural(n_pairs, 'pair')} known; answers are in {self.saved.path}.")

    def show(self, suggestion: Any, number: int) -> None:
        """The two rows side by side, what differs most first."""
        import numpy as np

        X, table = self.inputs.table.X, self.inputs.table
        i, j = suggestion.pair
        spread = X.std(axis=0)
        gaps = np.abs(X[i] - X[j]) / np.where(spread > 0, spread, 1.0)
        order = np.argsort(-gaps, kind="stable")[:MOST_COLUMNS]
        rows = [
            [
                table.feature_names[c],
                screen.number(float(X[i, c])),
                screen.number(float(X[j, c])),
                f"{gaps[c]:.1f}",
            ]
            for c in order
        ]
        labels = self.model.labels_
        rows.append(["in cluster", str(labels[i]), str(labels[j]), ""])
        head = ["", self.inputs.name(i), self.inputs.name(j), "differ by (std)"]
        title = f"Question {number}: do these belong together?"
        screen.print_table(
            rows, header=head, title=title, right=(1, 2, 3), caption=suggestion.reason
        )
        sys.stdout.flush()

    def read(self) -> str:
        """One of y, n, ?, u, q; the end of input is q."""
        while True:
            sys.stdout.write(f"[{KEYS}] > ")
            sys.stdout.flush()
            line = sys.stdin.readline()
            if not line:
                sys.stdout.write("\n")
                return "q"
            word = line.strip().lower()[:1]
            if word and word in "yn?uq":
                return word
            screen.say(f"Please answer with one of: {KEYS}.")

    def take(self, word: str, pair: tuple[int, int]) -> int:
        """Learn from an answer; returns by how much the number of the question grows."""
        from smdeclust.exceptions import InfeasibleConstraintsError
        from smdeclust.queries.answers import DIFFERENT, SAME, Answer

        if word == "?":
            self.skipped.append(pair)
            screen.say("You don't know: this pair is skipped.")
            return 1
        if word == "u":
            if not self.earlier:
                screen.say("There is nothing to undo.")
                return 0
            self.saved.drop_last()
            self.known = self.earlier.pop()
            screen.say(f"Taken back. {self.solve()}")
            return -1
        before = self.known
        kind = "must_link" if word == "y" else "cannot_link"
        self.known = before.add(**{kind: [pair]})
        try:
            changed = self.solve()
        except InfeasibleConstraintsError as error:
            self.known = before
            self.skipped.append(pair)
            screen.say(f"This contradicts earlier answers, so it is not kept: {error}")
            return 1
        except (KeyboardInterrupt, Terminated):
            self.known = before
            screen.say("\nThe last answer is not kept: its clusters were not found yet.")
            raise
        self.wrote = True
        self.earlier.append(before)
        self.saved.append(Answer(pair, SAME if word == "y" else DIFFERENT))
        screen.say(changed)
        return 1


def _with_confidence(pairs: Any, kind: str) -> list[Any]:
    rows, sure = getattr(pairs, kind), getattr(pairs, f"{kind}_confidence")
    return [(int(i), int(j), float(c)) for (i, j), c in zip(rows, sure, strict=True)]
