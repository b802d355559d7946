"""Which format a source is in: by file names first, then by how the files begin."""

from __future__ import annotations

import re
from functools import cache

from lapwing.corpus.archives import refuse_container
from lapwing.corpus.containers import by_extension
from lapwing.corpus.encodings import wide_encoding
from lapwing.corpus.fields import LABEL_NAMES
from lapwing.corpus.members import Entry, FileSource, Source
from lapwing.corpus.options import ReadOptions
from lapwing.corpus.reader import ABOUT, beside
from lapwing.corpus.readers import OWN, READERS
from lapwing.corpus.svmlight import PAIR
from lapwing.corpus.table import SEPARATORS, separator_of
from lapwing.errors import CorpusError
from lapwing.plugins import working

MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow"}
PLAIN = re.compile(r"\.(txt|text|ft)$", re.IGNORECASE)  # lines of text, where the content says nothing else
HEAD = 1 << 16
FEW = 20  # files of a flat folder that are looked into
MOST_BESIDE = 10  # files of no format that may lie among fewer than half as many of one
LONGEST_NAME = 64  # of a column, in a table that has no telling file name
VECTOR = re.compile(rf"(?:[^\s:]+\s+)?(?:(?:qid|cost):\S+\s+)*{PAIR}(?:\s|$)")


def detect(source: Source, options: ReadOptions) -> str:
    """The name of the format, or a CorpusError that says how to name it."""
    if isinstance(source, FileSource):
        head = source.head(HEAD)
        if not head:
            _probe(source)
            raise CorpusError("expected documents, found an empty file", source.where)
        name = source.entries[0].name
        if kind := by_extension(name):
            refuse_container(f"{kind}; if it is plain text after all, name the format (--format)", source.where)
        format_ = by_name(name) or by_content(head, options.encoding)
        if format_ == "tsv":
            format_ = _rarer_table(by_content(head, options.encoding))
        if PLAIN.search(name) and (not format_ or not _is_meant(head, format_, options)):
            format_ = "text"
    else:
        entries = source.entries
        if not entries:
            raise CorpusError("expected documents, found no files in it", source.where)
        format_ = _of_collection(source, entries, options)
    if not format_:
        hint = "; its name is an archive's, its content is not" if source.name != source.label else ""
        known = ", ".join(READERS)
        raise CorpusError(
            f"expected one of the formats {known}, cannot tell which; name it with format (--format){hint}",
            source.where,
        )
    return format_


def by_name(name: str) -> str:
    """The format a file name stands for; "" where it says nothing."""
    extensions, names = _known_names()
    dot = name.rfind(".")
    return (extensions.get(name[dot:].lower(), "") if dot >= 0 else "") or next(
        (format for pattern, format in names.items() if pattern.fullmatch(name)), ""
    )


@cache
def _known_names() -> tuple[dict[str, str], dict[re.Pattern[str], str]]:
    """Formats by extension, and by what files are called."""
    readers = {**working("readers"), **OWN}
    told = {name: reader.extensions if reader.telling is None else reader.telling for name, reader in readers.items()}
    extensions = {extension: name for name in readers for extension in told[name]}
    return extensions, {reader.file_name: name for name, reader in readers.items() if reader.file_name is not None}


def _rarer_table(format: str) -> str:
    """The format of a .tsv file that begins as this one does."""
    reader = working("readers").get(format)
    return format if reader is not None and ".tsv" in reader.extensions else "tsv"


def by_content(head: bytes, encoding: str | None) -> str:
    """The format of a file from its first lines; "" where they fit none."""
    for magic, format_ in MAGIC.items():
        if head.startswith(magic):
            return format_
    try:
        text = head.decode(encoding or wide_encoding(head) or "utf-8-sig", "replace")
    except UnicodeError:
        return ""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if not lines:
        return ""
    first = lines[0].strip()
    if first.startswith(("{", "[{")) or (first == "[" and lines[1:] and lines[1].lstrip().startswith("{")):
        return "jsonl"
    for format_, reader in working("readers").items():
        if reader.begins(text, lines):
            return format_
    if first.startswith("__label__"):
        return "text"
    if VECTOR.match(first):
        return "svmlight"
    return _table(re.split(r"[\r\n]", text.lstrip(), maxsplit=1)[0])


