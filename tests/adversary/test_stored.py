"""Evaluations, provenance and checkpoints with nonsense inside: refused or set aside, never a traceback."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest
from cli.run import Command
from reporting.build import model

from lapwing.engine import Checkpoint
from lapwing.errors import InputError
from lapwing.evaluate.assessment import Assessment
from lapwing.formats import load, save
from lapwing.formats.model_file import from_bytes, to_bytes
from lapwing.reporting import Contents, page
from lapwing.training import CHOICE

NONSENSE: list[Any] = [None, True, -1, 10**400, 1.5, "x", [], [[]], {}, {"a": 1}, [None], "\ud800"]


def places(record: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every key and index of a record."""
    inside = record.items() if isinstance(record, dict) else enumerate(record) if isinstance(record, list) else ()
    return [place for key, value in inside for place in ((*at, key), *places(value, (*at, key)))]


def with_nonsense(record: Any, place: tuple[Any, ...], value: Any) -> Any:
    record = copy.deepcopy(record)
    inside = record
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = value
    return record


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory, trained: Path, news: Path) -> tuple[Path, dict[str, Any]]:
    from cli.run import new_process

    assert new_process("evaluate", trained, news, "--store").code == 0
    stored = Path(f"{trained}.evaluation.json")
    return trained, json.loads(stored.read_bytes())


def test_a_stored_evaluation_with_nonsense(evaluated: tuple[Path, dict[str, Any]]) -> None:
    """It is refused, or a page can be made with it."""
    path, record = evaluated
    loaded = load(path)
    draw = random.Random(1)
    tried = [(place, value) for place in places(record) for value in NONSENSE]
    refused = 0
    for place, value in draw.sample(tried, 600):
        try:
            result = Assessment.from_dict(with_nonsense(record, place, value))
        except InputError:
            refused += 1
            continue
        names = [row["category"] for row in result.evaluation["categories"]]
        if len(result.categories) == len(loaded.categories) and names == list(loaded.classes):
            page(Contents("m", loaded, result).to_dict())
    assert refused > 300


PROVENANCE: dict[str, Any] = {
    "lapwing": "0.2", "corpus": "c", "source": {"format": "csv"}, "documents": 3, "prior": "laplace", "date": "today",
    "ngrams": {"ngrams": 3, "columns": 2}, "squeezed": [None, "few", None],
    "selected_ridge": {"alpha": [1.0], "objective": [1.0]},
    "variance_curves": {"energy": {"variances": [1.0, 2.0], "log_likelihood": [-1.0, -2.0], "chosen": 2.0}},
}  # fmt: skip


def test_a_provenance_with_nonsense(run: Command, tmp_path: Path) -> None:
    """It is refused at load, or everything that shows it can."""
    whole = model()
    draw = random.Random(2)
    tried = [(place, value) for place in places(PROVENANCE) for value in NONSENSE if value != "\ud800"]
    refused = 0
    for place, value in draw.sample(tried, 150):
        whole.provenance.clear()
        whole.provenance.update(with_nonsense(PROVENANCE, place, value))
        try:
            loaded = from_bytes(to_bytes(whole))
        except InputError:
            refused += 1
            continue
        save(loaded, tmp_path / "m.lapwing")
        assert run("inspect", tmp_path / "m.lapwing").code == 0
        page(Contents("m", loaded).to_dict())
        loaded._repr_html_()
    assert refused > 75


