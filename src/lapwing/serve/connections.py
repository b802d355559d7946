"""Connections that hold still: bounds on how many there are and on how long each may say nothing.

uvicorn has a time limit for a connection between two requests and none for one that never finishes its first, or that
reads no answer. Here one clock looks at all of them: a connection is closed when it has neither brought a whole
request head nor taken a byte of an answer for `QUIET` seconds. Where there are as many as there may be, the one that
has been quiet longest makes room for the next, so that whoever asks now is answered; a request that the guard has
admitted is never given up for another.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from pathlib import Path
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from lapwing.errors import InputError
from lapwing.serve.guard import ADMITTED, LINGER
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
        same = [other for other in self.all if other.address == one.address]
        if len(same) > self.per_address:
            self._make_room(same, one)
        elif len(self.all) > self.most:
            self._make_room(list(self.all), one)
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
        self._close(min(quiet, key=lambda other: other.since, default=latest), "too many")

    def _close(self, one: Connection, reason: str) -> None:
        self.closed[reason] += 1
        one.transport.abort()
        self.remove(one)  # its descriptor is given back at the next turn of the loop

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for one in list(self.all):
            one.look(now)
            limit = self.longest_answer if one.answering else CLOSING if one.transport.is_closing() else QUIET
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

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        self.look(self.loop.time())
        self.bounds.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.bounds.remove(self)
        super().connection_lost(exc)

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
