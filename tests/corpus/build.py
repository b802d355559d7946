"""Tiny corpora in every format, and every way to pack them."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from pathlib import Path

Files = dict[str, bytes]

REUTERS = b"""<!DOCTYPE lewis SYSTEM "lewis.dtd">
<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" CGISPLIT="TRAINING-SET" OLDID="5544" NEWID="1">
<DATE>26-FEB-1987</DATE><TOPICS><D>corn</D><D>grain</D><D>corn</D></TOPICS>
<PLACES><D>usa</D></PLACES><PEOPLE></PEOPLE><ORGS></ORGS><EXCHANGES></EXCHANGES>
<TEXT>&#2;
<TITLE>CORN &lt;UP> &amp; AWAY</TITLE><DATELINE>CHICAGO</DATELINE><BODY>Prices rose.
 Reuter &#3;</BODY></TEXT>
</REUTERS>
<REUTERS TOPICS="NO" LEWISSPLIT="TEST" CGISPLIT="PUBLISHED-TESTSET" OLDID="5545" NEWID="2">
<TOPICS></TOPICS><PLACES></PLACES><PEOPLE></PEOPLE><ORGS></ORGS><EXCHANGES></EXCHANGES>
<TEXT TYPE="UNPROC">&#2;
caf\xe9 prices &lt;unprocessed>
</TEXT>
</REUTERS>
"""
RCV1 = b".I 2286\n.W\nrecov recov\nexcit\n\n.I 2287\n.W\nkong hong\n\n"
QRELS = b"E11 2286 1\nECAT 2286 1\nM11 2287 1\n"
SMART = b""".I 1
.U
87049087
.S
Am J Emerg Med 8703; 4(6):491-5
.M
Allied Health Personnel/*; Electric Countershock/*MT/TU; Human.
.T
Refibrillation managed by EMT-Ds
.P
JOURNAL ARTICLE.
.W
Some patients converted from
ventricular fibrillation.
.A
Stults KR.
.I 2
.U
87049088
.M
Human; Male.
.T
Only a title
"""
RIS = b"""Provider: a catalogue

TY  - JOUR
ID  - zot-1
DO  - 10.1000/181
TI  - Wheat harvests
AB  - They were good,
very good.
KW  - wheat
KW  - agriculture
PY  - 1987
C1  - included
ER  -

TY  - BOOK
TI  - Oil prices
KW  - energy
trade
DO  - 10.1000/182
PY  - 1999
C1  - excluded
ER  -
"""
SVMLIGHT = b"# a comment\n+1 3:0.5 1:2 # UID: first\n-1.0 qid:4 cost:2.5 2:1e-3\n1 10:4\n"


def jsonl(*records: dict[str, object]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def columnar(form: str) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [{"text": "a b", "label": "x", "n": 1}, {"text": "c", "label": "y", "n": 2}]
    table, buffer = pa.Table.from_pylist(rows), io.BytesIO()
    if form == "parquet":
        pq.write_table(table, buffer)
    else:
        with pa.ipc.new_stream(buffer, table.schema) as stream:
            stream.write_table(table)
    return buffer.getvalue()


MBOX = b"""From ann@example.org Mon Jan  5 10:00:00 1998
From: ann@example.org
Subject: =?utf-8?q?Caf=C3=A9?= meeting
Message-ID: <1@example.org>
Date: Mon, 5 Jan 1998 10:00:00 +0100

Shall we meet?
>From noon on.

From bob@example.org Tue Jan  6 11:00:00 1998
From: bob@example.org
Subject: Re: meeting
Message-ID: <2@example.org>
In-Reply-To: <1@example.org>
Date: Tue, 6 Jan 1998 11:00:00 +0000
Content-Type: text/html

<p>Yes &amp; <b>thanks</b></p>
"""

CORPORA: dict[str, Files] = {
    "jsonl": {
        "news.jsonl": jsonl(
            {"text": "a b", "label": "x", "id": "one", "split": "train"},
            {"text": "c", "label": "y", "weight": 2, "split": "test"},
        )
    },
    "csv": {"news.csv": b'id,text,label\n1,"a, ""b""\nc",x\n2,d,y\n'},
    "tsv": {"news.tsv": b"text\tlabel\na b\tx\nc\ty\n"},
    "folder": {
        "train/x/1.txt": b"one",
        "train/y/2.txt": b"two",
        "test/x/3.txt": b"three",
        "README": b"about",
    },
    "parquet": {"news.parquet": columnar("parquet")},
    "arrow": {"news.arrow": columnar("arrow")},
    "mail": {"meetings.mbox": MBOX},
    "text": {"news.txt": b"__label__x one two\n__label__y three\n"},
    "reuters": {"reut2-000.sgm": REUTERS, "README.txt": b"about"},
    "rcv1": {"lyrl2004_tokens_train.dat": RCV1, "rcv1-v2.topics.qrels": QRELS},
    "smart": {"ohsumed.87": SMART},
    "svmlight": {"news.svm": SVMLIGHT},
    "annif": {"titles.tsv": b"a b\t<http://example.org/1> <http://example.org/2>\nc\t<http://example.org/1>\n"},
    "ris": {"library.ris": RIS[RIS.index(b"TY") :]},
}

COMPRESS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")


def folder(root: Path, files: Files, compression: str = "") -> Path:
    for name, data in files.items():
        path = root / (name + compression)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(COMPRESS[compression](data))
    return root


def packed(files: Files, suffix: str) -> bytes:
    """An archive of `files` in the given order."""
    buffer = io.BytesIO()
    if suffix == ".zip":
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as zipped:
            for name, data in files.items():
                zipped.writestr(name, data)
    else:
        kind = {"tar": "", "tgz": "gz"}.get(suffix.rpartition(".")[2], suffix.rpartition(".")[2])
        with tarfile.open(fileobj=buffer, mode=f"w:{kind}") as tar:  # type: ignore[call-overload]
            for name, data in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()
