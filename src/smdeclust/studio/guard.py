"""Who may talk to the studio: only pages that know the token, from this machine, of this origin."""

import hmac

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Bytes of one request: pairs and tables that people upload.
LARGEST_BODY = 256 * 2**20

HEADERS = {
    "content-security-policy": (
        # Nothing from elsewhere, nothing inline but styles.
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors {frames}"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
}


class Guard:
    """Around the application: the token is the first part of every path, and is taken off here.

    `hosts` are the values of the Host header that are this server (``127.0.0.1:PORT``). Where it is
    `framed`, other pages of this machine that know the token may show the page inside of them.
    """

    def __init__(
        self, app: ASGIApp, token: str, hosts: frozenset[str], *, framed: bool = False
    ) -> None:
        self.app, self.token, self.hosts, self.framed = app, token, hosts, framed
        frames = "http://127.0.0.1:* http://localhost:*" if framed else "'none'"
        self.headers = {name: value.format(frames=frames) for name, value in HEADERS.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # there are no web sockets here
        problem = self._problem(scope)
        if problem is not None:
            status, sentence = problem
            await PlainTextResponse(sentence, status, headers=self.headers)(scope, receive, send)
            return
        inner = {**scope, "root_path": f"/{self.token}"}
        await self.app(inner, _limited(receive), _with_headers(send, self.headers))

    def _problem(self, scope: Scope) -> tuple[int, str] | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "").lower()
        if host not in self.hosts:
            return 421, "This server answers only at its own address."
        foreign = headers.get("origin", f"http://{host}").lower() != f"http://{host}"
        site = headers.get("sec-fetch-site", "none")
        shown = self.framed and headers.get("sec-fetch-dest") == "iframe"
        if foreign or (site not in ("none", "same-origin") and not shown):
            return 403, "Requests from other pages are refused."
        given = scope["path"].split("/")[1] if "/" in scope["path"] else ""
        if not hmac.compare_digest(given.encode(), self.token.encode()):
            return 403, "The token is missing or wrong: use the address that the studio printed."
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > LARGEST_BODY:
            return 413, f"At most {LARGEST_BODY // 2**20} MB can be sent at once."
        return None


class TooLargeError(Exception):
    """A request that sends more than it may."""


def _limited(receive: Receive) -> Receive:
    """`receive` that ends a body without a length where it grows too long."""
    taken = 0

    async def limited() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > LARGEST_BODY:
            raise TooLargeError
        return message

    return limited


def _with_headers(send: Send, headers: dict[str, str]) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = MutableHeaders(scope=message)
            for name, value in headers.items():
                present.setdefault(name, value)
        await send(message)

    return sending
