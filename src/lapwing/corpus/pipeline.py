"""From a path to documents: detect the format, run its reader over the members, filter, collect."""

from __future__ import annotations

import os
from array import array
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import fields, replace
from typing import IO, Any

import numpy as np

from lapwing.corpus import spill
from lapwing.corpus.archives import TarSource, open_source
from lapwing.corpus.detect import by_name, detect
from lapwing.corpus.document import Corpus, Document, Kind
from lapwing.corpus.folder import FolderReader
from lapwing.corpus.members import FolderSource, Member, Source
from lapwing.corpus.options import ReadOptions, check_choice
from lapwing.corpus.reader import EVERY_FORMAT, Tally
from lapwing.corpus.readers import READERS
from lapwing.errors import CorpusError, some
from lapwing.shards.folder import WorkFolder

Path = str | os.PathLike[str] | IO[bytes]


class Stream(Iterator[Document]):
    """Documents one by one, in bounded memory. Can be gone through once; `with` closes it early.

    name, format   what is read
    kind           "text", "tokens" or "vectors"
    exclusive      whether the source gives one label to each document, as far as it has been read
    skipped        broken records left out so far
    """

    def __init__(self, source: Source, format: str, options: ReadOptions) -> None:
        self.name = source.name
        self.format = format
        self._source = source
        self._options = options
        self._tally = Tally(options.skip_bad)
        check_taken(options, format, source.where)
        self._reader = READERS[format](source, options, self._tally)
        self._documents = self._run()
        self.key: list[str] = []  # the path of the member that the last document came from

    @property
    def kind(self) -> Kind:
        return self._reader.kind

    @property
    def exclusive(self) -> bool:
        return self._reader.exclusive

    @property
    def text_column(self) -> str:
        return str(self._options.text_column or "text")

    @property
    def skipped(self) -> int:
        return self._tally.skipped

    @property
    def source(self) -> dict[str, str]:
        """Where the documents come from, without the folders of this machine."""
        return {"format": self.format, "path": self._source.label}

    @property
    def encoding(self) -> str:
        return "" if self.kind == "vectors" else self._reader.encoding

    @property
    def fields(self) -> tuple[str, ...]:
        """The columns or keys of the records, where they have names."""
        return tuple(self._reader.names)

    def __next__(self) -> Document:
        return next(self._documents)

    def close(self) -> None:
        """Close the files, which also happens at the end."""
        self._documents.close()
        self._source.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def _run(self) -> Generator[Document, None, None]:
        with closing(self._source):
            yield from self._filtered()

    def _filtered(self) -> Iterator[Document]:
        keep = None if self._options.categories is None else set(self._options.categories)
        wanted = self._options.split
        splits: set[str] = set()
        count = 0
        for document in self._read_all():
            splits.add(document.split)
            if wanted is not None and document.split != wanted:
                continue
            if keep is not None:
                document = document._replace(labels=tuple(x for x in document.labels if x in keep))
            count += 1
            yield document
        self._reader.finish()
        self._tally.report(self.name)
        if isinstance(self._source, TarSource) and self._source.links:
            self._reader.remark(f"{self._source.links} links in the archive were not followed")
        if isinstance(self._source, FolderSource) and (passed := self._source.passed_by):
            self._reader.remark(
                f"{len(passed)} linked folders or special files were not followed: {some(passed, 5)}; give the folders "
                "themselves to have their documents"
            )
        if not count:
            raise self._nothing(splits)

    def _read_all(self) -> Iterator[Document]:
        """The documents of all members. With skip_bad, damage loses the rest of its member or archive."""
        entries = self._reader.choose(self._source.entries)
        if isinstance(self._reader, FolderReader) and not self._source.single:
            other = [entry.path for entry in entries if by_name(entry.name) not in ("", self.format)]
            if other:
                self._reader.remark(
                    f"{len(other):,} files with names of other formats are one text each: {some(other, 5)}"
                )
        chosen = {entry.index for entry in entries}
        try:
            for member in self._source.members(chosen):
                yield from self._read_member(member)
        except CorpusError as error:
            if not self._options.skip_bad:
                raise
            self._tally.bad(error)

    def _read_member(self, member: Member) -> Iterator[Document]:
        self.key = member.entry.key
        try:
            yield from self._reader.documents(member)
        except CorpusError as error:
            if not self._options.skip_bad:
                raise
            self._tally.bad(error)

    def _nothing(self, splits: set[str]) -> CorpusError:
        if splits:
            present = ", ".join(sorted(splits - {""})) or "none"
            message = f"expected documents of split {self._options.split!r}, found splits: {present}"
        elif self._tally.first is not None:
            message = f"expected documents, found only broken ones; the first: {self._tally.first}"
        else:
            message = f"expected documents in format {self.format}, found none"
        return CorpusError(message, self._source.where)


