"""The studio's JSON interface and its push channel (server-sent events). Documented in docs/studio.

Everything below one path that begins with the token (see `guard`):

====================  ==============================================================================
GET  api/state        all that the page shows but places, labels and rows
GET  api/events       the push channel: ``state``, ``solution``, ``progress``, ``proof``, ``costs``
GET  api/places       float32 x of all points, then y (``kind=pca|pairs|map|columns``, ``x=``,
                      ``y=``); the header ``x-axes`` says what the axes are
GET  api/labels       int32 cluster of every point
GET  api/rows         a page of the table (``sort=``, ``descending=``, ``cluster=``, ``start=``)
GET  api/row          one point (``row=``)
GET  api/find         rows by id or text (``text=``)
GET  api/why          why a point is in its cluster (``row=``)
GET  api/picture      a thumbnail (``row=``, ``column=``), of pictures in the table's folder only
POST api/act          one action or a list of them; 409 with an explanation where it cannot be
POST api/pairs        a pairs file, in any format that ``smdeclust`` reads
POST api/open         a table (``name=``), one on this computer (``path=``, ``sheet=``), or the
                      demo data (``demo=1``)
POST api/stop         end the search with the best clusters so far
POST api/choose-k     which number of clusters suits
POST api/suggest      the pair to ask next
POST api/costs        what each pair costs (the answer comes by the push channel)
GET  api/export/NAME  table.csv, table.xlsx, labels.csv, pairs.csv, settings.json, recipe.py,
                      notebook.ipynb, report.html
====================  ==============================================================================
"""

from __future__ import annotations

import asyncio
import errno
import io
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from smdeclust.exceptions import SMDEClustError
from smdeclust.extras import optional
from smdeclust.studio import view
from smdeclust.studio.desk import Desk, RefusedError
from smdeclust.studio.guard import Guard, TooLargeError

STATIC = {
    **dict.fromkeys(
        ("app.js", "cards.js", "looks.js", "marks.js", "panels.js", "picture.js", "service.js"),
        "text/javascript",
    ),
    "style.css": "text/css",
}
THUMBNAIL = 320
PICTURE_KINDS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
HEARTBEAT = 15.0

Handler = Callable[[Request], Awaitable[Response]]


def make_app(desk: Desk, token: str, hosts: frozenset[str]) -> Guard:
    """The application around a desk."""

    def page(request: Request) -> Response:
        return Response(_asset("index.html"), media_type="text/html; charset=utf-8")

    def static(request: Request) -> Response:
        name = request.path_params["name"]
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
        if kind not in ("pca", "pairs", "columns", "map"):
            return _refused("kind must be pca, pairs, map or columns.")
        if kind == "columns" and not {x, y} <= set(table.frame.columns):
            return _refused("x and y must be columns of the table.")
        if kind == "map":
            found, axes = await desk.map(), [{"hidden": True}, {"hidden": True}]
        else:
            found, axes = await asyncio.to_thread(view.places, table, desk.wishes, kind, x, y)
        return _binary(found.T.astype("<f4"), {"x-axes": json.dumps(axes)})

    async def labels(request: Request) -> Response:
        if desk.labels is None:
            return _refused("There are no clusters yet.", 404)
        return _binary(desk.labels.astype("<i4"))

    async def rows(request: Request) -> Response:
        table, query = desk.need_table(), request.query_params
        cluster, start = query.get("cluster"), query.get("start", "0")
        if not start.isdigit() or (cluster is not None and not cluster.isdigit()):
            return _refused("start and cluster must be whole numbers.")
        found = np.zeros(len(table), np.int64) if desk.labels is None else desk.labels
        chosen = None if cluster is None else int(cluster)
        down = query.get("descending") == "1"
        sort = query.get("sort", "")
        return JSONResponse(view.table_page(table, found, sort, down, chosen, int(start)))

    async def row(request: Request) -> Response:
        table, text = desk.need_table(), request.query_params.get("row", "")
        if not text.isdigit() or int(text) >= len(table):
            return _refused("There is no such row.", 404)
        return JSONResponse(view.describe_row(table, desk.labels, int(text)))

    async def find(request: Request) -> Response:
        table, text = desk.need_table(), request.query_params.get("text", "")
        found = view.find_rows(table, text) if text else []
        return JSONResponse([view.describe_row(table, desk.labels, row) for row in found])

    async def why(request: Request) -> Response:
        table, text = desk.need_table(), request.query_params.get("row", "")
        if not text.isdigit() or int(text) >= len(table):
            return _refused("There is no such row.", 404)
        return JSONResponse(await desk.why(int(text)))

    async def picture(request: Request) -> Response:
        table, query = desk.need_table(), request.query_params
        text, column = query.get("row", ""), query.get("column", "")
        if not text.isdigit() or int(text) >= len(table) or column not in table.picture_columns:
            return _refused("There is no such picture.", 404)
        path = table.picture_path(str(table.row(int(text))[table.columns.index(column)]))
        content = None if path is None else await asyncio.to_thread(thumbnail, path)
        if content is None:
            return _refused("There is no such picture.", 404)
        kept = {"cache-control": "private, max-age=600"}
        return Response(content, media_type="image/png", headers=kept)

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
        elif "path" in request.query_params:
            query = request.query_params
            await desk.open_path(query["path"], query.get("sheet") or None)
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

    async def stop(request: Request) -> Response:
        desk.stop()
        return JSONResponse({"stopped": True})

    async def choose_k(request: Request) -> Response:
        return JSONResponse(await desk.choose_k())

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
        Route("/api/why", _safe(why)),
        Route("/api/picture", _safe(picture)),
        Route("/api/act", _safe(act), methods=["POST"]),
        Route("/api/pairs", _safe(pairs), methods=["POST"]),
        Route("/api/open", _safe(open_table), methods=["POST"]),
        Route("/api/suggest", _safe(suggest), methods=["POST"]),
        Route("/api/stop", _safe(stop), methods=["POST"]),
        Route("/api/choose-k", _safe(choose_k), methods=["POST"]),
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


def _binary(array: np.ndarray, headers: dict[str, str] | None = None) -> Response:
    return Response(array.tobytes(), headers=headers, media_type="application/octet-stream")


def thumbnail(path: Path) -> bytes | None:
    """A small PNG of a picture; None where it cannot be read as one."""
    with optional("Pictures"):
        from PIL import Image
    try:
        with Image.open(path, formats=PICTURE_KINDS) as image:
            image.thumbnail((THUMBNAIL, THUMBNAIL))
            out = io.BytesIO()
            image.convert("RGBA" if "A" in image.getbands() else "RGB").save(out, "PNG")
            return out.getvalue()
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None


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
