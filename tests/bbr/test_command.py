"""lapwing bbr and lapwing convert: what BBR's users type, and what its programs made of the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from cli.run import Command
from sklearn.datasets import load_breast_cancer

import lapwing
from lapwing_bbr.files import EVERYTHING, BbrModel, read_bbr_model, to_linear, write_bbr_model

FOLDER = Path(__file__).resolve().parents[1] / "data" / "bbr"
TRAIN, TEST = FOLDER / "train.dat", FOLDER / "test.dat"
FLAGS = {
    "laplace_v1": ["-p", "1", "-V", "1"],
    "gauss_v05": ["-p", "2", "-V", "0.5"],
    "laplace_norm": ["-p1"],
    "laplace_t_f1": ["-p", "1", "-V", "1", "-t", "3"],
    "laplace_ind": ["-p", "1", "-V", "1", "-I", str(FOLDER / "priors.txt")],
    "laplace_std": ["-p", "1", "-V", "1", "-s"],
}


@pytest.mark.parametrize("name", FLAGS)
def test_training_writes_what_bbr_wrote(run: Command, name: str, tmp_path: Path) -> None:
    """Every token but the digits after the sixth of coefficients; and those make the same decisions."""
    flags = [*FLAGS[name], "-e", "1e-8", "--accurate", "-r", tmp_path / "fitted"]
    assert run("bbr", "train", *flags, TRAIN, tmp_path / "m").code == 0
    ours, theirs = ((path).read_text().split("\n") for path in (tmp_path / "m", FOLDER / f"{name}.model"))
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        if mine.startswith(("beta ", "threshold ")):
            numbers, others = (np.array(line.split()[1:], dtype=float) for line in (mine, other))
            np.testing.assert_allclose(numbers, others, atol=1e-4)
            assert [len(word.lstrip("-")) for word in mine.split()] == [len(w.lstrip("-")) for w in other.split()]
        else:
            assert mine == other
    assert run("bbr", "classify", "-r", tmp_path / "r", TEST, tmp_path / "m").code == 0
    results, reference = np.loadtxt(tmp_path / "r"), np.loadtxt(FOLDER / f"{name}.results")
    np.testing.assert_allclose(results[:, 0], reference[:, 0], atol=1e-5)
    assert np.array_equal(results[:, 1], reference[:, 1])
    assert len((tmp_path / "fitted").read_text().splitlines()) == 400


@pytest.mark.parametrize("name", FLAGS)
def test_classifying_with_their_models_gives_their_results(run: Command, name: str, tmp_path: Path) -> None:
    assert run("bbr", "classify", TEST, FOLDER / f"{name}.model", "-r", tmp_path / "r").code == 0
    assert (tmp_path / "r").read_bytes() == (FOLDER / f"{name}.results").read_bytes()


def test_standard_input_and_output(run: Command) -> None:
    for dash in ("-", "="):
        ended = run("bbr", "classify", "-r", "-", dash, FOLDER / "laplace_v1.model", stdin=TEST.read_bytes())
        assert ended.out == (FOLDER / "laplace_v1.results").read_text()
    without = run("bbr", "classify", TEST, FOLDER / "laplace_v1.model")
    assert without.out.startswith("200 documents: TP ")


def test_signs_names_and_thresholds(run: Command, tmp_path: Path) -> None:
    model = tmp_path / "m"
    assert run("bbr", "train", "-p", "1", "--pos", "--modelname", "grain", "-l", "1", TRAIN, model).code == 0
    classifier = read_bbr_model(model)
    assert classifier.name == "grain"
    assert min(classifier.weights.values()) > 0.0
    assert classifier.intercept >= 0.0
    run("bbr", "train", "--neg", "--probthres", "0.8", TRAIN, model)
    classifier = read_bbr_model(model)
    assert max(classifier.weights.values()) < 0.0
    assert classifier.threshold == pytest.approx(np.log(4))
    run("bbr", "train", "--probthres", "0", TRAIN, model)
    assert read_bbr_model(model).threshold == pytest.approx(EVERYTHING)
    everything = run("bbr", "classify", TEST, model, "-r", "-").lines
    assert {line.split()[1] for line in everything} == {"1"}
    nothing = run("bbr", "classify", "--probthres", "1", TEST, model, "-r", "-").lines
    assert {line.split()[1] for line in nothing} == {"-1"}
    run("bbr", "train", "-t", "5", TRAIN, model)  # 20TP - FP: yes to nearly everything
    assert read_bbr_model(model).tuned == 5


def test_old_and_new_ways_to_say_the_variance(run: Command, tmp_path: Path) -> None:
    def trained(*flags: object) -> bytes:
        assert run("bbr", "train", *flags, TRAIN, tmp_path / "m").code == 0
        return (tmp_path / "m").read_bytes()

    assert trained("-p", "1", "-H", "2") == trained("-p", "1", "-V", "0.5")
    assert trained("-p", "1", "-H", "2", "--pos") == trained("-p", "1", "-V", "0.25", "--pos")
    assert trained("-H", "0.5") == trained("-V", "0.5")
    assert trained("-p", "1", "-S", "1,2", "-C", "5,2") == trained("-p", "1", "-V", "2,0.5", "-C", "5,2")
    trained("-V", "0.01,1,100", "-C", "4", "--errbar")
    trained("--autosearch", "-C", "4,2")


@pytest.mark.parametrize("utility", range(4))
def test_features_are_chosen_first(run: Command, utility: int, tmp_path: Path) -> None:
    assert run("bbr", "train", "-f", "7", "-u", utility, "-p", "2", TRAIN, tmp_path / "m").code == 0
    classifier = read_bbr_model(tmp_path / "m")
    assert len(classifier.features) == len(classifier.weights) == 7


def test_cosine_normalisation_is_kept_in_the_model(run: Command, tmp_path: Path) -> None:
    longer = tmp_path / "longer.dat"
    rows = [line.split() for line in TEST.read_text().splitlines()]
    longer.write_text("".join(f"{row[0]} {' '.join(_times(cell, 3.0) for cell in row[1:])}\n" for row in rows))
    run("bbr", "train", "-c", TRAIN, tmp_path / "m")
    assert read_bbr_model(tmp_path / "m").cosine
    plain, scaled = (run("bbr", "classify", "-r", "-", data, tmp_path / "m").out for data in (TEST, longer))
    first, second = (np.array([line.split() for line in out.splitlines()], dtype=float) for out in (plain, scaled))
    np.testing.assert_allclose(first, second, atol=1e-9)


def _times(cell: str, factor: float) -> str:
    feature, value = cell.split(":")
    return f"{feature}:{float(value) * factor!r}"


def test_every_other_label_is_negative(run: Command, tmp_path: Path) -> None:
    text = TRAIN.read_text()
    (tmp_path / "zeros").write_text(text.replace("\n-1 ", "\n0 ").replace("\n1 ", "\n+1 "))
    for data, name in ((TRAIN, "a"), (tmp_path / "zeros", "b")):
        run("bbr", "train", "-V", "1", data, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_mode_for_a_feature_that_training_lacks(run: Command, tmp_path: Path) -> None:
    (tmp_path / "priors").write_text("99 1.5 1\n98 0 2\n")
    run("bbr", "train", "-p", "1", "-I", tmp_path / "priors", TRAIN, tmp_path / "m")
    classifier = read_bbr_model(tmp_path / "m")
    assert classifier.weights[99] == 1.5
    assert classifier.features == (*range(1, 61), 99)


@pytest.mark.parametrize("variance", ["1", "500"])
def test_raw_measurements_and_an_intercept_of_infinite_variance(run: Command, tmp_path: Path, variance: str) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    rows = (" ".join(f"{j}:{value:g}" for j, value in enumerate(row, 1) if value) for row in X.tolist())
    (tmp_path / "data").write_text("".join(f"{2 * k - 1} {row}\n" for k, row in zip(y.tolist(), rows, strict=True)))
    (tmp_path / "priors").write_text("0 0 inf\n")
    line = ["-p", "2", "-V", variance, "-I", tmp_path / "priors", tmp_path / "data", tmp_path / "m"]
    ended = run("bbr", "train", *line)
    assert (ended.code, ended.err) == (0, "")
    model = read_bbr_model(tmp_path / "m")
    assert np.isfinite(list(model.weights.values())).all()
    chosen = to_linear(model, "m").members(to_linear(model, "m").scores(sp.csr_matrix(X)))[:, 0]
    assert np.mean(chosen == (y == 1)) > 0.95


def test_a_model_that_normalises_documents_is_not_converted(run: Command, tmp_path: Path) -> None:
    write_bbr_model(BbrModel((1, 2), {1: 1.0}, 0.0, cosine=True), tmp_path / "m")
    ended = run("convert", tmp_path / "m", tmp_path / "ours.lapwing")
    assert (ended.code, "cosineNormalize" in ended.err) == (2, True)


WRONG = [
    (["-g", "3"], "expected 3 groups of 0 or 1 after the label"),
    (["--gvar=1"], "--gvar is for groups"),
    (["-R"], "-R (row ids"),
    (["--no-such"], "--no-such"),
    (["--pos", "--neg"], "--pos and --neg exclude each other"),
    (["-V", "1", "--autosearch"], "-V and --autosearch exclude each other"),
    (["-V", "1,x"], "numbers with commas"),
    (["-V", "0"], "-V must be a number > 0"),
    (["-V", "1,inf"], "-V must be a number > 0, got inf"),
    (["-H", "nan"], "-H must be a number > 0, got nan"),
    (["-C", "1"], "folds"),
    (["--errbar"], "give several with -V"),
    (["--errbar", "--autosearch"], "give several with -V"),
    (["-z"], "-z"),
    (["--rscore"], "--rscore"),
    (["-l", "3"], "-l"),
    (["--probthres", "1.5"], "--probthres"),
    (["-r", "no-such-folder/r"], "-r must be a file in a folder"),
    (["-p", "3"], "-p"),
    (["-t", "6"], "-t"),
    (["-I", "no-such-file"], "expected individual priors"),
]


@pytest.mark.parametrize(("flags", "message"), WRONG, ids=[" ".join(flags) for flags, _ in WRONG])
def test_flags_that_do_not_do(run: Command, flags: list[str], message: str, tmp_path: Path) -> None:
    ended = run("bbr", "train", *flags, TRAIN, tmp_path / "m")
    assert ended.code == 2
    assert message in ended.complaint
    assert not (tmp_path / "m").exists()


def test_bad_prior_files_name_the_line(run: Command, tmp_path: Path) -> None:
    (tmp_path / "priors").write_text("1 0 1\n2 0 much\n")
    ended = run("bbr", "train", "-I", tmp_path / "priors", TRAIN, tmp_path / "m")
    assert ended.code == 2
    assert "priors, line 2" in ended.complaint


def test_data_that_do_not_do(run: Command, tmp_path: Path) -> None:
    (tmp_path / "zero.dat").write_text("1 0:1 3:1\n-1 3:2\n")
    assert "features of 1 or more" in run("bbr", "train", tmp_path / "zero.dat", tmp_path / "m").complaint
    assert "expected a model file of BBR" in run("bbr", "classify", TEST, TRAIN).complaint


def test_convert_there_and_back(run: Command, tmp_path: Path) -> None:
    ours, again = tmp_path / "m.lapwing", tmp_path / "again"
    assert run("convert", FOLDER / "laplace_t_f1.model", ours).code == 0
    model = lapwing.load(ours)
    assert model.categories == ("1",)
    decisions = [line.rsplit("\t") for line in run("classify", ours, TEST, "--format", "svmlight").lines]
    assert len(decisions) >= 200
    assert run("convert", ours, again).code == 0
    lines, reference = again.read_text().split("\n"), (FOLDER / "laplace_t_f1.model").read_text().split("\n")
    assert [a for a, b in zip(lines, reference, strict=True) if a != b] == ["modelType 1 1 0 0 "]
    assert run("inspect", ours).code == 0


def test_convert_a_model_of_words(run: Command, model: Path, tmp_path: Path) -> None:
    assert "holds one category" in run("convert", model, tmp_path / "m").complaint
    assert "--features FILE" in run("convert", model, tmp_path / "m", "--category", "grain").complaint
    numbers = tmp_path / "numbers.tsv"
    ended = run("convert", model, tmp_path / "m", "--category", "grain", "--features", numbers)
    assert ended.code == 0
    classifier, trained = read_bbr_model(tmp_path / "m"), lapwing.load(model)
    names = dict(line.split("\t") for line in numbers.read_text().splitlines())
    weights = dict(trained.top_features(trained.categories.index("grain")))
    assert {names[str(i)] for i in classifier.weights} == set(weights)
    assert "--category" in run("convert", model, tmp_path / "m", "--category", "grains").complaint
    # Three exclusive classes: what the file says is the category's own probability, and the command says so.
    assert "gives that of grain by itself (category_proba)" in ended.err
    ours, theirs = trained, to_linear(classifier, "m")
    text = ["corn and wheat", "oil", ""]
    X = ours.vectors(text)[:, [int(name) - 1 for name in theirs.feature_names]]
    own = ours.category_proba(text)[:, list(ours.classes).index("grain")]
    np.testing.assert_allclose(theirs.predict_proba(X)[:, 1], own, rtol=0.0, atol=1e-9)
    assert np.abs(own - ours.predict_proba(text)[:, list(ours.classes).index("grain")]).max() > 1e-3


def test_standard_input_accuracy_and_talk(run: Command, tmp_path: Path) -> None:
    def trained(name: str, *flags: object, data: object = TRAIN, stdin: bytes = b"") -> dict[int, float]:
        ended = run("bbr", "train", "-p", "1", "-V", "1", *flags, data, tmp_path / name, stdin=stdin)
        assert ended.code == 0
        return read_bbr_model(tmp_path / name).weights

    usual = trained("file")
    for dash in ("-", "="):
        trained("piped", data=dash, stdin=TRAIN.read_bytes())
        assert (tmp_path / "piped").read_bytes() == (tmp_path / "file").read_bytes()
    exact = trained("exact", "--accurate")
    assert trained("close", "-e", "1e-11") == pytest.approx(exact, abs=1e-6)
    assert trained("most", "--iter", "5000") == usual
    assert usual == pytest.approx(exact, abs=2e-2)
    stopped = run("bbr", "train", "-p", "1", "--iter", "1", TRAIN, tmp_path / "m")
    assert stopped.code == 0
    assert "did not reach -e 0.0001" in stopped.err
    assert "raise --iter or -e" in stopped.err
    trained("named", "--modelname", "two words")
    assert read_bbr_model(tmp_path / "named").name == "two words"
    assert run("bbr", "train", TRAIN, tmp_path / "m", "-l", "0").out == ""
    for much in "12":
        talk = run("bbr", "train", TRAIN, tmp_path / "m", "-l", much).out
        assert "60 of 60 features kept" in talk
        assert "400 documents: TP " in talk


def test_bounds_hold_under_a_gaussian_prior_and_it_is_said(run: Command, tmp_path: Path) -> None:
    """BBR ignores --pos under -p 2: its coefficients are those of no bound."""
    bounded, free = tmp_path / "bounded", tmp_path / "free"
    assert "BBR ignores it" in run("bbr", "train", "-p", "2", "-V", "10", "--pos", TRAIN, bounded).err
    assert "BBR ignores it" not in run("bbr", "train", "-p", "2", "-V", "10", TRAIN, free).err
    assert min(read_bbr_model(bounded).weights.values()) >= 0.0
    assert min(read_bbr_model(free).weights.values()) < 0.0