def check_taken(options: ReadOptions, format: str, where: str) -> None:
    """An option that means nothing for a format is refused, not ignored."""
    for option in fields(options):
        given = getattr(options, option.name) != option.default
        if given and option.name not in (*EVERY_FORMAT, *READERS[format].takes):
            others = ", ".join(name for name, reader in READERS.items() if option.name in reader.takes)
            raise CorpusError(
                f"{option.name} belongs to the formats {others}, and means nothing for {format}; leave it out, or name "
                "another format (--format)",
                where,
            )


def stream(path: Path, format: str = "auto", **options: Any) -> Stream:
    """The documents at `path`, one by one: a file, folder or archive, or an open binary stream.

    See `ReadOptions` for the options. An archive that comes from a stream is held in memory.
    """
    check_choice("format", format, ("auto", *READERS))
    settings = ReadOptions.of(options)
    source = open_source(path, tolerant=settings.skip_bad, expansion=settings.max_expansion)
    try:
        return Stream(source, detect(source, settings) if format == "auto" else format, settings)
    except CorpusError:
        source.close()
        raise


def read(path: Path, format: str = "auto", *, work: WorkFolder | None = None, **options: Any) -> Corpus:
    """All documents at `path`: a file, folder or archive, or an open binary stream.

    format is one of `lapwing.corpus.FORMATS`, or "auto" to find out. See
    `ReadOptions` for the options. A folder and an archive of it give the same corpus.

    work   where texts go that training in its memory has no room for; those it holds of such a run are read no more
    """
    if work is not None and work.exists and spill.RECORD in work.open().records:
        return spill.stored(work)
    documents = stream(path, format, **options)
    collected = _Collector(documents.kind)
    how = documents._options
    if documents.kind == "vectors" or how.numeric_columns or how.categorical_columns:
        work = None  # documents are more than texts
    for document in documents:
        collected.add(document, documents.key)
        if work is not None and not spill.fits(work.memory, collected.characters, len(collected.ids)):
            return _spilled(documents, collected, work)
    corpus = collected.corpus(documents)
    if not documents._source.ordered:
        order = sorted(range(len(corpus)), key=collected.keys.__getitem__)
        if order != list(range(len(order))):
            corpus = corpus.select(order)
    return corpus


def _spilled(documents: Stream, collected: _Collector, work: WorkFolder) -> Corpus:
    """What was collected and what is still to come, on disk."""
    with spill.Spill(work) as columns:
        columns.add_all(collected.taken_out())
        columns.add_all((document, documents.key) for document in documents)
    order = None if documents._source.ordered else columns.order()
    spill.keep(work, columns, documents, order)
    corpus = spill.stored(work)
    exclusive = documents.exclusive and _one_each(documents, corpus)
    work.put_record(spill.RECORD, work.records[spill.RECORD] | {"exclusive": exclusive})
    return replace(corpus, exclusive=exclusive)


