"""What the learning curves say: a table, and a picture."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path

from lapwing.experiments.fewlabel.run import Curves
from lapwing.experiments.shown import DPI, INK, LINES, check_matplotlib
from lapwing.formats.files import write_beside

HEAD = ("positives", "without", "with words", "gain", "better in")


def table_of(curves: Curves) -> list[tuple[str, ...]]:
    """Rows under HEAD: macro F1 × 100, mean ± standard deviation over draws; the gain is of the same draws."""
    rows = []
    for n, without, named in zip(curves.sizes, curves.without, curves.named, strict=True):
        gain = named - without
        cells = [f"{100 * arm.mean():.1f} ± {_spread(arm):.1f}" for arm in (without, named)]
        better = f"{int((gain > 0).sum())} of {len(gain)}"
        rows.append((str(n), *cells, f"{100 * gain.mean():+.1f} ± {_spread(gain):.1f}", better))
    return rows


def _spread(values: object) -> float:
    import numpy as np

    array = np.asarray(values)
    return float(100 * array.std(ddof=1)) if len(array) > 1 else 0.0


def picture(every: Sequence[Curves]) -> bytes:
    """One panel per corpus: mean and standard deviation over draws, PNG."""
    check_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6 * len(every), 3.6), layout="constrained")
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
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=DPI, metadata={"Software": None})
    return content.getvalue()


def write(every: Sequence[Curves], folder: Path) -> None:
    """results.json and few-labels.png."""
    folder.mkdir(exist_ok=True)
    record = {"experiment": "fewlabel", "corpora": [curves.to_dict() for curves in every]}
    write_beside(folder / "results.json", (json.dumps(record, indent=1) + "\n").encode())
    write_beside(folder / "few-labels.png", picture(every))
