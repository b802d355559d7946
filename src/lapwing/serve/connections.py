"""Connections: limits on how many there are and on how long each may send nothing.

uvicorn has a time limit for a connection between two requests and none for one that never finishes its first, or that
reads no answer. Here one clock looks at all of them: a connection is closed when it has neither brought a whole
request head nor taken a byte of an answer for `QUIET` seconds. At the largest number of connections, the one that has
been quiet longest makes room for the next, so that whoever asks now is answered; a request that has no answer yet is
never given up for another. The client of a quiet connection may have sent a request that was not read yet: it is told
to come back, and has a while to read that.

uvicorn's own protocol does the work: `Connection` passes on what comes, and is in the `state` of every request's scope.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lapwing.errors import InputError
from lapwing.serve.guard import HEADERS, LINGER, LINGERING, POLICY, RETRY_AFTER, App, Message, Receive, Send
from lapwing.serve.settings import ServeSettings

try:
    import resource
except ImportError:  # there is none on Windows
    resource = None  # type: ignore[assignment]

log = logging.getLogger("lapwing.serve")

QUIET = 15.0  # seconds without a whole request head, or without a byte of the answer being taken
CLOSING = 5.0  # the same for a connection that is being closed
TICK = 1.0
FEWEST = 8  # connections that a server must be able to hold
OTHER_FILES = 32  # descriptors kept for models, logs and the like
LEAVING = 64  # connections beyond the limit that were told to come back, and are not closed yet
STATE = "lapwing.connection"  # in the state of a scope
_BODY = b'{"error": "too many connections; try again"}'
COME_BACK = b"\r\n".join(
    (
        b"HTTP/1.1 503 Service Unavailable",
        b"content-type: application/json",
        b"content-length: %d" % len(_BODY),
        b"retry-after: " + RETRY_AFTER.encode(),
        b"connection: close",
        *(b"%s: %s" % header for header in (*HEADERS, POLICY)),
        b"",
        _BODY,
    )
)


def most_connections(settings: ServeSettings, spare: int) -> int:
    """As many as the settings allow and the limit on descriptors, of which new connections need `spare`."""
    if resource is None:
        return settings.max_connections
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return settings.max_connections
    free = limit - _open_files() - OTHER_FILES - spare
    if free < FEWEST:
        raise InputError(f"a limit of {limit} open files leaves room for {max(free, 0)} connections; raise `ulimit -n`")
    return min(settings.max_connections, free)


def _open_files() -> int:
    listing = Path("/proc/self/fd")
    return sum(1 for _ in listing.iterdir()) if listing.is_dir() else 64


class Connections:
    """All connections of a server, the longest quiet first among equals."""

    def __init__(self, most: int, timeout: float) -> None:
        self.most = most
        self.per_address = max(most // 2, 1)
        self.longest_answer = timeout + LINGER + CLOSING
        self.all: dict[Connection, None] = {}
        self.closed: Counter[str] = Counter()
        self.clock: asyncio.TimerHandle | None = None

    def add(self, one: Connection) -> None:
        self.all[one] = None
        held = [other for other in self.all if not other.leaving]
        same = [other for other in held if other.address == one.address]
        if len(same) > self.per_address:
            self._make_room(same, one)
        elif len(held) > self.most:
            self._make_room(held, one)
        if len(self.all) > self.most + LEAVING:
            self._close(next(other for other in self.all if other.leaving), "too many")
        if self.clock is None:
            self.clock = one.loop.call_later(TICK, self._tick, one.loop)

    def remove(self, one: Connection) -> None:
        self.all.pop(one, None)

    def _make_room(self, among: list[Connection], latest: Connection) -> None:
        """Close the one that has been quiet longest; the latest itself only where every other waits for an answer."""
        now = latest.loop.time()
        for other in among:
            other.look(now)  # who was busy since the last tick is not quiet
        quiet = [other for other in among if other is not latest and (other.lingering or not other.answering)]
        chosen = min(quiet, key=lambda other: other.since, default=latest)
        if chosen.lingering or chosen.transport.is_closing():
            self._close(chosen, "too many")
        else:
            self.closed["told to come back"] += 1
            chosen.tell()

    def _close(self, one: Connection, reason: str) -> None:
        self.closed[reason] += 1
        one.transport.abort()
        self.remove(one)  # its descriptor is given back at the next turn of the loop

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for one in list(self.all):
            one.look(now)
            closing = one.leaving or one.transport.is_closing()
            limit = self.longest_answer if one.answering else CLOSING if closing else QUIET
            if now - one.since > limit:
                self._close(one, "silent")
        if self.closed:
            log.warning("connections closed", extra={"reasons": dict(self.closed), "open": len(self.all)})
            self.closed.clear()
        self.clock = loop.call_later(TICK, self._tick, loop) if self.all else None

    def protocol(self, inner: Callable[..., asyncio.Protocol]) -> Callable[..., Connection]:
        """What makes the protocol of every connection, from uvicorn's own."""
        return lambda **given: Connection(self, inner, **given)


class Connection(asyncio.Protocol):
    """One connection; `since` is when something last happened on it."""

    def __init__(self, bounds: Connections, inner: Callable[..., Any], app_state: dict[str, Any], **given: Any) -> None:
        self.bounds, self.inner = bounds, inner(app_state={**app_state, STATE: self}, **given)
        self.loop = asyncio.get_running_loop()
        self.scope: Message | None = None  # of the request being answered
        self.requests = 0
        self.since = 0.0
        self.seen: tuple[int, ...] = ()
        self.leaving = False  # it was told to come back; what else it sends is dropped

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport = transport
        address = transport.get_extra_info("peername")
        self.address = address[0] if isinstance(address, tuple) else ""
        self.inner.connection_made(transport)
        self.look(self.loop.time())
        self.bounds.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        self.bounds.remove(self)
        self.inner.connection_lost(error)

    def data_received(self, data: bytes) -> None:
        if not self.leaving:
            self.inner.data_received(data)

    def eof_received(self) -> Any:
        return self.inner.eof_received()

    def pause_writing(self) -> None:
        self.inner.pause_writing()

    def resume_writing(self) -> None:
        self.inner.resume_writing()

    def tell(self) -> None:
        """Answer a request that may be on its way, and close when the client has."""
        self.leaving, self.since = True, self.loop.time()
        self.transport.write(COME_BACK)
        if self.transport.can_write_eof():
            self.transport.write_eof()

    @property
    def answering(self) -> bool:
        return self.scope is not None

    @property
    def lingering(self) -> bool:
        """Whether the request was refused, and the rest of its body is dropped."""
        return self.scope is not None and LINGERING in self.scope

    def look(self, now: float) -> None:
        state = (self.requests, self.answering, self.transport.is_closing(), self.transport.get_write_buffer_size())
        if state != self.seen:
            self.seen, self.since = state, now


def noted(app: App) -> App:
    """The application, with its requests noted at their connections."""

    async def call(scope: Message, receive: Receive, send: Send) -> None:
        one: Connection | None = scope.get("state", {}).pop(STATE, None)
        if one is None:
            return await app(scope, receive, send)
        if one.leaving:  # its head was read, and it was not begun: the client has its answer
            while (await receive())["type"] != "http.disconnect":
                pass
            return None
        one.scope, one.requests = scope, one.requests + 1
        try:
            return await app(scope, receive, send)
        finally:
            if one.scope is scope:  # and not of a request that was sent on its heels
                one.scope = None

    return call
