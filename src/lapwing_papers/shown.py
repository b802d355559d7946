"""What every experiment makes of its figures: tables, pictures, one page with both, and files."""

from __future__ import annotations

import base64
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lapwing.corpus import Corpus
from lapwing.errors import InputError, MissingExtraError
from lapwing.files import write_beside
from lapwing.training import run_date

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 144
INK, PALE = "#1f2933", "#8a97a6"
LINES = ("#1b6ca8", "#d1495b", "#2e8b57", "#e08e0b", "#6a4c93", "#00798c", "#8c564b", "#555555")

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1f2933; background: #fff; margin: 2rem auto; max-width: 64rem;
  padding: 0 1rem; }
p { max-width: 46rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2.4rem; }
.note, figcaption { color: #52606d; font-size: .92rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .95rem; }
th, td { padding: .25rem .6rem; text-align: right; white-space: nowrap; }
th { border-bottom: 2px solid #cbd2d9; font-weight: 600; white-space: normal; vertical-align: bottom; }
tr + tr td { border-top: 1px solid #eef1f4; }
td.word, th.word { text-align: left; }
figure { margin: 1.5rem 0 2.5rem; } img { max-width: 100%; height: auto; }
summary { cursor: pointer; margin: 1rem 0; }
"""


@dataclass(frozen=True)
class Table:
    """Head and rows of equal length; the first `words` columns hold words, the others numbers."""

    title: str
    note: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1


@dataclass(frozen=True, eq=False, kw_only=True)
class Reproduction:
    """What an experiment came to: the same files and the same page for every paper.

    experiment   the paper's name;  title, about   of the page
    notes        how ours was made and where it is known to differ, a paragraph each
    pictures     file name → caption and PNG
    record       what results.json holds besides
    folded       a long table that the page opens on demand
    """

    experiment: str
    title: str
    about: str
    tables: tuple[Table, ...]
    notes: tuple[str, ...]
    pictures: dict[str, tuple[str, bytes]]
    record: dict[str, Any]
    folded: Table | None = None

    def to_dict(self) -> dict[str, Any]:
        """results.json"""
        about = {"experiment": self.experiment, "date": run_date()}
        return _plain({**about, **self.record, "notes": list(self.notes)})

    def page(self) -> str:
        """index.html"""
        folded = []
        if self.folded is not None:
            inside = table_html(self.folded, heading=False)
            folded = [f"<details><summary>{escape(self.folded.title)}</summary>{inside}</details>"]
        parts = [
            f"<p>{escape(self.about)}</p>",
            *map(table_html, self.tables),
            "<h2>Figures</h2>" if self.pictures else "",
            *(picture_html(key, *picture) for key, picture in self.pictures.items()),
            "<h2>How it was made, and where it differs</h2>",
            *(f"<p>{escape(paragraph)}</p>" for paragraph in self.notes),
            *folded,
        ]
        return document(self.title, parts)

    def write(self, folder: Path) -> None:
        """results.json, index.html and the pictures into `folder`, making it; a file appears when it is complete."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot make the folder {folder}: {error.strerror or error}") from error
        text = json.dumps(self.to_dict(), ensure_ascii=False, indent=1, allow_nan=False)
        files = {f"{name}.png": content for name, (_, content) in self.pictures.items()}
        files |= {"results.json": text.encode() + b"\n", "index.html": self.page().encode()}
        for name, content in files.items():
            write_beside(folder / name, content)


def both_parts(corpus: Corpus) -> tuple[Corpus, Corpus]:
    """The training and the test part."""
    if missing := sorted({"train", "test"} - set(corpus.split)):
        raise InputError(
            f"{corpus.name}: expected documents of splits train and test, found none of {missing[0]!r}; "
            "give a corpus with both, such as JSON lines with a key split"
        )
    return corpus.part("train"), corpus.part("test")


def near(table: str, cells: Mapping[str, tuple[float, float]], points: float = 2.5) -> str:
    """How many of the cells (paper, ours) are within so many points of print, and which is furthest."""
    off = {name: ours - paper for name, (paper, ours) in cells.items()}
    worst = max(off, key=lambda name: abs(off[name]))
    close = sum(abs(value) <= points for value in off.values())
    return (
        f"{table}: {close} of {len(off)} figures are within {points} points of print; furthest is {worst}, "
        f"{signed(off[worst])}."
    )


def signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")


def check_matplotlib() -> None:
    """Before hours of work, not after."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            'the figures need matplotlib, which is not installed; pip install "lapwing[experiments]"'
        ) from error


def new_figure(width: float, height: float) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(PALE)
    axes.tick_params(colors=INK, which="both")
    return figure, axes


def png(figure: Figure) -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=DPI, metadata={"Software": None})  # the same bytes everywhere
    return stream.getvalue()


def document(title: str, parts: Sequence[str]) -> str:
    """The parts as one HTML page, needing nothing beside it."""
    body = "\n".join([f"<h1>{escape(title)}</h1>", *parts])
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def p_value(p: float) -> str:
    """Three digits, as the papers print them, but never a plain zero."""
    return "< 0.001" if p < 0.0005 else f"{p:.3f}"


def table_html(table: Table, heading: bool = True) -> str:
    def row(cells: Sequence[str], tag: str) -> str:
        marked = (
            f"<{tag}{' class=word' if k < table.words else ''}>{escape(cell)}</{tag}>" for k, cell in enumerate(cells)
        )
        return f"<tr>{''.join(marked)}</tr>"

    above = f"<h2>{escape(table.title)}</h2>\n" if heading else ""
    note = f'<p class="note">{escape(table.note)}</p>\n' if table.note else ""
    rows = "\n".join(row(cells, "td") for cells in table.rows)
    head = row(table.head, "th")
    return f'{above}{note}<div class="wide"><table>\n<thead>{head}</thead>\n<tbody>\n{rows}\n</tbody></table></div>'


def picture_html(key: str, caption: str, content: bytes) -> str:
    data = base64.b64encode(content).decode()
    return (
        f'<figure id="{key}"><img alt="{escape(caption)}" src="data:image/png;base64,{data}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def _plain(value: Any) -> Any:
    """JSON has no NaN and no infinity: null, and a word."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
