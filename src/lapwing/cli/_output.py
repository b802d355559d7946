"""What commands print: tables, lines and JSON."""

from __future__ import annotations

import io
import json
import math
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table


MANY = 500  # categories, of which only SOME are shown
SOME = 50

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


def as_json_line(value: Any) -> str:
    """Letters as they are where the output can show them, else escaped."""
    readable = (getattr(sys.stdout, "encoding", None) or "").lower().replace("_", "-").startswith("utf")
    line = json.dumps(_finite(value), ensure_ascii=not readable)
    return _UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", line)  # they stand in strings only


# What a terminal obeys instead of showing it: control characters but for tab and line end, marks that turn the
# direction of writing, and line ends that are none to most programs.
_UNSEEN = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """What a terminal would obey, as one character that it shows: ␛ for an escape, U+FFFD where there is none."""
    return _UNSEEN.sub(_picture, text)


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    return chr(0x2400 + code) if code < 32 else "\u2421" if code == 127 else "\ufffd"


def echo(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a line; whatever comes from labels, names and texts is shown, not obeyed."""
    click.echo(visible(text), err=err, nl=nl)


def print_json(value: Any) -> None:
    echo(as_json_line(value))


def _finite(value: Any) -> Any:
    """JSON has no NaN and no infinity: null and a string."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if isinstance(value, dict):
        return {str(k): _finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(v) for v in value]
    return value


NO_LIMIT = 1 << 16  # columns, where no terminal sets a width


def width() -> int:
    """Columns of the terminal; elsewhere as many as the content needs."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else NO_LIMIT


def give(
    record: dict[str, Any], shown: Callable[[], Sequence[RenderableType]], page: str | None, *, as_json: bool
) -> None:
    """A result: as JSON, or as people read it, with a word on the page that was written of it."""
    if as_json:
        print_json(record)
        return
    show(*shown())
    if page is not None:
        echo(f"wrote {page}; open it in a browser")


def show(*parts: RenderableType) -> None:
    """Print one below the other: coloured and as wide as the terminal, elsewhere plain and unpadded.

    Labels and words are never read as markup.
    """
    from rich.console import Console

    plain = {"highlight": False, "markup": False, "emoji": False}
    if sys.stdout.isatty():
        console = Console(**plain)  # type: ignore[arg-type]
        for part in parts:
            console.print(_Visible(part))
        return
    buffer = io.StringIO()
    console = Console(file=buffer, width=NO_LIMIT, color_system=None, force_terminal=False, **plain)  # type: ignore[arg-type]
    for part in parts:
        console.print(_Visible(part))
    echo("\n".join(line.rstrip() for line in buffer.getvalue().splitlines()))


class _Visible:
    """Something that rich prints, its characters made visible before the colours are put around them."""

    def __init__(self, part: RenderableType) -> None:
        self.part = part

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        from rich.segment import Segment

        for segment in console.render(self.part, options):
            yield Segment(visible(segment.text), segment.style, segment.control)


def table(*columns: str, left: Sequence[int] = (0,)) -> Table:
    """An empty table without lines, numbers to the right; `left` are the columns of words."""
    from rich.table import Table

    grid = Table(box=None, pad_edge=False, header_style="bold")
    for number, name in enumerate(columns):
        words = number in left
        grid.add_column(name, justify="left" if words else "right", no_wrap=not words, overflow="fold")
    return grid


def fitting(columns: dict[str, list[str]], spare: Sequence[str]) -> dict[str, list[str]]:
    """Those columns that fit the terminal: of `spare` one after another is left out where they do not."""
    kept = dict(columns)
    for name in spare:
        if sum(2 + max(map(len, (head, *cells))) for head, cells in kept.items()) - 2 <= width():
            break
        del kept[name]
    return kept


def percent(value: float) -> str:
    return "" if math.isnan(value) else f"{100 * value:.1f}"


def largest_of(sizes: Sequence[int]) -> list[int]:
    """The places of those categories that are shown, of as many documents: all, as they come, or of very many SOME."""
    places = range(len(sizes))
    return list(places) if len(sizes) <= MANY else sorted(places, key=lambda k: (-sizes[k], k))[:SOME]
