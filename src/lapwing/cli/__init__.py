"""The `lapwing` command. Each subcommand is a module, loaded when it is called: `--help` loads none."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

import click

# name: (module, what it does); the table is what `lapwing --help` prints.
COMMANDS = {
    "demo": ("demo", "Train, evaluate and explain on the built-in corpus."),
    "train": ("train", "Train a model on labelled documents."),
    "classify": ("classify", "Put documents into categories, with probabilities."),
    "evaluate": ("evaluate", "Compare a model's decisions with the labels of documents."),
    "explain": ("explain", "Show the words that spoke for and against each category of a text."),
    "inspect": ("inspect", "Show what is inside a model file."),
}


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"lapwing.cli.{COMMANDS[cmd_name][0]}")
        return module.command  # type: ignore[no-any-return]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="lapwing", prog_name="lapwing")
@click.option("--debug", is_flag=True, help="Show a traceback when something fails.")
def cli(debug: bool) -> None:
    """Labelled text in, small readable classifiers with honest probabilities out.

    Start with `lapwing demo`, or `lapwing train DATA -o MODEL`.
    """
    from lapwing.cli._common import set_up_logging

    set_up_logging(debug)


def main(arguments: Sequence[str] | None = None) -> None:
    """Exit code 0 for success, 2 for bad input, 1 for failure; errors in one sentence on stderr."""
    from lapwing.errors import InputError, LapwingError, MissingExtraError

    arguments = sys.argv[1:] if arguments is None else list(arguments)
    debug = "--debug" in arguments[:1]
    try:
        sys.exit(cli.main(arguments, prog_name="lapwing", standalone_mode=False) or 0)
    except (click.exceptions.Abort, KeyboardInterrupt):
        _fail("interrupted; files written before are as they were", 130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except LapwingError as error:
        if debug:
            raise
        _fail(str(error), 2 if isinstance(error, InputError | MissingExtraError) else 1)
    except Exception as error:
        if debug:
            raise
        _fail(f"{type(error).__name__}: {error}; run `lapwing --debug …` for the traceback", 1)


def _fail(message: str, code: int) -> None:
    click.echo(f"lapwing: {' '.join(message.split())}", err=True)
    sys.exit(code)
