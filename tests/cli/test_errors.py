"""Bad input: one sentence on stderr, exit code 2, and no file touched."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from cli import build
from cli.run import Command, new_process


@pytest.fixture
def untouched(tmp_path: Path) -> Path:
    """A file that a training which fails must leave alone."""
    path = tmp_path / "out.lapwing"
    path.write_bytes(b"the old model")
    return path


TRAINING = [
    (["--stemmer", "klingon"], ["stemmer", "porter", "'klingon'"]),
    (["--variance", "nan"], ["--variance must be > 0", "nan"]),
    (["--variance", "-1"], ["variance must be > 0", "-1.0"]),
    (["--variance", "0"], ["variance must be > 0"]),
    (["--variance", "inf"], ["variance must be > 0", "inf"]),
    (["--variance", "much"], ["variance", "norm", "'much'"]),
    (["--intercept-variance", "-2"], ["--intercept-variance must be > 0", "-2.0"]),
    (["--intercept-variance", "nan"], ["--intercept-variance must be > 0", "use --variance norm"]),
    (["--tol", "-1"], ["--tol must be between 0 and 1", "-1.0"]),
    (["--tol", "nan"], ["tol must be between 0 and 1", "nan"]),
    (["--tol", "small"], ["--tol", "'small'"]),
    (["--threshold", "1.5"], ["--threshold must", "between 0 and 1", "1.5"]),
    (["--threshold", "nan"], ["threshold", "between 0 and 1", "nan"]),
    (["--max-features", "3", "--prior", "gaussian"], ["--max-features needs a prior"]),
    (["--multi-class", "multinomial", "--link", "probit"], ["--multi-class multinomial goes with --link logit only"]),
    (["--threshold", "f1"], ["--threshold f1 decides on each category by itself"]),
    (["--reference-class", "money"], ["--reference-class money belongs to --multi-class multinomial"]),
    (["--min-df", "0"], ["--min-df", "0"]),
    (["--min-df", "10000"], ["no term is left", "--min-df"]),
    (["--max-iter", "0"], ["--max-iter", "0"]),
    (["--jobs", "0"], ["--jobs", "-1 for every core"]),
    (["--prior", "flat"], ["--prior", "'flat'", "'laplace'"]),
    (["--stop-words", "no-such-file"], ["--stop-words", "smart, none or a file", "no-such-file"]),
    (["--split", "middle"], ["--split", "'middle'", "'train'"]),
    (["--split", "validation"], ["'validation'", "test, train"]),
    (["--encoding", "klingon"], ["encoding", "'klingon'", "utf-8"]),
    (["--text-column", "body"], ["body"]),
    (["--format", "xls"], ["--format", "'xls'", "'jsonl'"]),
    (["--no-such-option"], ["--no-such-option", "lapwing train --help"]),
]


@pytest.mark.parametrize(("options", "said"), TRAINING, ids=[" ".join(options) for options, _ in TRAINING])
def test_options_of_training(run: Command, news: Path, untouched: Path, options: list[str], said: list[str]) -> None:
    ended = run("train", news, "-o", untouched, *options)
    assert ended.code == 2
    assert ended.out == ""
    for part in said:
        assert part in ended.complaint
    assert untouched.read_bytes() == b"the old model"
    assert list(untouched.parent.iterdir()) == [untouched]


UNUSABLE = {
    "one class": (build.jsonl(build.documents()[::3]), ["at least two classes", "'energy'"]),
    "no labels": (b'{"text": "oil"}\n{"text": "corn"}\n', ["label"]),
    "no words": (b'{"text": "?", "label": "a"}\n{"text": "!", "label": "b"}\n', ["no term is left"]),
    "not JSON": (b'{"text": "oil", "label": "a"}\nnonsense\n', ["data.jsonl, line 2"]),
    "broken UTF-8": (b'{"text": "oil\xff", "label": "a"}\n', ["data.jsonl, line 1", "UTF-8", "--encoding"]),
    "empty": (b"", ["data.jsonl", "empty"]),
}


@pytest.mark.parametrize("kind", UNUSABLE)
def test_data_that_cannot_be_trained_on(run: Command, tmp_path: Path, kind: str) -> None:
    content, said = UNUSABLE[kind]
    (tmp_path / "data.jsonl").write_bytes(content)
    ended = run("train", tmp_path / "data.jsonl", "-o", tmp_path / "m")
    assert ended.code == 2
    for part in said:
        assert part in ended.complaint
    assert not (tmp_path / "m").exists()


def test_paths_of_training(run: Command, news: Path, tmp_path: Path) -> None:
    def complaint(*arguments: object) -> str:
        ended = run("train", *arguments)
        assert ended.code == 2
        return ended.complaint

    assert "'absent', found nothing there; check the path" in complaint("absent", "-o", tmp_path / "m")
    assert "--output" in complaint(news)
    assert "make the folder first" in complaint(news, "-o", tmp_path / "absent" / "m")
    assert "is a folder" in complaint(news, "-o", tmp_path)
    (tmp_path / "empty").mkdir()
    assert "no files" in complaint(tmp_path / "empty", "-o", tmp_path / "m")
    assert list(tmp_path.iterdir()) == [tmp_path / "empty"]


def test_the_model_never_replaces_the_data(run: Command, news: Path, tmp_path: Path) -> None:
    data, other_name = tmp_path / "data.jsonl", tmp_path / "link.jsonl"
    data.write_bytes(news.read_bytes())
    other_name.symlink_to(data)
    for output in (data, other_name):
        ended = run("train", data, "-o", output)
        assert ended.code == 2
        assert "must not be the data" in ended.complaint
    assert data.read_bytes() == news.read_bytes()


@pytest.mark.parametrize("command", ["classify", "evaluate", "explain", "inspect"])
def test_models_that_are_none(run: Command, model: Path, news: Path, tmp_path: Path, command: str) -> None:
    rest = [str(news)] if command in ("classify", "evaluate") else []
    cut = tmp_path / "cut.lapwing"
    cut.write_bytes(model.read_bytes()[:-1])
    altered = tmp_path / "altered.lapwing"
    content = bytearray(model.read_bytes())
    content[-3] ^= 1
    altered.write_bytes(content)
    said = {
        tmp_path / "absent": "expected a model file",
        tmp_path: "is a folder",
        news: "not a lapwing model file",
        cut: "truncated",
        altered: "altered",
    }
    for path, part in said.items():
        ended = run(command, path, *rest, stdin=b"oil\n")
        assert ended.code == 2
        assert part in ended.complaint
        assert ended.out == ""


def test_texts_and_vectors_are_not_exchanged(run: Command, model: Path, vector_model: Path, news: Path) -> None:
    vectors = vector_model.parent / "data.svm"
    for command in ("classify", "evaluate"):
        ended = run(command, vector_model, news)
        assert ended.code == 2
        assert "trained on vectors, and the data are texts" in ended.complaint
        ended = run(command, model, vectors)
        assert ended.code == 2
        assert "trained on texts, and the data are vectors" in ended.complaint
    ended = run("classify", vector_model, stdin=b"some words\n")
    assert ended.code == 2
    assert "--format svmlight" in ended.complaint
    ended = run("explain", vector_model, "some words")
    assert ended.code == 2
    assert "trained on vectors" in ended.complaint


@pytest.mark.parametrize("command", ["classify", "explain"])
def test_standard_input_that_cannot_be_read(run: Command, model: Path, command: str) -> None:
    empty = run(command, model)
    assert empty.code == 2
    assert "standard input: expected" in empty.complaint
    assert "got nothing" in empty.complaint
    broken = run(command, model, stdin=b"oil\nga\xff\xfes\n")
    assert broken.code == 2
    assert "expected UTF-8, got bytes that are not" in broken.complaint
    assert "--encoding" in broken.complaint
    unknown = run(command, model, "--encoding", "klingon", stdin=b"oil\n")
    assert unknown.code == 2
    assert "'klingon'" in unknown.complaint


def test_a_broken_line_is_named_by_its_number(run: Command, model: Path) -> None:
    lines = b"oil\n" * 40 + b"\xff\n" + b"gas\n"
    ended = run("classify", model, stdin=lines)
    assert "standard input, line 41:" in ended.complaint


@pytest.mark.skipif(sys.platform == "win32", reason="closing standard input is the shell's way elsewhere")
@pytest.mark.parametrize("command", ["classify", "explain"])
def test_standard_input_that_is_closed(model: Path, command: str) -> None:
    import subprocess

    line = f'"{sys.executable}" -m lapwing {command} "{model}" <&-'
    done = subprocess.run(["sh", "-c", line], capture_output=True, check=False)
    assert done.returncode == 2
    assert b"standard input, which is closed" in done.stderr


@pytest.mark.parametrize("command", ["explain", "inspect"])
def test_unknown_categories(run: Command, model: Path, vector_model: Path, command: str) -> None:
    ended = run(command, model, "--category", "sports", stdin=b"oil")
    assert ended.code == 2
    assert "'sports'; it has energy, grain, money" in ended.complaint


def test_the_other_of_two_classes_has_no_weights_of_its_own(run: Command, vector_model: Path) -> None:
    ended = run("inspect", vector_model, "--category", "-1")
    assert ended.code == 2
    assert "says no to '1'" in ended.complaint


def test_evaluating_without_labels_of_the_model(run: Command, model: Path, tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text(json.dumps({"text": "oil", "label": "sports"}) + "\n")
    ended = run("evaluate", model, data)
    assert ended.code == 2
    assert "expected labels of the model (energy, grain, money), found sports" in ended.complaint
    data.write_text(json.dumps({"text": "oil"}) + "\n")
    ended = run("evaluate", model, data)
    assert ended.code == 2
    assert "label" in ended.complaint


def test_a_corpus_without_the_default_part(run: Command, model: Path, tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    data.write_bytes(build.jsonl([one for one in build.documents() if one.split == "train"]))
    ended = run("evaluate", model, data)
    assert ended.code == 2
    assert "expected documents of split 'test', found train; choose with --split" in ended.complaint
    assert run("evaluate", model, data, "--split", "train").code == 0


def test_errors_reach_a_shell_as_exit_codes(model: Path, news: Path) -> None:
    assert new_process("inspect", model).code == 0
    bad = new_process("inspect", news)
    assert bad.code == 2
    assert bad.out == ""
    assert bad.err.count("\n") == 1


KNOWLEDGE = [
    ("--prior", b"wheat\t1\n\xff\t2\n", "known, line 2: expected UTF-8"),
    ("--prior", b"wheat\t1\noil\t1\t-2x\n", "known, line 2: expected a variance of 0 or more"),
    ("--prior", b"# words\noil\t-1\t1\t+\n", "known, line 2: the mode -1 contradicts the sign >= 0"),
    ("--prior", b"wheat\t0\t2\nsorghum\t0\t2\n", "known, line 2: no training document has the feature 'sorghum'"),
    ("--prior", b"wheat\t1\noil\t1\t2\t0\tmetals\n", "known, line 2: 'metals' is no category"),
    ("--prior", b"harvest\t1\nharvests\t2\n", "known, line 2: 'harvest' has another prior already"),
    ("--prior", b"oil\t1\nwheat\t1\tinf\n", "known, line 2: the feature 'wheat' has documents on one side only"),
    ("--prior", b"", "known: expected lines of feature mode"),
    ("--prior-words", b"grain\twheat\nmetals\tgold\n", "known, line 2: 'metals' is no category"),
    ("--prior-words", b"grain\twheat\nmoney\t?! --\n", "known, line 2: expected words"),
    ("--prior-words", b"grain\twheat\nmoney \xe9\n", "known, line 2: expected UTF-8"),
]


@pytest.mark.parametrize(("option", "content", "said"), KNOWLEDGE, ids=[said[7:] for *_, said in KNOWLEDGE])
def test_knowledge_that_cannot_be_used(
    run: Command, news: Path, untouched: Path, option: str, content: bytes, said: str
) -> None:
    known = untouched.parent / "known"
    known.write_bytes(content)
    ended = run("train", news, "-o", untouched, option, known)
    assert ended.code == 2
    assert said in ended.complaint
    assert untouched.read_bytes() == b"the old model"
