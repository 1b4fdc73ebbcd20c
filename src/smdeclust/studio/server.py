"""The studio's JSON interface and its push channel (server-sent events). Documented in docs/studio.

Everything below one path that begins with the token (see `guard`):

====================  ==============================================================================
GET  api/state        all that the page shows but places, labels and rows
GET  api/events       the push channel: ``state``, ``solution``, ``busy``, ``proof``, ``costs``
GET  api/places       float32 x of all points, then y (``kind=pca|pairs|columns``, ``x=``, ``y=``)
GET  api/labels       int32 cluster of every point
GET  api/rows         a page of the table (``sort=``, ``descending=``, ``cluster=``, ``start=``)
GET  api/row          one point (``row=``)
GET  api/find         rows by id (``text=``)
POST api/act          one action or a list of them; 409 with an explanation where it cannot be
POST api/pairs        a pairs file, in any format that ``smdeclust`` reads
POST api/open         a table (``name=``), or the demo data (``demo=1``)
POST api/suggest      the pair to ask next
POST api/costs        what each pair costs (the answer comes by the push channel)
GET  api/export/NAME  labels.csv, pairs.csv, settings.json, recipe.py, report.html
====================  ==============================================================================
"""

from __future__ import annotations

import asyncio
import errno
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib.resources import files
from typing import Any

import numpy as np
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    JSONResponse,
    PlainTextResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from smdeclust.exceptions import SMDEClustError
from smdeclust.studio import view
from smdeclust.studio.desk import Desk, RefusedError
from smdeclust.studio.guard import Guard, TooLargeError

STATIC = {
    "app.js": "text/javascript",
    "picture.js": "text/javascript",
    "panels.js": "text/javascript",
    "service.js": "text/javascript",
    "style.css": "text/css",
}
HEARTBEAT = 15.0

Handler = Callable[[Request], Awaitable[Response]]


