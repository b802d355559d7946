"""Everything lapwing raises on purpose.

LapwingError
├── InputError (also ValueError)      what was given cannot be used; commands exit with 2
│   ├── CorpusError                   a document source, with file and line
│   ├── ModelFileError                a model file that is truncated, altered or not ours
│   ├── PriorError                    prior knowledge that is malformed, or contradicts itself or the data
│   └── SettingsError                 an option outside its range
└── MissingExtraError (also ImportError)   an optional part that is not installed

ConvergenceWarning (UserWarning)      a fit stopped before its tolerance
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence


class LapwingError(Exception):
    """Base of every error raised on purpose."""


class InputError(LapwingError, ValueError):
    """What was given cannot be used."""


class CorpusError(InputError):
    """A document source that cannot be read; `path` and `line` say where."""

    def __init__(self, message: str, path: str | None = None, line: int | None = None) -> None:
        self.path = path
        self.line = line
        where = "" if path is None else path if line is None else f"{path}, line {line}"
        super().__init__(f"{where}: {message}" if where else message)


class ModelFileError(InputError):
    """A model file that is truncated, altered, too new, or not a model file at all."""


class PriorError(InputError):
    """Prior knowledge that is malformed, or contradicts itself or the data; the message says where it stands."""


class SettingsError(InputError):
    """An option outside its range."""


class MissingExtraError(LapwingError, ImportError):
    """An optional part of lapwing whose dependencies are not installed."""


class ConvergenceWarning(UserWarning):
    """A fit stopped before its tolerance was reached."""


def some(labels: Sequence[Hashable], limit: int = 8) -> str:
    """The first few, and how many more."""
    shown = ", ".join(str(label) for label in labels[:limit])
    return shown if len(labels) <= limit else f"{shown} and {len(labels) - limit} more"
