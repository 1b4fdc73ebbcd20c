"""``smdeclust what-if``: what changes when some pairs are dropped or added?"""

import csv
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from smdeclust.cli import methods, opening, options, output
from smdeclust.cli.errors import STOPPED, CommandError, Outcome
from smdeclust.cli.fit import solve
from smdeclust.constraints.rows import among
from smdeclust.structure.pairs import count_broken

_KINDS = {"ml": "must_link", "cl": "cannot_link"}
_LISTED = 20


def what_if(
    data: options.DataFile,
    settings: Annotated[methods.Settings, "metric size_min size_max penalty"],
    reading: opening.Reading,
    clusters: options.NClusters = None,
    constraints: options.ConstraintFiles = None,
    drop: list[str] | None = None,
    add: list[str] | None = None,
    save: Path | None = None,
    method: options.MethodName = methods.DEFAULT,
    max_time: options.MaxTime = None,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    force: options.Force = False,
) -> None:
    """Show what changes if you drop or add pairs.

    Clusters the data with and without the change, and shows both objectives and the points that
    move. Your files do not change; --save writes the changed pairs to a new file.

    Example:
      smdeclust what-if people.csv -k 4 -c pairs.csv --drop ann,bob --add cl:ann,eve

    Options:
      --drop A,B: A pair to drop, by id or row (or ml:A,B, cl:A,B); repeat for more.
      --add ml:A,B: A pair to add, ml: or cl:; repeat for more.
      --save FILE: Write the changed pairs (.csv, .json or .txt).
    """
    if not drop and not add:
        raise CommandError("Nothing to change: name pairs with --drop A,B or --add ml:A,B.")
    output.check_file(save, force=force)
    name = methods.check_method(method)
    patience = methods.Patience(max_time)
    with output.progress("Comparing") as update, patience.listen():
        update("reading")
        inputs = opening.read_inputs(data, constraints, reading)
        opening.mention_columns(inputs)
        k = opening.resolve_k(clusters, inputs)
        changed = change(inputs, drop or [], add or [])
        opening.check_save(save, changed)
        update(output.starting())
        patience.begin()
        chosen = settings.arguments(name, inputs)
        setup = methods.Setup(name, k, seed, max_time, chosen, patience, update)
        before = solve(setup, inputs, as_json=as_json)
        if "distance" in before.facts:  # the same distance for both, else they do not compare
            changed = replace(changed, X=before.X)
            kept = {key: value for key, value in chosen.items() if key != "metric"}
            setup = replace(setup, settings=kept)
        after = solve(setup, changed, as_json=as_json)
        document = compare_runs(inputs, changed, [before, after], k)
        if save is not None:
            changed.constraints.write(save)
            document["file"] = str(save)
    if as_json:
        output.print_json(document)
    else:
        _show(document, inputs, k)
    if patience.stopped:
        raise Outcome(STOPPED)


def change(inputs: opening.Inputs, drop: list[str], add: list[str]) -> opening.Inputs:
    """The same inputs without some pairs, and with some more."""
    known = inputs.constraints
    for written in drop:
        kind, pair = _parse(written, inputs, "--drop")
        kinds = [kind] if kind is not None else list(_KINDS.values())
        present = [each for each in kinds if among(np.array([pair]), getattr(known, each)).any()]
        if not present:
            what = "pair" if kind is None else kind.replace("_", "-")
            raise CommandError(f"--drop {written}: there is no such {what} in the files.")
        known = known.drop(**{each: [pair] for each in present}, by_row=True)
    for written in add:
        kind, pair = _parse(written, inputs, "--add")
        if kind is None:
            raise CommandError(f"--add {written}: write ml:{written} or cl:{written}.")
        known = known.add(**{kind: [pair]}, by_row=True)
    return replace(inputs, constraints=known)


def _parse(written: str, inputs: opening.Inputs, option: str) -> tuple[str | None, tuple[int, int]]:
    """The kind, where it is written, and the rows of a pair."""
    prefix, _, rest = written.partition(":")
    kind = _KINDS.get(prefix.strip().lower()) if rest else None
    words = next(csv.reader([rest if kind else written], skipinitialspace=True), [])
    if len(words) != 2:
        raise CommandError(f"{option} {written}: expected a pair A,B (or ml:A,B, cl:A,B).")
    by_id = inputs.pairs_by == "id"
    rows_of_file = range(len(inputs.X)) if inputs.kept is None else inputs.kept
    names = inputs.table.ids if by_id else [str(row) for row in rows_of_file]
    row_of = {name: row for row, name in enumerate(names)}
    rows = []
    for word in words:
        if word.strip() not in row_of:
            what = "not an id of the data" if by_id else f"not a row from 0 to {len(inputs.X) - 1}"
            raise CommandError(f"{option} {written}: {word.strip()!r} is {what}.")
        rows.append(row_of[word.strip()])
    return kind, (rows[0], rows[1])


def compare_runs(
    inputs: opening.Inputs, changed: opening.Inputs, runs: list[methods.Run], k: int
) -> dict[str, Any]:
    """The two clusterings side by side, and the points that move."""
    from smdeclust.queries.picture import match_labels

    before, after = runs
    # Prices of broken soft pairs included: they are the same in both runs.
    was, objective = (run.facts.get("objective_with_penalties", run.objective) for run in runs)
    labels = after.labels
    pairs = changed.constraints
    # Where the earlier labels keep the changed pairs too, they are an answer as well.
    kept = sum(count_broken(pairs.must_link, pairs.cannot_link, before.labels)) == 0
    if kept and was < objective:
        objective, labels = was, before.labels
    where = match_labels(labels, before.labels, k)
    moved = np.flatnonzero(where != before.labels).tolist()
    return {
        "objective": was,
        "objective_changed": objective,
        "difference": objective - was,
        "n_pairs": inputs.constraints.n_pairs,
        "n_pairs_changed": pairs.n_pairs,
        "n_moved": len(moved),
        "moved": [
            {"id": inputs.name(row), "from": int(before.labels[row]), "to": int(where[row])}
            for row in moved
        ],
        "seconds": before.seconds + after.seconds,
    }


def _show(document: dict[str, Any], inputs: opening.Inputs, k: int) -> None:
    before, difference = document["objective"], document["difference"]
    share = f" ({100 * difference / before:+.3f}%)" if before > 0 else ""
    changed = output.number(document["objective_changed"], 10)
    rows = [
        ("pairs", f"{document['n_pairs']:,}", f"{document['n_pairs_changed']:,}"),
        ("objective", output.number(before, 10), f"{changed}{share}"),
    ]
    title = f"{inputs.path.name}: {len(inputs.X):,} points, {k} clusters"
    output.print_table(rows, header=["", "now", "changed"], title=title, right=[1, 2])
    n = document["n_moved"]
    if n == 0:
        output.print_result("No point moves.")
    else:
        shown = [
            (point["id"], str(point["from"]), str(point["to"]))
            for point in document["moved"][:_LISTED]
        ]
        more = f" (the first {_LISTED}; all with --json)" if n > _LISTED else ""
        header = ["id" if inputs.table.ids is not None else "row", "from", "to"]
        title = f"{output.plural(n, 'point')} would move{more}"
        output.print_table(shown, header=header, title=title)
    if "file" in document:
        output.print_result(f"Changed pairs: {document['file']}")
