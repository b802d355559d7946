from __future__ import annotations

import hashlib
import json
import os
from dataclasses import fields, replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from model.build import TEXTS, assert_same, model, text_model
from safetensors.numpy import load as unpack
from safetensors.numpy import save as pack

from lapwing.errors import InputError, ModelFileError
from lapwing.formats import load, save
from lapwing.formats.model_file import from_bytes, to_bytes
from lapwing.formats.provenance import SHAPE
from lapwing.model import FitSummary, LinearModel
from lapwing.model.conformal import Conformal
from lapwing.text import TextSettings, Weighting, stemmer_names

finite = st.floats(allow_nan=False, allow_infinity=False)
any_number = st.floats()
written = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
labels = written | st.integers() | finite | st.booleans()
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | finite | written,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(written | st.just("sha256"), inner, max_size=3),
    max_leaves=8,
)


def arrays(elements: st.SearchStrategy, size: int, dtype: type = np.float64) -> st.SearchStrategy[np.ndarray]:
    return st.lists(elements, min_size=size, max_size=size).map(lambda values: np.array(values, dtype=dtype))


@st.composite
def weightings(draw: st.DrawFn) -> Weighting:
    tokens = draw(st.sampled_from(["word", "char", "ready"]))
    characters = draw(st.sampled_from([None, (3, 5), (1, 1)]))
    text = TextSettings(
        tokens=tokens,
        word_ngrams=draw(st.sampled_from([(1, 1)] if tokens == "char" or characters else [(1, 1), (1, 2), (2, 3)])),
        char_ngrams=characters,
        digits=draw(st.booleans()),
        strip_html=draw(st.booleans()),
        stop_words=draw(st.sampled_from(["smart", "none"]) | st.lists(written, max_size=3)),
        stemmer=draw(st.sampled_from(["none", *stemmer_names()])),
        tf=draw(st.sampled_from(["log", "raw", "binary"])),
        idf=draw(st.booleans()),
        cosine=draw(st.booleans()),
        min_df=draw(st.integers(1, 4)),
    )
    terms = sorted(draw(st.sets(st.text(min_size=1, max_size=4), max_size=6)))
    n_documents = draw(st.integers(5, 2**53 - 1))
    frequency = draw(arrays(st.integers(1, 5) | st.integers(1, n_documents), len(terms), np.int64))
    frequency = np.minimum(frequency, n_documents)
    return Weighting(text, terms, frequency, n_documents, np.flatnonzero(frequency >= text.min_df))


unnamed = written.filter(lambda name: f"{name}?" not in SHAPE)  # what has a shape of its own cannot be anything


@st.composite
def models(draw: st.DrawFn) -> LinearModel:
    weighting = draw(st.none() | weightings())
    if weighting is None:
        names = draw(st.lists(written, max_size=6))
    else:
        names = weighting.feature_names
    exclusive = draw(st.booleans())
    classes = tuple(draw(st.lists(labels, unique=True, min_size=2 if exclusive else 1, max_size=5)))
    rows = 1 if exclusive and len(classes) == 2 else len(classes)
    kept = [sorted(draw(st.sets(st.integers(0, len(names) - 1)))) if names else [] for _ in range(rows)]
    nnz = sum(map(len, kept))
    weights = sp.csr_matrix(
        (
            draw(arrays(finite, nnz)),
            np.array([j for row in kept for j in row], dtype=np.int32),
            np.cumsum([0, *map(len, kept)], dtype=np.int32),
        ),
        shape=(rows, len(names)),
    )
    kinds = {"rounds": np.int64, "positives": np.int64, "converged": bool}
    elements = {
        "converged": st.booleans(),
        "rounds": st.integers(0, 2**40),
        "positives": st.integers(0, 2**40),
    }
    return LinearModel(
        link="logit",
        classes=classes,
        exclusive=exclusive,
        weights=weights,
        intercepts=draw(arrays(finite, rows)),
        thresholds=draw(arrays(st.floats(allow_nan=False), rows)),
        feature_names=names,
        weighting=weighting,
        fits=FitSummary(
            **{
                f.name: draw(arrays(elements.get(f.name, any_number), rows, kinds.get(f.name, np.float64)))
                for f in fields(FitSummary)
            }
        ),
        provenance=draw(st.dictionaries(unnamed | st.just("sha256"), json_values, max_size=4)),
    )


