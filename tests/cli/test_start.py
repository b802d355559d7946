"""How the command starts and stops, whatever it is asked."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cli.run import Command, new_process

PROBE = """
import json, sys
from lapwing.cli import main
try:
    main(json.loads(sys.argv[1]))
except SystemExit as exit:
    assert not exit.code, exit.code
loaded = {name.partition(".")[0] for name in sys.modules}
print("LOADED", json.dumps(sorted(loaded & {"numba", "sklearn", "scipy", "numpy", "rich"})), file=sys.stderr)
"""


def loaded_by(*arguments: object, stdin: bytes = b"") -> set[str]:
    """Which of the heavy packages a command has imported when it is done."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE, json.dumps([str(argument) for argument in arguments])],
        input=stdin,
        capture_output=True,
        check=True,
    )
    line = done.stderr.decode().splitlines()[-1]
    assert line.startswith("LOADED ")
    return set(json.loads(line.removeprefix("LOADED ")))


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["train", "--help"], ["evaluate", "--help"], ["demo", "--help"]]
)
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    assert loaded_by(*arguments) == set()


def test_using_a_model_loads_neither_numba_nor_scikit_learn(model: Path, news: Path) -> None:
    heavy = {"numba", "sklearn"}
    assert not heavy & loaded_by("classify", model, stdin=b"oil and gas\n")
    assert not heavy & loaded_by("classify", model, news, "--json")
    assert not heavy & loaded_by("explain", model, "oil and gas")
    assert not heavy & loaded_by("inspect", model)
    assert not heavy & loaded_by("evaluate", model, news)


def test_training_does_not_load_scikit_learn(news: Path, tmp_path: Path) -> None:
    loaded = loaded_by("train", news, "-o", tmp_path / "m")
    assert "numba" in loaded
    assert "sklearn" not in loaded


def test_without_arguments_it_shows_help(run: Command) -> None:
    bare, asked = run(), run("--help")
    assert bare.code == asked.code == 0
    assert bare.out == asked.out
    for name in ("demo", "train", "classify", "evaluate", "explain", "inspect"):
        assert f"  {name} " in bare.out


def test_version(run: Command) -> None:
    import lapwing

    assert run("--version").out.strip().endswith(lapwing.__version__)


@pytest.mark.parametrize("name", ["demo", "train", "classify", "evaluate", "explain", "inspect"])
def test_every_command_takes_json_and_has_help(run: Command, name: str) -> None:
    shown = run(name, "--help")
    assert shown.code == 0
    assert "--json" in shown.out


@pytest.mark.parametrize("place", [0, 1, 2, 4])
def test_debug_may_stand_anywhere(run: Command, model: Path, place: int) -> None:
    arguments = ["inspect", str(model), "--category", "none such"]
    arguments.insert(place, "--debug")
    ended = run(*arguments)
    assert ended.code == 2
    assert "Traceback" in ended.err
    assert ended.err.splitlines()[-1].startswith("lapwing: --category")


def test_debug_after_two_dashes_is_text(run: Command, model: Path) -> None:
    ended = run("explain", model, "--json", "--", "oil", "--debug")
    assert ended.json["text"] == "oil --debug"


def test_what_nobody_expected_is_a_failure_in_one_sentence(
    run: Command, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(path: str) -> None:
        raise RuntimeError("the moon\nis full")

    monkeypatch.setattr("lapwing.formats.load", broken)
    ended = run("inspect", model)
    assert ended.code == 1
    assert ended.complaint.startswith("RuntimeError: the moon is full; ")
    assert "--debug" in ended.complaint
    assert ended.out == ""
    assert "in broken" in run("--debug", "inspect", model).err


def test_a_reader_that_has_seen_enough_is_no_error(model: Path) -> None:
    command = f'"{sys.executable}" -m lapwing classify "{model}" --json | head -n 1'
    lines = b"oil and gas\n" * 20_000
    done = subprocess.run(["sh", "-c", command], input=lines, capture_output=True, check=True)
    assert json.loads(done.stdout)["id"] == "1"
    assert done.stderr == b""


@pytest.mark.parametrize("command", ["inspect", "explain"])
def test_a_reader_that_is_gone_is_no_error(model: Path, command: str) -> None:
    read, write = os.pipe()
    os.close(read)
    text = ["oil"] if command == "explain" else []
    done = subprocess.run(
        [sys.executable, "-m", "lapwing", command, model, *text],
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(write)
    assert done.stderr == b""
    assert done.returncode == 1


def interrupted(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """What it printed. A signal between Python's look at its signals and a read that blocks is seen after the read:
    then Ctrl-C is pressed again."""
    for seconds in (5, 5, 60):
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=seconds)
    process.kill()
    raise AssertionError("the command went on after Ctrl-C")


def test_ctrl_c_leaves_the_old_file_as_it_was(tmp_path: Path) -> None:
    data, output = tmp_path / "endless.jsonl", tmp_path / "old.lapwing"
    os.mkfifo(data)
    output.write_bytes(b"the old model")
    command = [sys.executable, "-m", "lapwing", "train", data, "-o", output]
    # A runner in the background may have told its children to ignore the signal.
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    with open(data, "wb", buffering=0) as pipe:  # opens when the command has begun to read
        pipe.write(b'{"text": "oil", "label": "energy"}\n' * 1000)
        out, err = interrupted(process)
    assert process.returncode == 130
    assert out == b""
    said = err.strip().splitlines()  # click ends the line that a terminal shows ^C on
    assert len(said) == 1
    assert said[0].startswith(b"lapwing: interrupted")
    assert output.read_bytes() == b"the old model"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["endless.jsonl", "old.lapwing"]


def test_a_narrow_encoding_escapes_what_it_lacks(model: Path) -> None:
    record = '{"text": "oil", "id": "日本"}\n'.encode()
    narrow = {"PYTHONIOENCODING": "iso8859-1"}
    ended = new_process("classify", model, "-", "--format", "jsonl", "--json", stdin=record, **narrow)
    assert ended.code == 0
    assert ended.out.isascii()
    assert ended.json["id"] == "日本"
    plain = new_process("classify", model, "-", "--format", "jsonl", stdin=record, **narrow)
    assert plain.code == 0
    assert plain.out.startswith("\\u65e5\\u672c\t")
