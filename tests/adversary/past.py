"""Sources that once hung, filled the memory or ended in a traceback: what tests read, and where fuzzing starts from."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile


def tar(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    return b"".join(
        info.tobuf(tarfile.GNU_FORMAT) + content + b"\0" * (-len(content) % 512) for info, content in members
    )


def info(name: str, size: int, kind: bytes = tarfile.REGTYPE) -> tarfile.TarInfo:
    result = tarfile.TarInfo(name)
    result.size, result.type = size, kind
    return result


PLAIN = [(info(f"{label}/1.txt", 3), b"oil") for label in "ab"]
TARS = {
    "a member of 2^62 bytes": tar(*PLAIN, (info("c/1.txt", 2**62), b"oil")),
    "one of them first": tar((info("c/1.txt", 2**62), b"oil"), *PLAIN),
    "a hidden member of 2^62 bytes": tar(*PLAIN, (info(".c/1.txt", 2**62), b"oil")),
    "a pax header of 2^62 bytes": tar(*PLAIN, (info("x", 2**62, tarfile.XHDTYPE), b"")),
    "a long name of 2^62 bytes": tar(*PLAIN, (info("x", 2**62, tarfile.GNUTYPE_LONGNAME), b"")),
    "a pax header of digits": tar(*PLAIN, (info("x", 300_000, tarfile.XHDTYPE), b"1" * 300_000), *PLAIN),
    "a sparse map that never ends": tar(
        *PLAIN,
        (info("x", 60, tarfile.XHDTYPE), b"22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n".ljust(60, b"\n")),
        (info("c/1.txt", 512), b"999999999\n1\n".ljust(512, b"1")),
    ),
}


def _zip() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for label in "ab":
            archive.writestr(f"{label}/1.txt", f"oil {label}")
    return buffer.getvalue()


def sources() -> dict[str, bytes]:
    """By file name."""
    lines = "".join(json.dumps({"text": f"oil {k}", "label": "xy"[k % 2]}) + "\n" for k in range(8)).encode()
    rows = {f"{k}.tar": content for k, content in enumerate(TARS.values())}
    rows |= {f"{k}.tar.gz": gzip.compress(content, mtime=0) for k, content in enumerate(TARS.values())}
    return rows | {
        "plain.jsonl": lines,
        "packed.jsonl.gz": gzip.compress(lines, mtime=0),
        "twice.jsonl": b'{"text": "a", "label": "x", "text": "b"}\n',
        "digits.jsonl": b'{"text": "&#' + b"9" * 5000 + b';", "label": "x"}\n',
        "deep.jsonl": b'{"text": ' + b"[" * 5000 + b"\n",
        "lost.csv": b"text,label\na,x\nb,y\nc,\n",
        "open.csv": b'text,label\na,x\n"' + b"b,y\n" * 50,
        "columns.csv": b"text,label,text\na,x,b\n",
        "vectors.svm": b"1 1:1 3:1e-160\n-1 2:1e308\n",
        "records.smart": b".I 1\n.W\noil\n.M\nx\n.I 2\n.W\ngas\n.M\ny\n",
        "folders.zip": _zip(),
        "bytes.zip": _zip()[:60],
    }