def make_app(desk: Desk, token: str, hosts: frozenset[str]) -> Guard:
    """The application around a desk."""

    def page(request: Request) -> Response:
        return Response(_asset("index.html"), media_type="text/html; charset=utf-8")

    def static(request: Request) -> Response:
        name = request.path_params["name"]
        if name == "plotly.js":
            path = files("plotly").joinpath("package_data", "plotly.min.js")
            # It never changes while the server runs, and is large.
            kept = {"cache-control": "private, max-age=86400"}
            return FileResponse(str(path), media_type="text/javascript", headers=kept)
        if name not in STATIC:
            return PlainTextResponse("There is no such file.", 404)
        return Response(_asset(name), media_type=STATIC[name] + "; charset=utf-8")

    async def state(request: Request) -> Response:
        return JSONResponse(desk.state())

    async def events(request: Request) -> Response:
        return StreamingResponse(_stream(desk), media_type="text/event-stream")

    async def places(request: Request) -> Response:
        table = desk.need_table()
        query = request.query_params
        kind, x, y = query.get("kind", "pca"), query.get("x", ""), query.get("y", "")
        if kind not in ("pca", "pairs", "columns"):
            return _refused("kind must be pca, pairs or columns.")
        if kind == "columns" and not {x, y} <= set(table.feature_names):
            return _refused("x and y must be columns of the table.")
        found = await asyncio.to_thread(view.places, table, desk.wishes, kind, x, y)
        return _binary(found.T.astype("<f4"))

    async def labels(request: Request) -> Response:
        if desk.labels is None:
            return _refused("There are no clusters yet.", 404)
        return _binary(desk.labels.astype("<i4"))

    async def rows(request: Request) -> Response:
        table, query = desk.need_table(), request.query_params
        cluster, start = query.get("cluster"), query.get("start", "0")
        if not start.isdigit() or (cluster is not None and not cluster.isdigit()):
            return _refused("start and cluster must be whole numbers.")
        found = np.zeros(len(table.X), np.int64) if desk.labels is None else desk.labels
        chosen = None if cluster is None else int(cluster)
        down = query.get("descending") == "1"
        sort = query.get("sort", "")
        return JSONResponse(view.table_page(table, found, sort, down, chosen, int(start)))

    async def row(request: Request) -> Response:
        table, text = desk.need_table(), request.query_params.get("row", "")
        if not text.isdigit() or int(text) >= len(table.X):
            return _refused("There is no such row.", 404)
        return JSONResponse(view.describe_row(table, desk.labels, int(text)))

    async def find(request: Request) -> Response:
        table, text = desk.need_table(), request.query_params.get("text", "")
        found = view.find_rows(table, text) if text else []
        return JSONResponse([view.describe_row(table, desk.labels, row) for row in found])

    async def act(request: Request) -> Response:
        given = await request.json()
        actions = given if isinstance(given, list) else [given]
        if not actions or not all(isinstance(action, dict) for action in actions):
            return _refused("An action, or a list of actions, was expected.")
        return JSONResponse(await desk.act(actions))

    async def pairs(request: Request) -> Response:
        body = await request.body()
        return JSONResponse(await desk.add_pairs_file(body))

    async def open_table(request: Request) -> Response:
        if request.query_params.get("demo") == "1":
            await desk.open_demo()
        else:
            name = request.query_params.get("name", "data.csv")
            await desk.open_upload(name, await request.body())
        return JSONResponse(desk.state())

    async def suggest(request: Request) -> Response:
        body = await request.body()
        given = json.loads(body) if body else {}
        if not isinstance(given, dict):
            return _refused('A question was expected, like {} or {"skip": [3, 7]}.')
        return JSONResponse(await desk.suggest(given.get("skip")))

    async def costs(request: Request) -> Response:
        desk.ask_costs()
        return JSONResponse({"started": True})

    async def export(request: Request) -> Response:
        name = request.path_params["name"]
        content, kind = await desk.export(name)
        saved = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(content, media_type=kind, headers=saved)

    routes = [
        Route("/", page),
        Route("/static/{name}", static),
        Route("/api/state", state),
        Route("/api/events", events),
        Route("/api/places", _safe(places)),
        Route("/api/labels", labels),
        Route("/api/rows", _safe(rows)),
        Route("/api/row", _safe(row)),
        Route("/api/find", _safe(find)),
        Route("/api/act", _safe(act), methods=["POST"]),
        Route("/api/pairs", _safe(pairs), methods=["POST"]),
        Route("/api/open", _safe(open_table), methods=["POST"]),
        Route("/api/suggest", _safe(suggest), methods=["POST"]),
        Route("/api/costs", _safe(costs), methods=["POST"]),
        Route("/api/export/{name}", _safe(export)),
    ]
    return Guard(Starlette(routes=routes), token, hosts)


def _safe(handler: Handler) -> Handler:
    """Turn what was wrong into an answer that says so; nothing crashes."""

    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except RefusedError as refused:
            return JSONResponse(refused.explanation, 409)
        except SMDEClustError as error:
            return _refused(str(error))
        except TooLargeError:
            return _refused("That is more than can be sent at once.", 413)
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            why = "the disk is full" if full else str(error.strerror or error).lower()
            return _refused(f"This could not be saved: {why}. Nothing was changed.", 507)
        except (ValueError, UnicodeDecodeError, RecursionError):
            return _refused("The message could not be read.")

    return answer


def _refused(sentence: str, status: int = 400) -> JSONResponse:
    return JSONResponse({"sentence": sentence}, status)


def _binary(array: np.ndarray) -> Response:
    return Response(array.tobytes(), media_type="application/octet-stream")


def _asset(name: str) -> bytes:
    return files("smdeclust.studio").joinpath("static", name).read_bytes()


async def _stream(desk: Desk) -> AsyncIterator[str]:
    """Events as they come; a line without meaning now and then shows that the server lives."""
    with desk.listening() as queue:
        yield _event("state", desk.state())
        while True:
            try:
                name, data = await asyncio.wait_for(queue.get(), HEARTBEAT)
            except TimeoutError:
                yield ": still here\n\n"
                continue
            yield _event(name, data)


def _event(name: str, data: Any) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"
