"""Messages of the package name its parameters; on the command line these are flags."""

from __future__ import annotations

import re

import click

# What the package calls it, where the command's parameter has another name.
ALIASES = {
    "max_iter": "iterations",
    "n_jobs": "jobs",
    "random_state": "seed",
    "tol": "eps",
    "select_features": "features",
    "follow": "paths",
}
NO_WORDS = ("tol",)  # parameters without an underscore that are no words of the language either


def in_flags(message: str, command: click.Command) -> str:
    """The message with parameters as the flags of this command.

    `max_features=5` is `--max-features 5`, `max_features` alone `--max-features`. Names that are also words are left
    alone unless they have a value or something must be true of them. Quoted names and parts of paths stay.

    >>> option = click.Option(["--max-features"])
    >>> in_flags("max_features=5 allows fewer; see max_features.tsv", click.Command("train", params=[option]))
    '--max-features 5 allows fewer; see max_features.tsv'
    """
    flags = {p.name: p.opts[0] for p in command.params if isinstance(p, click.Option) and p.name is not None}
    flags |= {name: flags[other] for name, other in ALIASES.items() if other in flags and name not in flags}
    if not flags:
        return message

    def flag(match: re.Match[str]) -> str:
        name, value = match["name"], match["value"]
        if value is not None:
            return f"{flags[name]} {value}"
        no_word = "_" in name or name in NO_WORDS
        return flags[name] if no_word or match["must"] else name

    names = "|".join(sorted(map(re.escape, flags), key=len, reverse=True))
    pattern = (
        rf"(?<![\w./'\"-])(?P<name>{names})"
        r"(?:=(?P<quote>['\"]?)(?P<value>[^\s'\",;()]+)(?P=quote)"
        r"|(?=(?P<must> must | needs | belongs ))"
        r"|(?![\w='\"/]|[.-]\w))"
    )
    return re.sub(r"(--[\w-]+) \(\1\)", r"\1", re.sub(pattern, flag, message))


def called(cli: click.Group, arguments: list[str]) -> click.Command:
    """The command that these arguments call, as deep as they name one."""
    command: click.Command = cli
    context = click.Context(cli)
    for word in arguments:
        if not isinstance(command, click.Group):
            break
        command = command.get_command(context, word) or command
    return command
