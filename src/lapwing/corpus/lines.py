"""A text per line; its labels, if any, stand in front, as fastText has them: `__label__grain Wheat rose`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lapwing.corpus.document import Document
from lapwing.corpus.fields import label_name, label_set
from lapwing.corpus.members import Member
from lapwing.corpus.reader import Reader, is_broken

LABELS = re.compile(r"\s*((?:__label__\S+\s*)+)", re.ASCII)  # a blank that does not break is part of a label


def labels_and_text(line: str) -> tuple[list[str], str]:
    """The names in front of a line, and its text without the blanks around it."""
    prefix = LABELS.match(line)
    names = re.findall(r"(?a:__label__(\S+))", prefix[1]) if prefix else []
    return names, (line[prefix.end() :] if prefix else line).strip()


class LinesReader(Reader):
    exclusive = True
    extensions = (".txt", ".text", ".ft")
    telling = ()

    def documents(self, member: Member) -> Iterator[Document]:
        file_split = self.split_of(member)
        with member.open() as stream:
            for number, line in enumerate(self.lines(member, stream), start=1):
                if is_broken(line):
                    self.bad_encoding(member, number, line)
                elif line.strip():
                    names, text = labels_and_text(line)
                    labels = label_set(map(label_name, names))
                    self.exclusive = self.exclusive and len(labels) < 2
                    yield Document(f"{self.name_of(member)}:{number}", text, labels, file_split)
