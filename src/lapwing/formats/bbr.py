"""Model files of BBR (one category) and BMR (polytomous), read and written token by token.

BBR 4.03, whose reader goes by tokens and ignores line ends; betas in the order of topicFeats, the intercept last:

    Bayesian Binary Regression ver 2
    tfMethod 0 | idfMethod 0 | cosineNormalize 0 | featRestrict 1 2 3 …
    endofheader
    modelname M | topic <class> | modelType link optimizer threshold-tuning standardize | design 0
    topicFeats 1 2 … | beta b1 b2 … intercept | threshold t
    endoftopic

BMR 3.03, whose reader goes by lines; the intercept is feature 0, last:

    Bayesian Polytomous Regression model file ver 2.5
    classes 1 2 3 | tfMethod 0 | idfMethod 0 | cosineNormalize 0 | featRestrict 1 2 3 …
    nDesignParams d | modelType … | design 0 | topicFeats 1 2 3 …
    endofheader
    betaClassSparse CLASS id:coefficient …

A document is in the category if its score is at least the threshold; -DBL_MAX says yes to everything.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import numpy as np
import scipy.sparse as sp

from lapwing.errors import InputError, ModelFileError
from lapwing.formats.files import write_beside
from lapwing.model.linear import FitSummary, LinearModel
from lapwing.stats.links import as_link

BBR_TITLE = "Bayesian Binary Regression"
BMR_TITLES = (
    "Bayesian Polytomous Regression",
    "Bayesian Multinomial Regression",
    "Multinomial logistic regression model format",
    "Model file produced by BMR",
)
LINK_CODES = {"probit": 0, "logit": 1}
EVERYTHING = -sys.float_info.max


@dataclass(frozen=True)
class BbrModel:
    """One category over features that are whole numbers.

    features        those that training knew
    weights         feature → coefficient, zeros left out
    threshold       on the linear score, which must reach it
    tuned           BBR's number of the rule by which it was tuned (-t)
    """

    features: tuple[int, ...]
    weights: dict[int, float]
    intercept: float
    threshold: float = 0.0
    name: str = ""
    topic: str = "<class>"
    link: str = "logit"
    cosine: bool = False
    standardized: bool = False
    tuned: int = 0

    def scores(self, ids: Sequence[str], matrix: sp.csr_matrix) -> np.ndarray:
        """Linear scores of documents whose columns are these ids."""
        beta = np.array([self.weights.get(int(i), 0.0) for i in ids])
        return np.asarray(normalized(matrix, self.cosine) @ beta).ravel() + self.intercept

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        return as_link(self.link).probability(scores)

    def decide(self, scores: np.ndarray, probability: float | None = None) -> np.ndarray:
        """True where the score reaches the threshold, or that of the given probability."""
        return np.asarray(scores >= (self.threshold if probability is None else score_of(probability, self.link)))


@dataclass(frozen=True)
class BmrModel:
    """A polytomous model: one row of coefficients per class, softmax over them."""

    classes: tuple[str, ...]
    features: tuple[int, ...]
    weights: tuple[dict[int, float], ...]
    intercepts: tuple[float, ...]
    name: str = ""
    cosine: bool = False
    standardized: bool = False
    reference: int | None = field(default=None)

    def probabilities(self, ids: Sequence[str], matrix: sp.csr_matrix) -> np.ndarray:
        """(n, classes), rows adding up to 1."""
        beta = np.array([[row.get(int(i), 0.0) for row in self.weights] for i in ids]).reshape(-1, len(self.classes))
        scores = normalized(matrix, self.cosine) @ beta + np.array(self.intercepts)
        scores -= scores.max(axis=1, keepdims=True)
        odds = np.exp(scores)
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def score_of(probability: float, link: str = "logit") -> float:
    """The linear score with this probability; the largest numbers there are for 0 and 1, as in BBR."""
    if not 0.0 <= probability <= 1.0:
        raise InputError(f"expected a probability between 0 and 1, got {probability!r}")
    if probability in (0.0, 1.0):
        return EVERYTHING if probability == 0.0 else -EVERYTHING
    return float(as_link(link).quantile(np.asarray(probability)))


def normalized(matrix: sp.csr_matrix, cosine: bool) -> sp.csr_matrix:
    """Rows divided by their Euclidean norms, over all features they have, where asked for."""
    if not cosine:
        return matrix
    norms = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    norms[norms == 0.0] = 1.0
    return sp.csr_matrix(sp.diags_array(1.0 / norms) @ matrix)


# Reading


def kind_of(path: str | os.PathLike[str]) -> str:
    """ "bbr", "bmr", or "" for any other file, by its first line."""
    try:
        with open(path, "rb") as stream:
            first = stream.readline(200)
    except OSError as error:
        raise ModelFileError(f"cannot read the model file {path}: {error.strerror or error}") from error
    if first.startswith(BBR_TITLE.encode()):
        return "bbr"
    return "bmr" if first.startswith(tuple(title.encode() for title in BMR_TITLES)) else ""


def read_bbr_model(path: str | os.PathLike[str]) -> BbrModel:
    """A model that BBRtrain wrote; of several topics in one file the first."""
    text = _text(path, BBR_TITLE, "BBR")
    return _Tokens(path, text.partition("\n")[2]).model()


def read_bmr_model(path: str | os.PathLike[str]) -> BmrModel:
    """A model that BMRtrain wrote, with or without the word featRestrict, which its release 3.03 leaves out."""
    lines = iter(_text(path, BMR_TITLES, "BMR").split("\n")[1:])
    said: dict[str, list[str]] = {}
    for line in lines:
        words = line.split()
        if words and words[0] == "endofheader":
            break
        if words and words[0].isdecimal():
            words = ["featRestrict", *words]
        if words:
            said[words[0]] = words[1:]
    else:
        raise ModelFileError(f"{path}: expected endofheader, and the file ends; it is truncated")
    rows: dict[str, dict[int, float]] = {}
    for line in lines:
        words = line.split()
        if words and words[0] == "betaClassSparse" and len(words) > 1:
            rows[words[1]] = dict(_pairs(path, words[2:]))
        elif words and words[0] != "endofbeta":
            raise ModelFileError(f"{path}: expected lines of betaClassSparse, got {line[:60]!r}")
    classes = tuple(said.get("classes", list(rows)))
    if len(classes) < 2 or set(rows) - set(classes):
        raise ModelFileError(f"{path}: expected two or more classes and coefficients of those only")
    numbers = _numbers(path, said.get("modelType", []), float)
    found = [rows.get(label, {}) for label in classes]
    named = _numbers(path, said.get("featRestrict") or said.get("topicFeats", []), int)
    features = {int(i) for i in named}.union(*found) - {0}
    _check_header(path, said.get("tfMethod"), said.get("idfMethod"))
    return BmrModel(
        classes,
        tuple(sorted(features)),
        tuple({i: b for i, b in row.items() if i != 0} for row in found),
        tuple(row.get(0, 0.0) for row in found),
        name=" ".join(said.get("modelname", [])),
        cosine=said.get("cosineNormalize", ["0"]) == ["1"],
        standardized=len(numbers) > 3 and numbers[3] != 0,
    )


def _text(path: str | os.PathLike[str], titles: str | tuple[str, ...], program: str) -> str:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ModelFileError(f"cannot read the model file {path}: {error.strerror or error}") from error
    except UnicodeDecodeError:
        text = ""
    if not text.startswith(titles):
        raise ModelFileError(f"{path}: expected a model file of {program}; `lapwing convert` has what else there is")
    return text


def _pairs(path: object, words: Sequence[str]) -> Iterator[tuple[int, float]]:
    for word in words:
        feature, _, value = word.partition(":")
        (number,) = _numbers(path, [feature if feature != "@constant" else "0"], int)
        (amount,) = _numbers(path, [value], float)
        yield int(number), float(amount)


def _numbers(path: object, words: Sequence[str], kind: type) -> list[float]:
    try:
        values = [kind(word) for word in words]
    except ValueError:
        wrong = next(word for word in words if not _is_a(word, kind))
        raise ModelFileError(f"{path}: expected a number, got {wrong[:40]!r}") from None
    if any(math.isnan(value) or math.isinf(value) for value in values) or (kind is int and min(values, default=0) < 0):
        raise ModelFileError(f"{path}: expected finite numbers, and features of 0 or more")
    return values


def _is_a(word: str, kind: type) -> bool:
    try:
        kind(word)
    except ValueError:
        return False
    return True


def _check_header(path: object, *methods: list[str] | None) -> None:
    if any(method not in (None, ["0"]) for method in methods):
        raise ModelFileError(f"{path}: the model weighs counts by itself (tfMethod, idfMethod), which is not supported")


class _Tokens:
    """BBR's tokens: a keyword, and what follows up to the next."""

    HEADER = ("tfMethod", "idfMethod", "cosineNormalize", "featRestrict", "idf", "ngroups", "endofheader")
    TOPIC = ("modelname", "topic", "modelType", "design", "topicFeats", "beta", "threshold", "endoftopic",
             "betaHierSparse", "betaSparse")  # fmt: skip

    def __init__(self, path: object, text: str) -> None:
        self.path = path
        self.said: dict[str, list[str]] = {}
        words = iter(text.split())
        keyword = ""
        expected: tuple[str, ...] = self.HEADER
        for word in words:
            if word in expected and not (keyword == "topic" and not self.said["topic"]):
                keyword = word
                self.said[keyword] = []
                if keyword == "endofheader":
                    expected = self.TOPIC
                elif keyword == "endoftopic":
                    return
            elif not keyword:
                self.fail(f"expected a keyword, got {word[:40]!r}")
            else:
                self.said[keyword].append(word)
        self.fail("expected endoftopic, and the file ends; it is truncated")

    def fail(self, message: str) -> NoReturn:
        raise ModelFileError(f"{self.path}: {message}")

    def model(self) -> BbrModel:
        said = self.said
        if "ngroups" in said or "betaHierSparse" in said:
            self.fail("the model has groups (-g), which are not supported")
        _check_header(self.path, said.get("tfMethod"), said.get("idfMethod"))
        for needed in ("topicFeats", "beta"):
            if needed not in said:
                self.fail(f"expected {needed}, found none")
        features = [int(i) for i in _numbers(self.path, said["topicFeats"], int)]
        beta = _numbers(self.path, said["beta"], float)
        if len(beta) != len(features) + 1 or len(set(features)) != len(features):
            self.fail(f"expected {len(features) + 1} betas, one per feature and the intercept, got {len(beta)}")
        kinds = _numbers(self.path, said.get("modelType", ["1"])[:4], float) + [0.0] * 4
        links = {code: link for link, code in LINK_CODES.items()}
        if kinds[0] not in links:
            self.fail(f"expected a link of 1 (logistic) or 0 (probit), got {kinds[0]:g}")
        threshold = _numbers(self.path, said.get("threshold", ["0"]), float)
        if len(threshold) != 1:
            self.fail(f"expected one threshold, got {len(threshold)}")
        known = {int(i) for i in _numbers(self.path, said.get("featRestrict", []), int)}
        return BbrModel(
            tuple(sorted(known.union(features))),
            {i: b for i, b in zip(features, beta, strict=False) if b != 0.0},
            beta[-1],
            threshold[0],
            name=" ".join(said.get("modelname", [])),
            topic=" ".join(said.get("topic", [])) or "<class>",
            link=links[int(kinds[0])],
            cosine=said.get("cosineNormalize", ["0"]) == ["1"],
            standardized=kinds[3] != 0,
            tuned=int(kinds[2]),
        )


