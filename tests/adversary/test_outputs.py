"""What `-o` may point to: regular files and new names, through links; nothing else, and what is there stays."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from cli.run import Command, Ran

from lapwing.engine import Checkpoint
from lapwing.errors import InputError
from lapwing.files import write_beside
from lapwing.formats import load


def _socket(path: Path) -> None:
    one = socket.socket(socket.AF_UNIX)
    one.bind(os.path.relpath(path))  # its path must be short
    one.close()


def _link_to_pipe(path: Path) -> None:
    os.mkfifo(path.with_suffix(".pipe"))
    path.symlink_to(path.with_suffix(".pipe"))


SPECIAL: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "socket": _socket,
    "link to a device": lambda path: path.symlink_to("/dev/null"),
    "link to a pipe": _link_to_pipe,
    "link to itself": lambda path: path.symlink_to(path.name),
    "folder": Path.mkdir,
}

Writes = Callable[[Path], Ran]


@pytest.fixture(params=["train", "report", "convert", "features", "bbr", "results", "demo", "export", "compare"])
def writes(request: pytest.FixtureRequest, run: Command, news: Path, trained: Path, tmp_path: Path) -> Writes:
    """A command that writes to a place."""
    vectors = tmp_path / "v.svm"
    vectors.write_text("+1 1:1\n-1 2:1\n" * 4)
    two = tmp_path / "two.lapwing"
    if request.param in ("convert", "features", "results"):
        assert run("bbr", "train", vectors, tmp_path / "bbr.model").code == 0
        assert run("convert", tmp_path / "bbr.model", two).code == 0
    return {
        "train": lambda path: run("train", news, "-o", path),
        "report": lambda path: run("report", trained, "-o", path),
        "convert": lambda path: run("convert", two, path),
        "features": lambda path: run("convert", two, tmp_path / "other", "--features", path),
        "bbr": lambda path: run("bbr", "train", vectors, path),
        "results": lambda path: run("bbr", "classify", vectors, tmp_path / "bbr.model", "-r", path),
        "demo": lambda path: run("demo", "-o", path),
        "export": lambda path: run("export", trained, "--to", "python", "-o", path),
        "compare": lambda path: run("compare", trained, trained, "-o", path),
    }[request.param]


@pytest.mark.parametrize("kind", SPECIAL)
def test_what_is_no_regular_file_is_refused_and_stays(
    writes: Writes, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "special"
    SPECIAL[kind](path)
    before = path.lstat()
    ran = writes(path)
    assert ran.code == 2
    assert "special" in ran.complaint
    assert path.lstat().st_ino == before.st_ino
    assert stat.S_IFMT(path.lstat().st_mode) == stat.S_IFMT(before.st_mode)


@pytest.mark.parametrize("there", [True, False])
def test_a_link_is_written_through(run: Command, news: Path, tmp_path: Path, there: bool) -> None:
    (tmp_path / "elsewhere").mkdir()
    target = tmp_path / "elsewhere" / "m.lapwing"
    if there:
        target.write_bytes(b"old")
    link = tmp_path / "link.lapwing"
    link.symlink_to(target)
    assert run("train", news, "-o", link).code == 0
    assert link.is_symlink()
    assert not target.is_symlink()
    assert load(target).classes == load(link).classes
    assert sorted(os.listdir(tmp_path)) == ["elsewhere", "link.lapwing"]


def test_an_old_file_lends_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "private"
    path.write_bytes(b"old")
    path.chmod(0o600)
    write_beside(path, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_checkpoint_is_no_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "c")
    with pytest.raises(InputError, match="pipe"):
        Checkpoint(tmp_path / "c", "key", "today")


def test_a_pipe_is_no_model(run: Command, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "m.lapwing")
    ran = run("inspect", tmp_path / "m.lapwing")
    assert ran.code == 2
    assert "it is a pipe" in ran.complaint
