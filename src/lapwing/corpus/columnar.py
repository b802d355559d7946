"""Parquet, Arrow and Feather files, and folders that HuggingFace's `datasets` saved; by pyarrow.

Records are those of JSON lines. Where `datasets` wrote the file, its features tell the names of classes that are stored
as numbers (`ClassLabel`), alone or in lists. A folder named for a split gives its files that split.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sized
from typing import Any

from lapwing.corpus.document import Document
from lapwing.corpus.fields import short
from lapwing.corpus.members import Entry, Member
from lapwing.corpus.reader import ABOUT, COLUMNS
from lapwing.corpus.record import RecordReader
from lapwing.corpus.streams import EXPANSION, check_expansion
from lapwing.errors import CorpusError, MissingExtraError

BATCH = 256  # rows at a time: a few bytes may stand for all of them, compressed or as a dictionary


class ParquetReader(RecordReader):
    extensions = (".parquet", ".arrow", ".feather", ".ipc")
    telling: tuple[str, ...] | None = (".parquet",)
    beside = re.compile(rf"{ABOUT.pattern}|(state|dataset_info|dataset_infos|dataset_dict)\.json", re.IGNORECASE)
    takes = COLUMNS
    unmistakable = True

    def documents(self, member: Member) -> Iterator[Document]:
        split = self.split_of(member)
        with member.open() as stream:
            content = stream.read()
        row = 0
        key = str(self.options.text_column or "text")
        for records, names in batches(content, member.where, self.options.max_expansion):
            for record in records:
                row += 1
                if len(str(record.get(key, ""))) > self.options.max_document:
                    self.too_long(member, row)
                    continue
                with self.reporting(member, row):
                    for column, of_class in names.items():
                        record[column] = _named(record.get(column), of_class)
                    yield self.document(record, f"{self.name_of(member)}:{row}", split)


class ArrowReader(ParquetReader):
    telling = (".arrow", ".feather", ".ipc")

    def choose(self, entries: list[Entry]) -> list[Entry]:
        """Beside what `datasets` saved it keeps what it computed of it: the same rows again, filtered or shuffled."""
        saved = [entry.key[:-1] for entry in entries if entry.key[-1] == "state.json"]
        cached = [entry for entry in entries if entry.key[-1].startswith("cache-") and entry.key[:-1] in saved]
        self.leave_out(cached, "are caches of datasets")
        return super().choose([entry for entry in entries if entry not in cached])


def batches(
    content: bytes, where: str, expansion: float = EXPANSION
) -> Iterator[tuple[list[dict[str, Any]], dict[str, list[str]]]]:
    """Records of a file in any of the three forms, batch by batch, and the names of its numbered classes."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtraError(
            "Parquet and Arrow files need pyarrow, which is not installed; get it with: pip install 'lapwing[arrow]'"
        ) from error
    source = pa.BufferReader(content)
    try:
        if content[:4] == b"PAR1":
            file = pq.ParquetFile(source)
            schema, parts = file.schema_arrow, file.iter_batches(batch_size=BATCH)
        elif content[:6] == b"ARROW1":
            file = pa.ipc.open_file(source)
            schema, parts = file.schema, (file.get_batch(i) for i in range(file.num_record_batches))
        else:
            schema = (file := pa.ipc.open_stream(source)).schema
            parts = iter(file)
        if twice := [name for name in schema.names if schema.names.count(name) > 1]:
            raise CorpusError(f"expected every column once, got {short(twice[0])} repeatedly", where)
        names = class_names(schema.metadata)
        size = 0
        for batch in parts:
            batch.validate(full=True)
            for first in range(0, batch.num_rows, BATCH):
                records = batch.slice(first, BATCH).to_pylist()
                size += sum(len(value) for one in records for value in one.values() if isinstance(value, Sized))
                check_expansion(size, len(content), expansion, where)
                yield records, names
    except CorpusError:
        raise
    except (pa.ArrowException, OSError, ValueError, TypeError, OverflowError) as error:
        raise CorpusError(
            f"expected a Parquet, Arrow or Feather file, got one that is damaged: {error}", where
        ) from None


def class_names(metadata: dict[bytes, bytes] | None) -> dict[str, list[str]]:
    """Columns of numbered classes and their names, as `datasets` leaves them in a schema."""
    try:
        features = json.loads((metadata or {})[b"huggingface"])["info"]["features"]
        of_lists = {name: one[0] if isinstance(one, list) and one else one for name, one in features.items()}
        inner = {name: one.get("feature", one) for name, one in of_lists.items() if isinstance(one, dict)}
        return {name: [str(label) for label in one["names"]] for name, one in inner.items() if one.get("names")}
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        return {}


def _named(value: Any, names: list[str]) -> Any:
    if isinstance(value, list):
        return [name for one in value if (name := _named(one, names)) is not None]
    if isinstance(value, int) and value < len(names):
        return names[value] if value >= 0 else None  # -1 stands for no label
    return value