class _Collector:
    """Documents on their way into the columns of a Corpus."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.ids: list[str] = []
        self.labels: list[tuple[str, ...]] = []
        self.split: list[str] = []
        self.keys: list[list[str]] = []
        self.times: list[str] = []
        self.groups: list[str] = []
        self.weights = array("d")
        self.texts: list[str] = []
        self.characters = 0
        self.features, self.values, self.ends = array("i"), array("d"), array("q", [0])

    def add(self, document: Document, key: list[str]) -> None:
        self.ids.append(document.id)
        self.labels.append(document.labels)
        self.split.append(document.split)
        self.weights.append(document.weight)
        self.keys.append(key)
        self.times.append(document.time)
        self.groups.append(document.group)
        if isinstance(document.content, str):
            self.texts.append(document.content)
            self.characters += len(document.content)
        else:
            features, values = document.content
            self.features.extend(features)
            self.values.extend(values)
            self.ends.append(len(self.features))

    def corpus(self, read: Stream) -> Corpus:
        matrix, names = self._matrix() if self.kind == "vectors" else (None, None)
        corpus = Corpus(
            name=read.name,
            kind=self.kind,
            documents=self.texts if matrix is None else matrix,
            labels=self.labels,
            ids=self.ids,
            exclusive=False,
            split=self.split,
            weights=np.array(self.weights, dtype=np.float64),
            feature_names=names,
            skipped=read.skipped,
            source=read.source,
            groups=self.groups if any(self.groups) else None,
            times=self.times if any(self.times) else None,
            encoding=read.encoding,
            fields=read.fields,
            numeric=read._options.numeric_columns,
            categorical=read._options.categorical_columns,
            text_column=read.text_column,
        )
        return spill.read_times(replace(corpus, exclusive=read.exclusive and _one_each(read, corpus)))

    def taken_out(self) -> Iterator[tuple[Document, list[str]]]:
        """The texts as they came, each gone from here once it is given."""
        columns = (self.ids, self.texts, self.labels, self.split, self.weights, self.times, self.groups)
        for row, (values, key) in enumerate(zip(zip(*columns, strict=True), self.keys, strict=True)):
            self.texts[row] = ""
            yield Document(*values), key

    def _matrix(self) -> tuple[Any, list[str]]:
        """A CSR matrix with a column for every id that occurs, in numeric order."""
        import scipy.sparse as sp  # only vectors need it; importing it takes longer than reading a small file

        occurring, columns = np.unique(np.array(self.features, dtype=np.int32), return_inverse=True)
        ends = np.array(self.ends, dtype=np.int64)
        if len(columns) < 2**31:
            ends = ends.astype(np.int32)
        shape = (len(self.ids), len(occurring))
        values = np.array(self.values, dtype=np.float64)
        matrix = sp.csr_matrix((values, columns.astype(np.int32), ends), shape=shape)
        matrix.eliminate_zeros()
        return matrix, [str(name) for name in occurring]


def _one_each(read: Stream, corpus: Corpus) -> bool:
    """Whether every document has one label, but for parts (a test part, say) where none has any.

    A part in which some have one and some have none is refused where labels are needed: did a label get lost,
    or are the categories no exclusive classes?
    """
    parts: dict[str, list[int]] = {}
    for row, split in enumerate(corpus.split):
        parts.setdefault(split, []).append(row)
    labelled = {split: [row for row in rows if corpus.labels[row]] for split, rows in parts.items()}
    if not any(labelled.values()) or any(len(corpus.labels[row]) > 1 for rows in labelled.values() for row in rows):
        return False
    for split, rows in parts.items():
        if not 0 < len(labelled[split]) < len(rows):
            continue
        missing = [row for row in rows if not corpus.labels[row]]
        if read._options.labels_required:
            raise CorpusError(
                f"expected a label for every document, found none for {len(missing)} of {len(rows)}, the first "
                f"{corpus.ids[missing[0]]!r}; label them or leave them out, or where categories are independent and "
                "a document may be in none, say so: label_separator (--label-separator) for a table, a list under "
                '"labels" for JSON',
                read.name,
            )
        return False
    return True
