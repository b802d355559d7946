"""On a terminal: colours, a bar, and lines no longer than it is wide."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
fcntl = pytest.importorskip("fcntl", reason="this system has no pseudo-terminals")
termios = pytest.importorskip("termios", reason="this system has no pseudo-terminals")

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def on_terminal(*arguments: object, columns: int = 80, typed: bytes | None = None) -> tuple[int, str]:
    """Exit code, and all that appears on a terminal of so many columns."""
    import struct

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "NO_COLOR")}
    process = subprocess.Popen(
        [sys.executable, "-m", "lapwing", *map(str, arguments)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**environment, "TERM": "xterm-256color"},
    )
    os.close(theirs)
    if typed is not None:
        os.write(ours, typed)
    seen = b""
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        seen += part
    os.close(ours)
    return process.wait(), seen.decode().replace("\r\n", "\n")


def test_training_shows_a_bar_and_leaves_only_the_result(news: Path, tmp_path: Path) -> None:
    code, seen = on_terminal("train", news, "-o", tmp_path / "m")
    assert code == 0
    for stage in ("reading documents", "fitting categories", "━"):
        assert stage in seen
    assert "trained on 45 documents of news.jsonl" in seen


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_tables_fit_the_terminal(model: Path, news: Path, columns: int) -> None:
    for arguments in (("inspect", model), ("evaluate", model, news)):
        code, seen = on_terminal(*arguments, columns=columns)
        assert code == 0
        assert "\x1b[1m" in seen  # the head of the table
        shown = ESCAPE.sub("", seen.rpartition("\r")[2] if "evaluate" in arguments else seen)
        lines = shown.splitlines()
        assert max(map(len, lines)) <= columns
        for label in ("energy", "grain", "money"):
            assert sum(line.startswith(label) for line in lines) == 1
        assert "…" not in shown


def test_words_for_and_against_have_colours(model: Path) -> None:
    code, seen = on_terminal("explain", model, "crude oil and wheat", "--top", "1", columns=40)
    assert code == 0
    assert re.search(r"\x1b\[[0-9;]*32moil", seen)  # green
    wrapped = ESCAPE.sub("", on_terminal("explain", model, "crude oil " * 12, "--top", "1", columns=40)[1])
    text = [line for line in wrapped.splitlines() if "crude oil" in line]
    assert len(text) > 1
    assert all(line.startswith("  crude") or line.startswith("  oil") for line in text)


def test_whoever_types_gets_an_answer_to_every_line(model: Path) -> None:
    code, seen = on_terminal("classify", model, typed=b"crude oil\nwheat corn\n\x04")
    assert code == 0
    assert "Ctrl-D" in seen
    assert re.search(r"^1\tenergy\t0\.\d+$", seen.replace("        ", "\t"), re.MULTILINE) or "energy" in seen
    assert "grain" in seen
