"""The models of the suite: what a label is × how texts are read and fitted; and the questions they are asked."""

from __future__ import annotations

import io
import json
import logging
import random
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import lapwing
from lapwing.cli import main
from lapwing.model import LinearModel

FOUR = {  # labels as people make them, and words of each
    "crude oil": "oil gas barrel crude pipeline refinery",
    'the "grain"': "wheat corn harvest bushel farm crop",
    "l'argent & <b>co</b>": "bank rate currency dollar interest loan",
    "10": "ship port vessel cargo freight 石油",
}
TWO = {"not 'spam'": "meeting agenda lunch report don't minutes", "spam mail": "winner prize free cash claim naïve"}
ONE = {'in "scope"': "court judge appeal verdict law statute"}
COMMON = "prices said market year company week".split()
KNOWN_WORDS = 5  # of its label in a document
MANY_LABELS = 1_050  # more than the server answers of itself

TASKS: dict[str, dict[str, str]] = {
    "two classes": TWO,
    "many exclusive": FOUR,
    "several per document": FOUR,
    "one category": ONE,
}
KINDS: dict[str, list[str]] = {  # what `lapwing train` is told
    "words": [],
    "pairs": ["--word-ngrams", "1", "2"],
    "characters": ["--tokens", "char", "--char-ngrams", "1", "3"],
    "n-grams": ["--ngrams", "word", "--max-length", "4", "--cv-variances", "10,100"],
    "softmax": ["--multi-class", "multinomial", "--prior", "gaussian"],
    "probit": ["--link", "probit"],
    "robit": ["--link", "robit:4"],
    "columns": ["--numeric", "price", "--categorical", "source"],
    "updated": [],
    "converted from BBR": [],
    "glm07": ["--preset", "glm07"],
    "many labels": ["--preset", "many-labels"],
}
EXCLUSIVE = ("two classes", "many exclusive")
CASES = [
    f"{task}, {kind}"
    for task in TASKS
    for kind in KINDS
    if (kind != "softmax" or task in EXCLUSIVE)  # training refuses it: a softmax is over classes of which one is right
    and (kind != "converted from BBR" or task in EXCLUSIVE)  # a file of BBR holds a yes or no, one of BMR classes
    and (kind != "many labels" or task == "several per document")
]


class Question(NamedTuple):
    """A text, with the columns that some models read beside it; of a model of vectors the features."""

    text: str = ""
    columns: Mapping[str, Any] = MappingProxyType({})
    vector: Mapping[str, float] = MappingProxyType({})


class Words(NamedTuple):
    score: float
    intercept: float | None
    parts: dict[str, float]  # contribution by feature
    cut: int | None = None  # only so many are shown, the strongest


@dataclass(frozen=True)
class Answer:
    """To one question, by the names of the classes. What a face does not tell is None."""

    probabilities: dict[str, float]
    chosen: set[str]
    words: dict[str, Words] | None = None
    scores: list[float] | None = None


@dataclass(frozen=True)
class Case:
    name: str
    path: Path
    questions: list[Question]

    @cached_property
    def model(self) -> LinearModel:
        return lapwing.load(self.path)

    @property
    def reads_text(self) -> bool:
        return self.model.weighting is not None

    @property
    def has_columns(self) -> bool:
        return ", columns" in self.name

    @property
    def documents(self) -> Any:
        """As `LinearModel` takes them."""
        if self.has_columns:
            return [{"text": one.text, **one.columns} for one in self.questions]
        if self.reads_text:
            return [one.text for one in self.questions]
        return lapwing.model.FeatureIndex(self.model.feature_names).of_rows(
            [(list(one.vector), list(one.vector.values())) for one in self.questions]
        )

    def asked_of(self, k: int) -> list[str]:
        """The classes whose words are compared, most probable first: two, of every third question up to five."""
        wanted = self.wanted[k].probabilities
        return sorted(wanted, key=lambda name: -wanted[name])[: 2 if k % 3 else 5]

    @cached_property
    def wanted(self) -> list[Answer]:
        """By definition: scores are sums of weights and values, and one function makes probabilities of them."""
        model, documents = self.model, self.documents
        matrix = model.vectors(documents, method="plain")
        scores = matrix.toarray() @ model.weights.toarray().T + model.intercepts
        proba, chosen = model.class_proba(scores), model.decide(scores)
        names, shared = [str(label) for label in model.classes], len(model.classes) - len(model.intercepts)
        answers = []
        for i, row in enumerate(scores):
            words = {}
            for k, name in enumerate(names if self.reads_text else []):
                at, sign = (k - shared, 1.0) if k >= shared else (0, -1.0)
                values = sign * model.weights[at].multiply(matrix[i]).tocsr()
                parts = {model.feature_names[j]: v for j, v in zip(values.indices, values.data.tolist(), strict=True)}
                words[name] = Words(sign * row[at], sign * model.intercepts[at], parts)
            inside = {name for name, yes in zip(names, chosen[i], strict=True) if yes}
            answers.append(Answer(dict(zip(names, proba[i].tolist(), strict=True)), inside, words, row.tolist()))
        return answers


