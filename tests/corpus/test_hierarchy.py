"""What is above which label, and vocabularies as Annif has them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from lapwing.corpus import Hierarchy
from lapwing.errors import CorpusError, InputError
from lapwing_formats.vocabulary import Subject, Vocabulary, read_vocabulary, write_vocabulary

PAIRS = [("optics", "physics"), ("physics", "science"), ("optics", "light"), ("lasers", "optics")]


def test_by_hand() -> None:
    tree = Hierarchy.of(PAIRS)
    assert tree.broader("optics") == ("physics", "light", "science")
    assert tree.broader("gardening") == ()
    assert [tree.level(one) for one in ("science", "light", "physics", "optics", "lasers", "gardening")] == [
        1, 1, 2, 3, 4, 1]  # fmt: skip
    assert tree.at("lasers", 1) == {"science", "light"}
    assert tree.at("lasers", 3) == {"optics"}
    assert tree.at("light", 3) == {"light"}
    assert tree.added([("lasers", 0.3), ("physics", 0.6)]) == [
        ("physics", 0.6), ("science", 0.6), ("lasers", 0.3), ("optics", 0.3), ("light", 0.3)]  # fmt: skip


def test_every_label_counts_as_something_at_every_level() -> None:
    draw = random.Random(3)
    for _ in range(20):
        tree = Hierarchy.of(
            (str(k), str(draw.randrange(k))) for k in range(1, 60) for _ in range(draw.choice([0, 1, 1, 2]))
        )
        for label in map(str, range(60)):
            assert all(tree.level(one) < tree.level(label) for one in tree.broader(label))
            for level in range(1, 12):
                assert tree.at(label, level)
                assert {tree.level(one) for one in tree.at(label, level)} == {min(level, tree.level(label))}


def test_a_long_chain() -> None:
    tree = Hierarchy.of((str(k), str(k + 1)) for k in range(5000))
    assert tree.level("0") == 5001


def test_a_circle_is_refused_with_its_labels(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("a\tb\nb\tc\nc\ta\n")
    with pytest.raises(CorpusError, match=r"pairs.tsv: .*found a below b below c below a; remove one"):
        Hierarchy.read(tmp_path / "pairs.tsv")
    with pytest.raises(InputError, match="found a below a"):
        Hierarchy.of([("a", "a")])


@pytest.mark.parametrize("content", ["a b\n", "a\tb\tc\n", "\tb\n", "", "\n"])
def test_what_is_no_pair_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "pairs.tsv").write_text(content)
    with pytest.raises(CorpusError, match=r"expected .*a label, a tab and a broader one"):
        Hierarchy.read(tmp_path / "pairs.tsv")


def test_labels_that_the_model_does_not_have() -> None:
    tree = Hierarchy.of(PAIRS)
    tree.check(["optics", "gardening"], "pairs.tsv")
    with pytest.raises(InputError, match=r"pairs.tsv: expected broader labels .*\(wheat\), found them of optics"):
        tree.check(["wheat"], "pairs.tsv")


VOCABULARY = Vocabulary(
    (
        Subject("http://example.org/1", 'light, "visible"'),
        Subject("http://example.org/2", "optics", "53.5"),
        Subject("http://example.org/3", "fysiikka ja änkyrä"),
    ),
    (("http://example.org/2", "http://example.org/3"),),
)


@pytest.mark.parametrize("name", ["v.tsv", "v.csv", "v.ttl", "v.rdf", "v.nt"])
def test_a_vocabulary_comes_back(tmp_path: Path, name: str) -> None:
    skos = name[2:] not in ("tsv", "csv")
    if skos:
        pytest.importorskip("rdflib", reason="the extra 'skos' is not installed")
    write_vocabulary(tmp_path / name, VOCABULARY)
    result = read_vocabulary(tmp_path / name)
    assert result.subjects == VOCABULARY.subjects
    assert result.broader == (VOCABULARY.broader if skos else ())
    if skos:
        tree = Hierarchy.read(tmp_path / name)
        assert tree.broader("http://example.org/2") == ("http://example.org/3",)
        assert tree.broader("optics") == ("fysiikka ja änkyrä",)


def test_languages(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("uri,label_en,label_fi\n<http://example.org/1>,light,valo\n")
    assert read_vocabulary(tmp_path / "v.csv").labels == {"http://example.org/1": "light"}
    assert read_vocabulary(tmp_path / "v.csv", "fi").uris == {"valo": "http://example.org/1"}
    with pytest.raises(CorpusError, match="columns uri and label_sv"):
        read_vocabulary(tmp_path / "v.csv", "sv")


@pytest.mark.parametrize(("name", "content"), [("v.tsv", "no tab\n"), ("v.tsv", ""), ("v.csv", "a,b\n1,2\n"),
                                               ("v.ttl", "<a> <b>"), ("v.ttl", ""), ("v.rdf", "<a")])  # fmt: skip
def test_what_is_no_vocabulary_is_refused(tmp_path: Path, name: str, content: str) -> None:
    if name[2:] in ("ttl", "rdf"):
        pytest.importorskip("rdflib", reason="the extra 'skos' is not installed")
    (tmp_path / name).write_text(content)
    with pytest.raises(CorpusError, match=name):
        read_vocabulary(tmp_path / name)
