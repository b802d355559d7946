"""Model files of BBR and BMR, read token by token."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from typing import NoReturn

from lapwing.errors import ModelFileError
from lapwing.files import read_regular
from lapwing_bbr.contents import BBR_TITLE, BMR_TITLES, LINK_CODES, BbrModel, BmrModel

MOST_GROUPS = 10_000


def kind_of(path: str | os.PathLike[str]) -> str:
    """ "bbr", "bmr", or "" for any other file, by its first line."""
    try:
        first = read_regular(path, 200)
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
    coefficients = [rows.get(label, {}) for label in classes]
    named = _numbers(path, said.get("featRestrict") or said.get("topicFeats", []), int)
    features = {int(i) for i in named}.union(*coefficients) - {0}
    _check_header(path, said.get("tfMethod"), said.get("idfMethod"))
    return BmrModel(
        classes,
        tuple(sorted(features)),
        tuple({i: b for i, b in row.items() if i != 0} for row in coefficients),
        tuple(row.get(0, 0.0) for row in coefficients),
        name=" ".join(said.get("modelname", [])),
        cosine=said.get("cosineNormalize", ["0"]) == ["1"],
        standardized=len(numbers) > 3 and numbers[3] != 0,
    )


def _text(path: str | os.PathLike[str], titles: str | tuple[str, ...], program: str) -> str:
    try:
        text = read_regular(path).decode()
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
                if word != "betaHierSparse" or word not in self.said:  # which has a line for every feature
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
        _check_header(self.path, said.get("tfMethod"), said.get("idfMethod"))
        grouped = "ngroups" in said and "beta" not in said
        for needed in ("topicFeats", "betaHierSparse" if grouped else "beta"):
            if needed not in said:
                self.fail(f"expected {needed}, found none")
        features = [int(i) for i in _numbers(self.path, said["topicFeats"], int)]
        beta = [0.0] * (len(features) + 1) if grouped else _numbers(self.path, said["beta"], float)
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
            groups=self._group_count(),
            by_group=self._groups([*features, 0]) if grouped else (),
        )

    def _group_count(self) -> int:
        count = [int(n) for n in _numbers(self.path, self.said.get("ngroups", ["0"]), int)]
        if len(count) != 1 or count[0] > MOST_GROUPS:
            self.fail(f"expected one number of groups, {MOST_GROUPS} at most, got {self.said['ngroups'][:3]}")
        return count[0]

    def _groups(self, features: list[int]) -> tuple[dict[int, float], ...]:
        """Of lines `place group:weight …`: a word without a colon begins one."""
        groups: tuple[dict[int, float], ...] = tuple({} for _ in range(self._group_count()))
        place = -1
        for word in self.said["betaHierSparse"]:
            if ":" not in word:
                place = int(_numbers(self.path, [word], int)[0])
                continue
            group, _, weight = word.partition(":")
            (g,), (w,) = _numbers(self.path, [group], int), _numbers(self.path, [weight], float)
            if not 0 <= place < len(features) or g >= len(groups):
                self.fail(f"expected a place below {len(features)} and a group below {len(groups)}, got {word[:40]!r}")
            groups[int(g)][features[place]] = w
        return groups
