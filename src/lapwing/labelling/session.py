"""One person labelling a pool of documents: what is shown next, what was answered, and the model learned from it."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lapwing.corpus import Corpus
from lapwing.errors import InputError, LapwingError
from lapwing.labelling.answers import Answers
from lapwing.labelling.strategies import next_documents
from lapwing.model import LinearModel
from lapwing.stats.prior_table import PriorTable
from lapwing.text import TextSettings, design
from lapwing.text.beside import WithColumns
from lapwing.training import TrainSettings, learn
from lapwing.training.again import settings_of

LEAST_POSITIVES = 2  # of two categories or more, and of as many documents outside, before a model is learned
AHEAD = 3  # times the batch: documents chosen in advance, so that none waits for a fit
MARKS = 60  # words highlighted

log = logging.getLogger("lapwing")


@dataclass(frozen=True)
class State:
    """A model and what was worked out with it. It is replaced as a whole, so that its parts always fit together."""

    model: LinearModel | None
    answers: int  # when it was learned
    left: np.ndarray  # numbers of the documents that had no answer when they were ranked
    proba: np.ndarray | None = None  # (left, classes)
    queue: tuple[int, ...] = ()  # documents to ask about next
    curve: tuple[dict[str, Any], ...] = ()  # of every model how many answers it learned from, and how good it was


class Session:
    """Documents, categories and answers.

    pool         texts without labels, with distinct ids
    categories   names, in the order of their keys; those of the model first, where there is one
    exclusive    a document has just one
    strategy     see labelling/strategies.py; before there is a model, documents with words of a category come first:
                 those of its name, and those that `prior` has for it
    prior        words that speak for categories (`lapwing.priors.from_words`), for models, too, that are learned from
                 answers alone
    every        answers after which a model is learned anew, in the background
    """

    def __init__(
        self, pool: Corpus, answers: Answers, categories: Sequence[str] = (), *, model: LinearModel | None = None,
        exclusive: bool = True, strategy: str = "diverse", every: int = 5, seed: int = 0,
        prior: PriorTable | None = None,
    ) -> None:  # fmt: skip
        self.base = model
        known = [] if model is None else [str(label) for label in model.classes]
        answered = [label for record in answers.records for label in record["labels"]]
        self.categories = list(dict.fromkeys([*known, *categories, *answered]))
        if not self.categories:
            raise InputError("expected a model or names of categories to label with (--model, --category)")
        if len(set(pool.ids)) != len(pool.ids):
            raise InputError(f"{pool.name}: expected distinct ids, by which answers are found again")
        if model is not None and model.weighting is None:
            raise InputError("the model was trained on vectors, and no text can be made into one")
        if pool.numeric or pool.categorical or (model is not None and isinstance(model.weighting, WithColumns)):
            raise InputError("documents are labelled by their texts; leave numeric and categorical columns out")
        self.exclusive = exclusive if model is None else model.exclusive
        self.pool, self.answers, self.strategy, self.every, self.seed = pool, answers, strategy, every, seed
        self.number = {id: i for i, id in enumerate(pool.ids)}
        for one in answers.records:
            i = self.number.get(one["id"])
            if i is not None and pool.documents[i] != one["text"]:
                raise InputError(
                    f"{answers.path} has an answer to another text under the id {one['id']!r}; label the documents "
                    "that it was begun with, or name another file with -o"
                )
        self.settings = TrainSettings() if model is None else settings_of(model)
        self.words = {name: name for name in self.categories}
        if prior is not None:
            self._begin_with(prior)
        text = self.settings.text if model is None or model.weighting is None else model.weighting.settings
        vectors = design(pool.documents, replace(text, min_df=1) if isinstance(text, TextSettings) else text)
        self.X, self.weighting = vectors.matrix, vectors.weighting
        self.lock, self.learning = threading.RLock(), False
        self.now = State(model, len(answers.records), np.empty(0, dtype=np.int64))
        self.order: list[tuple[str, bool]] = [(str(one["id"]), False) for one in answers.records]
        self.order += [(id, True) for id in answers.skipped]
        self.guesses: list[bool] = []
        self._learn_and_rank()

    def _begin_with(self, prior: PriorTable) -> None:
        """Words that are known to speak for categories."""
        if self.base is not None:
            raise InputError("words to begin with are for labelling without a model, which has its own; leave them out")
        for row in prior.rows:
            if row.category not in self.words:
                raise InputError(f"{row.where}: expected words for one of the categories, got {row.category!r}")
            self.words[row.category] += f" {row.feature}"
        self.settings = replace(self.settings, prior=prior)

    # What is asked

    @property
    def model(self) -> LinearModel | None:
        return self.now.model

    @property
    def done(self) -> set[int]:
        ids = [*(str(one["id"]) for one in self.answers.records), *self.answers.skipped]
        return {self.number[id] for id in ids if id in self.number}

    def current(self) -> int | None:
        """The document to be shown; None where none is left."""
        with self.lock:
            if not self._waiting():
                self._rank(self.now)
            return next(iter(self._waiting()), None)

    def _waiting(self) -> list[int]:
        done = self.done
        return [i for i in self.now.queue if i not in done]

    def answer(self, id: str, labels: Sequence[str]) -> None:
        """On disk when this returns; a model is learned in the background after some of them. The same again, which is
        asked for where the reply was lost, changes nothing."""
        with self.lock:
            saved = [one["labels"] for one in self.answers.records if one["id"] == id]
            if saved and set(saved[-1]) == set(labels):
                return
            i = self._expected(id)
            wrong = [label for label in labels if label not in self.categories]
            if wrong or (self.exclusive and len(labels) != 1):
                raise InputError(
                    f"expected {'one' if self.exclusive else 'some'} of the categories, got {list(labels)}"
                )
            if self.model is not None:
                self.guesses.append(self._guess(i) == set(labels))
            self.answers.add(id, self.pool.documents[i], list(labels))
            self.order.append((id, False))
            due = len(self.answers.records) - self.now.answers >= self.every
        if due:
            self._learn_in_background()

    def skip(self, id: str) -> None:
        with self.lock:
            if id in self.answers.skipped:
                return
            self._expected(id)
            self.answers.skip(id)
            self.order.append((id, True))

    def undo(self) -> None:
        """The last answer, or skip, is taken back, and its document shown again."""
        with self.lock:
            if not self.order:
                raise InputError("there is no answer to take back")
            id, skipped = self.order[-1]
            self.answers.undo(skip=skipped)
            self.order.pop()
            if not skipped and self.guesses:
                self.guesses.pop()
            queue = (self.number[id], *self.now.queue) if id in self.number else self.now.queue
            self.now = replace(self.now, answers=min(self.now.answers, len(self.answers.records)), queue=queue)

    def _expected(self, id: str) -> int:
        if id not in self.number or self.number[id] in self.done:
            raise InputError(f"document {id!r} is not one that is waiting for an answer; load the page again")
        return self.number[id]

    def _guess(self, i: int) -> set[str]:
        assert self.model is not None
        chosen = self.model.decide(self.model.scores([self.pool.documents[i]]))[0]
        return {str(label) for label, yes in zip(self.model.classes, chosen, strict=True) if yes}

    # What is learned

    def _learn_in_background(self) -> None:
        with self.lock:
            if self.learning:
                return
            self.learning = True
        threading.Thread(target=self._learn_and_rank, daemon=True).start()

    def _learn_and_rank(self) -> None:
        learned = None
        try:
            learned = self._learn()
        except Exception as error:  # answers are safe; the next ones may do
            log.warning("no model was learned: %s", error, exc_info=not isinstance(error, LapwingError))
        try:
            self._rank(learned or self.now)
        finally:
            self.learning = False

    def wait(self, seconds: float = 60.0) -> None:
        """Until nothing is being learned."""
        import time

        until = time.monotonic() + seconds
        while self.learning and time.monotonic() < until:
            time.sleep(0.01)

    def labelled(self) -> Corpus:
        with self.lock:
            records = list(self.answers.records)
        n = len(records)
        return Corpus(
            self.answers.path.name, "text", [str(one["text"]) for one in records],
            [tuple(one["labels"]) for one in records], [str(one["id"]) for one in records], self.exclusive, [""] * n,
            np.ones(n),
        )  # fmt: skip

    def _learn(self) -> State | None:
        """With a new model, its documents yet to be ranked; None where there is nothing to learn from."""
        corpus = self.labelled()
        count = Counter(label for labels in corpus.labels for label in labels)
        if self.base is not None and self.base.memory is not None:
            if not len(corpus):
                return None
            return self._learned(self.base.update(corpus.documents, list(map(list, corpus.labels))), len(corpus))
        enough = [label for label, times in count.items() if times >= LEAST_POSITIVES]
        if len(enough) < (2 if self.exclusive else 1) or len(corpus) - min(count.values()) < LEAST_POSITIVES:
            return None
        return self._learned(learn(corpus, self.settings, curvature="none").model, len(corpus))

    def _learned(self, model: LinearModel, answers: int) -> State:
        with self.lock:
            held_out, recent = model.held_out if self.base is None else {}, self.guesses[-50:]
            point = {"labels": answers, "macro_f1": held_out.get("macro_f1")}
            point |= {"guessed": float(np.mean(recent)) if recent else None}
            return replace(self.now, model=model, answers=answers, curve=(*self.now.curve, point))

    def _rank(self, state: State) -> None:
        """Choose the next documents by the model of `state`, and go on with both."""
        with self.lock:
            done, seed = self.done, self.seed + len(self.answers.records)
        left = np.array([i for i in range(len(self.pool)) if i not in done], dtype=np.int64)
        queue: list[int] = []
        proba = None
        if state.model is None:
            queue = self._named_first(left, seed)
        elif len(left):
            proba = state.model.predict_proba([self.pool.documents[i] for i in left])
            count = AHEAD * self.every
            chosen = next_documents(self.strategy, proba, self.X[left], count, exclusive=self.exclusive, seed=seed)
            queue = left[chosen].tolist()
        with self.lock:
            first = self._waiting()[:1]  # what is on the page stays there
            answers = min(state.answers, len(self.answers.records))  # some may have been taken back
            queue = list(dict.fromkeys([*first, *queue]))
            self.now = replace(state, answers=answers, left=left, proba=proba, queue=tuple(queue))

    def _named_first(self, left: np.ndarray, seed: int) -> list[int]:
        """Without a model: documents most like the words of a category, categories by turns; then any."""
        shuffled = np.random.default_rng(seed).permutation(left)
        assert self.weighting is not None
        like = (self.X[shuffled] @ self.weighting.vectors(list(self.words.values())).T).toarray()
        order = np.argsort(-like, axis=0, kind="stable")
        queues = [[int(shuffled[j]) for j in order[:, k] if like[j, k] > 0.0] for k in range(len(self.words))]
        turns = [queue[k] for k in range(max(map(len, queues), default=0)) for queue in queues if k < len(queue)]
        return list(dict.fromkeys([*turns, *shuffled.tolist()]))[: AHEAD * self.every]

    # What is shown

    def state(self) -> dict[str, Any]:
        """All that the page shows, as JSON."""
        with self.lock:
            i, now = self.current(), self.now
            counts = Counter(str(label) for one in self.answers.records for label in one["labels"])
            return {
                "categories": [
                    {"name": name, "labelled": counts[name], **self._unfound(name, now)} for name in self.categories
                ],
                "exclusive": self.exclusive,
                "answered": len(self.answers.records),
                "skipped": len(self.answers.skipped),
                "pool": len(self.pool),
                "undo": bool(self.order),
                "learning": self.learning,
                "strategy": self.strategy,
                "curve": list(now.curve),
                "document": None if i is None else self._shown(i, now.model),
            }

    def _unfound(self, name: str, now: State) -> dict[str, Any]:
        """How many of a category are still to be found: Σ p over those without an answer, ± two deviations."""
        names = [] if now.model is None or now.proba is None else list(map(str, now.model.classes))
        if now.proba is None or name not in names:
            return {"unfound": None}
        done = self.done
        p = now.proba[[j for j, i in enumerate(now.left.tolist()) if i not in done], names.index(name)]
        spread = 2.0 * float(np.sqrt(np.sum(p * (1.0 - p))))
        expected = float(p.sum())
        ends = [round(max(expected - spread, 0.0), 1), round(expected + spread, 1)]
        return {"unfound": round(expected, 1), "unfound_range": ends}

    def _shown(self, i: int, model: LinearModel | None) -> dict[str, Any]:
        text = self.pool.documents[i]
        shown: dict[str, Any] = {"id": self.pool.ids[i], "text": text, "marks": [], "probabilities": {}, "about": None}
        if model is None:
            return shown
        explained = model.explain(text)
        proba = model.predict_proba([text])[0]
        shown["probabilities"] = {str(c): float(p) for c, p in zip(model.classes, proba, strict=True)}
        if explained.categories:
            best = max(explained.categories, key=lambda one: one.probability)
            shown["about"] = str(best.category)
            marks = [
                [start, end, float(part.contribution)]
                for part in best.contributions[:MARKS]
                for start, end in part.spans
            ]
            shown["text"], shown["marks"] = explained.text, sorted(marks)
        return shown
