"""A folder per class: the class of a file is the folder it lies in.

A class folder is one with files in it and no further class folders below; files above class folders
(README and the like) are no documents. A folder above a class folder that is named for a split, such as
`train` or `20news-bydate-train`, gives its documents that split.

A file of the same name and content in several class folders side by side is one document with several
labels, as OHSUMED is distributed. The same name with different contents is several documents. Where names mostly are
(`1.txt`, `2.txt` in every folder), or hardly a document is in several folders, what is equal is so by chance: classes
are exclusive, and each file is a document. So is every blank one.

Where classes are other folders than these, `folder_level` says which, or `label_from` finds them in the paths.

Encodings may differ from file to file: one that is not valid UTF-8 is read as latin-1, unless most are not, which is
an error; where an encoding is given, one that is not valid in it but is valid UTF-8 is read as such. Both are
counted and logged.

A document's id is its file name where only one document has that name, else `class/name`, else
`split/class/name`, else its path below what all documents share.
"""

from __future__ import annotations

import hashlib
import posixpath
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from lapwing.corpus.containers import by_magic
from lapwing.corpus.document import Document
from lapwing.corpus.encodings import encoding_advice
from lapwing.corpus.fields import SPLIT_WORDS, label_name, label_set, sound, split_of_folder, split_of_folders
from lapwing.corpus.members import Entry, Member, Source
from lapwing.corpus.options import ReadOptions
from lapwing.corpus.patterns import search
from lapwing.corpus.reader import ENCODING_HINT, PEEK, Reader, Tally
from lapwing.errors import CorpusError, some

LEAST_SHARED = 0.05  # share of the documents that must be in several folders for that to be meant
SAMPLES, SAMPLE = 20, 1 << 14  # files, and bytes of each, by which an encoding is guessed


@dataclass(frozen=True)
class Place:
    """What the path of a file says of it; "" where it has no class or split."""

    label: str
    split: str

    @classmethod
    def above(cls, entry: Entry, flat: bool = False) -> Place:
        """The class is the folder it lies in, the split that of the nearest folder above it."""
        folders = posixpath.dirname(entry.path).split("/")
        return cls("" if flat else folders[-1], split_of_folders(folders[:-1]))


def by_level(entries: list[Entry], level: int) -> dict[int, Place]:
    """The class is the folder at a level, counted below what all share and below folders of a split."""
    folders = {entry.index: posixpath.dirname(entry.path).split("/") for entry in entries if "/" in entry.path}
    shared = len(posixpath.commonprefix(list(folders.values()))) if len(folders) > 1 else 0
    shared = min([shared, *(len(path) - 1 for path in folders.values())])
    places = {}
    for index, path in folders.items():
        below = path[shared:]
        split = split_of_folder(below[0])
        below = below[1:] if split else below
        at = level - 1 if level > 0 else level
        if -len(below) <= at < len(below):
            places[index] = Place(below[at], split or split_of_folders(path[:shared]))
    return places


def by_pattern(entries: list[Entry], pattern: str) -> dict[int, Place]:
    """The class and perhaps the split as a regular expression finds them in paths."""
    places = {}
    for entry, (label, split) in zip(entries, search(pattern, [entry.path for entry in entries]), strict=True):
        if label:
            above = split_of_folders(posixpath.dirname(entry.path).split("/"))
            places[entry.index] = Place(label, SPLIT_WORDS.get(split.lower(), above))
    return places


@dataclass(frozen=True)
class Planned:
    """A document known from file names alone. `files` are sorted by path; the first one is read."""

    files: tuple[Entry, ...]
    labels: tuple[str, ...]
    split: str

    def names(self, root: str) -> tuple[str, str, str, str]:
        """Candidates for the id, from the shortest to the surest, the path below `root`."""
        path = self.files[0].path
        base = posixpath.basename(self.files[0].name)
        in_class = f"{posixpath.basename(posixpath.dirname(path))}/{base}"
        return base, in_class, f"{self.split}/{in_class}" if self.split else in_class, path.removeprefix(root)


