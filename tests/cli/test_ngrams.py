"""lapwing train --ngrams, and every command on what it makes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from model.build import ngram_model

from cli import build
from cli.run import Command
from cli.test_start import loaded_by
from cli.test_terminal import on_terminal
from lapwing.formats import load, save

PRAISE = ["not bad at all", "not at all bad", "really quite good", "good, and not bad", "quite good indeed"]
BLAME = ["not good at all", "not at all good", "really quite bad", "bad, and not good", "quite bad indeed"]


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same words on both sides, in another order."""
    path = tmp_path_factory.mktemp("reviews") / "reviews.jsonl"
    lines = [(f"It was {text}.", label) for label, texts in (("yes", PRAISE), ("no", BLAME)) for text in texts]
    records = [{"text": text, "label": label} for text, label in lines * 6]
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def words(reviews: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build.train(reviews, tmp_path_factory.mktemp("ngrams") / "words.lapwing", "--ngrams", "word")


def test_trained_and_used(run: Command, reviews: Path, words: Path) -> None:
    output = run("evaluate", words, reviews, "--json").json
    assert json.dumps(output).count("1.0") > 0
    answers = run("classify", words, stdin=b"it was not bad at all\nit was not good at all\n").lines
    assert ["yes" in line for line in answers] == [True, False]
    shown = run("inspect", words, "--json").json
    assert shown["model"]["text"]["ngrams"] is True
    assert shown["model"]["text"]["stop_words"] == shown["model"]["text"]["stemmer"] == "none"
    assert shown["model"]["provenance"]["ngrams"]["max_length"] is None
    assert shown["model"]["provenance"]["ngrams"]["ngrams"] > shown["model"]["provenance"]["ngrams"]["columns"]
    for item in shown["categories"][0]["weights"]:
        assert item["members"] >= 1
        assert len(item["longest"].split()) >= len(item["feature"].split())
        assert item["longest"] != item["feature"] or item["members"] == 1
    assert "alike, to “" in run("inspect", words, "--category", "yes").out
    assert "n-grams in" in run("inspect", words).out


def test_answers_need_no_numba(words: Path, reviews: Path) -> None:
    assert "numba" not in loaded_by("classify", words, reviews)
    assert "numba" not in loaded_by("explain", words, "not bad at all")


def test_explain_underlines_overlapping_ngrams(run: Command, tmp_path: Path) -> None:
    model, text = tmp_path / "m", "It was NOT bad at all, really  quite good: quite bad"
    save(ngram_model(["at all really", "not bad", "bad", "bad at all", "quite good"]), model)
    explanation = run("explain", model, text, "--json").json["categories"][0]
    spans = {part["feature"]: [tuple(place) for place in part["spans"]] for part in explanation["contributions"]}
    assert spans == {
        "not bad": [(7, 14)],
        "bad": [(11, 14), (49, 52)],
        "bad at all": [(11, 21)],
        "at all really": [(15, 29)],
        "quite good": [(31, 41)],
    }
    code, seen = on_terminal("explain", model, text, "--top", 1, columns=100)
    assert code == 0
    line = next(line for line in seen.splitlines() if "NOT" in line).removeprefix("  ")
    underlined, on = "", False
    for escape, character in re.findall(r"(\x1b\[[0-9;]*m)|(.)", line):
        if character:
            underlined += "_" if on else " "
        else:
            on = "4" in escape[2:-1].split(";")
    places = [place for where in spans.values() for place in where]
    covered = "".join("_" if any(a <= i < b for a, b in places) else " " for i in range(len(text)))
    assert underlined.rstrip() == covered.rstrip()


def test_characters_and_greedy(run: Command, reviews: Path, tmp_path: Path) -> None:
    ran = run(
        "train", reviews, "-o", tmp_path / "m", "--ngrams", "char", "--solver", "greedy", "--steps", "12", "--json"
    )
    assert ran.json["ngrams"]["steps"] == 12
    assert ran.json["largest_relative_gap"] is None
    assert 0 < ran.json["features"] <= 12
    model = load(tmp_path / "m")
    assert model.fits.rounds.tolist() == [12]
    assert "no prior" in run("inspect", tmp_path / "m").out
    assert run("explain", tmp_path / "m", "not bad at all").code == 0


def test_limits_folds_validation_and_tokens(run: Command, reviews: Path, tmp_path: Path) -> None:
    run("train", reviews, "-o", tmp_path / "a", "--ngrams", "word", "--max-length", "2", "--min-support", "7")
    weighting = load(tmp_path / "a").weighting
    assert weighting is not None
    assert max(len(term.split()) for term in weighting.terms) == 2
    assert weighting.document_frequency.min() >= 7
    split = tmp_path / "split.jsonl"
    records = [json.loads(line) for line in reviews.read_text(encoding="utf-8").splitlines()]
    parts = ("train", "train", "validation")
    lines = [json.dumps({**record, "split": parts[k % 3]}) + "\n" for k, record in enumerate(records)]
    split.write_text("".join(lines), encoding="utf-8")
    for more in (["--variance", "cv"], ["--solver", "greedy", "--steps", "cv"]):
        for how in ([], ["--validation"]):
            ran = run("train", split, "-o", tmp_path / "b", "--ngrams", "word", "--stemmer", "porter", *more, *how)
            assert ran.code == 0, ran.err
    assert load(tmp_path / "b").provenance["documents"] == 40


def test_the_same_bytes_again_and_after_an_interruption(reviews: Path, words: Path, tmp_path: Path) -> None:
    again = build.train(reviews, tmp_path / "again.lapwing", "--ngrams", "word", "--jobs", "2")
    assert again.read_bytes() == words.read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--max-length", "3"], "--max-length belongs to --ngrams; add --ngrams word"),
        (["--solver", "greedy"], "--solver greedy belongs to --ngrams"),
        (["--ngrams", "word", "--tf", "raw"], "--tf has no place beside --ngrams"),
        (["--ngrams", "word", "--min-df", "2"], "use --min-support"),
        (["--ngrams", "word", "--prior", "gaussian"], "leave prior at its default"),
        (["--ngrams", "word", "--solver", "clg"], "solver must be one of auto, exact, greedy"),
        (["--ngrams", "word", "--steps", "few"], "steps must be a whole number of 1 or more, got 'few'"),
        (["--ngrams", "word", "--solver", "greedy", "--steps", "2.5"], "steps must be a whole number"),
        (["--ngrams", "word", "--min-support", "1000"], "no n-gram is left"),
    ],
)
def test_what_does_not_go_together(
    run: Command, reviews: Path, tmp_path: Path, options: list[str], message: str
) -> None:
    ran = run("train", reviews, "-o", tmp_path / "m", *options)
    assert ran.code == 2
    assert message in ran.complaint
    assert not (tmp_path / "m").exists()


