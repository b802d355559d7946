"""Help of a command with many options, in groups: those that most people need first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click


class Grouped(click.Command):
    """`groups`: heading → names of parameters; options in none of them stand under the last heading."""

    def __init__(self, *args: Any, groups: Mapping[str, Sequence[str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.groups = groups

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        records = {
            str(parameter.name): record
            for parameter in self.get_params(ctx)
            if (record := parameter.get_help_record(ctx)) is not None
        }
        *others, last = self.groups
        for heading in others:
            with formatter.section(heading):
                formatter.write_dl([records.pop(name) for name in self.groups[heading] if name in records])
        with formatter.section(last):
            formatter.write_dl(list(records.values()))
