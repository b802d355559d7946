"""One parameter, and what a table of them is for. Imports nothing heavy: `lapwing train --help` reads the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from numbers import Integral
from typing import Any, TypeVar

from lapwing.errors import SettingsError

T = TypeVar("T")

LARGEST = 2**31  # of whole numbers: kernels count with 32 bits


@dataclass(frozen=True)
class About:
    """What is known of a parameter besides its name, type and default.

    help      what the option does, in a sentence
    python    what is to be known of it in Python, where that is more than `help`
    group     the heading of its option in --help; without one there is no option
    rare      whether its option is shown by --help-all alone
    choices   all values there are, where they are few
    words     the choices that the option has, where they are others
    least     of a number, the smallest; `most` the largest
    kind      how the option's word becomes a value, where the type does not tell (lapwing/cli/_options.py)
    name      what options and estimators call it, where the settings that it is in have a shorter name for it
    flag      of the option, where it is not the name
    start     default of the option, where it is not that of the settings
    metavar   what stands for the option's value in help
    """

    help: str = ""
    python: str = ""
    group: str = ""
    rare: bool = False
    choices: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    kind: str = ""
    name: str = ""
    flag: str = ""
    start: Any = ...
    metavar: str | None = None

    @property
    def single(self) -> bool:
        """Whether it is one of those that options or estimators set, not settings of their own."""
        return bool(self.group or self.choices)


def parameter(default: Any, help: str = "", **known: Any) -> Any:
    """A field of a table; see `About`. The default is made anew for each where it is a class."""
    metadata = {"about": About(help, **known)}
    if isinstance(default, type):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, metadata=metadata)


def about(one: Field[Any]) -> About:
    return one.metadata.get("about", About())


def flat_names(table: type[Any]) -> dict[str, str]:
    """Name in options and estimators → name in the settings, of all parameters of a table."""
    return {about(one).name or one.name: one.name for one in fields(table) if about(one).single}


def checked(settings: object) -> None:
    """Raise SettingsError for a value that its parameter cannot have; whole numbers become plain ones."""
    check_choices(settings)
    for one in fields(settings):  # type: ignore[arg-type]
        if one.type in ("int", "int | None"):
            whole(settings, one.name, about(one).least, optional="None" in one.type)


def check_choices(settings: object) -> None:
    for one in fields(settings):  # type: ignore[arg-type]
        choices, value = about(one).choices, getattr(settings, one.name)
        if choices and value not in choices:
            raise SettingsError(f"{one.name} must be one of {', '.join(choices)}, got {value!r}")


def whole(settings: object, name: str, least: float | None, *, optional: bool = False) -> None:
    value = getattr(settings, name)
    if optional and value is None:
        return
    if isinstance(value, bool) or not isinstance(value, Integral) or (least is not None and value < least):
        wanted = "a whole number" + ("" if least is None else f" of {least} or more")
        raise SettingsError(f"{name} must be {wanted}, got {value!r}")
    if abs(value) >= LARGEST:  # type: ignore[operator]
        raise SettingsError(f"{name} must be less than 2^31, got a number of {len(str(value))} digits")
    object.__setattr__(settings, name, int(value))


def described(kind: type[T]) -> type[T]:
    """A class of settings whose docstring lists its parameters, too."""
    known = {one.name: about(one) for one in fields(kind)}  # type: ignore[arg-type]
    kind.__doc__ = "\n    ".join(
        [f"{kind.__doc__}\n", *(f"{name}  {one.python or one.help}" for name, one in known.items())]
    )
    return kind


def taken(table: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Of the values by the names of options and estimators those of a table, by its own names."""
    return {own: values[name] for name, own in flat_names(table).items() if name in values}


def flat(settings: object) -> dict[str, Any]:
    """The parameters in some settings, by the names of options and estimators."""
    return {name: getattr(settings, own) for name, own in flat_names(type(settings)).items()}