def test_vectors_have_no_ngrams(run: Command, vector_model: Path, tmp_path: Path) -> None:
    ran = run("train", vector_model.parent / "data.svm", "-o", tmp_path / "m", "--ngrams", "word")
    assert ran.code == 2
    assert "n-grams need texts" in ran.complaint


def test_probit(run: Command, reviews: Path, tmp_path: Path) -> None:
    ran = run("train", reviews, "-o", tmp_path / "m", "--ngrams", "word", "--link", "probit", "--json")
    assert ran.json["largest_relative_gap"] <= 1e-4
    assert np.isfinite(load(tmp_path / "m").fits.objective).all()


@pytest.mark.parametrize(
    ("flags", "feature"),
    [(("--word-ngrams", 1, 2), "not bad"), (("--char-ngrams", 5, 6, "--tokens", "char"), "ot␣bad")],
)
def test_all_short_ngrams(run: Command, reviews: Path, tmp_path: Path, flags: tuple[object, ...], feature: str) -> None:
    """As plain features, with weights: they tell apart what single words cannot."""
    model = build.train(reviews, tmp_path / "m.lapwing", *map(str, flags), "--stop-words", "none", "--variance", "20")
    answers = run("classify", model, stdin=b"it was not bad at all\nit was not good at all\n").lines
    assert ["yes" in line for line in answers] == [True, False]
    explanation = run("inspect", model, "--category", "yes").out + run("explain", model, "it was not bad", "--json").out
    assert feature in explanation or feature.replace("␣", " ") in explanation
    assert "numba" not in loaded_by("classify", model, reviews)
    refused = run("train", reviews, "-o", tmp_path / "n", "--ngrams", "word", *map(str, flags))
    assert "no place beside --ngrams" in refused.err
