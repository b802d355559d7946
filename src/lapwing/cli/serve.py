"""lapwing serve"""

from __future__ import annotations

import os
import secrets

import click

from lapwing.cli._common import BROADER, ExistingPath, broader_file
from lapwing.cli._output import echo
from lapwing.errors import InputError
from lapwing.files import read_regular

TOKEN = "LAPWING_TOKEN"


@click.command("serve")
@click.argument("models", metavar="MODEL...", nargs=-1, required=True, type=ExistingPath("a model file", folder=False))
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="Port to listen on; 0 for any free one.",
)
@click.option("--token-file", type=ExistingPath("a token", folder=False),
              help=f"A file with the token that clients must show; or the environment variable {TOKEN}. Beyond the "
                   "local host there is always one: made up and printed, if none is given.")  # fmt: skip
@click.option("--allow-host", multiple=True, help="Host name to accept in requests; may be given several times.")
@click.option(
    "--max-body", type=click.IntRange(min=1), default=2_000_000, show_default=True, help="Largest request, in bytes."
)
@click.option(
    "--max-batch", type=click.IntRange(min=1), default=256, show_default=True, help="Most texts in one request."
)
@click.option("--timeout", type=float, default=10.0, show_default=True, help="Time limit of a request, in seconds.")
@click.option("--concurrency", type=click.IntRange(min=1), default=32, show_default=True,
              help="Requests handled at a time; others get 503 and Retry-After.")  # fmt: skip
@click.option("--max-connections", type=click.IntRange(min=1), default=1000, show_default=True,
              help="Connections held open, half for any one address; fewer where `ulimit -n` is low.")  # fmt: skip
@click.option("--reload-every", type=float, default=1.0, show_default=True,
              help="Seconds between checks whether model files have changed; 0 for never.")  # fmt: skip
@click.option(
    "--grace", type=float, default=10.0, show_default=True, help="Seconds that running requests get at shutdown."
)
@click.option("--broader", type=broader_file, help=BROADER + " Requests can ask for the broader ones.")
@click.option(
    "--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info", show_default=True
)
def command(
    models: tuple[str, ...],
    host: str,
    port: int,
    token_file: str | None,
    allow_host: tuple[str, ...],
    max_body: int,
    max_batch: int,
    timeout: float,
    concurrency: int,
    max_connections: int,
    reload_every: float,
    grace: float,
    broader: str | None,
    log_level: str,
) -> None:
    """Serve MODELs over HTTP: a page to try them in at /, and a REST interface described at /openapi.json.

    A model file that is replaced is loaded again without dropping a request. What `lapwing evaluate --store` kept
    beside a model is shown with it. Ctrl-C or SIGTERM finishes the requests under way. The log is on stderr, a JSON
    object per line.
    """
    from lapwing.corpus import Hierarchy
    from lapwing.serve import ServeSettings
    from lapwing.serve.logs import set_up
    from lapwing.serve.run import check_installed, listen, serve
    from lapwing.serve.settings import is_loopback
    from lapwing.serve.store import Store

    check_installed()
    token = _token(token_file)
    made_up = token is None and not is_loopback(host)
    settings = ServeSettings(
        host=host, port=port, token=secrets.token_urlsafe(24) if made_up else token, allowed_hosts=allow_host,
        max_body=max_body, max_batch=max_batch, timeout=timeout, concurrency=concurrency,
        max_connections=max_connections, reload_every=reload_every, grace=grace,
        broader=None if broader is None else Hierarchy.read(broader),
    )  # fmt: skip
    listener = listen(settings)
    store = Store(list(models))
    if settings.broader is not None:
        settings.broader.check(store.first.model.classes, str(broader))
    set_up(log_level)
    where = f"[{host}]" if ":" in host else host
    echo(f"serving {', '.join(store.models)} at http://{where}:{listener.getsockname()[1]}/", err=True)
    if made_up:
        echo(f"token, for this run only: {settings.token}", err=True)
    serve(store, settings, listener)


def _token(path: str | None) -> str | None:
    if path is None:
        return os.environ.get(TOKEN) or None
    try:
        token = read_regular(path).decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--token-file must be a text file with the token; {path}: {error}") from error
    if not token:
        raise InputError(f"--token-file must have the token in it, and {path} is empty")
    return token
