"""Thousands of damaged corpora: each is read, or refused with an error of ours, and never anything else."""

from __future__ import annotations

import io
import random
from pathlib import Path

import pytest

from lapwing import corpus
from lapwing.corpus import Corpus
from lapwing.errors import LapwingError

from .build import COMPRESS, CORPORA, packed

PACKINGS = ("", ".gz", ".xz", ".bz2", ".zip", ".tar", ".tar.gz")
ROUNDS = 40  # times the formats and 7 packings


def damage(data: bytes, random: random.Random) -> bytes:
    """Flip, cut, insert, repeat or drop bytes, once or a few times."""
    broken = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 8))):
        at = random.randrange(len(broken) + 1)
        kind = random.randrange(5)
        if kind == 0 and broken:
            broken[at % len(broken)] ^= 1 << random.randrange(8)
        elif kind == 1:
            del broken[at:]
        elif kind == 2:
            broken[at:at] = random.choice((random.randbytes(3), b"\0", b"\n", b'"', b"<", b":", b".I ", b"\xff\xfe"))
        elif kind == 3:
            broken[at:at] = broken[at : at + random.randrange(200)]
        else:
            del broken[at : at + random.randrange(40)]
    return bytes(broken)


def pack(format: str, packing: str) -> bytes:
    files = CORPORA[format]
    if packing in COMPRESS:
        return COMPRESS[packing](next(iter(files.values())))
    return packed(files, packing)


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("format", CORPORA)
def test_only_our_errors(format: str, packing: str, tmp_path: Path) -> None:
    dice = random.Random(f"{format}{packing}")
    original = pack(format, packing)
    name = next(iter(CORPORA[format])).replace("/", "-")
    for round in range(ROUNDS):
        data = damage(original, dice)
        path = tmp_path / f"{round}{name}"
        path.write_bytes(data)
        given = io.BytesIO(data) if round % 2 else path
        options = {"skip_bad": round % 4 > 1, "labels_required": round % 8 > 3}
        chosen = "auto" if round % 3 else format
        try:
            read = corpus.read(given, chosen, **options)
        except LapwingError:
            continue
        check(read)


def check(read: Corpus) -> None:
    """What was read hangs together and can be written again."""
    assert len(read) == len(read.labels) == len(read.split) == len(read.weights) > 0
    "".join(read.ids).encode()
    "".join(label for labels in read.labels for label in labels).encode()
    if read.kind == "vectors":
        read.documents.check_format()
    else:
        "".join(read.documents).encode()
