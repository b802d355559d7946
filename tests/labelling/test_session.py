"""Labelling without a browser: what is asked, what is kept, what is learned."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from cli import build

from lapwing.corpus import Corpus, read
from lapwing.errors import InputError, SettingsError
from lapwing.labelling import STRATEGIES, Answers, Session, next_documents
from lapwing.priors import from_words

MADE = build.documents(120)
TRUTH = {str(i): d.label for i, d in enumerate(MADE)}
NAMES = ["energy", "grain", "money"]


def pool() -> Corpus:
    n = len(MADE)
    return Corpus("pool", "text", [d.text for d in MADE], [()] * n, list(TRUTH), False, [""] * n, np.ones(n))


def session(path: Path, **options: object) -> Session:
    return Session(pool(), Answers(path), NAMES, **options)  # type: ignore[arg-type]


def answer(one: Session, count: int) -> list[str]:
    asked = []
    for _ in range(count):
        i = one.current()
        assert i is not None
        asked.append(one.pool.ids[i])
        one.answer(asked[-1], [TRUTH[asked[-1]]])
        one.wait()
    return asked


def test_answers_are_a_corpus_and_teach(tmp_path: Path) -> None:
    one = session(tmp_path / "labels.jsonl")
    asked = answer(one, 30)
    assert len(set(asked)) == 30
    assert one.model is not None
    right = [one.model.predict([d.text])[0] == d.label for d in MADE]
    assert np.mean(right) > 0.9
    state = one.state()
    assert state["answered"] == 30
    assert len(state["curve"]) >= 3
    for result in state["categories"]:
        assert result["unfound_range"][0] <= result["unfound"] <= result["unfound_range"][1]
    corpus = read(tmp_path / "labels.jsonl")
    assert [labels[0] for labels in corpus.labels] == [TRUTH[id] for id in asked]


def test_a_session_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    first = session(path)
    asked = answer(first, 12)
    i = first.current()
    assert i is not None
    first.skip(first.pool.ids[i])
    with open(path, "ab") as file:  # cut off in the middle of a line
        file.write(b'{"id": "77", "text": "half of')
    first.answers.close()
    again = session(path)
    assert again.state()["answered"] == 12
    assert again.state()["skipped"] == 1
    assert again.model is not None
    assert not {*asked, first.pool.ids[i]} & set(answer(again, 20))
    assert len(path.read_text(encoding="utf-8").splitlines()) == 32


def test_undo(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    one = session(path)
    asked = answer(one, 3)
    one.undo()
    assert one.pool.ids[one.current() or 0] == asked[-1]
    assert [json.loads(line)["id"] for line in path.read_text(encoding="utf-8").splitlines()] == asked[:2]
    one.skip(asked[-1])
    one.undo()
    assert one.pool.ids[one.current() or 0] == asked[-1]
    one.undo()
    one.undo()
    with pytest.raises(InputError, match="no answer to take back"):
        one.undo()
    assert path.read_bytes() == b""


def test_what_is_not_asked_is_not_answered(tmp_path: Path) -> None:
    one = session(tmp_path / "labels.jsonl")
    with pytest.raises(InputError, match="expected one of the categories"):
        one.answer("0", ["metal"])
    with pytest.raises(InputError, match="waiting"):
        one.answer("none", ["grain"])
    (done,) = answer(one, 1)
    with pytest.raises(InputError, match="waiting"):
        one.answer(done, ["grain"])


def test_the_same_answer_again_is_accepted(tmp_path: Path) -> None:
    """As a browser sends it whose reply was lost; another answer is not."""
    path = tmp_path / "labels.jsonl"
    one = session(path)
    (done,) = answer(one, 1)
    one.answer(done, [TRUTH[done]])
    i = one.current()
    assert i is not None
    one.skip(one.pool.ids[i])
    one.skip(one.pool.ids[i])
    assert len(path.read_text(encoding="utf-8").splitlines()) == 1
    assert (one.state()["answered"], one.state()["skipped"]) == (1, 1)
    with pytest.raises(InputError, match="waiting"):
        one.answer(done, [next(name for name in NAMES if name != TRUTH[done])])
    one.undo()
    one.undo()
    one.answer(done, ["money"])
    assert json.loads(path.read_text(encoding="utf-8"))["labels"] == ["money"]


def test_a_state_is_of_one_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for between a new model, with one more category, and its probabilities."""
    import lapwing

    model = lapwing.TextClassifier(variance=30.0).fit([d.text for d in MADE[:60]], [d.label for d in MADE[:60]]).model_
    one = Session(pool(), Answers(tmp_path / "a"), ["metal"], model=model, every=1)
    states = []

    def asked(*given: Any, **options: Any) -> np.ndarray:
        states.append(one.state())
        return next_documents(*given, **options)

    monkeypatch.setattr("lapwing.labelling.session.next_documents", asked)
    for _ in range(3):
        i = one.current()
        assert i is not None
        one.answer(one.pool.ids[i], ["metal"])
        one.wait()
    assert len(states) == 3
    for state in [*states, one.state()]:
        known = [one["name"] for one in state["categories"] if one["unfound"] is not None]
        assert known == list(state["document"]["probabilities"])
    assert known[-1] == "metal"


