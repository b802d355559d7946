"""Hashes of models and their answers, to show that a change of the code changes no bit: six corpora × eight settings.

    python scripts/golden.py before.json       write the hashes
    ... change the code ...
    python scripts/golden.py after.json before.json             and name every cell that differs
    python scripts/golden.py after.json before.json reviews     the same for one corpus

Bits differ between processors and versions of NumPy, so hashes are compared on one machine and never committed. Where a
cell differs, objectives and gaps tell by how much. Corpora that are not in the folder LAPWING_CORPORA are left out.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import lapwing
from lapwing.corpus import Corpus
from lapwing.errors import LapwingError
from lapwing.formats import model_file
from lapwing.text import TextSettings
from lapwing.training import NgramSettings, TrainSettings

os.environ.setdefault("SOURCE_DATE_EPOCH", "1700000000")  # a model file carries the day of its training
MAX_DOCUMENTS = 3000
NGRAM_DOCUMENTS = 600
CORPORA = {
    "reuters": "reuters21578.tar.xz",
    "newsgroups": "20news-bydate.tar.xz",
    "reviews": "movie_reviews.zip",
    "sogou": "sogou-3000.tar.xz",
    "subjects": "yso-finna-en.jsonl.xz",
}
SETTINGS = {
    "default": TrainSettings(),
    "glm07": TrainSettings(
        TextSettings(stop_words="smart"), prior="laplace", variance="norm", calibrate=False, threshold_data="train"
    ),
    "gaussian": TrainSettings(prior="gaussian"),
    "probit": TrainSettings(link="probit"),
    "pairs": TrainSettings(TextSettings(word_ngrams=(1, 2), stemmer="none"), variance="cv"),
    "softmax": TrainSettings(multi_class="multinomial", variance="norm"),
    "ngrams": TrainSettings(
        TextSettings(stop_words="none", stemmer="none", tf="binary", idf=False, cosine=False),
        prior="laplace", variance="norm", ngrams=NgramSettings(max_length=3, min_support=3),
    ),
    "selected-ridge": TrainSettings(prior="gaussian", method="selected-ridge", variance=10.0),
}  # fmt: skip


def corpora() -> Iterator[tuple[str, Corpus]]:
    yield "docstrings", lapwing.corpus.stdlib_docstrings()
    folder = Path(os.environ.get("LAPWING_CORPORA", ""))
    for name, file in CORPORA.items():
        if (folder / file).is_file():
            yield name, lapwing.corpus.read(folder / file, encoding="gb18030" if name == "sogou" else None)
        else:
            print(f"{name}: left out, there is no {file}")


def thinned(corpus: Corpus, count: int) -> Corpus:
    """Every n-th document, so that about `count` are left."""
    return corpus.select(range(0, len(corpus), max(1, len(corpus) // count)))


def hashed(corpus: Corpus, settings: TrainSettings, folder: str) -> dict[str, Any]:
    trained = lapwing.training.learn(corpus, settings)
    path = Path(folder) / "golden.lapwing"
    model_file.save(trained.model, path)
    answers = lapwing.load(path).predict_proba(list(corpus.documents[:500]))
    return {
        "model": hashlib.sha256(path.read_bytes()).hexdigest(),
        "answers": hashlib.sha256(np.ascontiguousarray(answers).tobytes()).hexdigest(),
        "objective": float(sum(fit.objective for fit in trained.fits)),
        "gap": float(np.nansum([fit.gap for fit in trained.fits])),
    }


def main(after: str, before: str | None = None, only: str = "") -> int:
    cells: dict[str, Any] = {}
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        for corpus_name, corpus in corpora():
            if only not in corpus_name:
                continue
            for name, settings in SETTINGS.items():
                part = thinned(corpus, NGRAM_DOCUMENTS if name == "ngrams" else MAX_DOCUMENTS)
                try:
                    cells[f"{corpus_name} {name}"] = hashed(part, settings, folder)
                except LapwingError as error:
                    cells[f"{corpus_name} {name}"] = {"refused": str(error)}
                print(f"{corpus_name} {name}: {cells[f'{corpus_name} {name}']}", flush=True)
    Path(after).write_text(json.dumps(cells, indent=1), encoding="utf-8")
    old = json.loads(Path(before).read_text(encoding="utf-8")) if before else cells
    different = [cell for cell in cells if cells[cell] != old.get(cell)]
    for cell in different:
        print(f"differs: {cell}\n  before {old.get(cell)}\n  now    {cells[cell]}")
    print(f"{len(cells) - len(different)} of {len(cells)} cells equal")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
