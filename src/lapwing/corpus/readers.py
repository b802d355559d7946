"""Every format and its reader: a reader that is to be known is a line here."""

from __future__ import annotations

from lapwing.corpus.columnar import ArrowReader, ParquetReader
from lapwing.corpus.folder import FolderReader
from lapwing.corpus.jsonl import JsonLinesReader
from lapwing.corpus.lines import LinesReader
from lapwing.corpus.reader import Reader
from lapwing.corpus.svmlight import SvmlightReader
from lapwing.corpus.table import CsvReader, TsvReader
from lapwing_formats.annif import AnnifReader
from lapwing_formats.mail import MailReader
from lapwing_formats.rcv1 import Rcv1Reader
from lapwing_formats.reuters import ReutersReader
from lapwing_formats.ris import RisReader
from lapwing_formats.smart import SmartReader

READERS: dict[str, type[Reader]] = {
    "jsonl": JsonLinesReader,
    "csv": CsvReader,
    "tsv": TsvReader,
    "parquet": ParquetReader,
    "arrow": ArrowReader,
    "folder": FolderReader,
    "mail": MailReader,
    "text": LinesReader,
    "reuters": ReutersReader,
    "rcv1": Rcv1Reader,
    "smart": SmartReader,
    "svmlight": SvmlightReader,
    "annif": AnnifReader,
    "ris": RisReader,
}
FORMATS = tuple(READERS)
EXTENSIONS = {
    extension: name
    for name, reader in READERS.items()
    for extension in (reader.extensions if reader.telling is None else reader.telling)
}
