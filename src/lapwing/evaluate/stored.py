"""An evaluation kept beside the model file it belongs to: MODEL.evaluation.json."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from dataclasses import replace
from pathlib import Path

from lapwing.errors import InputError
from lapwing.evaluate.assessment import SCHEMA, Assessment
from lapwing.files import read_regular, write_beside
from lapwing.model.linear import LinearModel

log = logging.getLogger("lapwing")


def evaluation_path(model: str | os.PathLike[str]) -> Path:
    return Path(f"{os.fspath(model)}.evaluation.json")


def store_assessment(model: str | os.PathLike[str], assessment: Assessment) -> Path:
    """Write it beside the model file, with that file's hash in it."""
    path = evaluation_path(model)
    content = json.dumps(replace(assessment, model=_hash(model)).to_dict(), allow_nan=False, separators=(",", ":"))
    write_beside(path, content.encode())
    return path


def stored_assessment(path: str | os.PathLike[str], model: LinearModel) -> Assessment | None:
    """What is stored for a model file; None, with a word in the log, for what is not of this model."""
    stored = evaluation_path(path)
    if not stored.exists():
        return None
    try:
        record = json.loads(read_regular(stored))
        if isinstance(record, dict) and record.get("schema") in range(1, SCHEMA):
            log.warning("%s is of an earlier lapwing and is left out; `lapwing evaluate --store` renews it", stored)
            return None
        assessment = Assessment.from_dict(record)
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{stored}: {error}; store it again with `lapwing evaluate --store`") from error
    names = [row.get("category") for row in assessment.evaluation.get("categories", [])]
    if (
        assessment.model != _hash(path)
        or len(assessment.categories) not in (len(model.categories), len(model.classes))
        or names != list(model.classes)
    ):
        log.warning("%s belongs to another model file and is left out; `lapwing evaluate --store` renews it", stored)
        return None
    return assessment


def _hash(path: str | os.PathLike[str]) -> str:
    return hashlib.sha256(read_regular(path)).hexdigest()
