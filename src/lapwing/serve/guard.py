"""What stands before the application: who may ask, how much, how many at a time, and a line in the log for each.

A plain ASGI application around another: requests are refused from their headers alone, before a byte of their body
is read.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import json
import logging
import time
import uuid
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

from lapwing.serve.metrics import Metrics
from lapwing.serve.settings import ServeSettings

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

log = logging.getLogger("lapwing.serve")
RETRY_AFTER = "1"
SMALL = 65536  # bytes of a body that is refused unread, and yet not worth a new connection
LINGER = 5.0  # seconds in which the rest of a body that was refused is read and dropped, before the connection closes
LINGERING = "lapwing.lingering"  # in the scope of a request that was refused, while the rest of its body is dropped
OPEN = ("/health",)  # answered whatever the load, and without a token

HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]
POLICY = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")


class _Refused(Exception):
    def __init__(self, status: int, error: str, headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
        self.status, self.error, self.headers = status, error, headers


class Guard:
    """Bounds on everything a client can do to `app`."""

    def __init__(self, app: App, settings: ServeSettings, metrics: Metrics | None = None) -> None:
        self.app, self.settings, self.metrics = app, settings, metrics or Metrics()
        self.admitted = 0
        self.refused = 0
        self.token = None if settings.token is None else settings.token.encode()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        exchange = _Exchange(scope, receive, send, self.settings.max_body)
        try:
            self._check(scope["path"], exchange.headers)
            if scope["path"] in OPEN:
                await self.app(scope, exchange.receive, exchange.send)
            else:
                await self._admitted(scope, exchange)
            if exchange.refusal is not None:
                raise exchange.refusal
        except _Refused as refusal:
            await exchange.refuse(refusal)
        except Exception as error:  # a fault of ours: the client learns no more than that
            log.exception("failure", extra={"id": exchange.id, "error": type(error).__name__})
            await exchange.refuse(_Refused(500, "something went wrong here; the log has it under this id"))
        finally:
            self.metrics.answered(scope["path"], exchange.status, time.perf_counter() - exchange.began)
            exchange.log()

    def _check(self, path: str, headers: dict[bytes, bytes]) -> None:
        """What can be told from the head of a request."""
        host = headers.get(b"host", b"").decode("latin-1")
        if not self.settings.admits(host):
            raise _Refused(400, "the Host header names a host that this server is not")
        if self.token is not None and path not in OPEN and not _shows(self.token, headers.get(b"authorization", b"")):
            raise _Refused(
                401, "a token is needed", ((b"www-authenticate", b'Basic realm="lapwing", charset="UTF-8"'),)
            )
        length = headers.get(b"content-length", b"0")
        if not length.isdigit():
            raise _Refused(400, "Content-Length is not a number")
        if len(length) > 18 or int(length) > self.settings.max_body:
            raise _too_large(self.settings.max_body)

    async def _admitted(self, scope: Message, exchange: _Exchange) -> None:
        if self.admitted >= self.settings.concurrency:
            self.refused += 1
            raise _Refused(503, "too many requests at a time; try again", ((b"retry-after", RETRY_AFTER.encode()),))
        self.admitted += 1
        self.metrics.admitted = self.admitted
        try:
            async with asyncio.timeout(self.settings.timeout):
                await self.app(scope, exchange.receive, exchange.send)
        except TimeoutError:
            raise _Refused(504, f"not done within {self.settings.timeout:g} seconds; send less at a time") from None
        finally:
            self.admitted -= 1
            self.metrics.admitted = self.admitted


def _too_large(limit: int) -> _Refused:
    return _Refused(413, f"a request may have {limit} bytes; send less at a time")


def _shows(token: bytes, given: bytes) -> bool:
    """Bearer, or Basic with the token as the password, which browsers ask for by themselves."""
    kind, _, content = given.partition(b" ")
    if kind.lower() == b"basic":
        try:
            content = base64.b64decode(content, validate=True).partition(b":")[2]
        except (binascii.Error, ValueError):
            return False
    elif kind.lower() != b"bearer":
        return False
    return hmac.compare_digest(content.strip(), token)


class _Exchange:
    """One request and its answer."""

    def __init__(self, scope: Message, receive: Receive, send: Send, max_body: int) -> None:
        self.scope, self._receive, self._send, self.max_body = scope, receive, send, max_body
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self.id = uuid.uuid4().hex[:16]
        self.began = time.perf_counter()
        self.status = 0
        self.received = self.sent = 0
        self.refusal: _Refused | None = None  # once set, what the application answers is dropped

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self.received += len(message.get("body", b""))
            if self.received > self.max_body:
                self.refusal = _too_large(self.max_body)
                raise self.refusal
        return message

    async def send(self, message: Message) -> None:
        if self.refusal is not None:
            return
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = list(message.get("headers", []))
            if not any(name == POLICY[0] for name, _ in headers):
                headers.append(POLICY)
            message = {**message, "headers": [*headers, *HEADERS, (b"x-request-id", self.id.encode())]}
        else:
            self.sent += len(message.get("body", b""))
        await self._send(message)

    async def refuse(self, refusal: _Refused) -> None:
        self.refusal = None
        if self.status:  # too late: the answer has begun
            return
        body = json.dumps({"error": refusal.error}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        length = self.headers.get(b"content-length", b"0")
        large = b"transfer-encoding" in self.headers or not length.isdigit() or len(length) > 9 or int(length) > SMALL
        if large:
            headers.append((b"connection", b"close"))
        await self.send(
            {"type": "http.response.start", "status": refusal.status, "headers": [*headers, *refusal.headers]}
        )
        await self.send({"type": "http.response.body", "body": body, "more_body": large})
        if large:
            await self._drop_rest()
            await self.send({"type": "http.response.body", "body": b""})

    async def _drop_rest(self) -> None:
        """Read on for a while: a client that is still sending when its connection closes never sees the answer."""
        self.scope[LINGERING] = True
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER):
                while (message := await self._receive())["type"] == "http.request" and message.get("more_body"):
                    pass

    def log(self) -> None:
        if not log.isEnabledFor(logging.INFO):
            return
        client = self.scope.get("client")
        about = {
            "id": self.id,
            "method": self.scope["method"],
            "path": self.scope["path"],
            "status": self.status,
            "ms": round(1000 * (time.perf_counter() - self.began), 2),
            "received": self.received,
            "sent": self.sent,
            "client": client[0] if client else None,
        }
        log.info("request", extra=about)
