"""Model files of BBR and BMR, laid out as their programs do."""

from __future__ import annotations

import os
from collections.abc import Iterator

from lapwing.files import write_beside
from lapwing_bbr.contents import BBR_TITLE, BMR_TITLES, LINK_CODES, BbrModel, BmrModel


def write_bbr_model(model: BbrModel, path: str | os.PathLike[str]) -> None:
    """Beside `path`, then renamed: as BBRtrain 4.03 lays it out, to the blank."""
    if model.by_group:
        order = sorted({i for weights in model.by_group for i in weights} - {0})
        betas = list(_of_groups(order, model.by_group))
    else:
        order = sorted(model.weights)
        betas = [" ".join(["beta", *(f"{model.weights[i]:.12e}" for i in order), f"{model.intercept:.12e}"])]
    kinds = (LINK_CODES[model.link], 1, model.tuned, int(model.standardized))
    lines = [
        f"{BBR_TITLE} ver 2",
        *([f"ngroups {model.groups}"] if model.groups else []),
        "tfMethod 0",
        "idfMethod 0",
        f"cosineNormalize {int(model.cosine)}",
        " ".join(["featRestrict", *map(str, model.features)]),
        "endofheader",
        f"modelname {model.name}",
        f"topic {model.topic}",
        f"modelType {' '.join(map(str, kinds))} ",
        "design 0",
        " ".join(["topicFeats", *map(str, order)]),
        *betas,
        f"threshold {model.threshold:.12e}",
        "endoftopic",
    ]
    write_beside(path, ("\n".join(lines) + "\n").encode())


def _of_groups(order: list[int], groups: tuple[dict[int, float], ...]) -> Iterator[str]:
    for place, feature in enumerate([*order, 0]):
        cells = [f"{g}:{weights[feature]:.12e}" for g, weights in enumerate(groups) if feature in weights]
        if cells:
            yield " ".join(["betaHierSparse", str(place), *cells])


def write_bmr_model(model: BmrModel, path: str | os.PathLike[str]) -> None:
    """With the word featRestrict, without which BMRclassify knows no feature."""
    kinds = (1, 1, 0, int(model.standardized), 0 if model.reference is None else model.reference)
    lines = [
        f"{BMR_TITLES[0]} model file ver 2.5",
        " ".join(["classes", *model.classes]),
        "tfMethod 0",
        "idfMethod 0",
        f"cosineNormalize {int(model.cosine)}",
        " ".join(["featRestrict", *map(str, model.features)]),
        f"modelname {model.name}",
        f"nDesignParams {len(model.features) + 1}",
        f"modelType {' '.join(map(str, kinds))} ",
        "design 0",
        " ".join(["topicFeats", *map(str, model.features)]),
        "endofheader",
    ]
    for label, row, intercept in zip(model.classes, model.weights, model.intercepts, strict=True):
        cells = [f"{i}:{row[i]:.12e}" for i in sorted(row)] + [f"0:{intercept:.12e}"] * (intercept != 0.0)
        lines.append(" ".join(["betaClassSparse", label, *cells]))
    write_beside(path, ("\n".join(lines) + "\n").encode())
