"""One page with the tables and pictures in it, needing nothing beside it."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from html import escape

from lapwing.experiments.glm07.collection import Collection
from lapwing.experiments.glm07.tables import Runs, Table, compared_run, parameters

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1f2933; background: #fff; margin: 2rem auto; max-width: 60rem;
  padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2.4rem; }
.note, figcaption { color: #52606d; font-size: .92rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .95rem; }
th, td { padding: .25rem .8rem; text-align: right; white-space: nowrap; }
th { border-bottom: 2px solid #cbd2d9; font-weight: 600; }
tr + tr td { border-top: 1px solid #eef1f4; }
td.word, th.word { text-align: left; }
figure { margin: 1.5rem 0 2.5rem; } img { max-width: 100%; height: auto; }
summary { cursor: pointer; margin: 1rem 0; }
"""


def page(
    collection: Collection,
    runs: Runs,
    tables: Sequence[Table],
    text: Sequence[str],
    pictures: Mapping[str, tuple[str, bytes]],
) -> str:
    name = collection.paper.name if collection.paper else collection.name
    n, d = collection.train.shape
    left_out = f", {collection.left_out} others left out" if collection.left_out else ""
    parts = [
        f"<h1>GLM07 on {escape(name)}</h1>",
        f"<p>{n:,} training and {collection.test.shape[0]:,} test documents, {d:,} terms, "
        f"{len(collection.categories)} categories{left_out}.</p>",
        *(_table(table) for table in tables),
        "<h2>Differences, and where they come from</h2>",
        *(f"<p>{escape(paragraph)}</p>" for paragraph in text),
        "<h2>Figures</h2>",
        *(_picture(key, *made) for key, made in pictures.items()),
        "<h2>Every category</h2>",
        f"<details><summary>{len(collection.categories)} categories</summary>",
        _table(_categories(collection, runs), heading=False),
        "</details>",
    ]
    body = "\n".join(parts)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>GLM07 on {escape(name)}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _table(table: Table, heading: bool = True) -> str:
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


def _picture(key: str, caption: str, content: bytes) -> str:
    data = base64.b64encode(content).decode()
    return (
        f'<figure id="{key}"><img alt="{escape(caption)}" src="data:image/png;base64,{data}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def _categories(collection: Collection, runs: Runs) -> Table:
    names = [compared_run(method) for method in ("lasso", "ridge", "svm")]
    errors = [runs[name].errors("default") for name in names]
    f1 = [100.0 * runs[name].tables(threshold).f1() for name in names for threshold in ("default", "tuned")]
    kept = [parameters(runs[name]) for name in ("lasso/norm/all", "lasso/cv/all")]
    rows = tuple(
        (
            str(label), str(collection.positives[k]), str(int(collection.truth[:, k].sum())),
            *(str(e[k]) for e in errors), *(f"{value[k]:.1f}" for value in f1), *(str(c[k]) for c in kept),
        )
        for k, label in enumerate(collection.categories)
    )  # fmt: skip
    shown = ("lasso", "ridge", "SVM")
    return Table(
        "Every category",
        "Positive documents; test errors with default thresholds; F1 with default and tuned ones; non-zero "
        "parameters of the lasso, norm-based and by cross-validation.",
        (
            "category", "training", "test", *(f"errors, {m}" for m in shown),
            *(f"F1, {m}{t}" for m in shown for t in ("", ", tuned")), "norm", "CV",
        ),
        rows,
    )  # fmt: skip
