"""Connections that hold still: bounds on how many there are and on how long each may say nothing.

uvicorn has a time limit for a connection between two requests and none for one that never finishes its first, or that
reads no answer. Here one clock looks at all of them: a connection is closed when it has neither brought a whole
request head nor taken a byte of an answer for `QUIET` seconds. Where there are as many as there may be, the one that
has been quiet longest makes room for the next, so that whoever asks now is answered; a request that the guard has
admitted is never given up for another. Its client may have sent a request that was not read yet: it is told to come
back, and has a while to read that.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from pathlib import Path
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from lapwing.errors import InputError
from lapwing.serve.guard import ADMITTED, HEADERS, LINGER, POLICY, RETRY_AFTER
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
        """Close the one that has been quiet longest; the latest itself only where every other is being worked for."""
        now = latest.loop.time()
        for other in among:
            other.look(now)  # who was busy since the last tick is not quiet
        quiet = [other for other in among if other is not latest and not other.admitted]
        chosen = min(quiet, key=lambda other: other.since, default=latest)
        if chosen.answering or chosen.transport.is_closing():
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


class Connection(H11Protocol):
    """One connection, as uvicorn handles it; `since` is when something last happened on it."""

    bounds: Connections
    since = 0.0
    seen: Any = None
    leaving = False  # it was told to come back; what else it sends is dropped

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        self.look(self.loop.time())
        self.bounds.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.bounds.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self.leaving:
            super().data_received(data)

    def tell(self) -> None:
        """Answer a request that may be on its way, and close when the client has."""
        self.leaving, self.since = True, self.loop.time()
        self.transport.write(COME_BACK)
        if self.transport.can_write_eof():
            self.transport.write_eof()

    @property
    def answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def admitted(self) -> bool:
        return self.answering and ADMITTED in self.cycle.scope

    def look(self, now: float) -> None:
        state = (self.cycle, self.answering, self.transport.is_closing(), self.transport.get_write_buffer_size())
        if state != self.seen:
            self.seen, self.since = state, now


def protocol(bounds: Connections) -> type[Connection]:
    """What uvicorn makes of every connection."""
    return type("Connection", (Connection,), {"bounds": bounds})
