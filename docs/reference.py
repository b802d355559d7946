"""The reference pages, made from the docstrings and the commands' own help: `<!-- api -->` and `<!-- commands -->`."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import click

import lapwing
from lapwing.cli import cli
from lapwing.cli._help import EVERYTHING

# What each module shows, in the order of use; classes with the methods a user calls.
MODULES = {
    "lapwing": "TextClassifier NgramClassifier MAPClassifier SelectedRidgeClassifier LogTfidfVectorizer load train "
    "report update compare drift suspects export to_sklearn summary probability_interval certify Utility",
    "lapwing.priors": "Laplace Gaussian ElasticNet Jeffreys PriorTable from_words from_names by_group by_idf read "
    "read_words read_bbr norm_variance",
    "lapwing.corpus": "read stream overview Overview Corpus Document ReadOptions Hierarchy stdlib_docstrings",
    "lapwing.plots": " ".join(lapwing.plots.__all__),
    "lapwing.errors": "LapwingError InputError CorpusError ModelFileError PriorError SettingsError MissingExtraError "
    "ConvergenceWarning",
}
BEHIND = {"lapwing.model": "LinearModel Explanation", "lapwing.stats": "Certificate", "lapwing.text": "TextSettings",
          "lapwing.training": "TrainSettings", "lapwing.training.suspects": "Suspect", "lapwing.stats.past": "Past",
          "lapwing.evaluate.comparison": "ModelComparison OnDocuments CategoryChange Interval",
          "lapwing.evaluate.drift": "Drift CategoryDrift WordDrift",
          "lapwing.labelling": "Session Answers next_documents"}  # fmt: skip

_ENTRY = re.compile(r"(?P<names>[A-Za-z_\"`][\w\", `*]*?)(?: : |\s{2,})(?P<text>\S.*)")


def fill(app: Any, name: str, source: list[str]) -> None:
    source[0] = re.sub("<!-- (api|behind|commands) -->", lambda found: "\n".join(PAGES[found[1]]()), source[0])


def _api(modules: dict[str, str], depth: int = 2) -> Iterator[str]:
    for module, names in modules.items():
        home = importlib.import_module(module)
        yield f"{'#' * depth} {module}\n"
        if modules is MODULES and module != "lapwing":
            yield from markdown(home)
        for name in names.split():
            yield from _entry(module, name, getattr(home, name))


def _entry(module: str, name: str, thing: Any) -> Iterator[str]:
    kind = "exception" if isinstance(thing, type) and issubclass(thing, BaseException) else "function"
    kind = "class" if kind == "function" and isinstance(thing, type) else kind
    signature = "" if kind == "exception" else _signature(thing)
    yield f"::::{{py:{kind}}} {name}{signature}\n:module: {module}\n:single-line-parameter-list:\n"
    yield from markdown(thing)
    if kind == "class":
        for method, function in inspect.getmembers(thing):
            if method.startswith("_") or not _ours(function) or not inspect.getdoc(function):
                continue
            if callable(function):
                yield f":::{{py:method}} {method}{_signature(function)}\n:single-line-parameter-list:\n"
            else:
                yield f":::{{py:property}} {method}\n"
            yield from markdown(function)
            yield ":::\n"
    yield "::::\n"


def _ours(member: Any) -> bool:
    function = getattr(member, "fget", None) or getattr(member, "func", None) or member
    return str(getattr(function, "__module__", "")).startswith("lapwing")


def _signature(thing: Any) -> str:
    """Names and defaults; what type each has is in the words."""
    made = inspect.signature(thing)
    left = [p.replace(annotation=p.empty) for p in made.parameters.values() if p.name != "self"]
    return str(made.replace(parameters=left, return_annotation=made.empty))


def markdown(thing: Any) -> Iterator[str]:
    """A docstring of the house: paragraphs, sessions, formulas set in, `name : text` and aligned lists."""
    text = inspect.getdoc(thing)
    assert text, f"{thing} has no docstring"
    in_list = False
    for paragraph in re.split(r"\n\s*\n", text):
        lines = paragraph.splitlines()
        if len(lines) > 1 and re.fullmatch("-{3,}", lines[1]):
            yield f"**{lines[0]}**\n"
            in_list = lines[0] in ("Parameters", "Attributes")
            lines = lines[2:]
            if not lines:
                continue
        if lines[0].startswith(">>> "):
            yield "```pycon\n" + "\n".join(lines) + "\n```\n"
        elif lines[0].startswith("    ") or "──" in paragraph:
            yield "```text\n" + inspect.cleandoc(paragraph) + "\n```\n"
        elif in_list and (entries := _entries(lines)):
            yield from entries
            in_list = False
        elif re.match(r"[a-z_][\w, ]*\s{2,}\S", lines[0]) and (entries := _entries(lines)):
            yield from entries
        else:
            yield "\n".join(lines) + "\n"


def _entries(lines: list[str]) -> list[str]:
    found: list[list[str]] = []
    for line in lines:
        entry = None if line.startswith(" ") else _ENTRY.fullmatch(line)
        if entry is not None:
            found.append([entry["names"], entry["text"]])
        elif found:
            found[-1][1] += f" {line.strip()}"
        else:
            return []
    return [f"`{names.strip('`')}`\n: {text}\n" for names, text in found]


def _commands() -> Iterator[str]:
    yield from _help(cli, "lapwing", 2)


def _help(command: click.Command, name: str, depth: int) -> Iterator[str]:
    context = click.Context(command, info_name=name, terminal_width=80, help_option_names=["-h", "--help"])
    context.meta[EVERYTHING] = True
    yield f"{'#' * depth} {name}\n\n```text\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            inner = command.get_command(context, each)
            assert inner is not None
            yield from _help(inner, f"{name} {each}", min(depth + 1, 3))


PAGES: dict[str, Callable[[], Iterator[str]]] = {
    "api": lambda: _api(MODULES), "behind": lambda: _api(BEHIND, 3), "commands": _commands,
}  # fmt: skip
