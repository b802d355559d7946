"""Subject vocabularies as Annif has them: TSV, CSV, and SKOS in any form of RDF.

TSV    <http://www.yso.fi/onto/yso/p1265><tab>archaeology, and a notation after another tab if there is one
CSV    a header `uri,label_en,…,notation`, a label per language
SKOS   Turtle (.ttl), RDF/XML (.rdf, .xml), N-Triples (.nt); read and written with rdflib
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from lapwing.corpus.fields import bare
from lapwing.errors import CorpusError, MissingExtraError
from lapwing.files import read_regular, write_beside

RDF = (".ttl", ".rdf", ".xml", ".nt")  # JSON-LD is not among them: its contexts are fetched from elsewhere


class Subject(NamedTuple):
    uri: str
    label: str
    notation: str = ""


@dataclass(frozen=True)
class Vocabulary:
    """Subjects in the order of the file, and (narrower, broader) URIs where it has them."""

    subjects: tuple[Subject, ...]
    broader: tuple[tuple[str, str], ...] = ()

    @property
    def labels(self) -> dict[str, str]:
        """Labels by URI."""
        return {one.uri: one.label for one in self.subjects}

    @property
    def uris(self) -> dict[str, str]:
        """URIs by label; of subjects of one label the first."""
        return {one.label: one.uri for one in reversed(self.subjects)}


def is_rdf(path: str | os.PathLike[str]) -> bool:
    return Path(path).suffix.lower() in RDF


def read_vocabulary(path: str | os.PathLike[str], language: str | None = None) -> Vocabulary:
    """A vocabulary by the ending of its file. Of labels in several languages those in `language`, else the first."""
    if is_rdf(path):
        return _read_skos(Path(path), language)
    rows = _read_csv if Path(path).suffix.lower() == ".csv" else _read_tsv
    try:
        lines = io.StringIO(read_regular(path).decode("utf-8-sig"), newline="")
        subjects = tuple(rows(lines, str(path), language))
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError(f"expected a vocabulary in UTF-8; {error}", str(path)) from error
    if not subjects:
        raise CorpusError("expected a vocabulary, a subject per line, and found none", str(path))
    return Vocabulary(subjects)


def write_vocabulary(path: str | os.PathLike[str], vocabulary: Vocabulary, language: str = "en") -> None:
    """In the form that the ending of its name says: .csv, an ending of RDF, else TSV."""
    if is_rdf(path):
        content = _skos(Path(path), vocabulary, language)
    elif Path(path).suffix.lower() == ".csv":
        lines = ["uri", f"label_{language}", "notation"], *vocabulary.subjects
        content = "".join(_csv_line(line) for line in lines)
    else:
        rows = ([f"<{uri}>", label, *filter(None, [code])] for uri, label, code in vocabulary.subjects)
        content = "".join("\t".join(row) + "\n" for row in rows)
    write_beside(path, content.encode())


def _read_tsv(lines: Iterable[str], where: str, language: str | None) -> Iterator[Subject]:
    for number, line in enumerate(lines, 1):
        uri, tab, rest = line.rstrip("\r\n").partition("\t")
        if not line.strip():
            continue
        if not tab or not bare(uri) or not rest.strip():
            raise CorpusError(f"expected a URI, a tab and a label, got {line.strip()[:60]!r}", where, number)
        label, _, notation = rest.partition("\t")
        yield Subject(bare(uri), label.strip(), notation.strip())


def _read_csv(lines: Iterable[str], where: str, language: str | None) -> Iterator[Subject]:
    rows = csv.DictReader(lines)
    named = [name for name in rows.fieldnames or () if name.startswith("label_")]
    column = f"label_{language}" if language else named[0] if named else ""
    if "uri" not in (rows.fieldnames or ()) or column not in named:
        wanted = column or "label_ and a language"
        raise CorpusError(f"expected a header with the columns uri and {wanted}, got {rows.fieldnames}", where, 1)
    for row in rows:
        if row["uri"] and row[column]:  # without a label it is deprecated
            yield Subject(bare(row["uri"]), row[column].strip(), (row.get("notation") or "").strip())


def _csv_line(values: Iterable[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(values)
    return out.getvalue()


def _rdflib() -> Any:
    try:
        import rdflib
    except ImportError as error:
        said = "SKOS is read with rdflib, which is not installed; pip install 'lapwing[skos]'"
        raise MissingExtraError(said) from error
    return rdflib


def _format(path: Path) -> str:
    return {".ttl": "turtle", ".nt": "nt"}.get(path.suffix.lower(), "xml")


def _read_skos(path: Path, language: str | None) -> Vocabulary:
    rdflib = _rdflib()
    graph = rdflib.Graph()
    try:
        graph.parse(data=read_regular(path), format=_format(path))
    except Exception as error:  # rdflib has an exception of its own for every syntax
        raise CorpusError(f"expected SKOS as {_format(path)}; {error}", str(path)) from error
    skos, owl = rdflib.namespace.SKOS, rdflib.namespace.OWL
    subjects = []
    for concept in graph.subjects(rdflib.RDF.type, skos.Concept):
        if (concept, owl.deprecated, rdflib.Literal(True)) in graph:
            continue
        named = sorted((one.language or "", str(one)) for one in graph.objects(concept, skos.prefLabel))
        wanted = [label for tongue, label in named if language in (None, tongue)] or [label for _, label in named]
        if wanted:
            notation = graph.value(concept, skos.notation)
            subjects.append(Subject(str(concept), wanted[0], "" if notation is None else str(notation)))
    if not subjects:
        raise CorpusError("expected concepts of SKOS with labels (skos:prefLabel), and found none", str(path))
    pairs = {(str(a), str(b)) for a, b in graph.subject_objects(skos.broader)}
    pairs |= {(str(b), str(a)) for a, b in graph.subject_objects(skos.narrower)}
    return Vocabulary(tuple(sorted(subjects)), tuple(sorted(pairs)))


def _skos(path: Path, vocabulary: Vocabulary, language: str) -> str:
    rdflib = _rdflib()
    graph, skos = rdflib.Graph(), rdflib.namespace.SKOS
    for uri, label, notation in vocabulary.subjects:
        concept = rdflib.URIRef(uri)
        graph.add((concept, rdflib.RDF.type, skos.Concept))
        graph.add((concept, skos.prefLabel, rdflib.Literal(label, lang=language)))
        if notation:
            graph.add((concept, skos.notation, rdflib.Literal(notation)))
    for narrower, broader in vocabulary.broader:
        graph.add((rdflib.URIRef(narrower), skos.broader, rdflib.URIRef(broader)))
    return str(graph.serialize(format=_format(path)))
