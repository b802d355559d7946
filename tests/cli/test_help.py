"""Help in groups, completion, the learning curve, and a word in the middle of one long fit."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

from cli.run import Command
from lapwing.cli import _progress
from lapwing.cli._help import GROUPS
from lapwing.cli.train import command


def test_every_option_stands_in_the_whole_help_once_the_most_used_first(run: Command) -> None:
    said, short = run("train", "--help-all").out, run("train", "--help").out
    for text in (said, short):
        headings = [one.removesuffix(":") for one in text.splitlines() if one and one[0] != " " and one.endswith(":")]
        assert headings == list(GROUPS)
    left_out = 0
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            where = [lines_of(text, parameter.opts[-1]) for text in (said, short)]
            assert (len(where[0]), len(where[1])) == (1, 0 if getattr(parameter, "rare", False) else 1), parameter.opts
            left_out += not where[1]
    assert said.index("--label-column") < said.index("--encoding") < said.index("--stemmer") < said.index("--prior ")
    assert f"{left_out} more options" in short
    assert "more options" not in said
    assert 45 <= sum(line.startswith("  -") for line in short.splitlines()) <= 55


def lines_of(text: str, flag: str) -> list[str]:
    """The lines in which an option is explained."""
    lines = (line for line in text.splitlines() if line.startswith("  "))
    return [line for line in lines if line[2] == "-" and flag in line.split()[:3]]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(run: Command, shell: str) -> None:
    done = run("completion", shell)
    assert (done.code, "_LAPWING_COMPLETE" in done.out) == (0, True)


def test_what_a_shell_asks_for_is_answered() -> None:
    asked = {**os.environ, "_LAPWING_COMPLETE": "bash_complete", "COMP_WORDS": "lapwing tra", "COMP_CWORD": "1"}
    done = subprocess.run([sys.executable, "-m", "lapwing"], env=asked, capture_output=True, check=False)
    assert done.stdout.decode().split() == ["plain,train"]


def test_a_learning_curve(run: Command, news: Path) -> None:
    output = run("curve", news, "--shares", "0.25,0.5,1", "--json").json
    documents = [point["documents"] for point in output["points"]]
    assert documents == sorted(documents)
    assert documents[-1] == 45
    assert output["judged_by"] == 15
    last = output["points"][-1]
    assert output["twice"]["documents"] == 90
    assert output["twice"]["macro_f1"] >= last["macro_f1"]
    assert output["twice"]["log_loss"] <= last["log_loss"]
    said = run("curve", news, "--shares", "0.5,1").lines
    assert said[0].endswith("judged by 15 documents")
    assert len(said) == 3
    assert "--shares must be numbers" in run("curve", news, "--shares", "many").complaint


def test_one_long_fit_is_not_silent(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(_progress, "SILENCE", 0.05)
    with _progress.progress_bar() as progress:
        progress("fitting categories", 0, 1)
        time.sleep(0.3)
        progress("fitting categories", 1, 1)
    said = capfd.readouterr().err.splitlines()
    assert "fitting categories: 0 of 1, 0 s so far" in said
    assert not any("left" in line for line in said)


def test_the_command_knows_every_format_of_the_corpus() -> None:
    """It has a list of its own, so that --help need not load the readers."""
    from lapwing.cli._common import READING
    from lapwing.corpus import FORMATS

    assert next(one.type.choices for one in READING if one.name == "format_") == ("auto", *FORMATS)


def test_the_help_names_every_prior() -> None:
    from lapwing.stats.priors import PRIORS

    said = next(one.help for one in command.params if one.name == "prior")  # type: ignore[attr-defined]
    assert all(name in said for name in PRIORS)
