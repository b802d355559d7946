"""`lapwing.report`: from a model, and labelled documents where there are any, to one HTML file."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lapwing.corpus import Corpus, Hierarchy
from lapwing.errors import InputError, some
from lapwing.evaluate import assess, stored_assessment
from lapwing.evaluate.documents import check_kind, check_labels, in_columns
from lapwing.evaluate.measures import memorised
from lapwing.evaluate.rolled import roll_up as rolled_up
from lapwing.files import output_target, write_beside
from lapwing.formats import load
from lapwing.model import LinearModel
from lapwing.reporting.contents import Contents, Rival, read_documents
from lapwing.reporting.live import refusal
from lapwing.reporting.page import page
from lapwing.reporting.path import category_to_follow, coefficient_path, no_path

PLACES = (1, 3, 5)  # of rankings
HALVES = 20  # of the training documents that a followed category is fitted to

Progress = Callable[[str, int, int], None]  # stage, how many more are done, how many in all


@dataclass(frozen=True, eq=False)
class Report:
    """The page, as HTML that needs nothing beside it, and what it shows.

    refusal    why it has no box to try texts in; None where it has one
    memorised  a warning where it is about documents that the model was trained on, else None
    """

    html: str
    contents: Contents

    @property
    def refusal(self) -> str | None:
        return refusal(self.contents.model)

    @property
    def memorised(self) -> str | None:
        seen = self.contents.assessment
        return None if seen is None else memorised(seen.evaluation.get("trained_on"))

    @property
    def evaluated(self) -> bool:
        return self.contents.assessment is not None


def report(
    model: Any,
    corpus: Corpus | None = None,
    path: str | os.PathLike[str] | None = None,
    *,
    rivals: Sequence[Any] = (),
    split: str | None = None,
    follow: Sequence[Hashable] | None = None,
    titles: Mapping[str, str] | None = None,
    roll_up: Hierarchy | str | None = None,
    progress: Progress | None = None,
) -> Report:
    """A report about a model: one HTML page that opens offline, with a box to try texts in.

    model    what `lapwing.load` gives, a model file, or a fitted classifier. With a file and without documents the
             page shows what `lapwing evaluate --store` kept beside it
    corpus   labelled documents, as `lapwing.corpus.read` gives them: the page shows how good the model is on those of
             `split` (the test part by default, all where there are no parts), its worst mistakes, and labels that
             look wrong
    path     the file to write
    rivals   other models, compared with this one on the same documents
    follow   categories whose coefficient path is fitted anew on the training part, or on all documents where there are
             no parts; None: one of them where there is a training part; (): none
    titles   readable names of categories that have codes, shown after these
    roll_up  a hierarchy of labels, or what separates broader ones from narrower ones in their names, such as "/": the
             broader ones are judged, too
    """
    name, linear = _named(model)
    others = [_named(rival) for rival in rivals]
    if path is not None:
        output_target(path, "path")  # before the work, not after
    if corpus is not None:
        contents = _on_documents(name, linear, others, corpus, split, follow, progress)
    elif others:
        raise InputError("models are compared on documents; give some")
    else:
        stored = stored_assessment(model, linear) if isinstance(model, str | os.PathLike) else None
        contents = Contents(name, linear, stored)
    contents = replace(contents, titles=dict(titles or {}))
    if roll_up is not None and corpus is not None:
        contents = replace(contents, levels=_levels(linear, corpus, split, roll_up))
    html = page(contents.to_dict())
    if path is not None:
        write_beside(path, html.encode())
    return Report(html, contents)


def _levels(model: LinearModel, corpus: Corpus, split: str | None, broader: Hierarchy | str) -> list[dict[str, Any]]:
    part = corpus.part(split or ("test" if corpus.has_splits else "all"))
    return rolled_up(part.labels, model.predict(in_columns(part, model)), broader)


def _title(path: str | os.PathLike[str]) -> str:
    return Path(path).name.removesuffix(".lapwing")


def _named(model: Any) -> tuple[str, LinearModel]:
    if isinstance(model, str | os.PathLike):
        return _title(model), load(model)
    linear = model if isinstance(model, LinearModel) else getattr(model, "model_", None)
    if not isinstance(linear, LinearModel):
        raise InputError(f"expected a model, a model file or a fitted classifier, got {type(model).__name__}")
    return str(linear.provenance.get("corpus", "model")), linear


def _on_documents(
    name: str,
    model: LinearModel,
    others: Sequence[tuple[str, LinearModel]],
    corpus: Corpus,
    split: str | None,
    follow: Sequence[Hashable] | None,
    progress: Progress | None,
) -> Contents:
    part = corpus.part(split or ("test" if corpus.has_splits else "all"))
    for one in (model, *(other for _, other in others)):
        check_kind(part.kind, one)
    check_labels(part, model)
    compared = []
    for title, other in others:
        documents = in_columns(part, other)
        compared.append(
            Rival(title, other, assess(other, [(documents, part.labels)], corpus.name, **_ranked(other))[1])
        )
        _tell(progress, "evaluating models", len(others) + 1)
    documents = in_columns(part, model)
    assessment = assess(model, [(documents, part.labels)], corpus.name, **_ranked(model))[1]
    _tell(progress, "evaluating models", len(others) + 1)
    shown = read_documents(model, part.documents, model.vectors(documents), part.ids, part.labels)
    paths, certainty = _followed(model, corpus, follow, progress)
    return Contents(name, model, assessment, shown, paths, certainty, compared)


def _ranked(model: LinearModel) -> dict[str, Any]:
    """Where a document may have several of many categories, their ranking is measured, too."""
    return {"at": PLACES} if not model.exclusive and len(model.classes) > 2 * PLACES[-1] else {}


def _followed(
    model: LinearModel, corpus: Corpus, follow: Sequence[Hashable] | None, progress: Progress | None
) -> tuple[dict[int, dict[str, Any]], dict[int, dict[str, Any]]]:
    """Of categories to be looked at closely, by the documents they were trained on: paths, and how sure the words."""
    if follow is None:
        rows = [category_to_follow(model)] if "train" in corpus.split and no_path(model) is None else []
    else:
        rows = [_row(model, name) for name in follow]
    if not rows:
        return {}, {}
    part = corpus.part("train") if corpus.has_splits else corpus
    matrix = model.vectors(in_columns(part, model))
    paths, certainty = {}, {}
    for row in rows:
        paths[row] = coefficient_path(model, row, matrix, part.labels, part.weights)
        if (sure := _certainty(model, row, matrix, part)) is not None:
            certainty[row] = sure
        _tell(progress, "fitting paths", len(rows))
    return paths, certainty


def _certainty(model: LinearModel, row: int, matrix: Any, part: Corpus) -> dict[str, Any] | None:
    """In how many halves of the documents each word stays, or between which ends its weight lies; None where the
    documents are not those of the fit."""
    from lapwing.training.summary import summary

    try:
        certainty = summary(model, model.categories[row], matrix, part.labels, top=None, halves=HALVES, n_jobs=-1)
    except InputError:
        return None
    words = {
        one.feature: [float(f"{end:.3g}") for end in one.interval] if one.interval is not None else one.share
        for one in certainty.words
    }
    return {"level": certainty.level, "halves": certainty.halves, "words": words}


def _row(model: LinearModel, name: Hashable) -> int:
    for number, label in enumerate(model.classes):
        if str(label) == str(name):
            return max(number - len(model.classes) + len(model.categories), 0)  # two exclusive classes share a row
    raise InputError(f"follow must name categories of the model, got {name!r}; it has {some(model.classes)}")


def _tell(progress: Progress | None, stage: str, total: int) -> None:
    if progress is not None:
        progress(stage, 1, total)
