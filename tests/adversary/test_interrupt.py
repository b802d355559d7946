"""Ctrl-C while compiled code runs, which hears no signal."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from lapwing.engine import interruptible, run_all

LONG = 100  # seconds, as long as a fit that nobody wants to wait for
SLEEP = f"""
import ctypes, os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs begin with it ignored
def sleep(*_, **__):
    os.write(1, b'at work\\n')  # at once: lines of two threads do not mix
    ctypes.CDLL(None).sleep({LONG})
"""


def interrupt(code: str, *arguments: object) -> tuple[int, str]:
    process = subprocess.Popen(
        [sys.executable, "-c", SLEEP + code, *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        while (line := process.stdout.readline()) and line != "at work\n":
            pass
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=LONG / 2)  # long before the fit would end
    finally:
        process.kill()
    return process.returncode, said


def test_a_fit_is_interrupted_in_python() -> None:
    code = "from lapwing.engine import interruptible\ntry:\n    interruptible(sleep)()\nexcept KeyboardInterrupt:\n"
    code += "    print('heard', flush=True)\n    import os; os._exit(7)\n"
    assert interrupt(code)[0] == 7


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_command_is_interrupted(news: Path, tmp_path: Path, jobs: int) -> None:
    output = tmp_path / "m.lapwing"
    output.write_bytes(b"the old one")
    code = "import sys, lapwing.training as t\nt.OneVsRest.fit = sleep\n"
    code += "from lapwing.cli import main; main(sys.argv[1:])\n"
    ended, said = interrupt(code, "train", news, "-o", output, "--jobs", jobs)
    assert ended == 130
    assert said.splitlines()[-1].startswith("lapwing: interrupted")
    assert "Traceback" not in said
    assert output.read_bytes() == b"the old one"


def test_what_it_returns_and_raises() -> None:
    def fails() -> None:
        raise ZeroDivisionError("as it was")

    assert interruptible(threading.current_thread)() is not threading.main_thread()
    with pytest.raises(ZeroDivisionError, match="as it was"):
        interruptible(fails)()


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Heard, as in any program; processes that only run tests may ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("jobs", [1, 2])
def test_nothing_more_is_begun(jobs: int) -> None:
    """Once it has been interrupted, the thread that goes on begins no further fit."""
    begun: list[int] = []
    over = threading.Event()

    def work(item: int) -> None:
        begun.append(item)
        if item == 3:
            signal.raise_signal(signal.SIGINT)
        if item >= 3:
            assert over.wait(30)

    def everything() -> None:
        try:
            run_all(work, range(1000), n_jobs=jobs)
        finally:
            finished.set()

    finished = threading.Event()
    with pytest.raises(KeyboardInterrupt):
        interruptible(everything)()
    over.set()
    assert finished.wait(30)
    assert sorted(begun) == list(range(len(begun)))
    assert 4 <= len(begun) <= 3 + jobs  # the other thread may have come to the next one before


def test_interrupted_while_the_thread_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []
    over, finished = threading.Event(), threading.Event()
    start = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        raise KeyboardInterrupt

    def work(item: int) -> None:
        begun.append(item)
        assert over.wait(30)

    def everything() -> None:
        try:
            run_all(work, range(1000))
        finally:
            finished.set()

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        interruptible(everything)()
    over.set()
    assert finished.wait(30)
    assert len(begun) <= 1
