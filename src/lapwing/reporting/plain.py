"""Pages without a script: headings, facts, tables and pictures, in the style of the report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

from lapwing.reporting.page import shell

_BODY = """<a class="skip" href="#main">Skip to the content</a>
<header class="top"><div><p class="kind">{{kind}}</p><h1>{{title}}</h1><dl class="facts">{{facts}}</dl></div></header>
<main id="main">{{sections}}</main>
"""
WIDTH, LABEL, ROW = 560, 170, 22  # of a picture: all of it, the names at its left, a line


def plain_page(title: str, kind: str, facts: Sequence[tuple[str, str]], sections: Sequence[str]) -> str:
    shown = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts)
    return shell(title, _BODY, kind=escape(kind), facts=shown, sections="".join(sections))


def section(heading: str, *parts: str) -> str:
    return f"<section><h2>{escape(heading)}</h2>{''.join(parts)}</section>"


def paragraph(text: str, *, note: bool = False) -> str:
    return f"<p{' class=note' if note else ''}>{escape(text)}</p>"


def table(head: Sequence[str], rows: Sequence[Sequence[Any]], words: Sequence[int] = ()) -> str:
    """The first column names the row; `words` are other columns of words."""

    def cell(tag: str, k: int, value: Any) -> str:
        kind = ' class="words"' if k in words else ""
        scope = ' scope="col"' if tag == "th" else ""
        return f"<{tag}{kind}{scope}>{escape(str(value))}</{tag}>"

    top = "".join(cell("th", k, name) for k, name in enumerate(head))
    body = "".join(
        f'<tr><th scope="row">{escape(str(row[0]))}</th>'
        + "".join(cell("td", k, value) for k, value in enumerate(row) if k)
        + "</tr>"
        for row in rows
    )
    return f'<div class="wide" tabindex="0"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def documents(records: Sequence[tuple[str, str, str]]) -> str:
    """(what is said of it, its beginning, all of its text) of each."""
    items = "".join(
        f'<li><details><summary>{escape(head)}<span class="start note">{escape(start)}</span></summary>'
        f'<div class="text">{escape(text)}</div></details></li>'
        for head, start, text in records
    )
    return f'<ul class="documents">{items}</ul>'


def intervals(caption: str, rows: Sequence[tuple[str, float, float, float]], mark: Sequence[float] = ()) -> str:
    """A picture of (name, low, value, high), one line each, and of each a mark beside it, as a ring, where given."""
    values = [x for _, *ends in rows for x in ends if math.isfinite(x)] + [x for x in mark if math.isfinite(x)] + [0.0]
    least, most = min(values), max(values)
    span = (most - least) or 1.0

    def at(x: float) -> float:
        return LABEL + 10 + (WIDTH - LABEL - 40) * (min(max(x, least), most) - least) / span

    height = ROW * len(rows) + 30
    parts = [f'<line class="zero" x1="{at(0):.1f}" x2="{at(0):.1f}" y1="0" y2="{height - 24}"/>']
    for k, (name, low, value, high) in enumerate(rows):
        y = ROW * k + ROW / 2
        parts.append(f'<text class="axis" x="{LABEL}" y="{y + 4}" text-anchor="end">{escape(name[:24])}</text>')
        parts.append(f'<line class="error" x1="{at(low):.1f}" x2="{at(high):.1f}" y1="{y}" y2="{y}"/>')
        parts.append(f'<circle class="dot solid" cx="{at(value):.1f}" cy="{y}" r="4"/>')
        if len(mark):
            parts.append(f'<circle class="ring" cx="{at(mark[k]):.1f}" cy="{y}" r="5"/>')
    for x in (least, most):
        parts.append(f'<text x="{at(x):.1f}" y="{height - 8}" text-anchor="middle">{x:.3g}</text>')
    return _figure(caption, parts, height)


def histograms(caption: str, rows: Sequence[tuple[str, Sequence[float], Sequence[float]]]) -> str:
    """Pictures of two distributions over the same bins, small: shares then as bars, now as dots."""
    figures = []
    for name, before, after in rows:
        most = max(*before, *after, 1e-9)
        width = 260 / max(len(before), 1)
        parts = []
        for k, (then, now) in enumerate(zip(before, after, strict=True)):
            x = 10 + k * width
            parts.append(
                f'<rect class="then" x="{x:.1f}" y="{100 - 90 * then / most:.1f}" width="{width * 0.85:.1f}" '
                f'height="{90 * then / most:.1f}"/>'
            )
            parts.append(
                f'<circle class="dot solid" cx="{x + width * 0.42:.1f}" cy="{100 - 90 * now / most:.1f}" r="3"/>'
            )
        parts.append('<line class="zero" x1="10" x2="270" y1="100" y2="100"/>')
        figures.append(_figure(name, parts, 112, 280))
    return f'{paragraph(caption, note=True)}<div class="charts">{"".join(figures)}</div>'


def _figure(caption: str, parts: Sequence[str], height: int, width: int = WIDTH) -> str:
    return (
        f'<figure><figcaption>{escape(caption)}</figcaption><svg viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-label="{escape(caption)}">{"".join(parts)}</svg></figure>'
    )
