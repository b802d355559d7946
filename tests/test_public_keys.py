"""What users and other programs name: options, `--json` and REST fields, Python attributes, keys of model files.

They are compared with tests/data/public.json. A name that goes breaks somebody's script; one that comes is a promise.
Where a change is meant, `python tests/test_public_keys.py` writes the list anew, and CHANGELOG.md has a line for it.
"""

from __future__ import annotations

import importlib
import inspect
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

import lapwing
from lapwing.cli import cli

STORED = Path(__file__).parent / "data" / "public.json"
Keys = dict[str, list[str]]

MODULES = ["lapwing", "lapwing.priors", "lapwing.corpus", "lapwing.plots"]
BEHIND = {  # what the reference describes beside them
    "lapwing.model": ["LinearModel", "Explanation"],
    "lapwing.stats": ["Certificate"],
    "lapwing.text": ["TextSettings"],
    "lapwing.training": ["TrainSettings", "NgramSettings"],
    "lapwing.training.suspects": ["Suspect"],
    "lapwing.evaluate.comparison": ["ModelComparison", "OnDocuments", "CategoryChange", "Interval"],
    "lapwing.evaluate.drift": ["Drift", "CategoryDrift", "WordDrift"],
    "lapwing.labelling": ["Session", "Answers"],
}


def options() -> Keys:
    """Of every command, the options and the places of its arguments."""
    return dict(sorted(_options(cli, "lapwing")))


def _options(command: click.Command, name: str) -> Iterator[tuple[str, list[str]]]:
    arguments = [f"<{one.name}>" for one in command.params if isinstance(one, click.Argument)]
    flags = [flag for one in command.params if isinstance(one, click.Option) for flag in one.opts + one.secondary_opts]
    yield name, arguments + sorted(flags)
    if isinstance(command, click.Group):
        context = click.Context(command)
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            assert found is not None
            yield from _options(found, f"{name} {inner}")


def python() -> Keys:
    """Of every public function the parameters, of every public class also its fields, properties and methods."""
    homes = {module: list(importlib.import_module(module).__all__) for module in MODULES}
    homes["lapwing.errors"] = [name for name, kind in vars(lapwing.errors).items() if is_error(kind)]
    found = {}
    for module, names in {**homes, **BEHIND}.items():
        for name in names:
            found[f"{module}.{name}"] = sorted(members(getattr(importlib.import_module(module), name)))
    return dict(sorted(found.items()))


def is_error(thing: Any) -> bool:
    return inspect.isclass(thing) and issubclass(thing, BaseException)


def members(thing: Any) -> Iterator[str]:
    """A parameter ends with =, a method has its parameters in brackets."""
    if is_error(thing) or not callable(thing):
        return
    fields = [*getattr(thing, "__dataclass_fields__", ()), *getattr(thing, "_fields", ())]
    yield from (f"{name}{'' if name in fields else '='}" for name in inspect.signature(thing).parameters)
    if not inspect.isclass(thing) or thing.__name__.endswith("Settings"):  # what follows from settings is our own
        return
    for name, member in inspect.getmembers_static(thing):
        function = getattr(member, "fget", None) or getattr(member, "func", None) or getattr(member, "__func__", member)
        ours = str(getattr(function, "__module__", "")).startswith("lapwing")
        if name.startswith("_") or name in fields or not ours or not inspect.getdoc(function):
            continue
        parameters = inspect.signature(function).parameters if inspect.isfunction(function) else {}
        given = ", ".join(one for one in parameters if one not in ("self", "cls"))
        yield f"{name}({given})" if inspect.isfunction(getattr(member, "__func__", member)) else name


# Labels begin with a sign by which keys that are labels are known.
WORDS = {
    "@field/energy": "oil gas barrel crude pipeline",
    "@field/grain": "wheat corn harvest bushel farm",
    "@money": "bank loan",
}