@pytest.mark.parametrize("ngrams", [False, True])
@pytest.mark.parametrize("nonsense", [b"", b"x" * 7, bytes(200), b"\xff" * 400, None])
def test_a_checkpoint_with_nonsense(
    run: Command, news: Path, tmp_path: Path, nonsense: bytes | None, ngrams: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records that are whole and mean nothing: the file is set aside, and training starts anew and says so."""
    from lapwing.engine import checkpoint

    options = ("--ngrams", "word") if ngrams else ()
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    assert run("train", news, "-o", tmp_path / "a", *options).code == 0
    keys = []
    begin = checkpoint.Checkpoint._begin

    def noted(self: checkpoint.Checkpoint) -> None:
        keys.append(self.key)
        begin(self)

    monkeypatch.setattr(checkpoint.Checkpoint, "_begin", noted)
    _break_fits(monkeypatch)
    assert run("train", news, "-o", tmp_path / "b", *options).code == 1
    monkeypatch.undo()
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    path = tmp_path / "b.checkpoint"
    path.unlink()
    with checkpoint.Checkpoint(path, keys[0], "1970-01-01") as result:
        if nonsense is None:
            result.append(99, bytes(200))  # no such category
        else:
            result.append(0, nonsense)
    ran = run("train", news, "-o", tmp_path / "b", *options)
    assert ran.code == 0
    assert "starts anew" in ran.err
    assert (tmp_path / "b").read_bytes() == (tmp_path / "a").read_bytes()
    assert (tmp_path / "b.checkpoint.damaged").exists()
    assert not path.exists()


@pytest.mark.parametrize(
    "nonsense",
    [{}, [], {"slope": [1.0]}, {"slope": None}, {"offset": ["nan"] * 3}, {"thresholds": []}, {"coupling": ["x", "y"]},
     {"curve": {"variances": [1.0], "loss": [1.0], "chosen": -1.0}}, {"summary": 3}, {"conformal": {}}],
)  # fmt: skip
def test_a_choice_with_nonsense(
    run: Command, news: Path, tmp_path: Path, nonsense: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record of what unseen documents decided, altered, its sum made anew: set aside as any other."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    with monkeypatch.context() as broken:
        _break_fits(broken)
        assert run("train", news, "-o", tmp_path / "b").code == 1
    path = tmp_path / "b.checkpoint"
    with _whole(path) as left:
        record = json.loads(left.records[CHOICE])
        left.append(CHOICE, json.dumps(record | nonsense if nonsense else nonsense).encode())
    ran = run("train", news, "-o", tmp_path / "b")
    assert ran.code == 0
    assert "starts anew" in ran.err
    assert (tmp_path / "b.checkpoint.damaged").exists()
    assert not path.exists()


@pytest.mark.parametrize("options", [(), ("--ngrams", "word"), ("--variance", "norm")])
def test_a_run_that_failed_early_leaves_only_what_it_finished(
    run: Command, news: Path, tmp_path: Path, options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before any category was fitted: the choice, from which the next run goes on, or, without one, no file at all."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    path = tmp_path / "b.checkpoint"
    with monkeypatch.context() as broken:
        broken.setattr("lapwing.training.choose_together", _fail)
        _break_fits(broken)
        assert run("train", news, "-o", tmp_path / "b", *options).code == 1
    assert not path.exists()
    with monkeypatch.context() as broken:
        _break_fits(broken)
        assert run("train", news, "-o", tmp_path / "b", *options).code == 1
    assert path.exists() == ("norm" not in options)
    if path.exists():
        with _whole(path) as left:
            assert set(left.records) == {CHOICE}
        monkeypatch.setattr("lapwing.training.choose_together", _fail)  # it is not chosen again
    assert run("train", news, "-o", tmp_path / "b", *options).code == 0
    monkeypatch.undo()
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    assert run("train", news, "-o", tmp_path / "a", *options).code == 0
    assert (tmp_path / "b").read_bytes() == (tmp_path / "a").read_bytes()
    assert not path.exists()


def _whole(path: Path) -> Checkpoint:
    """The checkpoint of whichever run it is."""
    header = json.loads(path.read_bytes().partition(b"\n")[0])
    return Checkpoint(path, header["key"], header["started"])


def _fail(*_: Any, **__: Any) -> None:
    raise ZeroDivisionError


def _break_fits(patched: pytest.MonkeyPatch) -> None:
    """Whatever the strategy, no category is fitted to all documents."""
    for strategy in ("one_vs_rest.OneVsRest", "ngram_search.NgramSearch"):
        patched.setattr(f"lapwing.training.{strategy}.fit", _fail)


SCORES = [
    ("rows", [0, 1]), ("rows", [0, 1, 1]), ("rows", [0, 1, 99]), ("inside", [0.5]), ("documents", 0), ("edges", []),
    ("edges", [[2.0, 1.0]] * 3), ("edges", [[1.0, 2.0]] * 3), ("counts", [[1, 2], [1], [1, 2]]), ("counts", [[]] * 3),
    ("positives", [[10**6] * 3] * 3), ("positives", [[1]] * 3), ("weights", [1.0]), ("pointer", [0, 0, 0, 0]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), SCORES)
def test_scores_of_unseen_documents_with_nonsense(trained: Path, name: str, value: Any) -> None:
    """`lapwing drift` trusts them."""
    whole = load(trained)
    assert whole.held_out["scores"]["rows"] == [0, 1, 2]
    whole.held_out["scores"][name] = value
    with pytest.raises(InputError, match=r"held_out\.scores"):
        from_bytes(to_bytes(whole))


def test_settings_with_nonsense(run: Command, trained: Path, tmp_path: Path) -> None:
    """What was trained with is printed as a command, and updated by: done, or refused."""
    whole = load(trained)
    settings = copy.deepcopy(whole.provenance["settings"])
    tried = [(place, value) for place in places(settings) for value in NONSENSE if value != "\ud800"]
    tried += [((), value) for value in NONSENSE[:-1]]
    for place, value in random.Random(3).sample(tried, 60):
        whole.provenance["settings"] = with_nonsense(settings, place, value) if place else value
        save(whole, tmp_path / "m.lapwing")
        assert run("inspect", tmp_path / "m.lapwing", "--command").code in (0, 2)
