"""A digest of all that decides a model: equal for the same run started again, different for any other."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.shards.matrix import is_stored
from lapwing.training.settings import TrainSettings


def fingerprint(settings: TrainSettings, *data: Any) -> str:
    """Of settings and data, whatever they are; the number of threads, on which nothing depends, is left out."""
    digest = hashlib.sha256()
    for value in (replace(settings, n_jobs=1), *data):
        for part in _parts(value):
            digest.update(len(part).to_bytes(8, "little"))
            digest.update(part)
    return digest.hexdigest()


def _parts(value: Any) -> Iterable[Any]:
    """The value as byte strings, its types among them."""
    yield type(value).__qualname__.encode()
    if is_dataclass(value):
        for field in fields(value):
            yield from _parts(getattr(value, field.name))
    elif is_stored(value):
        yield from _parts(value.checksums())
    elif sp.issparse(value):
        for array in (value.indptr, value.indices, value.data):
            yield from _parts(array)
    elif isinstance(value, np.ndarray) and value.dtype != object:
        yield repr((value.dtype.str, value.shape)).encode()
        yield np.ascontiguousarray(value).reshape(-1).view(np.uint8).data
    elif isinstance(value, Mapping):
        for key, item in sorted(value.items(), key=repr):
            yield from _parts(key)
            yield from _parts(item)
    elif isinstance(value, list | tuple | np.ndarray):
        for item in value:
            yield from _parts(item)
    else:
        yield repr(value).encode(errors="backslashreplace")
