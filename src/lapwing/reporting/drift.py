"""The page of `lapwing drift`."""

from __future__ import annotations

from lapwing.evaluate.drift import CategoryDrift, Drift
from lapwing.reporting.plain import histograms, intervals, paragraph, plain_page, section, table

MOST_PICTURES = 24
MOST_WORDS = 100
MEASURES = {
    "macro_f1": "macro F1",
    "micro_f1": "micro F1",
    "relative_log_loss": "log loss, that of the base rates being 1",
}


def drift_page(moved: Drift, model: str, data: str) -> str:
    facts = [
        ("model", model),
        ("new documents", f"{moved.documents:,}"),
        ("categories whose scores moved", f"{len(moved.alarms)} of {len(_tested(moved))}"),
        ("false alarms", f"any at a chance of {100 * moved.rate:g} %"),
    ]
    if moved.unknown is not None and moved.expected_unknown is not None:
        facts.append(("unknown words", f"{100 * moved.unknown:.1f} %, expected {100 * moved.expected_unknown:.1f} %"))
    parts = [_scores(moved), _shares(moved)]
    if moved.words is not None:
        parts.append(_words(moved))
    if moved.measured is not None:
        parts.append(_measured(moved.measured))
    return plain_page(f"{model} on {data}", "what moved, by lapwing", facts, parts)


def _tested(moved: Drift) -> list[CategoryDrift]:
    return sorted((one for one in moved.categories if one.p_value is not None), key=lambda one: one.p_value or 0.0)


def _scores(moved: Drift) -> str:
    tested = _tested(moved)
    if not tested:
        return section("Scores", paragraph(f"Nothing compared: {moved.remark}."))
    rows = [
        (one.category, f"{one.statistic:.1f}", f"{one.p_value:.3g}", "moved" if one.moved else "") for one in tested
    ]
    pictures = histograms(
        "Share of scores in each bin, lowest scores at the left: bars in training, dots now.",
        [(str(one.category), one.then, one.now) for one in tested[:MOST_PICTURES]],
    )
    said = "p-values are adjusted for the number of categories: any of them below the rate is an alarm."
    if moved.remark is not None:
        said += f" Not all are compared: {moved.remark}."
    return section("Scores", pictures, paragraph(said, note=True),
                   table(("category", "X²", "p-value", "alarm"), rows, words=(3,)))  # fmt: skip


def _shares(moved: Drift) -> str:
    ranked = sorted(moved.categories, key=lambda one: -max(one.prevalence or 0.0, one.prevalence_then))
    known = [one for one in ranked if one.prevalence is not None][:30]
    picture = intervals(
        "Estimated share of documents now, in percent, with its interval; the ring is the share in training",
        [(str(one.category), *(100 * (x or 0.0) for x in (one.low, one.prevalence, one.high))) for one in known],  # type: ignore[misc]
        [100 * one.prevalence_then for one in known],
    )
    rows = [(one.category, f"{100 * one.prevalence_then:.2f} %", *one.share_now) for one in ranked]
    said = paragraph("Cannot tell: both a tenth and ten times the odds of training agree with the scores.", note=True)
    grid = table(("category", "in training", "now", "interval"), rows)
    return section("How frequent categories are", picture if known else "", said, grid)


def _words(moved: Drift) -> str:
    words = moved.words or []
    rows = [
        (one.word, f"{100 * one.then:.2f} %", f"{100 * one.now:.2f} %", f"{one.p_value:.2g}")
        for one in words[:MOST_WORDS]
    ]
    said = (
        f"{len(words):,} of {moved.words_tested:,} words stand in another share of documents than in training, the "
        "surest first."
    )
    return section("Words", paragraph(said), table(("word", "then", "now", "p-value"), rows) if rows else "")


def _measured(measured: dict[str, dict[str, float | None]]) -> str:
    def shown(name: str, value: float | None) -> str:
        return "" if value is None else f"{value:.3f}" if name == "relative_log_loss" else f"{100 * value:.1f}"

    rows = [
        (MEASURES[name], shown(name, measured["then"][name]), shown(name, value))
        for name, value in measured["now"].items()
    ]
    return section("By the labels", table(("measure", "unseen documents, in training", "now"), rows))