def _table(header: str) -> str:
    """tsv or csv for a line of short names with separators between them; "" for prose."""
    for separator in SEPARATORS:
        names = header.split(separator)
        if len(names) > 1 and all(len(name) <= LONGEST_NAME for name in names):
            return "tsv" if separator == "\t" else "csv"
    return ""


def _is_meant(head: bytes, format: str, options: ReadOptions) -> bool:
    """Whether a file of text is a table after all: its first line names a column, and not only has a comma in it."""
    if format not in ("csv", "tsv"):
        return True
    encoding = options.encoding or wide_encoding(head) or "utf-8-sig"
    first = re.split(r"[\r\n]", head.decode(encoding, "replace").lstrip(), maxsplit=1)[0]
    separator = separator_of(first, "," if format == "csv" else "\t")
    cells = first.split(separator)
    if any(cell.startswith(" ") for cell in cells[1:]):
        return False  # as a comma in prose
    names = [name.strip().strip('"').lower() for name in cells]
    labelled = len(names) == 2 and not {*names}.isdisjoint(LABEL_NAMES)
    return options.text_column is not None or "text" in names or labelled


def _of_collection(source: Source, entries: list[Entry], options: ReadOptions) -> str:
    data = [entry for entry in entries if not ABOUT.fullmatch(entry.name.rpartition("/")[2])]
    named = {by_name(entry.name) for entry in data} - {""}
    readers = {**OWN, **working("readers")}
    like_folder = [name for name, reader in readers.items() if name in named and "folder_level" in reader.takes]
    if options.folder_level is not None or options.label_from is not None:
        return (*like_folder, "folder")[0]
    special = next((name for name, reader in readers.items() if name in named and reader.unmistakable), "")
    if not special:
        held = [name for name, reader in readers.items() if reader.holds([entry.name for entry in entries])]
        if like_folder or held:
            return (*like_folder, *held)[0]  # texts among mail are read, too
        if named == {"tsv"} and (rarer := _rarer_table(_agreed(source, data[:1], options))) != "tsv":
            return rarer
    tables = {f"/{entry.name}".rpartition("/")[0] for entry in data if by_name(entry.name)}
    elsewhere = {f"/{entry.name}".rpartition("/")[0] for entry in data if not by_name(entry.name)}
    one_folder = len(tables | elsewhere) == 1
    above = all(here not in tables and any(one.startswith(f"{here}/") for one in tables) for here in elsewhere)
    if special or (len(named) == 1 and (one_folder or above)):
        format_ = special or named.pop()
        _check_alone(source, format_, data)
        return format_
    if not one_folder:
        return "folder"
    return "" if named else _agreed(source, data[:FEW], options)


def _check_alone(source: Source, format: str, data: list[Entry]) -> None:
    """Files of a format may have a few others beside them, but not be among texts in folders."""
    reader = READERS[format]
    own = [entry for entry in data if by_name(entry.name) == format or entry.name.lower().endswith(reader.extensions)]
    others, far = beside(own, data, reader.beside)
    if far or len(others) > max(MOST_BESIDE, 2 * len(own)):
        raise CorpusError(
            f"expected files of one format, found {own[0].path} and {len(others):,} others, such as "
            f"{(far or others)[0].path}; take it out, or name the format (--format): {format} reads only files of "
            "its own, folder takes each file for a text",
            source.where,
        )


def _agreed(source: Source, entries: list[Entry], options: ReadOptions) -> str:
    """The format in which all these files begin; "folder" where they differ or fit none.

    A comma or tab in the first line proves nothing where there are several files: so begin most texts.
    """
    formats = set()
    for member in source.members({entry.index for entry in entries}):
        with member.open() as stream:
            formats.add(by_content(stream.read(HEAD), options.encoding))
    agreed = formats.pop() if len(formats) == 1 else ""
    return agreed if agreed and (len(entries) == 1 or agreed not in ("csv", "tsv")) else "folder"


def _probe(source: FileSource) -> None:
    """An empty head may hide a damaged file: reading it raises what is wrong."""
    for member in source.members({0}):
        member.open().read(1)