@settings(max_examples=300, deadline=None)
@given(models())
def test_any_model_survives_its_file(original: LinearModel) -> None:
    content = to_bytes(original)
    back = from_bytes(content)
    assert_same(original, back)
    assert to_bytes(original) == content
    assert to_bytes(back) == content


def test_a_saved_model_scores_to_the_same_bits(tmp_path: Path) -> None:
    original = text_model()
    save(original, tmp_path / "m.lapwing")
    back = load(tmp_path / "m.lapwing")
    texts = [*TEXTS, "", "नया 中 \ud800 👍", "new corn"]
    for method in ("plain", "kernel"):
        before, after = (m.category_proba(texts, method=method) for m in (original, back))
        assert before.tobytes() == after.tobytes()
    assert back.explain(TEXTS[0]) == original.explain(TEXTS[0])


def test_equal_models_give_equal_bytes(tmp_path: Path) -> None:
    assert to_bytes(text_model()) == to_bytes(text_model())
    for path in (tmp_path / "a", tmp_path / "b"):
        save(text_model(), path)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() == to_bytes(text_model())


def test_labels_of_numpy_are_stored_as_their_values() -> None:
    classes = (np.int64(3), np.str_("x"), np.float64(0.5), np.bool_(True))
    back = from_bytes(to_bytes(model(np.zeros((4, 1)), [0.0] * 4, classes=classes)))
    assert back.classes == (3, "x", 0.5, True)
    assert [type(label) for label in back.classes] == [int, str, float, bool]


@pytest.mark.parametrize(
    "label",
    [
        None,
        ("a", "b"),
        b"x",
        float("nan"),
        float("inf"),
        date(2020, 1, 1),
        1j,
        "\ud83d\ude00",
        "a\ud800",
        10**5000,
    ],
    ids=lambda label: type(label).__name__,
)
def test_labels_that_cannot_be_stored(label: object) -> None:
    odd = model(np.zeros((2, 1)), [0.0, 0.0], classes=("x", label))
    with pytest.raises(InputError, match=r"label|JSON"):
        to_bytes(odd)


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, b"x", np.arange(2), "\ud800"])
def test_provenance_that_cannot_be_stored(value: object) -> None:
    with pytest.raises(InputError, match="cannot be written as JSON"):
        to_bytes(replace(text_model(), provenance={"key": value}))


def test_names_that_cannot_be_stored() -> None:
    odd = replace(model([[1.0, 2.0]], [0.0], classes=("x",)), feature_names=["fine", "half \ud83d"])
    with pytest.raises(InputError, match=r"names in UTF-8.*half"):
        to_bytes(odd)


def test_a_provenance_may_hold_hashes_of_its_own() -> None:
    own = {"sha256": "1" * 64, "source": {"sha256": "ab", "schema": 1}, "zz": '"sha256":"'}
    back = from_bytes(to_bytes(replace(text_model(), provenance=own)))
    assert back.provenance == own


def test_a_file_that_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "m"
    good = model([[1.0, 2.0], [0.0, 1.0]], [0.0, 0.0], classes=("x", "y"))
    unsorted = sp.csr_matrix((np.ones(2), np.array([1, 0]), np.array([0, 2, 2])), shape=(2, 2))
    for change in (
        {"classes": (1, True)},
        {"intercepts": np.array([np.nan, 0.0])},
        {"thresholds": np.array([np.nan, 0.0])},
        {"weights": good.weights * np.inf},
        {"weights": unsorted},
    ):
        with pytest.raises(InputError, match=r"inconsistent|expected finite weights"), np.errstate(invalid="ignore"):
            save(replace(good, **change), path)
        assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("culprit", ["replace", "fsync", "chmod"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt(), MemoryError()])
