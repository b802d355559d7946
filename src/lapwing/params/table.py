"""The table: every parameter of a training, in the order of help.

An option is made of each that has a group, and an argument of the estimators that take it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lapwing.params.parameter import parameter

if TYPE_CHECKING:
    from lapwing.selection import Utility
    from lapwing.stats.priors import Prior

TEXT, MODEL, CHOOSING, SOLVER = "Text", "Model", "Choosing", "Solver and output"


@dataclass(frozen=True)
class TextParameters:
    tokens: str = parameter(
        "word", "Cut texts into words, characters, what is between blanks (ready), or Chinese words.", group=TEXT,
        words=("word", "char", "ready", "jieba"),
        python='"word", "char", or "ready": tokens between blanks, neither folded, stopped nor stemmed; "jieba", or '
        "a function from a text to its tokens, which are then ready",
    )  # fmt: skip
    stemmer: str = parameter(
        "porter", "A Snowball stemmer, such as german; or none.", group=TEXT,
        python='a Snowball algorithm by name, or "none"',
    )  # fmt: skip
    stop_words: str | tuple[str, ...] = parameter(
        "none", "Leave out these words: smart (the SMART list), none, or a file of words.", group=TEXT,
        kind="stop words", python='"smart", "none", or the words themselves; for words only, as is',
    )  # fmt: skip
    word_ngrams: tuple[int, int] = parameter(
        (1, 1), "Count so many words in a row as a feature: 1 2 for single words and pairs; 3 at most.", group=TEXT,
        metavar="FROM TO",
        python="from how many to how many tokens in a row are counted as one term, none of them a stop word",
    )  # fmt: skip
    char_ngrams: tuple[int, int] | None = parameter(
        None, "Count characters in a row instead, such as 3 5, inside words; with --tokens char across them.",
        group=TEXT, metavar="FROM TO",
        python="the same in characters instead: those inside each token, of words neither stopped nor stemmed, with a "
        'blank before and after it, a shorter one being counted whole; those of tokens="char" go across words',
    )  # fmt: skip
    min_df: int = parameter(
        1, "Leave out words in fewer documents.", group=TEXT, least=1,
        python="terms in fewer training documents get no column; they still count in the norm",
    )  # fmt: skip
    digits: bool = parameter(
        True, "Count digits as letters of words.", group=TEXT, rare=True, python="whether digits are part of words"
    )
    strip_html: bool = parameter(
        False, "Remove HTML markup first.", group=TEXT, python="whether markup is removed first"
    )
    tf: str = parameter(
        "log", "How the count of a word in a document enters.", group=TEXT, rare=True, choices=("log", "raw", "binary"),
        python='"log": 1 + ln n(i,j); "raw": n(i,j); "binary": 1',
    )  # fmt: skip
    idf: bool = parameter(
        True, "Weigh rare words more.", group=TEXT, rare=True, python="whether to multiply by ln((|D|+1)/(n(j)+1))"
    )
    cosine: bool = parameter(
        True, "Scale every document to norm 1.", group=TEXT, rare=True,
        python="whether to divide by the Euclidean norm over all terms of the document",
    )  # fmt: skip
    max_gap: int = parameter(
        0, "n-grams: up to so many tokens between one and the next, as in harvest * wheat.", group=TEXT, rare=True,
        least=0, python="of n-grams that are searched for: how many tokens, whichever, may stand between two",
    )  # fmt: skip


@dataclass(frozen=True)
class NgramParameters:
    max_length: int | None = parameter(
        None, "n-grams: longest, in tokens.  [default: any length]", group=TEXT, least=1,
        python="tokens of the longest n-gram; None: any length",
    )  # fmt: skip
    min_support: int = parameter(
        1, "n-grams: leave out those in fewer documents.", group=TEXT, least=1,
        python="fewest documents an n-gram must be in",
    )  # fmt: skip
    steps: int | str = parameter(
        "cv", "n-grams, greedy: a number of steps, cv (as many as held-out documents prefer), or settled (until the "
        "scores are).", group=TEXT, rare=True, kind="whole or name",
        python='of solver "greedy": "cv", chosen on held-out documents, a number, or "settled", the paper\'s: whole '
        "steps until the scores are",
    )  # fmt: skip
    loss: str = parameter(
        "likelihood", "n-grams: what a fit minimises besides the prior's penalty.", group=TEXT, rare=True,
        choices=("likelihood", "squared_hinge"),
        python='"likelihood" (minus its logarithm, by the link), or "squared_hinge", of solver "exact" alone',
    )  # fmt: skip


@dataclass(frozen=True)
class CrossValidationParameters:
    variances: Sequence[float] | None = parameter(
        None, "Variances that pooled and cv compare, with commas between them.", name="cv_variances", group=CHOOSING,
        rare=True, kind="numbers", python="the grid; None for GLM07's",
    )  # fmt: skip
    folds: int = parameter(
        10, "cv and auto: cut the documents into so many portions.", name="cv_folds", group=CHOOSING, rare=True,
        least=2, python="in how many portions documents are dealt out, positives and negatives each evenly",
    )  # fmt: skip
    runs: int = parameter(
        2, "cv and auto: leave out so many of these portions in turn.", name="cv_runs", group=CHOOSING, rare=True,
        least=1, python="how many of them take a turn as the validation portion",
    )  # fmt: skip
    one_se: bool = parameter(
        False, "cv: take the strongest prior within one standard error of the best.", group=CHOOSING, rare=True,
        python="take the strongest prior within one standard error of the best",
    )  # fmt: skip


@dataclass(frozen=True)
class TrainParameters:
    text: Any = parameter(None, python="what is done to texts")
    prior: str | Prior = parameter(
        "elasticnet", "laplace, gaussian, elasticnet or jeffreys; or a file of what you know of features, a line each: "
        "feature, mode, variance, sign, category. Give the option twice for both.  [default: elasticnet]", group=MODEL,
        kind="several", start=(), python="of the coefficients, by name or as an object of `lapwing.priors`",
    )  # fmt: skip
    label_words: float = parameter(
        0.0, "Draw the weights of the words of a category's own name to this, such as 10.", group=MODEL, least=0,
        metavar="MODE", python="mode of the weights of the words of a category's own name; 0 for nothing special",
    )  # fmt: skip
    link: str = parameter(
        "logit", "logit (logistic regression), probit, cloglog (complementary log-log), or robit:4 (Student's "
        "distribution of 4 degrees of freedom, 1 to 30: wrong labels pull less; not convex).", group=MODEL,
        metavar="NAME",
        python='"logit" (logistic regression), "probit", "cloglog", or "robit:ν" of ν degrees of freedom',
    )  # fmt: skip
    multi_class: str = parameter(
        "ovr", "ovr: a model for each category; multinomial: one over all exclusive classes.", group=MODEL,
        choices=("ovr", "multinomial"),
        python='"ovr": a model per category; "multinomial": one over all of them, for exclusive classes',
    )  # fmt: skip
    reference_class: Hashable | None = parameter(
        None, "multinomial: the class whose coefficients are all 0.", group=MODEL, rare=True,
        python="multinomial: the class whose coefficients are all 0; None for none",
    )  # fmt: skip
    method: str = parameter(
        "map", "map: the most probable weights; selected-ridge: those of ridge regression, pruned.", group=MODEL,
        rare=True, choices=("map", "selected-ridge"),
        python='"map": the most probable weights; "selected-ridge": those of ridge, pruned (AAGBD11)',
    )  # fmt: skip
    alpha: float | str | None = parameter(
        None, "selected-ridge: its penalty, a number or cv  [default: the universal penalty]", group=MODEL, rare=True,
        kind="number or name",
        python='selected-ridge: its penalty; None for the universal one, "cv" for the best of a grid and that',
    )  # fmt: skip
    hessian: str = parameter(
        "diagonal", "selected-ridge: prune features one by one (diagonal), or all together (full).", group=MODEL,
        rare=True, choices=("diagonal", "full"),
        python='selected-ridge: "diagonal" (the paper\'s closed form) or "full" (its Eq. 4 as it stands)',
    )  # fmt: skip
    class_weight: str | Mapping[Hashable, float] | None = parameter(
        None, "Exclusive classes: give each the same total weight. Label sets: give each category's positives and "
        "negatives the same total weight.", group=MODEL, words=("balanced",),
        python='None, "balanced", or label → factor',
    )  # fmt: skip
    intercept_variance: float | None = parameter(
        None, "A variance of its own for the intercept; inf for no prior on it.", group=MODEL, rare=True,
        python="None: the same prior as the other coefficients; np.inf: none at all",
    )  # fmt: skip
    standardize: bool = parameter(
        False, "Scale every feature to mean 0 and standard deviation 1.", group=MODEL, rare=True,
        python="centre and scale every feature; the weights reported are those of the raw features",
    )  # fmt: skip
    variance: str | float | Sequence[float] = parameter(
        "pooled", "Prior variance: pooled (one for all categories, chosen on documents left out of the fits), norm "
        "(from the number of features and the norms of documents), cv (each category by itself, over a grid), auto "
        "(the same without a grid), a number, or from:MODEL, the one that a model for a similar problem has.",
        group=CHOOSING, kind="variance",
        python='"pooled" (chosen by all categories together on held-out documents), "norm" (GLM07 Eq. 29), "cv" (over '
        'a grid, each category by itself), "auto" (the same without a grid), a number, or one number per category',
    )  # fmt: skip
    folds: int = parameter(
        5, "Leave out so many portions of the documents in turn, to choose and calibrate by; or time: score each "
        "portion by fits to earlier ones.", group=CHOOSING, least=2, kind="whole or name",
        python="in how many portions documents are held out, the same for all categories",
    )  # fmt: skip
    fold_by: str = parameter(
        "chance", choices=("chance", "time"),
        python='how documents are dealt into the folds that all categories share: "chance", or "time", each fold by '
        "fits to earlier ones",
    )  # fmt: skip
    calibrate: bool = parameter(
        True, "Learn from the documents left out what probability a score means.", group=CHOOSING,
        python="learn from out-of-fold scores what probabilities to give; where there are such scores: where the "
        "variance was chosen by them, or a threshold is tuned on them",
    )  # fmt: skip
    threshold: str | float | Utility = parameter(
        "default", "Say yes above this probability; or tune it for error, f1, ber, t11u or t13u; or expected_f1, which "
        "decides on all documents together.  [default: 0.5]", group=CHOOSING, kind="number or name",
        python='"default" (probability ½), a probability, "error", "f1", "ber", "t11u", "t13u", a `Utility`, or '
        '"expected_f1" (decided anew for every batch)',
    )  # fmt: skip
    threshold_data: str = parameter(
        "cv", "Tune thresholds on documents left out of the fits (cv), or on those trained on.", group=CHOOSING,
        rare=True, choices=("cv", "train"),
        python='tune on "cv", the scores of held-out documents, or on those of the training documents',
    )  # fmt: skip
    max_features: int | None = parameter(
        None, "Let each category have at most so many features, by a prior as strong as that takes.", group=CHOOSING,
        least=1,
        python="at most this many per category: those of the weakest prior that keeps no more, fitted anew with a "
        "variance that cross-validation chooses of those no stronger, unless it is given",
    )  # fmt: skip
    select_features: int | float | None = parameter(
        None, "Keep only this many features of each category, the best ones, or, by stability or bolasso, those that a "
        "share such as 0.9 of the samples keeps.", group=CHOOSING, kind="number or share",
        python='keep this many features per category before the fit, by `feature_score`; by "stability" or "bolasso" '
        "also a share such as 0.9, of the halves or bootstrap samples that must keep a feature",
    )  # fmt: skip
    feature_score: str = parameter(
        "bns", "What --select-features ranks by.", group=CHOOSING, rare=True,
        choices=("bns", "chi2", "pearson", "yule", "stability", "bolasso"), python="what `select_features` ranks by",
    )  # fmt: skip
    solver: str = parameter(
        "auto", "auto: certified Newton; clg, em: the algorithms of 2007 and 2003. With --ngrams: exact (as auto), "
        "greedy.", group=SOLVER, kind="solver",
        python='"auto": certified Newton; "clg": GLM07\'s algorithm, with its own stopping rule; "em": EGJLM03\'s. '
        'Jeffreys\' prior is always fitted by EM. For n-grams "exact" (which "auto" then is) or "greedy"',
    )  # fmt: skip
    tol: float = parameter(
        1e-4, "Stop a fit when its duality gap is below this share of its objective.", group=SOLVER, rare=True,
        python="bound on the duality gap, relative to the objective",
    )  # fmt: skip
    max_iter: int = parameter(
        500, "Stop a fit after so many rounds, with a warning.", group=SOLVER, rare=True, least=1,
        python="bound on the rounds of a fit, which ends there with a warning",
    )  # fmt: skip
    n_jobs: int | None = parameter(
        1, "Number of threads; -1, the default, for every core. Results do not depend on it.", group=SOLVER,
        flag="jobs", start=-1, kind="threads", python="threads, -1 for every core; results do not depend on it",
    )  # fmt: skip
    random_state: int | None = parameter(
        0, "Random seed for dealing documents into portions.", group=SOLVER, flag="seed", least=0,
    )  # fmt: skip
