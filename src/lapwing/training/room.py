"""What a setting would take of memory, said before it is asked for."""

from __future__ import annotations

import os

from lapwing.errors import SettingsError

SOFTMAX = (6, 8)  # numbers per class: so many for a document, and so many for a feature
JUDGED = 6  # numbers for a document and a category whose out-of-fold scores are looked at


def memory() -> float:
    """Bytes of this machine; infinite where it does not tell."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return float("inf")


def check_room(what: str, numbers: float, instead: str) -> None:
    """A sentence where so many numbers do not fit."""
    needed, there = 8.0 * numbers, memory()
    if needed > there:
        raise SettingsError(
            f"{what} would take about {_size(needed)} of memory, and this machine has {_size(there)}; {instead}"
        )


def check_softmax(classes: int, documents: int, features: int) -> None:
    by_document, by_feature = SOFTMAX
    check_room(
        f'multi_class="multinomial" over {classes:,} classes, {documents:,} documents and {features:,} features',
        classes * (by_document * float(documents) + by_feature * float(features)),
        'use multi_class="ovr", a model for each class, whose memory does not grow with their number',
    )


def check_judged(categories: int, documents: int) -> None:
    check_room(
        f"scores of {documents:,} held-out documents in {categories:,} categories",
        JUDGED * float(categories) * documents,
        "leave the threshold at its default, for which some categories are judged for all, or take "
        'threshold_data="train"',
    )


def _size(size: float) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 1e8 else f"{size / 1e6:,.1f} MB"
