"""What the page shows, as plain values that become JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from lapwing.evaluate import Assessment, compare
from lapwing.evaluate.assessment import CategoryAssessment, memberships
from lapwing.evaluate.measures import BLOCK_SCORES, memorised, on_unseen
from lapwing.evaluate.mislabelled import ranked_suspects
from lapwing.model import LinearModel
from lapwing.reporting.live import refusal, text_tables, weight_tables
from lapwing.reporting.mistakes import MOST_MISTAKES, Decision, MistakeReader, Worst, ranked_mistakes

RATES = (0.8, 0.9, 0.95, 0.99)  # of coverage and precision that the page offers
MOST_SUSPECTS = 40
EXAMPLE = range(150, 900)  # characters of the text that stands in the box at first


@dataclass(frozen=True)
class Rival:
    """Another model, evaluated on the same documents."""

    name: str
    model: LinearModel
    assessment: Assessment


@dataclass(frozen=True)
class Contents:
    """All that goes into a report.

    assessment   of `model` on labelled documents, if any
    documents    what the page shows of them (see `read_documents`)
    paths        row of the model → what `coefficient_path` gave
    certainty    row of the model → {"level" of intervals or number of "halves", "words": word → interval or share}
    rivals       other models for the comparison
    """

    name: str
    model: LinearModel
    assessment: Assessment | None = None
    documents: dict[str, Any] = field(default_factory=dict)
    paths: dict[int, dict[str, Any]] = field(default_factory=dict)
    certainty: dict[int, dict[str, Any]] = field(default_factory=dict)
    rivals: Sequence[Rival] = ()
    live: dict[str, Any] | None = None  # who answers in the box; the page itself unless given
    levels: Sequence[dict[str, Any]] = ()  # how broader labels fare (evaluate/rolled.py)
    titles: Mapping[str, str] = field(default_factory=dict)  # readable names of categories that have codes

    def to_dict(self) -> dict[str, Any]:
        model, seen = self.model, self.assessment
        categories = _categories(self)
        shown = {
            "title": self.name,
            "facts": _facts(model, seen),
            "about": _about(model),
            "model": weight_tables(model, single="remote" in (self.live or {})),
            "live": self.live or live_tables(model),
            "categories": categories,
            "first": self._first(categories),
            "thresholds": model.has_thresholds,
            "calibrated": model.calibration is not None,
            "promises": _promises(model),
            "unseen": on_unseen(model.held_out) if "macro_f1" in model.held_out else None,
            "evaluation": None if seen is None else _evaluation(seen),
            "calibration": None if seen is None else _calibration(seen.evaluation["calibration"]),
            "selective": None if seen is None else seen.evaluation["selective"],
            "confusion": None if seen is None else seen.evaluation["confusion"],
            "levels": list(self.levels),
            "comparison": _comparison(self) if self.rivals and seen is not None else None,
            **self.documents,
        }
        return titled(shown, self.titles) if self.titles else shown

    def _first(self, categories: list[dict[str, Any]]) -> int:
        """The category to open first: one whose path was followed, if it has mistakes to read, else that with most."""

        def worth(k: int) -> tuple[bool, int, int]:
            one = categories[k]
            errors = one.get("errors") or 0
            return one["path"] is not None and (errors > 0 or self.assessment is None), errors, one["positives"] or 0

        return max(range(len(categories)), key=worth)


def titled(shown: dict[str, Any], titles: Mapping[str, str]) -> dict[str, Any]:
    """What is shown with categories under readable names, their own before them."""

    def name(label: Any) -> str:
        title = titles.get(str(label))
        return str(label) if title is None else f"{label} · {title}"

    shown["model"]["classes"] = [name(label) for label in shown["model"]["classes"]]
    for one in shown["categories"]:
        one["name"] = name(one["name"])
    confused = shown["confusion"]
    if confused:
        pairs = [{**one, "true": name(one["true"]), "chosen": name(one["chosen"])} for one in confused["pairs"]]
        shown["confusion"] = {**confused, "pairs": pairs}
    for one in (shown["comparison"] or {}).get("rows", ()):
        one["name"] = name(one["name"])
    for part in ("mistakes", "suspects"):
        if part in shown:
            shown[part] = [
                {**one, "labels": list(map(name, one["labels"])), "predicted": list(map(name, one["predicted"]))}
                for one in shown[part]
            ]
    return shown


def live_tables(model: LinearModel) -> dict[str, Any]:
    reason = refusal(model)
    return text_tables(model) if reason is None else {"refusal": reason}


def read_documents(
    model: LinearModel, documents: Any, matrix: Any, ids: Sequence[str], labels: Sequence[tuple[Any, ...]]
) -> dict[str, Any]:
    """The mistakes, the labels to look at, and an example for the box. A `row` is the number of a class."""
    wrong, strange = Worst(MOST_MISTAKES), Worst(MOST_SUSPECTS)
    known = set(model.categories)
    right = np.array([not known.isdisjoint(row) for row in labels], dtype=bool)
    for first, proba, truth, chosen in _by_category(model, matrix, labels):
        wrong.add(ranked_mistakes(proba, truth, chosen), proba, truth, first)
        found = ranked_suspects(proba, truth)
        strange.add(_once(found, truth) if model.exclusive else found, proba, truth, first)
        right &= (truth == chosen).all(axis=1)
    reader = MistakeReader(model, documents, ids, labels, model.predict(matrix))

    def doubt(one: Decision) -> tuple[int, int]:
        return one.document, -1 if model.exclusive else one.row

    doubted = set(map(doubt, strange))
    shown: dict[str, Any] = {
        "mistakes": [reader.record(one) | {"suspect": doubt(one) in doubted} for one in wrong],
        "suspects": [reader.record(one) for one in strange],
    }
    if model.weighting is not None:
        fitting = [i for i in np.flatnonzero(right).tolist() if len(documents[i]) in EXAMPLE]
        shown["example"] = (
            documents[max(fitting, key=lambda i: len(known.intersection(labels[i])))] if fitting else None
        )
    return shown


def _once(ranked: Iterable[tuple[int, float, int, int]], truth: np.ndarray) -> Iterable[tuple[int, float, int, int]]:
    """Of (rank, loss, document, class) one for every document: that of its label, whose loss is the largest, if any."""
    found: dict[int, tuple[int, float, int, int]] = {}
    for one in ranked:
        if one[2] not in found or truth[one[2:]]:
            found[one[2]] = one
    return found.values()


def _by_category(
    model: LinearModel, matrix: Any, labels: Sequence[tuple[Any, ...]]
) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
    """(number of the first, probabilities, labels, decisions) of categories, of all documents: as many at a time as
    have scores that fit in memory, and exclusive ones, which depend on each other, all at once."""
    truth = memberships(labels, model.classes)
    if model.exclusive:
        scores = model.scores(matrix)
        yield 0, model.class_proba(scores), truth.toarray(), model.decide(scores)
        return
    size = max(1, BLOCK_SCORES // max(len(labels), 1))
    for first in range(0, len(model.categories), size):
        rows = slice(first, min(first + size, len(model.categories)))
        scores = model.scores(matrix, rows=rows)
        yield first, model.probability(scores), truth[:, rows].toarray(), model.members(scores, rows)


def _categories(contents: Contents) -> list[dict[str, Any]]:
    model, seen = contents.model, contents.assessment
    fits, thresholds = model.fits, model.threshold_probabilities
    curves = model.provenance.get("variance_curves") or {}
    evaluated = {row["category"]: row for row in seen.evaluation["categories"]} if seen is not None else {}
    shared = len(model.classes) - len(model.categories)  # 1 where two exclusive classes share a row
    rows = []
    for number, label in enumerate(model.classes):
        k, first = max(number - shared, 0), number < shared
        gap = float(fits.gap[k]) / (abs(float(fits.objective[k])) or 1.0)
        threshold = float(thresholds[k])
        one: dict[str, Any] = {
            "name": str(label),
            "row": number,
            "positives": None if model.converted_from else _others(model) if first else int(fits.positives[k]),
            "kept": int(model.n_kept[k]),
            "variance": float(fits.variance[k]),
            "gap": None if np.isnan(gap) else gap,
            "converged": None if model.converted_from else bool(fits.converged[k]),
            "threshold": 1.0 - threshold if first else None if model.thresholds[k] == np.inf else threshold,
            "cv": curves.get(str(model.categories[k])),
            "path": contents.paths.get(k),
            "certainty": contents.certainty.get(k),
        }
        if first:
            one |= _turned(one["path"], one["certainty"])
        if seen is not None:
            row = evaluated[label]
            one |= {name: row[name] for name in ("errors", "precision", "recall", "f1", "auc")}
            one |= {"test": row["tp"] + row["fn"], "assessment": None, "calibration": None}
            if one["test"]:
                at = number - len(model.classes) + len(seen.categories)  # earlier files lack the first of two
                one["assessment"] = _assessed(seen.categories[at]) if at >= 0 else None
                one["calibration"] = _calibration(row["calibration"])
        rows.append(one)
    return rows


def _others(model: LinearModel) -> int | None:
    """Training documents of the first of two exclusive classes: those that are not of the second."""
    documents = model.provenance.get("documents")
    return None if documents is None else int(documents) - int(model.fits.positives[0])


def _turned(path: Any, certainty: Any) -> dict[str, Any]:
    """For the first of two exclusive classes: what speaks for the second speaks against it."""
    if path:
        path = path | {"coefficients": [[-weight for weight in line] for line in path["coefficients"]]}
    if certainty and certainty["level"] is not None:
        certainty = certainty | {"words": {word: [-high, -low] for word, (low, high) in certainty["words"].items()}}
    return {"path": path, "certainty": certainty}


def _assessed(one: CategoryAssessment) -> dict[str, Any]:
    """Without the thresholds that nothing is over."""
    over = sum(any(step) for step in one.grid)
    return {"positives": one.positives, "grid": one.grid[:over], "cuts": one.cuts}


def _evaluation(seen: Assessment) -> dict[str, Any]:
    evaluation = seen.evaluation
    return {
        "corpus": seen.corpus,
        "documents": seen.documents,
        "averages": evaluation["averages"],
        "accuracy": evaluation["accuracy"],
        "averaged": evaluation["categories_averaged"],
        "left_out": evaluation["categories_left_out"],
        "unknown": len(evaluation["labels_unknown_to_the_model"]),
        "memorised": memorised(evaluation.get("trained_on")),
        "ranking": evaluation.get("ranking"),
    }


def _promises(model: LinearModel) -> dict[str, Any] | None:
    """What a label of a set may at most lack in probability, and above which ones decisions are sure, by rate."""
    known = model.conformal
    if known is None:
        return None
    return {
        "documents": known.documents,
        "source": known.source,
        "coverage": [[rate, known.level(rate)] for rate in RATES],
        "precision": [[rate, known.precision_thresholds(rate).tolist()] for rate in RATES],
    }


def _calibration(record: dict[str, Any]) -> dict[str, Any]:
    """The measures, and of every bin the documents, the mean probability, the share that came true and its band."""
    bins = [
        [one["documents"], *(float(f"{value:.4g}") for value in (one["probability"], one["share"], *one["band"]))]
        for one in record["reliability"]
    ]
    return {name: value for name, value in record.items() if name != "reliability"} | {"bins": bins}


def _facts(model: LinearModel, seen: Assessment | None) -> list[list[str]]:
    provenance, fits = model.provenance, model.fits
    gaps = fits.gap / np.where(fits.objective == 0.0, 1.0, np.abs(fits.objective))
    count, corpus, prior = (provenance.get(name) for name in ("documents", "corpus", "prior"))
    if model.converted_from:
        facts = [["converted from", f"the {model.converted_from} file {corpus}"]]
    else:
        of = ["" if count is None else f"{int(count):,} documents", "" if corpus is None else str(corpus)]
        facts = [["trained on", " of ".join(filter(None, of))], ["date", str(provenance.get("date", ""))]]
    facts += [
        ["categories", f"{len(model.classes):,}" + (", exclusive" if model.exclusive else "")],
        ["features", f"{len(model.feature_names):,}, {model.n_kept.mean():.1f} kept per category"],
        ["prior", f"{str(prior).capitalize()}, variance {provenance.get('variance')}" if prior else ""],
    ]
    facts = [fact for fact in facts if fact[1]]
    if not np.isnan(gaps).all():
        facts.append(["largest relative gap", f"{np.nanmax(gaps):.1e}"])
    if seen is not None:
        averages = seen.evaluation["averages"]
        for kind in ("macro", "micro"):
            if (value := averages[kind]["f1"]) is not None:
                facts.append([f"{kind} F1", f"{100 * value:.2f}"])
    return facts


def _about(model: LinearModel) -> str:
    provenance = model.provenance
    if model.weighting is None:
        tokens = "vectors"
    else:
        text = model.weighting.settings
        tokens = f"{text.tokens} {'n-grams' if text.ngrams else 'tokens'}"
        if text.is_bag:
            shortest, longest = text.lengths
            tokens = f"n-grams of {shortest} to {longest} {'characters' if text.char_ngrams else 'tokens'}"
    parts = [*(f"lapwing {made}" for made in [provenance.get("lapwing")] if made), f"link {model.link}", tokens]
    if model.weighting is not None and model.weighting.settings.stems:
        parts.append(f"stemmer {model.weighting.settings.stemmer}")
    parts += [
        f"{key.replace('_', ' ')} {provenance[key]}"
        for key in ("solver", "tol", "threshold")
        if provenance.get(key) is not None
    ]
    return " · ".join(parts)


def _comparison(contents: Contents) -> dict[str, Any]:
    """Errors of every category that all models have and that occurs in the data (GLM07 Figure 6, Tables 1 to 3)."""
    assert contents.assessment is not None
    all_ = [Rival(contents.name, contents.model, contents.assessment), *contents.rivals]
    names = _distinct([one.name for one in all_])
    errors = [
        {row["category"]: row["errors"] for row in one.assessment.evaluation["categories"] if row["averaged"]}
        for one in all_
    ]
    common = [str(label) for label in errors[0] if all(label in other for other in errors)]
    grid = np.array([[by[label] for label in errors[0] if all(label in other for other in errors)] for by in errors])
    return {
        "models": [
            {
                "name": name,
                "features": float(one.model.n_kept.mean()),
                "errors": int(grid[k].sum()),
                "macro": one.assessment.evaluation["averages"]["macro"]["f1"],
                "micro": one.assessment.evaluation["averages"]["micro"]["f1"],
            }
            for k, (name, one) in enumerate(zip(names, all_, strict=True))
        ],
        "rows": [{"name": label, "errors": grid[:, j].tolist()} for j, label in enumerate(common)],
        "tests": [_test(names[a], names[b], grid[a], grid[b]) for a, b in combinations(range(len(all_)), 2)],
    }


def _test(a: str, b: str, mine: np.ndarray, theirs: np.ndarray) -> dict[str, Any]:
    test = compare(mine, theirs)
    return {"a": a, "b": b, "won": test.won, "lost": test.lost, "tied": test.tied, "p": test.p_value}


def _distinct(names: Sequence[str]) -> list[str]:
    return [name if names.count(name) == 1 else f"{name} ({k})" for k, name in enumerate(names, 1)]
