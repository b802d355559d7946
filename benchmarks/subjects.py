"""Subject headings by the ten thousand: library titles of yso-finna-en, beside omikuji's and napkinXC's label trees.

    python benchmarks/subjects.py [quality] [whole] [resumed] [rare] [growth] [--lines N] [--preset many-labels]

quality  one thread each, on the same words: CPU seconds of training (ours with reading the text, choosing the variance
         and calibrating; the peers' from ready vectors), size of the model on disk, P@1, 3, 5, nDCG@5 and PSP@5 on the
         test titles, and for ours the largest relative gap. Parabel is omikuji as it comes, Bonsai as its README sets
         it; napkinXC's with --napkinxc PLT OVR (one-vs-rest is slow). A peer that is not installed is left out
whole    the command on --lines lines, 0 for all, on two threads: killed (SIGKILL) when half of the headings are fitted,
         and given again; wall and CPU seconds, peak memory, and the same table, the peers on two threads too
resumed  the same command killed and given again, and given once: whether their models have the same bytes
rare     for 500 of the rarer headings: objectives of kernels/rare.py and of kernels/newton.py at tol 1e-10, and the gap
         recomputed in plain NumPy
growth   one heading of 20 titles in corpora of 50,000, 100,000, … titles, up to --lines: milliseconds a fit, and how
         many titles it visits

Peers can be in an environment of their own: --peers PYTHON, an interpreter that has omikuji.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import lzma
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"})

import _corpora
import numpy as np
import scipy.sparse as sp

import lapwing
from lapwing.cli._train_settings import PRESETS
from lapwing.corpus import Corpus, read
from lapwing.evaluate.ranking import PROPENSITY, Ranking, ranking
from lapwing.formats import save
from lapwing.model import LinearModel
from lapwing.selection.variance import CrossValidation
from lapwing.solvers import newton
from lapwing.solvers.rare import RareSolver
from lapwing.stats.objective import certify
from lapwing.stats.priors import ElasticNet, Laplace
from lapwing.text import TextSettings
from lapwing.training import TrainSettings, learn, make_design
from lapwing.training.targets import targets

AT = (1, 3, 5)
KILLED = 1_000_000  # bytes of finished headings at which `resumed` kills
PEERS = """
import os, sys, time
import numpy as np, scipy.sparse as sp
kind, folder, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
X = sp.load_npz(folder + "/test.npz")
began = time.process_time()
if kind in ("parabel", "bonsai"):
    import omikuji
    how = omikuji.Model.default_hyper_param()
    if kind == "bonsai":
        how.cluster_balanced, how.cluster_k, how.max_depth = False, 100, 3
    model = omikuji.Model.train_on_data(folder + "/train.txt", how, n_threads=threads)
    spent = time.process_time() - began
    model.save(folder + "/" + kind)
    def first(i):
        a, b = X.indptr[i : i + 2]
        return [k for k, _ in model.predict(list(zip(X.indices[a:b].tolist(), X.data[a:b].tolist())), top_k=5)]
    lists = [first(i) for i in range(X.shape[0])]
else:
    from napkinxc.datasets import load_libsvm_file
    from napkinxc.models import PLT, OVR
    A, Y = load_libsvm_file(folder + "/train.txt")
    model = (PLT if kind == "PLT" else OVR)(folder + "/" + kind, threads=threads)
    began = time.process_time()
    model.fit(A, Y)
    spent = time.process_time() - began
    lists = model.predict(X, top_k=5)
size = sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(folder + "/" + kind) for name in names)
lists = np.array([(list(one) + [-1] * 5)[:5] for one in lists])
np.savez(folder + "/" + kind + ".npz", lists=lists, spent=spent, size=size)
"""


def corpus(lines: int | None) -> Corpus:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "titles.jsonl"
        with lzma.open(_corpora.path("yso-finna-en.jsonl.xz"), "rt", encoding="utf-8") as source:
            path.write_text("".join(itertools.islice(source, lines)), encoding="utf-8")
        return read(path)


def row(name: str, spent: float, size: float, ranked: Ranking, more: str = "") -> None:
    figures = [*(f"{100 * p:6.2f}" for p in ranked.precision), f"{100 * ranked.ndcg[-1]:6.2f}"]
    print(f"{name:24} {spent:8.1f} s {size / 1e6:8.1f} MB ", *figures, f"{100 * ranked.psp[-1]:6.2f}", more, flush=True)


def write(path: Path, X: sp.csr_matrix, member: sp.csr_matrix) -> None:
    """As the peers read it; documents without words, which they refuse, are left out."""
    kept = np.flatnonzero(np.diff(X.indptr))
    with path.open("w") as file:
        print(len(kept), X.shape[1], member.shape[1], file=file)
        for i in kept:
            labels = member.indices[member.indptr[i] : member.indptr[i + 1]]
            a, b = X.indptr[i : i + 2]
            words = (f"{j}:{x:.9g}" for j, x in zip(X.indices[a:b], X.data[a:b], strict=True))
            print(",".join(map(str, labels)), *words, file=file)


def quality(titles: Corpus, settings: TrainSettings, kinds: list[str], python: str) -> None:
    train, test = titles.part("train"), titles.part("test")
    print(f"{len(train)} training titles, {len(test)} test titles, {len(train.categories())} headings")
    learn(train.select(range(300)), replace(settings, variance=1.0))  # compiled before the clock starts
    began = time.process_time()
    model = learn(train, settings).model
    table(model, time.process_time() - began, train, test, settings, kinds, python, 1)


def table(
    model: LinearModel, spent: float, train: Corpus, test: Corpus, settings: TrainSettings, kinds: list[str],
    python: str, threads: int,
) -> None:  # fmt: skip
    """A row for every program, all by the same test titles."""
    print(f"{'':24} {'CPU':>10} {'model':>11}  {'P@1':>6} {'P@3':>6} {'P@5':>6} {'nDCG@5':>6} {'PSP@5':>6}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save(model, folder / "ours.lapwing")
        goal = targets(train.labels, False)
        number = {label: k for k, label in enumerate(goal.classes)}
        known = [tuple(number[label] for label in labels if label in number) for labels in test.labels]
        truth = targets(known, False, range(len(number))).member.tocsr()  # labels that can be found, for all alike
        counts, (a, b) = np.diff(goal.member.indptr), PROPENSITY
        weight = 1.0 + (np.log(len(train)) - 1.0) * (b + 1.0) ** a * (counts + b) ** -a
        worst = float(np.max(model.fits.gap / model.fits.objective))
        proof = f"largest relative gap {worst:.1e}, {int((~model.fits.converged).sum())} not converged"
        lists = model.most_probable(test.documents, AT[-1])[0]
        row("lapwing", spent, (folder / "ours.lapwing").stat().st_size, ranking(truth, lists, AT, weight), proof)
        write(folder / "train.txt", make_design(train, settings).matrix, goal.member.tocsr())
        sp.save_npz(folder / "test.npz", model.vectors(test.documents))
        for kind in kinds:
            done = subprocess.run([python, "-c", PEERS, kind, name, str(threads)], capture_output=True, text=True)
            if done.returncode:
                why = done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"]
                print(f"{kind:24} left out: {why[-1][:80]}")
                continue
            result: Any = np.load(folder / f"{kind}.npz")
            lists = np.where(result["lists"] < 0, truth.shape[1] - 1, result["lists"])
            row(kind, float(result["spent"]), float(result["size"]), ranking(truth, lists, AT, weight))


def run(command: list[str], *, stop_half_way: bool) -> tuple[float, float, float, bool]:
    """(wall seconds, CPU seconds, peak memory in MB, whether it was stopped) of a training."""
    began, stopped = time.perf_counter(), False
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        done = re.search(r"fitting categories: (\d+) of (\d+)", line)
        if stop_half_way and done and 2 * int(done[1]) >= int(done[2]):
            process.kill()
            stopped = True
            break
    _, status, used = os.wait4(process.pid, 0)
    assert stopped or status == 0, f"{' '.join(command)} ended with {status}"
    return time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, stopped


def command_for(lines: int | None, folder: Path, output: Path, given: argparse.Namespace) -> list[str]:
    """Of a training on the first lines, which are written to the folder."""
    data = folder / "titles.jsonl"
    with lzma.open(_corpora.path("yso-finna-en.jsonl.xz"), "rt", encoding="utf-8") as source:
        data.write_text("".join(itertools.islice(source, lines)), encoding="utf-8")
    command = [sys.executable, "-m", "lapwing", "train", str(data), "-o", str(output), "--jobs", "2"]
    for option in ("preset", "label_words", "stop_words", "ratio", "variance"):
        if (value := getattr(given, option)) is not None:
            command += ["--" + option.replace("_", "-"), str(value)]
    return command


def killed_and_resumed(command: list[str]) -> float:
    """CPU seconds of both runs."""
    total = 0.0
    for half_way in (True, False):
        wall, cpu, peak, stopped = run(command, stop_half_way=half_way)
        total += cpu
        ended = "killed half-way" if stopped else "done"
        print(f"lapwing train --jobs 2: {ended} after {wall:.0f} s, {cpu:.0f} s of CPU, peak {peak:.0f} MB", flush=True)
        if not stopped:
            break
    return total


def whole(lines: int | None, settings: TrainSettings, kinds: list[str], given: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        output = Path(name) / "whole.lapwing"
        total = killed_and_resumed(command_for(lines, Path(name), output, given))
        print(f"SHA-256 of the model: {hashlib.sha256(output.read_bytes()).hexdigest()}", flush=True)
        titles = read(Path(name) / "titles.jsonl")
        train, test = titles.part("train"), titles.part("test")
        print(f"{len(train)} training titles, {len(test)} test titles, {len(train.categories())} headings")
        table(lapwing.load(output), total, train, test, settings, kinds, given.peers, 2)


def resumed(lines: int | None, given: argparse.Namespace) -> None:
    os.environ.setdefault("SOURCE_DATE_EPOCH", str(int(time.time())))  # a model says when its training began
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        output, straight = Path(name) / "resumed.lapwing", Path(name) / "straight.lapwing"
        command = command_for(lines, Path(name), output, given)
        run([str(straight) if word == str(output) else word for word in command], stop_half_way=False)
        checkpoint = output.with_name(output.name + ".checkpoint")
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        while process.poll() is None and not (checkpoint.exists() and checkpoint.stat().st_size > KILLED):
            time.sleep(0.01)
        process.kill()
        assert process.wait() != 0, "it was done before it could be killed"
        kept = checkpoint.stat().st_size
        run(command, stop_half_way=False)
        same = output.read_bytes() == straight.read_bytes()
        print(f"killed with {kept} bytes of finished headings, resumed: {'the same' if same else 'other'} bytes")


def solver_of(titles: Corpus, settings: TrainSettings) -> tuple[Any, Any, RareSolver]:
    from lapwing.solvers.problem import Problem

    train = titles.part("train")
    problem = Problem(make_design(train, settings).matrix)
    return targets(train.labels, False), problem, RareSolver(problem, np.ones(len(train)))


def rare(titles: Corpus, settings: TrainSettings) -> None:
    goal, problem, solver = solver_of(titles, settings)
    n, indptr = problem.n_documents, goal.member.indptr
    rows = problem.matrix.rows
    X = sp.csr_matrix((rows.data, rows.indices, rows.indptr), shape=(n, len(problem.offset) - 1))
    some = np.random.default_rng(0).choice(np.flatnonzero(np.diff(indptr) <= 50), 500, replace=False)
    for prior, compared in ((ElasticNet(), 50), (Laplace(), 50)):
        arrays = problem.merge(prior.compile(10.0, len(problem.group)))
        apart = gap = 0.0
        for place, k in enumerate(some):
            positives = goal.member.indices[indptr[k] : indptr[k + 1]]
            one = solver.fit(positives, arrays, tol=1e-10)
            beta, y = np.zeros(len(problem.offset)), goal.signs(int(k))
            beta[one.columns], beta[-1] = one.weights, one.intercept
            gap = max(gap, certify(X, y, arrays, beta, one.dual(n)).relative_gap)
            if place < compared:
                other = newton.minimise(problem, y, np.ones(n), arrays, problem.start(arrays), 1e-10, 500)
                apart = max(apart, abs(one.objective - other.objective) / other.objective)
        print(f"{prior}: {len(some)} headings, largest relative gap by NumPy {gap:.1e}; objectives of {compared} by "
              f"either kernel within {apart:.1e}")  # fmt: skip


def words_held(columns: Any, some: np.ndarray) -> np.ndarray:
    """How many of some words each document holds."""
    return np.bincount(np.concatenate([columns.indices[columns.indptr[j] : columns.indptr[j + 1]] for j in some]))


def growth(titles: Corpus, settings: TrainSettings) -> None:
    size, last = 50_000, None
    while size <= len(titles):
        goal, problem, solver = solver_of(titles.select(range(size)), settings)
        arrays = problem.merge(settings.prior.compile(10.0, len(problem.group)))
        counts = np.diff(goal.member.indptr)
        some = np.argsort(np.abs(counts - 20), kind="stable")[:200]
        lists = [goal.member.indices[goal.member.indptr[k] : goal.member.indptr[k + 1]][:20] for k in some]
        solver.fit(lists[0], arrays, tol=settings.tol)
        began = time.process_time()
        fits = [solver.fit(positives, arrays, tol=settings.tol) for positives in lists]
        spent = 1e3 * (time.process_time() - began) / len(lists)
        ratio = "" if last is None else f", {spent / last:.2f} times the one before"
        rounds, touched = np.mean([(one.rounds, len(one.documents)) for one in fits], axis=0)
        several = np.mean([np.sum(words_held(problem.matrix.columns, one.columns) > 1) for one in fits])
        print(f"{size:8} titles: {spent:.2f} ms a heading of 20{ratio}; {rounds:.1f} rounds, {touched:.0f} titles "
              f"touched, {several:.0f} with two words or more that have weights", flush=True)  # fmt: skip
        size, last = 2 * size, spent


def settings_of(given: argparse.Namespace) -> TrainSettings:
    """Those of the preset, but for what is given."""
    how = dict(PRESETS[given.preset]) if given.preset else {}
    how |= {
        name: value for name in ("label_words", "stop_words", "ratio") if (value := getattr(given, name)) is not None
    }
    text = TextSettings(stop_words=how.get("stop_words", TextSettings().stop_words))
    tried = how.get("cv_variances") if given.variance is None else None
    return TrainSettings(
        text=text,
        prior=ElasticNet(how.get("ratio", ElasticNet().ratio)),
        label_words=how.get("label_words", 0.0),
        variance="pooled" if given.variance is None else given.variance,
        cv=CrossValidation(variances=None if tried is None else (float(tried),)),
        tol=how.get("tol", TrainSettings().tol),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "what", nargs="*", choices=["quality", "whole", "resumed", "rare", "growth"], default=["quality"]
    )
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--folder", help="for the corpus and the model of `whole`, instead of the system's own")
    parser.add_argument("--preset", choices=["many-labels"])
    parser.add_argument("--label-words", type=float)
    parser.add_argument("--stop-words")
    parser.add_argument("--ratio", type=float)
    parser.add_argument("--variance", type=float)
    parser.add_argument("--napkinxc", nargs="+", choices=["PLT", "OVR"], default=[])
    parser.add_argument("--peers", default=sys.executable, metavar="PYTHON")
    given = parser.parse_args()
    settings = settings_of(given)
    about = {"lapwing": lapwing.__version__, "python": platform.python_version(), "machine": platform.processor()}
    print(json.dumps(about), vars(given))
    kinds = ["parabel", "bonsai", *given.napkinxc]
    if "whole" in given.what:
        whole(given.lines or None, settings, kinds, given)
    if "resumed" in given.what:
        resumed(given.lines or None, given)
    if set(given.what) <= {"whole", "resumed"}:
        return
    titles = corpus(given.lines or None)
    if "quality" in given.what:
        quality(titles, settings, kinds, given.peers)
    if "rare" in given.what:
        rare(titles, settings)
    if "growth" in given.what:
        growth(titles, settings)


if __name__ == "__main__":
    main()
