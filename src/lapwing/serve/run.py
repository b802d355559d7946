"""Start the server, and stop it without dropping an answer."""

from __future__ import annotations

import signal
import socket
from typing import Any

from lapwing.errors import InputError, MissingExtraError
from lapwing.serve.settings import ServeSettings
from lapwing.serve.store import Store

QUEUE = 256  # connections that the system holds until they are accepted
BURST = 16  # accepted at a time: the event loop takes in several bursts before the first can be counted or closed


def check_installed() -> None:
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            'serving needs FastAPI and uvicorn, which are not installed; pip install "lapwing[serve]"'
        ) from error


def guarded(store: Store, settings: ServeSettings) -> Any:
    """The application with its guard before it."""
    from lapwing.serve.api import create_app
    from lapwing.serve.guard import Guard
    from lapwing.serve.metrics import Metrics

    metrics = Metrics()
    return Guard(create_app(store, settings, metrics), settings, metrics)


class Listener(socket.socket):
    """asyncio has one number for the queue of the system and for how many it accepts at a time; here they are two."""

    def listen(self, backlog: int = QUEUE) -> None:
        super().listen(QUEUE)


def listen(settings: ServeSettings) -> socket.socket:
    """A listening socket, so that what was asked for is known to be free before models are loaded."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # The protocol is named: asyncio switches Nagle's algorithm off only where it is, and answers wait 40 ms with it on.
    listener = Listener(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        raise InputError(f"cannot listen on {settings.host} port {settings.port}: {error.strerror or error}") from error
    return listener


def serve(store: Store, settings: ServeSettings, listener: socket.socket) -> None:
    """The REST interface and the page of these models."""
    serve_app(guarded(store, settings), settings, listener)


def serve_labelling(session: Any, settings: ServeSettings, listener: socket.socket) -> None:
    """The page for labelling."""
    from lapwing.serve.guard import Guard
    from lapwing.serve.label import create_label_app

    serve_app(Guard(create_label_app(session), settings), settings, listener)


def serve_app(app: Any, settings: ServeSettings, listener: socket.socket) -> None:
    """Answer until SIGINT or SIGTERM; requests under way are finished, within `grace` seconds."""
    import uvicorn

    from lapwing.serve.connections import LEAVING, Connections, most_connections, noted

    connections = Connections(most_connections(settings, 8 * BURST + LEAVING), settings.timeout)
    config = uvicorn.Config(
        noted(app),
        http="h11",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        timeout_keep_alive=15,
        timeout_graceful_shutdown=max(1, round(settings.grace)),
        backlog=BURST,
    )
    config.load()
    config.http_protocol_class = connections.protocol(config.http_protocol_class)  # type: ignore[assignment]
    # uvicorn hands a signal on when it is done: a stop that was asked for is no failure.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    uvicorn.Server(config).run(sockets=[listener])
