"""Settings of no sense end in a sentence that names them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli.run import Command

import lapwing
from lapwing.corpus.patterns import search
from lapwing.errors import InputError, SettingsError


@pytest.mark.parametrize("option", ["--max-length", "--min-support"])
def test_numbers_without_end(run: Command, news: Path, tmp_path: Path, option: str) -> None:
    ran = run("train", news, "-o", tmp_path / "m", "--ngrams", "word", option, "9" * 20)
    assert ran.code == 2
    assert option in ran.complaint
    assert "2^31" in ran.complaint


NAMED = {
    "--stop-words": ("train", "{news}", "-o", "{out}"),
    "--prior": ("train", "{news}", "-o", "{out}"),
    "--prior-words": ("train", "{news}", "-o", "{out}"),
    "--titles": ("report", "{trained}", "-o", "{out}"),
    "--broader": ("evaluate", "{trained}", "{news}"),
}


@pytest.mark.parametrize("kind", ["a pipe", "a device"])
@pytest.mark.parametrize("option", NAMED)
def test_files_without_end(run: Command, news: Path, trained: Path, tmp_path: Path, option: str, kind: str) -> None:
    path = tmp_path / "named"
    if kind == "a pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    command = [part.format(news=news, trained=trained, out=tmp_path / "out") for part in NAMED[option]]
    ran = run(*command, option, path)
    assert ran.code == 2
    assert "named" in ran.complaint
    assert kind in ran.complaint


def test_a_pattern_without_end(tmp_path: Path) -> None:
    paths = [f"{'a' * 40}/1.txt"]
    with pytest.raises(SettingsError, match=r"label_from='.*' was not through with 1 paths in 1 s; use one without"):
        search("(a+)+$", paths, seconds=1.0)
    assert search("^(?P<label>a)(?P<split>a)?", [*paths, "b/1.txt"]) == [("a", "a"), ("", "")]


@pytest.mark.parametrize("given", [5, 2.5, [1, 2], {"x"}, "heavy"])
def test_class_weights_that_are_none(given: Any) -> None:
    with pytest.raises(SettingsError, match="class_weight"):
        lapwing.TextClassifier(class_weight=given).fit(["a b", "c d"] * 4, ["x", "y"] * 4)


def test_values_whose_squares_vanish() -> None:
    """The variance from the data would be infinite: the sentence says what to do about it."""
    with pytest.raises(InputError, match="too small"):
        lapwing.MAPClassifier(variance="norm").fit(np.eye(4) * 1e-160, [0, 1, 0, 1])
