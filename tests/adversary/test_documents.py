"""Documents that are meant no good."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli.run import Command
from reporting.build import model

from lapwing.formats import save
from lapwing.model import LinearModel
from lapwing.text import TextSettings
from lapwing.text.stemming import terms_of
from lapwing.text.table import token_table
from lapwing.text.tokens import strip_html

_scores = LinearModel.scores


def poisoned(self: LinearModel, documents: Any, **how: Any) -> Any:
    """As if a text could not be read, as those with a number of 5,000 digits once could not."""
    if any("poison" in text for text in documents):
        raise ValueError("poison")
    return _scores(self, documents, **how)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("a&#" + "9" * 5000 + ";b", "a\ufffdb"),
        ("a&#" + "9" * 5000 + " b", "a\ufffd b"),
        ("a&#" + "0" * 5000 + "65;b", "aAb"),
        ("&#" + "0" * 5000, "\ufffd"),
        ("&#x" + "0" * 5000 + "41;", "A"),
        ("&#x" + "f" * 5000 + ";", "\ufffd"),
        ("&#1114112; &#55296;", "\ufffd \ufffd"),
    ],
)
def test_numbers_of_many_digits(given: str, wanted: str) -> None:
    assert strip_html(given) == wanted


def test_a_document_that_cannot_be_read_is_named(run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without --skip-bad the first is named; with it the others are classified as if it had never been there."""
    save(model(TextSettings(strip_html=True)), tmp_path / "m.lapwing")
    texts = ["oil", "wheat", "poison", "gas", "bank", "poison", "rate"]
    data, clean = tmp_path / "d.jsonl", tmp_path / "c.jsonl"
    lines = [json.dumps({"id": f"d{k}", "text": text}) + "\n" for k, text in enumerate(texts)]
    data.write_text("".join(lines))
    clean.write_text("".join(line for line in lines if "poison" not in line))
    wanted = run("classify", tmp_path / "m.lapwing", clean, "--json")
    prepared = TextSettings.prepared

    def refusing(self: TextSettings, text: str) -> str:
        if "poison" in text:
            raise ValueError("poison")
        return prepared(self, text)

    monkeypatch.setattr(TextSettings, "prepared", refusing)
    refused = run("classify", tmp_path / "m.lapwing", data)
    assert refused.code == 2
    assert "document d2 cannot be classified" in refused.err
    assert "--skip-bad" in refused.err
    output = run("classify", tmp_path / "m.lapwing", data, "--json", "--skip-bad")
    assert output.code == 0
    assert output.out == wanted.out
    assert "document d2" in output.err
    assert "document d5" in output.err


@pytest.mark.parametrize("language", ["tamil", "serbian", "porter", "german"])
def test_words_without_end_are_not_stemmed(language: str) -> None:
    """Some stemmers take the square of a word's letters: those of 200,000 would take hours."""
    settings = TextSettings(stemmer=language, stop_words="none")
    long = "abc" * 70_000 + "ing"
    assert terms_of(sorted([long, "a" * 200]), settings)[0][-1] == long
    assert len(terms_of(["ing" * 70], settings)[0][0]) == 210


def test_earlier_models_stem_as_they_did() -> None:
    """The bound belongs to version 2 of the token table; a model of version 1 has none."""
    word = "x" * 210 + "s"
    assert terms_of([word], TextSettings(table=1))[0] == ["x" * 210]
    assert terms_of([word], TextSettings())[0] == [word]
    assert terms_of([word[20:]], TextSettings())[0] == ["x" * 190]
    first, second = token_table(1), token_table(2)
    assert (first.runs, first.lower) == (second.runs, second.lower)
