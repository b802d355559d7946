"""Help of a command with many options, in groups: those that most people need first, rare ones when asked for."""

from __future__ import annotations

from typing import Any

import click

GROUPS = ("Most used", "Data", "Text", "Model", "Choosing", "Solver and output")
EVERYTHING = "lapwing.help_all"  # in the context: whether rare options are shown


class Grouped(click.Command):
    """--help has the options that are not rare below the headings that they name, --help-all has them all."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.append(
            click.Option(
                ["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=_help_all,
                help="Show all options.",
            )
        )  # fmt: skip

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        everything = ctx.meta.get(EVERYTHING, False)
        options = [one for one in self.get_params(ctx) if isinstance(one, click.Option)]
        shown = [one for one in options if everything or not getattr(one, "rare", False)]
        for heading in GROUPS:
            of_group = (one for one in shown if (getattr(one, "group", "") or GROUPS[-1]) == heading)
            with formatter.section(heading):
                formatter.write_dl([record for one in of_group if (record := one.get_help_record(ctx)) is not None])
        if left := len(options) - len(shown):
            formatter.write(f"\n{left} more options, rarely needed, with --help-all\n")


def _help_all(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        context.meta[EVERYTHING] = True
        click.echo(context.get_help(), color=context.color)
        context.exit()
