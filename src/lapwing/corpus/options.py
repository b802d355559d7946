"""How a source is to be read: every option of every reader, in one value."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any

from lapwing.corpus.document import SPLITS
from lapwing.errors import SettingsError
from lapwing.params import ReadParameters, check_choices


@dataclass(frozen=True)
class ReadOptions(ReadParameters):
    """The options of `read` and `stream`. One that means nothing for the format at hand is an error.

    Every format
    encoding         name of the text encoding; bytes that are not valid in it make a broken record.
                     None: UTF-8, but latin-1 for Reuters. In a folder per class, a minority of documents that
                     are not valid UTF-8 is read as latin-1, and documents not valid in a given encoding but
                     valid UTF-8 as that; both are logged. Where most are not UTF-8 that is an error, which
                     names the encodings they look like
    skip_bad         go on after a broken record and count it, instead of raising
    split            keep the documents of this split only
    categories       keep these labels only; documents stay, possibly without labels
    max_document     characters of one document, bytes where a file is one; a longer one is a broken record
    max_expansion    how many times as large as a compressed file what is inside may be
    labels_required  a token file without its qrels, or a folder without class folders, is an error;
                     False makes them unlabelled documents

    folder
    folder_level     the class is the folder at this level below what all documents share: 1 for the first, -1 for
                     the one a file lies in; 1 is `course` of course/cornell/x.html. Folders of a split do not count.
                     None: the folders that have files and no further such folders below
    label_from       a regular expression, looked for in the path below the source: its group `label`, else its
                     first one, else all of it is the class; a group `split` is the split. Files without it are no
                     documents

    csv, tsv, and as names of keys jsonl, parquet, arrow, ris; as names of headers mail
    text_column, label_column   a name from the header, or a number from 1
    time_column      when a document was written, for folds that only look back: numbers, or dates of one form
    group_column     documents of one group are left out together; an empty cell or null is no group
    numeric_columns, categorical_columns   names of columns whose values are read beside the text, numbers or words; not
                     for mail
    label_separator  a label cell holds several labels, separated by this; makes the source multi-label
    quote            the quote character; "" where quotes have no meaning
    header           the first row names the columns; False: it is data, columns have numbers only

    rcv1
    qrels            path of the file with lines `CATEGORY document 1`; None: looked for beside the tokens

    reuters
    reuters_split    modapte, modlewis or modhayes, as the collection's README defines them
    reuters_labels   the field that holds the labels: topics, places, people, orgs or exchanges
    reuters_text     all: title and body, or what else there is; glm07: these two elements only, and nothing that
                     stands between < and >, as the tools of that paper read them: some documents are empty then

    smart
    smart_require    letters of the fields that must not be empty, "TWM" for GLM07's OHSUMED
    """

    def __post_init__(self) -> None:
        if self.categories is not None:
            if isinstance(self.categories, str):
                raise SettingsError(f"categories must be a list of labels, got {self.categories!r}")
            object.__setattr__(self, "categories", tuple(str(label) for label in self.categories))
        _check_columns(self)
        _check_encoding(self.encoding)
        for name in ("max_document", "max_expansion"):
            if not 1 <= getattr(self, name) < 2**62:
                raise SettingsError(f"{name} must be 1 or more, got {getattr(self, name)!r}")
        check_choices(self)
        if self.split is not None:
            check_choice("split", self.split, SPLITS)
        if self.folder_level == 0:
            raise SettingsError("folder_level must be 1 or more from the top, or -1 or less from the file, got 0")
        if self.label_from is not None:
            if self.folder_level is not None:
                raise SettingsError("folder_level has no place beside label_from, which takes classes from whole paths")
            _check_pattern(self.label_from)
        if self.label_separator == "":
            raise SettingsError("label_separator must not be empty; leave it out for one label per cell")
        if len(self.quote) > 1 or (self.quote and self.quote in " ,\t\n\r"):
            raise SettingsError(f'quote must be a character such as \', or "" for none, got {self.quote!r}')
        if self.smart_require and not (self.smart_require.isascii() and self.smart_require.isalpha()):
            raise SettingsError(f'smart_require must be letters such as "TWM", got {self.smart_require!r}')

    @classmethod
    def of(cls, options: dict[str, Any]) -> ReadOptions:
        """Options from keywords; an unknown keyword is an error that lists the known ones."""
        known = [f.name for f in fields(cls)]
        for name in options:
            if name not in known:
                near = get_close_matches(name, known, n=1)
                hint = f"; did you mean {near[0]}?" if near else ""
                raise SettingsError(f"unknown option {name!r} for reading a corpus{hint} (options: {', '.join(known)})")
        return cls(**options)


def _check_columns(options: ReadOptions) -> None:
    for name in ("numeric_columns", "categorical_columns"):
        columns = getattr(options, name)
        if isinstance(columns, str) or not all(isinstance(one, str) and one for one in columns):
            raise SettingsError(f"{name} must be a list of names of columns, got {columns!r}")
        object.__setattr__(options, name, tuple(columns))
    columns = (*options.numeric_columns, *options.categorical_columns)
    if twice := sorted({one for one in columns if columns.count(one) > 1}):
        raise SettingsError(f"a column is numeric or categorical, and stands once; {twice[0]!r} stands twice")


def check_choice(option: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise SettingsError(f"{option} must be one of {', '.join(choices)}, got {value!r}")


def _check_pattern(pattern: str) -> None:
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise SettingsError(
            f"label_from must be a regular expression such as '([^/]+)/[^/]+$', got {pattern!r}: {error}"
        ) from None


def _check_encoding(name: str | None) -> None:
    if name is None:
        return
    try:
        codecs.lookup(name)
        b"abcd".decode(name)  # lookup() also knows codecs that are no text encodings, such as "hex"
    except UnicodeDecodeError:
        pass
    except (LookupError, ValueError, TypeError):
        raise SettingsError(
            f'encoding must be one that Python knows, such as "utf-8", "latin-1" or "gb18030", got {name!r}'
        ) from None
