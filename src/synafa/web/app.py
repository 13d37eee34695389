"""A saved model as a small local web page: what is known goes in, what it is now and what to measure next come out.

`GET /` is the page, `GET /api/model` describes the features, `POST /api/next` takes `{observed, unavailable,
remaining}` and answers with an `Answer`. The case stays in the browser; the server keeps nothing, unless it was told
to write an audit line for each decision.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import ipaddress
import json
import math
import re
import socket
import sys
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

from synafa.errors import MissingExtraError, SynafaError
from synafa.web import server
from synafa.web.describe import model_dict
from synafa.web.server import address as address
from synafa.web.server import listen as listen
from synafa.web.server import serve as serve

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

    from synafa.model.answering import Answering
    from synafa.web.audit import AuditLog

LOOPBACK = ("127.0.0.1", "localhost", "::1", "[::1]")
MAX_BODY = 1_000_000  # bytes; a case of thousands of features fits
_FIELDS = ("observed", "unavailable", "remaining")


def create_app(
    asked: Answering, hosts: Sequence[str] = LOOPBACK, *, name: str = "model", log: AuditLog | None = None
) -> Starlette:
    """The application around a model; a request is answered only under one of the names in `hosts` (`"*"`: any).

    Names are checked because a foreign web page could otherwise reach a local server by pointing its own name here.
    `name` is what the page calls the model; `log` gets a line for each decision.
    """
    try:
        from starlette.applications import Starlette
        from starlette.exceptions import HTTPException
        from starlette.middleware import Middleware
        from starlette.middleware.trustedhost import TrustedHostMiddleware
        from starlette.requests import ClientDisconnect
        from starlette.responses import HTMLResponse
        from starlette.routing import Route
    except ImportError as error:
        raise MissingExtraError("starlette", "web") from error
    html = resources.files("synafa.web").joinpath("page.html").read_text(encoding="utf-8")
    headers = {"Content-Security-Policy": _content_policy(html), "Cache-Control": "no-store"}
    model = model_dict(asked, name)

    async def page(request: Request) -> Response:
        return HTMLResponse(html, headers=headers)

    async def describe(request: Request) -> Response:
        return _json(model)

    async def recommend(request: Request) -> Response:
        case = read_case(await _body(request))
        found = asked.next_feature(case["observed"], **_options(case))
        if log is not None:
            log.write(case, found)
        return _json(found.to_dict())

    async def refuse(request: Request, error: Exception) -> Response:
        if isinstance(error, UnfinishedRequestError):  # what is still to come of it must not be taken for a new one
            return _json({"error": str(error)}, error.status, {"Connection": "close"})
        return _json({"error": str(error)}, 400)

    async def leave(request: Request, error: Exception) -> Response:
        return _json({"error": "The client has left."}, 400, {"Connection": "close"})  # nobody reads this

    async def fail(request: Request, error: Exception) -> Response:
        text = " ".join(f"{type(error).__name__}: {error}".split())
        print(f"synafa: {request.method} {request.url.path} failed: {text[:300]}", file=sys.stderr, flush=True)
        return _json({"error": "The server failed at this request; the line on its terminal says why."}, 500)

    async def miss(request: Request, error: Exception) -> Response:
        code = error.status_code if isinstance(error, HTTPException) else 404
        allowed = "the API is GET /api/model and POST /api/next"
        return _json({"error": f"{request.method} {request.url.path} is not served here; {allowed}."}, code)

    return Starlette(
        routes=[
            Route("/", page),
            Route("/api/model", describe),
            Route("/api/next", recommend, methods=["POST"]),
        ],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False)],
        exception_handlers={SynafaError: refuse, HTTPException: miss, ClientDisconnect: leave, Exception: fail},
    )


def read_case(body: bytes) -> dict[str, Any]:
    """The case in a request's body, every field of the right type; anything else is one sentence."""
    try:
        case = json.loads(body)
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError is a ValueError
        raise SynafaError("The request is not JSON; send an object with observed, unavailable, remaining.") from error
    if not isinstance(case, dict):
        raise SynafaError(f"The request must be a JSON object, got: a {type(case).__name__}.")
    for name in case:
        if name not in _FIELDS:
            raise SynafaError(f"Unknown field {name!r}; the fields are: {', '.join(_FIELDS)}.")
    observed, unavailable, remaining = case.get("observed"), case.get("unavailable"), case.get("remaining")
    observed = {} if observed is None else observed
    unavailable = [] if unavailable is None else unavailable
    if not isinstance(observed, dict):
        raise SynafaError("observed must be an object from feature names to values.")
    for name, value in observed.items():
        if value is not None and (
            not isinstance(value, str | int | float) or (not isinstance(value, str) and _number(value) is None)
        ):
            raise SynafaError(f"The value of {name!r} must be a number, a string, or null for no result.")
    if not isinstance(unavailable, list) or not all(isinstance(name, str) for name in unavailable):
        raise SynafaError("unavailable must be a list of feature names.")
    if remaining is not None and (isinstance(remaining, bool) or _number(remaining) is None):
        raise SynafaError(f"remaining must be a number of at least 0, got: {str(remaining)[:40]!r}.")
    return {"observed": observed, "unavailable": unavailable, "remaining": _number(remaining)}


def is_loopback(listener: socket.socket) -> bool:
    """Whether only this machine can reach a listening socket."""
    return ipaddress.ip_address(listener.getsockname()[0]).is_loopback


def _options(case: Mapping[str, Any]) -> dict[str, Any]:
    return {name: case[name] for name in ("unavailable", "remaining")}


def _number(value: Any) -> float | None:
    try:
        return float(value) if isinstance(value, int | float) else None
    except OverflowError:  # an integer of hundreds of digits
        return None


class UnfinishedRequestError(SynafaError):
    """A request that was answered before its end had come."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


async def _body(request: Request) -> bytes:
    body = bytearray()
    try:
        async with asyncio.timeout(server.BODY_SECONDS):
            async for piece in request.stream():
                body += piece
                if len(body) > MAX_BODY:
                    raise UnfinishedRequestError(f"The request is longer than {MAX_BODY:,} bytes; send one case.", 400)
    except TimeoutError:
        raise UnfinishedRequestError(
            f"The request did not arrive within {server.BODY_SECONDS:g} s; send it again.", 408
        ) from None
    return bytes(body)


def _json(value: dict[str, Any], status: int = 200, more: Mapping[str, str] | None = None) -> Response:
    from starlette.responses import Response

    text = json.dumps(_finite(value), ensure_ascii=False, allow_nan=False)
    headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", **(more or {})}
    # A lone surrogate in a name has no UTF-8 form.
    return Response(text.encode("utf-8", "replace"), status, headers, media_type="application/json")


def _finite(value: Any) -> Any:
    """JSON has no infinity: null in its place."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _content_policy(html: str) -> str:
    """Only the page's own script runs, and it talks to this server alone."""
    scripts = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    hashes = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'" for s in scripts)
    own = "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    return f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src {hashes}; {own}"
