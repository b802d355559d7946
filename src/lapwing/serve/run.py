"""Start the server, and stop it without dropping an answer."""

from __future__ import annotations

import signal
import socket
from typing import Any

from lapwing.errors import InputError, MissingExtraError
from lapwing.serve.settings import ServeSettings
from lapwing.serve.store import Store

MOST_CONNECTIONS = 1000


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

    return Guard(create_app(store, settings), settings)


def listen(settings: ServeSettings) -> socket.socket:
    """A listening socket, so that what was asked for is known to be free before models are loaded."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # The protocol is named: asyncio switches Nagle's algorithm off only where it is, and answers wait 40 ms with it on.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        raise InputError(f"cannot listen on {settings.host} port {settings.port}: {error.strerror or error}") from error
    return listener


def serve(store: Store, settings: ServeSettings, listener: socket.socket) -> None:
    """Answer until SIGINT or SIGTERM; requests under way are finished, within `grace` seconds."""
    import uvicorn

    config = uvicorn.Config(
        guarded(store, settings),
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        timeout_keep_alive=15,
        timeout_graceful_shutdown=max(1, round(settings.grace)),
        limit_concurrency=MOST_CONNECTIONS + 40 * settings.concurrency,  # far above what the guard admits
        backlog=256,
    )
    # uvicorn hands a signal on when it is done: a stop that was asked for is no failure.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    uvicorn.Server(config).run(sockets=[listener])
