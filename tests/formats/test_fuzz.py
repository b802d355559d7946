"""Thousands of damaged and of hostile model files: each is refused with ModelFileError, or works."""

from __future__ import annotations

import copy
import hashlib
import json
import random
import struct
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from model.build import model, text_model

from lapwing.errors import ModelFileError
from lapwing.formats.model_file import from_bytes, to_bytes
from lapwing.model import LinearModel

MARKER = b'\\"sha256\\":\\"'
ORIGINALS = {
    "sets": to_bytes(text_model()),
    "two": to_bytes(text_model(("no", "yes"), exclusive=True, stemmer="porter", strip_html=True, min_df=2)),
    "many": to_bytes(text_model((0, 1, 2), exclusive=True, tokens="char", stop_words=("a", "b"))),
    "vectors": to_bytes(model([[1.0, 0.0, -2.0], [0.0, 0.5, 0.0]], [0.1, -0.2], classes=("x", 2.5))),
}
BLIND, HOSTILE = 1800, 1800  # of each original: 7,200 and 7,200

every_original = pytest.mark.parametrize("name", ORIGINALS)


# -- taking a file apart and putting it together again, with the right checksum


class Parts:
    """A model file as its container's JSON, the JSON inside, and the tensors' bytes."""

    def __init__(self, content: bytes) -> None:
        size = int.from_bytes(content[:8], "little")
        self.container: dict[str, Any] = json.loads(content[8 : 8 + size])
        self.header: Any = json.loads(self.container["__metadata__"]["lapwing"])
        self.data = bytearray(content[8 + size :])

    def tensor(self, name: str) -> tuple[int, int]:
        start, end = self.container[name]["data_offsets"]
        return start, end

    def set(self, name: str, values: Any, dtype: str) -> Parts:
        """Put other numbers in the place of a tensor of the same size."""
        start, end = self.tensor(name)
        raw = np.asarray(values, dtype=dtype).tobytes()
        assert len(raw) == end - start
        self.data[start:end] = raw
        return self

    def pack(self, change_text: Callable[[str], str] = str) -> bytes:
        if isinstance(self.header, dict) and isinstance(self.header.get("sha256"), str):
            self.header["sha256"] = "0" * 64
        text = change_text(json.dumps(self.header, sort_keys=True, separators=(",", ":"), ensure_ascii=False))
        if isinstance(self.container.get("__metadata__"), dict):
            self.container["__metadata__"]["lapwing"] = text
        head = json.dumps(self.container, separators=(",", ":")).encode()
        head += b" " * (-len(head) % 8)
        return seal(len(head).to_bytes(8, "little") + head + bytes(self.data))


def seal(content: bytes) -> bytes:
    """Write the checksum where it belongs, if there is such a place."""
    at = content.rfind(MARKER, 0, 8 + int.from_bytes(content[:8], "little")) + len(MARKER)
    if at < len(MARKER) or at + 64 > len(content):
        return content
    blank = content[:at] + b"0" * 64 + content[at + 64 :]
    return content[:at] + hashlib.sha256(blank).hexdigest().encode() + content[at + 64 :]


def works_or_is_refused(content: bytes) -> bool:
    """Whether the file was loaded; then it must be of use."""
    try:
        loaded = from_bytes(content)
    except ModelFileError:
        return False
    use(loaded)
    return True


def use(loaded: LinearModel) -> None:
    """Score, decide, explain, save. Weights of 1e308 may add up to infinity; that is no crash."""
    texts = ["corn wheat 中文 <b>new</b>", ""]
    with np.errstate(over="ignore", invalid="ignore"):
        if loaded.weighting is None:
            documents: Any = np.ones((2, len(loaded.feature_names)))
        else:
            documents = texts
            explained = loaded.explain(texts[0])
            assert len(explained.categories) == len(loaded.categories)
        proba = loaded.predict_proba(documents)
        predicted = loaded.predict(documents)
    assert proba.shape == (2, len(loaded.classes))
    assert not np.any((proba < 0) | (proba > 1 + 1e-12))
    assert len(predicted) == 2
    for row in range(len(loaded.categories)):
        loaded.row_features(row)
    from_bytes(to_bytes(loaded))


