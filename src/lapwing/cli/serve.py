"""lapwing serve"""

from __future__ import annotations

import os
import secrets
from typing import Any

import click

from lapwing.cli._common import BROADER, ExistingPath, broader_file
from lapwing.cli._options import options_of
from lapwing.cli._output import echo
from lapwing.errors import InputError
from lapwing.files import read_regular
from lapwing.params import ServeParameters

TOKEN = "LAPWING_TOKEN"


@click.command("serve", params=options_of(ServeParameters))
@click.argument("models", metavar="MODEL...", nargs=-1, required=True, type=ExistingPath("a model file", folder=False))
@click.option("--token-file", type=ExistingPath("a token", folder=False),
              help=f"A file with the token that clients must show; or the environment variable {TOKEN}. Beyond the "
                   "local host there is always one: made up and printed, if none is given.")  # fmt: skip
@click.option("--broader", type=broader_file, help=BROADER + " Requests can ask for the broader ones.")
@click.option(
    "--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info", show_default=True
)
def command(
    models: tuple[str, ...], token_file: str | None, broader: str | None, log_level: str, **options: Any
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
    host = options["host"]
    made_up = token is None and not is_loopback(host)
    settings = ServeSettings(
        **options, token=secrets.token_urlsafe(24) if made_up else token,
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
