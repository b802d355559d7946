"""lapwing explain"""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lapwing.cli._common import model_argument, readable, rows_named
from lapwing.cli._output import echo, json_option, print_json, show
from lapwing.errors import CorpusError, InputError

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from lapwing.model import CategoryExplanation, Explanation, LinearModel


@click.command("explain")
@model_argument
@click.argument("text", nargs=-1)
@click.option("--category", "categories", multiple=True, help="Explain this category; may be given several times.")
@click.option("--top", type=click.IntRange(min=1), default=3, show_default=True, help="How many categories to show.")
@click.option("--value", "values", multiple=True, metavar="NAME=VALUE",
              help="A column that the model reads beside the text; those not given count as not known.")  # fmt: skip
@click.option("--encoding", help="Encoding of standard input or the file; UTF-8 by default.")
@json_option
def command(
    model: str,
    text: tuple[str, ...],
    categories: tuple[str, ...],
    top: int,
    values: tuple[str, ...],
    encoding: str | None,
    as_json: bool,
) -> None:
    """Show the words of TEXT that spoke for and against the most probable categories; of two classes, the one chosen.

    TEXT may be the name of a file with one text; without it, or with "-", the text is read from standard input.
    """
    from lapwing.formats import load

    loaded = load(model)
    classes = {str(label): label for label in loaded.classes}
    rows_named(loaded, [name for name in categories if name not in classes])
    content = _text(text, encoding)
    document, named = _with_values(content, values, loaded), [classes[name] for name in categories]
    result = loaded.explain(document, named) if named else loaded.explain(document, top=top)
    shown = result.categories
    if as_json:
        print_json({"text": result.text, "categories": [_record(one) for one in shown]})
        return
    parts: list[RenderableType] = []
    for one in shown:
        parts += ([""] if parts else []) + _category(result, one, loaded)
    show(*parts)


def _with_values(text: str, values: tuple[str, ...], model: LinearModel) -> Any:
    """The text, for a model of other columns, too, a record of it and their values."""
    beside = getattr(model.weighting, "beside", None)
    columns = [] if beside is None else beside.columns
    record = {}
    for one in values:
        name, equals, value = one.partition("=")
        if not equals or name not in columns:
            has = f"the model reads {', '.join(columns)} beside the text" if columns else "the model reads text alone"
            raise InputError(f"--value must be NAME=VALUE of a column that the model reads, got {one!r}; {has}")
        record[name] = value
    return text if beside is None else {**record, beside.text: text}


def _text(given: tuple[str, ...], encoding: str | None) -> str:
    """What was given, what a file of that name holds, or what comes on standard input."""
    from lapwing.cli._documents import STDIN, standard_input

    if given in ((), ("-",)):
        return _decoded(standard_input("a text").read(), STDIN, encoding).rstrip("\r\n")
    if len(given) == 1 and os.path.isfile(given[0]):
        echo(f"explaining the text in {given[0]}", err=True)
        return _decoded(Path(given[0]).read_bytes(), given[0], encoding)
    return " ".join(given)


def _decoded(content: bytes, where: str, encoding: str | None) -> str:
    from lapwing.corpus.archives import refuse_container
    from lapwing.corpus.containers import by_magic
    from lapwing.corpus.encodings import wide_encoding
    from lapwing.corpus.options import ReadOptions
    from lapwing.corpus.reader import PEEK

    ReadOptions(encoding=encoding)  # an encoding that does not exist says so
    refuse_container(by_magic(content[:PEEK], where), where)
    try:
        text = content.decode(encoding or wide_encoding(content[:PEEK]) or "utf-8-sig")
    except UnicodeError as error:
        raise CorpusError(
            f"expected {encoding or 'UTF-8'}, got bytes that are not; name the right one with --encoding",
            where,
        ) from error
    if not text.strip():
        raise CorpusError("expected a text, got nothing; pipe one in, or put it on the command line", where)
    return text


def _record(one: CategoryExplanation) -> dict[str, object]:
    return {**asdict(one), "contributions": [part._asdict() for part in one.contributions]}


def _category(result: Explanation, one: CategoryExplanation, model: LinearModel) -> list[RenderableType]:
    """The verdict, the text, and the parts that add up to the score."""
    from rich.padding import Padding
    from rich.text import Text

    head = Text(f"{one.category}", style="bold")
    verdict = "yes" if one.chosen else "no"
    head.append(f"  {verdict}, probability {one.probability:.3f}, score {one.score:+.2f}", style="not bold")
    lines: list[RenderableType] = [head, Padding(_highlighted(result, one, model), (0, 0, 0, 2))]
    for part in one.contributions:
        line = Text(f"  {part.contribution:+8.3f}  ", style="green" if part.contribution > 0 else "red")
        words = sorted({result.text[a:b].lower() for a, b in part.spans})
        line.append(readable(part.feature, model))
        if words and words != [part.feature]:
            line.append(f"  ({', '.join(readable(word, model) for word in words)})")
        lines.append(line)
    return [*lines, Text(f"  {one.intercept:+8.3f}  (intercept)", style="dim")]


def _highlighted(result: Explanation, one: CategoryExplanation, model: LinearModel) -> Text:
    """The text, words for the category in green, words against it in red; stronger ones underlined.

    n-grams are all underlined, or where one ends would be lost; where they overlap the strongest shows.
    """
    from rich.text import Text

    text = Text(result.text)
    strongest = max((abs(part.contribution) for part in one.contributions), default=0.0)
    settings = None if model.weighting is None else model.weighting.settings
    ngrams = settings is not None and (settings.ngrams or settings.is_bag)
    for part in reversed(one.contributions):
        style = "green" if part.contribution > 0 else "red"
        if abs(part.contribution) >= 0.5 * strongest:
            style += " bold underline"
        elif ngrams:
            style += " not bold underline"
        for start, end in part.spans:
            text.stylize(style, start, end)
    body = result.text.strip()
    start = result.text.find(body)
    return text[start : start + len(body)]