# Writing


def write_bbr_model(model: BbrModel, path: str | os.PathLike[str]) -> None:
    """Beside `path`, then renamed: as BBRtrain 4.03 lays it out, to the blank."""
    order = sorted(model.weights)
    kinds = (LINK_CODES[model.link], 1, model.tuned, int(model.standardized))
    lines = [
        f"{BBR_TITLE} ver 2",
        "tfMethod 0",
        "idfMethod 0",
        f"cosineNormalize {int(model.cosine)}",
        " ".join(["featRestrict", *map(str, model.features)]),
        "endofheader",
        f"modelname {model.name}",
        f"topic {model.topic}",
        f"modelType {' '.join(map(str, kinds))} ",
        "design 0",
        " ".join(["topicFeats", *map(str, order)]),
        " ".join(["beta", *(f"{model.weights[i]:.12e}" for i in order), f"{model.intercept:.12e}"]),
        f"threshold {model.threshold:.12e}",
        "endoftopic",
    ]
    write_beside(Path(path), ("\n".join(lines) + "\n").encode())


def write_bmr_model(model: BmrModel, path: str | os.PathLike[str]) -> None:
    """With the word featRestrict, without which BMRclassify knows no feature."""
    kinds = (1, 1, 0, int(model.standardized), 0 if model.reference is None else model.reference)
    lines = [
        f"{BMR_TITLES[0]} model file ver 2.5",
        " ".join(["classes", *model.classes]),
        "tfMethod 0",
        "idfMethod 0",
        f"cosineNormalize {int(model.cosine)}",
        " ".join(["featRestrict", *map(str, model.features)]),
        f"modelname {model.name}",
        f"nDesignParams {len(model.features) + 1}",
        f"modelType {' '.join(map(str, kinds))} ",
        "design 0",
        " ".join(["topicFeats", *map(str, model.features)]),
        "endofheader",
    ]
    for label, row, intercept in zip(model.classes, model.weights, model.intercepts, strict=True):
        cells = [f"{i}:{row[i]:.12e}" for i in sorted(row)] + [f"0:{intercept:.12e}"] * (intercept != 0.0)
        lines.append(" ".join(["betaClassSparse", label, *cells]))
    write_beside(Path(path), ("\n".join(lines) + "\n").encode())


