"""Labelled documents as a model takes them: of its kind, in its columns, with labels that it knows."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import Any

from lapwing.corpus import Corpus
from lapwing.errors import InputError, some
from lapwing.model import FeatureIndex, LinearModel

BLOCK = 2048

log = logging.getLogger("lapwing")


def check_kind(kind: str, model: LinearModel) -> None:
    trained_on = "vectors" if model.weighting is None else "texts"
    given = "vectors" if kind == "vectors" else "texts"
    if given != trained_on:
        how = "give svmlight vectors (--format svmlight)" if trained_on == "vectors" else "give the texts themselves"
        raise InputError(f"the model was trained on {trained_on}, and the data are {given}; {how}")


def check_labels(corpus: Corpus, model: LinearModel) -> None:
    """Without a label that the model knows there is nothing to compare."""
    labels = corpus.categories()
    if not labels:
        raise InputError(f"{corpus.name}: expected labelled documents, found no label; `lapwing classify` needs none")
    if not set(labels) & set(model.classes):
        raise InputError(
            f"{corpus.name}: expected labels of the model ({some(model.classes)}), found {some(labels)}; "
            "evaluate with data it was made for, or check --label-column and --label-separator"
        )


def warn_if_strange(names: Iterable[Any], columns: FeatureIndex, model: LinearModel) -> None:
    """Features that the model does not have are left out; where it has none of them, say so."""
    if not columns.knows_any(names):
        few = ", ".join(model.feature_names[:3])
        log.warning(
            "no feature of the first documents is one of the model's (%s, …): nothing speaks for any of them",
            few,
        )


def in_columns(corpus: Corpus, model: LinearModel) -> Any:
    """The documents of a corpus as the model takes them: texts, or vectors in its columns."""
    check_kind(corpus.kind, model)
    if corpus.kind != "vectors":
        return corpus.documents
    columns, names = FeatureIndex(model.feature_names), corpus.feature_names or ()
    warn_if_strange(names, columns, model)
    return columns.of_matrix(corpus.documents, names)


def blocks_of(corpus: Corpus, model: LinearModel) -> Iterator[tuple[Any, list[tuple[str, ...]]]]:
    """(documents, labels) of a corpus that has been read, in blocks."""
    documents = in_columns(corpus, model)
    for start in range(0, len(corpus), BLOCK):
        rows = slice(start, start + BLOCK)
        yield documents[rows], list(corpus.labels[rows])
