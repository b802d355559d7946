"""Vectors in the format of svmlight, LIBSVM and BBR: `label id:value ... # comment`.

Several labels are separated by commas. `qid:` is ignored, `cost:` is the document's weight, and a comment
`# UID: name` its id. Numeric labels are normalised: `+1`, `1` and `1.0` are "1". A line may begin with
its first pair: a document without labels.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator

from lapwing.corpus.document import Document
from lapwing.corpus.fields import BadRecord, label_set, short, weight_value
from lapwing.corpus.members import Member
from lapwing.corpus.reader import Reader, is_broken

LARGEST_ID = 2**31 - 1
# Possessive (++, *+): a long line that does not fit must not be tried in every other way.
NUMBER = r"[-+]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][-+]?[0-9]++)?"
PAIR = rf"[0-9]++:{NUMBER}"
PAIRS = re.compile(rf"\s*+(?:{PAIR}(?:\s++|$))*+", re.ASCII)
ONE_PAIR = re.compile(PAIR, re.ASCII)
ONE_NUMBER = re.compile(NUMBER, re.ASCII)
SPECIAL = re.compile(r"(?:^|(?<=\s))(qid|cost):(\S*)")
UID = re.compile(r"\s*UID:\s*(\S+)")


class SvmlightReader(Reader):
    kind = "vectors"
    exclusive = True
    extensions = (".svm", ".svmlight", ".libsvm")

    def documents(self, member: Member) -> Iterator[Document]:
        split = self.split_of(member)
        with member.open() as stream:
            for number, line in enumerate(self.lines(member, stream), start=1):
                body, _, comment = line.partition("#")
                if not body.strip():
                    # An empty line may be an empty document of a multi-label file, but nobody means that.
                    continue
                if is_broken(line):
                    self.bad_encoding(member, number)
                    continue
                with self.reporting(member, number):
                    labels, vector, weight = parse(body)
                    if len(labels) > 1 or "," in body:
                        self.exclusive = False
                    uid = UID.match(comment) if comment else None
                    yield Document(uid[1] if uid else f"{self.name_of(member)}:{number}", vector, labels, split, weight)


def parse(body: str) -> tuple[tuple[str, ...], tuple[list[int], list[float]], float]:
    """Labels, (ids, values) in ascending order of ids, and weight of one line without its comment."""
    first, _, rest = body.strip().replace("\t", " ").partition(" ")
    labels: tuple[str, ...] = ()
    if ":" in first:
        rest = body
    else:
        labels = label_set(map(normal, first.split(",")))
    weight = 1.0
    if "qid:" in rest or "cost:" in rest:
        for name, value in SPECIAL.findall(rest):
            weight = weight_value(value) if name == "cost" else weight
        rest = SPECIAL.sub("", rest)
    return labels, pairs(rest), weight


def pairs(text: str) -> tuple[list[int], list[float]]:
    if not PAIRS.fullmatch(text):
        wrong = next((word for word in text.split() if not ONE_PAIR.fullmatch(word)), text.strip())
        raise BadRecord(f"expected id:value with a whole id and a finite number, got {short(wrong)}")
    words = text.replace(":", " ").split()
    try:
        ids = list(map(int, words[0::2]))
    except ValueError:  # more digits than Python converts
        raise BadRecord(f"expected ids of at most {LARGEST_ID}, got a longer one") from None
    values = list(map(float, words[1::2]))
    if ids and max(ids) > LARGEST_ID:
        raise BadRecord(f"expected ids of at most {LARGEST_ID}, got {short(max(ids))}")
    if not all(map(math.isfinite, values)):
        raise BadRecord("expected finite values, got one too large for a double")
    if any(a >= b for a, b in itertools.pairwise(ids)):
        ids, values = _sorted(ids, values)
    return ids, values


def _sorted(ids: list[int], values: list[float]) -> tuple[list[int], list[float]]:
    if len(set(ids)) < len(ids):
        seen: set[int] = set()
        twice = next(i for i in ids if i in seen or seen.add(i))  # type: ignore[func-returns-value]
        raise BadRecord(f"expected every id once, got {twice} repeatedly")
    order = sorted(range(len(ids)), key=ids.__getitem__)
    return [ids[i] for i in order], [values[i] for i in order]


def normal(label: str) -> str:
    """A numeric label in its plainest spelling, others as they are."""
    if ONE_NUMBER.fullmatch(label):
        value = float(label)
        if abs(value) < 2**53:
            return str(int(value)) if value.is_integer() else repr(value)
    return label