# To and from our own


def to_linear(model: BbrModel, source: str) -> LinearModel:
    """Two exclusive classes, "-1" and "1". Ours says yes above the threshold, BBR's from it on."""
    _check_norm(model.cosine, source)
    names = [str(i) for i in model.features]
    weights = np.array([[model.weights.get(i, 0.0) for i in model.features]]).reshape(1, -1)
    return LinearModel(
        link=model.link, classes=("-1", "1"), exclusive=True, weights=sp.csr_matrix(weights),
        intercepts=np.array([model.intercept]),
        thresholds=np.array([math.nextafter(model.threshold, -math.inf)]),
        feature_names=names, weighting=None, fits=unknown_fits(1),
        provenance={"corpus": source, "source": {"format": "bbr"}, "modelname": model.name},
    )  # fmt: skip


def _check_norm(cosine: bool, source: str) -> None:
    if cosine:
        raise InputError(
            f"{source}: the model divides documents by their norms (cosineNormalize 1), which a model of vectors "
            "does not; `lapwing bbr classify` does"
        )


def from_linear(model: LinearModel, row: int = 0, *, name: str = "", numbered: bool = False) -> BbrModel:
    """The category of one row; `numbered` gives features that are words the numbers 1, 2, … in their order."""
    if model.link == "softmax":
        raise InputError("the model is one softmax over all classes, and BBR's are for one category; convert it to BMR")
    ids = feature_ids(model, numbered)
    start, end = model.weights.indptr[row : row + 2]
    columns, values = model.weights.indices[start:end].tolist(), model.weights.data[start:end].tolist()
    threshold = float(model.thresholds[row])
    if model.decision != "threshold":
        raise InputError("the model decides over whole batches (expected_f1), and BBR's have thresholds; train another")
    if math.isinf(threshold):
        threshold = math.copysign(sys.float_info.max, threshold)
    elif abs(threshold) < sys.float_info.min:
        threshold = 0.0
    return BbrModel(
        tuple(sorted(ids)),
        {ids[j]: value for j, value in zip(columns, values, strict=True) if value != 0.0},
        float(model.intercepts[row]),
        threshold,
        name=name,
        link=model.link,
    )


