"""BBR's groups of documents (-g, --gvar): every feature has a weight in each group, drawn to one that they share.

A line of data has n numbers 0 or 1 after its label, the groups that the document is in. With w_jg the weight of feature
j in group g, the constant among the features, BBR 4.03 maximises

    Σ_i ln p(y_i | s_i) + Σ_j [ ln p1(μ_j) + Σ_g ln p2(w_jg - μ_j) ],   s_i = Σ_j x_ij Σ_{g of i} w_jg,

over w and μ, p1 of variance V (-V) around the feature's own mode and p2 of variance --gvar around 0, both of the same
shape and both times the feature's own factor. With w_jg = μ_j + δ_jg that is an ordinary problem over two kinds of
columns: x_ij times the number of groups of i for μ_j, and x_ij in the documents of g for δ_jg.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from lapwing.errors import InputError, SettingsError
from lapwing.stats.prior_table import INTERCEPT, OTHERS, PriorTable, Row
from lapwing.stats.priors import Prior, as_prior

CONSTANT = "0"


def split_groups(lines: Iterable[str], count: int, name: str) -> tuple[list[str], np.ndarray]:
    """Lines without their group columns, and (documents, count) the groups that documents are in."""
    plain, groups = [], []
    for number, line in enumerate(lines, start=1):
        body = line.partition("#")[0].split()
        if not body:
            plain.append(line)
            continue
        cells = body[1 : 1 + count]
        if len(cells) < count or any(cell not in ("0", "1") for cell in cells):
            raise InputError(
                f"{name}: line {number}: expected {count} groups of 0 or 1 after the label, got {' '.join(cells)!r}"
            )
        groups.append([cell == "1" for cell in cells])
        plain.append(" ".join([body[0], *body[1 + count :]]) + "\n")
    return plain, np.array(groups, dtype=bool).reshape(len(groups), count)


def in_group(feature: object, group: int) -> str:
    """The name of a feature's column in a group; groups are numbered from 0, as in BBR's files."""
    return f"{feature}@{group}"


def by_groups(names: Sequence[str], matrix: sp.csr_matrix, groups: np.ndarray) -> tuple[list[str], sp.csr_matrix]:
    """The columns of every group, the constant's after those of the features."""
    whole = sp.hstack([matrix, np.ones((matrix.shape[0], 1))], format="csr")
    parts = [sp.diags_array(column.astype(np.float64)) @ whole for column in groups.T]
    named = [in_group(name, g) for g in range(groups.shape[1]) for name in (*names, CONSTANT)]
    return named, sp.csr_matrix(sp.hstack(parts, format="csr"))


def with_shared(names: Sequence[str], matrix: sp.csr_matrix, groups: np.ndarray) -> tuple[list[str], sp.csr_matrix]:
    """The columns of what all groups share, and those of every group."""
    whole = sp.hstack([matrix, np.ones((matrix.shape[0], 1))], format="csr")
    shared = sp.diags_array(groups.sum(axis=1).astype(np.float64)) @ whole
    named, parts = by_groups(names, matrix, groups)
    return [*names, CONSTANT, *named], sp.csr_matrix(sp.hstack([shared, parts], format="csr"))


def group_prior(names: Sequence[str], count: int, variance: float, prior: str | Prior) -> PriorTable:
    """The prior over the columns of `with_shared`; `variance` is that of the groups, `prior` that of the features."""
    rows_of: dict[str, Row] = {}
    base = as_prior(prior)
    if isinstance(base, PriorTable):
        for one in base.rows:
            rows_of[CONSTANT if one.feature == INTERCEPT else one.feature] = one
        base = base.shape
    if OTHERS in rows_of or any(np.isfinite([one.lower, one.upper]).any() for one in rows_of.values()):
        raise SettingsError("groups go with priors of two sides, in BBR too; leave --pos, --neg and skews out")
    rows = [Row(INTERCEPT, variance=0.0, unit="")]  # the constant is a column in each group
    for name in (*names, CONSTANT):
        own = rows_of.get(name, Row(name))
        if own.unit not in ("", "x"):
            raise own.error("expected a variance that is a number where there are groups")
        if own.says != Row(name).says:
            rows.append(replace(own, feature=name))
        factor = own.variance if own.unit == "x" else own.variance / variance
        rows += [Row(in_group(name, g), variance=variance * factor, unit="") for g in range(count)]
    return PriorTable(tuple(rows), base, strict=False)


def group_weights(names: Sequence[str], weights: np.ndarray, count: int) -> tuple[dict[int, float], ...]:
    """w of every group by feature, 0 the constant, from the weights of the columns of `with_shared`; no zeros."""
    parts = weights.reshape(1 + count, len(names) + 1)
    ids = [*map(int, names), 0]
    sums = parts[0] + parts[1:]
    return tuple({i: float(w) for i, w in zip(ids, row, strict=True) if w != 0.0} for row in sums)
