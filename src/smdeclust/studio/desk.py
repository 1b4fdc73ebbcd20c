"""The desk: one table, what was entered about it, what was found; shared by all open pages."""

import asyncio
import hashlib
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from smdeclust.exceptions import InvalidInputError
from smdeclust.io import read_constraints
from smdeclust.io.files import PAGE, use_words
from smdeclust.studio import exports, solving, view
from smdeclust.studio.conflicts import find_conflict
from smdeclust.studio.opening import Source
from smdeclust.studio.sheet import Sheet
from smdeclust.studio.wishes import (
    MOST_CLUSTERS,
    Ground,
    History,
    Pair,
    Wishes,
    add_pairs,
    change,
    pairs_of,
)
from smdeclust.studio.work_folder import WorkFolder
from smdeclust.studio.worker import Worker

# Pairs that are sent to the page, and soft pairs beyond which only the first are drawn.
MOST_PAIRS_SENT = 20_000


class RefusedError(Exception):
    """A wish that cannot be kept; `explanation` says why and what can be done."""

    def __init__(self, explanation: Mapping[str, Any]) -> None:
        super().__init__(explanation["sentence"])
        self.explanation = dict(explanation)


class Desk:
    """What the pages share; it begins with nothing open, in a work folder."""

    def __init__(self, folder: Path) -> None:
        self.folder_path = self.start_folder = folder
        self._sheet: Sheet | None = None
        self.labels: np.ndarray | None = None
        self.solution: dict[str, Any] = {}
        self._history: History | None = None
        self._folder: WorkFolder | None = None
        self._page_folders: dict[Any, Path] = {}  # of sheets of this workbook that were opened
        # Processes by what they do. The solver answers at once, whatever the searcher searches for.
        self._workers: dict[str, Worker] = {}
        self._map: tuple[str, np.ndarray] | None = None
        self._epoch = 0
        self._searching: int | None = None
        self._is_warm = False
        self._busy = False
        self._compared_with: tuple[np.ndarray, float, Any] | None = None
        self._space: Any = None
        self._listeners: set[asyncio.Queue[tuple[str, Any]]] = set()
        self._waiting: dict[tuple[str, int], asyncio.Future[Any]] = {}
        self._skipped: list[tuple[int, int]] = []
        self._loop: asyncio.AbstractEventLoop | None = None

    # ---- what is here

    @property
    def wishes(self) -> Wishes:
        """What has been entered, as it is now."""
        assert self._history is not None
        return self._history.now

    @property
    def ground(self) -> Ground:
        """What it is about."""
        return self.need_table().ground

    @property
    def table(self) -> Sheet | None:
        """The table, with the roles as they are now."""
        if self._sheet is None or self._history is None:
            return None
        self._sheet = self._sheet.under(dict(self.wishes.roles))
        return self._sheet

    def need_table(self) -> Sheet:
        """The table, or an error that says that there is none."""
        table = self.table
        if table is None:
            raise InvalidInputError("No table is open yet.")
        return table

    @property
    def workbook(self) -> tuple[Path, dict[Any, Path]]:
        """The file that is open, and the folders of the sheets of it that were opened."""
        self.need_table()
        assert self._folder is not None
        return self._folder.data, self._page_folders

    def state(self) -> dict[str, Any]:
        """All that the page shows but places, labels and rows."""
        table = self.table
        if table is None or self._history is None or self._folder is None:
            return {"open": False, "folder": str(self.folder_path)}
        wishes = self.wishes
        pairs = wishes.pairs[-MOST_PAIRS_SENT:]
        return {
            "open": True,
            "title": self._folder.data.name,
            "folder": str(self.folder_path),
            "n_points": len(table),
            "columns": list(table.columns),
            "sheet": table.describe(wishes.columns),
            "roles": [table.roles[name] for name in table.columns],
            "pictures": list(table.picture_columns),
            "has_vectors": table.vectors is not None,
            "reading": list(table.notes),
            "pages": list(table.pages),
            "page": self._folder.source.get("sheet"),
            "has_ids": table.ids is not None,
            "settings": wishes.settings() | {"names": self._names()},
            "pairs": [[*pair.key, pair.together, pair.confidence] for pair in pairs],
            "pair_ids": [[table.name(pair.key[0]), table.name(pair.key[1])] for pair in pairs],
            "pair_notes": [[pair.note, pair.by] for pair in pairs],
            "labelled": [[row, name] for row, name in wishes.labelled[-MOST_PAIRS_SENT:]],
            "n_pairs": len(wishes.pairs),
            "can_undo": self._history.can_undo,
            "can_redo": self._history.can_redo,
            "busy": self._busy,
            "solution": self.solution,
        }

    def _names(self) -> dict[str, str]:
        """Names of clusters: those given, else the label of a labeled point in the cluster."""
        names = {str(number): name for number, name in self.wishes.names}
        if self.labels is not None:
            for row, name in self.wishes.labelled:
                names.setdefault(str(self.labels[row]), name)
        return names

    # ---- tables

    def open_source(
        self, source: Source, n_clusters: int | None = None, pairs: Sequence[Pair] = ()
    ) -> None:
        """Begin with a table that was read, or continue from its folder; all of it or nothing."""
        sheet, ground = source.sheet, source.sheet.ground
        work = WorkFolder(source.folder, source.data, sheet, source.read)
        k = min(n_clusters or source.n_clusters or 3, ground.n_points, MOST_CLUSTERS)
        with work.changing():
            wishes = work.load(Wishes(k, ground.columns), ground)
            if n_clusters is not None:
                wishes = change(wishes, {"do": "set", "n_clusters": n_clusters}, ground)
            known = {pair.key: pair for pair in wishes.pairs}
            for pair in pairs:
                said = known.get(pair.key, pair)
                if (said.together, said.confidence) != (pair.together, pair.confidence):
                    names = " and ".join(sheet.name(row) for row in pair.key)
                    raise InvalidInputError(
                        f"{work.path} already has a different answer about {names}. Remove one "
                        "of the two pairs."
                    )
            added = (pair for pair in pairs if pair.key not in known)
            wishes = replace(wishes, pairs=(*wishes.pairs, *added))
            chosen = sheet.under(dict(wishes.roles))
            conflict = find_conflict(wishes, chosen.ground, [])
            if conflict is not None:
                raise InvalidInputError(str(conflict["sentence"]))
            view.chosen_points(chosen, wishes)
            work.save(wishes)
        self.close()
        if self._folder is None or self._folder.data != work.data:
            self._page_folders = {}
        self._page_folders.setdefault(work.source.get("sheet"), work.path)
        self._sheet, self._folder, self.folder_path = sheet, work, work.path
        self._history, self._skipped, self._map = History((wishes,)), [], None
        self._is_warm, self._compared_with, self._space = False, None, None
        self.labels, self.solution = work.load_labels(), {}
        for role in ("solver", "searcher"):  # they start while the page loads
            self._worker(role)
        if self._loop is not None:
            self._resolve()
        self.tell("state", self.state())

    async def open_with(self, read: Callable[..., Source], *given: Any) -> dict[str, Any]:
        """Open what one of the functions of `opening` reads."""
        self.open_source(await asyncio.to_thread(read, *given))
        return self.state()

    def start(self) -> None:
        """Called once the server's loop runs."""
        self._loop = asyncio.get_running_loop()
        if self.table is not None:
            self._resolve()

    def close(self) -> None:
        """End the processes."""
        while self._workers:
            self._workers.popitem()[1].close()
        for future in self._waiting.values():
            future.cancel()
        self._waiting.clear()

    # ---- what the person enters

    async def act(self, actions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Take actions in turn, all or (RefusedError: they would contradict) none of them."""
        ground = self.ground

        def step(history: History) -> History:
            if len(actions) == 1 and actions[0].get("do") in ("undo", "redo"):
                return history.undo() if actions[0]["do"] == "undo" else history.redo()
            wishes = history.now
            for action in actions:
                wishes = change(wishes, action, ground)
            return history.then(wishes)

        return self._change(step)

    async def add_pairs_file(self, content: bytes) -> dict[str, Any]:
        """Add the pairs of a file, in any format that can be read."""
        table = self.need_table()
        with tempfile.TemporaryDirectory() as aside:
            path = Path(aside) / "pairs"
            path.write_bytes(content)
            try:
                with use_words(PAGE):
                    found = await asyncio.to_thread(
                        read_constraints, path, n_points=len(table), ids=table.ids
                    )
            except InvalidInputError as error:
                raise InvalidInputError(str(error).replace(str(path), "The pairs")) from None
        if table is not self.table:
            raise InvalidInputError("Another table has been opened since. Send the pairs again.")
        pairs = pairs_of(found)
        return self._change(lambda history: history.then(add_pairs(history.now, pairs)))

    def _change(self, step: Callable[[History], History]) -> dict[str, Any]:
        """Take one step: checked, on the disk, and only then here; otherwise nothing happened."""
        assert self._folder is not None
        assert self._history is not None
        shown = self.wishes
        with self._folder.changing():
            history = self._history
            if self._folder.was_changed():  # by another studio, or by hand
                history = history.then(self._folder.load(shown, self.ground))
            before = history.now
            history = step(history)
            self._refuse(before, history.now)
            if history.now != before:
                self._folder.save(history.now)
        self._history = history
        if self.wishes != shown:
            if replace(self.wishes, names=shown.names) != shown:  # more than names of clusters
                self._resolve()
            self.tell("state", self.state())
        return self.state()

    def _refuse(self, before: Wishes, wishes: Wishes) -> None:
        """Pairs may not contradict each other, and roles and columns leave something to compare."""
        known, table = set(before.pairs), self.need_table().under(dict(wishes.roles))
        new = [pair for pair in wishes.pairs if pair not in known and pair.is_hard]
        conflict = find_conflict(wishes, table.ground, new)
        if conflict is not None:
            rows = [row for pair in conflict["pairs"] for row in pair[:2]]
            raise RefusedError(conflict | {"names": {str(row): table.name(row) for row in rows}})
        if (before.roles, before.columns) != (wishes.roles, wishes.columns):
            view.chosen_points(table, wishes)

    # ---- what is found

    def _resolve(self) -> None:
        """Cluster again, from what is on the screen; everything under way is dropped."""
        if "prover" in self._workers:
            self._workers.pop("prover").close()
        if self.labels is not None and "objective" in self.solution:
            self._compared_with = (self.labels, self.solution["objective"], self._space)
        # Costs of different columns or distances cannot be compared; a learned distance is new
        # every time.
        wishes, self._busy = self.wishes, True
        space = (wishes.columns, wishes.roles, wishes.standardize)
        self._space = space if wishes.metric == "euclidean" else object()
        for of in [of for of in self._waiting if of[0] == "solver"]:
            self._waiting.pop(of).cancel()
        given = (wishes, self.labels)
        self._epoch = self._worker("solver").submit("near", given, new_epoch=True)
        self._searching = None

    def _worker(self, role: str) -> Worker:
        """A process of this table; what it sends arrives in the server's own thread."""

        def on_message(number: int, epoch: int, name: str, content: Any) -> None:
            if self._loop is not None and not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self._receive, role, number, name, content)

        if role not in self._workers:
            self._workers[role] = Worker(solving.make_handlers, self.need_table(), on_message)
        return self._workers[role]

    def _receive(self, role: str, number: int, name: str, content: Any) -> None:
        if (role == "solver" and number < self._epoch) or (
            role == "searcher" and number != self._searching
        ):
            return  # of wishes that were changed since
        future = self._waiting.get((role, number))
        if name == "solution":
            self._take_solution(content)
        elif name in ("failed", "answer") and future is not None:
            del self._waiting[role, number]
            if not future.done() and name == "failed":
                future.set_exception(InvalidInputError(content))
            elif not future.done():
                future.set_result(content)
        elif name == "failed" and role in ("solver", "searcher"):
            self._busy = False
            self.tell("failed", {"sentence": content})
        elif name in ("costs", "proof", "progress", "k_progress"):
            if name == "proof":
                self.solution["gap"] = content["gap"]
            self.tell(name, content)

    async def ask(self, role: str, kind: str, payload: Any) -> Any:
        """The answer of a process: ``solver``, or ``helper`` for what takes long."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[role, self._worker(role).submit(kind, payload)] = future
        try:
            return await future
        except asyncio.CancelledError:
            raise InvalidInputError(
                "Something changed before the answer was ready. Ask again."
            ) from None

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
        elif self._searching is None:
            if not self._is_warm:
                self._is_warm = bool(self._worker("solver").submit("warm", None))
            payload = (self.wishes, labels)
            self._searching = self._worker("searcher").submit("search", payload, new_epoch=True)

    def _prove(self) -> None:
        """Look for a proof in a process of its own, where the data are small enough."""
        wishes, table = self.wishes, self.need_table()
        soft = any(not pair.is_hard for pair in wishes.pairs)
        n_together = sum(pair.together and pair.is_hard for pair in wishes.pairs)
        small = len(table) - n_together <= solving.MOST_PROVEN
        if not small or soft or wishes.quotas or wishes.metric != "euclidean":
            return
        self._worker("prover").submit("prove", (wishes, self.labels))

    def stop(self) -> dict[str, Any]:
        """End the search with the best clusters so far."""
        if "searcher" in self._workers:
            self._workers["searcher"].stop()
        return {"stopped": True}

    async def suggest(self, by_label: bool = False, skip: Any = ()) -> dict[str, Any]:
        """The next question: a pair, or a point and one of each cluster; `skip`: not known."""
        table = self.need_table()
        if skip:
            asked = {"do": "pairs", "pairs": skip, "together": True}
            unknown = change(replace(self.wishes, pairs=()), asked, self.ground).pairs
            self._skipped += [pair.key for pair in unknown]
        payload = (self.wishes, self.labels, self._skipped, by_label)
        found = await self.ask("solver", "suggest", payload)
        if found is None:
            return {"asked": None}
        rows = [view.describe_row(table, self.labels, row) for row in found["asked"]]
        return found | {"rows": rows, "by_label": by_label}

    async def why(self, row: int) -> dict[str, Any]:
        """Why a point is where it is."""
        found = await self.ask("solver", "why", (self.wishes, self.labels, row))
        table = self.need_table()
        return found | {"names": {str(pair[0]): table.name(pair[0]) for pair in found["pairs"]}}

    async def map(self) -> np.ndarray:
        """(N, 2) places of the neighborhood map, computed once for the same points and kept."""
        wishes, table = self.wishes, self.need_table()
        points = await asyncio.to_thread(view.chosen_points, table, wishes)
        key = hashlib.sha256(repr(points.shape).encode() + points.tobytes()).hexdigest()
        assert self._folder is not None
        if self._map is None or self._map[0] != key:
            places = self._folder.load_map(key, len(points))
            if places is None:
                places = await self.ask("helper", "map", wishes)
                self._folder.save_map(key, places)
            self._map = key, places
        return self._map[1]

    def ask_costs(self) -> dict[str, Any]:
        """Find what each pair costs; the answer comes as an event."""
        self.need_table()
        self._worker("solver").submit("costs", (self.wishes, self.labels))
        return {"started": True}

    async def export(self, name: str) -> tuple[bytes, str]:
        """One of the files that can be taken away."""
        table = self.need_table()
        given = table, self.wishes, self._names(), self.labels, self._folder
        return await asyncio.to_thread(exports.make, name, *given)  # type: ignore[arg-type]

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
