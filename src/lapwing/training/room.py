"""What a setting would take of memory, said before it is asked for."""

from __future__ import annotations

from lapwing.engine.memory import memory
from lapwing.errors import SettingsError
from lapwing.stats.links import as_link
from lapwing.stats.priors import as_prior
from lapwing.training.settings import TrainSettings

SOFTMAX = (6, 8)  # numbers per class: so many for a document, and so many for a feature
FITTED = 25  # numbers for a document, while a category is fitted
JUDGED = 6  # numbers for a document and a category whose out-of-fold scores are looked at


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


def threads_within(memory: int, documents: int, threads: int) -> int:
    """How many of these threads a quarter of the memory lets have their numbers for every document."""
    return max(1, min(threads, int(memory / 4 / (8 * FITTED * max(documents, 1)))))


def check_stored(settings: TrainSettings, memory: int) -> None:
    """What goes over a matrix on disk, and what would copy it."""
    copying = {
        "a search for n-grams (--ngrams)": settings.ngrams is not None,
        'multi_class="multinomial"': settings.joint,
        "standardize": settings.standardize,
        "select_features": settings.select_features is not None,
        "max_features": settings.max_features is not None,
        f"solver={settings.solver!r}": settings.solver != "auto",
        f"link={settings.link!r}": as_link(settings.link).code is None,
        "the Jeffreys prior": not as_prior(settings.prior).convex,
    }
    if any(copying.values()):
        what = next(name for name, copies in copying.items() if copies)
        raise SettingsError(
            f"{what} needs all documents in memory, and for these it would take more than {_size(memory)}; allow more "
            "(--memory), or do without"
        )


def _size(size: float) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 1e8 else f"{size / 1e6:,.1f} MB"
