"""lapwing bbr train, lapwing bbr classify: the flags, files and result lines of BBR 4.03"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from lapwing.cli._common import ExistingPath, check_output
from lapwing.cli._output import echo
from lapwing.cli._progress import announce_compiling
from lapwing.errors import InputError, SettingsError

if TYPE_CHECKING:
    import numpy as np
    import scipy.sparse as sp

    from lapwing.corpus import Corpus
    from lapwing.model import LinearModel
    from lapwing_bbr.files import BbrModel

log = logging.getLogger("lapwing")

STDIN = ("-", "=")
RULES = {1: "error", 2: "t11u", 3: "f1", 4: "ber", 5: "t13u"}
SCORES = {0: "pearson", 1: "yule", 2: "chi2", 3: "bns"}
NOT_HERE = {
    "-R": "row ids, which need another build of BBR too",
    "--rowid": "row ids, which need another build of BBR too",
}


class _Command(click.Command):
    """Flags of BBR that are not supported say so by name."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        for word in args[: args.index("--")] if "--" in args else args:
            flag = word.split("=")[0] if word.startswith("--") else word[:2]
            if flag in NOT_HERE:
                raise SettingsError(f"{flag} ({NOT_HERE[flag]}) is not supported by `{ctx.command_path}`")
        return super().parse_args(ctx, args)