class FolderReader(Reader):
    takes: tuple[str, ...] = ("encoding", "folder_level", "label_from")

    def __init__(self, source: Source, options: ReadOptions, tally: Tally) -> None:
        super().__init__(source, options, tally)
        self._plan: dict[int, tuple[str, Planned]] = {}
        self._otherwise = self._decoded = 0
        self._samples: list[bytes] = []  # beginnings of what is not valid UTF-8
        self._containers: dict[str, str] = {}  # paths, and what is there

    def choose(self, entries: list[Entry]) -> list[Entry]:
        if self.source.single:
            if self.options.labels_required:
                raise CorpusError("expected a folder or archive of class folders, got one file", self.source.where)
            self._plan = {entry.index: (sound(entry.name), Planned((entry,), (), "")) for entry in entries}
            return entries
        files, places = self._class_files(entries)
        planned = plan(files, same_content(files, self.source, self.options.max_document), places)
        self.exclusive = all(len(document.labels) == 1 for document in planned)
        self._plan = {
            document.files[0].index: (sound(name), document)
            for name, document in zip(ids(planned), planned, strict=True)
        }
        return [document.files[0] for document in planned]

    def _class_files(self, entries: list[Entry]) -> tuple[list[Entry], dict[int, Place]]:
        """The files that are documents, sorted by path, and the class and split of each."""
        options = self.options
        if options.label_from is not None:
            places = by_pattern(entries, options.label_from)
        elif options.folder_level is not None:
            places = by_level(entries, options.folder_level)
        else:
            files = class_files(entries, self.source, options.labels_required)
            known = {entry.index for entry in files}
            self.leave_out([entry for entry in entries if entry.index not in known], "lie above the class folders")
            flat = all("/" not in f.path for f in files)
            self._say_level(files)
            return files, {entry.index: Place.above(entry, flat) for entry in files}
        if not places:
            how = (
                "match label_from"
                if options.label_from is not None
                else f"have {abs(options.folder_level or 0)} folders above them"
            )
            raise CorpusError(
                f"expected files whose paths {how}, found none among {len(entries)}, such as {entries[0].path!r}",
                self.source.where,
            )
        self.leave_out([entry for entry in entries if entry.index not in places], "have no class")
        return sorted((entry for entry in entries if entry.index in places), key=lambda entry: entry.key), places

    def _say_level(self, files: list[Entry]) -> None:
        """Where folders lie in folders, either may be the classes."""
        outer, inner = ({place.label for place in by_level(files, level).values()} for level in (1, -1))
        if 1 < len(outer) < len(inner) and self.options.labels_required:
            self.remark(
                f"the classes are the {len(inner)} innermost folders; folder_level=1 (--folder-level 1) takes the "
                f"{len(outer)} outermost, {some(sorted(outer), 4)}"
            )

    def documents(self, member: Member) -> Iterator[Document]:
        name, document = self._plan[member.entry.index]
        content = self.whole(member)
        if content is None:
            return
        if kind := by_magic(content, member.base):
            self._containers[member.entry.path] = kind
            return
        text = self._decode(content, member)
        if text is not None:
            yield Document(name, text, document.labels, document.split)

    def finish(self) -> None:
        if self._containers:
            path, kind = next(iter(self._containers.items()))
            if len(self._containers) >= self._decoded:
                raise CorpusError(
                    f"expected texts, found {len(self._containers):,} files that hold none; {path} is {kind}",
                    self.source.where,
                )
            self.remark(f"{len(self._containers):,} files hold no plain text and are left out; {path} is {kind}")
        if self.options.encoding is None and 2 * self._otherwise > max(self._decoded, 2):
            raise CorpusError(
                f"expected UTF-8, found {self._otherwise:,} of {self._decoded:,} files that are not; "
                f"{encoding_advice(self._samples)}",
                self.source.where,
            )
        if self._otherwise:
            first, second = (given, "UTF-8") if (given := self.options.encoding) else ("UTF-8", "latin-1")
            self.remark(
                f"{self._otherwise} documents are not valid {first} and were read as {second}; "
                "name another encoding (--encoding) if that is wrong"
            )

    @property
    def encoding(self) -> str:
        other = "UTF-8" if self.options.encoding is not None else "latin-1"
        return super().encoding + (f", {self._otherwise} files {other}" if self._otherwise else "")

    def _decode(self, data: bytes, member: Member) -> str | None:
        """The text by the first encoding that fits; None for a document that is reported as bad."""
        given = self.options.encoding
        attempts = self.encoding_of(data[:PEEK]), "latin-1" if given is None else "utf-8-sig"
        at = 0
        for encoding in attempts:
            try:
                text = data.decode(encoding)
            except UnicodeError as error:
                at = at or getattr(error, "start", 0)
            else:
                self._decoded += 1
                self._otherwise += encoding != attempts[0]
                if encoding != attempts[0] and len(self._samples) < SAMPLES:
                    self._samples.append(data[:SAMPLE])
                return text
        line = data.count(b"\n", 0, at) + 1
        self.bad(f"expected {given}, got bytes that are not; {ENCODING_HINT}", member, line)
        return None


