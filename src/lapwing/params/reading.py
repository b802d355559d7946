"""The part of the table that says how documents are read; what each is to a format, `lapwing.corpus.ReadOptions`."""

from __future__ import annotations

import os
from dataclasses import dataclass

from lapwing.params.parameter import parameter

FIRST, DATA = "Most used", "Data"


@dataclass(frozen=True)
class ReadParameters:
    encoding: str | None = parameter(None, "Text encoding; UTF-8 unless the format has its own.", group=DATA)
    text_column: str | int | None = parameter(
        None, "Column (name or number) or JSON key of the text.", group=FIRST, kind="column"
    )
    label_column: str | int | None = parameter(
        None, "Column (name or number) or JSON key of the label.", group=FIRST, kind="column"
    )
    label_separator: str | None = parameter(
        None, "Between several labels in one cell; a list in a cell is taken apart, too.", group=FIRST
    )
    time_column: str | int | None = parameter(
        None, "Column, JSON key or mail header that says when a document was written.", group=DATA, kind="column"
    )
    group_column: str | int | None = parameter(
        None, "Column, JSON key or mail header of a document's group; groups stay together.", group=DATA, kind="column"
    )
    numeric_columns: tuple[str, ...] = parameter(
        (), "Columns or JSON keys of numbers to learn from beside the text, such as price,age.", group=DATA,
        flag="numeric", kind="names", metavar="NAMES",
    )  # fmt: skip
    categorical_columns: tuple[str, ...] = parameter(
        (), "Columns or JSON keys that hold one of several values, to learn from beside the text.", group=DATA,
        flag="categorical", kind="names", metavar="NAMES",
    )  # fmt: skip
    folder_level: int | None = parameter(
        None, "Folders: take the class from the folder at this level, 1 for the first, -1 for the last.", group=DATA
    )
    label_from: str | None = parameter(
        None, "Folders: take the class from the path, as this regular expression finds it (its first group).",
        group=DATA, metavar="REGEX",
    )  # fmt: skip
    header: bool = parameter(
        True, "The first row of a CSV or TSV file is data, not names.", group=DATA, flag="no-header"
    )
    qrels: str | os.PathLike[str] | None = parameter(
        None, "RCV1: the file with the topics of each document.", group=DATA, rare=True
    )
    reuters_split: str = parameter(
        "modapte", "Reuters-21578: which split.", group=DATA, rare=True, choices=("modapte", "modlewis", "modhayes")
    )
    smart_require: str = parameter(
        "", "SMART records: fields that must not be empty, such as TWM.", group=DATA, rare=True
    )
    max_document: int = parameter(
        64_000_000, "Largest document to accept.", group=DATA, rare=True, kind="size", start="64MB", least=1
    )
    max_expansion: float = parameter(
        200.0, "Largest ratio of uncompressed to compressed size to accept.", group=DATA, rare=True, least=1, most=1e12
    )
    skip_bad: bool = parameter(False, "Skip broken records, and say how many there were.", group=DATA)
    split: str | None = None
    categories: tuple[str, ...] | None = None
    labels_required: bool = True
    quote: str = '"'
    reuters_labels: str = parameter("topics", choices=("topics", "places", "people", "orgs", "exchanges"))
    reuters_text: str = parameter("all", choices=("all", "glm07"))
