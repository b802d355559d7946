"""A classifier of texts, exported by lapwing: this file and the standard library of Python 3.11 or later.

    from model import classify, decide, explain
    classify("a text")          # {class: probability}
    decide("a text")            # the classes that it is put in
    explain("a text", name)     # what spoke for and against one of them

Or on the command line, a text per line: python model.py < texts
"""

# What follows mirrors lapwing.text and lapwing.model; the tables stand at the end of an exported file.
from __future__ import annotations

import base64
import json
import math
import re
import sys
from array import array
from collections import Counter
from html import unescape
from typing import Any

SEPARATOR, LETTER, DIGIT, SINGLE, MARK, IGNORABLE, SPACE = range(7)

MARKUP = re.compile(
    r"""<!--.*?(?:-->|\Z)
    |<(script|style)(?:\s[^<>]*)?(?<!/)>.*?(?:</\1[^<>]*>|\Z)
    |<[a-z/!?](?:[^<>"']|"[^"<]*"|'[^'<]*')*+>
    |<[a-z/!?][^<>]*>""",
    re.ASCII | re.IGNORECASE | re.DOTALL | re.VERBOSE,
)


def numbers(code: str, content: str) -> array[Any]:
    values = array(code, base64.b64decode(content))
    if sys.byteorder == "big":
        values.byteswap()
    return values


def strip_html(text: str) -> str:
    text = MARKUP.sub(" ", text)
    if "&#" in text:
        text = re.sub(r"&#[0-9]{8,};?", "\ufffd", re.sub(r"&#0+(?=[0-9])", "&#", text))
    return unescape(text)