# -- damage without intent


def damage(content: bytes, dice: random.Random) -> bytes:
    broken = bytearray(content)
    for _ in range(dice.choice((1, 1, 2, 6))):
        at = dice.randrange(len(broken) + 1)
        size = dice.choice((1, 8, 64, 300))
        kind = dice.randrange(6)
        if kind == 0 and broken:
            broken[at % len(broken)] ^= 1 << dice.randrange(8)
        elif kind == 1:
            del broken[at:]
        elif kind == 2:
            broken[at:at] = dice.choice((dice.randbytes(size), bytes(size), MARKER, b'"', b"{"))
        elif kind == 3:
            broken[at:at] = broken[at : at + size]
        elif kind == 4:
            del broken[at : at + size]
        else:
            broken[at : at + size] = dice.randbytes(len(broken[at : at + size]))
    return bytes(broken)


@every_original
def test_damaged_files_are_refused(name: str) -> None:
    dice = random.Random(f"blind {name}")
    for _ in range(BLIND):
        broken = damage(ORIGINALS[name], dice)
        if broken != ORIGINALS[name]:
            assert not works_or_is_refused(broken)


@every_original
def test_every_cut_is_noticed(name: str) -> None:
    for size in range(0, len(ORIGINALS[name]), 7):
        assert not works_or_is_refused(ORIGINALS[name][:size])


# -- intent: whatever is changed, the checksum is right

SCALARS: list[Any] = [
    None, True, False, 0, 1, -1, 2, 3, 2**31, 2**53, 2**63, -(2**63), 2**64, 10**30, 10**400, 0.5, 1.0, -0.0,
    1e308, float("nan"), float("inf"), "", "word", "char", "log", "none", "smart", "x", "\ud800", "\x00",
    "a" * 300, [], {}, [[]], {"": None}, [1, 1], ["a", "a"], [None], ["x", 2.5, True], "F64", "I64", "U8",
    "F16", "BF16", "F8_E4M3", "BOOL", [0], [0, 8], [8, 0], [0, 2**63], [2**63, 2**64], [2**62, 0], [1, 1, 1],
]  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(p for key, child in inner for p in places(child, (*path, key)))]


def change_json(root: Any, dice: random.Random) -> Any:
    """Replace, drop, add or repeat a value somewhere."""
    path = dice.choice(places(root)[1:])
    owner = root
    for key in path[:-1]:
        owner = owner[key]
    kind = dice.randrange(6)
    if kind == 0:
        del owner[path[-1]]
    elif kind == 1 and isinstance(owner, dict):
        owner[dice.choice(["", "colour", "text", "min_df", "n_documents", "sha256"])] = dice.choice(SCALARS)
    elif kind == 1:
        owner.insert(dice.randrange(len(owner) + 1), copy.deepcopy(dice.choice(owner)))
    elif kind == 2 and isinstance(owner[path[-1]], int):
        owner[path[-1]] += dice.choice((-8, -1, 1, 8, 2**32))
    else:
        owner[path[-1]] = copy.deepcopy(dice.choice(SCALARS))
    return root


NUMBERS = {
    "F64": ("<d", [0.0, -0.0, 1.0, -1e308, 1e308, 5e-324, float("nan"), float("inf"), float("-inf")]),
    "I64": ("<q", [0, 1, 2, -1, -2, 5, 100, 2**31, 2**53, 2**62, 2**63 - 1, -(2**63)]),
    "I32": ("<i", [0, 1, 2, -1, 7, 100, 2**31 - 1, -(2**31)]),
    "U8": ("<B", [0, 1, 2, 0x41, 0x7F, 0x80, 0xC0, 0xED, 0xF4, 0xFF]),
}


