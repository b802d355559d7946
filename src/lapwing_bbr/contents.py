"""What is in the model files of BBR (one category) and BMR (polytomous).

BBR 4.03, whose reader goes by tokens and ignores line ends; betas in the order of topicFeats, the intercept last:

    Bayesian Binary Regression ver 2
    tfMethod 0 | idfMethod 0 | cosineNormalize 0 | featRestrict 1 2 3 …
    endofheader
    modelname M | topic <class> | modelType link optimizer threshold-tuning standardize | design 0
    topicFeats 1 2 … | beta b1 b2 … intercept | threshold t
    endoftopic

With groups (-g n) the header has `ngroups n` first, and with --gvar there are, in place of beta, lines

    betaHierSparse place group:weight …

of places in topicFeats, counted from 0, the intercept's after the last, and of groups, counted from 0. (BBR 4.03 itself
writes the address of those lines into its file, and not the lines.)

BMR 3.03, whose reader goes by lines; the intercept is feature 0, last:

    Bayesian Polytomous Regression model file ver 2.5
    classes 1 2 3 | tfMethod 0 | idfMethod 0 | cosineNormalize 0 | featRestrict 1 2 3 …
    nDesignParams d | modelType … | design 0 | topicFeats 1 2 3 …
    endofheader
    betaClassSparse CLASS id:coefficient …

A document is in the category if its score is at least the threshold; -DBL_MAX says yes to everything.
"""

from __future__ import annotations

from dataclasses import dataclass

BBR_TITLE = "Bayesian Binary Regression"
BMR_TITLES = (
    "Bayesian Polytomous Regression",
    "Bayesian Multinomial Regression",
    "Multinomial logistic regression model format",
    "Model file produced by BMR",
)
LINK_CODES = {"probit": 0, "logit": 1}


@dataclass(frozen=True)
class BbrModel:
    """One category over features that are whole numbers.

    features        those that training knew
    weights         feature → coefficient, zeros left out
    threshold       on the linear score, which must reach it
    tuned           BBR's number of the rule by which it was tuned (-t)
    groups          how many columns of groups its documents have (-g)
    by_group        where these have weights of their own (--gvar): those of each, 0 the intercept; `weights` are empty
    """

    features: tuple[int, ...]
    weights: dict[int, float]
    intercept: float
    threshold: float = 0.0
    name: str = ""
    topic: str = "<class>"
    link: str = "logit"
    cosine: bool = False
    standardized: bool = False
    tuned: int = 0
    groups: int = 0
    by_group: tuple[dict[int, float], ...] = ()


@dataclass(frozen=True)
class BmrModel:
    """A polytomous model: one row of coefficients per class, softmax over them."""

    classes: tuple[str, ...]
    features: tuple[int, ...]
    weights: tuple[dict[int, float], ...]
    intercepts: tuple[float, ...]
    name: str = ""
    cosine: bool = False
    standardized: bool = False
    reference: int | None = None
