"""Every face of every model gives the same answers: models × faces, a cell each.

A cell is equal, or refused by a sentence that the documentation has, too; `pytest tests/consistency -v` prints them.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra 'serve' is not installed")

from serve.start import Server

from consistency.faces import FACES, Refused, Tools
from consistency.models import CASES, KNOWN_WORDS, TASKS, Answer, Case, made

DOCS = Path(__file__).resolve().parents[2] / "docs"
TOP = 100  # probabilities in an answer of the server, of more than a thousand classes

# (kind of model, face): what the sentence says.
COLUMNS, VECTORS = "beside (the text|them)", "trained on vectors"
REFUSED: dict[tuple[str, str], str] = {
    ("columns", "report in a browser"): COLUMNS,
    ("columns", "page of serve in a browser"): COLUMNS,
    ("columns", "JavaScript"): COLUMNS,
    ("columns", "Python file"): COLUMNS,
    ("columns", "ONNX"): COLUMNS,
    ("converted from BBR", "explain"): VECTORS,
    ("converted from BBR", "report in a browser"): VECTORS,
    ("converted from BBR", "page of serve in a browser"): VECTORS,
    ("converted from BBR", "JavaScript"): VECTORS,
    ("converted from BBR", "Python file"): VECTORS,
    ("robit", "ONNX"): "Student's distribution",
    ("many exclusive, probit", "ONNX"): "tail of the normal distribution",
}
CELLS, CEILING = 369, 35  # all, and those that are refused: the first may only rise, the second only fall
# How far a number may be off: (probabilities, contributions).
EXACT = (1e-12, 1e-11)
TOLERANCE = {
    "report in a browser": (1e-12, 0.00501),  # shown with two digits
    "page of serve in a browser": (1e-12, 0.00501),
    ("probit", "ONNX"): (1e-6, 1e-9),  # runtimes have the error function in single precision
}


def by_kind(table: dict[Any, Any], case: str, face: str) -> Any:
    kind = case.partition(", ")[2]
    return next((table[key] for key in ((case, face), (kind, face), face) if key in table), None)


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Case]:
    folder = tmp_path_factory.mktemp("models")
    return {name: made(name, folder) for name in CASES}


@pytest.fixture(scope="module")
def server(cases: dict[str, Case]) -> Iterator[Server]:
    with Server(*(case.path for case in cases.values()), "--log-level", "warning") as running:
        yield running


@pytest.fixture
def tools(tmp_path: Path, server: Server, request: pytest.FixtureRequest, face: str) -> Tools:
    if face == "ONNX":
        pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    if face == "JavaScript" and shutil.which("node") is None:
        pytest.skip("Node is not installed")
    return Tools(tmp_path, server, request.getfixturevalue("chromium") if "browser" in face else None)


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("name", CASES)
def test_cell(name: str, face: str, cases: dict[str, Case], tools: Tools) -> None:
    case, sentence = cases[name], by_kind(REFUSED, name, face)
    if sentence is not None:
        with pytest.raises(Refused, match=sentence):
            FACES[face](case, tools)
        return
    answers = FACES[face](case, tools)
    assert len(answers) == len(case.questions)
    tolerance = by_kind(TOLERANCE, name, face) or EXACT
    for k, (found, wanted) in enumerate(zip(answers, case.wanted, strict=True)):
        check(found, wanted, case, k, face, *tolerance)


def check(found: Answer, wanted: Answer, case: Case, k: int, face: str, near: float, close: float) -> None:
    where = case.questions[k]
    names = set(wanted.probabilities)
    if face == "explain":
        names = set(case.asked_of(k))
    elif len(names) > 1000 and face in ("API", "page of serve in a browser"):
        order = sorted(wanted.probabilities, key=lambda name: -wanted.probabilities[name])
        assert len(found.probabilities) == TOP
        assert min(found.probabilities.values()) >= wanted.probabilities[order[TOP]] - near
        names = set(found.probabilities)
    assert set(found.probabilities) == names, where
    assert found.chosen == wanted.chosen & names, where
    for name in names:
        assert abs(found.probabilities[name] - wanted.probabilities[name]) <= near, (where, name)
    if found.scores is not None:
        assert found.scores == pytest.approx(wanted.scores, rel=0, abs=1e-9)
    if found.words is None:
        return
    assert list(found.words) != []
    assert wanted.words is not None
    for name, words in found.words.items():
        mine = wanted.words[name]
        strongest = sorted(mine.parts.items(), key=lambda pair: -abs(pair[1]))[: words.cut]
        if words.cut is None:
            assert set(words.parts) == set(mine.parts), (where, name)
        assert len(words.parts) == len(strongest), (where, name)
        for feature, value in words.parts.items():
            assert abs(value - mine.parts[feature]) <= close, (where, name, feature)
            assert value * mine.parts[feature] > 0 or abs(mine.parts[feature]) <= close
        if words.intercept is not None:
            assert abs(words.score - mine.score) <= close, (where, name)
            assert abs(words.intercept - mine.intercept) <= close, (where, name)


@pytest.mark.parametrize("name", [name for name in CASES if not re.search("converted|many labels", name)])
def test_words_speak_for_their_own_class(name: str, cases: dict[str, Case]) -> None:
    """By construction of the texts, so that equal answers are not equally wrong; and every class is an answer."""
    case, topics = cases[name], TASKS[name.partition(", ")[0]]
    chosen = set()
    for question, wanted in zip(case.questions, case.wanted, strict=True):
        assert wanted.words is not None
        chosen |= wanted.chosen
        for label, words in topics.items():
            if question.text == " ".join(words.split()[1 : KNOWN_WORDS + 1]):
                assert label in wanted.chosen
                assert wanted.words[label].score > 0 or case.model.link == "softmax"
                assert sum(wanted.words[label].parts.values()) > 0
                others = [wanted.words[other] for other in topics if other != label]
                assert all(sum(one.parts.values()) < sum(wanted.words[label].parts.values()) for one in others)
    assert chosen == set(topics)
    assert case.wanted[0].words is not None
    assert all(not one.parts or case.has_columns for one in case.wanted[0].words.values())  # the empty text has none


DOCUMENTED = {  # a row of the table in docs/deploy.md, and the models that it is about
    "link probit, three or more exclusive classes": ["many exclusive, probit"],
    "link robit": [name for name in CASES if name.endswith(", robit")],
    "columns beside the text": [name for name in CASES if name.endswith(", columns")],
    "of vectors, such as one converted from BBR": [name for name in CASES if "converted" in name],
}


def test_refused_cells_are_counted_and_documented() -> None:
    refused = {(name, face) for name in CASES for face in FACES if by_kind(REFUSED, name, face) is not None}
    assert len(CASES) * len(FACES) >= CELLS
    assert len(refused) <= CEILING
    lines = (DOCS / "deploy.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| ")]
    (first,) = [k for k, row in enumerate(rows) if row[:2] == ["model", "Python, classify, API"]]
    columns = [[face for face in FACES if _in_column(face, head)] for head in rows[first][1:]]
    assert sorted(face for column in columns for face in column) == sorted(FACES)
    said = set()
    for title, *cells in rows[first + 2 : first + 2 + len(DOCUMENTED)]:
        for column, cell in zip(columns, cells, strict=True):
            if cell == "refused":
                said |= {(name, face) for name in DOCUMENTED[title] for face in column}
    assert said == refused


def _in_column(face: str, head: str) -> bool:
    return face.removesuffix(" in a browser") in head.split(", ")
