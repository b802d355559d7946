"""lapwing classify: what goes in, what comes out, and that it is what the model says to the last bit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import lapwing
from cli import build
from cli.run import Command, Ran, new_process
from lapwing.evaluate import conformalize
from lapwing.formats import save


def answers(ended: Ran) -> list[dict[str, object]]:
    assert ended.code == 0, ended.err
    return [json.loads(line) for line in ended.lines]


def test_lines_of_standard_input(run: Command, model: Path) -> None:
    for arguments in ((model,), (model, "-")):
        ended = run("classify", *arguments, stdin=b"crude oil\r\nwheat and corn\n\nbank loan")
        assert ended.code == 0
        rows = [line.split("\t") for line in ended.lines]
        assert [row[0] for row in rows] == ["1", "2", "3", "4"]
        assert [rows[i][1] for i in (0, 1, 3)] == ["energy", "grain", "money"]
        assert all(0.0 < float(row[2]) < 1.0 for row in rows)


def test_a_line_is_the_same_text_from_standard_input_and_from_a_file(news: Path, tmp_path: Path, run: Command) -> None:
    """To a model that reads characters blanks matter, too; labels in front are none of the text."""
    assert run("train", news, "-o", tmp_path / "m.lapwing", "--tokens", "char", "--char-ngrams", 1, 3).code == 0
    lines = b" oil \r\n__label__grain __label__corn  gas prices\nbank\n"
    (tmp_path / "lines.txt").write_bytes(lines)
    piped, read = (run("classify", tmp_path / "m.lapwing", "--json", *data, stdin=lines)
                   for data in ((), (tmp_path / "lines.txt",)))  # fmt: skip
    bare = [run("explain", tmp_path / "m.lapwing", "--json", "--top", 3, stdin=text) for text in (b"oil\n", b"oil")]
    assert [one["probabilities"] for one in answers(piped)] == [one["probabilities"] for one in answers(read)]
    assert bare[0].json["categories"] == bare[1].json["categories"]
    assert answers(piped)[1]["probabilities"] == answers(run("classify", tmp_path / "m.lapwing", "--json",
                                                             stdin=b"gas prices"))[0]["probabilities"]  # fmt: skip


def test_a_byte_order_mark_is_no_word(run: Command, model: Path) -> None:
    marked = run("classify", model, "--json", stdin="\ufeffoil\n".encode())
    assert answers(marked) == answers(run("classify", model, "--json", stdin=b"oil\n"))


def test_another_encoding(run: Command, model: Path) -> None:
    text = "Öl oil été\n"
    expected = answers(run("classify", model, "--json", stdin=text.encode()))
    for encoding in ("latin-1", "utf-16"):
        ended = run("classify", model, "--json", "--encoding", encoding, stdin=text.encode(encoding))
        assert answers(ended) == expected


def test_skip_bad_leaves_broken_lines_out_and_keeps_the_numbers(run: Command, model: Path) -> None:
    ended = run("classify", model, "--skip-bad", "--json", stdin=b"oil\n\xff\ncorn\n")
    assert [answer["id"] for answer in answers(ended)] == ["1", "3"]
    assert "1 broken record" in ended.err


@pytest.mark.parametrize("format", ["jsonl", "csv", "tsv"])
def test_a_format_on_standard_input_is_the_same_as_the_file(
    run: Command, model: Path, tmp_path: Path, format: str
) -> None:
    docs = build.documents()
    content = {"jsonl": build.jsonl(docs), "csv": build.table(docs, ","), "tsv": build.table(docs, "\t")}[format]
    path = tmp_path / f"data.{format}"
    path.write_bytes(content)
    piped = run("classify", model, "-", "--format", format, "--json", stdin=content)
    assert answers(piped) == answers(run("classify", model, path, "--json"))
    assert [answer["id"] for answer in answers(piped)] == [one.id for one in docs]


def test_labels_are_not_needed(run: Command, model: Path, tmp_path: Path) -> None:
    (tmp_path / "data.jsonl").write_text('{"text": "crude oil"}\n')
    assert answers(run("classify", model, tmp_path / "data.jsonl", "--json"))[0]["predicted"] == ["energy"]


def test_split(run: Command, model: Path, news: Path) -> None:
    ids = [answer["id"] for answer in answers(run("classify", model, news, "--split", "test", "--json"))]
    assert ids == [one.id for one in build.documents() if one.split == "test"]
    assert len(answers(run("classify", model, news, "--split", "all", "--json"))) == 60
    assert len(answers(run("classify", model, news, "--json"))) == 60


def test_vectors(run: Command, vector_model: Path) -> None:
    data = vector_model.parent / "data.svm"
    result = answers(run("classify", vector_model, data, "--json"))
    truth = ["1" if one.label == "energy" else "-1" for one in build.documents()]
    assert sum(answer["predicted"] == [label] for answer, label in zip(result, truth, strict=True)) >= 57
    piped = run("classify", vector_model, "-", "--format", "svmlight", "--json", stdin=data.read_bytes())
    assert [answer["probabilities"] for answer in answers(piped)] == [answer["probabilities"] for answer in result]


def test_vectors_with_features_the_model_has_never_seen(run: Command, vector_model: Path) -> None:
    known = run("classify", vector_model, "-", "--format", "svmlight", "--json", stdin=b"1 1:2 3:1\n")
    more = run("classify", vector_model, "-", "--format", "svmlight", "--json", stdin=b"1 1:2 3:1 999:5\n")
    assert answers(known)[0]["probabilities"] == answers(more)[0]["probabilities"]
    assert more.err == ""
    strange = run("classify", vector_model, "-", "--format", "svmlight", "--json", stdin=b"1 999:5\n")
    assert strange.code == 0
    assert "no feature" in strange.err


def test_top(run: Command, model: Path) -> None:
    rows = [line.split("\t") for line in run("classify", model, "--top", "2", stdin=b"crude oil\n").lines]
    assert [row[0] for row in rows] == ["1", "1"]
    assert rows[0][1] == "energy"
    assert float(rows[0][2]) >= float(rows[1][2])
    answer = answers(run("classify", model, "--top", "2", "--json", stdin=b"crude oil\n"))[0]
    assert answer["probabilities"] == {row[1]: float(row[2]) for row in rows}
    assert answer["predicted"] == ["energy"]


def test_label_sets_may_be_empty_or_several(run: Command, label_model: Path) -> None:
    lines = b"prices said market\noil crude barrel gas pipeline refinery wheat corn harvest bushel farm crop\n"
    result = answers(run("classify", label_model, "--json", stdin=lines))
    assert result[0]["predicted"] == []
    assert set(result[1]["predicted"]) == {"energy", "grain"}  # type: ignore[call-overload]
    plain = run("classify", label_model, stdin=lines).lines
    assert plain[0] == "1\t\t"
    assert {line.split("\t")[1] for line in plain[1:]} == {"energy", "grain"}


def test_a_tab_in_a_name_does_not_break_the_table(run: Command, model: Path) -> None:
    record = json.dumps({"id": "a\tb\nc", "text": "oil"}).encode() + b"\n"
    ended = run("classify", model, "-", "--format", "jsonl", stdin=record)
    assert len(ended.lines) == 1
    assert ended.lines[0].split("\t")[:2] == ["a b c", "energy"]


def mixed(i: int) -> str:
    return " ".join(build.SCRIPTS[(i * k) % len(build.SCRIPTS)] for k in (1, 3, 7))


@pytest.mark.parametrize("tokens", ["word", "char"])
def test_a_new_process_says_what_the_estimator_said_to_the_bit(tmp_path: Path, tokens: str) -> None:
    texts = build.SCRIPTS + [mixed(i) for i in range(40)]
    labels = [f"k{i % 3}" for i in range(len(texts))]
    estimator = lapwing.TextClassifier(tokens=tokens, variance=50.0, strip_html=tokens == "word").fit(texts, labels)
    estimator.save(tmp_path / "m")
    said = estimator.predict_proba(texts)
    data = tmp_path / "texts.jsonl"
    data.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
    ended = new_process("classify", tmp_path / "m", data, "--json")
    printed = np.array([list(answer["probabilities"].values()) for answer in answers(ended)])  # type: ignore[attr-defined]
    assert np.array_equal(printed, said)
    loaded = lapwing.load(tmp_path / "m")
    for method in ("plain", "kernel"):
        assert np.array_equal(loaded.class_proba(loaded.scores(texts, method=method)), said)
        alone = np.vstack([loaded.scores([text], method=method) for text in texts])
        assert np.array_equal(loaded.class_proba(alone), said)


def test_two_classes_show_both_sides(run: Command, tmp_path: Path) -> None:
    texts = [one.text for one in build.documents()]
    estimator = lapwing.TextClassifier().fit(texts, [one.label == "grain" for one in build.documents()])
    estimator.save(tmp_path / "m")
    result = answers(run("classify", tmp_path / "m", "--json", stdin="\n".join(texts).encode()))
    said = estimator.predict_proba(texts)
    printed = [list(answer["probabilities"].values()) for answer in result]  # type: ignore[attr-defined]
    assert np.array_equal(np.array(printed), said)
    assert [answer["predicted"][0] for answer in result] == estimator.predict(texts).tolist()  # type: ignore[index]


def test_many_documents_come_in_the_order_they_went(run: Command, model: Path) -> None:
    texts = [f"{word} {i}" for i, word in enumerate(["oil", "wheat", "bank"] * 1500)]
    result = answers(run("classify", model, "--json", stdin="\n".join(texts).encode()))
    assert [answer["id"] for answer in result] == [str(i) for i in range(1, 4501)]
    printed = np.array([list(answer["probabilities"].values()) for answer in result])  # type: ignore[attr-defined]
    assert np.array_equal(printed, lapwing.load(model).predict_proba(texts))


@pytest.fixture
def promising(tmp_path: Path) -> Path:
    """Three exclusive classes, with promises from documents kept apart."""
    docs = build.documents(120)
    model = lapwing.TextClassifier(variance=1.0).fit([one.text for one in docs[::2]], [one.label for one in docs[::2]])
    labels = [(one.label,) for one in docs[1::2]]
    save(conformalize(model.model_, [one.text for one in docs[1::2]], labels), tmp_path / "promising.lapwing")
    return tmp_path / "promising.lapwing"


def test_sets_of_a_coverage(run: Command, promising: Path) -> None:
    given = ["crude oil", "wheat and corn", "bank loan", "something else", "oil bank wheat"]
    model = lapwing.load(promising)
    stdin = "\n".join(given).encode()
    for rate in (0.5, 0.9):
        result = answers(run("classify", promising, "--coverage", rate, "--json", stdin=stdin))
        sets = model.predict_set(given, coverage=rate)
        assert [tuple(one["predicted"]) for one in result] == sets  # type: ignore[arg-type]
        alone = answers(run("classify", promising, "--coverage", rate, "--abstain", "--json", stdin=stdin))
        assert [tuple(one["predicted"]) for one in alone] == [s if len(s) == 1 else () for s in sets]  # type: ignore[arg-type]
    sure = answers(run("classify", promising, "--precision", 0.6, "--json", stdin=stdin))
    assert [tuple(one["predicted"]) for one in sure] == model.predict_sure(given, 0.6)  # type: ignore[arg-type]


def test_promises_that_cannot_be_given(run: Command, news: Path, promising: Path, tmp_path: Path) -> None:
    model = tmp_path / "plain.lapwing"
    assert run("train", news, "-o", model, "--variance", "norm").code == 0

    def error(*arguments: object) -> str:
        ended = run("classify", *arguments, stdin=b"oil")
        assert ended.code == 2
        return ended.err

    assert "keeps nothing to promise" in error(model, "--coverage", 0.9)
    assert "give one of them" in error(promising, "--coverage", 0.9, "--precision", 0.9)
    assert "--abstain needs --coverage" in error(promising, "--abstain")
    assert "--top shows the most probable" in error(promising, "--top", 2, "--coverage", 0.9)
    assert "0<x<1" in error(promising, "--coverage", 1.5)


def test_broader_categories_are_added(run: Command, model: Path, tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("energy\tcommodities\ngrain\tcommodities\ncommodities\teconomy\n")
    text = b"crude oil\n"
    plain = answers(run("classify", model, "--json", stdin=text))[0]
    result = answers(run("classify", model, "--json", "--broader", pairs, stdin=text))[0]
    assert result["predicted"] == [*plain["predicted"], "commodities", "economy"]
    p = plain["probabilities"]["energy"]
    assert result["probabilities"] == {**plain["probabilities"], "commodities": p, "economy": p}
    rows = [line.split("\t") for line in run("classify", model, "--broader", pairs, stdin=text).lines]
    assert [row[1:] for row in rows] == [[name, repr(p)] for name in ("energy", "commodities", "economy")]
    first = run("classify", model, "--top", "1", "--broader", pairs, stdin=text).lines
    assert [line.split("\t")[1] for line in first] == ["energy", "commodities", "economy"]
    pairs.write_text("cats\tanimals\n")
    assert "name categories as the model does" in run("classify", model, "--broader", pairs, stdin=text).err


def test_broader_categories_are_judged(run: Command, model: Path, news: Path, tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("energy\tcommodities\ngrain\tcommodities\n")
    broad, own = run("evaluate", model, news, "--broader", pairs, "--json").json["levels"]
    assert (broad["labels"], own["labels"]) == (2, 3)
    assert broad["micro_f1"] >= own["micro_f1"]
    assert "give one of them" in run("evaluate", model, news, "--broader", pairs, "--roll-up", "/").err
    assert run("report", model, news, "-o", tmp_path / "r.html", "--broader", pairs, "--no-path").code == 0


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32-be"])
def test_standard_input_in_utf16(model: Path, encoding: str) -> None:
    lines = "wheat prices rose\r\noil and gas\r\n"
    given = new_process("classify", model, "-", stdin=lines.encode(encoding))
    assert given.code == 0, given.err
    assert given.out == new_process("classify", model, "-", stdin=lines.encode()).out


@pytest.mark.parametrize(
    "flags", [["--text-column", "body"], ["--split", "test"], ["--folder-level", "1"], ["--qrels", "q"]]
)
def test_options_that_mean_nothing_for_lines_are_refused(run: Command, model: Path, flags: list[str]) -> None:
    ran = run("classify", model, "-", *flags, stdin=b"wheat\n")
    assert ran.code == 2
    assert flags[0] in ran.complaint
    assert not ran.out
