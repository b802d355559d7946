"""Public face of the priors: `from lapwing.priors import Laplace`."""

from lapwing.model.priors import ElasticNet, Gaussian, Laplace, Prior, norm_variance

__all__ = ["ElasticNet", "Gaussian", "Laplace", "Prior", "norm_variance"]
