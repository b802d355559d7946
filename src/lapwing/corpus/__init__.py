"""Documents in: every supported format, plain or compressed, becomes a `Corpus` or a stream of `Document`s.

    corpus = lapwing.corpus.read("20news-bydate.tar.xz")
    corpus.part("train").documents

Formats: JSON lines, CSV, TSV, Parquet, Arrow, a folder per class, mail, lines of text, Reuters-21578 SGML, RCV1-v2
token files, SMART records, svmlight/BBR vectors, Annif's corpora, RIS; all also inside .gz .bz2 .xz .zip .tar and
compressed tar. Compression is told by content, not by name.

Conventions
- Labels are strings, distinct and sorted within a document, without surrounding white space.
- Documents with empty text are kept, and so are documents without labels.
- Ids come from the source; where it has none they are `file name:line`. They need not be unique, except
  those of a folder per class, which are.
- A broken record is a CorpusError with file and line; with skip_bad=True it is counted and logged instead.
- Characters that cannot be encoded (lone surrogates from JSON escapes) become U+FFFD.
"""

from typing import Any

from lapwing.corpus.demo import stdlib_docstrings
from lapwing.corpus.document import SPLITS, Corpus, Document, Record
from lapwing.corpus.hierarchy import Hierarchy
from lapwing.corpus.options import ReadOptions
from lapwing.corpus.overview import Overview, overview
from lapwing.corpus.pipeline import Stream, read, stream

__all__ = [
    "FORMATS",
    "Overview",
    "SPLITS",
    "Corpus",
    "Document",
    "Hierarchy",
    "ReadOptions",
    "Record",
    "Stream",
    "overview",
    "read",
    "stdlib_docstrings",
    "stream",
]


def __getattr__(name: str) -> Any:
    if name == "FORMATS":  # which there are depends on what is installed
        from lapwing.corpus.readers import READERS

        return tuple(READERS)
    raise AttributeError(f"module 'lapwing.corpus' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