class Model:
    """Tables in, probabilities out. `stem` is a stemmer of words, or None."""

    def __init__(self, data: dict[str, Any], stem: Any = None) -> None:
        self.text, self.weights = data["text"], data["model"]
        self.settings, self.stem = self.text["settings"], stem
        self.stopped, self.stems = set(self.text["stop"]), dict[str, str]()
        runs, lower = self.text["table"]["runs"], self.text["table"]["lower"]
        self.fold = dict(zip(lower[::2], lower[1::2], strict=True))
        members: dict[int, str] = dict.fromkeys(range(7), "")
        for first, last, kind in zip(runs[::3], runs[1::3], runs[2::3], strict=True):
            members[kind] += f"\\U{first:08x}-\\U{last:08x}"
        self.invisible = re.compile(f"[{members[IGNORABLE]}]")
        inside = members[LETTER] + (members[DIGIT] if self.settings["digits"] else "")
        more, space = members[MARK] + members[IGNORABLE], members[SPACE]
        self.pattern = re.compile({
            "ready": f"[^{space}]+",
            "char": f"([{space}][{space}{members[IGNORABLE]}]*)|[^{space}{members[IGNORABLE]}]",
            "word": f"[{inside}][{inside}{more}]*|[{members[SINGLE]}][{more}]*",
        }[self.settings["tokens"]])  # fmt: skip
        if self.text["kind"] == "terms":
            counts = numbers("i", self.text["document_frequency"])
            self.frequency = dict(zip(self.text["terms"], counts, strict=True))
        self.read_weights()

    def read_weights(self) -> None:
        names, table = self.weights["names"], self.weights
        ends, index, values = numbers("i", table["ptr"]), numbers("i", table["index"]), numbers("d", table["weights"])
        self.rows: dict[str, list[tuple[int, float]]] = {name: [] for name in names}
        for row in range(len(ends) - 1):
            for k in range(ends[row], ends[row + 1]):
                self.rows[names[index[k]]].append((row, values[k]))
        self.intercepts, self.thresholds = numbers("d", table["intercepts"]), numbers("d", table["thresholds"])
        self.classes: list[str] = table["classes"]
        joint = self.settings["joint"]
        self.tree: dict[str, Any] = {}  # of n-grams, where they are searched for: term → tree, None → its name
        for name in names if self.text["kind"] == "ngrams" else ():
            node = self.tree
            for term in name.split(joint) if joint else name:
                node = node.setdefault(term, {})
            node[None] = name  # type: ignore[index]

    def terms(self, text: str) -> list[str | None]:
        """The tokens of a text as terms, None for a stop word."""
        settings = self.settings
        ready = settings["tokens"] == "ready"
        if settings["strip_html"] and not ready:
            text = strip_html(text)
        if ready:
            return [match.group() for match in self.pattern.finditer(text)]
        out: list[str | None] = []
        for match in self.pattern.finditer(text.translate(self.fold)):
            token = " " if match.lastindex else self.invisible.sub("", match.group())
            out.append(None if token in self.stopped else self.stemmed(token))
        return out

    def stemmed(self, token: str) -> str | None:
        longest = self.text["table"]["longest_stemmed"]
        if self.stem is None or (longest is not None and len(token) > longest):
            return token
        if token not in self.stems:
            self.stems[token] = self.stem(token)
        return self.stems[token] or None

    def counted(self, text: str) -> Counter[str]:
        """What is counted in a text: terms, or n-grams of them or of the letters of each."""
        terms, (shortest, longest) = self.terms(text), self.settings["lengths"]
        runs: list[list[str]] = [[]]
        if self.settings["inside_words"]:
            runs = [[" ", *term, " "] for term in terms if term is not None]
        else:
            for term in terms:
                if term is None:
                    runs.append([])
                else:
                    runs[-1].append(term)
        counts: Counter[str] = Counter()
        for run in runs:
            least = min(shortest, len(run)) if self.settings["inside_words"] else shortest
            for n in range(least, longest + 1):
                counts.update(self.settings["joint"].join(run[k : k + n]) for k in range(len(run) - n + 1))
        return counts

    def features(self, text: str) -> dict[str, float]:
        """The value of every feature of a text, those that the model does not know included."""
        if self.text["kind"] == "ngrams":
            return self.matches(self.terms(text))
        settings, documents = self.settings, self.text["documents"]
        tf = {"log": lambda n: 1.0 + math.log(n), "raw": float, "binary": lambda n: 1.0}[settings["tf"]]
        values = {}
        for name, count in sorted(self.counted(text).items()):
            idf = math.log((documents + 1) / (self.frequency.get(name, 0) + 1)) if settings["idf"] else 1.0
            values[name] = tf(count) * idf
        if settings["cosine"]:
            norm = math.sqrt(sum(value * value for value in values.values())) or 1.0
            values = {name: value / norm for name, value in values.items()}
        return values

    def matches(self, terms: list[str | None]) -> dict[str, float]:
        present = {}
        for first in range(len(terms)):
            node: Any = self.tree
            for k in range(first, len(terms)):
                node = node.get(terms[k]) if terms[k] is not None else None
                if node is None:
                    break
                if None in node:
                    present[node[None]] = 1.0
        return present

    def scores(self, text: str) -> list[float]:
        total = [0.0] * len(self.intercepts)
        for name, value in self.features(text).items():
            for row, weight in self.rows.get(name, ()):
                total[row] += value * weight
        return [score + intercept for score, intercept in zip(total, self.intercepts, strict=True)]

    def probabilities(self, scores: list[float]) -> list[float]:
        """Of all classes."""
        link, exclusive = self.weights["link"], self.weights["exclusive"]
        if link == "softmax":
            return softmax(scores)
        own = [probability(score, link) for score in scores]
        if not exclusive:
            return own
        if len(scores) == 1:
            return [1.0 - own[0], own[0]]
        u, v = self.weights["coupling"]
        return softmax([u * score + v * log_probability(score, link) for score in scores])

    def chosen(self, scores: list[float]) -> list[bool]:
        """Whether the text is put in each class."""

        def member(row: int) -> bool:
            if self.weights["decision"] == "threshold":
                return scores[row] > self.thresholds[row]
            p = probability(scores[row], self.weights["link"])
            return p > 0.0 and p >= max(p, 1.0 - p) * (1 - 1e-12) and self.thresholds[row] < math.inf

        if not self.weights["exclusive"]:
            return [member(row) for row in range(len(scores))]
        if len(scores) == 1:
            return [not member(0), member(0)]
        best = max(range(len(scores)), key=lambda row: scores[row] if self.thresholds[row] < math.inf else -math.inf)
        return [row == best for row in range(len(scores))]

    def classify(self, text: str) -> dict[str, float]:
        """The probability of every class."""
        return dict(zip(self.classes, self.probabilities(self.scores(text)), strict=True))

    def decide(self, text: str) -> list[str]:
        """The classes that the text is put in."""
        chosen = self.chosen(self.scores(text))
        return [name for name, yes in zip(self.classes, chosen, strict=True) if yes]

    def explain(self, text: str, name: str) -> dict[str, float]:
        """What every feature of the text adds to the score of a class, the largest first."""
        place = self.classes.index(name)
        both = len(self.intercepts) == 1 and len(self.classes) == 2
        row, sign = (0, 1.0 if place else -1.0) if both else (place, 1.0)
        parts = {
            feature: sign * value * weight
            for feature, value in self.features(text).items()
            for at, weight in self.rows.get(feature, ())
            if at == row and value
        }
        return dict(sorted(parts.items(), key=lambda pair: (-abs(pair[1]), pair[0])))


