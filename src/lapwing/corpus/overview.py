"""What was understood of a corpus, said before anything is made of it: `lapwing train` begins with it.

Nothing here changes what is read. A remark is on what is likely to be a mistake of reading, with the option that would
read it otherwise.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from dataclasses import asdict, dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from lapwing.corpus.document import SPLITS, Corpus
from lapwing.corpus.fields import is_list
from lapwing.errors import CorpusError, some

MOST_FIELDS = 20  # columns that a message lists
SHOWN = 3  # of the largest and of the smallest classes
SEPARATORS = (";", "|", ",", "/", " & ", "\t")
LEAST_JOINED = 0.05  # share of the labels with a separator in them, from which it is worth a remark


@dataclass(frozen=True)
class Overview:
    """What a corpus was taken for.

    classes     every label with the number of its documents, the largest first
    reason      why the classes are taken for exclusive, or not
    split       documents of each part
    repeated    documents whose text another one before them has, too; `contradicting` of them with other labels
    columns     what is read beside the text, and what was found there
    remarks     what looks like a mistake, a sentence each
    """

    name: str
    format: str
    encoding: str
    documents: int
    classes: dict[str, int]
    exclusive: bool
    reason: str
    split: dict[str, int]
    unlabelled: int
    empty: int
    repeated: int
    contradicting: int
    remarks: tuple[str, ...]
    columns: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "remarks": list(self.remarks)}

    def lines(self) -> list[str]:
        """For a terminal: what there is, then the remarks."""
        how = ", ".join(part for part in (self.format, self.encoding) if part)
        documents = f"{self.documents:,} documents of {self.name}" + (f", read as {how}" if how else "")
        if len(self.split) > 1:
            parts = (f"{count:,} {part or 'in no part'}" for part, count in self.split.items())
            documents += f"; parts: {', '.join(parts)}"
        lines = [documents, f"{len(self.classes):,} {'classes' if self.exclusive else 'categories'}: {self._sizes()}"]
        lines.append(self.reason)
        if self.columns:
            lines.append(f"beside the text: {'; '.join(f'{name} {what}' for name, what in self.columns.items())}")
        odd = (
            ("" if self.exclusive else self.unlabelled, "have no label"),
            (self.empty, "have no text"),
            (self.repeated, "repeat the text of another"),
        )
        if said := [f"{count:,} {what}" for count, what in odd if count]:
            lines.append(f"of these documents {', '.join(said)}")
        return lines + [f"! {remark}" for remark in self.remarks]

    def _sizes(self) -> str:
        sizes = [f"{label} {count:,}" for label, count in self.classes.items()]
        if len(sizes) <= 2 * SHOWN + 1:
            return ", ".join(sizes)
        return f"{', '.join(sizes[:SHOWN])}, …, {', '.join(sizes[-SHOWN:])}"


def overview(corpus: Corpus, whole: Corpus | None = None) -> Overview:
    """What was understood of the documents to train on; `whole` is the corpus that they are part of, for its splits."""
    check_labelled(corpus)
    count = Counter(chain.from_iterable(corpus.labels))
    classes = dict(sorted(count.items(), key=lambda item: (-item[1], item[0])))
    of_split = Counter((whole or corpus).split)
    repeated, contradicting = _repeated(corpus)
    return Overview(
        name=corpus.name,
        format=corpus.source.get("format", ""),
        encoding=corpus.encoding.replace("utf-8", "UTF-8"),
        documents=len(corpus),
        classes=classes,
        exclusive=corpus.exclusive,
        reason=_reason(corpus),
        split={part: of_split[part] for part in (*SPLITS, "") if of_split[part]},
        unlabelled=sum(not labels for labels in corpus.labels),
        empty=0 if corpus.kind == "vectors" else sum(not text.strip() for text in corpus.documents),
        repeated=repeated,
        contradicting=contradicting,
        remarks=tuple(_remarks(corpus, classes, contradicting)),
        columns=_columns(corpus),
    )


def _columns(corpus: Corpus) -> dict[str, str]:
    """What stands in the numeric and categorical columns, and how often nothing does."""
    said = {}
    if corpus.times is not None and not (how := corpus.source.get("times", "!")).startswith("!"):
        ends = (
            str(time).removesuffix(".0").removesuffix("T00:00:00") for time in (min(corpus.times), max(corpus.times))
        )
        said["time"] = f"from {' to '.join(ends)}, read as {how}"
    for name in (*corpus.numeric, *corpus.categorical):
        values = [getattr(one, "values", {}).get(name) for one in corpus.documents]
        known: list[Any] = [value for value in values if value is not None]
        if name in corpus.numeric:
            what = f"from {min(known):g} to {max(known):g}" if known else "(nothing)"
        else:
            what = f"one of {some(sorted(set(known)), 4)}"
        said[name] = what + (f", {len(values) - len(known):,} unknown" if len(known) < len(values) else "")
    return said


def check_labelled(corpus: Corpus) -> None:
    """An error that lists what there is, where no document has a label."""
    if any(corpus.labels):
        return
    there = (
        f"; there are the columns {some(corpus.fields, MOST_FIELDS)}: say which holds the labels with label_column "
        "(--label-column)"
        if corpus.fields
        else ""
    )
    if corpus.source.get("format") == "text":
        there = "; a text file has one document per line, its label in front: __label__grain Wheat prices rose"
    raise CorpusError(f"training needs labelled documents, and none of these has a label{there}", corpus.name)


def _reason(corpus: Corpus) -> str:
    numbers = Counter(map(len, corpus.labels))
    if corpus.exclusive:
        return "one class per document, since each has exactly one label"
    several = sum(count for number, count in numbers.items() if number > 1)
    if several:
        mean = sum(number * count for number, count in numbers.items()) / len(corpus)
        return f"any number of labels per document, since {several:,} have several ({mean:.2f} on average)"
    if numbers[0]:
        return f"any number of labels per document, since {numbers[0]:,} have none"
    return "any number of labels per document, since they come as lists"


def _remarks(corpus: Corpus, classes: dict[str, int], contradicting: int) -> list[str]:
    remarks = [_lists(classes) or _joined(classes), *_alike(classes)]
    if (times := corpus.source.get("times", "")).startswith("!"):
        remarks.append(f"the time column has no order, which --folds time needs: {times[2:]}")
    if contradicting:
        many = ' (one that may have several has a list under "labels")' if corpus.exclusive else ""
        remarks.append(
            f"documents with the text of another one and other labels: {contradicting:,}; correct these{many}"
        )
    if not corpus.exclusive and set(map(len, corpus.labels)) == {1} and len(classes) > 1:
        remarks.append(
            'every document has exactly one label: if that is so by nature, give it as "label", not as a list, or '
            "leave --label-separator out, and classes are exclusive"
        )
    if len(classes) > 20 and 2 * len(classes) > len(corpus):
        remarks.append(
            f"{len(classes):,} labels for {len(corpus):,} documents: is that column the label (--label-column)?"
        )
    return [remark for remark in remarks if remark]


def _lists(classes: dict[str, int]) -> str:
    """Labels such as `["Comedy", "Drama"]`."""
    lists = [label for label in classes if is_list(label)]
    if 2 * len(lists) <= len(classes):
        return ""
    much = f"{len(lists):,} of {len(classes):,} labels, such as {lists[0]!r}"
    return f"{much}, are lists: --label-separator ',' takes them apart"


def _joined(classes: dict[str, int]) -> str:
    """Labels such as `Comedy,Drama`, whose parts are labels, too."""
    best = ("", 0, 0, "")
    for separator in SEPARATORS:
        joined = [label for label in classes if separator in label.strip(separator)]
        if len(joined) < 2 or len(joined) < LEAST_JOINED * len(classes):
            continue
        parts = Counter(part.strip() for label in classes for part in label.split(separator) if part.strip())
        again = [
            label for label in joined if all(parts[part.strip()] > 1 for part in label.split(separator) if part.strip())
        ]
        if 2 * len(again) > len(joined) and len(parts) < len(classes) and len(again) > best[1]:
            best = (separator, len(again), len(parts), again[0])
    separator, number, parts_, example = best
    if not number:
        return ""
    return (
        f"{number:,} of {len(classes):,} labels, such as {example!r}, look like several in one: "
        f"--label-separator {separator!r} makes {parts_:,} of them"
    )


def _alike(classes: dict[str, int]) -> list[str]:
    """Labels that differ only in case or blanks, or in nothing that is seen."""
    names: dict[str, list[str]] = {}
    for label in classes:
        plain = "".join(one for one in unicodedata.normalize("NFKC", label) if unicodedata.category(one) != "Cf")
        names.setdefault(" ".join(plain.casefold().split()), []).append(label)
    twins = [group for group in names.values() if len(group) > 1]
    if not twins:
        return []
    listed = "; ".join(" and ".join(f"{label!r} ({classes[label]:,})" for label in group) for group in twins[:SHOWN])
    rest = f"; and {len(twins) - SHOWN} more" if len(twins) > SHOWN else ""
    return [f"labels that differ only in case or blanks, or look the same, are different ones: {listed}{rest}"]


def _repeated(corpus: Corpus) -> tuple[int, int]:
    if corpus.kind == "vectors":
        return 0, 0
    # By hash: there may be more texts than memory holds.
    texts = np.fromiter((hash(text) if text.strip() else 0 for text in corpus.documents), np.int64, len(corpus))
    labels = np.fromiter(map(hash, corpus.labels), np.int64, len(corpus))[texts != 0]
    _, first, which = np.unique(texts[texts != 0], return_index=True, return_inverse=True)
    return len(which) - len(first), int(np.count_nonzero(labels != labels[first][which]))
