"""EM with latent scores and latent prior variances (EGJLM03 section 3, as corrected), for both links.

Given β the latent variables have known expectations (E-step); given those, β is a weighted ridge regression
(M-step). In the shared objective's words each pair of steps minimises a quadratic that touches it at β and
lies above it everywhere, so the log-posterior never falls:

    E   w_i = majorant(r_i), v_i = s_i + y_i θ_i / w_i      the latent score: w = 1 and Eq. 10 for probit,
                                                           tanh(s/2)/2s (Pólya-Gamma) for logit
        ω_j = l1_j/|b_j| + l2_j, or 1/b_j² under Jeffreys   E[1/τ_j | b], b = β - mode; EGJLM03's √γ is l1
    M   b = U (I + U XᵀCWX U)⁻¹ U XᵀCW(v - X mode),  U = diag(ω^-½)                           Eq. 13

Nothing is divided by a coefficient: U_j is 0 where b_j is, and there b_j stays. Coefficients that have
become negligible leave the problem unless the log-posterior would fall; under convex priors those come back
that violate their optimality condition.

The matrix inverted is as wide as there are coefficients left, or documents where those are fewer. Beyond
`block` coefficients they are updated in sub-vectors of that size, each with an E-step of its own (ECM, the
paper's future work): memory is then a block's square.

EM crawls where the latent variables hide much. `accelerate` stretches each step by the ratio of complete to
observed information (Louis 1982), signs kept, and takes the result only where the log-posterior is higher.

Under Jeffreys' prior Σ ln|b_j| is added, which is not convex and has no minimum: what is found depends on
the start, so there a step is stretched only once EM itself hardly moves. Where the Hessian is not positive
definite (at a saddle) its negative curvature shows the way down, and EM resumes.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from lapwing.errors import SettingsError
from lapwing.solvers.problem import Problem
from lapwing.stats.links import as_link
from lapwing.stats.objective import PriorArrays, kkt_violation
from lapwing.stats.result import FitResult

BLOCK = 1000  # coefficients updated together: a matrix of 8 MB
KEPT_GRAMS = 50_000_000  # numbers: the matrices XᵀCX of all blocks are kept up to here, 400 MB
NEGLIGIBLE = 1e-4  # share of the largest part in a score below which a coefficient that shrinks may leave
VANISHED = 1e-10  # the same for any coefficient; under Jeffreys' prior it is |b_j| times its column's norm
SETTLED = 0.02  # relative change of every coefficient below which steps are stretched under Jeffreys' prior
STATIONARY = 1e-8  # slope × coefficient under Jeffreys' prior, where the last steps are Newton's, if tol is larger
AGAIN = 10  # iterations after which coefficients that left are looked at again


def latent_variance(b: np.ndarray, l1: np.ndarray, l2: np.ndarray, jeffreys: np.ndarray) -> np.ndarray:
    """U² = 1/E[1/τ_j | b_j]: |b_j|/l1 under a Laplace prior, 1/l2 under a Gaussian one, b_j² under Jeffreys.

    The reciprocal, since the expectation itself is infinite where b_j is 0.
    """
    size = np.abs(b)
    with np.errstate(divide="ignore", invalid="ignore"):
        convex = np.where(l1 > 0.0, size / (l1 + l2 * size), 1.0 / l2)
    return np.where(jeffreys, b * b, convex)


def fit(
    problem: Problem,
    y: np.ndarray,
    sample_weight: np.ndarray,
    prior: PriorArrays,
    *,
    variance: float,
    tol: float = 1e-4,
    max_iter: int = 10_000,
    start: np.ndarray | None = None,
    link: str = "logit",
    jeffreys: np.ndarray | None = None,
    accelerate: bool = True,
    block: int = BLOCK,
    trace: list[float] | None = None,
) -> FitResult:
    """Minimise the objective of stats/objective.py, plus Σ ln|b_j| where `jeffreys` (d+1,) is true.

    start       no coefficient of a sparse prior may be at its mode, where it would have to stay
    tol         most of the relative duality gap (KKT bound where there is none, slopes times coefficients under
                Jeffreys)
    max_iter    EM iterations; every coefficient is updated in each
    trace       is given the objective after every iteration
    """
    arrays = problem.merge(prior)
    merged = np.zeros(len(arrays.mode), dtype=bool) if jeffreys is None else jeffreys[problem.members]
    if np.isfinite(arrays.lower).any() or np.isfinite(arrays.upper).any():
        raise SettingsError("solver='em' knows no bounds on coefficients; use solver='auto'")
    if np.any((arrays.flat & ~merged)[:-1]):
        raise SettingsError("solver='em' needs a prior of finite variance on every feature; give each a variance")
    if block < 1:
        raise SettingsError(f"block must be 1 or more, got {block}")
    em = _EM(problem, y, sample_weight, arrays, merged, link, block, trace)
    em.begin(None if start is None else problem.gather(start))
    converged = em.run(tol, max_iter, accelerate)
    gap, kkt, kkt_bound, theta = em.certificate()
    curvature = float("nan")
    if merged.any():  # a feature's copies would be alive beside it, at a saddle: one carries the weight
        raw = em.beta / problem.scale
        weights = np.zeros(len(problem.group) + 1)
        weights[problem.members] = raw
        weights[-1] = problem.offset @ em.beta
        curvature = em.curvature()[0]
    else:
        weights = problem.spread(em.beta)
    return FitResult(weights, em.objective, gap, kkt, kkt_bound, em.iterations, converged, variance, theta, curvature)


def _solve(A: np.ndarray, right: np.ndarray) -> np.ndarray:
    """A⁻¹ right by Cholesky; LinAlgError where A is not positive definite. A is overwritten."""
    import scipy.linalg  # here and below: the command starts without it

    factor = scipy.linalg.cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
    return np.asarray(scipy.linalg.cho_solve(factor, right, check_finite=False))


class _Block:
    """Some columns of X, the constant feature and offsets included, and the M-step over them."""

    def __init__(self, X: sp.csc_matrix, offset: np.ndarray, chosen: np.ndarray) -> None:
        self.chosen = chosen
        self.matrix = sp.csr_matrix(X[:, chosen])
        self.matrix.sort_indices()
        self.offset = offset[chosen]
        self.gram: np.ndarray | None = None

    def times(self, b: np.ndarray) -> np.ndarray:
        return self.matrix @ b + self.offset @ b

    def transposed(self, u: np.ndarray) -> np.ndarray:
        return self.matrix.T @ u + self.offset * u.sum()

    def weighted_gram(self, weight: np.ndarray) -> np.ndarray:
        from lapwing.kernels.em import weighted_gram

        m, out = self.matrix, np.empty((len(self.chosen),) * 2)
        weighted_gram(m.indptr, m.indices, m.data, weight, out)
        shifted = np.flatnonzero(self.offset)
        cross = np.outer(self.offset[shifted], m.T @ weight)
        out[shifted] += cross
        out[:, shifted] += cross.T
        out[np.ix_(shifted, shifted)] += weight.sum() * np.outer(self.offset[shifted], self.offset[shifted])
        return out

    def m_step(self, b: np.ndarray, U2: np.ndarray, pull: np.ndarray, latent: np.ndarray, *, fixed: bool) -> np.ndarray:
        """The b that minimises Σ w_i (x_i·b - v_i)²/2 + Σ b_j²/(2 U2_j), X b + pull/w being v. Eq. 13.

        fixed: the weights are the same in every iteration, so XᵀWX is kept.
        """
        U = np.sqrt(U2)
        if len(b) <= len(pull):
            G = self.gram
            if G is None:
                G = self.weighted_gram(latent)
                if fixed:
                    self.gram = G
            A = U[:, None] * G * U
            A[np.diag_indices_from(A)] += 1.0
            right = U * (self.transposed(pull) + G @ b)
            return U * _solve(A, right)
        # Woodbury: b = U² Xᵀ W^½ (I + W^½ X U² Xᵀ W^½)⁻¹ W^½ v, of the size of the documents.
        root = np.sqrt(latent)
        Z = root[:, None] * (self.matrix.toarray() + self.offset) * U
        A = Z @ Z.T
        A[np.diag_indices_from(A)] += 1.0
        v = root * self.times(b) + np.divide(pull, root, out=np.zeros_like(pull), where=root > 0.0)
        return U * (Z.T @ _solve(A, v))


class _EM:
    """One fit in progress: β, the scores it gives, the objective there, and the coefficients still alive."""

    def __init__(
        self,
        problem: Problem,
        y: np.ndarray,
        weight: np.ndarray,
        arrays: PriorArrays,
        jeffreys: np.ndarray,
        link: str,
        block: int,
        trace: list[float] | None,
    ) -> None:
        n, size = len(y), len(arrays.mode)
        indptr, indices, data = problem.matrix.columns
        self.X = sp.csc_matrix((data, indices, indptr), shape=(n, size))
        self.offset, self.y, self.weight = problem.offset, y, weight
        self.prior, self.jeffreys, self.block = arrays, jeffreys, block
        self.form = as_link(link)
        self.fixed = self.form.kernel_code == 1  # the latent scores of probit all have variance 1
        squares = self.X.multiply(self.X).T @ weight
        squares += self.offset * (2 * (self.X.T @ weight) + self.offset * weight.sum())
        self.norm = np.sqrt(np.maximum(squares, 0.0))
        self.flat = (arrays.l1 == 0.0) & (arrays.l2 == 0.0) & ~jeffreys
        self.pull, self.latent, self.observed = np.empty(n), np.empty(n), np.empty(n)
        self.iterations = 0
        self.trace = trace
        self.alive = self.norm > 0.0
        self._blocked = np.zeros(0, dtype=bool)  # `alive` when the blocks were made
        self._columns: list[_Block] = []

    def begin(self, start: np.ndarray | None) -> None:
        """Without a start: one M-step from the mode as though every |b_j| were 1, or 1000 under Jeffreys' prior."""
        self.beta = self.prior.mode.copy() if start is None else start.copy()
        self.score = self._scores(self.beta)
        if start is None:
            self.blocks()
            size = np.where(self.jeffreys, 1000.0, 1.0)
            self._sweep(latent_variance(size, self.prior.l1, self.prior.l2, self.jeffreys))
        else:
            self.alive &= (self.beta != self.prior.mode) | (self.prior.l1 == 0.0) & ~self.jeffreys
            self.beta[~self.alive] = self.prior.mode[~self.alive]
            self.blocks()
        self.objective = self._objective(self.beta, self.score)

    def blocks(self) -> list[_Block]:
        """The coefficients alive, in sub-vectors of `block`; the intercept goes with the first."""
        if not np.array_equal(self.alive, self._blocked):
            self._blocked = self.alive.copy()
            alive = np.flatnonzero(self.alive)[::-1]
            parts = -(-len(alive) // self.block)
            split = [np.sort(part) for part in np.array_split(alive, parts)] if parts else []
            self._columns = [_Block(self.X, self.offset, part) for part in split]
            self.keep_grams = self.fixed and sum(len(part) ** 2 for part in split) <= KEPT_GRAMS
        return self._columns

    def _scores(self, beta: np.ndarray) -> np.ndarray:
        return np.asarray(self.X @ beta + self.offset @ beta)

    def _loss(self, score: np.ndarray) -> float:
        """Σ c loss; fills in `pull`, `latent` and `observed`: the E-step of the latent scores."""
        from lapwing.kernels.em import e_step

        return float(e_step(score, self.y, self.weight, self.form.kernel_code, self.pull, self.latent, self.observed))

    def _penalty(self, beta: np.ndarray) -> float:
        away = np.abs(beta - self.prior.mode)
        total = np.sum(self.prior.l1 * away + 0.5 * self.prior.l2 * away * away)
        logarithmic = self.jeffreys & self.alive
        with np.errstate(divide="ignore"):
            return float(total + np.sum(np.log(away[logarithmic])))

    def _objective(self, beta: np.ndarray, score: np.ndarray) -> float:
        return self._loss(score) + self._penalty(beta)

    def _sweep(self, variance: np.ndarray | None = None, *, accelerate: bool = False) -> None:
        """One EM iteration: every block an E-step and an M-step."""
        prior = self.prior
        for columns in self.blocks():
            chosen = columns.chosen
            self._loss(self.score)
            old = self.beta[chosen]
            # A coefficient without a prior is held, lightly, where it is: no step of it is then too long.
            flat = self.flat[chosen]
            centre = np.where(flat, old, prior.mode[chosen])
            b = old - centre
            if variance is None:
                U2 = latent_variance(b, prior.l1[chosen], prior.l2[chosen], self.jeffreys[chosen])
            else:
                U2 = variance[chosen]
            U2 = np.where(flat, 1e8 / self.norm[chosen] ** 2, U2)
            new = centre + columns.m_step(b, U2, self.pull, self.latent, fixed=self.keep_grams)
            self.beta[chosen] = new
            self.score = self.score + columns.times(new - old)
            if accelerate:
                self._stretch(columns, old)

    def _stretch(self, columns: _Block, old: np.ndarray) -> None:
        """Louis (1982): from where the M-step went, along the step that the observed information suggests.

        A coefficient that would change its sign goes most of the way to its mode instead.
        """
        chosen, prior = columns.chosen, self.prior
        log = self.jeffreys[chosen]
        here = self.beta[chosen]
        b = here - prior.mode[chosen]
        if np.any(log & (np.abs(here - old) >= SETTLED * np.abs(b))):  # also where b has vanished
            return
        kinked = (prior.l1[chosen] > 0.0) | log
        wide = len(b) > len(self.pull)
        if wide and kinked.any():  # singular
            return
        before = self._objective(self.beta, self.score)
        try:
            if wide:
                flat = self.flat[chosen]
                U2 = np.where(flat, 1e8 / self.norm[chosen] ** 2, 1.0 / np.where(flat, 1.0, prior.l2[chosen]))
                step = columns.m_step(np.where(flat, 0.0, b), U2, self.pull, self.observed, fixed=False)
                step -= np.where(flat, 0.0, b)
            else:
                slope = self._slope(b, -columns.transposed(self.pull), chosen)
                step = _solve(self._hessian(columns, b), -slope)
        except np.linalg.LinAlgError:
            return
        for share in (1.0, 0.5, 0.25):
            new = b + share * step
            new = np.where(kinked & (new * b <= 0.1 * b * b), 0.1 * b, new)
            if np.any(log & (np.abs(new) < 0.5 * np.abs(b))):  # near 0 the log-posterior is high for no good reason
                continue
            beta = self.beta.copy()
            beta[chosen] = prior.mode[chosen] + new
            score = self.score + columns.times(beta[chosen] - here)
            if self._objective(beta, score) < before:
                self.beta, self.score = beta, score
                return

    def _slope(self, b: np.ndarray, gradient: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Of the whole objective, on its own side of the mode; `gradient` is that of the loss."""
        slope = gradient + self.prior.l1[chosen] * np.sign(b) + self.prior.l2[chosen] * b
        return slope + np.divide(1.0, b, out=np.zeros_like(b), where=self.jeffreys[chosen] & (b != 0.0))

    def _hessian(self, columns: _Block, b: np.ndarray) -> np.ndarray:
        """Of the whole objective at the current scores, signs kept."""
        H = columns.weighted_gram(self.observed)
        chosen = columns.chosen
        bent = -np.divide(1.0, b * b, out=np.zeros_like(b), where=self.jeffreys[chosen])
        H[np.diag_indices_from(H)] += (
            self.prior.l2[chosen] + bent + np.where(self.jeffreys[chosen], 0.0, 1e-12 * self.norm[chosen] ** 2)
        )
        return H

    def _step(self, accelerate: bool) -> None:
        self._sweep(accelerate=accelerate)
        self.alive &= ~self.jeffreys | (self.beta != self.prior.mode)  # from 0 there is no way back
        self.iterations += 1
        self.objective = self._objective(self.beta, self.score)
        if self.trace is not None:
            self.trace.append(self.objective)

    def gradient(self) -> np.ndarray:
        """Of the loss, for every coefficient."""
        self._loss(self.score)
        return -np.asarray(self.X.T @ self.pull + self.offset * self.pull.sum())

    def run(self, tol: float, max_iter: int, accelerate: bool) -> bool:
        while True:
            self._step(accelerate)
            gradient = self.gradient()
            if self._done(gradient, tol):
                return True
            self._drop(gradient)
            self._return(gradient)
            if self.iterations >= max_iter:
                return False

    def _drop(self, gradient: np.ndarray) -> None:
        """Coefficients that have become negligible leave, if the log-posterior does not fall for it."""
        prior = self.prior
        part = np.abs(self.beta - prior.mode) * self.norm
        sparse = self.alive & ((prior.l1 > 0.0) | self.jeffreys)
        if not sparse.any():
            return
        largest = part[self.alive].max()
        shrinking = ~self.jeffreys & (np.abs(gradient + prior.l2 * (self.beta - prior.mode)) < 0.999 * prior.l1)
        for limit in (np.where(shrinking, NEGLIGIBLE * largest, 0.0), VANISHED * np.where(self.jeffreys, 1.0, largest)):
            leave = sparse & self.alive & (part < limit)
            if not leave.any():
                continue
            alive = self.alive
            self.alive = alive & ~leave
            beta = np.where(leave, prior.mode, self.beta)
            score = self._scores(beta)
            objective = self._objective(beta, score)
            if objective <= self.objective or self.jeffreys.any():
                self.beta, self.score, self.objective = beta, score, objective
            else:
                self.alive = alive

    def _return(self, gradient: np.ndarray) -> None:
        """Coefficients that left and violate their optimality condition come back, a step down from the mode."""
        prior = self.prior
        gain = np.where(self.alive | self.jeffreys | (self.norm == 0.0), 0.0, np.abs(gradient) - prior.l1)
        back = gain > 1e-9 * prior.l1
        inside = self.alive & ~self.flat
        slope = self._slope(self.beta - prior.mode, gradient, np.arange(len(gradient)))
        settled = np.abs(slope[inside]).max(initial=0.0) <= gain.max(initial=0.0)
        if not back.any() or not (settled or self.iterations % AGAIN == 0):
            return
        step = np.zeros(len(gradient))
        step[back] = -np.sign(gradient[back]) * gain[back] / self.norm[back] ** 2
        direction = self._scores(step)
        for share in 0.5 ** np.arange(1, 40):
            beta, score = self.beta + share * step, self.score + share * direction
            objective = self._objective(beta, score)
            if objective < self.objective:
                self.alive = self.alive | back
                self.beta, self.score, self.objective = beta, score, objective
                return

    def _done(self, gradient: np.ndarray, tol: float) -> bool:
        if self.jeffreys.any():
            return self._stationary(gradient, tol)
        gap, _, kkt_bound, _ = self.certificate()
        bound = kkt_bound if np.isnan(gap) else gap
        return bool(bound <= tol * self.objective)

    def _stationary(self, gradient: np.ndarray, tol: float) -> bool:
        """Under Jeffreys: slopes times coefficients within tol, and a positive-definite Hessian.

        Where there is negative curvature the coefficients go along it, and EM from there.
        """
        alive = np.flatnonzero(self.alive)
        b = (self.beta - self.prior.mode)[alive]
        slope = self._slope(b, gradient[alive], alive)
        scale = np.where(self.jeffreys[alive], np.abs(b), 1.0)
        if np.abs(slope * scale).max(initial=0.0) > min(tol, STATIONARY):
            return False
        lowest, way = self.curvature()
        if lowest > 0.0:
            return True
        step = scale * way / np.abs(way).max()
        for share in (0.5, -0.5, 0.25, -0.25, 0.1, -0.1, 0.01, -0.01):
            beta = self.beta.copy()
            beta[alive] += share * step
            score = self._scores(beta)
            objective = self._objective(beta, score)
            if objective < self.objective:
                self.beta, self.score, self.objective = beta, score, objective
                break
        return False

    def curvature(self) -> tuple[float, np.ndarray]:
        """Smallest eigenvalue of the Hessian over the coefficients alive, in units of each, and its vector."""
        import scipy.linalg

        alive = np.flatnonzero(self.alive)
        if not len(alive):
            return float("inf"), np.zeros(0)
        self._loss(self.score)
        b = (self.beta - self.prior.mode)[alive]
        scale = np.where(self.jeffreys[alive], np.abs(b), 1.0)
        H = scale[:, None] * self._hessian(_Block(self.X, self.offset, alive), b) * scale
        lowest, way = scipy.linalg.eigh(H, subset_by_index=[0, 0], check_finite=False)
        return float(lowest[0]), way[:, 0]

    def certificate(self) -> tuple[float, float, float, np.ndarray]:
        """(gap, kkt, kkt bound, θ) at β from its own margins."""
        from lapwing.kernels.loss import dual_objective, feasible_scale

        gradient = self.gradient()
        theta = self.form.theta(self.y * self.score, self.y)
        b = self.beta - self.prior.mode
        violation = kkt_violation(self.prior, self.beta, gradient)
        if self.jeffreys.any():  # checked on the coefficients alive, the only ones it is differentiable in
            violation = np.where(self.alive, np.abs(self._slope(b, gradient, np.arange(len(b)))), 0.0)
        kkt, kkt_bound = float(violation.max(initial=0.0)), float(violation @ np.maximum(np.abs(b), 1.0))
        gap = float("nan")
        if not np.any(self.prior.flat):
            scale = feasible_scale(-gradient, self.prior)
            dual = dual_objective(theta, self.weight, self.form.kernel_code, -gradient, scale, self.prior)
            gap = max(self.objective - dual, 0.0)
        return gap, kkt, kkt_bound, theta
