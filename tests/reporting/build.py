"""Models with random weights over real words, and texts of every kind to try on them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import scipy.sparse as sp
from cli.build import SCRIPTS
from model.build import summary

from lapwing.evaluate import conformalize
from lapwing.model import LinearModel
from lapwing.model.linear import row_count
from lapwing.ngrams.space import ngram_space
from lapwing.text import TextSettings, design
from lapwing.text.matching import NgramWeighting
from lapwing.training.ngram_search import weighting as ngram_weighting

ATTACKS = [
    "<script>window.attacked = 1</script>",
    '<img src=x onerror="window.attacked = 1"> oil',
    "</script><script>window.attacked = 1</script> & &lt;b&gt; wheat",
    "<!-- <script> --> {{data}} {{script}} ]]> oil",
    "\u202eevil\u202c oil \u2066isolated\u2069 \u200f\u200e wheat",
    "nul \x00 oil\x00wheat \x01\x7f\x9f bank",
    "javascript:alert(1) \u2028 \u2029 oil",
    "x" * 50_000 + " oil",
]
LONG = " ".join(SCRIPTS) + " "
EXTREME = ["", " ", "\n\n\t", (LONG * (100_000 // len(LONG) + 1))[:100_000], "oil " * 25_000]
MARKUP = [
    "<p>oil &amp; gas &notit; &#111;il &#x77;heat&#x3b &#0; &#128; &#xd800; &#1;x a&#11;b</p>",
    "<script>oil</script>wheat<style>gas</style> bank <!-- oil --> rate <!-- open oil",
    "<SCRIPT type='x'>oil</SCRIPT > gas <a title='<b>'>bank</a> <a href=\"x>y\">rate</a> 1 < 2 > 0 <oil",
    "&nosuch; &oil; &copy2; &CounterClockwiseContourIntegral; &am &amp &ampoil <br/>gas<br />bank</",
]


def texts(count: int, seed: int = 3) -> list[str]:
    """Random letters of every kind among words that the models know."""
    draw = random.Random(seed)
    words = " ".join(SCRIPTS).split()
    rows = []
    for _ in range(count):
        parts = []
        for _ in range(draw.randint(1, 12)):
            if draw.random() < 0.7:
                parts.append(draw.choice(words))
            else:
                parts.append("".join(chr(_code(draw)) for _ in range(draw.randint(1, 6))))
        rows.append(draw.choice(["", " ", "\u200b", "-"]).join(parts) if draw.random() < 0.3 else " ".join(parts))
    return rows


def _code(draw: random.Random) -> int:
    code = draw.choice([draw.randrange(0x250), draw.randrange(0x3000), draw.randrange(0x110000)])
    return 0x20 if 0xD800 <= code < 0xE000 else code


def model(
    settings: TextSettings | None = None,
    *,
    classes: tuple[Any, ...] = ("energy", "grain", "money"),
    exclusive: bool = False,
    seed: int = 5,
    **changes: Any,
) -> LinearModel:
    settings, documents = settings or TextSettings(stop_words="smart"), [*SCRIPTS[2:], *texts(60, seed=11)]
    features = _ngrams(documents, settings) if settings.ngrams else design(documents, settings).weighting
    assert features is not None
    rng = np.random.default_rng(seed)
    rows = row_count(changes.get("link", "logit"), len(classes), exclusive)
    dense = rng.normal(0, 8, (rows, len(features.columns))) * (rng.random((rows, len(features.columns))) < 0.4)
    values: dict[str, Any] = {
        "link": "logit",
        "classes": classes,
        "exclusive": exclusive,
        "weights": sp.csr_matrix(dense),
        "intercepts": rng.normal(-1, 1, rows),
        "thresholds": rng.normal(0, 0.5, rows),
        "feature_names": features.feature_names,
        "weighting": features,
        "fits": summary(rows),
        "provenance": {"corpus": "by hand", "documents": features.n_documents},
    }
    return LinearModel(**(values | changes))


def promising(result: LinearModel, seed: int = 7) -> LinearModel:
    """The same, with promises from labels drawn at random, more often where they are probable."""
    documents = texts(400, seed=seed)
    proba = result.predict_proba(documents)
    rng = np.random.default_rng(seed)
    if result.exclusive:
        labels = [
            (result.classes[rng.choice(len(row), p=row / row.sum())],) for row in 0.8 * proba + 0.2 / len(proba[0])
        ]
    else:
        labels = [tuple(np.array(result.classes, dtype=object)[rng.random(len(row)) < row]) for row in proba]
    return conformalize(result, documents, labels)


def _ngrams(documents: list[str], settings: TextSettings) -> NgramWeighting:
    """Up to seven tokens long, one within another, and beginnings of each other."""
    space = ngram_space(documents, settings, max_length=7)
    drawn = np.random.default_rng(6).permutation(len(space.node))[:3000]
    return ngram_weighting(space, drawn[np.argsort(np.array(space.names(drawn), dtype=object))])
