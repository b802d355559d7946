"""Answers of people are lost to nothing: to no other session, no full disk, and no file of something else is cut."""

from __future__ import annotations

import json
import os
import resource
import signal
from pathlib import Path

import numpy as np
import pytest

from lapwing.corpus import Corpus
from lapwing.errors import InputError, LapwingError
from lapwing.labelling import Answers, Session

TEXTS = ["oil and gas", "wheat and corn", "crude oil", "a harvest"]


def session(path: Path, texts: list[str] = TEXTS) -> Session:
    n = len(texts)
    pool = Corpus("pool", "text", texts, [()] * n, [str(i) for i in range(n)], False, [""] * n, np.ones(n))
    return Session(pool, Answers(path), ["energy", "grain"])


@pytest.mark.parametrize(
    "content",
    [
        b"a note of one line\n",
        b"a note without an end",
        b'{"text": "labelled by hand", "label": "grain"}',
        b'{"id": "1", "text": "oil", "labels": ["a"]}\n{"id": "2", "label": "b"}\n',
        b'{"id": "1", "text": 5, "labels": ["a"]}\n',
        b'{"id": "1", "text": "oil", "labels": "a"}\n',
        b"\x89PNG\r\n\x1a\n\0\0\0",
        b"[" * 5000 + b"\n",
    ],
)
def test_a_file_of_something_else_stays(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match="expected an answer of `lapwing label`"):
        Answers(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("rest", [b'{"id": "2", "te', b"{", b"\0\0\0"])
def test_what_a_crash_left_is_cut_off(tmp_path: Path, rest: bytes) -> None:
    path = tmp_path / "labels.jsonl"
    whole = b'{"id": "1", "text": "oil", "labels": ["a"]}\n'
    path.write_bytes(whole + rest)
    Answers(path).close()
    assert path.read_bytes() == whole


def test_one_session_at_a_time(tmp_path: Path) -> None:
    first = Answers(tmp_path / "labels.jsonl")
    with pytest.raises(InputError, match="open in another"):
        Answers(tmp_path / "labels.jsonl")
    first.close()
    Answers(tmp_path / "labels.jsonl").close()


def test_a_full_disk_leaves_no_half_line(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    answers = Answers(path)
    answers.add("1", "oil", ["a"])
    kept = path.read_bytes()
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(kept) + 10, limits[1]))
    try:
        with pytest.raises(LapwingError, match="could not be written"):
            answers.add("2", "gas", ["a"])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == kept
    answers.add("3", "corn", ["b"])
    assert [json.loads(line)["id"] for line in path.read_text().splitlines()] == ["1", "3"]
    assert [one["id"] for one in answers.records] == ["1", "3"]


def test_a_pipe_beside_the_answers_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "labels.jsonl.skipped")
    with pytest.raises(InputError, match="pipe"):
        Answers(tmp_path / "labels.jsonl")
    Answers(tmp_path / "other.jsonl").close()


def test_answers_to_other_texts_are_no_answers(tmp_path: Path) -> None:
    one = session(tmp_path / "labels.jsonl")
    one.answer("0", ["energy"])
    one.answers.close()
    with pytest.raises(InputError, match="another text under the id '0'"):
        session(tmp_path / "labels.jsonl", TEXTS[::-1])
    assert len(session(tmp_path / "labels.jsonl").answers.records) == 1


def test_learning_that_fails_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = session(tmp_path / "labels.jsonl")
    one.every = 1
    calls = []

    def fail() -> None:
        calls.append(1)
        raise MemoryError

    monkeypatch.setattr(one, "_learn", fail)
    for id in "012":
        one.answer(id, ["energy"])
        one.wait()
    assert not one.learning
    assert len(calls) == 3
    assert one.current() == 3
