"""How raw scores became the scores that a model predicts by, and how exclusive classes share what is certain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from lapwing.stats.links import Link


class Coupling(NamedTuple):
    """Of exclusive classes fitted one by one: p_k ∝ e^{u s_k} F(s_k)^v, F the link's distribution function."""

    u: float = 0.0
    v: float = 1.0

    def logits(self, scores: np.ndarray, link: Link) -> np.ndarray:
        """ln p_k but for a term common to all k: rises with s_k, so the largest score wins."""
        return self.u * scores - self.v * link.loss(scores, 1.0)


NORMALISED = Coupling()


@dataclass(frozen=True, eq=False)
class Calibration:
    """A line for every row, s → slope·s + offset, learned from documents that the fits had not seen.

    weights, intercepts   as they were fitted, and proved: a model's own are these times the slope, plus the offset
    """

    slope: np.ndarray
    offset: np.ndarray
    weights: sp.csr_matrix
    intercepts: np.ndarray

    @property
    def predicting(self) -> tuple[sp.csr_matrix, np.ndarray]:
        """Weights and intercepts of the calibrated scores."""
        data = self.weights.data * np.repeat(self.slope, np.diff(self.weights.indptr))
        scaled = sp.csr_matrix((data, self.weights.indices, self.weights.indptr), shape=self.weights.shape)
        return scaled, self.intercepts * self.slope + self.offset
