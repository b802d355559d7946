"""The `lapwing` command. Each subcommand is a module, loaded when it is called."""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module

import click

from lapwing.plugins import plugin, plugins, working

# name: (module, what it does); `lapwing --help` prints this table, then the commands of other packages.
COMMANDS = {
    "demo": ("demo", "Train and evaluate on the built-in corpus."),
    "train": ("train", "Train a model on labelled documents."),
    "classify": ("classify", "Put documents into categories, with probabilities."),
    "evaluate": ("evaluate", "Compare a model's decisions with the labels of documents."),
    "explain": ("explain", "Show the words that spoke for and against each category of a text."),
    "inspect": ("inspect", "Show what is inside a model file."),
    "update": ("update", "Update a model with new labelled documents, without those before."),
    "compare": ("compare", "Show how two models differ, in their words and on documents."),
    "drift": ("drift", "Show what moved between training and new documents, labelled or not."),
    "suspects": ("suspects", "Print documents that look mislabelled."),
    "curve": ("curve", "Show what more labelled documents would bring."),
    "export": ("export", "Write a model as JavaScript, as plain Python, or as ONNX."),
    "report": ("report", "Write a report about a model: one HTML file, with a box to try texts in."),
    "label": ("label", "Label documents on a page of this machine, those first that teach most."),
    "serve": ("serve", "Serve models over HTTP: a page to try them in, and a REST interface."),
    "warm-up": ("warm_up", "Compile what first trainings need, for images and CI."),
    "completion": ("completion", "Print what makes a shell complete commands and options."),
}


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *plugins("commands")]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command: click.Command
        if cmd_name in COMMANDS:
            command = import_module(f"lapwing.cli.{COMMANDS[cmd_name][0]}").command
        elif cmd_name in plugins("commands"):
            command = plugin("commands", cmd_name)
        else:
            return None
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        others = [(name, command.get_short_help_str(limit=200)) for name, command in working("commands").items()]
        with formatter.section("Commands"):
            formatter.write_dl([*((name, text) for name, (_, text) in COMMANDS.items()), *others])


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="lapwing", prog_name="lapwing")
@click.option("--debug", is_flag=True, help="Show a traceback when something fails; may stand anywhere.")
@click.pass_obj
def cli(given: list[str] | None, debug: bool) -> None:
    """Labelled text in, small readable classifiers with honest probabilities out.

    Start with `lapwing demo`, or `lapwing train DATA -o MODEL`.
    """
    from lapwing.cli._common import set_up_logging
    from lapwing.cli._flags import called

    set_up_logging(debug, called(cli, given or []))


def main(arguments: Sequence[str] | None = None) -> None:
    """Exit code 0 for success, 2 for bad input, 1 for failure; errors in one sentence on stderr."""
    from lapwing.errors import InputError, LapwingError, MissingExtraError

    given, debug = _debug_first(sys.argv[1:] if arguments is None else list(arguments))
    _open_output()
    _tolerant_output()
    try:
        code = cli.main(given or ["--help"], prog_name="lapwing", standalone_mode=False, obj=given)
        sys.stdout.flush()
        sys.exit(code if isinstance(code, int) else 0)
    except (click.exceptions.Abort, KeyboardInterrupt) as error:
        if isinstance(error.__cause__, EOFError):  # click takes it for someone who ends the input at a prompt
            _fail(f"EOFError: {error.__cause__}; run it with --debug for the traceback", 1, debug)
        _interrupted()
    except click.ClickException as error:
        _fail(_sentence(error), error.exit_code)
    except BrokenPipeError:  # the reader of a pipe has seen enough
        _hush()
        sys.exit(1)
    except LapwingError as error:
        from lapwing.cli._flags import called, in_flags

        _fail(
            in_flags(str(error), called(cli, given)),
            2 if isinstance(error, InputError | MissingExtraError) else 1,
            debug,
        )
    except MemoryError as error:
        _fail(_out_of_memory(error), 1, debug)
    except Exception as error:
        _fail(f"{type(error).__name__}: {error}; run it with --debug for the traceback", 1, debug)


def _interrupted() -> None:
    """Not waiting for fits under way, which end when they end."""
    import os
    import threading

    _say("interrupted; files written before are as they were")
    if threading.active_count() > 1:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        os._exit(130)
    sys.exit(130)


def _debug_first(arguments: list[str]) -> tuple[list[str], bool]:
    """--debug belongs to the group, and is taken from anywhere before a `--`."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    rest = [word for word in arguments[:end] if word != "--debug"]
    debug = len(rest) < end
    return (["--debug"] if debug else []) + rest + arguments[end:], debug


def _out_of_memory(error: MemoryError) -> str:
    """What was being done, how much was asked for, what to try."""
    from lapwing.cli._progress import Progress

    doing = f" while {Progress.doing}" if Progress.doing else ""
    asked = f": {str(error)[:1].lower()}{str(error)[1:]}" if str(error) else ""
    return f"not enough memory{doing}{asked}; try fewer documents or categories, or fewer words (--min-df 2)"


def _open_output() -> None:
    """Closed standard streams lead to nowhere; else the next file that is opened takes their place, and the output."""
    import os

    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        _say("standard output is closed, and what would be printed there is lost")


def _tolerant_output() -> None:
    """A label or file name that the terminal's encoding lacks is escaped, and no reason to stop."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def _hush() -> None:
    """Nothing more can be written; without this the interpreter complains when it flushes at exit."""
    import os

    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _sentence(error: click.ClickException) -> str:
    """What click has to say, as one sentence with where to look."""
    message = error.format_message().rstrip().rstrip(".").replace(". (", " (")
    message = message[:1].lower() + message[1:]
    context = getattr(error, "ctx", None)
    return message if context is None else f"{message}; see `{context.command_path} --help`"


def _fail(message: str, code: int, debug: bool = False) -> None:
    if debug:
        traceback.print_exc()
    _say(" ".join(message.split()))
    try:
        sys.stdout.flush()
    except (OSError, ValueError):  # what could not be written would be tried again at exit
        _hush()
    sys.exit(code)


def _say(message: str) -> None:
    from lapwing.cli._output import echo

    with contextlib.suppress(OSError, ValueError):  # nobody is there to hear it
        echo(f"lapwing: {message}", err=True)
