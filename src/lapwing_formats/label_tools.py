"""Records as tools for labelling export them, turned into plain ones: those of Label Studio, Argilla and Prodigy.

Label Studio   {"data": {"text": …}, "annotations": [{"result": [{"value": {"choices": […]}}]}]}, and its JSON-MIN,
               whose choices are a string, or {"choices": […]} where there are several
Argilla        {"fields": {"text": …}, "responses": {"label": [{"value": …}]}}, and before version 2
               {"inputs": {"text": …}, "annotation": …}
Prodigy        {"text": …, "label": …, "answer": "accept", "_task_hash": …}, or the choices under "accept"

Of several people's answers those that most of them gave are taken. Where there are answers, skipped or discarded ones
only, too, a label that was imported with the text does not count. Of several questions (or controls) `label_column`
names the one; without it that is one named label, category or the like, else the only one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from lapwing.corpus.fields import LABEL_NAMES, label_name

OMITTED = ("discarded", "draft")  # status of an answer of Argilla's that is none
Votes = dict[str, list[list[Any]]]  # of every question the answers that count, each a list of labels


def plain_record(record: dict[str, Any], text: str, question: str | None) -> tuple[dict[str, Any], set[str]]:
    """`record` itself, unless it has the form of an export; and where its labels come from, in words.

    text, question   the keys of the text and of the label, the latter None where it is not named
    """
    if isinstance(record.get("data"), dict) and isinstance(record.get("annotations"), list) and text not in record:
        answers = record["annotations"]
        return _answered({**record["data"], "id": record.get("id")}, answers, _label_studio(answers), question)
    if isinstance(record.get("fields"), dict) and {"responses", "suggestions"} & {*record} and text not in record:
        about, answers = record.get("metadata"), record.get("responses")
        named = {"id": record.get("id"), **(about if isinstance(about, dict) else {})}
        return _answered({**named, **record["fields"]}, answers, _argilla(answers), question)
    if "_task_hash" in record and record.get("answer") in ("accept", "reject", "ignore"):
        chosen = record.get("accept", record.get("label")) if record["answer"] == "accept" else None
        about = {key: value for key, value in record.items() if key not in LABEL_NAMES}
        return about | {question or "label": _single(chosen)}, set()
    inputs, own = record.get("inputs"), {text, *LABEL_NAMES} & {*record}
    if "annotation" in record and (own <= {text} if isinstance(inputs, dict) else isinstance(inputs, str) and not own):
        texts = inputs if isinstance(inputs, dict) else {text: inputs}
        answer = None if record.get("status") == "Discarded" else record["annotation"]
        return {**texts, **{key: value for key, value in record.items() if value is not None}, "label": answer}, set()
    small = {
        key: value["choices"] for key, value in record.items() if isinstance(value, dict) and set(value) == {"choices"}
    }
    return {**record, **small} if small else record, set()


def _label_studio(annotations: list[Any]) -> Votes:
    votes: Votes = {}
    for annotation in annotations:
        results = annotation.get("result") if isinstance(annotation, dict) else None
        chosen: dict[str, list[Any]] = {}
        for result in results if isinstance(results, list) else ():
            value = result.get("value") if isinstance(result, dict) else None
            if isinstance(value, dict) and "choices" in value and "start" not in value:  # of all of the text
                chosen.setdefault(str(result.get("from_name", "")), []).extend(_listed(value["choices"]))
        for name, labels in chosen.items():
            votes.setdefault(name, []).extend([] if annotation.get("was_cancelled") else [labels])
    return votes


def _argilla(responses: Any) -> Votes:
    votes: Votes = {}
    for name, given in responses.items() if isinstance(responses, dict) else ():
        votes[name] = [
            _listed(one["value"])
            for one in (given if isinstance(given, list) else ())
            if isinstance(one, dict) and one.get("status") not in OMITTED and one.get("value") is not None
        ]
    return votes


def _single(labels: Any) -> Any:
    return labels[0] if isinstance(labels, list) and len(labels) == 1 else labels


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _answered(
    about: dict[str, Any], answers: Any, votes: Votes, question: str | None
) -> tuple[dict[str, Any], set[str]]:
    """The record with the answer that most gave, as a label or as a list of labels."""
    if not answers:
        return about, set()
    if question in about and question not in votes and question not in LABEL_NAMES:
        return about, {f"the key {question}"}
    names = [name for name in (question, *LABEL_NAMES) if name in votes][:1]
    if question is None and not names:
        names = [name for name, given in votes.items() if given] or list(votes)[:1]
    about = {key: value for key, value in about.items() if key not in (*LABEL_NAMES, *names)}
    if len(names) == 1 and votes[names[0]]:
        winner = _winner(votes[names[0]])
        key = question or ("label" if len(winner) == 1 else "labels")
        about[key] = _single(list(winner))
    return about, {f"the question {name}" for name in names if votes[name]}


def _winner(votes: Iterable[list[Any]]) -> tuple[Any, ...]:
    """The answer given most often, the earliest of equal ones."""
    return Counter(tuple(sorted(map(label_name, vote))) for vote in votes).most_common(1)[0][0]
