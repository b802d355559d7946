"""What the commands share: arguments, options for reading, and their checks."""

from __future__ import annotations

import logging
import os
import stat
import warnings
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from lapwing.cli._flags import in_flags
from lapwing.cli._installed import Installed
from lapwing.cli._options import Option, options_of
from lapwing.cli._output import echo
from lapwing.errors import ConvergenceWarning, InputError, ModelFileError, SettingsError, some
from lapwing.params import ReadParameters

if TYPE_CHECKING:
    from lapwing.cli._progress import Progress
    from lapwing.corpus import Corpus
    from lapwing.model import LinearModel
    from lapwing.shards.folder import WorkFolder

F = TypeVar("F", bound=Callable[..., Any])

FORMATS = ("auto", "jsonl", "csv", "tsv", "parquet", "arrow", "folder", "text", "svmlight")  # beside those installed


class _ToStderr(logging.Handler):
    """Looks stderr up for every line: while a progress bar is shown it is another one. A line is whose package's it is:
    `lapwing`, or `distributed`."""

    def emit(self, record: logging.LogRecord) -> None:
        echo(f"{record.name.partition('.')[0]}: {self.format(record)}", err=True)


def set_up_logging(debug: bool, command: click.Command) -> None:
    """The package speaks through `logging` and `warnings`, from any thread; `command` puts both on stderr."""
    handler = _ToStderr()
    handler.setLevel(logging.DEBUG if debug else logging.WARNING)  # whatever the levels of loggers that others set up
    logging.basicConfig(handlers=[handler], level=handler.level, format="%(message)s", force=True)
    if debug:
        logging.getLogger("numba").setLevel(logging.INFO)
        return

    def show(message: Any, category: type[Warning], *rest: Any, **named: Any) -> None:
        name = "" if issubclass(category, ConvergenceWarning) else f"{category.__name__}: "
        echo(f"lapwing: {name}{in_flags(str(message), command)}", err=True)

    warnings.showwarning = show
    # Ours name the release that removes what they are about (CONTRIBUTING.md); those of libraries stay hidden.
    warnings.filterwarnings("default", r".*from lapwing \d", DeprecationWarning)


class ExistingPath(click.ParamType):
    """A path that is there; the error says what was expected at it."""

    name = "path"

    def __init__(self, expected: str, *, folder: bool = True, dash: bool = False) -> None:
        self.expected = expected
        self.folder = folder
        self.dash = dash

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        path = str(value)
        if self.dash and path == "-":
            return path
        try:
            is_folder = stat.S_ISDIR(os.stat(path).st_mode)
        except (OSError, ValueError) as error:
            missing = isinstance(error, FileNotFoundError | NotADirectoryError)
            reason = "found nothing there" if missing else f"cannot look there ({error})"
            raise InputError(f"expected {self.expected} at {path!r}, {reason}; check the path") from error
        if is_folder and not self.folder:
            raise InputError(f"expected {self.expected}, and {path!r} is a folder; name the file in it")
        return path


class Curvature(click.ParamType):
    """How much of the loss's curvature a model remembers: one of some words, or a rank."""

    name = "curvature"

    def __init__(self, *words: str) -> None:
        self.words = words

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return f"[{'|'.join(self.words)}|RANK]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.words:
            from lapwing.training.memory import curvature_of, rank_of

            try:
                return curvature_of(rank_of(value))
            except SettingsError as error:
                self.fail(str(error), param, ctx)
        return str(value)


model_argument = click.argument("model", type=ExistingPath("a model file", folder=False))
data_argument = click.argument("data", type=ExistingPath("documents (a file, folder or archive)"))


def check_output(output: str, data: str | None = None, *, name: str = "-o") -> None:
    """Before the work, not after: whether a file can be written there, and is not the data themselves.

    `name` is what the command calls it.
    """
    from lapwing.files import output_target

    if Path(output).is_dir():
        raise InputError(f"{name} must be a file, and {output!r} is a folder; add a name, such as model.lapwing")
    path = output_target(output, name)
    folder = path.absolute().parent
    if not folder.is_dir():
        raise InputError(f"{name} must be a file in a folder that is there, got {output!r}; make the folder first")
    if not os.access(folder, os.W_OK):
        raise InputError(f"{name} must be in a folder that can be written to, and that of {output!r} cannot")
    if data is not None and path.exists() and path.samefile(data):
        raise InputError(f"{name} must not be the data, which the model would replace; got {output!r} for both")


READING = [
    Option(["--format", "format_"], type=Installed("readers", *FORMATS), default="auto", show_default=True,
           group="Data", help="Format of DATA."),
    *options_of(ReadParameters),
]  # fmt: skip


def reading_options(function: F) -> F:
    """Adds the options of `lapwing.corpus.read`, gathered into one argument `reading`."""

    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        reading = dict(map(as_keyword, READING, [kwargs.pop(str(option.name)) for option in READING]))
        return function(*args, reading=reading, **kwargs)

    added = [*getattr(wrapper, "__click_params__", ()), *reversed(READING)]
    wrapper.__click_params__ = added  # type: ignore[attr-defined]
    return wrapper  # type: ignore[return-value]


def as_keyword(option: click.Option, value: Any) -> tuple[str, Any]:
    """Name and value of an option for `read`."""
    return ("header", not value) if option.name == "no_header" else (str(option.name).removesuffix("_"), value)


