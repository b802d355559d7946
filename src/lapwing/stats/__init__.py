"""Links and priors, the objective they make, and the certificate that it was minimised."""

from lapwing.stats.objective import Certificate, PriorArrays, certify
from lapwing.stats.result import FitResult
from lapwing.stats.stationary import Stationarity, certify_stationary

__all__ = ["Certificate", "FitResult", "PriorArrays", "Stationarity", "certify", "certify_stationary"]
