"""lapwing train: every kind of data, the same bytes every time, and the file replaced only at the end."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr

import lapwing
from cli import build
from cli.run import Command, new_process
from lapwing.training.again import variance_of

Maker = Callable[[Path], Path]


def written(name: str, content: bytes) -> Maker:
    def make(folder: Path) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    return make


def as_folder(folder: Path) -> Path:
    for name, content in build.class_folders(MADE).items():
        path = folder / "news" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder / "news"


def tarred() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:xz") as archive:
        for name, content in build.class_folders(MADE).items():
            info = tarfile.TarInfo(f"news/{name}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def zipped() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in build.class_folders(MADE).items():
            archive.writestr(name, content)
    return buffer.getvalue()


MADE = build.documents()
SOURCES: dict[str, Maker] = {
    "jsonl": written("news.jsonl", build.jsonl(MADE)),
    "jsonl.gz": written("news.jsonl.gz", gzip.compress(build.jsonl(MADE))),
    "csv": written("news.csv", build.table(MADE, ",")),
    "tsv": written("news.tsv", build.table(MADE, "\t")),
    "folder": as_folder,
    "tar.xz": written("news.tar.xz", tarred()),
    "zip": written("news.zip", zipped()),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_the_same_documents_in_every_format_give_the_same_model(
    run: Command, model: Path, tmp_path: Path, kind: str
) -> None:
    ended = run("train", SOURCES[kind](tmp_path), "-o", tmp_path / "m.lapwing", "--json")
    assert ended.code == 0
    assert ended.err == ""
    assert ended.json["documents"] == sum(one.split == "train" for one in MADE)
    assert ended.json["classes"] == ended.json["categories"] == 3
    assert ended.json["converged"] is True
    assert 0.0 <= ended.json["largest_relative_gap"] <= 1e-4
    mine, reference = lapwing.load(tmp_path / "m.lapwing"), lapwing.load(model)
    assert mine.classes == reference.classes
    assert mine.exclusive
    texts = [one.text for one in MADE]
    # A folder is read in the order of its names, so sums over documents may differ in their last digits.
    np.testing.assert_allclose(mine.category_proba(texts), reference.category_proba(texts), atol=1e-3)
    assert mine.predict(texts) == reference.predict(texts)


def test_vectors(run: Command, vector_model: Path) -> None:
    loaded = lapwing.load(vector_model)
    assert loaded.weighting is None
    assert loaded.classes == ("-1", "1")
    ended = run("evaluate", vector_model, vector_model.parent / "data.svm", "--json")
    assert ended.json["documents"] == len(MADE)
    assert ended.json["accuracy"] > 0.95


@pytest.mark.parametrize(("split", "count"), [("train", 45), ("test", 15), ("all", 60)])
def test_split(run: Command, news: Path, tmp_path: Path, split: str, count: int) -> None:
    assert run("train", news, "-o", tmp_path / "m", "--split", split, "--json").json["documents"] == count


def test_columns_and_separators(run: Command, tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    rows = [f"{one.label}|{'long' if len(one.text) > 60 else 'short'};{one.text}" for one in MADE]
    data.write_text("topics,body\n" + "\n".join(row.replace(";", ",") for row in rows) + "\n")
    options = ["--text-column", "body", "--label-column", "topics", "--label-separator", "|"]
    assert run("train", data, "-o", tmp_path / "m", *options).code == 0
    loaded = lapwing.load(tmp_path / "m")
    assert set(loaded.classes) == {"energy", "grain", "money", "long", "short"}
    assert not loaded.exclusive
    data.write_text("\n".join(row.replace(";", ",") for row in rows) + "\n")
    options = ["--text-column", "2", "--label-column", "1", "--no-header"]
    assert run("train", data, "-o", tmp_path / "m", *options, "--json").json["documents"] == len(MADE)


def test_skip_bad_goes_on_and_counts(run: Command, news: Path, tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    data.write_bytes(news.read_bytes() + b"nonsense\n" + b'{"text": "\xff", "label": "grain"}\n')
    ended = run("train", data, "-o", tmp_path / "m", "--skip-bad", "--json")
    assert ended.code == 0
    assert ended.json["skipped"] == 2
    assert "2 broken records skipped" in ended.err
    assert "2 broken records skipped" in run("train", data, "-o", tmp_path / "m", "--skip-bad").out


def test_settings_reach_the_model(run: Command, news: Path, tmp_path: Path) -> None:
    words = tmp_path / "stop.txt"
    words.write_text("oil wheat\nbank\n")
    text = [
        "--stop-words",
        words,
        "--stemmer",
        "none",
        "--tf",
        "binary",
        "--no-idf",
        "--no-cosine",
        "--min-df",
        "2",
    ]
    fit = ["--prior", "gaussian", "--variance", "2.5", "--threshold", "0.25", "--tol", "1e-6"]
    assert "exclusive classes" in run("train", news, "-o", tmp_path / "m", *text, *fit).err
    records = [json.loads(line) for line in news.read_text(encoding="utf-8").splitlines()]
    sets = tmp_path / "sets.jsonl"  # the same documents, free to be in any number of categories
    sets.write_text("\n".join(json.dumps({"text": r["text"], "labels": [r["label"]]}) for r in records))
    assert run("train", sets, "-o", tmp_path / "m", *text, *fit).code == 0
    loaded = lapwing.load(tmp_path / "m")
    assert loaded.weighting is not None
    settings = loaded.weighting.settings
    assert settings.stop_words == ("oil", "wheat", "bank")
    assert (settings.stemmer, settings.tf, settings.idf, settings.cosine, settings.min_df) == (
        "none", "binary", False, False, 2,
    )  # fmt: skip
    assert not {"oil", "wheat", "bank"} & set(loaded.feature_names)
    assert loaded.fits.variance.tolist() == [2.5] * 3
    assert np.all(loaded.fits.gap <= 1e-6 * loaded.fits.objective)
    np.testing.assert_allclose(loaded.thresholds, np.log(0.25 / 0.75))
    assert loaded.weights.nnz == loaded.weights.shape[0] * loaded.weights.shape[1]  # a Gaussian keeps all


def test_the_preset_is_what_its_flags_are_and_flags_win(run: Command, news: Path, tmp_path: Path) -> None:
    flags = ("--prior", "laplace", "--stop-words", "smart", "--variance", "norm", "--no-calibrate")
    assert run("train", news, "-o", tmp_path / "preset.lapwing", "--preset", "glm07").code == 0
    assert run("train", news, "-o", tmp_path / "flags.lapwing", *flags, "--threshold-data", "train").code == 0
    assert (tmp_path / "preset.lapwing").read_bytes() == (tmp_path / "flags.lapwing").read_bytes()
    run("train", news, "-o", tmp_path / "mine.lapwing", "--preset", "glm07", "--stop-words", "none")
    text = lapwing.load(tmp_path / "mine.lapwing").provenance["settings"]["text"]
    assert text["stop_words"] == "none"


def test_the_preset_of_many_labels_is_its_five_flags(run: Command, news: Path, tmp_path: Path) -> None:
    flags = ("--stop-words", "smart", "--label-words", "10", "--cv-variances", "10", "--ratio", "0.4", "--tol", "1e-3")
    assert run("train", news, "-o", tmp_path / "preset.lapwing", "--preset", "many-labels").code == 0
    assert run("train", news, "-o", tmp_path / "flags.lapwing", *flags).code == 0
    assert (tmp_path / "preset.lapwing").read_bytes() == (tmp_path / "flags.lapwing").read_bytes()
    other = run("train", news, "-o", tmp_path / "other.lapwing", "--preset", "many-labels", "--prior", "laplace")
    assert other.code == 0


def test_characters_for_unspaced_text(run: Command, tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("label,text\n" + "石油,原油价格上涨\n粮食,小麦玉米丰收\n" * 5, encoding="utf-8")
    # A Gaussian prior weighs all of several characters that always come together; a Laplace one takes any.
    options = ["--tokens", "char", "--stemmer", "none", "--prior", "gaussian"]
    assert run("train", data, "-o", tmp_path / "m", *options).code == 0
    assert lapwing.load(tmp_path / "m").predict(["原油", "小麦"]) == ["石油", "粮食"]


def test_an_intercept_without_a_prior_has_a_violation_instead_of_a_gap(
    run: Command, news: Path, tmp_path: Path
) -> None:
    command = ["train", news, "-o", tmp_path / "m", "--intercept-variance", "inf"]
    output = run(*command, "--json").json
    assert output["largest_relative_gap"] is None
    assert output["largest_violation"] < 0.1
    shown = run(*command)
    assert shown.code == 0
    assert "largest violation" in shown.out
    assert "nan" not in shown.out


def test_a_fit_that_stops_early_says_so(run: Command, news: Path, tmp_path: Path) -> None:
    ended = run("train", news, "-o", tmp_path / "m", "--max-iter", "1", "--tol", "1e-9", "--json")
    assert ended.code == 0
    assert ended.json["converged"] is False
    assert "did not reach --tol 1e-09" in ended.complaint


def test_the_words_on_success(run: Command, news: Path, tmp_path: Path, vector_model: Path) -> None:
    output = tmp_path / "my model.lapwing"
    ended = run("train", news, "-o", output)
    assert ended.lines[0] == "trained on 45 documents of news.jsonl"
    assert ended.lines[1].startswith("3 categories, ")
    assert ended.lines[2].startswith("in 5-fold cross-validation: ")
    assert ended.lines[3].startswith(f"wrote {output}; try: lapwing inspect '")
    stages = [line.partition(":")[0] for line in ended.err.splitlines() if line.endswith(" s")]
    assert stages[:2] == ["reading documents", "reading words"]
    assert all(stage.startswith("comparing variances (") for stage in stages[2:-1])
    assert stages[-1] == "fitting categories"
    two = run("train", vector_model.parent / "data.svm", "-o", output)
    assert two.lines[1].startswith("2 classes, ")


def test_identical_runs_write_identical_bytes(news: Path, model: Path, tmp_path: Path) -> None:
    for name, jobs in (("a", "1"), ("b", "2"), ("c", "-1")):
        assert new_process("train", news, "-o", tmp_path / name, "--jobs", jobs).code == 0
        assert (tmp_path / name).read_bytes() == model.read_bytes()


def test_an_old_file_is_replaced(run: Command, news: Path, model: Path, tmp_path: Path) -> None:
    output = tmp_path / "m"
    output.write_bytes(b"the old model")
    assert run("train", news, "-o", output).code == 0
    assert output.read_bytes() == model.read_bytes()
    assert list(tmp_path.iterdir()) == [output]


def test_an_old_file_stays_when_writing_fails_and_the_work_is_kept(
    run: Command, news: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    output = tmp_path / "m"
    output.write_bytes(b"the old model")
    with monkeypatch.context() as patched:
        patched.setattr("os.replace", full)
        ended = run("train", news, "-o", output)
    assert ended.code in (1, 2)
    assert "No space left on device" in ended.complaint
    assert output.read_bytes() == b"the old model"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "m.checkpoint"]
    fitted: list[object] = []
    monkeypatch.setattr("lapwing.training.OneVsRest.fit", lambda *arguments: fitted.append(arguments))
    assert run("train", news, "-o", output).code == 0
    assert not fitted
    assert output.read_bytes() == model.read_bytes()
    assert list(tmp_path.iterdir()) == [output]


def test_the_first_training_says_that_it_compiles(news: Path, tmp_path: Path) -> None:
    line = [sys.executable, "-m", "lapwing", "train", str(news), "-o", str(tmp_path / "m")]
    cache = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    first, later = (subprocess.run(line, capture_output=True, check=True, env=cache).stderr for _ in range(2))
    assert first.count(b"compiling kernels") == 1
    assert b"compiling" not in later


def test_a_probit_model(run: Command, news: Path, tmp_path: Path) -> None:
    assert run("train", news, "-o", tmp_path / "m", "--link", "probit", "--variance", "9").code == 0
    assert run("inspect", tmp_path / "m", "--json").json["model"]["link"] == "probit"
    model = lapwing.load(tmp_path / "m")
    scores = model.scores(["wheat corn"])
    np.testing.assert_array_equal(model.category_proba(["wheat corn"]), ndtr(scores))


def test_without_a_bar_a_long_stage_says_how_long_it_will_take(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from lapwing.cli._progress import Progress

    now = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    progress = Progress()
    for _ in range(4):
        progress("fitting categories", 10, 100)
        now[0] += 20.0
    progress("fitting categories", 10, 100)
    assert capsys.readouterr().err.splitlines() == [
        "fitting categories: 30 of 100, about 2 min left",
        "fitting categories: 50 of 100, about 80 s left",
    ]


def test_prior_knowledge_from_files(run: Command, news: Path, tmp_path: Path) -> None:
    table, words, output = tmp_path / "known.tsv", tmp_path / "words", tmp_path / "m"
    table.write_text("barley\t2\t1e-30\t+\tgrain\nprices\t0\t2x\t-\n")
    words.write_text("energy\twindmill, oil\nmoney: the bank\n")
    assert run("train", news, "-o", output, "--prior", table, "--prior", "gaussian", "--prior-words", words).code == 0
    model = lapwing.load(output)
    grain = model.categories.index("grain")
    weights = dict(model.top_features(grain))
    assert model.fitted[0][grain, model.feature_names.index("barlei")] == 2.0
    assert weights.get("price", 0.0) <= 0.0
    assert dict(model.top_features(model.categories.index("energy")))["windmil"] > 0.0
    assert model.provenance["prior"] == "gaussian"
    assert len(model.provenance["prior_rows"]) == 4


WRONG = [
    ("barley\t2\t1x\t-\n", "known.tsv, line 1: the mode 2 contradicts the sign <= 0"),
    ("# known\n\nbarley\tmuch\n", "known.tsv, line 3: expected a mode"),
    ("bushel\t0\t2x\nrhubarb\t0\t2x\n", "known.tsv, line 2: no training document has the feature 'rhubarb'"),
    ("bushel\t0\t2x\t+\tgrains\n", "known.tsv, line 1: 'grains' is no category"),
    ("bushel\t1\nbushels\t2\n", "known.tsv, line 2: 'bushel' has another prior already"),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_prior_files_that_are_wrong(run: Command, news: Path, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "known.tsv").write_text(text)
    ended = run("train", news, "-o", tmp_path / "m", "--prior", tmp_path / "known.tsv")
    assert ended.code == 2
    assert message in ended.complaint
    assert not (tmp_path / "m").exists()


def test_jeffreys_claims_no_optimum(run: Command, news: Path, tmp_path: Path) -> None:
    ended = run("train", news, "-o", tmp_path / "m", "--prior", "jeffreys", "--link", "probit")
    assert ended.code == 0
    assert "stationary with a positive-definite Hessian on these" in ended.out
    assert "gap" not in ended.out
    output = run("train", news, "-o", tmp_path / "m", "--prior", "jeffreys", "--json").json
    assert output["stationary_only"]
    assert output["converged"]


def test_a_budget_of_features(run: Command, news: Path, tmp_path: Path) -> None:
    ended = run("train", news, "-o", tmp_path / "m", "--max-features", "3", "--json")
    assert ended.code == 0
    assert ended.json["features_per_category"]["max"] <= 3
    kept = dict(
        zip(map(str, lapwing.load(tmp_path / "m").categories), lapwing.load(tmp_path / "m").n_kept, strict=True)
    )
    assert set(ended.json["squeezed"]) == {label for label, n in kept.items() if n < 3}
    assert "--max-features" not in run("train", news, "-o", tmp_path / "m").out


def test_training_begins_with_what_was_understood(run: Command, news: Path, tmp_path: Path) -> None:
    said = run("train", news, "-o", tmp_path / "m", "--variance", "1", "--no-calibrate").err
    assert "45 documents of news.jsonl, read as jsonl, UTF-8; parts: 45 train, 15 test" in said
    assert "3 classes: energy 15, grain 15, money 15" in said
    assert "one class per document" in said


def test_a_dry_run_says_it_and_writes_nothing(run: Command, news: Path, tmp_path: Path) -> None:
    done = run("train", news, "--dry-run")
    assert done.code == 0
    assert done.lines[1] == "3 classes: energy 15, grain 15, money 15"
    assert run("train", news, "--dry-run", "--json").json["classes"] == {"energy": 15, "grain": 15, "money": 15}
    assert "missing option '-o'" in run("train", news).complaint
    (tmp_path / "t.csv").write_text("text,genre,year\na,x,1\nb,y,2\n")
    missing = run("train", tmp_path / "t.csv", "-o", tmp_path / "m").complaint
    assert missing.endswith("the columns text, genre, year: say which holds the labels with --label-column")


def test_classes_from_another_folder(run: Command, tmp_path: Path) -> None:
    for kind in ("course", "faculty"):
        for place in ("cornell", "texas"):
            (tmp_path / kind / place).mkdir(parents=True)
            (tmp_path / kind / place / f"{kind}.html").write_text(f"{kind} of {place}")
    for option in (("--folder-level", "1"), ("--label-from", "^(.+?)/")):
        assert run("train", tmp_path, "--dry-run", "--json", *option).json["classes"] == {"course": 2, "faculty": 2}


def test_folds_by_time_and_group_from_columns(run: Command, tmp_path: Path) -> None:
    rows = [
        {"text": f"{one.text} w{i}", "label": one.label, "day": i // 2, "user": f"u{i % 3}"}
        for i, one in enumerate(build.documents(60))
    ]
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    data, output = tmp_path / "d.jsonl", tmp_path / "m"
    by_time = run("train", data, "-o", output, "--folds", "time", "--time-column", "day", "--json")
    assert by_time.json["held_out"]["documents"] < 60  # the earliest are never held out
    assert run("train", data, "-o", output, "--group-column", "user", "--json").json["held_out"]["folds"] == 3
    assert "--time-column" in run("train", data, "-o", output, "--folds", "time").complaint


def test_the_variance_of_another_model(run: Command, news: Path, model: Path, tmp_path: Path) -> None:
    """One for all, as that model has it; of several the median on a logarithmic scale."""
    again = tmp_path / "again.lapwing"
    assert run("train", news, "-o", again, "--variance", f"from:{model}").code == 0
    there, here = lapwing.load(model), lapwing.load(again)
    assert set(here.fits.variance) == set(there.fits.variance)
    assert here.provenance["variance"] == "given"
    several = replace(there, fits=replace(there.fits, variance=np.array([1.0, 16.0, 4.0])))
    assert variance_of(several) == pytest.approx(4.0)
    assert "cannot read" in run("train", news, "-o", again, "--variance", "from:nothing").err
