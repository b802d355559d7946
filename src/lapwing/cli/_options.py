"""Options from the table of parameters (lapwing/params)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, fields
from typing import Any, ClassVar, TypeVar

import click

from lapwing.cli._installed import Installed
from lapwing.errors import SettingsError
from lapwing.files import read_regular
from lapwing.params import about

F = TypeVar("F", bound=Callable[..., Any])


class Option(click.Option):
    """An option that knows its heading in help, and whether --help leaves it to --help-all."""

    def __init__(self, *args: Any, group: str = "", rare: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.group, self.rare = group, rare


class Size(click.ParamType):
    """A number of bytes: 5000, 64MB, 1.5 GB."""

    name = "size"
    units: ClassVar = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)\s*([KMGT]?)B?", str(value).strip().upper())
        size = int(float(match[1]) * self.units[f"{match[2]}B" if match[2] else ""]) if match else 0
        if not 1 <= size < 2**62:
            self.fail(f"expected a size such as 64MB or 2GB, got {str(value)[:40]!r}", param, ctx)
        return size


class Names(click.ParamType):
    """Names with commas between them."""

    name = "names"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        return tuple(name.strip() for name in str(value).split(",") if name.strip())


class Word(click.ParamType):
    """A word that `read` makes a value of."""

    def __init__(self, read: Callable[[str], Any], name: str = "text") -> None:
        self.read, self.name = read, name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self.read(value)
        except ValueError as error:
            if isinstance(error, SettingsError):
                raise
            self.fail(str(error), param, ctx)


def number_or_name(value: str) -> float | str:
    try:
        return float(value)
    except ValueError:
        return value


def _whole_or_name(value: str) -> float | str:
    number = number_or_name(value)
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _number_or_share(value: str) -> int | float:
    """A whole number of 1 or more, or a share with a point in it."""
    try:
        number = float(value) if "." in value else int(value)
    except ValueError:
        number = 0
    if number <= 0 or (isinstance(number, float) and number > 1.0):
        raise ValueError(f"expected a whole number of 1 or more, or a share such as 0.9, got {value!r}")
    return number


def _numbers(value: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in value.split(","))
    except ValueError:
        raise SettingsError(f"--cv-variances must be numbers with commas between them, got {value!r}") from None


def _stop_words(value: str) -> str | tuple[str, ...]:
    if value in ("smart", "none"):
        return value
    try:
        return tuple(read_regular(value).decode().split())
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"--stop-words must be smart, none or a file of words; {value}: {error}") from error


def _variance(value: str) -> str | float:
    """A name, a number, or that of another model."""
    name, _, path = value.partition(":")
    if name != "from":
        return number_or_name(value)
    from lapwing.formats import load
    from lapwing.training.again import variance_of

    return variance_of(load(path))


def _threads(value: str) -> int:
    if int(value) == 0:
        raise ValueError("0 threads do no work; give a number, or -1 for every core")
    return int(value)


KINDS: dict[str, click.ParamType] = {
    "several": click.STRING,
    "number or name": Word(number_or_name),
    "whole or name": Word(_whole_or_name),
    "number or share": Word(_number_or_share, "number or share"),
    "numbers": Word(_numbers),
    "stop words": Word(_stop_words),
    "variance": Word(_variance),
    "threads": Word(_threads, "integer"),
    "column": Word(lambda value: int(value) if value.isdecimal() else value),
    "names": Names(),
    "size": Size(),
    "solver": Installed("solvers", "auto", "exact", "greedy"),
}


def option_of(one: Field[Any]) -> Option:
    """The option of a parameter; it has the parameter's name."""
    known, kind = about(one), str(one.type)
    name = known.name or one.name
    flag = f"--{(known.flag or name).replace('_', '-')}"
    default = one.default if known.start is ... else known.start
    how: dict[str, Any] = {"help": known.help, "group": known.group, "rare": known.rare, "metavar": known.metavar}
    if kind == "bool":
        if known.flag == f"no-{name}":
            return Option([flag], is_flag=True, **how)
        flag = f"{flag}/--no-{flag[2:]}" if default else flag
        return Option([flag, name], default=default, is_flag=True, show_default=default, **how)
    how["show_default"] = default not in (None, (), "") and "default" not in known.help
    if known.kind:
        how["type"] = KINDS[known.kind]
    elif choices := known.words or known.choices:
        how["type"] = click.Choice(choices)
    elif kind.startswith("tuple[int, int]"):
        how |= {"type": int, "nargs": 2}
    elif kind.startswith("int"):
        most = None if known.most is None else int(known.most)
        how["type"] = int if known.least is None else click.IntRange(int(known.least), most)
    elif kind.startswith("float"):
        how["type"] = float if known.least is None else click.FloatRange(known.least, known.most)
    return Option([flag, name], default=default, multiple=known.kind == "several", **how)


def options_of(*tables: type[Any], after: Mapping[str, Sequence[click.Option]] | None = None) -> list[click.Option]:
    """The options of all parameters that have one; `after` some of them others."""
    made: list[click.Option] = []
    for one in (one for table in tables for one in fields(table) if about(one).group):
        made += [option_of(one), *(after or {}).get(one.name, ())]
    return made