@pytest.mark.parametrize("there", [True, False])
def test_an_old_file_stays_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, culprit: str, error: BaseException, there: bool
) -> None:
    path = tmp_path / "m.lapwing"
    if there:
        save(text_model(), path)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}

    def fail(*_: object, **__: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(os, culprit, fail)
        expected = InputError if isinstance(error, OSError) else type(error)
        with pytest.raises(expected) as caught:
            save(text_model(("other", "labels")), path)
    if isinstance(error, OSError):
        assert "cannot write" in str(caught.value)
        assert "No space left" in str(caught.value)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_a_new_file_takes_the_place_of_the_old(tmp_path: Path) -> None:
    path = tmp_path / "m.lapwing"
    save(text_model(), path)
    save(text_model(("other", "labels")), str(path))
    assert load(str(path)).classes == ("other", "labels")
    assert os.listdir(tmp_path) == ["m.lapwing"]
    if os.name != "posix":
        return
    old = os.umask(0o027)
    try:
        save(text_model(), tmp_path / "new.lapwing")
    finally:
        os.umask(old)
    assert (tmp_path / "new.lapwing").stat().st_mode & 0o777 == 0o640
    path.chmod(0o600)
    save(text_model(), path)
    assert path.stat().st_mode & 0o777 == 0o600  # the old file lends its mode


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    for place in ("missing/m", "file/m", "folder", "n" * 300):
        with pytest.raises(
            InputError, match=r"cannot write|must be a file that can be written|must be a (regular )?file"
        ):
            save(text_model(), tmp_path / place)
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]


def test_an_unwritable_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkstemp", refuse)  # root, whom some run tests as, may write anywhere
    with pytest.raises(InputError, match=r"cannot write .*Permission denied"):
        save(text_model(), tmp_path / "m")


def test_files_that_are_no_model(tmp_path: Path) -> None:
    whole = to_bytes(text_model())
    for content, says in (
        (b"", "not a lapwing model file"),
        (b"PK\x03\x04 something else", "not a lapwing model file"),
        (b'{"json": "only"}', "not a lapwing model file"),
        (whole[:-1], "checksum"),
        (whole[:100], "not a lapwing model file"),
        (whole + b"\0", "checksum"),
    ):
        path = tmp_path / "m"
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match=says) as caught:
            load(path)
        assert str(caught.value).startswith(str(path))
    for place in ("missing", "."):
        with pytest.raises(ModelFileError, match="cannot read the model file"):
            load(tmp_path / place)


def test_a_later_schema_is_named() -> None:
    content = to_bytes(text_model())
    newer = content.replace(b'\\"schema\\":1', b'\\"schema\\":9')
    at = newer.index(b'\\"sha256\\":\\"') + len(b'\\"sha256\\":\\"')
    blank = newer[:at] + b"0" * 64 + newer[at + 64 :]
    sealed = blank[:at] + hashlib.sha256(blank).hexdigest().encode() + blank[at + 64 :]
    with pytest.raises(ModelFileError, match="schema 9 is not known"):
        from_bytes(sealed)


def with_promises(exclusive: bool = False) -> LinearModel:
    original = text_model(exclusive=exclusive) if exclusive else text_model()
    rng = np.random.default_rng(4)
    proba = rng.random((300, len(original.classes)))
    truth = rng.random(proba.shape) < proba
    return replace(original, conformal=Conformal.of(proba, truth, exclusive, "folds"))


