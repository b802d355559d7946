"""A small corpus in every format, and models of it."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

TOPICS = {
    "energy": "oil gas barrel crude pipeline refinery",
    "grain": "wheat corn harvest bushel farm crop",
    "money": "bank rate currency dollar interest loan",
}
COMMON = "prices said market year company report".split()


class Made(NamedTuple):
    id: str
    text: str
    label: str
    split: str


def documents(n: int = 60) -> list[Made]:
    """Every fourth document is a test document; the topics take turns."""
    draw = random.Random(7)
    rows = []
    for i in range(n):
        label = sorted(TOPICS)[i % len(TOPICS)]
        words = draw.choices(TOPICS[label].split(), k=5) + draw.choices(COMMON, k=5)
        draw.shuffle(words)
        rows.append(Made(f"d{i}", " ".join(words), label, "test" if i % 4 == 0 else "train"))
    return rows


def jsonl(result: list[Made]) -> bytes:
    return "".join(json.dumps(one._asdict()) + "\n" for one in result).encode()


def table(result: list[Made], separator: str) -> bytes:
    rows = [separator.join(("id", "text", "label", "split"))]
    return "\n".join(rows + [separator.join(one) for one in result]).encode() + b"\n"


def class_folders(result: list[Made]) -> dict[str, bytes]:
    """A folder per class, below a folder per split."""
    return {f"{one.split}/{one.label}/{one.id}.txt": one.text.encode() for one in result}


def svmlight(result: list[Made]) -> bytes:
    """Word counts; energy against the rest."""
    words = sorted({word for one in result for word in one.text.split()})
    lines = []
    for one in result:
        counts = {j: one.text.split().count(word) for j, word in enumerate(words, 1)}
        pairs = " ".join(f"{j}:{count}" for j, count in counts.items() if count)
        lines.append(f"{'+1' if one.label == 'energy' else '-1'} {pairs}")
    return "\n".join(lines).encode() + b"\n"


def label_sets() -> bytes:
    """Documents with one label, with two, and with none."""
    docs = documents(45)
    rows = [{"text": one.text, "labels": [one.label]} for one in docs]
    for first, second in zip(docs[0:12:3], docs[1:12:3], strict=True):
        rows.append({"text": f"{first.text} {second.text}", "labels": [first.label, second.label]})
    rows += [{"text": " ".join(COMMON), "labels": []}] * 5
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def train(data: Path, output: Path, *options: str) -> Path:
    command = [sys.executable, "-m", "lapwing", "train", str(data), "-o", str(output), *options]
    subprocess.run(command, check=True, capture_output=True)
    return output


# Scripts of every kind: cased and uncased, with marks, without spaces, right to left, beyond the first plane.
SCRIPTS = [
    "",
    "   \t  ",
    "Oil and GAS prices said the company",
    "Ångström façade naïve Straße İstanbul ǅungla ﬁne oil",
    "Ελληνικά ΟΔΥΣΣΕΥΣ σίγμα ς bank",
    "Русский язык НЕФТЬ и газ wheat",
    "עברית ויִידיש corn",
    "العربية لُغَة جميلة crude",
    "हिन्दी में गेहूँ की फसल crop",
    "ภาษาไทยไม่มีช่องว่าง loan",
    "中文沒有空格 石油 oil 油价",
    "日本語のテキスト カタカナ ﾊﾝｶｸ rate",
    "한국어 은행 금리 dollar",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𐐀𐐨 𝟜𝟚 🌾🛢️ harvest",
    "e\u0301 versus é; co\u00adop zero\u200bwidth \ufeffmark oil's don't",
    "١٢٣ ４５６ 7.89 x2y barrel\u2028pipeline\u0085refinery",
    "<b>bold</b> &amp; [red]brackets[/red] :smile: interest",
]
