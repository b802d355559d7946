"""A choice among parts that are installed; entry points are read when the choice is looked at."""

from __future__ import annotations

from collections.abc import Iterable

import click

from lapwing.plugins import plugins


class Installed(click.Choice):
    def __init__(self, group: str, *own: str) -> None:
        self.group = group
        super().__init__(own)

    @property
    def choices(self) -> tuple[str, ...]:
        return (*self.own, *plugins(self.group))

    @choices.setter
    def choices(self, own: Iterable[str]) -> None:
        self.own = tuple(own)
