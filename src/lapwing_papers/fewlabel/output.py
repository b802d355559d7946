"""What the learning curves say: a table for every corpus, and a picture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lapwing_papers.fewlabel.run import Curves
from lapwing_papers.shown import INK, LINES, Reproduction, Table, check_matplotlib, new_figure, png

NOTES = (
    "Both arms see the same documents, and the smaller draws are part of the larger ones; everything, IDF weights "
    "included, is learnt from these documents only. Mean ± standard deviation over draws; gains are of equal draws.",
)


def reproduction(every: Sequence[Curves]) -> Reproduction:
    return Reproduction(
        experiment="fewlabel",
        title="Few labels, and words named in advance",
        about=f"Macro F1 × 100 on the test parts of {', '.join(curves.corpus for curves in every)}.",
        tables=tuple(map(table_of, every)),
        notes=NOTES,
        pictures={
            "few-labels": ("Macro F1 by number of positive documents: mean and standard deviation.", _png(every))
        },
        record={"corpora": [curves.to_dict() for curves in every]},
    )


def table_of(curves: Curves) -> Table:
    rows = []
    for n, without, named in zip(curves.sizes, curves.without, curves.named, strict=True):
        gain = named - without
        cells = [f"{100 * arm.mean():.1f} ± {_spread(arm):.1f}" for arm in (without, named)]
        better = f"{int((gain > 0).sum())} of {len(gain)}"
        rows.append((str(n), *cells, f"{100 * gain.mean():+.1f} ± {_spread(gain):.1f}", better))
    return Table(
        f"{curves.corpus}: macro F1 over {len(curves.categories)} categories",
        "",
        ("positives", "without", "with words", "gain", "better in"),
        tuple(rows),
        words=0,
    )


def _spread(values: np.ndarray) -> float:
    return float(100 * values.std(ddof=1)) if len(values) > 1 else 0.0


def _png(every: Sequence[Curves]) -> bytes:
    """One panel per corpus."""
    check_matplotlib()
    figure, _ = new_figure(4.6 * len(every), 3.6)
    figure.clear()
    axes = figure.subplots(1, len(every), squeeze=False)[0]
    for axis, curves in zip(axes, every, strict=True):
        for arm, label, colour in (
            (curves.named, "words named in advance", LINES[0]),
            (curves.without, "labels only", LINES[1]),
        ):
            mean = 100 * arm.mean(axis=1)
            spread = [_spread(row) for row in arm]
            axis.fill_between(curves.sizes, mean - spread, mean + spread, color=colour, alpha=0.18, linewidth=0)
            axis.plot(curves.sizes, mean, "o-", color=colour, label=label, markersize=4)
        axis.set_xscale("log")
        axis.set_xticks(curves.sizes, [str(n) for n in curves.sizes])
        axis.minorticks_off()
        axis.set_ylim(bottom=0)
        axis.set_title(f"{curves.corpus}, {len(curves.categories)} categories", color=INK, fontsize=10)
        axis.set_xlabel("positive documents per category")
        axis.set_ylabel("macro F1 × 100")
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(frameon=False, loc="lower right", fontsize=9)
    return png(figure)
