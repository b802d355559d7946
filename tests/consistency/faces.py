"""The faces of a model: each is asked as a user asks it, and gives its answers or refuses by a sentence."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from reporting.open import WHY, Page

import lapwing
from consistency.models import Answer, Case, Words, command
from lapwing.exporting import onnx_inputs


class Refused(Exception):
    """By this sentence."""


@dataclass(frozen=True)
class Tools:
    """What faces are asked through; a server of all models, under the names of their files."""

    folder: Path
    server: Any
    chromium: Any


def _ran(*arguments: object, stdin: str = "") -> str:
    code, out, err = command(*arguments, stdin=stdin)
    if code == 2:
        assert "Traceback" not in err
        raise Refused(err.strip().splitlines()[-1].removeprefix("lapwing: "))
    assert code == 0, err
    return out


def python(case: Case, tools: Tools) -> list[Answer]:
    """`lapwing.load`: all documents at once and one by one, as an estimator of scikit-learn, and explained."""
    model, documents = case.model, case.documents
    proba, predicted = model.predict_proba(documents), model.predict(documents)
    each = [documents[k : k + 1] for k in range(len(case.questions))]
    np.testing.assert_allclose(np.vstack([model.predict_proba(one) for one in each]), proba, rtol=0, atol=1e-12)
    assert [model.predict(one)[0] for one in each] == predicted
    np.testing.assert_allclose(model.to_sklearn().predict_proba(documents), proba, rtol=0, atol=1e-12)
    answers = []
    for k, (row, label) in enumerate(zip(proba.tolist(), predicted, strict=True)):
        names = {str(one): one for one in model.classes}
        words = None
        if case.reads_text:
            found = model.explain(documents[k], [names[name] for name in case.asked_of(k)]).categories
            words = {
                str(one.category): Words(
                    one.score, one.intercept, {p.feature: p.contribution for p in one.contributions}
                )
                for one in found
            }
            assert all(
                one.chosen == (one.category == label if model.exclusive else one.category in label) for one in found
            )
            assert [one.probability for one in found] == sorted((one.probability for one in found), reverse=True)
        inside = {str(label)} if model.exclusive else {str(one) for one in label}
        answers.append(Answer(dict(zip(names, row, strict=True)), inside, words))
    return answers


def _data(case: Case, tools: Tools) -> Path:
    if case.reads_text:
        path = tools.folder / "questions.jsonl"
        rows = [{"text": one.text, **one.columns} for one in case.questions]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path
    path = tools.folder / "questions.svm"
    rows = (
        " ".join(f"{j}:{v}" for j, v in sorted(one.vector.items(), key=lambda pair: int(pair[0])))
        for one in case.questions
    )
    path.write_text("".join(f"1 {row}\n" for row in rows), encoding="utf-8")
    return path


def classify(case: Case, tools: Tools) -> list[Answer]:
    """`lapwing classify`: JSON with all probabilities, the table of decisions, and a text per line."""
    data = _data(case, tools)
    answers = [_predicted(line) for line in _ran("classify", case.path, data, "--json").splitlines()]
    table: dict[str, dict[str, float]] = {}
    for line in _ran("classify", case.path, data).splitlines():
        document, label, value = line.split("\t")
        table.setdefault(document, {}).update({label: float(value)} if label else {})
    assert len(table) == len(answers)
    for one, rows in zip(answers, table.values(), strict=True):
        assert set(rows) == one.chosen
        assert all(abs(value - one.probabilities[name]) <= 1e-12 for name, value in rows.items())
    if case.reads_text and not case.has_columns:
        _check_lines(case, answers, _ran("classify", case.path, "--json", stdin=_lines(case)))
    return answers


def _predicted(line: str) -> Answer:
    found = json.loads(line)
    return Answer(found["probabilities"], set(found["predicted" if "predicted" in found else "chosen"]))


def _lines(case: Case) -> str:
    """Questions that fit on a line, blanks around some of them."""
    return "".join(
        f"{' ' * (k % 3)}{one.text}{' ' * (k % 2)}\n" for k, one in enumerate(case.questions) if one.text.strip()
    )


def _check_lines(case: Case, answers: list[Answer], output: str) -> None:
    """A line is read without the blanks around it."""
    expected = [answer for one, answer in zip(case.questions, answers, strict=True) if one.text.strip()]
    for line, wanted in zip(output.splitlines(), expected, strict=True):
        found = _predicted(line)
        assert found.chosen == wanted.chosen
        assert all(abs(p - wanted.probabilities[name]) <= 1e-12 for name, p in found.probabilities.items())


def explain(case: Case, tools: Tools) -> list[Answer]:
    """`lapwing explain`: as JSON, and as it is read in a terminal."""
    answers = []
    for k, one in enumerate(case.questions):
        options = [part for name in case.asked_of(k) for part in ("--category", name)]
        if case.has_columns:
            options += [part for name, value in one.columns.items() for part in ("--value", f"{name}={value}")]
        line = ["explain", case.path, *options, "--", one.text]
        found = json.loads(_ran(*line[:2], "--json", *line[2:]))["categories"]
        _check_read(_ran(*line), found)
        answers.append(
            Answer(
                {item["category"]: item["probability"] for item in found},
                {item["category"] for item in found if item["chosen"]},
                {item["category"]: _words(item) for item in found},
            )
        )
    return answers


def _check_read(text: str, found: list[dict[str, Any]]) -> None:
    """What is printed for people is what the JSON says, rounded."""
    heads = re.findall(r"^(.+)  (yes|no), probability (\S+), score (\S+)$", text, re.MULTILINE)
    assert heads == [
        (one["category"], "yes" if one["chosen"] else "no", f"{one['probability']:.3f}", f"{one['score']:+.2f}")
        for one in found
    ]
    wanted = [
        f"{part['contribution']:+.3f}"
        for one in found
        for part in (*one["contributions"], {"contribution": one["intercept"]})
    ]
    assert re.findall(r"^ +([+-]\d+\.\d{3})  ", text, re.MULTILINE) == wanted


def _words(found: dict[str, Any]) -> Words:
    return Words(
        found["score"], found["intercept"], {part["feature"]: part["contribution"] for part in found["contributions"]}
    )


# Types a text, waits for the list of classes to be drawn for it, and reads all of them and the verdict.
_TYPE = """
async (text) => {
  const area = document.getElementById("text");
  const list = document.querySelector("#try .classes");
  const type = (value) => new Promise((resolve) => {
    const watch = new MutationObserver(() => { watch.disconnect(); resolve(); });
    watch.observe(list, { childList: true });
    area.value = value;
    area.dispatchEvent(new Event("change"));
  });
  if (area.value === text) await type(`${text} x`); // the page does not answer the same text again
  await type(text);
  return [[...list.children].map((item) => [item.querySelector("bdi").textContent,
    item.querySelector("data").getAttribute("value"), item.className === "chosen"]),
    document.querySelector("#try .verdict").textContent];
}
"""


def _typed(case: Case, page: Page) -> list[Answer]:
    if not page.page.locator("#text").count():
        raise Refused(page.page.locator("#try .note").inner_text())
    page.show_all()
    answers = []
    for k, one in enumerate(case.questions):
        rows, verdict = page.page.evaluate(_TYPE, one.text)
        chosen = {name for name, _, inside in rows if inside}
        assert all(name in verdict for name in chosen)
        assert chosen or "no category" in verdict
        words = {}
        for name in case.asked_of(k):
            pro, contra, note = page.page.evaluate(WHY, name)
            assert all(value[0] == "+" for _, value in pro)
            assert all(value[0] == "−" for _, value in contra)
            score, intercept = re.match("Score (\\S+) = intercept (\\S+) ", note).groups()  # type: ignore[union-attr]
            words[name] = Words(
                _number(score), _number(intercept), {re.sub("^␣|␣$", " ", w): _number(v) for w, v in pro + contra}, 12
            )
        answers.append(Answer({name: float(value) for name, value, _ in rows}, chosen, words))
    return answers


def _number(shown: str) -> float:
    return float(shown.replace("−", "-"))


def report(case: Case, tools: Tools) -> list[Answer]:
    """The box of `lapwing report`, with the network off."""
    path = tools.folder / "report.html"
    said = command("report", case.path, "-o", path)[2]
    context = tools.chromium.new_context(offline=True)
    try:
        page = Page(context.new_page())
        page.open(path.as_uri())
        try:
            answers = _typed(case, page)
        except Refused as refused:
            raise Refused(said) from refused  # as the command says it
        assert page.complaints == []
        return answers
    finally:
        context.close()


def serve(case: Case, tools: Tools) -> list[Answer]:
    """The page of `lapwing serve`."""
    context = tools.chromium.new_context()
    try:
        page = Page(context.new_page())
        page.open(f"{tools.server.address}/?model={case.path.stem}")
        answers = _typed(case, page)
        assert page.complaints == []
        return answers
    finally:
        context.close()


def api(case: Case, tools: Tools) -> list[Answer]:
    """`/v1/classify` and `/v1/explain`."""
    name = {"model": case.path.stem}
    if case.reads_text:
        given: dict[str, Any] = {"texts": [one.text for one in case.questions]}
    else:
        given = {"vectors": [dict(one.vector) for one in case.questions]}
    if case.has_columns:
        given["columns"] = [dict(one.columns) for one in case.questions]
    results = _asked(tools, "/v1/classify", {**name, **given})["results"]
    answers = []
    for k, (one, found) in enumerate(zip(case.questions, results, strict=True)):
        words = None
        if case.reads_text:
            beside = {"columns": dict(one.columns)} if case.has_columns else {}
            asked = {**name, "text": one.text, "categories": case.asked_of(k), **beside}
            explained = _asked(tools, "/v1/explain", asked)["categories"]
            words = {item["category"]: _words(item) for item in explained}
        answers.append(Answer(found["probabilities"], set(found["predicted"]), words))
    return answers


def _asked(tools: Tools, path: str, body: dict[str, Any]) -> Any:
    response = tools.server.client.post(path, json=body)
    if response.status_code in (409, 422):
        raise Refused(response.json()["error"])
    assert response.status_code == 200, response.text
    return response.json()


_NODE = """
import { readFileSync } from "node:fs";
const { classify, explain } = await import(process.argv[2]);
for (const [text, names] of JSON.parse(readFileSync(0, "utf-8"))) {
  const words = {};
  for (const name of names) words[name] = await explain(text, name);
  console.log(JSON.stringify({ found: await classify(text), words }));
}
"""


def javascript(case: Case, tools: Tools) -> list[Answer]:
    """The module of `lapwing export --to js`, in Node."""
    module, script = tools.folder / "exported.mjs", tools.folder / "ask.mjs"
    _ran("export", case.path, "--to", "js", "-o", module)
    script.write_text(_NODE, encoding="utf-8")
    answers = []
    for line in _process(case, "node", str(script), str(module)).splitlines():
        one = json.loads(line)
        answers.append(
            Answer(
                {item["name"]: item["probability"] for item in one["found"]},
                {item["name"] for item in one["found"] if item["chosen"]},
                {name: _words(item) for name, item in one["words"].items()},
            )
        )
    return answers


def _process(case: Case, *line: str) -> str:
    given = json.dumps([[one.text, case.asked_of(k)] for k, one in enumerate(case.questions)])
    ran = subprocess.run(line, input=given.encode(), capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr.decode()
    return ran.stdout.decode()


_ALONE = """
import json, sys
sys.path.insert(0, sys.argv[1])
from exported import MODEL, classify, decide, explain
for text, names in json.load(sys.stdin):
    words = {name: explain(text, name) for name in names}
    print(json.dumps([classify(text), decide(text), MODEL.scores(text), words]))