def probability(score: float, link: str) -> float:
    if link == "probit":
        return 0.5 * math.erfc(-score / math.sqrt(2.0))
    if link == "cloglog":
        return -math.expm1(-math.exp(min(score, 700.0)))
    if link.startswith("robit:"):
        return student(score, float(link.partition(":")[2]))
    decay = math.exp(-abs(score))
    return (1.0 if score >= 0.0 else decay) / (1.0 + decay)


def log_probability(score: float, link: str) -> float:
    if link == "probit":
        p = probability(score, link)
        if p > 1e-300:
            return math.log(p)
        return -0.5 * score * score - math.log(-score * math.sqrt(2.0 * math.pi)) + math.log1p(-1.0 / (score * score))
    if link == "cloglog":
        return score if score < -18.0 else math.log(probability(score, link))
    if link.startswith("robit:"):
        return math.log(probability(score, link))
    return min(score, 0.0) - math.log1p(math.exp(-abs(score)))


def student(score: float, degrees: float) -> float:
    """Student's distribution function: its tail is I_x(ν/2, ½)/2 at x = ν/(ν + s²), by the continued fraction."""
    a, square = 0.5 * degrees, score * score
    x, rest = degrees / (degrees + square), square / (degrees + square)
    front = math.exp(math.lgamma(a + 0.5) - math.lgamma(a)) / math.sqrt(math.pi) * x**a * math.sqrt(rest)
    below = x < (a + 1.0) / (a + 2.5)
    tail = front * fraction(a, 0.5, x) / a if below else 1.0 - 2.0 * front * fraction(0.5, a, rest)
    return 0.5 * tail if score < 0.0 else 1.0 - 0.5 * tail


def fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    c, d = 1.0, 1.0 / (1.0 - (a + b) * x / (a + 1.0))
    value = d
    for m in range(1, 500):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        for term in (even, odd):
            d = 1.0 / (1.0 + term * d)
            c = 1.0 + term / c
            value *= c * d
        if abs(c * d - 1.0) < 1e-16:
            break
    return value


def softmax(scores: list[float]) -> list[float]:
    top = max(scores)
    powers = [math.exp(score - top) for score in scores]
    total = sum(powers)
    return [power / total for power in powers]


def main(model: Model) -> None:
    """A text per line in, a JSON object per line out."""
    for line in sys.stdin:
        text = line.strip()  # as `lapwing classify` reads lines
        answer = {"chosen": model.decide(text), "probabilities": model.classify(text)}
        print(json.dumps(answer, ensure_ascii=False))
