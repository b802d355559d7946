"""Learning curves from one positive document to a hundred, with and without words named in advance.

A draw takes n positive documents of every category from the training part. Exclusive classes are fitted together,
one against the rest, on n documents of each; a category of label sets by itself, on n positive documents and twenty
times as many others. Everything, IDF weights included, is learnt from these documents only. Both arms see the same
documents, and the smaller draws are part of the larger ones. Macro F1 is over the categories with enough positive
documents for the largest draw, on the whole test part.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.corpus import Corpus
from lapwing.errors import InputError
from lapwing.evaluate.measures import Tables
from lapwing.stats.prior_table import PriorTable, from_names
from lapwing.text import TextSettings, count_terms
from lapwing.text.weighting import weigh
from lapwing.training import Progress, TrainSettings, train
from lapwing_papers.settings import each, training
from lapwing_papers.shown import INK, LINES, Reproduction, Table, both_parts, new_figure, png

NOTES_FILE = "cat-descriptions"  # Lewis's notes in Reuters-21578, Distribution 1.0: `Crude Oil (CRUDE)`
ENTRY = re.compile(r"^\s*(?P<text>\S.*?)\s*\((?P<code>[A-Z][A-Z-]*)\)\s*$", re.MULTILINE)

# The lines that went with the names in Usenet's list of newsgroups: fourteen word for word as in that of B News 2.11
# (1987); the six groups that are younger have ours.
NEWSGROUPS = {
    "alt.atheism": "Godless heathens.",
    "comp.graphics": "Computer graphics, art, animation, image processing.",
    "comp.os.ms-windows.misc": "General discussions about Windows issues.",
    "comp.sys.ibm.pc.hardware": "XT/AT/EISA hardware, any vendor.",
    "comp.sys.mac.hardware": "Macintosh hardware issues & discussions.",
    "comp.windows.x": "Discussion about the X Window System.",
    "misc.forsale": "Short, tasteful postings about items for sale.",
    "rec.autos": "Automobiles, automotive products and laws.",
    "rec.motorcycles": "Motorcycles and related products and laws.",
    "rec.sport.baseball": "Discussion about baseball.",
    "rec.sport.hockey": "Discussion about hockey.",
    "sci.crypt": "Different methods of data en/decryption.",
    "sci.electronics": "Circuits, theory, electrons and discussions.",
    "sci.med": "Medicine and its related products and regulations.",
    "sci.space": "Space, space programs, space related research, etc.",
    "soc.religion.christian": "Christianity and related topics.",
    "talk.politics.guns": "The politics of firearm ownership and (mis)use.",
    "talk.politics.mideast": "Discussion & debate over Middle Eastern events.",
    "talk.politics.misc": "Political discussions and ravings of all kinds.",
    "talk.religion.misc": "Religious, ethical, & moral implications.",
}


def descriptions(categories: Iterable[Hashable], data: str | None = None) -> dict[Hashable, str]:
    """What the collection at `data` says of its categories; those it says nothing of are left out."""
    known = {**NEWSGROUPS, **(_reuters(Path(data)) if data is not None else {})}
    return {label: known[str(label)] for label in categories if str(label) in known}


def _reuters(path: Path) -> dict[str, str]:
    """From the notes among the SGML files, in a folder or an archive of it; the subject codes end at a rule."""
    text = ""
    if path.is_dir():
        notes = sorted(path.rglob(f"{NOTES_FILE}*"))
        text = notes[0].read_text(encoding="latin-1") if notes else ""
    elif tarfile.is_tarfile(path):
        with tarfile.open(path) as archive:
            for member in archive:
                named = Path(member.name).name.startswith(NOTES_FILE)
                if named and (stream := archive.extractfile(member)) is not None:
                    text = stream.read().decode("latin-1")
                    break
    subjects = text.partition("____")[0].partition("****Subject Codes")[2]
    return {entry["code"].lower(): entry["text"] for entry in ENTRY.finditer(subjects)}


SIZES = (1, 2, 5, 10, 20, 50, 100)
NEGATIVES = 20  # per positive document, where a category is fitted by itself
HEADERS = re.compile(r"\A(?:[A-Za-z][A-Za-z-]*:.*\n(?:[ \t]+.*\n)*)+\s*\n")


@dataclass(frozen=True)
class Curves:
    """Macro F1, (sizes, draws), without and with the words; and what it was measured on."""

    corpus: str
    sizes: tuple[int, ...]
    without: np.ndarray
    named: np.ndarray
    categories: tuple[Hashable, ...]
    left_out: int
    test_documents: int
    without_headers: bool
    words: dict[Hashable, str]

    def to_dict(self) -> dict[str, Any]:
        return {
            "corpus": self.corpus,
            "categories": [str(label) for label in self.categories],
            "categories_left_out": self.left_out,
            "test_documents": self.test_documents,
            "without_headers": self.without_headers,
            "words": {str(label): text for label, text in self.words.items()},
            "positives": list(self.sizes),
            "macro_f1": {"without": self.without.tolist(), "named": self.named.tolist()},
        }


@dataclass(frozen=True, eq=False)
class _Pool:
    """Counts of both parts over one list of terms, and who is in which category."""

    terms: list[str]
    train: sp.csr_matrix
    test: sp.csr_matrix
    member: np.ndarray  # (training documents, categories)
    truth: np.ndarray  # (test documents, categories)
    categories: tuple[Hashable, ...]
    exclusive: bool
    text: TextSettings
    settings: TrainSettings
    table: PriorTable


def learning_curves(
    corpus: Corpus,
    words: Mapping[Hashable, str],
    *,
    sizes: Sequence[int] = SIZES,
    draws: int = 10,
    settings: TrainSettings | None = None,
    seed: int = 0,
    n_jobs: int | None = 1,
    progress: Progress | None = None,
) -> Curves:
    """Draw, fit and measure; `words` has a description for those categories that have one."""
    settings = settings or training()
    pool, left_out, bare = _pool(corpus, words, max(sizes), settings)
    seeds = np.random.SeedSequence(seed).spawn(draws)
    tasks = [(n, seeds[draw]) for n in sizes for draw in range(draws)]
    scores = each("fitting draws", lambda task: _draw(pool, *task), tasks, n_jobs, progress)
    both = np.array(scores).reshape(len(sizes), draws, 2)
    return Curves(
        corpus.name, tuple(sizes), both[:, :, 0], both[:, :, 1], pool.categories, left_out, len(pool.truth), bare,
        {row.category: row.feature for row in from_names(pool.categories, words).rows},
    )  # fmt: skip


def _pool(corpus: Corpus, words: Mapping[Hashable, str], most: int, settings: TrainSettings) -> tuple[_Pool, int, bool]:
    parts = both_parts(corpus)
    if corpus.kind == "vectors":
        raise InputError(f"{corpus.name}: words can only be named for documents of words, and these are vectors")
    labels = sorted({label for part in parts for row in part.labels for label in row})
    member, truth = (np.array([[label in row for label in labels] for row in map(set, p.labels)]) for p in parts)
    enough = (member.sum(axis=0) >= most) & truth.any(axis=0)
    if not enough.any():
        raise InputError(f"{corpus.name}: no category has {most} positive training documents; ask for fewer")
    if corpus.exclusive and not enough.all():
        raise InputError(f"{corpus.name}: {labels[int(np.argmin(enough))]!r} has fewer than {most} training documents")
    categories = tuple(label for label, kept in zip(labels, enough, strict=True) if kept)
    documents = [list(part.documents) for part in parts]
    # Headers of messages name the group they were sent to.
    bare = sum(HEADERS.match(document) is not None for document in documents[0]) > len(documents[0]) / 2
    if bare:
        documents = [[HEADERS.sub("", document, count=1) for document in part] for part in documents]
    counts = count_terms([*documents[0], *documents[1]], settings.text)
    n = len(documents[0])
    return _Pool(
        counts.terms, counts.matrix[:n], counts.matrix[n:], member[:, enough], truth[:, enough], categories,
        corpus.exclusive, settings.text, settings, from_names(categories, words).in_terms(settings.text),
    ), int(np.sum(~enough)), bare  # fmt: skip


def _draw(pool: _Pool, n: int, seed: np.random.SeedSequence) -> tuple[float, float]:
    """Macro F1 of one draw without and with the words."""
    orders = [np.random.default_rng(s) for s in seed.spawn(len(pool.categories))]
    if pool.exclusive:
        order = [rng.permutation(np.flatnonzero(pool.member[:, k])) for k, rng in enumerate(orders)]
        rows = np.sort(np.concatenate([some[:n] for some in order]))
        chosen = [_fit(pool, rows, pool.categories, words) for words in (False, True)]
        return tuple(_macro(pool.truth, one) for one in chosen)  # type: ignore[return-value]
    columns: list[tuple[np.ndarray, np.ndarray]] = []
    for k, rng in enumerate(orders):
        inside, outside = (rng.permutation(np.flatnonzero(pool.member[:, k] == side)) for side in (True, False))
        rows = np.sort(np.concatenate([inside[:n], outside[: NEGATIVES * n]]))
        of = (pool.categories[k],)
        columns.append((_fit(pool, rows, of, False)[:, 0], _fit(pool, rows, of, True)[:, 0]))
    return tuple(_macro(pool.truth, np.column_stack(arm)) for arm in zip(*columns, strict=True))  # type: ignore[return-value]


def _macro(truth: np.ndarray, chosen: np.ndarray) -> float:
    return float(Tables.of(truth, chosen).f1(undefined=0.0).mean())


def _fit(pool: _Pool, rows: np.ndarray, categories: Sequence[Hashable], words: bool) -> np.ndarray:
    """(test documents, categories) decisions of models trained on these rows."""
    counts = pool.train[rows]
    frequency = np.bincount(counts.indices, minlength=len(pool.terms))
    insisting = set(pool.table.insisting) if words else set()
    columns = np.array([j for j, t in enumerate(pool.terms) if frequency[j] or t in insisting], dtype=np.int64)
    column_of = np.full(len(pool.terms), -1, dtype=np.int32)
    column_of[columns] = np.arange(len(columns))
    X, T = (weigh(part, frequency, len(rows), pool.text, column_of, len(columns)) for part in (counts, pool.test))
    at = [pool.categories.index(label) for label in categories]
    labels = [tuple(pool.categories[k] for k in at if pool.member[i, k]) for i in rows.tolist()]
    sample = Corpus(
        name="draw", kind="vectors", documents=X, labels=labels, ids=[str(i) for i in rows.tolist()],  # type: ignore[arg-type]
        exclusive=pool.exclusive, split=[], weights=np.ones(len(rows)), feature_names=[pool.terms[j] for j in columns],
    )  # fmt: skip
    settings = replace(pool.settings, prior=pool.table.over(pool.settings.prior)) if words else pool.settings
    model = train(sample, settings, classes=list(categories))
    T.resize(T.shape[0], len(model.feature_names))  # words that no document of the collection has
    return model.decide(model.scores(T))


NOTES = (
    "Both arms see the same documents, and the smaller draws are part of the larger ones; everything, IDF weights "
    "included, is learnt from these documents only. Mean ± standard deviation over draws; gains are of equal draws.",
)


def reproduction(every: Sequence[Curves]) -> Reproduction:
    return Reproduction(
        experiment="fewlabel",
        title="Few labels, and words named in advance",
        about=f"Macro F1 × 100 on the test parts of {', '.join(curves.corpus for curves in every)}.",
        tables=tuple(map(table_of, every)),
        notes=NOTES,
        pictures={
            "few-labels": ("Macro F1 by number of positive documents: mean and standard deviation.", _png(every))
        },
        record={"corpora": [curves.to_dict() for curves in every]},
    )


def table_of(curves: Curves) -> Table:
    rows = []
    for n, without, named in zip(curves.sizes, curves.without, curves.named, strict=True):
        gain = named - without
        cells = [f"{100 * arm.mean():.1f} ± {_spread(arm):.1f}" for arm in (without, named)]
        better = f"{int((gain > 0).sum())} of {len(gain)}"
        rows.append((str(n), *cells, f"{100 * gain.mean():+.1f} ± {_spread(gain):.1f}", better))
    return Table(
        f"{curves.corpus}: macro F1 over {len(curves.categories)} categories",
        "",
        ("positives", "without", "with words", "gain", "better in"),
        tuple(rows),
        words=0,
    )


def _spread(values: np.ndarray) -> float:
    return float(100 * values.std(ddof=1)) if len(values) > 1 else 0.0


def _png(every: Sequence[Curves]) -> bytes:
    """One panel per corpus."""
    figure, _ = new_figure(4.6 * len(every), 3.6)
    figure.clear()
    axes = figure.subplots(1, len(every), squeeze=False)[0]
    for axis, curves in zip(axes, every, strict=True):
        for arm, label, colour in (
            (curves.named, "words named in advance", LINES[0]),
            (curves.without, "labels only", LINES[1]),
        ):
            mean = 100 * arm.mean(axis=1)
            spread = [_spread(row) for row in arm]
            axis.fill_between(curves.sizes, mean - spread, mean + spread, color=colour, alpha=0.18, linewidth=0)
            axis.plot(curves.sizes, mean, "o-", color=colour, label=label, markersize=4)
        axis.set_xscale("log")
        axis.set_xticks(curves.sizes, [str(n) for n in curves.sizes])
        axis.minorticks_off()
        axis.set_ylim(bottom=0)
        axis.set_title(f"{curves.corpus}, {len(curves.categories)} categories", color=INK, fontsize=10)
        axis.set_xlabel("positive documents per category")
        axis.set_ylabel("macro F1 × 100")
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(frameon=False, loc="lower right", fontsize=9)
    return png(figure)