def columns_of(model: LinearModel, reading: dict[str, Any]) -> dict[str, Any]:
    """Options for reading, with the columns that the model reads beside the text."""
    beside = getattr(model.weighting, "beside", None)
    if beside is None:
        return reading
    kinds = {"numeric_columns": beside.numeric, "categorical_columns": beside.categorical}
    return {**reading, **{name: tuple(dict.fromkeys([*reading[name], *own])) for name, own in kinds.items()}}


HOLDOUT = "--holdout"


def as_in_training(reading: dict[str, Any], model: LinearModel, data: str) -> dict[str, Any]:
    """Options for reading, those that are not given taken from the training where DATA is what it was."""
    reading = columns_of(model, reading)
    source, flags = model.provenance.get("source") or {}, list(model.provenance.get("reading") or ())
    if not flags or not isinstance(source, dict) or source.get("path") != Path(data).name:
        return reading
    context = click.get_current_context()
    by_flag = {option.opts[0]: option for option in READING}
    settings, said = dict(reading), []
    while flags:
        flag = str(flags.pop(0))
        option = by_flag.get(flag)
        if option is None:  # --split and --holdout, which commands have their own way with
            flags = flags[1:]
            continue
        if not option.is_flag and not flags:
            raise ModelFileError(f"expected a value after {flag} in what the model says of its reading")
        value: Any = True if option.is_flag else option.type.convert(flags.pop(0), option, context)
        name = str(option.name)
        if name in ("max_document", "max_expansion"):
            continue  # no file lifts the bounds on another
        if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT:
            continue
        if name in ("numeric_columns", "categorical_columns"):
            continue  # the model has them
        said.append(flag if option.is_flag else f"{flag} {value}")
        settings |= [as_keyword(option, value)]
    if said:
        echo(f"reading {Path(data).name} as in training: {' '.join(said)}", err=True)
    return settings


def apart_in_training(corpus: Corpus, model: LinearModel, data: str) -> Corpus:
    """The documents that training kept apart as the test part, where DATA is what it was and has no parts itself."""
    source, flags = model.provenance.get("source") or {}, list(model.provenance.get("reading") or ())
    known = isinstance(source, dict) and source.get("path") == Path(data).name
    if corpus.has_splits or not known or HOLDOUT not in flags[:-1]:
        return corpus
    from lapwing.training.again import settings_of
    from lapwing.training.holdout import divided

    try:
        share = float(flags[flags.index(HOLDOUT) + 1])
    except ValueError as error:
        raise ModelFileError(f"expected a number after {HOLDOUT} in what the model says of its reading") from error
    corpus = divided(corpus, share, settings_of(model))
    count = sum(part == "test" for part in corpus.split)
    echo(
        f"{HOLDOUT} {share} kept {count:,} of these documents apart, which are judged; --split all takes all", err=True
    )
    return corpus


BROADER = "What is above which category: lines of one, a tab and a broader one, or a vocabulary in SKOS (.ttl, .rdf)."
broader_file = ExistingPath("pairs of a category and a broader one", folder=False)


def read_hierarchy(path: str | None, model: LinearModel, separator: str | None = None) -> Any:
    """The hierarchy of --broader, or the separator of --roll-up; None without either."""
    if path is None:
        return separator
    if separator is not None:
        raise InputError("--broader and --roll-up both say what is above a category; give one of them")
    from lapwing.corpus import Hierarchy

    hierarchy = Hierarchy.read(path)
    hierarchy.check(model.classes, path)
    return hierarchy


def rows_named(model: LinearModel, names: Sequence[str]) -> list[int]:
    """The rows of the categories that --category names; all of them where it names none."""
    rows = {str(label): row for row, label in enumerate(model.categories)}
    for name in names:
        if name not in rows:
            if name in map(str, model.classes):
                hint = f"{name!r} is where the model says no to {model.categories[0]!r}; ask for that one"
            else:
                hint = f"it has {some(model.categories)}"
            raise InputError(f"--category must be one of the model's, got {name!r}; {hint}")
    return [rows[name] for name in names] or list(rows.values())


def readable(feature: str, model: LinearModel) -> str:
    """A feature for the eye: blanks of an n-gram of characters are part of it, and shown."""
    text = None if model.weighting is None else model.weighting.settings
    ngrams = text is not None and (text.ngrams or text.is_bag) and not text.joint
    return feature.replace(" ", "␣") if ngrams else feature


SPLITS = click.Choice(["train", "validation", "test", "all"])


def split_part(corpus: Corpus, split: str | None, default: str) -> Corpus:
    """The part asked for; without asking the default part of a corpus that has splits, else all of it."""
    if split is None and corpus.has_splits and default not in corpus.split:
        there = some(sorted(set(corpus.split) - {""}))
        raise InputError(f"{corpus.name}: expected documents of split {default!r}, found {there}; choose with --split")
    return corpus.part(split or (default if corpus.has_splits else "all"))


def read_documents(data: str, reading: dict[str, Any], progress: Progress, work: WorkFolder | None = None) -> Corpus:
    from lapwing.corpus import read

    progress.begin("reading documents")
    corpus = read(data, work=work, **reading)
    progress.end(len(corpus))
    return corpus