def class_files(entries: list[Entry], source: Source, labels_required: bool) -> list[Entry]:
    """The files in class folders, sorted by path; all files where there are no folders and none is needed."""
    folders = {posixpath.dirname(entry.path) for entry in entries}
    above = {"/".join(parts[:i]) for f in folders if (parts := f.split("/")) for i in range(len(parts))}
    classes = folders - above - {""}
    if not classes:
        if labels_required:
            raise CorpusError(
                "expected a folder for each class with its documents in it, found no such folders; "
                "for one file of documents say its format (--format)",
                source.where,
            )
        return sorted(entries, key=lambda entry: entry.key)
    if labels_required and all(posixpath.basename(folder).lower() in SPLIT_WORDS for folder in classes):
        raise CorpusError(
            f"expected class folders, found only the splits {', '.join(sorted(classes))}; "
            "put each document in a folder named for its class",
            source.where,
        )
    files = [entry for entry in entries if posixpath.dirname(entry.path) in classes]
    return sorted(files, key=lambda entry: entry.key)


def _siblings(entry: Entry) -> tuple[str, str]:
    """What files must share to be one document: the folder above their classes, and the name."""
    folder, base = posixpath.split(entry.name)
    return posixpath.dirname(folder), base


def same_content(files: list[Entry], source: Source, longest: int) -> dict[int, bytes]:
    """A digest for every file that might be a copy of another; sizes tell most apart without reading."""
    sizes: dict[tuple[str, str], Counter[int | None]] = defaultdict(Counter)
    for entry in files:
        sizes[_siblings(entry)][entry.size] += 1
    doubtful = {
        entry.index
        for entry in files
        if (count := sizes[_siblings(entry)]).total() > 1 and (None in count or count[entry.size] > 1)
    }
    digests: dict[int, bytes] = {}
    if not doubtful:
        return digests
    with suppress(CorpusError):  # the reading pass meets the damage again and reports it
        for member in source.members(doubtful):
            with suppress(CorpusError), member.open() as stream:
                content = stream.read(longest + 1)
                if content.strip() and len(content) <= longest:
                    digests[member.entry.index] = hashlib.blake2b(content, digest_size=16).digest()
    return digests


def plan(files: list[Entry], digests: dict[int, bytes], places: dict[int, Place]) -> list[Planned]:
    """Files to documents; `files` come sorted by path."""
    groups: dict[object, list[Entry]] = {}
    for entry in files:
        digest = digests.get(entry.index)
        key: object = entry.index if digest is None else (_siblings(entry), digest)
        groups.setdefault(key, []).append(entry)
    shared = sum(len(group) > 1 for group in groups.values())
    contents = Counter(_siblings(group[0]) for group in groups.values())  # of every name
    if shared < max(LEAST_SHARED * len(groups), sum(count > 1 for count in contents.values())):
        groups = {entry.index: [entry] for entry in files}
    return [
        Planned(
            tuple(group),
            label_set(label_name(places[entry.index].label) for entry in group),
            places[group[0].index].split,
        )
        for group in groups.values()
    ]


def ids(planned: list[Planned]) -> list[str]:
    """The shortest candidate that no other document has at the same level."""
    folders = [posixpath.dirname(document.files[0].path) for document in planned]
    # An archive often has a folder of its own on top, which the folder itself has not.
    root = f"{posixpath.commonpath(folders)}/" if len(set(folders)) > 1 else ""
    candidates = [document.names(root) for document in planned]
    counts = [Counter(level) for level in zip(*candidates, strict=True)]
    return [
        next((name for name, count in zip(names, counts, strict=True) if count[name] == 1), names[-1])
        for names in candidates
    ]
