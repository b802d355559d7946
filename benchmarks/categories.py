"""Hundreds and thousands of categories: a corpus of Debian's package descriptions, and one of DMOZ's size.

    python benchmarks/categories.py [debian] [ridge] [lasso] [predict] [dmoz] [growth] [--method NAME] [--lists FOLDER]

debian   lasso and Selected Ridge over all debtags: time, F1, size of the model
ridge    the same tags: our ridge against scikit-learn's OneVsRest(LogisticRegression), liblinear and lbfgs, each
         at the loosest of its tolerances whose worst fit is within 1e-4 of the optimum, one thread for all: CPU time
lasso    the same for our lasso, norm-based variance, and liblinear's; some tags keep over 5,000 features
predict  every test document against every category with the models that `debian` and `dmoz` left: ours against
         scikit-learn's dense coefficients, as one matrix and as OneVsRest's estimators, and its sparse ones
         (`sparsify`); time and peak memory, each in a process of its own
dmoz     `lapwing train` with lasso and with Selected Ridge on synthetic documents of DMOZ's size (AAGBD11 Table 1):
         wall time, peak memory, size of the model; --categories takes some of the 3,503 only
growth   time of fitting per category with ever more categories of that corpus, --counts

Debian's lists are those in --lists, files named *Packages* and *Translation-en* (plain, .gz, .xz or .bz2); without
it `apt-get update` fetches them into a folder of this program's own, in the user's cache. A package is a document, its
tags are its labels, and its long description, joined on Description-md5, is its text; every fourth is for
testing. Peers are timed on every twentieth category and scaled unless --every says otherwise.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import hashlib
import json
import lzma
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"})

import numpy as np
import scipy.sparse as sp
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

import lapwing
from lapwing.corpus import Corpus
from lapwing.evaluate import evaluate
from lapwing.formats import save
from lapwing.stats.objective import certify
from lapwing.stats.priors import as_prior, norm_variance
from lapwing.training import TrainSettings, make_design, train
from lapwing.training.targets import targets
from lapwing_papers.settings import text as glm07_text

FEWEST = 20  # packages that a tag must be on
DOCUMENTS, FEATURES, CATEGORIES = 20_249, 133_348, 3_503  # DMOZ's training part, AAGBD11 Table 1
TEST_DOCUMENTS = 7_257
REPEAT = 5  # ratios of which the median counts
LONG = 30.0  # seconds from which a peer is timed once more only
NEAR = 1e-4  # of the optimum, relative to its objective, is near enough
HELD = 2**30  # bytes of dense coefficients that a peer is given
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "lapwing-benchmarks"
OPENERS = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}


# Debian


def fetch_lists() -> Path:
    """Package lists with English long descriptions, in a folder that the system's apt does not see."""
    lists = CACHE / "apt"
    if not any(lists.glob("*Translation-en*")):
        for folder in (lists / "partial", CACHE / "apt-cache"):
            folder.mkdir(parents=True, exist_ok=True)
        options = {"Dir::State::lists": lists, "Dir::Cache": CACHE / "apt-cache", "Acquire::Languages": "en",
                   "Acquire::GzipIndexes": "false", "APT::Sandbox::User": ""}  # fmt: skip
        command = ["apt-get", *(word for k, v in options.items() for word in ("-o", f"{k}={v}")), "update"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return lists


def paragraphs(path: Path) -> Iterator[dict[str, str]]:
    """The stanzas of a Debian control file, continuation lines joined."""
    fields: dict[str, str] = {}
    name = ""
    with OPENERS.get(path.suffix, open)(path, "rt", encoding="utf-8") as stream:  # type: ignore[operator]
        for line in stream:
            if line[0] in " \t":
                fields[name] += "\n" + line.strip()
            elif line.strip():
                name, value = line.split(":", 1)
                fields[name] = value.strip()
            else:
                yield fields
                fields = {}
    if fields:
        yield fields


def debian(lists: Path) -> Corpus:
    """One document per package with tags and a description; tags on fewer than FEWEST packages are left out."""
    long = {
        p["Description-md5"]: p["Description-en"]
        for path in sorted(lists.glob("*Translation-en*"))
        for p in paragraphs(path)
        if "Description-en" in p
    }
    texts: dict[str, str] = {}
    tags: dict[str, list[str]] = {}
    for path in sorted(lists.glob("*Packages*")):
        for p in paragraphs(path):
            if "Tag" in p and p["Package"] not in texts:
                description = p.get("Description", "")
                texts[p["Package"]] = long.get(p.get("Description-md5", ""), description)
                tags[p["Package"]] = re.split(r",\s*", p["Tag"].rstrip(", "))
    if not texts:
        raise SystemExit(f"no package with tags in the lists of {lists}")
    counts = Counter(tag for row in tags.values() for tag in row)
    names = sorted(texts, key=lambda name: hashlib.sha256(name.encode()).digest())
    return Corpus(
        name="debtags", kind="text", documents=[texts[name] for name in names], ids=names, exclusive=False,
        labels=[tuple(sorted({t for t in tags[name] if counts[t] >= FEWEST})) for name in names],
        split=["test" if k % 4 == 3 else "train" for k in range(len(names))], weights=np.ones(len(names)),
    )  # fmt: skip


# DMOZ's size


def zipf(size: int, exponent: float) -> np.ndarray:
    weights = 1.0 / np.arange(1, size + 1) ** exponent
    return weights / weights.sum()


def synthetic(folder: Path, categories: int = CATEGORIES) -> Path:
    """JSON lines: 20,249 training and 7,257 test documents of 133,348 words in 3,503 categories, one each.

    Words and sizes of categories follow Zipf's law. A document has some 140 words, a third of them from the 60
    words of its category. With fewer `categories` the documents of the others have no label.
    """
    path = folder / f"dmoz-{categories}.jsonl"
    if path.exists():
        return path
    draw = np.random.default_rng(11)
    words = draw.permutation(FEATURES)
    common = zipf(FEATURES, 1.05)
    # Ranks of the words of each category: common ones are shared by many, and the commonest belong to nobody.
    topics = np.exp(draw.uniform(np.log(100), np.log(FEATURES), (CATEGORIES, 60))).astype(int)
    own = zipf(60, 0.8)
    total = DOCUMENTS + TEST_DOCUMENTS
    category = draw.choice(CATEGORIES, total, p=zipf(CATEGORIES, 0.6))
    category[:CATEGORIES] = draw.permutation(CATEGORIES)  # every category has a training document
    rows = []
    common, own = np.cumsum(common), np.cumsum(own)
    seen = np.zeros(FEATURES, dtype=bool)
    for i in range(total):
        length = int(draw.lognormal(4.5, 0.6)) + 5
        general = np.minimum(np.searchsorted(common, draw.random(length)), FEATURES - 1)
        special = np.minimum(np.searchsorted(own, draw.random(length // 2)), len(own) - 1)
        rows.append(np.append(general, topics[category[i], special]))
        if i < DOCUMENTS:
            seen[rows[-1]] = True
    unseen = np.flatnonzero(~seen)  # every word is in a training document
    at = draw.integers(0, DOCUMENTS, len(unseen))
    extra: dict[int, list[int]] = {}
    for k, word in zip(at.tolist(), unseen.tolist(), strict=True):
        extra.setdefault(k, []).append(word)
    chosen = set(draw.permutation(CATEGORIES)[:categories].tolist())
    with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as stream:
        for i, row in enumerate(rows):
            text = " ".join(f"w{words[k]}" for k in [*row.tolist(), *extra.get(i, [])])
            label = f"c{category[i]}"
            entries = {"label": label} if len(chosen) == CATEGORIES else {"labels": [label] * (category[i] in chosen)}
            stream.write(json.dumps({"text": text, **entries, "split": "train" if i < DOCUMENTS else "test"}) + "\n")
    os.replace(stream.name, path)
    return path


# Jobs


def timed(function: Any, *arguments: Any, clock: Any = time.perf_counter, **named: Any) -> tuple[float, Any]:
    start = clock()
    value = function(*arguments, **named)
    return clock() - start, value


def megabytes(path: Path) -> float:
    return path.stat().st_size / 1e6


def describe(corpus: Corpus) -> None:
    train = corpus.part("train")
    X = make_design(train, TrainSettings(text=TEXT)).matrix
    print(f"  {len(train)} training and {len(corpus.part('test'))} test documents, {X.shape[1]} features, "
          f"{len(corpus.categories())} categories")  # fmt: skip


TEXT = glm07_text(digits=False, min_df=2)
METHODS: dict[str, dict[str, Any]] = {
    "lasso": {"prior": "laplace", "variance": "norm"},
    "Selected Ridge": {"prior": "gaussian", "method": "selected-ridge", "variance": 100.0},
}


def job_debian(corpus: Corpus, folder: Path, names: list[str]) -> None:
    part, test = corpus.part("train"), corpus.part("test")
    for name in names:
        seconds, model = timed(train, part, TrainSettings(text=TEXT, calibrate=False, n_jobs=2, **METHODS[name]))
        path = folder / f"debian-{name.replace(' ', '-')}.lapwing"
        save(model, path)
        result = evaluate(model, [(test.documents, test.labels)], undefined=0.0).averages()
        print(f"  {name}: {len(model.categories)} categories in {seconds:.1f} s on two threads, micro F1 "
              f"{100 * result['micro']['f1']:.1f}, macro F1 {100 * result['macro']['f1']:.1f}, sparsity "
              f"{model.sparsity:.4f}, model {megabytes(path):.1f} MB")  # fmt: skip


PEERS: dict[str, tuple[tuple[str, tuple[float, ...]], ...]] = {
    "gaussian": (("liblinear", (1e-2, 1e-3, 1e-4, 1e-5)), ("lbfgs", (1e-5, 1e-6, 1e-7, 1e-8, 1e-9))),
    "laplace": (("liblinear", (1e-3, 1e-4, 1e-5, 1e-6)),),
}


def job_fit(corpus: Corpus, every: int, prior: str) -> None:
    """Ridge fits categories together, so all of them are timed, and peers on some; lasso one by one, so some."""
    part, lasso = corpus.part("train"), prior == "laplace"
    X = make_design(part, TrainSettings(text=TEXT)).matrix
    variance = norm_variance(X) if lasso else 100.0
    settings = TrainSettings(text=TEXT, prior=prior, variance=variance, calibrate=False, n_jobs=1)
    vectors = Corpus(
        name="vectors", kind="vectors", documents=X, labels=part.labels, ids=part.ids, exclusive=False, split=[],
        weights=part.weights,
    )  # fmt: skip
    result = targets(part.labels, False)
    rows = range(0, len(result.classes), every)
    timed_ones = [result.classes[k] for k in rows]
    some = replace(vectors, labels=[tuple(x for x in row if x in set(timed_ones)) for row in part.labels])
    # And kernels are compiled.
    exact = train(some, replace(settings, tol=1e-6 if lasso else 1e-9, n_jobs=2), classes=timed_ones)
    best, compiled = exact.fits.objective, as_prior(prior).compile(variance, X.shape[1])
    ours = partial(timed, train, some if lasso else vectors, settings, clock=time.process_time,
                   classes=timed_ones if lasso else None)  # fmt: skip
    seconds, model = ours()
    own = slice(None) if lasso else slice(None, None, every)
    fitted_by_us = model.weights[own], model.intercepts[own]

    def excess(weights: np.ndarray, intercepts: np.ndarray) -> float:
        """The worst of the categories timed, relative to the best objective known."""
        values = [
            certify(X, result.signs(k), compiled, np.append(w, b)).objective
            for k, w, b in zip(rows, weights, intercepts, strict=True)
        ]
        return float(np.max(np.array(values) / best - 1.0))

    count = len(model.categories)
    mine = excess(fitted_by_us[0].toarray(), fitted_by_us[1])
    print(f"  ours: {seconds:.1f} s of CPU for {count}, {1000 * seconds / count:.0f} ms each, worst of every {every}th "
          f"{mine:.1e} above the optimum, certified")  # fmt: skip
    Y = result.member[:, list(rows)].toarray().astype(int)
    warnings.simplefilter("ignore")  # a peer may not have converged
    for solver, tolerances in PEERS[prior]:
        for tol in tolerances:
            # lbfgs leaves the constant free; a constant column is penalised as ours and liblinear's is.
            free = solver == "lbfgs"
            penalty = {"l1_ratio": 1.0, "C": (variance / 2.0) ** 0.5} if lasso else {"C": variance}
            one = LogisticRegression(**penalty, solver=solver, tol=tol, max_iter=5000, fit_intercept=not free)
            given = sp.hstack([X, np.ones((X.shape[0], 1))]).tocsr() if free else X
            peer = partial(timed, OneVsRestClassifier(one, n_jobs=1).fit, given, Y, clock=time.process_time)
            spent, fitted = peer()
            coef = np.vstack([fit.coef_[0] for fit in fitted.estimators_])
            constants = coef[:, -1] if free else np.array([fit.intercept_[0] for fit in fitted.estimators_])
            worst = excess(coef[:, :-1] if free else coef, constants)
            reached = worst <= NEAR
            each = 1000 * spent / len(rows)
            print(f"  {solver} at tol {tol:g}: {each:.0f} ms each, worst of {len(rows)} {worst:.1e} above the optimum"
                  + ("" if reached else ", not near enough"))  # fmt: skip
            if reached:
                break
        # By turns, for the machine's speed moves: a ratio is of neighbours.
        repeat = REPEAT if spent < LONG else 1
        pairs = [(ours()[0], peer()[0]) for _ in range(repeat)]
        times = sorted(theirs * count / len(rows) / here for here, theirs in pairs)
        print(f"  {solver}: {statistics.median(times):.1f} times ours ({times[0]:.1f} to {times[-1]:.1f}, "
              f"median of {repeat})")  # fmt: skip


PREDICT = """
import re, sys, time
import numpy as np, scipy.sparse as sp
import lapwing
from lapwing.model.deciding import Decider
from lapwing.model.scoring import Scorer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import LabelBinarizer
kind, model, matrix, every = sys.argv[1:]
X, model, run = sp.load_npz(matrix), lapwing.load(model), lambda: None
import numba
for W in (sp.eye_array(64, format="csr"), sp.csr_matrix(np.ones((8, 64)))):  # kernels are loaded
    Scorer(W, np.zeros(W.shape[0])).scores(sp.eye_array(64, format="csr"))
    Decider(Scorer(W, np.zeros(W.shape[0])), np.ones(W.shape[0])).places(sp.eye_array(64, format="csr"))
W, b, classes = model.weights[:: int(every)], model.intercepts[:: int(every)], np.array(model.classes)[:: int(every)]
if kind == "lapwing":
    run = lambda: model.predict(X)
elif kind == "OneVsRest":
    peer = OneVsRestClassifier(LogisticRegression())
    peer.label_binarizer_ = LabelBinarizer(sparse_output=True)
    peer.label_binarizer_.fit(classes if model.exclusive else np.eye(len(classes), dtype=int))
    vars(peer)["classes_"] = peer.label_binarizer_.classes_
    peer.estimators_ = []
    for k in range(len(b)):
        one = LogisticRegression()
        one.coef_, one.intercept_, one.classes_ = W[[k]].toarray().copy(), b[[k]], np.array([0, 1])
        peer.estimators_.append(one)
    run = lambda: peer.predict(X)
elif kind != "nothing":
    peer = LogisticRegression()
    peer.coef_ = W if kind == "sparsify" else W.toarray().copy()  # as `sparsify` leaves it
    peer.intercept_, peer.classes_ = b, classes
    run = (lambda: peer.predict(X)) if model.exclusive else (lambda: peer.decision_function(X) > 0)
seconds = []
for _ in range(1 if kind in ("OneVsRest", "one product") and len(b) * X.shape[1] > 10**7 else 5):
    start = time.process_time()
    run()
    seconds.append(time.process_time() - start)
peak = re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())
print(min(seconds), int(peak[1]) / 1024)
"""
DENSE = ("OneVsRest", "one product")  # estimators one after the other; or one, with a matrix of coefficients


def job_predict(path: Path, X: sp.csr_matrix, folder: Path) -> None:
    """Seconds are those of the one thread. Memory is the peak of a process over that of one that only loads the
    model, the documents and the compiled kernels.

    Where dense coefficients would take more than HELD they are those of every k-th category, and the figures times k.
    """
    matrix = folder / "test.npz"
    sp.save_npz(matrix, X)
    model = lapwing.load(path)
    every = -(-model.weights.shape[0] * model.weights.shape[1] * 8 // HELD)
    seconds, peak = {}, {}
    for kind in ("nothing", "nothing", "lapwing", *DENSE, "sparsify"):  # the first may have kernels to compile
        times = every if kind in DENSE else 1
        command = [sys.executable, "-c", PREDICT, kind, path, matrix, str(times)]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
        spent, top = map(float, done.stdout.split())
        below = 0.0 if kind == "nothing" else peak["nothing"]
        seconds[kind], peak[kind] = times * spent, times * max(top - below, 1.0)
    print(f"  {path.stem}: {X.shape[0]} documents against {len(model.categories)} categories, "
          f"{model.scorer.multiplications(X) / 1e6:.2f} million multiplications of "
          f"{X.nnz * len(model.categories) / 1e6:.0f}")  # fmt: skip
    mine = f"{seconds['lapwing']:.4f} s, {peak['lapwing']:.0f} MB"
    print(f"    lapwing: {mine}")
    for kind in (*DENSE, "sparsify"):
        scaled = f" (every {every}th category, times {every})" if every > 1 and kind in DENSE else ""
        print(f"    scikit-learn, {kind}: {seconds[kind]:.3f} s, {peak[kind]:.0f} MB{scaled}: "
              f"{seconds[kind] / seconds['lapwing']:.1f} times the time, {peak[kind] / peak['lapwing']:.1f} times the "
              "memory")  # fmt: skip


DMOZ = {
    "lasso": [],
    "Selected Ridge": ["--method", "selected-ridge", "--variance", "500"],  # AAGBD11: λ = 0.001
}


TRAIN = """
import atexit, re, runpy, sys
status = lambda: re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]
atexit.register(lambda: print("peak", status(), file=sys.stderr))
runpy.run_module("lapwing", run_name="__main__")
"""


def train_dmoz(folder: Path, categories: int, name: str) -> tuple[Path, float, float, float]:
    """(model, seconds, those of fitting categories, peak memory in MB) of `lapwing train` in a process of its own."""
    data = synthetic(folder, categories)
    output = folder / f"dmoz-{categories}-{name.replace(' ', '-')}.lapwing"
    command = [sys.executable, "-c", TRAIN, "train", data, "-o", output, "--jobs", "2",
               "--stop-words", "none", "--stemmer", "none", *DMOZ[name]]  # fmt: skip
    start, fitting, peak = time.perf_counter(), float("nan"), float("nan")
    with subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if match := re.fullmatch(r"peak (\d+)\n", line):
                peak = int(match[1]) / 1024
                continue
            print(f"    {line}", end="", flush=True)  # how far it is, and how long it still takes
            if match := re.fullmatch(r"fitting categories: \d+, ([\d.]+) s\n", line):
                fitting = float(match[1])
    if process.returncode:
        raise SystemExit(process.returncode)
    return output, time.perf_counter() - start, fitting, peak


def job_dmoz(folder: Path, categories: int, names: list[str]) -> None:
    for name in names:
        output, seconds, fitting, peak = train_dmoz(folder, categories, name)
        model = lapwing.load(output)
        gap = float(np.max(model.fits.gap / model.fits.objective))
        print(f"  {name}: {len(model.categories)} categories of {len(model.feature_names)} features in {seconds:.0f} s "
              f"on two threads, all told, {fitting:.0f} s of them fitting; peak {peak:.0f} MB, model "
              f"{megabytes(output):.1f} MB, sparsity {model.sparsity:.5f}, largest relative gap {gap:.1e}")  # fmt: skip


def job_growth(folder: Path, counts: list[int], names: list[str]) -> None:
    for name in names:
        train_dmoz(folder, counts[0], name)  # kernels are compiled
        for count in counts:
            _, seconds, fitting, peak = train_dmoz(folder, count, name)
            print(f"  {name}, {count} categories: {1000 * fitting / count:.0f} ms of fitting each ({fitting:.1f} s of "
                  f"{seconds:.1f} s), peak {peak:.0f} MB")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    jobs = ("debian", "ridge", "lasso", "predict", "dmoz", "growth")
    parser.add_argument("jobs", nargs="*", help=", ".join(jobs))
    parser.add_argument("--lists", type=Path, help="Debian's package lists")
    parser.add_argument("--every", type=int, default=20)
    parser.add_argument("--categories", type=int, default=CATEGORIES)
    parser.add_argument("--counts", type=int, nargs="+", default=[125, 250, 500, 1000])
    parser.add_argument("--method", choices=list(METHODS), help="of debian, dmoz, predict and growth; both without it")
    asked = parser.parse_args()
    if unknown := set(asked.jobs) - set(jobs):
        parser.error(f"unknown job {sorted(unknown)[0]}; there are {', '.join(jobs)}")
    wanted = asked.jobs or list(jobs)
    names = [asked.method] if asked.method else list(METHODS)
    print(f"lapwing {lapwing.__version__}, scikit-learn {sklearn.__version__}, NumPy {np.__version__}, "
          f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores")  # fmt: skip
    CACHE.mkdir(parents=True, exist_ok=True)
    corpus = None
    if {"debian", "ridge", "lasso", "predict"} & set(wanted):
        corpus = debian(asked.lists or fetch_lists())
        print("debtags")
        describe(corpus)
    for job, prior in (("ridge", "gaussian"), ("lasso", "laplace")):
        if job in wanted:
            print(f"{job}, one thread")
            job_fit(corpus, asked.every, prior)
    if "debian" in wanted:
        print("debian")
        job_debian(corpus, CACHE, names)
    if "dmoz" in wanted:
        print("dmoz")
        job_dmoz(CACHE, asked.categories, names)
    if "predict" in wanted:
        print("predict")
        stems = [f"{of}-{name.replace(' ', '-')}" for of in ("debian", f"dmoz-{asked.categories}") for name in names]
        for path in (result for stem in stems if (result := CACHE / f"{stem}.lapwing").exists()):
            test = corpus if path.name.startswith("debian") else lapwing.corpus.read(synthetic(CACHE, asked.categories))
            job_predict(path, lapwing.load(path).vectors(test.part("test").documents), CACHE)
    if "growth" in wanted:
        print("growth")
        job_growth(CACHE, asked.counts, names)


if __name__ == "__main__":
    main()