def command(*arguments: object, stdin: str = "") -> tuple[int, str, str]:
    """`lapwing` with these arguments, in this process: (exit code, output, what it said beside it)."""
    root, old = logging.getLogger(), sys.stdin
    handlers, level = root.handlers[:], root.level
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main([str(argument) for argument in arguments])
    except SystemExit as ended:
        code = ended.code
    finally:
        sys.stdin, root.handlers[:] = old, handlers
        root.setLevel(level)
    texts = []
    for stream in (out, err):
        stream.seek(0)
        texts.append(stream.read())
    assert isinstance(code, int)
    return code, *texts


def done(*arguments: object) -> None:
    code, _, said = command(*arguments)
    assert code == 0, said


def _records(task: str, topics: dict[str, str], n: int, seed: int) -> list[dict[str, Any]]:
    """Documents whose words are those of their labels, now and then of another; every tenth has a wrong label."""
    draw, names = random.Random(seed), list(topics)
    rows = []
    for i in range(n):
        labels = [names[i % len(names)]]
        if task == "several per document" and draw.random() < 0.4:
            labels = draw.sample(names, 2) if draw.random() < 0.7 else []
        if task == "one category" and i % 2:
            labels = []
        words = draw.choices(COMMON, k=4) + draw.choices(" ".join(topics.values()).split(), k=1)
        for label in labels:
            words += draw.choices(topics[label].split(), k=KNOWN_WORDS)
        draw.shuffle(words)
        if draw.random() < 0.1 and task != "several per document":
            labels = [draw.choice(names)]
        columns = {"price": round(draw.gauss(20, 8) + 10 * ("oil" in words), 2), "source": draw.choice(["a b", "web"])}
        rows.append({"text": " ".join(words), **columns, "labels": labels})
    return rows


def _questions(topics: dict[str, str]) -> list[Question]:
    every = [[words.split()[0] for words in topics.values()], [words.split()[-1] for words in topics.values()]]
    texts = ["", " \n", "oil", "zebra quagga", " ".join(every[0]), " ".join(every[1]).upper(), " ".join(COMMON)]
    texts += [" ".join(words.split()[1:6]) for words in topics.values()]
    texts += [
        f'{" ".join(words.split()[:2])}. Said: “don\'t” <b>{words.split()[3]}</b> & "x"' for words in topics.values()
    ]
    beside: list[dict[str, Any]] = [{}, {"price": 31.5, "source": "web"}, {"price": -4}, {"source": "never seen"}]
    return [Question(text, beside[k % len(beside)]) for k, text in enumerate(texts)]


def _lines(path: Path, records: list[dict[str, Any]], exclusive: bool) -> Path:
    rows = [{**row, "label": row["labels"][0]} if exclusive else row for row in records]
    if exclusive:
        rows = [{key: value for key, value in row.items() if key != "labels"} for row in rows]
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def made(name: str, folder: Path) -> Case:
    """Trained by the command, as a user would."""
    task, kind = name.split(", ")
    topics, exclusive = TASKS[task], task in EXCLUSIVE
    path = folder / f"{CASES.index(name)}.lapwing"
    if kind == "converted from BBR":
        return Case(name, path, _converted(task, path))
    if kind == "many labels":
        topics = {
            f"label {k:04}": f"word{k} {' '.join(FOUR['crude oil'].split()[k % 5 :])}" for k in range(MANY_LABELS)
        }
    records = _records(task, topics, 2 * len(topics) if kind == "many labels" else 96, seed=len(task))
    some = (
        [one for one in records[:64] if "10" not in one["labels"]] if kind == "updated" else records
    )  # a new category
    done("train", _lines(path.with_suffix(".jsonl"), some, exclusive), "-o", path, *KINDS[kind])
    if kind == "updated":
        done("update", path, _lines(path.with_suffix(".new.jsonl"), records[64:], exclusive), "-o", path)
    if kind == "many labels":
        return Case(
            name, path, [Question(text) for text in ("", "word7", "word3 oil gas", "unknown zebra crude word1049")]
        )
    return Case(name, path, _questions(topics))


def _converted(task: str, path: Path) -> list[Question]:
    """A file of BBR, or of BMR, as these write them; the questions are vectors."""
    draw, data, file = random.Random(5), path.with_suffix(".svm"), path.with_suffix(".bbr")
    classes = [1, 2, 3, 4] if task == "many exclusive" else [-1, 1]
    rows = [(label, {j: round(draw.random(), 3) for j in draw.sample(range(1, 9), 3)}) for label in classes * 20]
    text = "".join(
        f"{label} {' '.join(f'{j}:{v + (j == label) + (j == 5 and label == 1)}' for j, v in sorted(row.items()))}\n"
        for label, row in rows
    )
    data.write_text(text, encoding="utf-8")
    if task == "many exclusive":
        done("train", data, "-o", path, "--multi-class", "multinomial")
        done("convert", path, file, "--to", "bmr")
    else:
        done("bbr", "train", "-t", "3", data, file)
    done("convert", file, path)
    return [Question(vector={str(j): v for j, v in row.items()}) for _, row in rows[:6]] + [
        Question(),
        Question(vector={"99": 2.0}),
    ]
