"""lapwing reproduce"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from lapwing.cli._common import ExistingPath, read_documents, reading_options
from lapwing.cli._output import echo, json_option, print_json, show, table
from lapwing.cli._progress import announce_compiling, progress_bar
from lapwing.errors import InputError
from lapwing.files import read_regular

if TYPE_CHECKING:
    from lapwing.cli._progress import Progress
    from lapwing_papers.shown import Reproduction

REUTERS = "reuters21578.*"


@click.group("reproduce", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """Run the experiments of a paper again, and put its figures beside ours."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def _jobs(context: click.Context, parameter: click.Parameter, value: int) -> int:
    if value == 0:
        raise click.BadParameter("0 threads do no work; give a number, or -1 for every core", context, parameter)
    return value


_data = click.option("--data", required=True, type=ExistingPath("a corpus (a file, folder or archive)"),
                     help="The corpus, or a folder with the Reuters archive in it.")  # fmt: skip
_seed = click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Random seed.")
_threads = click.option("--jobs", type=int, callback=_jobs, default=-1,
                        help="Threads; -1 for every core. Results do not depend on it.")  # fmt: skip


def _output(name: str) -> Callable[[Any], Any]:
    return click.option("-o", "--output", default=name, show_default=True, help="The folder to write to.")


def _collection(name: str, what: str) -> Callable[[Any], Any]:
    """An option for a collection of the paper that has a format of its own."""
    return click.option(
        f"--{name}", type=ExistingPath(what), help=f"{what[0].upper()}{what[1:]}; into a folder of its own."
    )


_optional_data = click.option("--data", type=ExistingPath("a corpus (a file, folder or archive)"),
                              help="The corpus, or a folder with the Reuters archive in it.")  # fmt: skip


def _run_each(
    output: str, as_json: bool, reading: dict[str, Any], given: dict[str, tuple[str | None, str]],
    experiment: Callable[[str, dict[str, Any], Progress], Reproduction],
) -> None:  # fmt: skip
    """The experiment for every collection that was given, by name: (path, format); of several each in a folder."""
    paths = {name: (path, form) for name, (path, form) in given.items() if path is not None}
    if not paths:
        raise InputError(f"expected a collection; give {' or '.join(f'--{name}' for name in given)}")
    folder = _checked_folder(output)
    if len(paths) > 1:
        folder.mkdir(exist_ok=True)
    for name, (path, form) in paths.items():
        own = {**reading, "format": form} if form and reading["format"] == "auto" else dict(reading)
        _run(str(folder / name if len(paths) > 1 else folder), as_json, partial(experiment, str(path), own))


def _run(output: str, as_json: bool, experiment: Callable[[Progress], Reproduction]) -> None:
    """Check what can be checked before the work, do it, write the files, show the tables."""
    folder = _checked_folder(output)
    from lapwing_papers.shown import check_matplotlib

    check_matplotlib()
    with progress_bar(quiet=as_json) as progress:
        announce_compiling()
        results = experiment(progress)
        results.write(folder)
    if as_json:
        print_json(results.to_dict())
        return
    for one in results.tables:
        grid = table(*one.head, left=range(one.words))
        for row in one.rows:
            grid.add_row(*row)
        show(one.title, *([one.note] if one.note else []), "", grid, "")
    for paragraph in results.notes:
        show(paragraph, "")
    echo(f"wrote {folder / 'index.html'}, results.json and {len(results.pictures)} figures in {quote(str(folder))}")


@command.command("glm07")
@_optional_data
@_collection("rcv1", "RCV1-v2, a folder of token files and rcv1-v2.topics.qrels")
@_collection("ohsumed", "OHSUMED, a folder of SMART records ohsumed.87 to .91")
@_output("glm07")
@click.option("--quick", is_flag=True, help="Every tenth category only, to try it out.")
@click.option("--categories", type=ExistingPath("a list of categories", folder=False),
              help="A file with the categories to use, one per line.")  # fmt: skip
@click.option("--test-ids", type=ExistingPath("a list of documents", folder=False),
              help="A file with the ids of the test documents to use, one per line.")  # fmt: skip
