"""Files of unusual and legal form: what is read is what pandas, json, pyarrow, scikit-learn and rdflib read.

Each example is a seed of a generator of files; `make fuzz` draws thousands of others.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import random
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from lapwing import corpus
from lapwing.errors import CorpusError

DRAWS = 60 if settings.get_current_profile_name() == "same" else 2000
FILES = settings(max_examples=DRAWS, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
SEEDS = given(seed=st.integers(0, 2**64))

PIECES = (
    "wheat", "Oil", "x", "0", "-1.5", "1e5", "NA", "null", "None", "nan", "true", "'", '"', '""', "\\", "\\n", "#", ";",
    "|", ":", "=", "@", " ", "  ", "\u00a0", "\u2003", "\u2028", "\x85", "\x0b", "\x0c", "\x1c", "é", "e\u0301",
    "ß", "İ", "中文", "ก", "\U0001f33e", "\u200b", "\ufeff", "\x7f", "From ", "<b>", "&amp;", "[a", "{",
    "}", "%", "__label__z",
)  # fmt: skip
PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress,
    ".lzma": lambda data: lzma.compress(data, lzma.FORMAT_ALONE),
}  # fmt: skip


def prose(dice: random.Random, *others: str) -> str:
    return "".join(dice.choices((*PIECES, *others), k=dice.choice((0, 1, 1, 2, 3, 8))))


def written(folder: Path, dice: random.Random, name: str, content: bytes) -> Path:
    suffix = dice.choice(("", "", "", *PACKINGS))
    path = folder / f"{name}{suffix}"
    path.write_bytes(PACKINGS[suffix](content))
    return path


def read(path: Path, *arguments: Any, **options: Any) -> corpus.Corpus:
    return corpus.read(path, *arguments, labels_required=False, **options)


def quoted(dice: random.Random, field: str, separator: str) -> str:
    needed = any(letter in field for letter in (separator, "\n", "\r")) or field.startswith('"')
    return '"' + field.replace('"', '""') + '"' if needed or dice.random() < 0.3 else field


@FILES
@SEEDS
def test_tables_and_pandas(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    separator, end = dice.choice((",", "\t")), dice.choice(("\n", "\r\n", "\r"))
    names = ["text", dice.choice(("label", "Label", "CATEGORY", "class")), *dice.sample(("id", "note", "n 2", ""), 2)]
    names = dice.sample(names, len(names))
    rows = [[prose(dice, ",", "\t", "\n", "\r\n") for _ in names] for _ in range(dice.choice((1, 2, 5, 20)))]
    lines = [separator.join(quoted(dice, field, separator) for field in row) for row in (names, *rows)]
    lines = [line + end * dice.choice((1, 1, 1, 2)) for line in lines]
    content = "".join(lines).removesuffix(dice.choice(("", end)))
    encoding = dice.choice(("utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-8"))
    data = content.encode(encoding)
    path = written(tmp_path, dice, "a.csv" if separator == "," else "a.tsv", data)
    ours = read(path)
    place = next(place for place, name in enumerate(names) if name.lower() in ("label", "category", "class"))
    tables = [rows]
    if end != "\r":  # pandas loses an empty field at the beginning of a line after one that ends with it
        theirs = pd.read_csv(io.BytesIO(data), sep=separator, encoding=encoding, dtype=str, na_filter=False)
        tables.append(theirs.to_numpy().tolist())
    for table in tables:
        assert ours.documents == [row[names.index("text")] for row in table]
        assert ours.labels == [(row[place].strip(),) if row[place].strip() else () for row in table]
        if "id" in names:
            given_ids = [row[names.index("id")] for row in table]
            assert [a for a, b in zip(ours.ids, given_ids, strict=True) if b] == list(filter(None, given_ids))


def value(dice: random.Random, depth: int = 0) -> Any:
    simple = (None, True, 0, -1, 10**20, 1.5, 1e300, "", "a", prose(dice))
    if depth > 1 or dice.random() < 0.6:
        return dice.choice(simple)
    inner = [value(dice, depth + 1) for _ in range(dice.randrange(3))]
    return inner if dice.random() < 0.5 else {f"k{i}": one for i, one in enumerate(inner)}


def plain_labels(record: dict[str, Any]) -> tuple[str, ...]:
    given = record.get("labels") if record.get("labels") is not None else record.get("label")
    listed = given if isinstance(given, list) else [] if given is None else [given]
    named = [one if isinstance(one, str) else json.dumps(one) for one in listed]
    return tuple(sorted({one.strip() for one in named} - {""}))


@FILES
@SEEDS
def test_records_and_json(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    records = []
    for _ in range(dice.choice((1, 2, 5, 20))):
        record = {"text": prose(dice, "\n", "\r", "\0", "\t", ",")}
        key = dice.choice(("label", "labels"))
        record[key] = dice.choice((prose(dice), 3, True, None, [prose(dice), prose(dice)], []))
        if dice.random() < 0.3:
            record["labels" if key == "label" else "label"] = None
        record |= {dice.choice(("note", "data", "fields", "Text", "")): value(dice) for _ in range(dice.randrange(3))}
        records.append(dict(dice.sample(list(record.items()), len(record))))
    escaped, end = dice.random() < 0.5, dice.choice(("\n", "\r\n", "\n\n", " \n"))
    if dice.random() < 0.5:
        content = "".join(json.dumps(one, ensure_ascii=escaped) + end for one in records)
        content = dice.choice(("", "\n")) + content.removesuffix(dice.choice(("", end)))
    else:
        content = dice.choice(("", "\n", " \r\n ")) + json.dumps(
            records, ensure_ascii=escaped, indent=dice.choice((None, 0, 2, "\t"))
        )
    data = content.encode(dice.choice(("utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-16-le")))
    ours = read(written(tmp_path, dice, dice.choice(("a.jsonl", "a.json", "a.ndjson", "a")), data))
    assert ours.documents == [one["text"] for one in records]
    assert ours.labels == [plain_labels(one) for one in records]


def column(dice: random.Random, values: list[Any], kind: str) -> Any:
    if kind == "dictionary":
        return pa.array(values, pa.string()).dictionary_encode()
    array = pa.array(values, {"string": pa.string(), "large": pa.large_string(), "view": pa.string_view()}[kind])
    at = dice.randrange(len(values) + 1)
    return pa.chunked_array([array[:at], array[at:]]) if dice.random() < 0.3 else array


LISTS: tuple[Callable[[Any], Any], ...] = (pa.list_, pa.large_list, lambda one: pa.list_(one, 2))


@FILES
@SEEDS
def test_columnar_files_and_pyarrow(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    count = dice.choice((1, 2, 5, 300))
    columns: dict[str, Any] = {
        "text": column(dice, [prose(dice, "\n", "\0") for _ in range(count)],
                       dice.choice(("string", "large", "view", "dictionary"))),
    }  # fmt: skip
    form = dice.choice(("string", "number", "bool", "list", "null", "float"))
    labels: list[Any] = [prose(dice) if dice.random() < 0.9 else None for _ in range(count)]
    if form == "string":
        columns["label"] = column(dice, labels, dice.choice(("string", "large", "dictionary")))
    elif form == "list":
        pairs = [None if dice.random() < 0.1 else [prose(dice), prose(dice)] for _ in range(count)]
        columns["labels"] = pa.array(pairs, dice.choice(LISTS)(pa.string()))
        columns["label"] = pa.nulls(count, pa.string())
    elif form == "null":
        columns["label"] = pa.nulls(count)
    else:
        made = {
            "number": lambda: dice.randrange(3),
            "bool": lambda: dice.random() < 0.5,
            "float": lambda: dice.choice((1.0, 2.5)),
        }
        columns["label"] = pa.array([made[form]() if dice.random() < 0.9 else None for _ in range(count)])
    columns["when"] = pa.array([None] * count, pa.timestamp("us"))
    columns["b"] = pa.array([b"\xff"] * count)
    table = pa.table(dict(dice.sample(list(columns.items()), len(columns))))
    out = io.BytesIO()
    kind = dice.choice(("parquet", "arrow", "stream", "feather"))
    if kind == "parquet":
        pq.write_table(table, out, row_group_size=dice.choice((1, 7, 10_000)),
                       compression=dice.choice(("none", "snappy", "gzip", "zstd")),
                       use_dictionary=dice.random() < 0.5, version=dice.choice(("1.0", "2.6")))  # fmt: skip
    else:
        maker = pa.ipc.new_stream if kind == "stream" else pa.ipc.new_file
        packed = pa.ipc.IpcWriteOptions(compression=dice.choice((None, "lz4", "zstd")))
        with maker(out, table.schema, options=packed) as writer:
            writer.write_table(table, max_chunksize=dice.choice((1, 3, 10_000)))
    path = written(tmp_path, dice, f"a.{'arrow' if kind == 'stream' else kind}", out.getvalue())
    ours = read(path)
    rows = table.to_pylist()
    assert ours.documents == [row["text"] for row in rows]
    expected = [plain_labels(row) for row in rows]
    if form == "float":
        expected = [tuple(label.removesuffix(".0") for label in one) for one in expected]
    assert ours.labels == expected


@FILES
@SEEDS
def test_vectors_and_scikit_learn(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    several, end, lines = dice.random() < 0.3, dice.choice(("\n", "\r\n")), []
    if dice.random() < 0.3:
        lines.append("# made by hand 3:4")
    number = lambda: dice.choice(("0", "1", "-1.5", "+2", ".5", "3.", "1e-3", "2E+5", "0.1e1", "1e-320"))  # noqa: E731
    for _ in range(dice.choice((1, 2, 5, 50))):
        ids = sorted(dice.sample(range(60), dice.choice((0, 1, 3, 20))))
        label = (
            ",".join(map(str, dice.sample(range(9), dice.randrange(1, 4))))
            if several
            else dice.choice(("1", "+1", "-1", "2.0", "1.5", "0"))
        )
        between = dice.choice((" ", "  ", "\t"))
        query = f"{between}qid:{dice.randrange(5)}" if dice.random() < 0.2 else ""
        pairs = "".join(f"{between}{i}:{number()}" for i in ids)
        comment = dice.choice(("", "", " # 1:2", "#x", " "))
        lines.append(f"{label}{query}{pairs}{comment}")
        if dice.random() < 0.1:
            lines.append(dice.choice(("", "# between", "  ")))
    data = (end.join(lines) + dice.choice(("", end))).encode()
    ours = read(written(tmp_path, dice, dice.choice(("a.svm", "a.libsvm", "a.svmlight")), data))
    matrix, labels = load_svmlight_file(io.BytesIO(data), multilabel=several, zero_based=True)
    whole = np.zeros((len(ours), 60))
    whole[:, [int(name) for name in ours.feature_names or ()]] = ours.documents.toarray()
    theirs = np.zeros_like(whole)
    theirs[:, : matrix.shape[1]] = matrix.toarray()
    np.testing.assert_array_equal(whole, theirs)
    listed = labels if several else [(one,) for one in labels]
    assert [tuple(sorted(map(float, one))) for one in ours.labels] == [tuple(sorted(map(float, one))) for one in listed]


NAMES = ("a", "b.txt", "c d", "é", "中", "1", "1.txt", "x.y.z", "-f", "~t", "README2", "Wheat, corn", "a'b", "test")


@FILES
@SEEDS
def test_folders_and_the_file_system(tmp_path: Path, seed: int) -> None:
    """As a folder, and as zip and tar archives of it in any order; with a folder on top or not."""
    dice = random.Random(seed)
    classes = dice.sample(NAMES[:-1], dice.randrange(1, 5))
    parts = dice.choice(((), ("train", "test"), ("20news-train", "20news-test")))
    files: dict[str, tuple[str, str, str]] = {}
    for i in range(dice.choice((1, 5, 30))):
        above, label = dice.choice(parts) if parts else "", dice.choice(classes)
        text = f"{i} " + prose(dice, "\n", "\r\n", "\t", "\0")
        name = dice.choice(NAMES) + dice.choice(("", f"{i}"))
        path = "/".join(filter(None, (above, label, name)))
        files[path] = (text, label, above.rpartition("-")[2])
    root = tmp_path / f"{seed}"
    for path, (text, _, _) in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text.encode())
    top = dice.choice(("", "top/", "./"))
    order = dice.sample(sorted(files), len(files))
    zipped, tarred = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(zipped, "w", dice.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA))) as one:
        for path in order:
            one.writestr(top + path, files[path][0].encode())
    formats = (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)
    with tarfile.open(fileobj=tarred, mode=dice.choice(("w", "w:gz", "w:xz")), format=dice.choice(formats)) as two:
        for path in order:
            info = tarfile.TarInfo(top + path)
            info.size = len(files[path][0].encode())
            two.addfile(info, io.BytesIO(files[path][0].encode()))
    expected = sorted(files.values())
    for given_ in (root, io.BytesIO(zipped.getvalue()), io.BytesIO(tarred.getvalue())):
        ours = corpus.read(given_, "folder")  # type: ignore[arg-type]
        rows = zip(ours.documents, ours.labels, ours.split, strict=True)
        assert sorted((text, label, part) for text, (label,), part in rows) == expected


ENDINGS = {"turtle": "ttl", "xml": "rdf", "nt": "nt"}


@pytest.mark.parametrize("form", ENDINGS)
@settings(FILES, max_examples=DRAWS // 3)
@SEEDS
def test_vocabularies_and_rdflib(tmp_path: Path, form: str, seed: int) -> None:
    rdflib = pytest.importorskip("rdflib")
    from lapwing_formats.vocabulary import read_vocabulary

    dice, skos = random.Random(seed), rdflib.namespace.SKOS
    graph, expected, broader = rdflib.Graph(), {}, set()
    concepts = [
        f"http://example.org/{dice.choice(('', 'é', 'a%20b', '#', '?q='))}{i}" for i in range(dice.randrange(1, 9))
    ]
    for uri in concepts:
        one = rdflib.URIRef(uri)
        graph.add((one, rdflib.RDF.type, skos.Concept))
        named = {
            tongue: "".join(filter(str.isprintable, prose(dice))) or "x"
            for tongue in dice.sample(["en", "de", "fi", None], 2)
        }
        for tongue, label in named.items():
            graph.add((one, skos.prefLabel, rdflib.Literal(label, lang=tongue)))
            graph.add((one, skos.altLabel, rdflib.Literal("another", lang=tongue)))
        if dice.random() < 0.2:
            graph.add((one, rdflib.OWL.deprecated, rdflib.Literal(True)))
            continue
        expected[uri] = named.get("en") or named[min(named, key=lambda tongue: tongue or "")]
    for _ in range(dice.randrange(5)):
        a, b = dice.choice(concepts), dice.choice(concepts)
        if a != b:
            broader.add((a, b))
            first, second = rdflib.URIRef(a), rdflib.URIRef(b)
            graph.add((first, skos.broader, second) if dice.random() < 0.5 else (second, skos.narrower, first))
    path = tmp_path / f"v.{ENDINGS[form]}"
    path.write_bytes(graph.serialize(format=form, encoding="utf-8"))
    try:
        ours = read_vocabulary(path, "en")
    except CorpusError:
        assert not expected
        return
    assert ours.labels == expected
    assert set(ours.broader) == broader
