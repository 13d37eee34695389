"""The socket side of the local page: small answers leave at once, slow clients are not waited for, an end is an end.

A client has `HEAD_SECONDS` to send the head of a request and `BODY_SECONDS` for the rest; at the end of the server the
requests that are under way have `GRACE_SECONDS`.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import webbrowser
from typing import TYPE_CHECKING, Any

from synafa.errors import MissingExtraError, SynafaError

if TYPE_CHECKING:
    from starlette.applications import Starlette

HEAD_SECONDS = 10.0
BODY_SECONDS = 15.0
GRACE_SECONDS = 2


def serve(app: Starlette, listener: socket.socket, *, open_page: bool = False) -> None:
    """Answer on a listening socket until interrupted."""
    try:
        import uvicorn
    except ImportError as error:
        raise MissingExtraError("uvicorn", "web") from error
    config = uvicorn.Config(
        app,
        log_level="critical",  # the application itself says in one line what went wrong
        access_log=False,
        loop="asyncio",
        http=_protocol(),
        ws="none",
        lifespan="off",
        timeout_keep_alive=30,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    if open_page:  # in a thread of its own: a browser in the terminal would otherwise wait for us and we for it
        threading.Thread(target=webbrowser.open, args=(address(listener),), daemon=True).start()
    uvicorn.Server(config).run(sockets=[listener])


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens on the host and port; 0 takes any free port."""
    if not host.strip():
        raise SynafaError(
            "The address to listen on is empty, which would mean every one; give --host 0.0.0.0 for that."
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except (OSError, OverflowError, TypeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error  # a TypeError tells of a zero character
        raise SynafaError(f"Cannot listen on {host} port {port}: {reason}; choose another --host or --port.") from error


def address(listener: socket.socket) -> str:
    """Where a browser finds a listening socket."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def _protocol() -> type[asyncio.Protocol]:
    """uvicorn's protocol with a time-out for the head of a request, and without Nagle's wait for more to send."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Impatient(H11Protocol):
        _late: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            # asyncio does this itself only for sockets that were made with an explicit protocol number.
            transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._expect_head()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.cycle is not None and not self.cycle.response_complete:
                self._head_is_there()
            else:
                self._expect_head()

        def on_response_complete(self) -> None:
            self._head_is_there()
            super().on_response_complete()

        def connection_lost(self, exc: Exception | None) -> None:
            self._head_is_there()
            super().connection_lost(exc)

        def _expect_head(self) -> None:
            if self._late is None and not self.transport.is_closing():
                self._late = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

        def _head_is_there(self) -> None:
            if self._late is not None:
                self._late.cancel()
                self._late = None

    return Impatient