@_seed
@_threads
@reading_options
@json_option
def glm07(
    data: str | None,
    rcv1: str | None,
    ohsumed: str | None,
    output: str,
    reading: dict[str, Any],
    quick: bool,
    categories: str | None,
    test_ids: str | None,
    seed: int,
    jobs: int,
    as_json: bool,
) -> None:
    """Lasso, ridge and a linear SVM over every category, as in Genkin, Lewis and Madigan (2007).

    On Reuters-21578 (ModApte), RCV1-v2 token files and OHSUMED's SMART records the paper's figures stand
    beside ours, of several collections each in a folder of its own; any other corpus with a training and a test part
    gets the same tables and pictures. Of Reuters-21578 titles and bodies are read, without what stands between < and
    >, as the paper's tools seem to have done. Writes results.json, index.html and the figures.
    """
    reading["smart_require"] = reading["smart_require"] or "TWM"  # the records that the paper used
    reading["reuters_text"] = "glm07"  # and their text
    from lapwing_papers.glm07 import reproduce
    from lapwing_papers.glm07.paper import paper_for

    def experiment(path: str, reading: dict[str, Any], progress: Progress) -> Reproduction:
        corpus = read_documents(_archive_in(path), reading, progress)
        return reproduce(
            corpus, paper_for(corpus.source.get("format", ""), reading["reuters_split"]),
            categories=_lines(categories), test_ids=_lines(test_ids), quick=quick, seed=seed, n_jobs=jobs,
            progress=progress,
        )  # fmt: skip

    given = {"data": (data, ""), "rcv1": (rcv1, "rcv1"), "ohsumed": (ohsumed, "smart")}
    _run_each(output, as_json, reading, given, experiment)


@command.command("fewlabel")
@click.option("--data", required=True, multiple=True, type=ExistingPath("a corpus (a file, folder or archive)"),
              help="A corpus with a training and a test part; may be given several times.")  # fmt: skip
@_output("fewlabel")
@click.option("--words", type=ExistingPath("words for categories", folder=False),
              help="Descriptions in place of the collection's own: a category, a tab, words.")  # fmt: skip
@click.option("--draws", type=click.IntRange(min=1), default=10, show_default=True, help="Repetitions of every size.")
@click.option("--most", type=click.IntRange(min=1), default=100, show_default=True, help="The largest size.")
@click.option("--prior", type=click.Choice(["laplace", "gaussian"]), default="laplace", show_default=True)
@_seed
@_threads
@reading_options
@json_option
def fewlabel(
    data: tuple[str, ...],
    output: str,
    reading: dict[str, Any],
    words: str | None,
    draws: int,
    most: int,
    prior: str,
    seed: int,
    jobs: int,
    as_json: bool,
) -> None:
    """Learning curves from 1 to 100 positive documents, with and without words named in advance.

    The words are the categories' names, and what the collection says of them: Reuters-21578's own notes, and
    Usenet's lines for the 20 Newsgroups. Writes results.json and few-labels.png.
    """
    from lapwing.stats.prior_files import read_words
    from lapwing_papers.fewlabel import SIZES, descriptions, learning_curves, reproduction
    from lapwing_papers.settings import training

    def curves(path: str, progress: Progress) -> Any:
        corpus = read_documents(path, reading, progress)
        named: dict[Any, str] = descriptions(corpus.categories(), path)
        if words is not None:
            named = {row.category: row.feature for row in read_words(words).rows}
        return learning_curves(
            corpus, named, sizes=[n for n in SIZES if n <= most], draws=draws, settings=training(prior=prior),
            seed=seed, n_jobs=jobs, progress=progress,
        )  # fmt: skip

    _run(output, as_json, lambda progress: reproduction([curves(_archive_in(path), progress) for path in data]))


@command.command("aagbd11")
@_optional_data
@_collection("ohsumed", "OHSUMED in folders training/C01 … and test/C01 …")
@_output("aagbd11")
@click.option("--quick", is_flag=True, help="A few of the categories only, to try it out.")
@_seed
@_threads
@reading_options
@json_option
def aagbd11(
    data: str | None, ohsumed: str | None, output: str, reading: dict[str, Any], quick: bool, seed: int, jobs: int,
    as_json: bool,
) -> None:  # fmt: skip
    """Lasso, ridge and Selected Ridge, as in Aseervatham et al. (2011).

    On Reuters-21578, 20 Newsgroups and OHSUMED in a folder per category the paper's Tables 2, 3 and 4 stand
    beside ours; its Table 6, F1 and sparsity by α, is made on any corpus. Writes results.json, index.html and the
    figure.
    """
    from lapwing_papers.aagbd11 import reproduce
    from lapwing_papers.aagbd11.paper import paper_for

    def experiment(path: str, reading: dict[str, Any], progress: Progress) -> Reproduction:
        corpus = read_documents(_archive_in(path), reading, progress)
        return reproduce(corpus, paper_for(corpus), quick=quick, seed=seed, n_jobs=jobs, progress=progress)

    _run_each(output, as_json, reading, {"data": (data, ""), "ohsumed": (ohsumed, "folder")}, experiment)


