"""Public face of the priors: `from lapwing.priors import Laplace`."""

from lapwing.stats.prior_files import read, read_bbr, read_words
from lapwing.stats.prior_table import INTERCEPT, OTHERS, PriorTable, by_group, by_idf, from_names, from_words
from lapwing.stats.priors import ElasticNet, Gaussian, Jeffreys, Laplace, Prior, norm_variance

__all__ = [
    "INTERCEPT",
    "OTHERS",
    "ElasticNet",
    "Gaussian",
    "Jeffreys",
    "Laplace",
    "Prior",
    "PriorTable",
    "by_group",
    "by_idf",
    "from_names",
    "from_words",
    "norm_variance",
    "read",
    "read_bbr",
    "read_words",
]
