"""Which runs there are: method, how its variance is chosen, and the features it gets."""

from __future__ import annotations

from dataclasses import dataclass

from lapwing_papers.glm07.paper import SIZES

PRIOR = {"lasso": "laplace", "ridge": "gaussian"}
MEASURES = ("bns", "chi2", "pearson")
CLG_TOLERANCE = {"clg": 5e-4, "clg-loose": 5e-3}  # GLM07 section 4.2, and ten times that
SOLVERS = {"auto": "", "clg": ", CLG", "clg-loose": ", CLG stopped early"}
THRESHOLDS = ("default", "tuned")


@dataclass(frozen=True)
class Run:
    """One classifier per category.

    method    lasso, ridge or svm
    variance  "norm", "cv", or "" for the SVM, whose C is 1/mean squared norm
    measure   what features are selected by, "" where all are used
    features  how many, None for all
    solver    "auto"; "clg", the paper's algorithm with its rule for stopping; or "clg-loose", which stops sooner
    """

    method: str
    variance: str = ""
    measure: str = ""
    features: int | None = None
    solver: str = "auto"

    @property
    def name(self) -> str:
        """Its key in results.json."""
        parts = [self.method, self.variance, "" if self.solver == "auto" else self.solver]
        parts.append("all" if self.features is None else f"{self.measure}-{self.features}")
        return "/".join(part for part in parts if part)

    @property
    def title(self) -> str:
        variance = {"norm": ", norm-based variance", "cv": ", variance by cross-validation", "": ""}[self.variance]
        return f"{self.method}{variance}{SOLVERS[self.solver]}"


FULL = (
    Run("lasso", "norm"),
    Run("lasso", "cv"),
    Run("ridge", "norm"),
    Run("ridge", "cv"),
    Run("svm"),
)
PAPERS_SOLVER = tuple(Run("lasso", "norm", solver=solver) for solver in CLG_TOLERANCE)
ON_SELECTED = (("ridge", "norm"), ("ridge", "cv"), ("lasso", "norm"), ("lasso", "cv"), ("svm", ""))
SELECTED = tuple(
    Run(method, variance, measure, size) for measure in MEASURES for size in SIZES for method, variance in ON_SELECTED
)
EVERY_RUN = (*FULL, *PAPERS_SOLVER, *SELECTED)
