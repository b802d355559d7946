"""Reuters-21578, Distribution 1.0: SGML files of <REUTERS> elements.

The text of a document is its title and its body; a document that has neither (TYPE="UNPROC") gives the
whole of its TEXT element, or with `reuters_text="glm07"` nothing. Splits follow section VIII of the
collection's README; a document outside the chosen one has split "". The id is NEWID.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence

from lapwing.corpus.document import Document
from lapwing.corpus.fields import BadRecord, label_set, short
from lapwing.corpus.members import Member
from lapwing.corpus.reader import Reader, is_broken

OPEN, CLOSE = "<REUTERS", "</REUTERS>"
OPENING_TAG = re.compile(r"<REUTERS\b([^>]*)>")
ATTRIBUTE = re.compile(r'([A-Z]+)="([^"]*)"')
TAG = re.compile(r"<[^<>]*>")
REFERENCE = re.compile(r"&(lt|gt|amp|quot|apos|#[0-9]{1,7}|#x[0-9a-fA-F]{1,6});")
NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
BLOCK = 1 << 18


class ReutersReader(Reader):
    takes = ("encoding", "reuters_split", "reuters_labels", "reuters_text")
    extensions = (".sgm", ".sgml")
    unmistakable = True
    default_encoding = "latin-1"

    @classmethod
    def begins(cls, text: str, lines: Sequence[str]) -> bool:
        return re.match(r"<!DOCTYPE lewis|<REUTERS\b", lines[0].strip(), re.IGNORECASE) is not None

    def documents(self, member: Member) -> Iterator[Document]:
        with member.open() as stream:
            for line, element in self._elements(member, stream):
                if is_broken(element):
                    self.bad_encoding(member, line)
                    continue
                with self.reporting(member, line):
                    yield self._document(element)

    def _elements(self, member: Member, stream: io.BufferedReader) -> Iterator[tuple[int, str]]:
        """Elements without their closing tags, each with the line it begins on."""
        buffer, line, any_ = "", 1, False
        for block in self._blocks(member, stream):
            searched = max(0, len(buffer) - len(CLOSE))
            buffer += block
            done = 0
            while (end := buffer.find(CLOSE, max(done, searched))) >= 0:
                begin = buffer.rfind(OPEN, done, end)
                line += buffer.count("\n", done, max(begin, done))
                if begin < 0:
                    self.bad(f"expected {OPEN} ...> before {CLOSE}", member, line)
                    begin = done
                else:
                    if buffer.find(OPEN, done, begin) >= 0:
                        self.bad(f"expected {CLOSE} before the next {OPEN} ...>", member, line)
                    if end - begin > self.options.max_document:
                        self.too_long(member, line)
                    else:
                        yield line, buffer[begin:end]
                line += buffer.count("\n", begin, end)
                done, any_ = end + len(CLOSE), True
            buffer = buffer[done:]
            if len(buffer) > self.options.max_document:
                self.too_long(member, line)
                buffer = ""
        if OPEN in buffer:
            line += buffer[: buffer.find(OPEN)].count("\n")
            self.bad(f"expected {CLOSE} before the end of the file; is it truncated?", member, line)
        elif not any_:
            self.bad(f"expected {OPEN} ...> elements, found none", member, None)

    def _blocks(self, member: Member, stream: io.BufferedReader) -> Iterator[str]:
        """Runs of whole lines: decoding is shared with the other readers, searching wants more at once."""
        held: list[str] = []
        size = 0
        for text in self.lines(member, stream, gathered=True):
            held.append(text)
            size += len(text)
            if size >= BLOCK:
                yield "".join(held)
                held, size = [], 0
        yield "".join(held)

    def _document(self, element: str) -> Document:
        tag = OPENING_TAG.match(element)
        attributes = dict(ATTRIBUTE.findall(tag.group(1))) if tag else {}
        missing = [name for name in ("NEWID", "TOPICS", "LEWISSPLIT", "CGISPLIT") if name not in attributes]
        if missing:
            raise BadRecord(
                f"expected a <REUTERS> tag with {', '.join(missing)}, got {short(element.partition('>')[0])}"
            )
        field = content(element, self.options.reuters_labels.upper()) or ""
        labels = label_set(unescape(label).strip() for label in re.findall(r"<D>(.*?)</D>", field, re.DOTALL))
        split = split_of(attributes, self.options.reuters_split)
        return Document(attributes["NEWID"], text_of(element, self.options.reuters_text), labels, split)


def split_of(attributes: dict[str, str], scheme: str) -> str:
    if scheme == "modhayes":
        return {"TRAINING-SET": "train", "PUBLISHED-TESTSET": "test"}.get(attributes["CGISPLIT"], "")
    topics = ("YES",) if scheme == "modapte" else ("YES", "NO")
    if attributes["TOPICS"] not in topics:
        return ""
    return {"TRAIN": "train", "TEST": "test"}.get(attributes["LEWISSPLIT"], "")


def text_of(element: str, reading: str = "all") -> str:
    text = content(element, "TEXT")
    if text is None:
        raise BadRecord("expected a TEXT element inside <REUTERS>, found none")
    parts = [part for part in (content(text, "TITLE"), content(text, "BODY")) if part is not None]
    if reading == "glm07":  # names of companies stand as <NAME>, and went as tags
        return TAG.sub(" ", unescape("\n".join(parts)))
    return unescape("\n".join(parts) if parts else TAG.sub(" ", text))


def content(element: str, name: str) -> str | None:
    """What stands between <NAME ...> and </NAME>; None where there is no such element."""
    begin = element.find(f"<{name}")
    if begin < 0:
        return None
    begin = element.find(">", begin) + 1
    end = element.find(f"</{name}>", begin)
    if begin == 0 or end < 0:
        raise BadRecord(f"expected </{name}> after <{name}>, found none")
    return element[begin:end]


def unescape(text: str) -> str:
    """Character references to characters; control characters, which carry no text, to spaces."""
    return REFERENCE.sub(_character, text) if "&" in text else text


def _character(reference: re.Match[str]) -> str:
    name = reference.group(1)
    if name in NAMED:
        return NAMED[name]
    code = int(name[2:], 16) if name[1] == "x" else int(name[1:])
    if code < 32 or 127 <= code < 160 or 0xD800 <= code < 0xE000 or code > 0x10FFFF:
        return "\n" if code == 10 else " "
    return chr(code)