def documents(several: bool) -> list[dict[str, Any]]:
    rows = []
    for i in range(48):
        label = sorted(WORDS)[i % 3]
        words = [word for k, word in enumerate(WORDS[label].split()) if (i + k) % 4]
        labels = [label, *(["@money"] if several and label != "@money" and i % 5 == 0 else [])]
        text = f"{' '.join(words)} market number {i} {'bank' if len(labels) > 1 else ''}"
        rows.append({"id": f"d{i}", "text": text, "labels" if several else "label": labels if several else label,
                     "price": i % 7, "split": "test" if i % 4 == 0 else "train"})  # fmt: skip
    return rows


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def printed(*arguments: object) -> Any:
    line = [sys.executable, "-m", "lapwing", *map(str, arguments)]
    done = subprocess.run(line, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [json.loads(one) for one in done.stdout.splitlines()]


def keys_of(value: Any, above: str = "") -> Iterator[str]:
    """Every key, with those above it; [] for the items of a list, * for a label."""
    if isinstance(value, dict):
        for key, inner in value.items():
            path = f"{above}.{'*' if key.startswith('@') else key}".removeprefix(".")
            yield path
            yield from keys_of(inner, path)
    elif isinstance(value, list):
        for inner in value:
            yield from keys_of(inner, f"{above}[]" if above else "")


TRAININGS = {
    "words": ("one", ()),
    "several": ("several", ("--threshold", "f1", "--variance", "cv", "--cv-folds", 3)),
    "columns": ("one", ("--numeric", "price", "--word-ngrams", 1, 2, "--curvature", 2)),
    "n-grams": ("one", ("--ngrams", "word", "--max-length", 2, "--solver", "greedy", "--steps", 3)),
    "pruned": ("one", ("--method", "selected-ridge", "--variance", 1)),
    "softmax": ("one", ("--multi-class", "multinomial", "--class-weight", "balanced")),
    "few features": ("one", ("--max-features", 2, "--label-words", 1)),
}


def files() -> dict[str, Keys]:
    """Fields of what commands print, and keys of the model files that they write."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        one, several = write(folder / "one.jsonl", documents(False)), write(folder / "several.jsonl", documents(True))
        text = write(folder / "texts.jsonl", [{"text": row["text"]} for row in documents(False)[:6]])
        unsplit = write(folder / "unsplit.jsonl", [row | {"split": ""} for row in documents(False)])
        train: list[Any] = []
        tensors: set[str] = set()
        keys: set[str] = set()
        for name, (corpus, flags) in TRAININGS.items():
            path = folder / f"{name}.lapwing"
            train += printed("train", folder / f"{corpus}.jsonl", "-o", path, "--json", *flags)
            tensors, keys = tensors | header(path)[0], keys | header(path)[1]
        words, sets, ngrams, new = (folder / f"{name}.lapwing" for name in ("words", "several", "n-grams", "new"))
        train += printed("train", unsplit, "-o", folder / "new.lapwing", "--holdout", 0.3, "--json")
        shown = {
            "train": train,
            "train --dry-run": printed("train", one, "--dry-run", "--json"),
            "update": printed("update", words, one, "-o", new, "--json"),
            "classify": printed("classify", words, text, "--json"),
            "evaluate": printed("evaluate", words, one, "--json"),
            "evaluate --at": printed("evaluate", sets, several, "--at", "1,2", "--roll-up", "/", "--json"),
            "evaluate --cv": printed("evaluate", words, one, "--cv", 2, "--json"),
            "explain": printed("explain", words, "oil and wheat", "--json"),
            "inspect": printed("inspect", words, "--json") + printed("inspect", ngrams, "--json"),
            "inspect --data": printed("inspect", words, "--category", "@money", "--data", one, "--halves", 4, "--json"),
            "compare": printed("compare", words, new, one, "--resamples", 100, "--json"),
            "drift": printed("drift", words, one, "--json"),
            "suspects": printed("suspects", write(folder / "wrong.jsonl", mislabelled())),
            "curve": printed("curve", one, "--shares", "0.5,1", "--json"),
            "report": printed("report", words, "-o", folder / "report.html", "--json"),
        }
        tensors, keys = tensors | header(new)[0], keys | header(new)[1]
        return {
            "--json": {name: sorted(set(keys_of(value))) for name, value in shown.items()},
            "model file": {"tensors": sorted(tensors), "JSON": sorted(keys)},
        }


def mislabelled() -> list[dict[str, Any]]:
    rows = documents(False)
    for row in rows[1:24:7]:
        row["label"] = "@money" if row["label"] != "@money" else "@field/grain"
    return rows


def header(path: Path) -> tuple[set[str], set[str]]:
    """Names of the tensors, and keys of the JSON beside them."""
    content = path.read_bytes()
    record = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    about = json.loads(record.pop("__metadata__")["lapwing"])
    return set(record), set(keys_of(about))


def fitted() -> Keys:
    """Attributes of estimators after fit()."""
    texts, labels = ["good film", "fine film", "bad film", "dull film"] * 3, [1, 1, 0, 0] * 3
    vectorizer = lapwing.LogTfidfVectorizer().fit(texts)
    X = vectorizer.transform(texts)
    made = [vectorizer, lapwing.TextClassifier(variance=1.0).fit(texts, labels)]
    made += [
        lapwing.NgramClassifier(variance=1.0).fit(texts, labels),
        lapwing.MAPClassifier(variance=1.0).fit(X, labels),
    ]
    made += [lapwing.SelectedRidgeClassifier(variance=1.0).fit(X, labels)]
    return {type(one).__name__: sorted(name for name in vars(one) if name.endswith("_")) for one in made}


def rest(folder: Path) -> Keys:
    """Of the description at /openapi.json: paths with their parameters, and the fields of all values."""
    from lapwing.serve import ServeSettings
    from lapwing.serve.api import create_app
    from lapwing.serve.store import Store

    path = folder / "m.lapwing"
    lapwing.TextClassifier(variance=1.0).fit(["good", "fine", "bad", "dull"], [1, 1, 0, 0]).save(path)
    described = create_app(Store([str(path)]), ServeSettings()).openapi()
    found = {}
    for name, methods in described["paths"].items():
        for method, one in methods.items():
            found[f"{method.upper()} {name}"] = sorted(item["name"] for item in one.get("parameters", ()))
    for name, schema in described["components"]["schemas"].items():
        if not name.endswith("ValidationError"):  # FastAPI's own
            found[name] = sorted(schema.get("properties", ()))
    return dict(sorted(found.items()))


def compare(kind: str, now: Keys) -> None:
    stored: Keys = json.loads(STORED.read_text(encoding="utf-8"))[kind]
    gone = {name: lost for name, keys in stored.items() if (lost := sorted(set(keys) - set(now.get(name, ()))))}
    come = {name: new for name, keys in now.items() if (new := sorted(set(keys) - set(stored.get(name, ()))))}
    assert not gone, f"{kind}: these are gone, and somebody may use them: {gone}"
    assert not come, f"{kind}: these are new; if they are to stay, run python {Path(__file__).name}: {come}"
    assert set(stored) == set(now)


@pytest.mark.parametrize("kind", ["options", "Python", "fitted attributes"])
def test_names_in_commands_and_in_python_are_those_of_the_list(kind: str) -> None:
    compare(kind, {"options": options, "Python": python, "fitted attributes": fitted}[kind]())


def test_fields_that_commands_print_and_keys_of_model_files_are_those_of_the_list() -> None:
    for kind, now in files().items():
        compare(kind, now)


def test_fields_of_the_rest_interface_are_those_of_the_list(tmp_path: Path) -> None:
    pytest.importorskip("fastapi", reason="the extra 'serve' is not installed")
    compare("REST", rest(tmp_path))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        now = {
            "options": options(),
            "Python": python(),
            "fitted attributes": fitted(),
            **files(),
            "REST": rest(Path(folder)),
        }
    STORED.write_text(json.dumps(now, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