def change_tensor(parts: Parts, dice: random.Random) -> None:
    name = dice.choice([n for n in parts.container if n != "__metadata__"])
    start, end = parts.tensor(name)
    code, values = NUMBERS[parts.container[name]["dtype"]]
    size = struct.calcsize(code)
    for _ in range(dice.choice((1, 1, 2, 4))):
        if end > start:
            at = start + size * dice.randrange((end - start) // size)
            parts.data[at : at + size] = struct.pack(code, dice.choice(values))


def swap_tensors(parts: Parts, dice: random.Random) -> None:
    one, other = dice.sample([n for n in parts.container if n != "__metadata__"], 2)
    parts.container[one], parts.container[other] = parts.container[other], parts.container[one]


def cut_tensor(parts: Parts, dice: random.Random) -> None:
    """The last tensors a little shorter or longer, everything the container says adjusted to it."""
    last = max((n for n in parts.container if n != "__metadata__"), key=parts.tensor)
    size = struct.calcsize(NUMBERS[parts.container[last]["dtype"]][0])
    start, end = parts.tensor(last)
    count = max((end - start) // size + dice.choice((-3, -1, 1, 3)), 0)
    parts.data[start:] = (bytes(parts.data[start:]) + dice.randbytes(64))[: count * size]
    parts.container[last] |= {"shape": [count], "data_offsets": [start, start + count * size]}


def change_text(text: str, dice: random.Random) -> str:
    """The inner JSON as text: what its writer would never write."""
    at = dice.randrange(len(text))
    return dice.choice(
        (
            text[:at] + text[at + 1 :],
            text[:at] + dice.choice('{}[],:"0 \\') + text[at:],
            text.replace(":", ": ", 1),
            text[:-1] + "," + text[1:],
            text.replace('"schema":1', '"schema":1,"schema":1'),
            text.replace("1", "1.0", 1),
            f"[{text}]",
        )
    )


def assault(content: bytes, dice: random.Random) -> bytes:
    parts = Parts(content)
    alter: Callable[[str], str] = str
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        kind = dice.randrange(10)
        try:
            if kind < 3:
                parts.header = change_json(parts.header, dice)
            elif kind < 5:
                parts.container = change_json(parts.container, dice)
            elif kind < 8:
                change_tensor(parts, dice)
            elif kind == 8:
                dice.choice((swap_tensors, cut_tensor))(parts, dice)
            else:
                alter = lambda text: change_text(text, dice)  # noqa: E731
        except (KeyError, TypeError, ValueError, IndexError, AttributeError):
            break  # the change before this one left nothing to change
    return parts.pack(alter)


@every_original
def test_hostile_files_work_or_are_refused(name: str) -> None:
    dice = random.Random(f"hostile {name}")
    loaded = sum(works_or_is_refused(assault(ORIGINALS[name], dice)) for _ in range(HOSTILE))
    assert 0.05 * HOSTILE < loaded < 0.9 * HOSTILE  # some changes are harmless, so the checksums were right


@every_original
def test_taking_apart_changes_nothing(name: str) -> None:
    assert works_or_is_refused(Parts(ORIGINALS[name]).pack())


# -- numbers that ask for more memory than there is


def crafted() -> dict[str, bytes]:
    """Small files that state large numbers."""
    whole = ORIGINALS["sets"]
    files: dict[str, bytes] = {
        f"a header of {size} bytes": seal(size.to_bytes(8, "little") + whole[8:])
        for size in (0, 2**31, 2**40, 2**63, 2**64 - 1)
    }

    def put(name: str, change: Callable[[Parts], object]) -> None:
        parts = Parts(whole)
        change(parts)
        files[name] = parts.pack()

    n_terms = Parts(whole).container["document_frequency"]["shape"][0]
    rows = Parts(whole).container["weights_ptr"]["shape"][0] - 1
    for number in (2**53 - 1, 2**63, 10**30):
        put(f"{number} documents", lambda p, number=number: p.header.update(n_documents=number))
    put(
        "documents and frequencies",
        lambda p: (
            p.header.update(n_documents=2**53 - 1),
            p.set("document_frequency", [2**53 - 1 - j for j in range(n_terms)], "<i8"),
        ),
    )
    for shape in ([2**40], [2**62], [2**63], [2**64], [0, 2**62], [2**32, 2**32], [2**62, 0, 4]):
        put(
            f"weights of shape {shape}",
            lambda p, shape=shape: p.container["weights_data"].update(shape=shape),
        )
        put(
            f"an empty tensor of shape {shape}",
            lambda p, shape=shape: p.container["terms"].update(shape=shape, data_offsets=[0, 0]),
        )
    for offsets in ([0, 2**40], [2**63, 2**63 + 8], [2**64 - 8, 2**64]):
        put(
            f"offsets {offsets}",
            lambda p, offsets=offsets: p.container["intercepts"].update(data_offsets=offsets),
        )
    top, low = 2**63 - 1, -(2**63)
    for pointer in ([top, -2], [top, low], [2**32, 5], [-1, 3], [2**31, 2**31]):
        nnz = Parts(whole).container["weights_data"]["shape"][0]
        put(
            f"rows at {pointer}",
            lambda p, q=pointer, n=nnz: p.set("weights_ptr", [0, *q, n][: rows + 1], "<i8"),
        )
        letters = Parts(whole).container["terms"]["shape"][0]
        ends = [*[0, *pointer * n_terms][:n_terms], letters]
        put(f"names at {pointer}", lambda p, ends=ends: p.set("terms_ptr", ends, "<i8"))
    wide = Parts(to_bytes(model(np.ones((1, 3000)), [0.0], classes=("x",))))
    length = wide.container["terms"]["shape"][0]  # each round of three would cut out all names once more
    files["names again and again"] = wide.set("terms_ptr", [0, top, -2] * 1000 + [length], "<i8").pack()
    put("min_df", lambda p: p.header["text"].update(min_df=10**30))
    put("token table", lambda p: p.header["text"].update(table=10**9))
    put("many classes", lambda p: p.header.update(classes=list(range(50_000))))
    put("many stop words", lambda p: p.header["text"].update(stop_words=["x"] * 50_000))
    put("a number of 4000 digits", lambda p: p.header.update(provenance={"n": 10**4000}))

    deep = Parts(whole)
    files["deep JSON within"] = deep.pack(
        lambda text: text.replace('"provenance":{', '"provenance":{"a":' + "[" * 90_000 + "]" * 90_000 + ",")
    )
    files["less deep JSON within"] = deep.pack(
        lambda text: text.replace('"provenance":{', '"provenance":{"a":' + "[" * 400 + "]" * 400 + ",")
    )
    head = whole[8 : 8 + int.from_bytes(whole[:8], "little")]
    nested = b'{"a":' + b"[" * 90_000 + b"]" * 90_000 + b"," + head.rstrip()[1:]
    files["deep JSON around"] = seal(len(nested).to_bytes(8, "little") + nested + whole[8 + len(head) :])
    return files


CRAFTED = crafted()
HARMLESS = {
    f"{2**53 - 1} documents",
    "documents and frequencies",
    "less deep JSON within",
    "many stop words",
} | {"a number of 4000 digits"}


@pytest.mark.parametrize("name", CRAFTED)
def test_memory_is_bounded_by_the_size_of_the_file(name: str) -> None:
    content = CRAFTED[name]
    works_or_is_refused(ORIGINALS["sets"])  # tables that are loaded once are loaded now
    tracemalloc.start()
    try:
        loaded = works_or_is_refused(content)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert loaded == (name in HARMLESS)
    assert peak < 30 * len(content) + 500_000
