"""What was appended comes back, whatever happened to the end of the file."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from lapwing.engine import Checkpoint, run_all
from lapwing.errors import InputError
from lapwing.selection.variance import VarianceCurve
from lapwing.training import CategoryFit

HOLD = """
import pathlib, sys
from lapwing.engine import Checkpoint
held = Checkpoint(pathlib.Path(sys.argv[1]), "key", "")
print(len(held.records), flush=True)
sys.stdin.read()
"""
RECORDS = {3: b"", 0: b"\n\n", 7: bytes(range(256)) * 40}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with Checkpoint(tmp_path / "c", "key", "2024-01-01") as result:
        for number, content in RECORDS.items():
            result.append(number, content)
    return tmp_path / "c"


def test_records_come_back_with_the_day_of_the_start(path: Path) -> None:
    with Checkpoint(path, "key", "2030-01-01") as again:
        assert again.records == RECORDS
        assert again.started == "2024-01-01"


def test_cut_anywhere_it_keeps_what_is_whole_and_goes_on(path: Path) -> None:
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    ends = {first: 0, first + 20: 1, first + 42: 2, len(whole): 3}  # 20 bytes before the content of each
    for cut in [*range(first, first + 60), len(whole) - 1, len(whole)]:
        path.write_bytes(whole[:cut])
        with Checkpoint(path, "key", "") as again:
            kept = max(count for end, count in ends.items() if end <= cut)
            assert again.records == dict(list(RECORDS.items())[:kept])
            again.append(9, b"next")
        with Checkpoint(path, "key", "") as after:
            assert after.records[9] == b"next"
            assert len(after.records) == kept + 1


@pytest.mark.parametrize("at", [-1, -5000, 60])
def test_an_altered_record_and_what_follows_are_dropped(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    first = content.index(b"\n") + 1
    content[at if at < 0 else first + at - 60 + 20] ^= 1
    path.write_bytes(content)
    with Checkpoint(path, "key", "") as again:
        assert len(again.records) < 3
        assert all(RECORDS[number] == one for number, one in again.records.items())


@pytest.mark.parametrize("content", [None, b"", b"\n", b"{}\n", b"not ours", b'{"lapwing checkpoint": 1}\n', b"\xff\n"])
def test_another_run_starts_anew_and_says_so(
    path: Path, content: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    if content is not None:
        path.write_bytes(content)
    with caplog.at_level(logging.WARNING), Checkpoint(path, "other", "today") as again:
        assert again.records == {}
        assert again.started == "today"
        again.append(1, b"x")
    assert "another run" in caplog.text
    with Checkpoint(path, "other", "") as after:
        assert after.records == {1: b"x"}


def test_threads_do_not_mix_their_records(tmp_path: Path) -> None:
    with Checkpoint(tmp_path / "c", "key", "") as result:
        run_all(lambda k: result.append(k, bytes([k % 256]) * k), range(200), n_jobs=8)
    with Checkpoint(tmp_path / "c", "key", "") as again:
        assert again.records == {k: bytes([k % 256]) * k for k in range(200)}


def test_a_category_comes_back_with_its_curve() -> None:
    curve = VarianceCurve(np.array([0.1, 1.0, 10.0]), np.array([[-3.0, -4.0], [-1.0, -2.0], [-5.0, -6.0]]), 1.0)
    numbers = dict.fromkeys(("intercept", "threshold", "variance", "objective", "gap", "kkt", "kkt_bound"), 1.0)
    for kept in (curve, None):
        one = CategoryFit(
            np.array([3, 8], np.int32), np.array([0.5, -2.0]), rounds=4, converged=True, curve=kept, **numbers
        )
        back = CategoryFit.from_bytes(one.to_bytes())
        assert (back.features.tolist(), back.weights.tolist()) == ([3, 8], [0.5, -2.0])
        assert (back.rounds, back.converged, back.variance) == (4, True, 1.0)
        if kept is None:
            assert back.curve is None
        else:
            assert back.curve is not None
            assert back.curve.total.tolist() == curve.total.tolist()
            assert (back.curve.variances.tolist(), back.curve.chosen) == ([0.1, 1.0, 10.0], 1.0)


def test_one_run_at_a_time(path: Path) -> None:
    with Checkpoint(path, "key", ""):
        whole = path.read_bytes()
        for key in ("key", "other"):
            with pytest.raises(InputError, match="another run is writing"):
                Checkpoint(path, key, "")
        assert path.read_bytes() == whole
    with Checkpoint(path, "key", "") as again:
        assert again.records == RECORDS


def test_a_run_that_died_locks_nobody_out(path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"3\n"
        with pytest.raises(InputError, match="another run"):
            Checkpoint(path, "key", "")
        process.kill()
        process.wait()
    with Checkpoint(path, "key", "") as again:
        assert again.records == RECORDS
