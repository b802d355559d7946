"""The model file: a safetensors container with one metadata key holding canonical JSON.

Schema 2, in which integers and weights have the narrowest type that holds them; a model that schema 1 can hold, without
short n-grams and all that unseen documents taught, is written as that. Tensors: terms (UTF-8 bytes of all names) with
terms_ptr, document_frequency for text models and, where a prior named any, `named`, the terms that have a column
however rare; weights by rows (weights_ptr, weights_index, weights_data), intercepts, thresholds, and one fit_* entry
per category; calibration_* where unseen documents calibrated it, the weights being those before that; conformal_* where
they let it promise a coverage; `sketch`, by which documents trained on are known again. The JSON names the schema,
link, labels, text settings, provenance and how it fared with unseen documents, and carries a SHA-256 over every byte of
the file, its own 64 digits read as zeros. After the hash every size, pointer, index and number is still checked: a file
can be well-hashed and hostile. Nothing in it is ever executed, and nothing larger than the file itself is allocated
from a number it states. memory_* stands for what an update needs of earlier documents (model/memory.py).
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.errors import InputError, LapwingError, ModelFileError
from lapwing.files import read_regular, write_beside
from lapwing.formats.beside import beside_from_json, beside_to_json
from lapwing.formats.provenance import check_held_out, check_provenance
from lapwing.model.calibration import Calibration, Coupling
from lapwing.model.conformal import Conformal
from lapwing.model.linear import FitSummary, LinearModel, row_count
from lapwing.model.memory import FULL_TYPES, Memory
from lapwing.model.memory import TYPES as MEMORY_TYPES
from lapwing.model.trained_on import KEPT
from lapwing.stats.links import is_model_link
from lapwing.text import TextSettings, Weighting
from lapwing.text.beside import WithColumns
from lapwing.text.cutting import Cutter
from lapwing.text.matching import NgramWeighting
from lapwing.text.stemming import snowball_release

log = logging.getLogger("lapwing.formats")

SCHEMA = 2
KEY = "lapwing"
BLANK_HASH = "0" * 64
CALIBRATION = ("slope", "offset")

_NARROW = (np.uint8, np.uint16, np.uint32)
_FIT_TYPES = {"rounds": np.int64, "converged": np.uint8, "positives": np.int64}
_TYPES: dict[str, type] = {
    "terms": np.uint8,
    "terms_ptr": np.int64,
    "weights_ptr": np.int64,
    "weights_index": np.int32,
    "weights_data": np.float64,
    "intercepts": np.float64,
    "thresholds": np.float64,
    **{f"fit_{f.name}": _FIT_TYPES.get(f.name, np.float64) for f in fields(FitSummary)},
}
_CONFORMAL_TYPES: dict[str, type] = {
    "nonconformity": np.float64,
    "pointer": np.int64,
    "thresholds": np.float64,
    "taken": np.int64,
    "wrong": np.int64,
}


def save(model: LinearModel, path: str | os.PathLike[str]) -> None:
    """Write beside `path`, then rename into place: an old file stays whole until the new one is."""
    content = to_bytes(model)
    from_bytes(content)  # a file that could not be read again is never written
    write_beside(path, content)


def load(path: str | os.PathLike[str], *, tokens: Callable[[str], Iterable[str]] | None = None) -> LinearModel:
    """Read a model file, or raise ModelFileError saying what is wrong with it.

    `tokens` is the function that cuts texts for a model that was trained with one.
    """
    try:
        content = read_regular(path)
    except OSError as error:
        raise ModelFileError(f"cannot read the model file {path}: {error.strerror or error}") from error
    try:
        model = from_bytes(content)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None
    _warn_of_another_stemmer(path, model)
    if tokens is None:
        return model
    weighting = model.weighting
    if weighting is None or weighting.settings.cut is None:
        raise InputError(f"{path}: the model cuts texts by itself; load it without tokens=")
    cut = Cutter(weighting.settings.cut.name, tokens)
    return replace(model, weighting=replace(weighting, settings=replace(weighting.settings, cut=cut)))


def _warn_of_another_stemmer(path: str | os.PathLike[str], model: LinearModel) -> None:
    then = model.provenance.get("stemmer")
    if then is None or model.weighting is None:
        return
    settings = model.weighting.settings
    now = snowball_release(settings)
    if now not in (None, then):
        log.warning(
            "%s: its words were stemmed by the algorithm %r of Snowball %s; that of %s, which PyStemmer has here, may "
            "stem some words differently; install PyStemmer %s", path, settings.stemmer, then, now, then,
        )  # fmt: skip


def is_model_file(path: str | os.PathLike[str]) -> bool:
    """Whether the file begins as a model file does; `load` may still find it damaged."""
    try:
        if not Path(path).is_file():  # what is read from a pipe is gone
            return False
        with open(path, "rb") as stream:
            head = stream.read(64)
    except OSError:
        return False
    return head[8:].lstrip().startswith(b'{"__metadata__":{"' + KEY.encode() + b'":')


def to_bytes(model: LinearModel) -> bytes:
    """The same model always gives the same bytes."""
    from safetensors.numpy import save as pack

    names = model.feature_names if model.weighting is None else model.weighting.terms
    try:
        encoded = [name.encode() for name in names]
    except UnicodeEncodeError as error:
        raise InputError(f"a model file holds names in UTF-8, and {error.object!r} has none") from error
    fitted = model.calibration or model
    tensors: dict[str, np.ndarray] = {
        "terms": np.frombuffer(b"".join(encoded), dtype=np.uint8),
        "terms_ptr": np.concatenate(([0], np.cumsum([len(e) for e in encoded], dtype=np.int64))),
        "weights_ptr": fitted.weights.indptr,
        "weights_index": fitted.weights.indices,
        "weights_data": fitted.weights.data,
        "intercepts": fitted.intercepts,
        "thresholds": model.thresholds,
        **{f"fit_{f.name}": getattr(model.fits, f.name) for f in fields(FitSummary)},
    }
    header: dict[str, Any] = {
        "schema": _schema(model),
        "sha256": BLANK_HASH,
        "link": model.link,
        "exclusive": model.exclusive,
        "decision": model.decision,
        "classes": [_plain(label) for label in model.classes],
        "provenance": model.provenance,
        "text": None,
    }
    types = dict(_TYPES)
    if model.weighting is not None:
        header["text"] = model.weighting.settings.to_dict()
        header["n_documents"] = model.weighting.n_documents
        if isinstance(model.weighting, NgramWeighting):
            header["ngrams"] = {"longest": list(model.weighting.longest), "members": model.weighting.members.tolist()}
        if isinstance(model.weighting, WithColumns):
            header["beside"] = beside_to_json(model.weighting.beside)
        tensors["document_frequency"] = model.weighting.document_frequency
        types["document_frequency"] = np.int64
        named = _named(model.weighting)
        if len(named):
            tensors["named"] = named
            types["named"] = np.int64
    if model.calibration is not None:
        tensors |= {f"calibration_{name}": getattr(model.calibration, name) for name in CALIBRATION}
        types |= {f"calibration_{name}": np.float64 for name in CALIBRATION}
    if len(model.sketch):
        tensors["sketch"] = model.sketch
        types["sketch"] = np.uint64
    if model.memory is not None:
        header["memory"] = model.memory.documents
        tensors |= {f"memory_{name}": getattr(model.memory, name) for name in MEMORY_TYPES}
        tensors |= {f"memory_{name}": np.empty(0) for name in FULL_TYPES}  # which earlier releases look for
        types |= {f"memory_{name}": dtype for name, dtype in (MEMORY_TYPES | FULL_TYPES).items()}
        if model.memory.rank:
            header["memory_rank"] = model.memory.rank
            tensors["memory_factor"], types["memory_factor"] = model.memory.factor, np.float64
    if model.coupling != Coupling():
        header["coupling"] = list(model.coupling)
    if model.held_out:
        header["held_out"] = model.held_out
    if model.conformal is not None:
        header["conformal"] = {"source": model.conformal.source, "documents": model.conformal.documents}
        tensors |= {f"conformal_{name}": getattr(model.conformal, name) for name in _CONFORMAL_TYPES}
        types |= {f"conformal_{name}": dtype for name, dtype in _CONFORMAL_TYPES.items()}
    exact: dict[str, np.ndarray] = {k: np.ascontiguousarray(v, dtype=types[k]) for k, v in tensors.items()}
    if header["schema"] > 1:
        exact = {name: _narrow(name, values) for name, values in exact.items()}
    try:
        content = pack(exact, metadata={KEY: _canonical(header)})
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"the labels or the provenance cannot be written as JSON: {error}") from error
    at = _hash_at(content)
    digest = hashlib.sha256(content).hexdigest().encode()
    return content[:at] + digest + content[at + len(digest) :]


def _schema(model: LinearModel) -> int:
    """The first that can hold it."""
    text = None if model.weighting is None else model.weighting.settings
    new = text is not None and (text.is_bag or text.cut is not None or isinstance(model.weighting, WithColumns))
    unseen = model.conformal or model.calibration or model.held_out or model.memory
    new = new or (text is not None and text.max_gap > 0) or model.link not in ("logit", "probit", "softmax")
    return 2 if new or unseen or len(model.sketch) or model.coupling != Coupling() else 1


def _narrow(name: str, values: np.ndarray) -> np.ndarray:
    """Integers in the first of `_NARROW` that holds them all, weights as numbers of 32 bits where these are equal."""
    if name == "weights_data":
        with np.errstate(over="ignore"):
            half = values.astype(np.float32)
        return half if np.array_equal(half, values) else values
    if values.dtype.kind != "i" or values.min(initial=0) < 0:
        return values
    largest = values.max(initial=0)
    return values.astype(next((one for one in _NARROW if largest <= np.iinfo(one).max), values.dtype))


def _wide(values: np.ndarray, dtype: type, name: str, schema: int) -> np.ndarray:
    """As the type that the rest of the package knows; numbers that it does not hold come out negative."""
    types = (np.float32,) if name == "weights_data" else _NARROW if np.issubdtype(dtype, np.signedinteger) else ()
    narrow = schema > 1 and values.dtype in types
    _need((values.dtype == dtype or narrow) and values.ndim == 1, f"{name} has the wrong type or shape")
    return values.astype(dtype, copy=False)


def _named(weighting: Weighting) -> np.ndarray:
    """Terms with a column that are rarer than min_df."""
    rare = weighting.document_frequency[weighting.columns] < weighting.settings.min_df
    return np.asarray(weighting.columns[rare])


def _canonical(header: dict[str, Any]) -> str:
    """Characters as they are: halves of surrogate pairs, which nothing could print, find no way in."""
    return json.dumps(header, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _plain(label: Hashable) -> str | int | float | bool:
    value = label.item() if isinstance(label, np.generic) else label
    if isinstance(value, str | int | bool) or (isinstance(value, float) and np.isfinite(value)):
        return value
    raise InputError(f"a model file holds labels that are strings, numbers or booleans, not {label!r}")


def _hash_at(content: bytes) -> int:
    """Where the 64 digits of the hash stand: in the JSON, itself a string within the container's JSON.

    Of all keys of that name it is the last: the provenance, which may have others, sorts before it.
    """
    marker = b'\\"sha256\\":\\"'
    at = content.rfind(marker, 0, 8 + int.from_bytes(content[:8], "little"))
    if at < 0 or at + len(marker) + 64 > len(content):
        raise ModelFileError("not a lapwing model file, or truncated")
    return at + len(marker)


def from_bytes(content: bytes) -> LinearModel:
    """Everything the file states is checked before it is used."""
    at = _hash_at(content)
    stated = content[at : at + 64]
    digest = hashlib.sha256(memoryview(content)[:at])
    digest.update(BLANK_HASH.encode())
    digest.update(memoryview(content)[at + 64 :])
    if digest.hexdigest().encode() != stated:
        raise ModelFileError("the checksum does not match: the file is truncated or was altered")
    header, tensors = _unpack(content)
    try:
        return _build(header, tensors)
    except ModelFileError:
        raise
    except (LapwingError, KeyError, TypeError, ValueError, OverflowError, UnicodeDecodeError) as error:
        raise ModelFileError(f"the file is inconsistent: {error}") from error


def _unpack(content: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    from safetensors import SafetensorError
    from safetensors.numpy import load as unpack

    try:
        size = int.from_bytes(content[:8], "little")
        container = json.loads(content[8 : 8 + size])
        text = container["__metadata__"][KEY]
        header = json.loads(text)
        if not isinstance(header, dict) or _canonical(header) != text:
            raise ModelFileError("not a lapwing model file")
        if header.get("schema") not in range(1, SCHEMA + 1):
            raise ModelFileError(
                f"schema {header.get('schema')!r} is not known to this lapwing, which reads up to {SCHEMA}; "
                "a newer release may read it"
            )
        tensors = unpack(content)
    except ModelFileError:
        raise
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError, AttributeError) as error:
        raise ModelFileError(f"not a lapwing model file: {error}") from error
    return header, tensors


def _need(condition: object, message: str) -> None:
    if not condition:
        raise ModelFileError(f"the file is inconsistent: {message}")


def _build(header: dict[str, Any], tensors: dict[str, np.ndarray]) -> LinearModel:
    is_text = header["text"] is not None
    types = dict(_TYPES) | ({"document_frequency": np.int64} if is_text else {})
    if is_text and "named" in tensors:
        types["named"] = np.int64
    is_calibrated = "calibration_slope" in tensors
    if is_calibrated:
        types |= {f"calibration_{name}": np.float64 for name in CALIBRATION}
    if "sketch" in tensors:
        types["sketch"] = np.uint64
    if "memory" in header:
        types |= {f"memory_{name}": dtype for name, dtype in (MEMORY_TYPES | FULL_TYPES).items()}
        types |= {"memory_factor": np.float64} if "memory_rank" in header else {}
    if "conformal" in header:
        types |= {f"conformal_{name}": dtype for name, dtype in _CONFORMAL_TYPES.items()}
    _need(set(tensors) == set(types), "its tensors are not those of a model")
    tensors = {name: _wide(tensors[name], dtype, name, header["schema"]) for name, dtype in types.items()}
    classes = _labels(header["classes"])
    _need(isinstance(header["exclusive"], bool), "exclusive is not true or false")
    _need(is_model_link(header["link"]), f"unknown link {header['link']!r}")
    check_provenance(header["provenance"])
    rows = row_count(header["link"], len(classes), header["exclusive"])
    names = _names(tensors["terms"], tensors["terms_ptr"])
    weighting = _weighting(header, tensors, names) if is_text else None
    features = names if weighting is None else weighting.feature_names
    weights = _weights(tensors, rows, len(features))
    intercepts = _finite(tensors["intercepts"], rows, "intercepts")
    calibration = _calibration(tensors, weights, intercepts) if is_calibrated else None
    if calibration is not None:
        weights, intercepts = calibration.predicting
        _need(np.isfinite(weights.data).all() and np.isfinite(intercepts).all(), "calibrated weights are not finite")
    check_held_out(header.get("held_out", {}), rows, weights.shape[1])
    model = LinearModel(
        link=header["link"],
        classes=classes,
        exclusive=header["exclusive"],
        decision=header["decision"],
        weights=weights,
        intercepts=intercepts,
        thresholds=_row_values(tensors["thresholds"], rows, "thresholds"),
        feature_names=features,
        weighting=weighting,
        fits=_fits(tensors, rows),
        provenance=header["provenance"],
        conformal=_conformal(header, tensors, 1 if header["exclusive"] else rows),
        calibration=calibration,
        coupling=_coupling(header),
        held_out=header.get("held_out", {}),
        sketch=_sketch(tensors),
        memory=_memory(header, tensors, weights if calibration is None else calibration.weights),
    )
    _need(header["schema"] == _schema(model), "the schema is not that of what it holds")
    return model


def _memory(header: dict[str, Any], tensors: dict[str, np.ndarray], weights: sp.csr_matrix) -> Memory | None:
    if "memory" not in header:
        return None
    _need(isinstance(header["memory"], float), "the memory's documents are no number")
    parts: dict[str, Any] = {name: tensors[f"memory_{name}"] for name in MEMORY_TYPES}
    if "memory_rank" in header:
        parts |= {"rank": header["memory_rank"], "factor": tensors["memory_factor"]}
        _need(type(parts["rank"]) is int and parts["rank"] > 0, "the memory's rank is no number above 0")
    memory, whole = Memory(header["memory"], **parts).check(weights), [tensors[f"memory_{name}"] for name in FULL_TYPES]
    _need(not memory.rank or not any(map(len, whole)), "the memory has two curvatures")
    return memory.with_full(*whole) if any(map(len, whole)) else memory


def _sketch(tensors: dict[str, np.ndarray]) -> np.ndarray:
    sketch = tensors.get("sketch", np.empty(0, np.uint64))
    _need(sketch.size <= KEPT and np.all(sketch[1:] > sketch[:-1]), "the sketch is not of a few rising numbers")
    return sketch


def _labels(values: object) -> tuple[Hashable, ...]:
    _need(isinstance(values, list) and values, "there are no classes")
    assert isinstance(values, list)
    classes = tuple(_plain(value) for value in values)
    _need(len(set(classes)) == len(classes), "a class stands twice")
    return classes


def _rises(pointer: np.ndarray) -> bool:
    return bool(np.all(pointer[1:] >= pointer[:-1]))  # differences of hostile numbers overflow


def _names(letters: np.ndarray, ends: np.ndarray) -> list[str]:
    _need(ends.size >= 1 and ends[0] == 0 and ends[-1] == letters.size, "the names do not fill their tensor")
    _need(_rises(ends), "the names' ends do not rise")
    content = letters.tobytes()
    at = ends.tolist()
    return [content[a:b].decode() for a, b in pairwise(at)]


def _weighting(header: dict[str, Any], tensors: dict[str, np.ndarray], terms: Sequence[str]) -> Weighting:
    _need(isinstance(header["text"], dict), "the text settings are not an object")
    settings = TextSettings.from_dict(header["text"])
    n_documents, frequency = header["n_documents"], tensors["document_frequency"]
    _need(type(n_documents) is int and 0 < n_documents < 2**53, "the number of documents is not positive")
    _need(frequency.size == len(terms), "terms and document frequencies differ in number")
    named = tensors.get("named", np.empty(0, np.int64))
    _need(np.all((named >= 0) & (named < len(terms))), "a named term is none of the terms")
    _need(np.all(named[1:] > named[:-1]), "the named terms are not sorted and distinct")
    _need(np.all(frequency[named] < settings.min_df), "a named term is not rare")
    least = np.ones(len(terms), dtype=np.int64)
    least[named] = 0  # training need not have seen them
    _need(np.all((frequency >= least) & (frequency <= n_documents)), "a document frequency is out of range")
    _need(all(a < b for a, b in pairwise(terms)), "the terms are not sorted and distinct")
    kept = frequency >= settings.min_df
    kept[named] = True
    columns = np.flatnonzero(kept)
    if not settings.ngrams:
        parts = (settings, terms, frequency, n_documents, columns)
        return WithColumns(*parts, beside_from_json(header["beside"])) if "beside" in header else Weighting(*parts)
    ngrams = header["ngrams"]
    _need(
        isinstance(ngrams, dict) and set(ngrams) == {"longest", "members"},
        "the n-grams' notes are not those of a model",
    )
    longest, members = ngrams["longest"], ngrams["members"]
    _need(len(columns) == len(terms), "an n-gram has no column")
    _need(isinstance(longest, list) and isinstance(members, list), "the n-grams' notes are not lists")
    _need(len(longest) == len(members) == len(terms), "n-grams and their notes differ in number")
    _need(all(isinstance(one, str) for one in longest), "a longest n-gram is not a string")
    _need(all(type(one) is int and 0 < one < 2**63 for one in members), "a number of n-grams is not positive")
    return NgramWeighting(
        settings, terms, frequency, n_documents, columns, longest=longest, members=np.array(members, dtype=np.int64)
    )


def _conformal(header: dict[str, Any], tensors: dict[str, np.ndarray], rows: int) -> Conformal | None:
    if "conformal" not in header:
        return None
    stated, arrays = header["conformal"], {name: tensors[f"conformal_{name}"] for name in _CONFORMAL_TYPES}
    _need(isinstance(stated, dict) and set(stated) == {"source", "documents"}, "the promises' notes are not two")
    n, kept, pointer = stated["documents"], arrays["nonconformity"], arrays["pointer"]
    _need(type(n) is int and kept.size <= n < 2**53, "the promises' documents are fewer than their nonconformities")
    _need(np.all((kept >= -1.0) & (kept <= 1.0)) and _rises(kept), "nonconformities do not rise from -1 to 1")
    _need(pointer.size == rows + 1 and pointer[0] == 0 and _rises(pointer), "the promises' rows do not fit")
    _need(pointer[-1] == arrays["thresholds"].size, "the promises' rows do not fit")
    _need(np.all((arrays["thresholds"] >= 0.0) & (arrays["thresholds"] <= 1.0)), "a threshold is not between 0 and 1")
    _need(np.all((arrays["wrong"] >= 0) & (arrays["wrong"] <= arrays["taken"])), "more decisions are wrong than taken")
    return Conformal(stated["source"], n, **arrays)


def _weights(tensors: dict[str, np.ndarray], rows: int, width: int) -> sp.csr_matrix:
    pointer, index, data = (tensors[f"weights_{part}"] for part in ("ptr", "index", "data"))
    _need(
        pointer.size == rows + 1 and pointer[0] == 0 and pointer[-1] == data.size,
        "the weights' rows do not fit",
    )
    _need(index.size == data.size and _rises(pointer), "the weights' rows do not fit")
    _need(index.size == 0 or (index.min() >= 0 and index.max() < width), "a weight belongs to no feature")
    within = np.ones(max(index.size - 1, 0), dtype=bool)
    starts = pointer[1:-1]
    within[starts[(starts > 0) & (starts < index.size)] - 1] = False
    _need(np.all(np.diff(index.astype(np.int64))[within] > 0), "a row's features are not sorted and distinct")
    _need(np.isfinite(data).all(), "a weight is not finite")
    return sp.csr_matrix((data, index, pointer.astype(np.int32)), shape=(rows, width))


def _calibration(tensors: dict[str, np.ndarray], weights: sp.csr_matrix, intercepts: np.ndarray) -> Calibration:
    slope, offset = (_finite(tensors[f"calibration_{name}"], len(intercepts), f"{name}s") for name in CALIBRATION)
    _need(np.all(slope > 0.0), "a slope is not positive")
    return Calibration(slope, offset, weights, intercepts)


def _coupling(header: dict[str, Any]) -> Coupling:
    stated = header.get("coupling", list(Coupling()))
    numbers = isinstance(stated, list) and len(stated) == 2 and all(isinstance(one, float) for one in stated)
    _need(numbers and min(stated) >= 0.0 and max(stated) > 0.0, "the coupling is not two numbers that are not negative")
    return Coupling(*stated)


def _row_values(values: np.ndarray, rows: int, name: str) -> np.ndarray:
    _need(values.size == rows and not np.isnan(values).any(), f"{name} do not fit the categories")
    return values


def _finite(values: np.ndarray, rows: int, name: str) -> np.ndarray:
    _need(np.isfinite(_row_values(values, rows, name)).all(), f"{name} are not finite")
    return values


def _fits(tensors: dict[str, np.ndarray], rows: int) -> FitSummary:
    entries = {f.name: tensors[f"fit_{f.name}"] for f in fields(FitSummary)}
    _need(all(v.size == rows for v in entries.values()), "the record of the fits does not fit the categories")
    entries["converged"] = entries["converged"].astype(bool)
    return FitSummary(**entries)
