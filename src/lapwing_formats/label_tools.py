"""Records as tools for labelling export them, turned into plain ones: Label Studio's JSON, Argilla's records.

Label Studio   {"data": {"text": …}, "annotations": [{"result": [{"value": {"choices": […]}}]}]}, and its JSON-MIN,
               whose choices are a string, or {"choices": […]} where there are several
Argilla        {"fields": {"text": …}, "responses": {"label": [{"value": …}]}}, and before version 2
               {"inputs": {"text": …}, "annotation": …}

Of several people's answers those that most of them gave are taken; answers that were skipped or discarded do not count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from lapwing.corpus.fields import label_name

OMITTED = ("discarded", "draft")  # status of an answer of Argilla's that is none


def plain_record(record: dict[str, Any]) -> dict[str, Any]:
    """`record` itself, unless it has the form of an export."""
    if isinstance(record.get("data"), dict) and isinstance(record.get("annotations"), list):
        return _label_studio(record)
    if isinstance(record.get("fields"), dict) and ("responses" in record or "suggestions" in record):
        return _argilla(record)
    if "annotation" in record and "inputs" in record:
        texts = record["inputs"]
        text = texts if isinstance(texts, str) else texts.get("text") if isinstance(texts, dict) else None
        return {**record, "text": record.get("text") or text, "label": record["annotation"]}
    small = {
        key: value["choices"] for key, value in record.items() if isinstance(value, dict) and set(value) == {"choices"}
    }
    return {**record, **small} if small else record


def _label_studio(record: dict[str, Any]) -> dict[str, Any]:
    votes = []
    for annotation in record["annotations"]:
        if not isinstance(annotation, dict) or annotation.get("was_cancelled"):
            continue
        results = annotation.get("result")
        chosen: list[Any] = []
        for result in results if isinstance(results, list) else ():
            value = result.get("value") if isinstance(result, dict) else None
            chosen += _listed(value.get("choices")) if isinstance(value, dict) else []
        votes.append(chosen)
    return _labelled({**record["data"], "id": record.get("id")}, votes)


def _argilla(record: dict[str, Any]) -> dict[str, Any]:
    answers = record.get("responses")
    votes = []
    if isinstance(answers, dict):
        for given in answers.values():  # of the first question that has answers
            for one in given if isinstance(given, list) else ():
                if isinstance(one, dict) and one.get("status") not in OMITTED and one.get("value") is not None:
                    votes.append(_listed(one["value"]))
            if votes:
                break
    about = record.get("metadata")
    named = {"id": record.get("id"), **(about if isinstance(about, dict) else {})}
    return _labelled({**named, **record["fields"]}, votes)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _labelled(record: dict[str, Any], votes: list[list[Any]]) -> dict[str, Any]:
    """The record with the answer that most gave, as a label or as a list of labels."""
    if not votes:
        return record
    winner = _winner(votes)
    name = "label" if len(winner) == 1 else "labels"
    return {key: value for key, value in record.items() if key not in ("label", "labels")} | {
        name: winner[0] if name == "label" else list(winner)
    }


def _winner(votes: Iterable[list[Any]]) -> tuple[Any, ...]:
    """The answer given most often, the earliest of equal ones."""
    return Counter(tuple(sorted(map(label_name, vote))) for vote in votes).most_common(1)[0][0]