@command.command("ibw08")
@click.option("--data", required=True, type=ExistingPath("a corpus (a file, folder or archive)"),
              help="Texts of two or more exclusive classes.")  # fmt: skip
@_output("ibw08")
@click.option("--quick", is_flag=True, help="Lengths 1, 2 and any, one split, to try it out.")
@click.option("--tokens", type=click.Choice(["word", "char"]), multiple=True,
              help="Only n-grams of words, or of characters; both by default.")  # fmt: skip
@click.option("--explicit", type=click.IntRange(min=0), default=5, show_default=True,
              help="Longest n-grams in the explicit matrices, which take memory.")  # fmt: skip
@_seed
@click.option("--jobs", type=int, callback=_jobs, default=-1,
              help="Threads over classes; -1 for every core. Only times depend on it.")  # fmt: skip
@reading_options
@json_option
def ibw08(
    data: str,
    output: str,
    reading: dict[str, Any],
    quick: bool,
    tokens: tuple[str, ...],
    explicit: int,
    seed: int,
    jobs: int,
    as_json: bool,
) -> None:
    """n-grams of any length by search, as in Ifrim, Bakır and Weikum (2008), against all of them written out.

    Greedy and exact, words and characters, n-grams of up to 1 to 5 tokens and of any length, on the test part of
    DATA or by 5-fold cross-validation; beside them liblinear's L1 logistic regression and linear SVM on the matrix
    of all n-grams. Writes results.json, index.html and the figures.
    """
    from dataclasses import replace

    from lapwing_papers.ibw08 import Plan, reproduce

    plan = Plan.quick() if quick else Plan()
    plan = replace(plan, tokens=tokens or plan.tokens, explicit=min(explicit, plan.explicit))
    _run(output, as_json, lambda progress: reproduce(
        read_documents(data, reading, progress), plan, seed=seed, n_jobs=jobs, progress=progress
    ))  # fmt: skip


@command.command("egjlm03")
@_data
@_output("egjlm03")
@click.option("--quick", is_flag=True, help="Three categories only, to try it out.")
@_threads
@reading_options
@json_option
def egjlm03(data: str, output: str, reading: dict[str, Any], quick: bool, jobs: int, as_json: bool) -> None:
    """Sparse probit by EM and Jeffreys' prior, as in Eyheramendy, Genkin, Ju, Lewis and Madigan (2003).

    On Reuters-21578 (ModApte) Tables 1 to 6 and Figure 2, on RCV1-v2 token files Tables 7 and 8 stand beside ours;
    any other corpus with a training and a test part gets the tables for its ten largest categories. Every probit
    run under a Laplace prior is made twice: to the optimum, and as the authors seem to have run it. Writes
    results.json, index.html and the figure.
    """
    from lapwing_papers.egjlm03 import reproduce

    _run(output, as_json, lambda progress: reproduce(
        read_documents(_archive_in(data), reading, progress), quick=quick, n_jobs=jobs, progress=progress
    ))  # fmt: skip


@command.command("lpr17")
@_output("lpr17")
@click.option("--draws", type=click.IntRange(min=1), help="Data sets per cell  [default: 10]")
@click.option("--quick", is_flag=True, help="Two draws of the smaller sizes, to try it out.")
@click.option("--diagnose", is_flag=True, help="Also tell whether a lasso could have found the truth.")
@_seed
@click.option("--jobs", type=int, callback=_jobs, default=1, show_default=True,
              help="Threads; use 1 to compare run times. Nothing else depends on it.")  # fmt: skip
@json_option
def lpr17(
    output: str, draws: int | None, quick: bool, diagnose: bool, seed: int, jobs: int, as_json: bool
) -> None:  # fmt: skip
    """CLG, CLG-lasso and maximum likelihood on simulated data, as in Lai, Peterson and Rummerfield (2017).

    With a linear SVM and the signs recovered, which the paper left for later. Needs no data. Writes
    results.json, index.html and the figures.
    """
    from lapwing_papers.lpr17 import reproduce

    _run(output, as_json, lambda progress: reproduce(
        draws=draws, quick=quick, diagnose=diagnose, seed=seed, n_jobs=jobs, progress=progress
    ))  # fmt: skip


def _checked_folder(output: str) -> Path:
    """Before the work, not after."""
    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"-o must be a folder, and {output!r} is a file; name another place")
    if not folder.absolute().parent.is_dir():
        raise InputError(f"-o must be in a folder that is there, got {output!r}; make the folder first")
    return folder


def _archive_in(data: str) -> str:
    """The Reuters archive of a folder that holds one, else the path itself."""
    archives = sorted(path for path in Path(data).glob(REUTERS) if path.is_file()) if Path(data).is_dir() else []
    return str(archives[0]) if archives else data


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
