"""lapwing completion"""

from __future__ import annotations

import click

from lapwing.errors import SettingsError

SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print what makes SHELL complete commands, options and files.

    For bash: lapwing completion bash > ~/.local/share/bash-completion/completions/lapwing
    """
    from click.shell_completion import get_completion_class

    from lapwing.cli import cli

    kind = get_completion_class(shell)
    if kind is None:
        raise SettingsError(f"completion is for {', '.join(SHELLS)}, got {shell!r}")
    try:
        click.echo(kind(cli, {}, "lapwing", "_LAPWING_COMPLETE").source())
    except RuntimeError as error:  # a bash that is too old
        raise SettingsError(f"completion for {shell}: {error}") from error
