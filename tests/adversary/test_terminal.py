"""What labels, ids, words and file names could do to a terminal: nothing; and terminals that are not there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cli.build import documents
from cli.run import Command

from lapwing.cli._output import as_json_line, visible

EVIL = "\x1b]0;owned\x07\x1b[31m\x9b31m\u202e\x7f\x08\r"
OBEYED = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents whose ids, labels and letters are control sequences, in a file of such a name."""
    path = tmp_path_factory.mktemp("evil") / f"data{EVIL.replace('/', '')}.jsonl"
    lines = [
        {"id": f"{one.id}{EVIL}", "text": f"{one.text} {one.label}\x1b[5m", "label": f"{one.label}{EVIL}"}
        for one in documents(30)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture(scope="module", params=[(), ("--ngrams", "char", "--max-length", "4")])
def evil_model(evil: Path, request: pytest.FixtureRequest) -> Path:
    path = evil.parent / f"model{len(request.param)}{EVIL}.lapwing"
    line = [sys.executable, "-m", "lapwing", "train", str(evil), "-o", str(path), *request.param]
    subprocess.run(line, check=True, capture_output=True)
    return path


@pytest.mark.parametrize(
    "command",
    [
        ("train", "DATA", "-o", "OTHER"),
        ("train", "DATA", "-o", "OTHER", "--max-features", "1"),
        ("classify", "MODEL", "DATA"),
        ("classify", "MODEL", "DATA", "--json"),
        ("evaluate", "MODEL", "DATA"),
        ("evaluate", "MODEL", "DATA", "--json"),
        ("explain", "MODEL", f"oil prices {EVIL} energy\x1b[5m"),
        ("explain", "MODEL", f"oil prices {EVIL}", "--json"),
        ("explain", "MODEL", "oil", "--category", f"nothing{EVIL}"),
        ("inspect", "MODEL"),
        ("inspect", "MODEL", "--json"),
        ("inspect", "DATA"),
        ("report", "MODEL", "DATA", "-o", "OTHER"),
        ("convert", "MODEL", "OTHER"),
        ("train", "DATA", "-o", f"nowhere{EVIL}/x"),
        ("train", f"no such{EVIL}"),
        (f"no such{EVIL}",),
        ("train", "DATA", "-o", "OTHER", f"--no-such{EVIL}"),
    ],
)
def test_everything_is_shown_and_nothing_obeyed(
    run: Command, evil: Path, evil_model: Path, command: tuple[str, ...], tmp_path: Path
) -> None:
    places = {"DATA": str(evil), "MODEL": str(evil_model), "OTHER": str(tmp_path / f"other{EVIL}")}
    ran = run(*(places.get(word, word) for word in command))
    assert ran.code in (0, 2)
    assert not OBEYED.search(ran.out), OBEYED.findall(ran.out)
    assert not OBEYED.search(ran.err), OBEYED.findall(ran.err)


def test_json_says_the_same(evil: Path, evil_model: Path, run: Command) -> None:
    ran = run("classify", evil_model, evil, "--json")
    assert json.loads(ran.lines[0])["id"] == f"d0{EVIL}"
    assert json.loads(as_json_line({EVIL: EVIL})) == {EVIL: EVIL}


def test_one_character_is_shown_for_one() -> None:
    assert visible("a\tb\nc\x1b[m\r\x7f\x9b\u202e") == "a\tb\nc␛[m␍␡\ufffd\ufffd"


def closed(redirection: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "lapwing", *map(str, arguments)]
    return subprocess.run(["sh", "-c", f'exec "$@" {redirection}', "sh", *words], capture_output=True, text=True)


@pytest.mark.parametrize("redirection", [">&-", "2>&-", "<&-", ">&- 2>&-", ">&- 2>&- <&-"])
def test_closed_streams(redirection: str, news: Path, tmp_path: Path) -> None:
    """No file takes the place of a closed stream, and with it what is printed."""
    ran = closed(redirection, "train", news, "-o", tmp_path / "m")
    assert ran.returncode == 0
    assert "Traceback" not in ran.stderr
    assert closed("", "inspect", tmp_path / "m").returncode == 0
    if redirection == ">&-":
        assert "standard output is closed" in ran.stderr
    assert closed(redirection, "train", tmp_path / "nothing", "-o", tmp_path / "m").returncode == 2


def test_a_full_device(news: Path, trained: Path) -> None:
    for command in (("inspect", trained), ("classify", trained, news)):
        ran = closed(">/dev/full", *command)
        assert ran.returncode == 1
        assert ran.stderr.count("\n") == 1
        assert "No space left" in ran.stderr


def test_memory_that_is_not_there(news: Path, tmp_path: Path) -> None:
    script = (
        "import sys, numpy as np, lapwing.training as t\n"
        "def much(*a, **k): np.ones((2**44,))\n"
        "t.make_design = much\n"
        "from lapwing.cli import main; main(sys.argv[1:])\n"
    )
    line = [sys.executable, "-c", script, "train", str(news), "-o", str(tmp_path / "m")]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 1
    said = done.stderr.splitlines()[-1]
    assert said.startswith("lapwing: not enough memory while ")
    assert "128. TiB" in said
    assert "--min-df" in said