def bmr_to_linear(model: BmrModel, source: str) -> LinearModel:
    """Exclusive classes under a softmax."""
    _check_norm(model.cosine, source)
    weights = np.array([[row.get(i, 0.0) for i in model.features] for row in model.weights])
    rows = len(model.classes)
    return LinearModel(
        link="softmax", classes=model.classes, exclusive=True, weights=sp.csr_matrix(weights.reshape(rows, -1)),
        intercepts=np.array(model.intercepts), thresholds=np.zeros(rows),
        feature_names=[str(i) for i in model.features], weighting=None, fits=unknown_fits(rows),
        provenance={"corpus": source, "source": {"format": "bmr"}, "modelname": model.name},
    )  # fmt: skip


def bmr_from_linear(model: LinearModel, *, name: str = "", numbered: bool = False) -> BmrModel:
    """Of a softmax, or of two classes, whose scores are those of the second and 0."""
    if model.link != "softmax" and not (model.link == "logit" and model.exclusive and len(model.classes) == 2):
        raise InputError(
            "BMR's models are one softmax over exclusive classes, and this one has a classifier per category; "
            "train it with --multi-class multinomial"
        )
    ids = feature_ids(model, numbered)
    rows = [
        {ids[j]: b for j, b in zip(row.indices.tolist(), row.data.tolist(), strict=True) if b != 0.0}
        for row in model.weights
    ]
    of_first: list[dict[int, float]] = [{}] if len(rows) < len(model.classes) else []
    return BmrModel(
        tuple(class_ids(model, numbered)), tuple(sorted(ids)), tuple(of_first + rows),
        (*([0.0] * len(of_first)), *model.intercepts.tolist()), name=name,
    )  # fmt: skip


def class_ids(model: LinearModel, numbered: bool) -> list[str]:
    """A whole number for every class: BMR has no other names. Numbered ones begin at 1."""
    names = [str(label) for label in model.classes]
    if all(name.removeprefix("-").isdecimal() for name in names):
        return names
    if numbered:
        return [str(k) for k in range(1, len(names) + 1)]
    raise InputError(
        "BMR knows classes by numbers, and these have names; with --features FILE they are numbered, and their "
        "numbers written there"
    )


def feature_ids(model: LinearModel, numbered: bool) -> list[int]:
    """A whole number of 1 or more for every column."""
    if numbered:
        return list(range(1, len(model.feature_names) + 1))
    if all(name.isdecimal() and int(name) > 0 for name in model.feature_names):
        return [int(name) for name in model.feature_names]
    raise InputError(
        "BBR and BMR know features by numbers, and these are words; with --features FILE they are numbered, and "
        "their numbers written there"
    )


def unknown_fits(rows: int) -> FitSummary:
    """Of a fit that was not ours nothing is known."""
    nothing = np.full(rows, np.nan)
    return FitSummary(
        variance=nothing, objective=nothing, gap=nothing, kkt=nothing, rounds=np.zeros(rows, dtype=np.int64),
        converged=np.zeros(rows, dtype=bool), positives=np.zeros(rows, dtype=np.int64),
    )  # fmt: skip
