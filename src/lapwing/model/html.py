"""Models and explanations as HTML, for notebooks. Whatever comes from a text or a label is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lapwing.model.explain import CategoryExplanation, Explanation
    from lapwing.model.linear import LinearModel

FOR, AGAINST = "#1f77b4", "#d0700f"  # told apart by the colour-blind, and by their lines; readable on white and black
MOST_CHARACTERS = 6000
MOST_CATEGORIES = 20
_UNSEEN = re.compile(
    "[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def shown(text: object) -> str:
    """Escaped; control characters, and marks that turn the direction of writing, are named instead of obeyed."""
    return f"<bdi>{escape(_name(str(text)))}</bdi>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], words: Sequence[int] = (0,)) -> str:
    """Cells are HTML already; `words` are the columns set to the left."""

    def line(cells: Sequence[str], tag: str) -> str:
        return "".join(
            f'<{tag} style="text-align:{"left" if k in words else "right"};padding:.1em .6em">{cell}</{tag}>'
            for k, cell in enumerate(cells)
        )

    body = "".join(f"<tr>{line(cells, 'td')}</tr>" for cells in rows)
    return f"<table><thead><tr>{line(head, 'th')}</tr></thead><tbody>{body}</tbody></table>"


def explanation_html(explanation: Explanation, most: int = 3) -> str:
    """The most probable categories, each with the words that spoke for and against it underlined."""
    return "".join(_category(explanation.text, one) for one in explanation.categories[:most])


def _category(text: str, one: CategoryExplanation) -> str:
    verdict = "yes" if one.chosen else "no"
    parts = "".join(
        f'<tr><td style="text-align:right;color:{_colour(part.contribution)}">{part.contribution:+.3f}</td>'
        f'<td style="text-align:left">{shown(part.feature)}</td></tr>'
        for part in one.contributions[:12]
    )
    return (
        f'<div style="margin:.6em 0"><strong>{shown(one.category)}</strong> {verdict}, probability '
        f"{one.probability:.3f}, score {one.score:+.2f}"
        f'<div dir="auto" style="white-space:pre-wrap;max-height:20em;overflow:auto;margin:.4em 0;'
        f'unicode-bidi:isolate">{_marked(text, one)}</div>'
        f"<table>{parts}<tr><td>{one.intercept:+.3f}</td><td>(intercept)</td></tr></table></div>"
    )


def _colour(contribution: float) -> str:
    return FOR if contribution > 0 else AGAINST


def _marked(text: str, one: CategoryExplanation) -> str:
    """The text, its words underlined: solid for, dashed against, thicker the stronger."""
    spans = sorted((start, end, part.contribution) for part in one.contributions for start, end in part.spans)
    strongest = max((abs(part.contribution) for part in one.contributions), default=1.0) or 1.0
    pieces, at = [], 0
    for start, end, value in spans:
        if start < at or end > MOST_CHARACTERS:
            continue
        width = 3 if abs(value) > 0.5 * strongest else 2 if abs(value) > 0.15 * strongest else 1
        line = f"underline {'solid' if value > 0 else 'dashed'} {_colour(value)} {width}px"
        pieces.append(escape(_name(text[at:start])))
        pieces.append(
            f'<span style="text-decoration:{line};text-underline-offset:3px" title="{value:+.3f}">'
            f"{escape(_name(text[start:end]))}</span>"
        )
        at = end
    pieces.append(escape(_name(text[at : max(at, MOST_CHARACTERS)])) + (" …" if len(text) > MOST_CHARACTERS else ""))
    return "".join(pieces)


def _name(text: str) -> str:
    return _UNSEEN.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", text)


def model_html(model: LinearModel, words: int = 6) -> str:
    """What was trained on what, and the strongest words of every category."""
    prior, rows = model.provenance.get("prior"), []
    for row, label in list(enumerate(model.categories))[:MOST_CATEGORIES]:
        strongest = " ".join(
            f'<span style="color:{_colour(weight)}">{shown(name)}&nbsp;{weight:+.2f}</span>'
            for name, weight in model.row_features(row, words)
        )
        count = "" if model.converted_from else f"{model.fits.positives[row]:,}"
        rows.append((shown(label), count, f"{model.n_kept[row]:,}", strongest))
    more = len(model.categories) - len(rows)
    rest = f"<p>and {more:,} more categories</p>" if more > 0 else ""
    about = (
        f"{len(model.classes):,} {'exclusive classes' if model.exclusive else 'categories'}, "
        f"{len(model.feature_names):,} features"
        + (f"; {shown(model.origin)}" if model.origin else "")
        + (f", {shown(prior)} prior" if prior else "")
    )
    grid = table(("category", "positives", "features", "strongest words"), rows, words=(0, 3))
    return f"<div><p>{about}</p>{grid}{rest}</div>"
