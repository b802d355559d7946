"""lapwing explain"""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from lapwing.cli._common import console, json_option, print_json

if TYPE_CHECKING:
    from rich.text import Text

    from lapwing.model import CategoryExplanation, Explanation


@click.command("explain")
@click.argument("model", type=click.Path(exists=True, dir_okay=False))
@click.argument("text", nargs=-1)
@click.option("--category", "categories", multiple=True, help="Explain this category; may be given several times.")
@click.option("--top", type=click.IntRange(min=1), default=3, show_default=True, help="How many categories to show.")
@json_option
def command(model: str, text: tuple[str, ...], categories: tuple[str, ...], top: int, as_json: bool) -> None:
    """Show the words of TEXT that spoke for and against the most probable categories.

    Without TEXT, or with "-", the text is read from standard input.
    """
    from lapwing.model import load

    loaded = load(model)
    content = sys.stdin.read() if text in ((), ("-",)) else " ".join(text)
    by_name = {str(label): label for label in loaded.categories}
    wanted = [by_name.get(name, name) for name in categories] or None
    result = loaded.explain(content, wanted)
    shown = result.categories if wanted else result.categories[:top]
    if as_json:
        print_json({"text": result.text, "categories": [_record(one) for one in shown]})
        return
    out = console()
    for number, one in enumerate(shown):
        if number:
            out.print()
        _print_category(out, result, one)


def _record(one: CategoryExplanation) -> dict[str, object]:
    return {**asdict(one), "contributions": [part._asdict() for part in one.contributions]}


def _print_category(out: object, result: Explanation, one: CategoryExplanation) -> None:
    from rich.text import Text

    verdict = "yes" if one.chosen else "no"
    head = Text(f"{one.category}", style="bold")
    head.append(f"  {verdict}, probability {one.probability:.3f}, score {one.score:+.2f}", style="")
    out.print(head)  # type: ignore[attr-defined]
    out.print(_highlighted(result, one))  # type: ignore[attr-defined]
    for part in one.contributions:
        colour = "green" if part.contribution > 0 else "red"
        line = Text(f"  {part.contribution:+8.3f}  ", style=colour)
        words = sorted({result.text[a:b].lower() for a, b in part.spans})
        line.append(part.feature + (f"  ({', '.join(words)})" if words and words != [part.feature] else ""))
        out.print(line)  # type: ignore[attr-defined]
    out.print(Text(f"  {one.intercept:+8.3f}  (intercept)", style="dim"))  # type: ignore[attr-defined]


def _highlighted(result: Explanation, one: CategoryExplanation) -> Text:
    """The text, words for the category in green, words against it in red; stronger ones underlined."""
    from rich.text import Text

    text = Text("  " + result.text.strip("\n"))
    shift = 2 - (len(result.text) - len(result.text.lstrip("\n")))
    strongest = max((abs(part.contribution) for part in one.contributions), default=0.0)
    for part in one.contributions:
        style = "green" if part.contribution > 0 else "red"
        if abs(part.contribution) >= 0.5 * strongest:
            style += " bold underline"
        for start, end in part.spans:
            text.stylize(style, start + shift, end + shift)
    return text
