"""lapwing reproduce: a command for every paper."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from lapwing.cli._common import ExistingPath
from lapwing.errors import InputError
from lapwing.files import read_regular
from lapwing_papers.experiment import CorpusPath, command, experiment

if TYPE_CHECKING:
    from lapwing.cli._progress import Progress
    from lapwing_papers.shown import Reproduction

__all__ = ["command"]


@experiment(
    click.option("--categories", type=ExistingPath("a list of categories", folder=False),
                 help="A file with the categories to use, one per line."),
    click.option("--test-ids", type=ExistingPath("a list of documents", folder=False),
                 help="A file with the ids of the test documents to use, one per line."),
    quick="Every tenth category only, to try it out.",
    collections={"rcv1": ("RCV1-v2, a folder of token files and rcv1-v2.topics.qrels", "rcv1"),
                 "ohsumed": ("OHSUMED, a folder of SMART records ohsumed.87 to .91", "smart")},
)  # fmt: skip
def glm07(
    source: CorpusPath, *, categories: str | None, test_ids: str | None, progress: Progress, **options: Any
) -> Reproduction:
    """Lasso, ridge and a linear SVM over every category, as in Genkin, Lewis and Madigan (2007).

    On Reuters-21578 (ModApte), RCV1-v2 token files and OHSUMED's SMART records the paper's figures stand
    beside ours, of several collections each in a folder of its own; any other corpus with a training and a test part
    gets the same tables and pictures. Of Reuters-21578 titles and bodies are read, without what stands between < and
    >, as the paper's tools seem to have done. Writes results.json, index.html and the figures.
    """
    from lapwing_papers.glm07 import reproduce
    from lapwing_papers.glm07.paper import paper_for

    # The records that the paper used, and their text.
    corpus = source.read(progress, {"smart": {"smart_require": "TWM"}, "reuters": {"reuters_text": "glm07"}})
    paper = paper_for(corpus.source.get("format", ""), source.reading["reuters_split"])
    return reproduce(
        corpus, paper, categories=_lines(categories), test_ids=_lines(test_ids), progress=progress, **options
    )


@experiment(
    click.option("--words", type=ExistingPath("words for categories", folder=False),
                 help="Descriptions in place of the collection's own: a category, a tab, words."),
    click.option("--draws", type=click.IntRange(min=1), default=10, show_default=True,
                 help="Repetitions of every size."),
    click.option("--most", type=click.IntRange(min=1), default=100, show_default=True, help="The largest size."),
    click.option("--prior", type=click.Choice(["laplace", "gaussian"]), default="laplace", show_default=True),
    data="A corpus with a training and a test part; may be given several times.",
    several=True,
)  # fmt: skip
def fewlabel(
    sources: list[CorpusPath], *, words: str | None, most: int, prior: str, progress: Progress, **options: Any
) -> Reproduction:
    """Learning curves from 1 to 100 positive documents, with and without words named in advance.

    The words are the categories' names, and what the collection says of them: Reuters-21578's own notes, and
    Usenet's lines for the 20 Newsgroups. Writes results.json and few-labels.png.
    """
    from lapwing.stats.prior_files import read_words
    from lapwing_papers.fewlabel import SIZES, descriptions, learning_curves, reproduction
    from lapwing_papers.settings import training

    every = []
    for source in sources:
        corpus = source.read(progress)
        named: dict[Any, str] = descriptions(corpus.categories(), source.path)
        if words is not None:
            named = {row.category: row.feature for row in read_words(words).rows}
        sizes = [n for n in SIZES if n <= most]
        every.append(
            learning_curves(corpus, named, sizes=sizes, settings=training(prior=prior), progress=progress, **options)
        )
    return reproduction(every)


@experiment(
    quick="A few of the categories only, to try it out.",
    collections={"ohsumed": ("OHSUMED in folders training/C01 … and test/C01 …", "folder")},
)
def aagbd11(source: CorpusPath, *, progress: Progress, **options: Any) -> Reproduction:
    """Lasso, ridge and Selected Ridge, as in Aseervatham et al. (2011).

    On Reuters-21578, 20 Newsgroups and OHSUMED in a folder per category the paper's Tables 2, 3 and 4 stand
    beside ours; its Table 6, F1 and sparsity by α, is made on any corpus. Writes results.json, index.html and the
    figure.
    """
    from lapwing_papers.aagbd11 import paper_for, reproduce

    corpus = source.read(progress)
    return reproduce(corpus, paper_for(corpus), progress=progress, **options)


@experiment(
    click.option("--tokens", type=click.Choice(["word", "char"]), multiple=True,
                 help="Only n-grams of words, or of characters; both by default."),
    click.option("--explicit", type=click.IntRange(min=0), default=5, show_default=True,
                 help="Longest n-grams in the explicit matrices, which take memory."),
    data="Texts of two or more exclusive classes.",
    quick="Lengths 1, 2 and any, one split, to try it out.",
    jobs=(-1, "Threads over classes; -1 for every core. Only times depend on it."),
)  # fmt: skip
def ibw08(
    source: CorpusPath, *, quick: bool, tokens: tuple[str, ...], explicit: int, progress: Progress, **options: Any
) -> Reproduction:
    """n-grams of any length by search, as in Ifrim, Bakır and Weikum (2008), against all of them written out.

    Greedy and exact, words and characters, n-grams of up to 1 to 5 tokens and of any length, on the test part of
    DATA or by 5-fold cross-validation; beside them liblinear's L1 logistic regression and linear SVM on the matrix
    of all n-grams. Writes results.json, index.html and the figures.
    """
    from lapwing_papers.ibw08 import Plan, reproduce

    plan = Plan.quick() if quick else Plan()
    plan = replace(plan, tokens=tokens or plan.tokens, explicit=min(explicit, plan.explicit))
    return reproduce(source.read(progress), plan, progress=progress, **options)


@experiment(quick="Three categories only, to try it out.", seed=False)
def egjlm03(source: CorpusPath, *, progress: Progress, **options: Any) -> Reproduction:
    """Sparse probit by EM and Jeffreys' prior, as in Eyheramendy, Genkin, Ju, Lewis and Madigan (2003).

    On Reuters-21578 (ModApte) Tables 1 to 6 and Figure 2, on RCV1-v2 token files Tables 7 and 8 stand beside ours;
    any other corpus with a training and a test part gets the tables for its ten largest categories. Every probit
    run under a Laplace prior is made twice: to the optimum, and as the authors seem to have run it. Writes
    results.json, index.html and the figure.
    """
    from lapwing_papers.egjlm03 import reproduce

    return reproduce(source.read(progress), progress=progress, **options)


@experiment(
    click.option("--draws", type=click.IntRange(min=1), help="Data sets per cell  [default: 10]"),
    click.option("--diagnose", is_flag=True, help="Also tell whether a lasso could have found the truth."),
    data="",
    quick="Two draws of the smaller sizes, to try it out.",
    jobs=(1, "Threads; use 1 to compare run times. Nothing else depends on it."),
)
def lpr17(**options: Any) -> Reproduction:
    """CLG, CLG-lasso and maximum likelihood on simulated data, as in Lai, Peterson and Rummerfield (2017).

    With a linear SVM and the signs recovered, which the paper left for later. Needs no data. Writes
    results.json, index.html and the figures.
    """
    from lapwing_papers.lpr17 import reproduce

    return reproduce(**options)


def _lines(path: str | None) -> list[str] | None:
    if path is None:
        return None
    try:
        lines = [line.strip() for line in read_regular(path).decode().splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"expected a list in UTF-8, one entry per line; {path}: {error}") from error
    if not any(lines):
        raise InputError(f"expected a list, one entry per line, and {path} is empty")
    return [line for line in lines if line]
