"""Every format and its reader: those of this package, and those that other packages have entry points for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lapwing.corpus.columnar import ArrowReader, ParquetReader
from lapwing.corpus.folder import FolderReader
from lapwing.corpus.jsonl import JsonLinesReader
from lapwing.corpus.lines import LinesReader
from lapwing.corpus.reader import Reader
from lapwing.corpus.svmlight import SvmlightReader
from lapwing.corpus.table import CsvReader, TsvReader
from lapwing.plugins import plugin, plugins

OWN: dict[str, type[Reader]] = {
    "jsonl": JsonLinesReader,
    "csv": CsvReader,
    "tsv": TsvReader,
    "parquet": ParquetReader,
    "arrow": ArrowReader,
    "folder": FolderReader,
    "text": LinesReader,
    "svmlight": SvmlightReader,
}


class _Readers(Mapping[str, type[Reader]]):
    """By the name of the format; a reader of another package is imported when it is asked for."""

    def __getitem__(self, format: str) -> type[Reader]:
        return OWN[format] if format in OWN else plugin("readers", format)

    def __iter__(self) -> Iterator[str]:
        return iter({**OWN, **plugins("readers")})

    def __len__(self) -> int:
        return len(list(iter(self)))


READERS = _Readers()
