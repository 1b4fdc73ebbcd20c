"""Start the studio: a server on this machine alone, and the browser in front of it."""

from __future__ import annotations

import asyncio
import secrets
import socket
import webbrowser
from collections.abc import Callable

from smdeclust.extras import optional
from smdeclust.studio.desk import Desk

ADDRESS = "127.0.0.1"


def serve(
    desk: Desk, *, port: int = 0, open_browser: bool = True, announce: Callable[[str], None] = print
) -> None:
    """Serve until interrupted.

    Parameters
    ----------
    desk
        What is worked on.
    port
        0: any that is free.
    open_browser
        Whether to open the page.
    announce
        Called with the address, token included.
    """
    with optional("The studio"):
        import uvicorn

        from smdeclust.studio.server import make_app

    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((ADDRESS, port))
    listener.listen(128)  # whoever comes before the server is up waits, and is not refused
    port = listener.getsockname()[1]
    token = secrets.token_urlsafe(24)
    hosts = frozenset({f"{ADDRESS}:{port}", f"localhost:{port}"})
    app = make_app(desk, token, hosts)
    config = uvicorn.Config(app, log_level="warning", lifespan="off", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    url = f"http://{ADDRESS}:{port}/{token}/"

    async def run() -> None:
        desk.start()
        announce(url)
        if open_browser:
            webbrowser.open(url)
        await server.serve(sockets=[listener])

    try:
        asyncio.run(run())
    finally:
        desk.close()
        listener.close()