@click.group("bbr", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """BBRtrain and BBRclassify: their flags, data, prior, model and result files."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def _numbers(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[float, ...]:
    try:
        return () if value is None else tuple(float(part) for part in value.split(","))
    except ValueError:
        raise click.BadParameter(f"expected numbers with commas between them, got {value!r}") from None


def _folds(context: click.Context, parameter: click.Parameter, value: str) -> tuple[int, int]:
    parts = value.split(",")
    try:
        folds, runs = int(parts[0]), int(parts[-1])
    except ValueError:
        folds = runs = 0
    if len(parts) > 2 or folds < 2 or not 1 <= runs <= folds:
        raise click.BadParameter(f"expected folds[,runs], 2 or more folds and no more runs than folds, got {value!r}")
    return folds, runs


class _DataFile(ExistingPath):
    """A file, or - or = for standard input."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return "-" if value in STDIN else super().convert(value, param, ctx)


_DATA = click.argument("datafile", type=_DataFile("BBR's data", folder=False))


def _common(function: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("-l", "--log", type=click.IntRange(0, 2), default=0, show_default=True, help="Verbosity."),
        click.option("-r", "--resultfile", help="File to write a line `probability decision` for every document to."),
        click.option("--probthres", type=click.FloatRange(0, 1), help="Probability at which the answer becomes yes."),
    ):
        function = option(function)
    return function


@command.command("train", cls=_Command)
@_DATA
@click.argument("modelfile")
@click.option("-p", "--prior", type=click.IntRange(1, 2), default=2, show_default=True, help="1 Laplace, 2 Gaussian.")
@click.option("-V", "--variance", callback=_numbers, help="Prior variance; of several, cross-validation chooses one.")
@click.option("-C", "--cv", callback=_folds, default="10,10", show_default=True, help="Folds and runs.")
@click.option("--autosearch", is_flag=True, help="Search for the variance without a grid.")
@click.option("--errbar", is_flag=True, help="The strongest prior within one standard error of the best.")
@click.option("-H", "--hyperparameter", type=float, help="Old: λ of a Laplace, variance of a Gaussian prior.")
@click.option("-S", "--search", callback=_numbers, help="Old: -H, with several to choose from.")
@click.option("-I", "--indPriorsFile", "ind_priors", type=ExistingPath("individual priors", folder=False),
              help="Lines of feature, mode, variance (times the common one) and optionally skew.")  # fmt: skip
@click.option("--pos", is_flag=True, help="No negative coefficients.")
@click.option("--neg", is_flag=True, help="No positive coefficients.")
@click.option("-s", "--standardize", is_flag=True, help="Centre and scale the features.")
@click.option("-c", "--cosnorm", is_flag=True, help="Divide every document by its Euclidean norm.")
@click.option("-e", "--eps", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.0005,
              show_default=True, help="Tolerance: relative duality gap, 1e-4 at most.")  # fmt: skip
@click.option(
    "--iter", "iterations", type=click.IntRange(min=1), default=1000, show_default=True, help="Limit on iterations."
)
@click.option("--accurate", is_flag=True, help="Tolerance of 1e-12.")
@click.option("-t", "--threshold", type=click.IntRange(0, 5), default=0, show_default=True,
              help="Tune the threshold for: 0 nothing, 1 errors, 2 T11U, 3 F1, 4 BER, 5 T13U.")  # fmt: skip
@click.option("-f", "--features", type=click.IntRange(min=0), default=0, help="How many features to keep.")
@click.option("-u", "--utility", type=click.IntRange(0, 3), default=0, show_default=True,
              help="Score to select features by: 0 Pearson, 1 Yule's Q, 2 chi-square, 3 BNS.")  # fmt: skip
@click.option("-g", "--groups", type=click.IntRange(min=0), default=0,
              help="How many columns of 0 or 1 after the label say which groups a document is in.")  # fmt: skip
@click.option("--gvar", callback=_numbers, help="Variance of a feature's weights in the groups around the one they "
              "share; of several, cross-validation chooses one. Without it groups are passed over.")  # fmt: skip
@click.option("--modelname", default="", help="Model name to store in the file.")
@_common
def train_command(datafile: str, modelfile: str, **options: Any) -> None:
    """Train as BBRtrain does: DATAFILE of lines `label id:value ...`, - for standard input, into MODELFILE."""
    data = None if datafile == "-" else datafile
    check_output(modelfile, data, name="MODELFILE")
    _check_results(options["resultfile"], data)
    corpus, groups = _read(datafile, options["groups"])
    announce_compiling()
    from lapwing_bbr.files import write_bbr_model

    if options["gvar"] and not options["groups"]:
        raise SettingsError("--gvar is for groups; say how many there are with -g")
    model, answers = _train(corpus, groups if options["gvar"] else None, options)
    write_bbr_model(model, modelfile)
    _results(answers, options["resultfile"])
    if options["log"]:
        echo(f"{len(model.weights)} of {len(model.features)} features kept; threshold {model.threshold:.6g}")
        _evaluation(corpus, answers.chosen)


def _check_results(resultfile: str | None, data: str | None) -> None:
    if resultfile is not None and resultfile not in STDIN:
        check_output(resultfile, data, name="-r")


def _read(datafile: str, count: int = 0) -> tuple[Corpus, np.ndarray]:
    """The documents, and (n, count) the groups that they are in."""
    import numpy as np

    from lapwing.cli._documents import standard_input
    from lapwing.corpus import read

    source: Any = standard_input("lines of BBR's data") if datafile == "-" else datafile
    groups = np.zeros((0, count), dtype=bool)
    if count:
        source, groups = _split_groups(source, count)
    corpus = read(source, format="svmlight")
    if corpus.feature_names and corpus.feature_names[0] == "0":
        raise InputError(f"{corpus.name}: expected features of 1 or more, got 0, which is the intercept")
    return corpus, groups


def _split_groups(source: Any, count: int) -> tuple[Any, np.ndarray]:
    """The same data without the columns of groups, and these."""
    import io

    from lapwing_bbr.groups import split_groups

    content = Path(source).read_bytes() if isinstance(source, str) else source.read()
    lines, groups = split_groups(content.decode("utf-8", "replace").splitlines(True), count, str(source))
    return io.BytesIO("".join(lines).encode()), groups


def _positive(corpus: Corpus) -> list[bool]:
    """The label 1 is in the category, every other is not."""
    return [labels == ("1",) for labels in corpus.labels]


class _Answers(NamedTuple):
    """Probabilities of the category, and which documents are in it."""

    probabilities: np.ndarray
    chosen: np.ndarray

    @classmethod
    def of(cls, model: LinearModel, names: list[str], matrix: sp.csr_matrix) -> _Answers:
        from lapwing.model import FeatureIndex

        scores = model.scores(FeatureIndex(model.feature_names).of_matrix(matrix, names))
        return cls(model.probability(scores)[:, 0], model.members(scores)[:, 0])


def _train(corpus: Corpus, groups: np.ndarray | None, options: dict[str, Any]) -> tuple[BbrModel, _Answers]:
    """The model, and what it says of the documents it was trained on."""
    from dataclasses import replace

    from lapwing.corpus import Corpus
    from lapwing.training import train
    from lapwing_bbr.files import EVERYTHING, from_linear, normalized, score_of, to_linear

    names, matrix = list(corpus.feature_names or ()), normalized(corpus.documents, options["cosnorm"])
    labels = [(1,) if yes else (-1,) for yes in _positive(corpus)]
    if options["features"]:
        names, matrix = _selected(names, matrix, labels, options)
    if groups is not None:
        return _train_groups(corpus, names, matrix, groups, labels, options)
    training = Corpus(
        name=corpus.name, kind="vectors", documents=matrix, labels=labels, ids=corpus.ids, exclusive=True,  # type: ignore[arg-type]
        split=[], weights=corpus.weights, feature_names=names,
    )  # fmt: skip
    fitted = train(training, _settings(options), classes=[-1, 1])
    model = replace(
        from_linear(fitted, name=options["modelname"]), cosine=options["cosnorm"],
        standardized=options["standardize"], tuned=0 if options["probthres"] is not None else options["threshold"],
        groups=options["groups"],
    )  # fmt: skip
    if options["probthres"] is not None:
        model = replace(model, threshold=score_of(options["probthres"]))
    answers = _Answers.of(to_linear(model, corpus.name), names, matrix)
    if model.tuned and answers.chosen.all():
        model = replace(model, threshold=EVERYTHING)
    return model, answers


def _train_groups(
    corpus: Corpus, names: list[str], matrix: sp.csr_matrix, groups: np.ndarray, labels: list[tuple[int]],
    options: dict[str, Any],
) -> tuple[BbrModel, _Answers]:  # fmt: skip
    """A weight for every feature in every group: formats/bbr/groups.py."""
    from dataclasses import replace

    import numpy as np

    from lapwing.corpus import Corpus
    from lapwing.stats.priors import norm_variance
    from lapwing.training import choose_prior, train
    from lapwing_bbr.files import EVERYTHING, BbrModel, score_of, to_linear
    from lapwing_bbr.groups import by_groups, group_prior, group_weights, with_shared

    for flag in ("standardize", "autosearch", "errbar", "pos", "neg"):
        if options[flag]:
            raise SettingsError(f"--{flag} does not go with groups, in BBR neither; leave it out")
    settings, count = _settings(options), groups.shape[1]
    columns, spread = with_shared(names, matrix, groups)
    given = settings.cv.variances if settings.variance == "cv" else None
    first = norm_variance(matrix) if isinstance(settings.variance, str) else float(settings.variance)
    priors = [group_prior(names, count, variance, settings.prior) for variance in options["gvar"]]
    variance, prior = first, priors[0]
    if given is not None or len(priors) > 1:
        y = np.where(np.ravel(labels) > 0, 1.0, -1.0)
        plan = replace(settings.cv, variances=given or (first,))
        at, curve = choose_prior(columns, spread, y, priors, plan, tol=settings.tol, max_iter=settings.max_iter)
        variance, prior = curve.chosen, priors[at]
        log.info("variance %g, in groups %g", variance, options["gvar"][at])
    training = Corpus(
        name=corpus.name, kind="vectors", documents=spread, labels=labels, ids=corpus.ids, exclusive=True,  # type: ignore[arg-type]
        split=[], weights=corpus.weights, feature_names=columns,
    )  # fmt: skip
    fitted = train(training, replace(settings, prior=prior, variance=variance), classes=[-1, 1])
    dense = fitted.weights.toarray()[0]
    weights = dict(zip(fitted.feature_names, dense.tolist(), strict=True))
    model = BbrModel(
        tuple(sorted(map(int, names))), {}, 0.0, float(fitted.thresholds[0]), name=options["modelname"],
        cosine=options["cosnorm"], tuned=0 if options["probthres"] is not None else options["threshold"],
        groups=count, by_group=group_weights(names, np.array([weights.get(column, 0.0) for column in columns]), count),
    )  # fmt: skip
    if options["probthres"] is not None:
        model = replace(model, threshold=score_of(options["probthres"]))
    answers = _Answers.of(to_linear(model, corpus.name), *by_groups(names, matrix, groups))
    return (replace(model, threshold=EVERYTHING), answers) if model.tuned and answers.chosen.all() else (model, answers)


def _selected(
    names: list[str], matrix: sp.csr_matrix, labels: list[tuple[int]], options: dict[str, Any]
) -> tuple[list[str], sp.csr_matrix]:
    """The best features; of equal ones those of higher number, as in BBR, which also adds 1/12 in Yule's Q."""
    import numpy as np

    from lapwing.selection import SCORES as BY_NAME
    from lapwing.selection import top_features

    how = SCORES[options["utility"]]
    scores = BY_NAME[how](matrix, np.ravel(labels), **({"continuity": 1 / 12} if how == "yule" else {}))
    kept = len(names) - 1 - top_features(scores[::-1], options["features"])[::-1]
    return [names[j] for j in kept], matrix[:, kept]


def _settings(options: dict[str, Any]) -> Any:
    from lapwing.selection.variance import CrossValidation
    from lapwing.stats.prior_files import read_bbr
    from lapwing.stats.prior_table import INTERCEPT, OTHERS, PriorTable, row
    from lapwing.training import TrainSettings

    if options["pos"] and options["neg"]:
        raise SettingsError("--pos and --neg exclude each other; give one of them")
    skew = 1 if options["pos"] else -1 if options["neg"] else 0
    if skew and options["prior"] == 2:
        log.warning("--%s is kept under a Gaussian prior too, where BBR ignores it", "pos" if skew > 0 else "neg")
    base = "laplace" if options["prior"] == 1 else "gaussian"
    prior: Any = base
    if options["ind_priors"] is not None:
        prior = read_bbr(options["ind_priors"], base, skew=skew, topic="<class>")
        for r in prior.rows:
            if not r.feature.isdecimal() and r.feature not in (INTERCEPT, OTHERS):
                raise r.error(f"expected the number of a feature, got {r.feature!r}")
    elif skew:
        prior = PriorTable(tuple(row(name, sign=skew) for name in (OTHERS, INTERCEPT)), base)
    variance, grid = _variance(options, skew)
    folds, runs = options["cv"]
    return TrainSettings(
        prior=prior, variance=variance, cv=CrossValidation(grid, folds, runs, options["errbar"]),
        threshold="default" if options["probthres"] is not None else RULES.get(options["threshold"], "default"),
        standardize=options["standardize"], tol=1e-12 if options["accurate"] else min(options["eps"], 1e-4),
        max_iter=options["iterations"], calibrate=False, threshold_data="train",
    )  # fmt: skip


def _variance(options: dict[str, Any], skew: int) -> tuple[str | float, tuple[float, ...] | None]:
    """(variance, grid) from -V, -H, -S and --autosearch, of which at most one may be given."""
    native = options["search"] or (() if options["hyperparameter"] is None else (options["hyperparameter"],))
    given = {"-V": options["variance"], "-H": options["hyperparameter"] is not None, "-S": options["search"],
             "--autosearch": options["autosearch"]}  # fmt: skip
    if len(chosen := [flag for flag, value in given.items() if value]) > 1:
        raise SettingsError(f"{' and '.join(chosen)} exclude each other; give one of them")
    values = options["variance"] or native
    if wrong := [value for value in values if not 0.0 < value < math.inf]:
        raise SettingsError(f"{chosen[0]} must be a number > 0, got {wrong[0]:g}")
    if native and options["prior"] == 1:  # λ = √(2/v), one-sided √(1/v)
        values = tuple((1.0 if skew else 2.0) / value**2 for value in native)
    if len(values) > 1:
        return "cv", tuple(values)
    if options["errbar"]:
        raise SettingsError("--errbar chooses among variances; give several with -V")
    if options["autosearch"]:
        return "auto", None
    return (values[0] if values else "norm"), None


@command.command("classify", cls=_Command)
@_DATA
@click.argument("modelfile", type=ExistingPath("a model file of BBR or BMR", folder=False))
@_common
def classify_command(datafile: str, modelfile: str, resultfile: str | None, log: int, probthres: float | None) -> None:
    """Classify as BBRclassify does: DATAFILE, or - for standard input, with a model file of BBR, or of BMR.

    A line of the result file is `probability decision`; of a BMR model `label p1 ... pK prediction`. Without -r
    nothing is written but how the decisions compare with the labels.
    """
    from dataclasses import replace

    import numpy as np

    from lapwing.model import FeatureIndex
    from lapwing_bbr.files import kind_of, load, normalized, read_bbr_model, score_of
    from lapwing_bbr.groups import by_groups

    _check_results(resultfile, modelfile)
    model, cosine = load(modelfile)
    theirs = read_bbr_model(modelfile) if kind_of(modelfile) == "bbr" else None
    corpus, groups = _read(datafile, 0 if theirs is None else theirs.groups)
    names, matrix = list(corpus.feature_names or ()), normalized(corpus.documents, cosine)
    if theirs is not None and theirs.by_group:
        names, matrix = by_groups(names, matrix, groups)
    if model.link == "softmax":
        if probthres is not None:
            raise SettingsError("--probthres is for two classes; a BMR model takes the most probable")
        proba = model.category_proba(FeatureIndex(model.feature_names).of_matrix(matrix, names))
        _polytomous(corpus, model, proba, resultfile, log)
        return
    if probthres is not None:
        reached = math.nextafter(score_of(probthres, model.link), -math.inf)  # yes from this probability on
        model = replace(model, thresholds=np.array([reached]))
    answers = _Answers.of(model, names, matrix)
    _results(answers, resultfile)
    if resultfile is None or log:
        _evaluation(corpus, answers.chosen)


def _polytomous(corpus: Corpus, model: LinearModel, proba: np.ndarray, resultfile: str | None, log: int) -> None:
    chosen = [model.classes[k] for k in proba.argmax(axis=1)]
    labels = [" ".join(labels) for labels in corpus.labels]
    if resultfile is not None:
        rows = zip(labels, proba.tolist(), chosen, strict=True)
        _write(resultfile, (f"{label} {' '.join(f'{p:.12g}' for p in row)} {best}" for label, row, best in rows))
    if resultfile is None or log:
        wrong = sum(label != best for label, best in zip(labels, chosen, strict=True))
        echo(f"{len(labels)} documents, {wrong} errors ({100 * wrong / len(labels):.4g}%)")


def _results(answers: _Answers, resultfile: str | None) -> None:
    if resultfile is not None:
        pairs = zip(answers.probabilities.tolist(), answers.chosen.tolist(), strict=True)
        _write(resultfile, (f"{p:.12g} {1 if yes else -1}" for p, yes in pairs))


def _write(path: str, lines: Any) -> None:
    from lapwing.files import write_beside

    content = "".join(f"{line}\n" for line in lines)
    if path in STDIN:
        echo(content, nl=False)
    else:
        write_beside(path, content.encode())


def _evaluation(corpus: Corpus, chosen: np.ndarray) -> None:
    """How the decisions compare with the labels, F1 and the rest 1 where their denominator is 0."""
    import numpy as np

    truth = np.array(_positive(corpus))
    tp, fp = int(np.sum(truth & chosen)), int(np.sum(~truth & chosen))
    fn, tn = int(np.sum(truth & ~chosen)), int(np.sum(~truth & ~chosen))
    parts = {"precision": (tp, tp + fp), "recall": (tp, tp + fn), "F1": (2 * tp, 2 * tp + fp + fn)}
    rates = ", ".join(f"{name} {part / whole if whole else 1.0:.4f}" for name, (part, whole) in parts.items())
    echo(f"{len(truth)} documents: TP {tp}, FP {fp}, FN {fn}, TN {tn}; {fp + fn} errors; {rates}")
