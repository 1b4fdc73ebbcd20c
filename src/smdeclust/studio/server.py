"""The studio's server on this machine: the page, its JSON interface and its push channel.

The interface is documented in docs/architecture.md. Everything is below one path that begins with
the token (see `guard`).
"""

import asyncio
import errno
import inspect
import io
import json
import secrets
import socket
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
from smdeclust.studio import opening, view
from smdeclust.studio.desk import Desk, RefusedError
from smdeclust.studio.guard import Guard, TooLargeError

STATIC = {
    **dict.fromkeys(
        ("app.js", "cards.js", "looks.js", "marks.js", "panels.js", "picture.js", "service.js"),
        "text/javascript",
    ),
    "style.css": "text/css",
}
ADDRESS = "127.0.0.1"
THUMBNAIL = 320
PICTURE_KINDS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
HEARTBEAT = 15.0

# A handler gives a response, or plain data that becomes one, at once or in a while.
Handler = Callable[[Request], Any]


class Serving:
    """A desk at `url` on this machine, token included; where `framed`, a notebook may show it."""

    def __init__(self, desk: Desk, port: int = 0, *, framed: bool = False) -> None:
        with optional("The studio"):
            import uvicorn

        self.desk, self._listener = desk, socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind((ADDRESS, port))
        self._listener.listen(128)  # early requests wait until the server is up
        port = self._listener.getsockname()[1]
        token = secrets.token_urlsafe(24)
        hosts = frozenset({f"{ADDRESS}:{port}", f"localhost:{port}"})
        app = make_app(desk, token, hosts, framed=framed)
        self._server = uvicorn.Server(
            uvicorn.Config(app, log_level="warning", lifespan="off", timeout_graceful_shutdown=1)
        )
        self.url = f"http://{ADDRESS}:{port}/{token}/"

    def run(self) -> None:
        """Serve until interrupted or stopped."""

        async def run() -> None:
            self.desk.start()
            await self._server.serve(sockets=[self._listener])

        try:
            asyncio.run(run())
        finally:
            self.desk.close()
            self._listener.close()

    def stop(self) -> None:
        """End `run`, from another thread."""
        self._server.should_exit = True


def make_app(desk: Desk, token: str, hosts: frozenset[str], *, framed: bool = False) -> Guard:
    """The application around a desk."""

    def row_of(request: Request) -> int:
        text = request.query_params.get("row", "")
        if not text.isdigit() or int(text) >= len(desk.need_table()):
            raise HTTPException(404, "There is no such row.")
        return int(text)

    def described(*rows: int) -> list[dict[str, Any]]:
        return [view.describe_row(desk.need_table(), desk.labels, row) for row in rows]

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

    def labels(request: Request) -> Any:
        if desk.labels is None:
            raise HTTPException(404, "There are no clusters yet.")
        return _binary(desk.labels.astype("<i4"))

    def rows(request: Request) -> Any:
        table, query = desk.need_table(), request.query_params
        cluster, start = query.get("cluster"), query.get("start", "0")
        if not start.isdigit() or (cluster is not None and not cluster.isdigit()):
            raise HTTPException(400, "start and cluster must be whole numbers.")
        found = np.zeros(len(table), np.int64) if desk.labels is None else desk.labels
        chosen = None if cluster is None else int(cluster)
        order = query.get("sort", ""), query.get("descending") == "1"
        return view.table_page(table, found, *order, chosen, int(start))

    def find(request: Request) -> Any:
        table, text = desk.need_table(), request.query_params.get("text", "")
        return described(*(view.find_rows(table, text) if text else ()))

    async def picture(request: Request) -> Any:
        table, column = desk.need_table(), request.query_params.get("column", "")
        content = None
        if column in table.picture_columns:
            word = table.row(row_of(request))[table.columns.index(column)]
            path = table.picture_path(str(word))
            content = None if path is None else await asyncio.to_thread(thumbnail, path)
        if content is None:
            raise HTTPException(404, "There is no such image.")
        kept = {"cache-control": "private, max-age=600"}
        return Response(content, media_type="image/png", headers=kept)

    async def act(request: Request) -> Any:
        given = await request.json()
        actions = given if isinstance(given, list) else [given]
        if not actions or not all(isinstance(action, dict) for action in actions):
            raise HTTPException(400, "An action, or a list of actions, was expected.")
        return await desk.act(actions)

    async def pairs(request: Request) -> Any:
        return await desk.add_pairs_file(await request.body())

    async def open_table(request: Request) -> Any:
        query = request.query_params
        if query.get("demo") == "1":
            return await desk.open_with(opening.demo, desk.start_folder)
        if "path" in query:
            given = query["path"], query.get("sheet") or None
            return await desk.open_with(opening.from_words, *given)
        if "sheet" in query:
            return await desk.open_with(opening.from_page, *desk.workbook, query["sheet"])
        sent = query.get("name", "data.csv"), await request.body()
        return await desk.open_with(opening.from_upload, *sent, desk.start_folder)

    async def suggest(request: Request) -> Any:
        given = json.loads(await request.body() or b"{}")
        if not isinstance(given, dict):
            raise HTTPException(400, 'Expected {}, or for example {"by": "label"}.')
        return await desk.suggest(given.get("by") == "label", given.get("skip", ()))

    async def export(request: Request) -> Any:
        name = request.path_params["name"]
        content, kind = await desk.export(name)
        saved = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(content, media_type=kind, headers=saved)

    handlers: dict[str, dict[str, Handler]] = {
        "GET": {
            "state": lambda request: desk.state(),
            "events": lambda request: StreamingResponse(
                _stream(desk), media_type="text/event-stream"
            ),
            "places": places,
            "labels": labels,
            "rows": rows,
            "row": lambda request: described(row_of(request))[0],
            "find": find,
            "why": lambda request: desk.why(row_of(request)),
            "picture": picture,
            "export/{name}": export,
        },
        "POST": {
            "act": act,
            "pairs": pairs,
            "open": open_table,
            "suggest": suggest,
            "stop": lambda request: desk.stop(),
            "choose-k": lambda request: desk.ask("helper", "choose_k", desk.wishes),
            "costs": lambda request: desk.ask_costs(),
        },
    }
    routes = [Route("/", _static), Route("/static/{name}", _static)]
    routes += [
        Route(f"/api/{path}", _answering(handler), methods=[method])
        for method, by_path in handlers.items()
        for path, handler in by_path.items()
    ]
    return Guard(Starlette(routes=routes), token, hosts, framed=framed)


def _answering(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """Turn what a handler gives, and what was wrong, into an answer; nothing crashes."""

    async def answer(request: Request) -> Response:
        try:
            found = handler(request)
            found = await found if inspect.isawaitable(found) else found
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


def _static(request: Request) -> Response:
    name = request.path_params.get("name")
    if name is not None and name not in STATIC:
        return PlainTextResponse("There is no such file.", 404)
    content = files("smdeclust.studio").joinpath("static", name or "index.html").read_bytes()
    kind = "text/html" if name is None else STATIC[name]
    return Response(content, media_type=f"{kind}; charset=utf-8")


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