@pytest.mark.parametrize("exclusive", [True, False])
def test_promises_are_kept_in_the_file(exclusive: bool) -> None:
    original = with_promises(exclusive)
    content = to_bytes(original)
    back = from_bytes(content).conformal
    assert to_bytes(from_bytes(content)) == content
    assert original.conformal is not None
    assert back is not None
    for one in fields(Conformal):
        assert np.array_equal(getattr(back, one.name), getattr(original.conformal, one.name)), one.name


@pytest.mark.parametrize(
    "wrong",
    [
        {"source": "elsewhere"},
        {"documents": 3},
        {"nonconformity": np.array([0.5, 0.4])},
        {"nonconformity": np.array([0.5, np.nan])},
        {"nonconformity": np.array([-3.0])},
        {"pointer": np.array([0, 1])},
        {"taken": np.zeros(1, dtype=np.int64)},
        {"thresholds": np.array([7.0])},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_promises_that_cannot_be_are_refused(wrong: dict[str, object]) -> None:
    original = with_promises()
    assert original.conformal is not None
    broken = object.__new__(Conformal)
    for one in fields(Conformal):
        object.__setattr__(broken, one.name, wrong.get(one.name, getattr(original.conformal, one.name)))
    with pytest.raises(ModelFileError, match="the file is inconsistent"):
        from_bytes(to_bytes(replace(original, conformal=broken)))


def retyped(content: bytes, name: str, values: np.ndarray) -> bytes:
    """The file with another tensor of that name, sealed."""
    size = int.from_bytes(content[:8], "little")
    with_metadata = json.loads(content[8 : 8 + size])["__metadata__"]
    changed = pack(unpack(content) | {name: values}, metadata=with_metadata)
    at = changed.index(b'\\"sha256\\":\\"') + len(b'\\"sha256\\":\\"')
    blank = changed[:at] + b"0" * 64 + changed[at + 64 :]
    return blank[:at] + hashlib.sha256(blank).hexdigest().encode() + blank[at + 64 :]


def test_integers_are_as_narrow_as_they_can_be() -> None:
    original = with_promises()
    content = to_bytes(original)
    tensors = unpack(content)
    assert {tensors[name].dtype for name in ("weights_index", "fit_rounds", "terms_ptr")} == {np.dtype(np.uint8)}
    assert tensors["weights_data"].dtype == np.float64
    wide = retyped(content, "weights_index", tensors["weights_index"].astype(np.int32))
    assert_same(from_bytes(wide), original)
    assert_same(from_bytes(content), original)
    assert from_bytes(content).weights.indices.dtype == np.int32


def test_weights_of_24_bits_take_half_the_room() -> None:
    original = with_promises()
    assert original.calibration is None
    weights = original.weights.copy()
    weights.data = weights.data.astype(np.float32).astype(np.float64)
    short = replace(original, weights=weights)
    content = to_bytes(short)
    tensors = unpack(content)
    assert tensors["weights_data"].dtype == np.float32
    assert_same(from_bytes(content), short)
    assert from_bytes(content).weights.dtype == np.float64
    for name in ("weights_data", "intercepts"):
        with pytest.raises(ModelFileError, match="wrong type"):
            from_bytes(retyped(content, name, tensors[name].astype(np.float16)))


def test_narrow_integers_are_looked_at_as_all_others() -> None:
    content = to_bytes(with_promises())
    index = unpack(content)["weights_index"]
    beyond = index.astype(np.uint32)
    beyond[0] = 2**32 - 1  # -1 once it is an int32
    for values, says in (
        (beyond, "a weight belongs to no feature"),
        (index.astype(np.int64), "wrong type"),
        (index.astype(np.float64), "wrong type"),
        (index.astype(np.int8), "wrong type"),
    ):
        with pytest.raises(ModelFileError, match=says):
            from_bytes(retyped(content, "weights_index", values))
    old = to_bytes(text_model())
    with pytest.raises(ModelFileError, match="wrong type"):
        from_bytes(retyped(old, "weights_index", unpack(old)["weights_index"].astype(np.uint8)))
