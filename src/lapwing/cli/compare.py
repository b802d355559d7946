"""lapwing compare"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lapwing.cli._common import (
    SPLITS,
    ExistingPath,
    check_output,
    columns_of,
    read_documents,
    reading_options,
    split_part,
)
from lapwing.cli._output import give, json_option, table
from lapwing.cli._progress import progress_bar
from lapwing.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from lapwing.evaluate.comparison import ModelComparison, OnDocuments

WORDS = 4  # of each kind in a line of the terminal
REGRESSIONS = 3


@click.command("compare")
@click.argument("a", type=ExistingPath("a model file", folder=False))
@click.argument("b", type=ExistingPath("a model file", folder=False))
@click.argument("data", type=ExistingPath("documents (a file, folder or archive)"), required=False)
@click.option("-o", "--output", help="Write a page, too: one HTML file.")
@click.option("--split", type=SPLITS, help="Compare on this part of DATA; the test part by default.")
@click.option("--resamples", type=click.IntRange(min=100), default=1000, show_default=True,
              help="Draws of documents that intervals come from.")  # fmt: skip
@reading_options
@json_option
def command(
    a: str, b: str, data: str | None, output: str | None, split: str | None, resamples: int, reading: dict[str, Any],
    as_json: bool,
) -> None:  # fmt: skip
    """Show how model B differs from model A: words gained, lost and turned, category by category.

    With labelled documents in DATA, which neither was trained on: how many are decided differently, differences of F1
    and log loss with 95 % intervals, and the documents that B knows less of.
    """
    from lapwing import compare
    from lapwing.files import write_beside
    from lapwing.formats import load
    from lapwing.reporting.comparison import comparison_page

    if output is not None:
        check_output(output, data)
        if Path(output).exists() and any(Path(output).samefile(path) for path in (a, b)):
            raise InputError(f"-o must not be a file that is read, got {output!r}")
    first, second = load(a), load(b)
    reading = columns_of(second, columns_of(first, reading))
    with progress_bar(quiet=as_json) as progress:
        corpus = None if data is None else split_part(read_documents(data, reading, progress), split, "test")
        comparison = compare(first, second, corpus, resamples=resamples)
    if output is not None:
        names = [Path(path).name.removesuffix(".lapwing") for path in (a, b)]
        write_beside(output, comparison_page(comparison, *names).encode())
    give(comparison.to_dict(), lambda: _shown(comparison), output, as_json=as_json)


def _shown(comparison: ModelComparison) -> list[Table | str]:
    lines: list[Table | str] = []
    for names, which in ((comparison.only_a, "A"), (comparison.only_b, "B")):
        if names:
            lines.append(f"categories of {which} alone: {', '.join(map(str, names))}")
    changed = [one for one in comparison.words if one.changed or one.moved]
    if not changed:
        lines.append("the weights of all categories are the same")
    else:
        grid = table("category", "words", "gained", "lost", "turned", "the largest of them", left=(0, 5))
        for one in sorted(changed, key=lambda one: -one.changed):
            words = [f"+{word}" for word, _, _ in one.gained[:WORDS]] + [f"-{word}" for word, _, _ in one.lost[:WORDS]]
            words += [f"{word} {x:+.2f} → {y:+.2f}" for word, x, y in one.turned[:WORDS]]
            counts = (len(one.gained), len(one.lost), len(one.turned))
            grid.add_row(str(one.category), f"{one.kept[0]} → {one.kept[1]}", *map(str, counts), " ".join(words))
        lines.append(grid)
    return lines if comparison.documents is None else [*lines, "", *_on_documents(comparison.documents)]


def _on_documents(seen: OnDocuments) -> list[Table | str]:
    from lapwing.reporting.comparison import _row

    grid = table("", "A", "B", "B - A", f"{100 * seen.level:g} % interval")
    for name, one in seen.measures.items():
        grid.add_row(*_row(name, one))
    sure = [one for one in seen.categories if one.f1.sure]
    better, worse = ([str(one.category) for one in sure if (one.f1.difference > 0.0) is up] for up in (True, False))
    lines: list[Table | str] = [
        grid,
        "",
        f"{seen.differing} of {seen.documents} documents are decided differently; A alone is wrong about "
        f"{seen.only_a_wrong}, B alone about {seen.only_b_wrong} (McNemar: p = {seen.mcnemar:.2g})",
    ]
    for names, how in ((better, "better"), (worse, "worse")):
        if names:
            lines.append(f"F1 of B is {how} beyond its interval in: {', '.join(names)}")
    for record in seen.regressions[:REGRESSIONS]:
        before, after = record["probability"]
        text = " ".join((record["text"] or "")[:70].split())
        lines.append(
            f"B knows less: {record['id']}, {record['category']} {100 * before:.0f} % → {100 * after:.0f} %  {text}"
        )
    return lines
