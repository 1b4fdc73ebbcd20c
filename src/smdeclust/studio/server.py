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
POST api/suggest      the pair to ask next, or (``{"by": "label"}``) a point and one of each
                      cluster; ``skip`` lists pairs that nobody knows
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
from starlette.exceptions import HTTPException
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

# A handler's answer is a response, or plain data that becomes one.
Handler = Callable[[Request], Awaitable[Any]]


def make_app(desk: Desk, token: str, hosts: frozenset[str]) -> Guard:
    """The application around a desk."""
    routes = [Route("/", _page), Route("/static/{name}", _static)]

    def api(path: str, method: str = "GET") -> Callable[[Handler], Handler]:
        """Declare what answers at a path."""

        def declare(handler: Handler) -> Handler:
            routes.append(Route(f"/api/{path}", _answering(handler), methods=[method]))
            return handler

        return declare

    def row_of(request: Request) -> int:
        text = request.query_params.get("row", "")
        if not text.isdigit() or int(text) >= len(desk.need_table()):
            raise HTTPException(404, "There is no such row.")
        return int(text)

    @api("state")
    async def state(request: Request) -> Any:
        return desk.state()

    @api("events")
    async def events(request: Request) -> Any:
        return StreamingResponse(_stream(desk), media_type="text/event-stream")

    @api("places")
    async def places(request: Request) -> Any:
        table = desk.need_table()
        query = request.query_params
        kind, x, y = query.get("kind", "pca"), query.get("x", ""), query.get("y", "")
        if kind not in ("pca", "pairs", "columns", "map"):
            raise HTTPException(400, "kind must be pca, pairs, map or columns.")
        if kind == "columns" and not {x, y} <= set(table.frame.columns):
            raise HTTPException(400, "x and y must be columns of the table.")
        if kind == "map":
            found, axes = await desk.map(), [{"hidden": True}, {"hidden": True}]
        else:
            found, axes = await asyncio.to_thread(view.places, table, desk.wishes, kind, x, y)
        return _binary(found.T.astype("<f4"), {"x-axes": json.dumps(axes)})

    @api("labels")
    async def labels(request: Request) -> Any:
        if desk.labels is None:
            raise HTTPException(404, "There are no clusters yet.")
        return _binary(desk.labels.astype("<i4"))

    @api("rows")
    async def rows(request: Request) -> Any:
        table, query = desk.need_table(), request.query_params
        cluster, start = query.get("cluster"), query.get("start", "0")
        if not start.isdigit() or (cluster is not None and not cluster.isdigit()):
            raise HTTPException(400, "start and cluster must be whole numbers.")
        found = np.zeros(len(table), np.int64) if desk.labels is None else desk.labels
        chosen = None if cluster is None else int(cluster)
        order = query.get("sort", ""), query.get("descending") == "1"
        return view.table_page(table, found, *order, chosen, int(start))

    @api("row")
    async def row(request: Request) -> Any:
        return view.describe_row(desk.need_table(), desk.labels, row_of(request))

    @api("find")
    async def find(request: Request) -> Any:
        table, text = desk.need_table(), request.query_params.get("text", "")
        found = view.find_rows(table, text) if text else []
        return [view.describe_row(table, desk.labels, row) for row in found]

    @api("why")
    async def why(request: Request) -> Any:
        return await desk.why(row_of(request))

    @api("picture")
    async def picture(request: Request) -> Any:
        table, column = desk.need_table(), request.query_params.get("column", "")
        content = None
        if column in table.picture_columns:
            word = table.row(row_of(request))[table.columns.index(column)]
            path = table.picture_path(str(word))
            content = None if path is None else await asyncio.to_thread(thumbnail, path)
        if content is None:
            raise HTTPException(404, "There is no such picture.")
        kept = {"cache-control": "private, max-age=600"}
        return Response(content, media_type="image/png", headers=kept)

    @api("act", "POST")
    async def act(request: Request) -> Any:
        given = await request.json()
        actions = given if isinstance(given, list) else [given]
        if not actions or not all(isinstance(action, dict) for action in actions):
            raise HTTPException(400, "An action, or a list of actions, was expected.")
        return await desk.act(actions)

    @api("pairs", "POST")
    async def pairs(request: Request) -> Any:
        return await desk.add_pairs_file(await request.body())

    @api("open", "POST")
    async def open_table(request: Request) -> Any:
        query = request.query_params
        if query.get("demo") == "1":
            await desk.open_demo()
        elif "path" in query:
            await desk.open_path(query["path"], query.get("sheet") or None)
        else:
            await desk.open_upload(query.get("name", "data.csv"), await request.body())
        return desk.state()

    @api("suggest", "POST")
    async def suggest(request: Request) -> Any:
        given = json.loads(await request.body() or b"{}")
        if not isinstance(given, dict):
            raise HTTPException(400, 'Expected {}, or for example {"by": "label"}.')
        return await desk.suggest(given.get("by") == "label", given.get("skip", ()))

    @api("stop", "POST")
    async def stop(request: Request) -> Any:
        desk.stop()
        return {"stopped": True}

    @api("choose-k", "POST")
    async def choose_k(request: Request) -> Any:
        return await desk.choose_k()

    @api("costs", "POST")
    async def costs(request: Request) -> Any:
        desk.ask_costs()
        return {"started": True}

    @api("export/{name}")
    async def export(request: Request) -> Any:
        name = request.path_params["name"]
        content, kind = await desk.export(name)
        saved = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(content, media_type=kind, headers=saved)

    return Guard(Starlette(routes=routes), token, hosts)


def _answering(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """Turn what a handler gives, and what was wrong, into an answer; nothing crashes."""

    async def answer(request: Request) -> Response:
        try:
            found = await handler(request)
            return found if isinstance(found, Response) else JSONResponse(found)
        except RefusedError as refused:
            return JSONResponse(refused.explanation, 409)
        except HTTPException as error:
            return _refused(error.detail, error.status_code)
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


def _page(request: Request) -> Response:
    return Response(_asset("index.html"), media_type="text/html; charset=utf-8")


def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in STATIC:
        return PlainTextResponse("There is no such file.", 404)
    return Response(_asset(name), media_type=STATIC[name] + "; charset=utf-8")


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
