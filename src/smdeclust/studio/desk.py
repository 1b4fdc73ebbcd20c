"""The desk: one table, what was said about it, what was found; shared by all open pages."""

from __future__ import annotations

import asyncio
import itertools
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from smdeclust.exceptions import InvalidInputError
from smdeclust.io import Table, read_constraints, read_table, write_bytes, write_rows
from smdeclust.studio import exports, solving, view
from smdeclust.studio.conflicts import find_conflict
from smdeclust.studio.wishes import Ground, History, Pair, Wishes, change
from smdeclust.studio.work_folder import LABELS, PAIRS, SETTINGS, WorkFolder
from smdeclust.studio.worker import Worker

# Pairs that are sent to the page, and soft pairs beyond which only the first are drawn.
MOST_PAIRS_SENT = 20_000


class RefusedError(Exception):
    """A wish that cannot be kept; `explanation` says why and what can be done."""

    def __init__(self, explanation: Mapping[str, Any]) -> None:
        super().__init__(explanation["sentence"])
        self.explanation = dict(explanation)


class Desk:
    """What the pages share.

    Parameters
    ----------
    folder
        The work folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder_path = self.start_folder = folder
        self.table: Table | None = None
        self.title = ""
        self.labels: np.ndarray | None = None
        self.solution: dict[str, Any] = {}
        self._history: History | None = None
        self._folder: WorkFolder | None = None
        self._solver: Worker | None = None
        self._prover: Worker | None = None
        self._epoch = 0
        self._busy = False
        self._compared_with: tuple[np.ndarray, float, Any] | None = None
        self._space: Any = None
        self._listeners: set[asyncio.Queue[tuple[str, Any]]] = set()
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._skipped: list[tuple[int, int]] = []
        self._loop: asyncio.AbstractEventLoop | None = None

    # ---- what is here

    @property
    def wishes(self) -> Wishes:
        """What was said, as it is now."""
        assert self._history is not None
        return self._history.now

    @property
    def ground(self) -> Ground:
        """What it is about."""
        table = self.need_table()
        return Ground(len(table.X), table.feature_names)

    def need_table(self) -> Table:
        """The table, or an error that says that there is none."""
        if self.table is None:
            raise InvalidInputError("No table is open yet.")
        return self.table

    def state(self) -> dict[str, Any]:
        """All that the page shows but places, labels and rows."""
        if self.table is None or self._history is None:
            return {"open": False, "folder": str(self.folder_path)}
        wishes = self.wishes
        pairs = wishes.pairs[-MOST_PAIRS_SENT:]
        return {
            "open": True,
            "title": self.title,
            "folder": str(self.folder_path),
            "n_points": len(self.table.X),
            "columns": list(self.table.feature_names),
            "has_ids": self.table.ids is not None,
            "settings": wishes.settings(),
            "pairs": [[*pair.key, pair.together, pair.confidence] for pair in pairs],
            "pair_ids": [[self._name(pair.key[0]), self._name(pair.key[1])] for pair in pairs],
            "n_pairs": len(wishes.pairs),
            "can_undo": self._history.can_undo,
            "can_redo": self._history.can_redo,
            "busy": self._busy,
            "solution": self.solution,
        }

    def _name(self, row: int) -> str:
        table = self.need_table()
        return str(row) if table.ids is None else table.ids[row]

    # ---- tables

    def open(
        self,
        table: Table,
        title: str,
        data: Path | None,
        n_clusters: int | None,
        pairs: Sequence[Pair] = (),
        folder: Path | None = None,
        **settings: Any,
    ) -> None:
        """Begin with a table, or go on where the work folder stands; all of it or nothing."""
        work = WorkFolder(folder or self.folder_path, data, table)
        ground = Ground(len(table.X), table.feature_names)
        first = Wishes(
            min(n_clusters or table.n_clusters or 3, ground.n_points), table.feature_names
        )
        first = change(first, {"do": "set", **settings}, ground)
        with work.changing():
            wishes = work.load(first, ground)
            if n_clusters is not None:
                wishes = change(wishes, {"do": "set", "n_clusters": n_clusters}, ground)
            known = {pair.key for pair in wishes.pairs}
            added = (pair for pair in pairs if pair.key not in known)
            wishes = replace(wishes, pairs=(*wishes.pairs, *added))
            conflict = find_conflict(wishes, len(table.X), [])
            if conflict is not None:
                raise InvalidInputError(str(conflict["sentence"]))
            work.save(wishes)
        self.close()
        self.table, self.title, self._folder, self.folder_path = table, title, work, work.path
        self._history, self._skipped = History(wishes), []
        self._compared_with, self._space = None, None
        self.labels, self.solution = work.load_labels(), {}
        self._solver = Worker(solving.make_handlers, table, self._on_message)
        if self._loop is not None:
            self._resolve()

    async def open_demo(self) -> None:
        """The demo data."""
        from sklearn.datasets import load_iris

        iris = load_iris()
        names = [name.removesuffix(" (cm)") for name in iris.feature_names]
        rows = ([f"flower {i}", *row] for i, row in enumerate(iris.data.tolist()))
        path = self.start_folder / "iris-demo" / "iris.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_rows(path, ["id", *names], rows)
        title = "Iris flowers (demo)"
        self.open(read_table(path), title, path.resolve(), None, folder=path.parent)
        self.tell("state", self.state())

    async def open_upload(self, name: str, content: bytes) -> None:
        """A table that a page sent: kept in a folder of its own, and read by the usual readers.

        The same table sent again goes on where its work was left; nothing is ever overwritten.
        """
        given = Path(name)
        stem = _harmless(given.stem)[:80] or "data"
        file = f"{stem}.{_harmless(given.suffix)[:10] or 'csv'}"
        if file in (PAIRS, SETTINGS, LABELS):
            file = f"data-{file}"
        with tempfile.TemporaryDirectory() as aside:
            path = Path(aside) / file
            path.write_bytes(content)
            try:
                table = await asyncio.to_thread(read_table, path)
            except InvalidInputError as error:
                raise InvalidInputError(str(error).replace(str(path), file)) from None
        place = self.start_folder / stem
        for number in itertools.count(2):
            if not place.exists() or _holds(place / file, content):
                break
            place = self.start_folder / f"{stem}-{number}"
        place.mkdir(parents=True, exist_ok=True)
        if not (place / file).exists():
            write_bytes(place / file, content)
        self.open(table, file, (place / file).resolve(), None, folder=place)
        self.tell("state", self.state())

    def start(self) -> None:
        """Called once the server's loop runs."""
        self._loop = asyncio.get_running_loop()
        if self.table is not None:
            self._resolve()

    def close(self) -> None:
        """End the processes."""
        for worker in (self._solver, self._prover):
            if worker is not None:
                worker.close()
        self._solver = self._prover = None

    # ---- what is said

    async def act(self, actions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Take actions in turn, all or none of them.

        Raises
        ------
        RefusedError
            The wishes would contradict each other; nothing was stored.
        """
        if self._history is None:
            raise InvalidInputError("No table is open yet.")
        ground = self.ground

        def step(history: History) -> None:
            if len(actions) == 1 and actions[0].get("do") in ("undo", "redo"):
                history.undo() if actions[0]["do"] == "undo" else history.redo()
                return
            wishes = history.now
            for action in actions:
                wishes = change(wishes, action, ground)
            history.do(wishes)

        return self._change(step)

    async def add_pairs_file(self, content: bytes) -> dict[str, Any]:
        """Add the pairs of a file, in any format that can be read."""
        table = self.need_table()
        with tempfile.TemporaryDirectory() as aside:
            path = Path(aside) / "pairs"
            path.write_bytes(content)
            try:
                found = await asyncio.to_thread(
                    read_constraints, path, n_points=len(table.X), ids=table.ids
                )
            except InvalidInputError as error:
                raise InvalidInputError(str(error).replace(str(path), "The pairs")) from None
        if table is not self.table:
            raise InvalidInputError("Another table was opened meanwhile: send the pairs again.")
        pairs = pairs_of(found)

        def step(history: History) -> None:
            merged = {pair.key: pair for pair in (*history.now.pairs, *pairs)}
            history.do(replace(history.now, pairs=tuple(merged.values())))

        return self._change(step)

    def _change(self, step: Callable[[History], None]) -> dict[str, Any]:
        """Take one step: checked, on the disk, and only then here; otherwise nothing happened."""
        assert self._folder is not None
        assert self._history is not None
        shown = self.wishes
        with self._folder.changing():
            history = self._history.copy()
            if self._folder.was_changed():  # by another studio, or by hand
                history.do(self._folder.load(shown, self.ground))
            before = history.now
            step(history)
            self._refuse_conflicts(before, history.now)
            if history.now != before:
                self._folder.save(history.now)
        self._history = history
        self._after_change(shown)
        return self.state()

    def _refuse_conflicts(self, before: Wishes, wishes: Wishes) -> None:
        known = set(before.pairs)
        new = [pair for pair in wishes.pairs if pair not in known and pair.is_hard]
        conflict = find_conflict(wishes, len(self.need_table().X), new)
        if conflict is not None:
            names = {row: self._name(row) for pair in conflict["pairs"] for row in pair[:2]}
            raise RefusedError(conflict | {"names": {str(row): n for row, n in names.items()}})

    def _after_change(self, before: Wishes) -> None:
        if self.wishes == before:
            return
        only_names = replace(self.wishes, names=before.names) == before
        if not only_names:
            self._resolve()
        self.tell("state", self.state())

    # ---- what is found

    def _resolve(self) -> None:
        """Cluster again, from what is on the screen; everything under way is dropped."""
        assert self._solver is not None
        if self._prover is not None:
            self._prover.close()
            self._prover = None
        if self.labels is not None and "objective" in self.solution:
            self._compared_with = (self.labels, self.solution["objective"], self._space)
        # Costs of different columns or distances cannot be compared; a learned distance is new
        # every time.
        wishes = self.wishes
        is_fixed = wishes.metric == "euclidean"
        self._space = (wishes.columns, wishes.standardize) if is_fixed else object()
        self._busy = True
        for future in self._waiting.values():
            future.cancel()
        self._waiting.clear()
        self._epoch = self._solver.submit("solve", (self.wishes, self.labels), new_epoch=True)

    def _on_message(self, number: int, epoch: int, name: str, content: Any) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._receive, number, name, content)

    def _receive(self, number: int, name: str, content: Any) -> None:
        if number < self._epoch:
            return  # of wishes that were changed since
        if name == "solution":
            self._take_solution(content)
        elif name == "failed":
            future = self._waiting.pop(number, None)
            if future is not None and not future.done():
                future.set_exception(InvalidInputError(content))
            else:
                self._busy = False
                self.tell("failed", {"sentence": content})
        elif name == "suggestion":
            future = self._waiting.pop(number, None)
            if future is not None and not future.done():
                future.set_result(content)
        elif name in ("costs", "proof"):
            if name == "proof":
                self.solution["gap"] = content["gap"]
            self.tell(name, content)

    def _take_solution(self, found: dict[str, Any]) -> None:
        assert self._folder is not None
        table, labels = self.need_table(), found.pop("labels").astype(np.int64)
        objective = found["objective"]
        n_moved, change_of_cost = None, None
        if self._compared_with is not None:
            old, old_objective, space = self._compared_with
            n_moved = int(np.count_nonzero(old != labels))
            if old_objective > 0 and space == self._space:
                change_of_cost = objective / old_objective - 1
        self.labels = labels
        try:
            self._folder.save_labels(labels)
        except OSError as error:
            self.tell("failed", {"sentence": f"The clusters were not saved: {error.strerror}."})
        self._busy = not found["final"]
        self.solution = found | {
            "n_moved": n_moved,
            "change_of_cost": change_of_cost,
            "clusters": view.portraits(table, labels, self.wishes.n_clusters),
        }
        self.tell("solution", self.solution | {"busy": self._busy})
        if found["final"]:
            self._prove()

    def _prove(self) -> None:
        """Look for a proof in a process of its own, where the data are small enough."""
        wishes, table = self.wishes, self.need_table()
        soft = any(not pair.is_hard for pair in wishes.pairs)
        n_together = sum(pair.together and pair.is_hard for pair in wishes.pairs)
        small = len(table.X) - n_together <= solving.MOST_PROVEN
        if not small or soft or wishes.metric != "euclidean":
            return
        self._prover = Worker(solving.make_handlers, table, self._on_proof)
        self._prover.submit("prove", (wishes, self.labels))

    def _on_proof(self, number: int, epoch: int, name: str, content: Any) -> None:
        if name == "proof":
            self._on_message(self._epoch, epoch, name, content)

    async def suggest(self, skip: Any = None) -> dict[str, Any]:
        """The pair to ask next, side by side; `skip` is one that nobody knows the answer of."""
        table = self.need_table()
        if skip is not None:
            asked = {"do": "pairs", "pairs": [skip], "together": True}
            pair = change(replace(self.wishes, pairs=()), asked, self.ground).pairs[0]
            self._skipped.append(pair.key)
        assert self._solver is not None
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        number = self._solver.submit("suggest", (self.wishes, self._skipped))
        self._waiting[number] = future
        try:
            found = await future
        except asyncio.CancelledError:
            raise InvalidInputError("The clusters changed meanwhile: ask again.") from None
        if found is None:
            return {"pair": None}
        rows = [view.describe_row(table, self.labels, row) for row in found["pair"]]
        return found | {"rows": rows}

    def ask_costs(self) -> None:
        """Find what each pair costs; the answer comes as an event."""
        if self._solver is None:
            raise InvalidInputError("No table is open yet.")
        self._solver.submit("costs", self.wishes)

    async def export(self, name: str) -> tuple[bytes, str]:
        """One of the files that can be taken away."""
        table = self.need_table()
        assert self._folder is not None
        return await asyncio.to_thread(
            exports.make, name, table, self.wishes, self.labels, self._folder
        )

    # ---- pages that listen

    @contextmanager
    def listening(self) -> Iterator[asyncio.Queue[tuple[str, Any]]]:
        """A queue that gets every event while the page is there."""
        queue: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()
        self._listeners.add(queue)
        try:
            yield queue
        finally:
            self._listeners.discard(queue)

    def tell(self, name: str, data: Any) -> None:
        """Send an event to every page."""
        for queue in self._listeners:
            queue.put_nowait((name, data))


def _harmless(name: str) -> str:
    return "".join(c for c in name if c.isalnum() or c in "._-").lstrip(".-")


def _holds(path: Path, content: bytes) -> bool:
    return path.is_file() and path.read_bytes() == content


def pairs_of(constraints: Any) -> list[Pair]:
    """The pairs of a file as the page keeps them."""
    found = []
    for kind, together in (("must_link", True), ("cannot_link", False)):
        found += [Pair(int(i), int(j), together) for i, j in getattr(constraints, kind)]
        rows = getattr(constraints, f"soft_{kind}")
        sure = getattr(constraints, f"soft_{kind}_confidence")
        found += [
            Pair(int(i), int(j), together, max(0.5, float(c)))
            for (i, j), c in zip(rows, sure, strict=True)
        ]
    return found