def test_states_while_answers_come(tmp_path: Path) -> None:
    one = session(tmp_path / "labels.jsonl", every=1)
    going, wrong = threading.Event(), []

    def poll() -> None:
        while not going.is_set():
            try:
                one.state()
            except Exception as error:
                wrong.append(error)

    threads = [threading.Thread(target=poll) for _ in range(2)]
    for thread in threads:
        thread.start()
    answer(one, 12)
    going.set()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_another_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("one\ntwo\n", encoding="utf-8")
    with pytest.raises(InputError, match="name another file"):
        Answers(path)
    assert path.read_text(encoding="utf-8") == "one\ntwo\n"


def test_names_alone_begin(tmp_path: Path) -> None:
    """Documents in which the name of a category stands come first."""
    one = Session(pool(), Answers(tmp_path / "a"), ["harvest", "barrel"])
    i = one.current()
    assert i is not None
    assert "harvest" in MADE[i].text.lower()


def test_a_model_is_updated(tmp_path: Path) -> None:
    import lapwing

    model = lapwing.TextClassifier(variance=30.0).fit([d.text for d in MADE[:60]], [d.label for d in MADE[:60]]).model_
    one = Session(pool(), Answers(tmp_path / "a"), ["metal"], model=model)
    assert one.categories == [*NAMES, "metal"]
    for _ in range(5):
        i = one.current()
        assert i is not None
        one.answer(one.pool.ids[i], ["metal"])
        one.wait()
    assert one.model is not None
    assert one.model.classes[-1] == "metal"


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_strategies(strategy: str) -> None:
    X = sp.csr_matrix(np.eye(6)[[0, 0, 1, 2, 3, 4]])
    proba = np.array([[0.5], [0.5], [0.45], [0.99], [0.02], [0.9]])
    docs = next_documents(strategy, proba, X, 3, exclusive=False)
    assert len(set(docs)) == 3
    assert docs == next_documents(strategy, proba, X, 3, exclusive=False)
    expected = {"uncertainty": {0, 1, 2}, "change": {0, 1, 2}, "probable": {3, 5}, "random": set(range(6))}
    if strategy == "diverse":
        assert len({0, 1} & set(docs)) == 1  # they are alike
    elif strategy == "probable":
        assert docs[:2] == [3, 5]
    else:
        assert set(docs) <= expected[strategy]


def test_an_unknown_strategy() -> None:
    with pytest.raises(SettingsError, match="strategy must be one of"):
        next_documents("best", np.ones((1, 1)), sp.csr_matrix((1, 1)), 1, exclusive=False)


def test_words_to_begin_with(tmp_path: Path) -> None:
    words = {"energy": "oil crude", "grain": "wheat corn", "money": "bank loan"}
    one = session(tmp_path / "labels.jsonl", prior=from_words(words, strict=False, base="elasticnet"), every=6)
    first = [TRUTH[one.pool.ids[i]] for i in one.now.queue[:6]]
    assert first == [*NAMES, *NAMES]  # by turns, each of the category whose words it is most like
    answer(one, 6)
    assert one.model is not None
    assert one.model.provenance["prior_rows"]
    expected = [("wheat", "grain"), ("crude", "energy"), ("loan", "money")]
    assert [one.model.predict([word])[0] for word, _ in expected] == [label for _, label in expected]
    with pytest.raises(InputError, match="expected words for one of the categories, got 'sport'"):
        session(tmp_path / "other.jsonl", prior=from_words({"sport": "ball"}, strict=False))
    with pytest.raises(InputError, match="for labelling without a model"):
        session(tmp_path / "third.jsonl", model=one.model, prior=from_words(words, strict=False))
