"""What is the same for every paper that `lapwing reproduce` runs again: its options, corpora, files and tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from lapwing.cli._common import ExistingPath, read_documents, reading_options
from lapwing.cli._output import echo, json_option, print_json, show, table
from lapwing.cli._progress import Progress, announce_compiling, progress_bar
from lapwing.errors import InputError

if TYPE_CHECKING:
    from lapwing.corpus import Corpus
    from lapwing_papers.shown import Reproduction

REUTERS = "reuters21578.*"
DATA = "The corpus, or a folder with the Reuters archive in it."


class CorpusPath(NamedTuple):
    """Where documents are, and how they are read."""

    path: str
    reading: dict[str, Any]

    def read(self, progress: Progress, by_format: Mapping[str, dict[str, Any]] | None = None) -> Corpus:
        """`by_format` are options for corpora of one format, where the user has not set them."""
        from lapwing.corpus import stream

        with stream(self.path, **self.reading) as documents:
            form = documents.format
        more = {name: value for name, value in (by_format or {}).get(form, {}).items() if not self.reading.get(name)}
        return read_documents(self.path, {**self.reading, **more, "format": form}, progress)


@click.group("reproduce", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """Run the experiments of a paper again, and put its figures beside ours."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def experiment(
    *own: Callable[[Any], Any], data: str = DATA, several: bool = False, quick: str = "", seed: bool = True,
    jobs: tuple[int, str] = (-1, "Threads; -1 for every core. Results do not depend on it."),
    collections: Mapping[str, tuple[str, str]] | None = None,
) -> Callable[[Callable[..., Reproduction]], click.Command]:  # fmt: skip
    """The command of a paper: the function under it gets a `CorpusPath`, its options by name, and `progress`.

    own           options of its own
    data          the help of --data; "" where the experiment needs none, and gets no source
    several       --data may be given several times, and it gets a list
    quick         what --quick does; "" where there is none
    jobs          threads by default, and what they change
    collections   of the paper, each with an option and a format of its own: name → (what it is, format)
    """
    formats = {"data": "", **{name: form for name, (_, form) in (collections or {}).items()}}
    corpus = ExistingPath("a corpus (a file, folder or archive)")

    def decorate(run: Callable[..., Reproduction]) -> click.Command:
        name = run.__name__

        def call(output: str, as_json: bool, reading: dict[str, Any] | None = None, **given: Any) -> None:
            folder = _checked_folder(output)
            paths = {key: given.pop(key) for key in formats if key in given}
            work = {key: partial(run, _source(path, reading or {}, formats[key]), **given)
                    for key, path in paths.items() if path and not several}  # fmt: skip
            if several:
                work = {"": partial(run, [_source(path, reading or {}, "") for path in paths["data"]], **given)}
            elif not data:
                work = {"": partial(run, **given)}
            if not work:
                raise InputError(f"expected a collection; give {' or '.join(f'--{key}' for key in formats)}")
            if len(work) > 1:
                folder.mkdir(exist_ok=True)
            for key, one in work.items():
                _run(folder / key if len(work) > 1 else folder, as_json, one)

        options = [
            *([click.option("--data", type=corpus, required=not collections, multiple=several, help=data)]
              if data else []),
            *(click.option(f"--{key}", type=ExistingPath(what),
                           help=f"{what[0].upper()}{what[1:]}; into a folder of its own.")
              for key, (what, _) in (collections or {}).items()),
            click.option("-o", "--output", default=name, show_default=True, help="The folder to write to."),
            *([click.option("--quick", is_flag=True, help=quick)] if quick else []),
            *own,
            *([click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Random seed.")]
              if seed else []),
            click.option("--jobs", "n_jobs", type=int, callback=_jobs, default=jobs[0], show_default=jobs[0] > 0,
                         help=jobs[1]),
            *([reading_options] if data else []),
            json_option,
        ]  # fmt: skip
        decorated: Callable[..., None] = call
        for option in reversed(options):
            decorated = option(decorated)
        return command.command(name, help=run.__doc__)(decorated)

    return decorate


def _jobs(context: click.Context, parameter: click.Parameter, value: int) -> int:
    if value == 0:
        raise click.BadParameter("0 threads do no work; give a number, or -1 for every core", context, parameter)
    return value


def _source(path: str, reading: dict[str, Any], form: str) -> CorpusPath:
    """The Reuters archive of a folder that holds one, else the path itself."""
    archives = sorted(one for one in Path(path).glob(REUTERS) if one.is_file()) if Path(path).is_dir() else []
    own = {**reading, "format": form} if form and reading["format"] == "auto" else reading
    return CorpusPath(str(archives[0]) if archives else path, own)


def _checked_folder(output: str) -> Path:
    """Before the work, not after."""
    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"-o must be a folder, and {output!r} is a file; name another place")
    if not folder.absolute().parent.is_dir():
        raise InputError(f"-o must be in a folder that is there, got {output!r}; make the folder first")
    return folder


def _run(folder: Path, as_json: bool, work: Callable[..., Reproduction]) -> None:
    """Check what can be checked before the work, do it, write the files, show the tables."""
    from lapwing_papers.shown import check_matplotlib

    check_matplotlib()
    with progress_bar(quiet=as_json) as progress:
        announce_compiling()
        results = work(progress=progress)
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
