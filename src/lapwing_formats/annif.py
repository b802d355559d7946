"""Annif's corpora: short texts in a file of lines, long ones in a folder.

    titles.tsv     a text per line, a tab, and its subjects: <http://www.yso.fi/onto/yso/p1265> <http://…>
    folder         one.txt with the text, and its subjects in one.tsv, a line each of <URI>, a tab and a label, or in
                   one.key, a line each of a label; a text without either has no subjects, and is left out where labels
                   are required

Labels are URIs, without the angle brackets, where there are any, else what stands there.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from lapwing.corpus.containers import by_magic
from lapwing.corpus.document import Document
from lapwing.corpus.fields import bare, label_name, label_set, short, sound, split_of_folders
from lapwing.corpus.members import Entry, Member, Source
from lapwing.corpus.options import ReadOptions
from lapwing.corpus.reader import ENCODING_HINT, PEEK, Reader, Tally, is_broken
from lapwing.errors import InputError, some
from lapwing.files import write_beside

LINE = re.compile(r"[^\t]*\t\s*<[^<>\s]+>(\s+<[^<>\s]+>)*\s*")  # of titles.tsv, by which it is known
SUBJECTS = (".tsv", ".key")  # of a text, the first of them that is there
TO_BLANK = str.maketrans("\t\n\r", "   ")


def is_full_text(names: Iterable[str]) -> bool:
    """Whether there are texts, half of them or more with their subjects beside them."""
    known = set(names)
    subjects = [bool(_subjects_of(name, known)) for name in known if name.endswith(".txt")]
    return any(subjects) and 2 * sum(subjects) >= len(subjects)


def _subjects_of(name: str, known: set[str]) -> str:
    """The file with the subjects of a text; "" where there is none."""
    return next((one for end in SUBJECTS if (one := name.removesuffix(".txt") + end) in known), "")


class AnnifReader(Reader):
    extensions = (".tsv",)
    telling = ()

    @classmethod
    def begins(cls, text: str, lines: Sequence[str]) -> bool:
        return LINE.fullmatch(re.split(r"[\r\n]", text.lstrip(), maxsplit=1)[0]) is not None

    @classmethod
    def holds(cls, names: Iterable[str]) -> bool:
        return is_full_text(names)

    def __init__(self, source: Source, options: ReadOptions, tally: Tally) -> None:
        super().__init__(source, options, tally)
        self._subjects_in: dict[str, str] = {}  # of every text of a folder the file of its subjects, "" for none
        self._text_of: dict[str, str] = {}  # and the other way round
        self._waiting: dict[str, str | tuple[str, ...]] = {}  # texts and subjects whose other half is still to come

    def choose(self, entries: list[Entry]) -> list[Entry]:
        names = {entry.name for entry in entries}
        if self.source.single or not any(name.endswith(".txt") for name in names):
            return super().choose(entries)
        texts = {name: _subjects_of(name, names) for name in names if name.endswith(".txt")}
        if self.options.labels_required and (bare_texts := sorted(name for name in texts if not texts[name])):
            self.remark(f"{len(bare_texts):,} texts without subjects are left out: {some(bare_texts, 5)}")
            texts = {name: subjects for name, subjects in texts.items() if subjects}
        others = [entry for entry in entries if not entry.name.endswith((".txt", *SUBJECTS))]
        self.leave_out(others, "are neither texts nor their subjects")
        self._subjects_in = texts
        self._text_of = {subjects: text for text, subjects in texts.items() if subjects}
        return [entry for entry in entries if entry.name in texts or entry.name in self._text_of]

    def documents(self, member: Member) -> Iterator[Document]:
        name = member.entry.name
        if not self._subjects_in:
            yield from self._lines(member)
        elif name in self._text_of:
            labels = self._labels(member)
            if labels is not None:
                yield from self._joined(self._text_of[name], labels=labels)
        else:
            text = self._whole(member)
            if text is not None:
                yield from self._joined(name, text=text)

    def finish(self) -> None:
        """Of broken halves, which skip_bad leaves out, the other ones go, too."""
        if self._waiting:
            left_out = some(list(self._waiting), 5)
            self.remark(
                f"{len(self._waiting):,} texts are left out since they or their subjects are broken: {left_out}"
            )

    def _lines(self, member: Member) -> Iterator[Document]:
        split = self.split_of(member)
        with member.open() as stream:
            for number, line in enumerate(self.lines(member, stream), start=1):
                text, tab, subjects = line.rstrip("\r\n").partition("\t")
                if is_broken(line):
                    self.bad_encoding(member, number, line)
                elif not tab and not text.strip():
                    continue
                elif not tab and self.options.labels_required:
                    self.bad(
                        f"expected a text, a tab and its subjects, got {text[:60]!r} without a tab", member, number
                    )
                elif ">" in "".join(uris := [bare(one) for one in subjects.split()]):
                    self.bad(f"expected blanks between <URIs>, got {short(subjects)}", member, number)
                else:
                    labels = label_set(label_name(one) for one in uris if one)
                    yield Document(f"{self.name_of(member)}:{number}", text, labels, split)

    def _joined(
        self, name: str, *, text: str | None = None, labels: tuple[str, ...] | None = None
    ) -> Iterator[Document]:
        """A text once both halves of it are there, in whichever order they come."""
        if not self._subjects_in[name]:
            labels = ()
        other = self._waiting.pop(name, None)
        text = other if isinstance(other, str) else text
        labels = other if isinstance(other, tuple) else labels
        if text is not None and labels is not None:
            path = name.split("/")[self._shared :]
            yield Document(sound("/".join(path)), text, labels, split_of_folders(path[:-1]))
        elif text is not None or labels is not None:
            self._waiting[name] = text if text is not None else labels or ()

    def _labels(self, member: Member) -> tuple[str, ...] | None:
        """A line each: a URI in angle brackets wherever it stands, else what comes first. None where it is broken."""
        content, uris = self._whole(member), []
        if content is None:
            return None
        for line in content.splitlines():
            parts = [part.strip() for part in line.split("\t") if part.strip()]
            uris += [next((bare(part) for part in parts if bare(part) != part), parts[0])] if parts else []
        return label_set(label_name(one) for one in uris if one)

    def _whole(self, member: Member) -> str | None:
        data = self.whole(member)
        if data is not None and (kind := by_magic(data, member.base)):
            self.bad(f"expected a text, got {kind}", member, None)
            return None
        try:
            return None if data is None else data.decode(self.encoding_of(data[:PEEK]))
        except UnicodeError:
            self.bad(f"expected {self.encoding}, got bytes that are not; {ENCODING_HINT}", member, None)
            return None


def write_lines(
    path: str | Path,
    texts: Iterable[str],
    labels: Iterable[Sequence[Hashable]],
    uris: Mapping[str, str] | None = None,
) -> None:
    """titles.tsv, gzipped where its name ends in .gz. `uris` are those of labels that are names, such as
    `Vocabulary.uris`; a tab or line end in a text becomes a blank."""
    lines = []
    for text, row in zip(texts, labels, strict=True):
        subjects = " ".join(f"<{_uri(label, uris)}>" for label in row)
        lines.append(f"{text.translate(TO_BLANK)}\t{subjects}\n")
    content = "".join(lines).encode()
    write_beside(path, gzip.compress(content, mtime=0) if str(path).endswith(".gz") else content)


def write_folder(
    folder: str | Path,
    texts: Iterable[str],
    labels: Iterable[Sequence[Hashable]],
    uris: Mapping[str, str] | None = None,
) -> None:
    """A folder of numbered texts with their subjects beside them; the folder must be empty or not there."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise InputError(f"expected an empty folder to write a corpus into, and {folder} has files in it")
    for number, (text, row) in enumerate(zip(texts, labels, strict=True), 1):
        lines = "".join(f"<{_uri(label, uris)}>\t{str(label).translate(TO_BLANK)}\n" for label in row)
        write_beside(folder / f"{number:07d}.txt", text.encode())
        write_beside(folder / f"{number:07d}.tsv", lines.encode())


def _uri(label: Hashable, uris: Mapping[str, str] | None) -> str:
    uri = (uris or {}).get(str(label), str(label))
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*:[^<>\s]+", uri):
        raise InputError(f"expected a URI for every label, and {label!r} has none; give the vocabulary's (`uris`)")
    return uri
