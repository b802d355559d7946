"""A model converted from a file of BBR or BMR: every command says what it is, and nothing that is not known of it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import lapwing
from lapwing.corpus import Corpus
from lapwing.errors import InputError
from lapwing.formats import save
from lapwing.reporting import report
from lapwing.training.again import settings_of
from lapwing_bbr import files as bbr

DATA = Path(__file__).parents[1] / "data" / "bbr"
UNKNOWN = re.compile(r"\bnan\b|\?|\bNone\b|Train it anew|train it anew|\b0 positives|\b0 documents")


@pytest.fixture(scope="module", params=["bbr", "bmr", "bmr of eight classes"])
def converted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The lapwing file, and labelled vectors for it."""
    folder = tmp_path_factory.mktemp("converted")
    theirs = DATA / "laplace_v1.model"
    data = DATA / "test.dat"
    if request.param != "bbr":
        model = bbr.bmr_from_linear(bbr.load(theirs)[0])
        if "eight" in request.param:
            model = type(model)(**{
                **vars(model), "classes": tuple("12345678"), "weights": (*model.weights,) * 4,
                "intercepts": tuple(float(k) for k in range(8)),
            })  # fmt: skip
        theirs = folder / "theirs.model"
        bbr.write_bmr_model(model, theirs)
    if "eight" in request.param:
        data = folder / "test.dat"
        lines = (DATA / "test.dat").read_text().splitlines()
        data.write_text("".join(f"{i % 8 + 1} {line.split(' ', 1)[1]}\n" for i, line in enumerate(lines)))
    path = folder / "m.lapwing"
    save(bbr.load(theirs)[0], path)
    return path, data


def lines(*arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "lapwing", *map(str, arguments)], capture_output=True, text=True, timeout=120
    )
    return done.stdout + done.stderr


def test_no_command_says_what_it_does_not_know(converted: tuple[Path, Path], tmp_path: Path) -> None:
    path, data = converted
    kind = "BBR" if lapwing.load(path).provenance["source"]["format"] == "bbr" else "BMR"
    for given in (
        ["inspect", path], ["inspect", path, "--category", "1"], ["inspect", path, "--command"],
        ["inspect", path, "--category", "1", "--data", data], ["drift", path, data],
        ["update", path, data, "-o", tmp_path / "u.lapwing"], ["evaluate", path, data, "--cv", "3"],
        ["train", data, "--like", path, "-o", tmp_path / "l.lapwing"],
        ["report", path, data, "-o", tmp_path / "r.html", "--path", "1"],
    ):  # fmt: skip
        said = lines(*given)
        assert f"converted from the {kind} file " in said, said
        assert not UNKNOWN.search(said), said
    for given in (["evaluate", path, data], ["compare", path, path, data]):
        assert not UNKNOWN.search(lines(*given))
    record = json.loads(lines("inspect", path, "--json", "--top", 1))
    for one in record["categories"]:
        assert {one[name] for name in ("positives", "variance", "gap", "kkt", "converged")} == {None}


def test_from_python(converted: tuple[Path, Path]) -> None:
    model = lapwing.load(converted[0])
    assert not UNKNOWN.search(model._repr_html_())
    words = lapwing.summary(model, "1", top=2).words
    assert [(one.feature, one.weight) for one in words] == model.top_features("1", 2)
    X, labels = sp.csr_matrix((4, len(model.feature_names))), [("1",), (str(model.classes[0]),), ("1",), ("1",)]
    columns = list(model.feature_names)
    corpus = Corpus("new", "vectors", X, labels, list("abcd"), True, [""] * 4, np.ones(4), feature_names=columns)
    for refused in (
        lambda: settings_of(model), lambda: lapwing.drift(model, corpus), lambda: lapwing.update(model, X, ["1"] * 4),
        lambda: lapwing.summary(model, "1", X, labels),
    ):  # fmt: skip
        with pytest.raises(InputError, match=r"converted from the B[BM]R file"):
            refused()


def test_on_its_page(chromium: Any, converted: tuple[Path, Path], tmp_path: Path) -> None:
    from reporting.open import opened

    from lapwing.corpus import read

    path, data = converted
    corpus = read(data, "svmlight")
    split = ["train" if i % 2 else "test" for i in range(len(corpus))]
    both = Corpus(
        "both", "vectors", corpus.documents, corpus.labels, corpus.ids, True, split, corpus.weights,
        feature_names=corpus.feature_names,
    )  # fmt: skip
    for given in ((path,), (path, both)):
        report(*given, path=tmp_path / "r.html")
        with opened(chromium, tmp_path / "r.html") as shown:
            said = shown.page.inner_text("body")
            assert "the BBR file" in said or "the BMR file" in said
            assert not re.search(r"\bNaN\b|\?|\bnull\b|undefined|did not converge", said, re.IGNORECASE), said
            heads = shown.page.locator("#categories .sortable thead th").all_inner_texts()
            assert not {"Training", "Variance", "Gap"} & set(heads)
            assert "prior variance" not in shown.page.inner_text("#category")
            assert shown.page.locator("figure", has_text="Features kept").count() == 0
