"""The page of `lapwing compare`."""

from __future__ import annotations

from typing import Any

from lapwing.evaluate.comparison import CategoryChange, Interval, ModelComparison, OnDocuments
from lapwing.reporting.plain import documents, intervals, paragraph, plain_page, section, table

MOST_WORDS = 12  # of each kind and category
NAMES = {"macro_f1": "macro F1", "micro_f1": "micro F1", "log_loss": "log loss per document", "accuracy": "accuracy"}


def comparison_page(comparison: ModelComparison, a: str, b: str) -> str:
    facts = [("A", a), ("B", b)]
    parts = []
    if comparison.documents is not None:
        facts.append(("documents", f"{comparison.documents.documents:,}"))
        parts += _measured(comparison.documents)
    parts.append(_words(comparison))
    return plain_page(f"{a} and {b}", "two models compared by lapwing", facts, parts)


def shown(name: str, value: float) -> str:
    """F1 and accuracy in percent; the loss as it is."""
    return f"{value:.4f}" if name == "log_loss" else f"{100 * value:.2f}"


def signed(name: str, value: float) -> str:
    return f"{value:+.4f}" if name == "log_loss" else f"{100 * value:+.2f}"


def _row(name: str, one: Interval) -> tuple[str, ...]:
    ends = f"{signed(name, one.low)} to {signed(name, one.high)}"
    return NAMES[name], shown(name, one.a), shown(name, one.b), signed(name, one.difference), ends


def _measured(seen: OnDocuments) -> list[str]:
    level = f"{100 * seen.level:g} % interval"
    measures = table(("measure", "A", "B", "B − A", level), [_row(name, one) for name, one in seen.measures.items()])
    said = (
        f"{seen.differing:,} documents are decided differently. A alone is wrong about {seen.only_a_wrong:,}, B alone "
        f"about {seen.only_b_wrong:,}: were they equally good, so uneven a split would come with a chance of "
        f"{seen.mcnemar:.2g} (McNemar)."
    )
    ranked = sorted(seen.categories, key=lambda one: -abs(one.f1.difference))
    rows = [(str(one.category), 100 * one.f1.low, 100 * one.f1.difference, 100 * one.f1.high) for one in ranked[:25]]
    by_category = table(
        ("category", "documents", "decided differently", "F1 of A", "F1 of B", "B − A", level),
        [(one.category, one.positives, one.differing, *_row("macro_f1", one.f1)[1:]) for one in ranked],
    )
    parts = [
        section("On documents", measures, paragraph(said)),
        section("F1 by category", intervals("F1 of B minus F1 of A, in points, with intervals", rows), by_category),
    ]
    if seen.regressions:
        parts.append(section("Where B knows less than A", documents([_regression(one) for one in seen.regressions])))
    return parts


def _regression(one: dict[str, Any]) -> tuple[str, str, str]:
    before, after = one["probability"]
    labels = ", ".join(map(str, one["labels"])) or "no label"
    text = one["text"] or ""
    return (
        f"{one['id']} ({labels}): {one['category']} from {100 * before:.1f} % to {100 * after:.1f} %",
        " ".join(text[:160].split()),
        text,
    )


def _list(pairs: list[tuple[str, float, float]], *, both: bool = False) -> str:
    listed = [f"{word} {a:+.2f} → {b:+.2f}" if both else f"{word} {(b or a):+.2f}" for word, a, b in pairs[:MOST_WORDS]]
    return ", ".join(listed) + (f", and {len(pairs) - MOST_WORDS} more" if len(pairs) > MOST_WORDS else "")


def _words(comparison: ModelComparison) -> str:
    parts = []
    for names, which in ((comparison.only_a, "A"), (comparison.only_b, "B")):
        if names:
            parts.append(paragraph(f"Categories of {which} alone: {', '.join(map(str, names))}."))
    changed = sorted(comparison.words, key=lambda one: -one.changed)
    head = ("category", "words of A", "words of B", "gained", "lost", "turned", "moved")
    counts = [
        (one.category, *one.kept, len(one.gained), len(one.lost), len(one.turned), len(one.moved)) for one in changed
    ]
    return section("Words", *parts, table(head, counts), *map(_category, changed))


def _category(one: CategoryChange) -> str:
    kinds = (
        ("gained", one.gained, False), ("lost", one.lost, False), ("turned", one.turned, True),
        ("moved most", one.moved, True),
    )  # fmt: skip
    lines = [(what, _list(pairs, both=both)) for what, pairs, both in kinds if pairs]
    if not lines:
        return ""
    sentences = [f"{what}: {words}" for what, words in lines]
    return documents([(str(one.category), sentences[0], "\n\n".join(sentences))])
