"""`lapwing train --memory`: what does not fit goes to disk, ends as the same model, and is gone afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.run import Command
from lapwing.corpus import spill
from lapwing.text import stored


def test_small_corpora_stay_in_memory(run: Command, news: Path, tmp_path: Path) -> None:
    assert run("train", news, "-o", tmp_path / "m", "--memory", "1GB", "--work-dir", tmp_path / "work").code == 0
    assert not (tmp_path / "work").exists()


def test_too_little_for_anything(run: Command, news: Path, tmp_path: Path) -> None:
    done = run("train", news, "-o", tmp_path / "m", "--memory", "10MB")
    assert done.code == 2
    assert "512 MB or more" in done.err


def test_from_disk_and_after_a_stop(run: Command, news: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ["train", news, "--memory", "1GB", "--work-dir", tmp_path, "-o"]
    assert run(*command, tmp_path / "here").code == 0
    monkeypatch.setattr(spill, "fits", lambda memory, characters, documents: False)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(stored, "_vocabulary", stop)
        assert run(*command, tmp_path / "there").code != 0
    assert (tmp_path / "there.shards" / "counts-0").exists()
    with monkeypatch.context() as patched:
        patched.setattr(spill, "Spill", stop)  # the texts are not read again
        assert run(*command, tmp_path / "there").code == 0
    assert not (tmp_path / "there.shards").exists()
    assert (tmp_path / "there").read_bytes() == (tmp_path / "here").read_bytes()