"""


def python_file(case: Case, tools: Tools) -> list[Answer]:
    """The file of `lapwing export --to python`, in a Python without any package, called and as a command."""
    path = tools.folder / "exported.py"
    _ran("export", case.path, "--to", "python", "-o", path)
    answers = []
    for line in _process(case, sys.executable, "-I", "-S", "-c", _ALONE, str(tools.folder)).splitlines():
        probabilities, chosen, scores, words = json.loads(line)
        answers.append(
            Answer(
                probabilities,
                set(chosen),
                {name: Words(sum(parts.values()), None, parts) for name, parts in words.items()},
                scores,
            )
        )
    ran = subprocess.run(
        [sys.executable, "-I", "-S", path], input=_lines(case).encode(), capture_output=True, check=True
    )
    _check_lines(case, answers, ran.stdout.decode())
    return answers


def onnx(case: Case, tools: Tools) -> list[Answer]:
    """The graph of `lapwing export --to onnx`, in onnxruntime."""
    import onnxruntime

    path = tools.folder / "exported.onnx"
    _ran("export", case.path, "--to", "onnx", "-o", path)
    session = onnxruntime.InferenceSession(path)
    names = json.loads(session.get_modelmeta().custom_metadata_map["classes"])
    found = session.run(["probabilities", "chosen", "scores"], onnx_inputs(lapwing.load(case.path), case.documents))
    return [
        Answer(
            dict(zip(names, proba, strict=True)), {n for n, yes in zip(names, chosen, strict=True) if yes}, None, scores
        )
        for proba, chosen, scores in zip(*(part.tolist() for part in found), strict=True)
    ]


FACES: dict[str, Callable[[Case, Tools], list[Answer]]] = {
    "Python": python,
    "classify": classify,
    "explain": explain,
    "report in a browser": report,
    "page of serve in a browser": serve,
    "API": api,
    "JavaScript": javascript,
    "Python file": python_file,
    "ONNX": onnx,
}
