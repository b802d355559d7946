"""The REST interface, as FastAPI writes it down in /openapi.json."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from itertools import combinations
from typing import Annotated, Any

import numpy as np
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from starlette.exceptions import HTTPException

from lapwing import __version__
from lapwing.corpus import Hierarchy
from lapwing.errors import InputError
from lapwing.evaluate.measures import BLOCK_SCORES
from lapwing.model.scoring import best
from lapwing.serve.described import description_page
from lapwing.serve.guard import POLICY
from lapwing.serve.metrics import CONTENT_TYPE, Metrics
from lapwing.serve.pages import policy_for, serve_page
from lapwing.serve.settings import ServeSettings
from lapwing.serve.store import Served, Store
from lapwing.serve.turns import INLINE, Turns

log = logging.getLogger("lapwing.serve")

Name = Annotated[str, Field(max_length=1000)]


def _whole(value: Any) -> Any:
    """JSON Schema's integer: 3 and 3.0, but neither true nor "3"."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole = Annotated[int, Field(ge=1, le=1_000_000), BeforeValidator(_whole)]
Share = Annotated[float, Field(ge=0, le=1)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


MANY = 1000  # classes, of which an answer has the FEW most probable unless it is asked for more
FEW = 100


class Asked(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    model: Name | None = Field(None, description="A model by name; the first one if left out")


KINDS = ("text", "texts", "vectors")
DECIDING = ("coverage", "precision", "threshold", "thresholds")  # at most one, but for the last two together
ALONE: list[Any] = [list(pair) for pair in combinations(DECIDING, 2) if pair != DECIDING[2:]]
_LEFT_OUT: Any = None  # may be left out, but not null


Value = bool | Finite | Name | None
BESIDE = "Values of the columns that the model reads beside the text, by name"


class Classify(Asked):
    """Exactly one of `text`, `texts` and `vectors`."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [{"required": [name]} for name in KINDS],
            "not": {"anyOf": [{"required": pair} for pair in ALONE]},
            "dependentRequired": {"abstain": ["coverage"]},
        }
    )
    text: str = Field(_LEFT_OUT, description="One text")
    texts: list[str] = Field(_LEFT_OUT, min_length=1, description="Several texts")
    vectors: list[dict[Name, Finite]] = Field(
        _LEFT_OUT, min_length=1, description="For a model of vectors: features with their values"
    )
    columns: dict[Name, Value] | list[dict[Name, Value]] = Field(
        _LEFT_OUT, description=f"{BESIDE}; with `texts` a list, one for each"
    )
    top: Whole | None = Field(
        None,
        description=f"Only so many probabilities, the largest; all by default, or {FEW} of more than {MANY} classes",
    )
    broader: bool = Field(False, description="Add what is above each class, as the server was told (--broader)")
    coverage: float = Field(
        _LEFT_OUT, gt=0, lt=1, description="Predict sets that hold all true classes of a text at this rate"
    )
    abstain: bool = Field(_LEFT_OUT, description="With `coverage`: only sets of one class, and none otherwise")
    precision: float = Field(
        _LEFT_OUT,
        ge=0.5,
        lt=1,
        description="Predict only classes that are right at this rate, with a confidence of 0.9",
    )

    threshold: Share = Field(_LEFT_OUT, description="Predict classes of a larger probability than this")
    thresholds: dict[Name, Share] = Field(
        _LEFT_OUT, description="The same by class; others as `threshold` has it, or as the model does"
    )

    @model_validator(mode="after")
    def _one(self) -> Classify:
        given = [name for name in KINDS if name in self.model_fields_set]
        if len(given) != 1:
            raise ValueError(f"give exactly one of text, texts and vectors, not {' and '.join(given) or 'none'}")
        for pair in ALONE:
            if set(pair) <= self.model_fields_set:
                raise ValueError(f"give {pair[0]} or {pair[1]} to decide by, not both")
        if self.model_fields_set & {"abstain", "coverage"} == {"abstain"}:
            raise ValueError("abstain leaves out sets of more than one class; give the coverage that they are to have")
        return self


class Explain(Asked):
    text: str
    columns: dict[Name, Value] = Field(_LEFT_OUT, description=BESIDE)
    categories: list[Name] | None = Field(None, min_length=1, max_length=100, description="Only these")
    top: Whole = Field(3, le=100, description="So many categories, the most probable")


class Result(BaseModel):
    predicted: list[str]
    probabilities: dict[str, float] = Field(
        description="By class, the largest first; they add up to 1 where classes are exclusive"
    )
    error: str | None = Field(None, description="Why this text has no answer; others of the same request have theirs")


class Classified(BaseModel):
    model: str
    results: list[Result]


class Part(BaseModel):
    feature: str
    value: float
    weight: float
    contribution: float
    spans: list[tuple[int, int]] = Field(description="Where it stands in the text, in code points")


class Explained(BaseModel):
    category: str
    score: float
    probability: float
    threshold: float | None = Field(
        description="Of the score; null where the category is never assigned, or the most probable class is taken"
    )
    chosen: bool
    intercept: float
    contributions: list[Part]


class Explanation(BaseModel):
    model: str
    text: str = Field(description="What the spans refer to")
    categories: list[Explained]


class ModelInfo(BaseModel):
    name: str
    link: str
    classes: int
    exclusive: bool
    features: int
    reads: str = Field(description="texts or vectors")
    columns: list[str] = Field(description="Names of columns that it reads beside the text")
    evaluated: bool
    promises: bool = Field(description="Whether a coverage or a precision can be asked for")
    loads: int = Field(description="How often its file was loaded")
    provenance: dict[str, Any]


class Models(BaseModel):
    models: list[ModelInfo]


class Category(BaseModel):
    name: str
    positives: int | None = Field(description="Training documents; null of a model converted from a file of BBR or BMR")
    features: int
    threshold: float | None


class Categories(BaseModel):
    model: str
    categories: list[Category]


class Health(BaseModel):
    status: str
    version: str
    models: list[str]


class Problem(BaseModel):
    error: str


_SAID = {
    400: "the request cannot be read",
    401: "a token is needed",
    404: "there is no such model or category",
    409: "the model reads texts and vectors were given, or the other way round, or other columns; or it can promise "
    "nothing",
    413: "larger than a request may be",
    422: "not what was expected",
    503: "too many at a time; Retry-After says when to come back",
    504: "not done in time",
}


def _problems(*codes: int) -> dict[int | str, dict[str, Any]]:
    return {code: {"model": Problem, "description": _SAID[code]} for code in codes}


def _in_json(*codes: int) -> dict[int | str, dict[str, Any]]:
    """The same where the answer itself is not JSON."""
    schema = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {code: {"description": _SAID[code], "content": schema} for code in codes}


def _wrong_kind(one: Served) -> HTTPException:
    wanted, given = ("texts", "vectors") if one.reads_text else ("vectors", "texts")
    return HTTPException(409, f"the model {one.name!r} was trained on {wanted}; give those, not {given}")


def _beside(one: Served, texts: list[str] | None, columns: Any) -> list[dict[str, Any]] | None:
    """The values beside each text, checked to be of the model's columns."""
    if columns is None:
        return None
    several = columns if isinstance(columns, list) else [columns]
    if len(several) != len(texts or ()):
        raise HTTPException(409, "give columns as an object with one text, or as a list with a place for every text")
    if unknown := sorted({name for values in several for name in values if name not in one.beside}):
        reads = f"{', '.join(one.beside)} beside the text" if one.beside else "no columns"
        raise HTTPException(409, f"the model {one.name!r} reads {reads}, and got a column {unknown[0]!r}")
    return several


GUARDED = (400, 401, 413, 503, 504)


def create_app(store: Store, settings: ServeSettings, metrics: Metrics | None = None) -> FastAPI:
    """The application without its guard: `lapwing.serve.run.guarded` puts that around it."""
    counted = metrics or Metrics()
    app = FastAPI(
        title="lapwing",
        version=__version__,
        description="Small, readable text classifiers.",
        docs_url=None,  # those pages load scripts from elsewhere; /docs below does not
        redoc_url=None,
        lifespan=_lifespan(store, settings),
    )
    turns = Turns()

    def served(name: str | None) -> Served:
        answer = store.get(name)
        if answer is None:
            raise HTTPException(404, f"there is no model {name!r}; there are {', '.join(store.models)}")
        return answer

    @app.post("/v1/classify", responses=_problems(404, 409, 422, *GUARDED), response_model=Classified)
    async def classify(asked: Classify) -> JSONResponse:
        """Put texts into categories, with probabilities."""
        one = served(asked.model)
        texts = [asked.text] if asked.text is not None else asked.texts
        size = len(texts if texts is not None else asked.vectors or ())
        if size > settings.max_batch:
            raise HTTPException(422, f"a request may have {settings.max_batch} texts, got {size}; send less at a time")
        if one.reads_text != (texts is not None):
            raise _wrong_kind(one)
        if one.model.conformal is None and {"coverage", "precision"} & asked.model_fields_set:
            raise HTTPException(409, f"the model {one.name!r} keeps nothing to promise a coverage or a precision by")
        for name in asked.thresholds or ():
            _category(one, name)
        if asked.broader and settings.broader is None:
            raise HTTPException(409, "the server was not told what is above which class; start it with --broader FILE")
        hierarchy = settings.broader if asked.broader else None
        documents = one.matrix(texts, asked.vectors, _beside(one, texts, asked.columns))
        characters = sum(map(len, texts)) if texts is not None else INLINE + 1
        results = await turns.do(characters, lambda: _results(one, asked, documents, size, hierarchy))
        counted.classified(one.name, size)
        return JSONResponse({"model": one.name, "results": results})

    @app.post("/v1/explain", responses=_problems(404, 409, 422, *GUARDED), response_model=Explanation)
    async def explain(asked: Explain) -> JSONResponse:
        """The words of a text that spoke for and against its most probable categories, or those named."""
        one = served(asked.model)
        if not one.reads_text:
            raise _wrong_kind(one)
        wanted = None if asked.categories is None else [_category(one, name) for name in asked.categories]
        (document,) = one.matrix([asked.text], None, _beside(one, [asked.text], asked.columns))
        top = None if wanted else asked.top
        answer = await turns.do(len(asked.text), lambda: one.model.explain(document, wanted, top=top))
        return JSONResponse(
            {
                "model": one.name,
                "text": _LONE.sub("\ufffd", answer.text),
                "categories": [_explained(item) for item in answer.categories],
            }
        )

    @app.get("/v1/models", responses=_problems(*GUARDED), response_model=Models)
    async def models() -> JSONResponse:
        """The models being served, the first answers where none is named."""
        return JSONResponse({"models": [_info(one, store) for one in store.models.values()]})

    @app.get("/v1/models/{name}/categories", responses=_problems(404, 422, *GUARDED), response_model=Categories)
    async def categories(name: str) -> JSONResponse:
        """The categories of a model."""
        one = served(name)
        return JSONResponse({"model": one.name, "categories": _categories(one)})

    @app.get("/health", response_model=Health, responses=_problems(400))
    async def health() -> JSONResponse:
        """Whether the server is there; answered under any load and without a token."""
        return JSONResponse({"status": "ok", "version": __version__, "models": list(store.models)})

    @app.get("/metrics", responses=_in_json(*GUARDED), response_class=PlainTextResponse)
    async def metrics_text() -> PlainTextResponse:
        """Counts and times of requests, in the text format of Prometheus."""
        return PlainTextResponse(counted.text(store), media_type=CONTENT_TYPE)

    @app.get("/docs", responses=_in_json(*GUARDED), response_class=HTMLResponse)
    async def docs() -> HTMLResponse:
        """This interface, described for people."""
        html = description_page(app.openapi())
        return HTMLResponse(html, headers={POLICY[0].decode(): policy_for(html)})

    @app.get("/", response_class=HTMLResponse, responses=_in_json(404, 422, *GUARDED))
    async def page(request: Request, model: Name | None = None) -> HTMLResponse:
        """The page to try a model in; `?model=` chooses which."""
        packed = "gzip" in request.headers.get("accept-encoding", "")
        content, policy = await asyncio.to_thread(
            serve_page, served(model), tuple(store.models), settings.max_body, packed
        )
        headers = {POLICY[0].decode(): policy, "Vary": "Accept-Encoding"}
        return HTMLResponse(content, headers=headers | ({"Content-Encoding": "gzip"} if packed else {}))

    _handle_errors(app)
    return app


def _handle_errors(app: FastAPI) -> None:
    """Every error is an answer of the form Problem."""

    @app.exception_handler(InputError)
    async def _input(request: Request, error: InputError) -> JSONResponse:
        return JSONResponse({"error": str(error)}, 422)

    @app.exception_handler(RequestValidationError)
    async def _invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        """Where and what, without repeating what was sent."""
        answer = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:5]]
        return JSONResponse({"error": _safe("; ".join(answer))}, 422)

    @app.exception_handler(HTTPException)
    async def _problem(request: Request, error: HTTPException) -> JSONResponse:
        return JSONResponse({"error": _safe(str(error.detail))}, error.status_code, headers=error.headers)


_LONE = re.compile("[\ud800-\udfff]")  # one becomes one, so that spans fit


def _safe(text: str) -> str:
    """Halves of surrogate pairs, which UTF-8 has no bytes for, spelled out."""
    return text[:1000].encode("utf-8", "backslashreplace").decode()


def _lifespan(store: Store, settings: ServeSettings) -> Callable[[FastAPI], Any]:
    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        task = asyncio.create_task(_watch(store, settings.reload_every)) if settings.reload_every else None
        yield
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    return life


async def _watch(store: Store, every: float) -> None:
    """Load again what has changed, beside the requests being answered."""
    while True:
        await asyncio.sleep(every)
        try:
            for name in await asyncio.to_thread(store.changed):
                await asyncio.to_thread(store.reload, name)
        except Exception:  # without its watcher the server would go on with old models and say nothing
            log.exception("looking at the model files failed; they are looked at again")


Row = tuple[np.ndarray, np.ndarray] | Exception  # probabilities and decisions of one document


def _results(
    one: Served, asked: Classify, documents: Any, size: int, hierarchy: Hierarchy | None = None
) -> list[dict[str, Any]]:
    """Of every document what is asked for: of no more at a time than have scores that fit in memory."""
    at_a_time = max(BLOCK_SCORES // len(one.labels), 1) if one.model.decision == "threshold" else size
    top = asked.top or (FEW if len(one.labels) > MANY else None)
    results = []
    for first in range(0, size, at_a_time):
        some = documents[first : first + at_a_time]
        for row in one.classify_each(some, min(at_a_time, size - first)):
            results.append(_result(one.labels, _promised(one, asked, row), top, hierarchy))
    return results


def _promised(one: Served, asked: Classify, row: Row) -> Row:
    """Decisions of the coverage or precision asked for, where one was."""
    if isinstance(row, Exception) or not asked.model_fields_set & set(DECIDING):
        return row
    if asked.coverage is None and asked.precision is None:
        return row[0], _over(one, asked, *row)
    promised = one.model.promised(
        row[0][None], coverage=asked.coverage, precision=asked.precision, abstain=bool(asked.abstain)
    )
    return row[0], promised[0]


def _over(one: Served, asked: Classify, proba: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Classes over the thresholds of the request; of exclusive ones the most probable, if it is over its own."""
    own = asked.thresholds or {}
    limits = [own.get(label, asked.threshold) for label in one.labels]
    over = [yes if limit is None else p > limit for p, yes, limit in zip(proba, chosen, limits, strict=True)]
    best = np.arange(len(proba)) == np.argmax(proba) if one.model.exclusive else True
    return np.array(over, dtype=bool) & best


def _result(labels: list[str], row: Row, top: int | None, hierarchy: Hierarchy | None) -> dict[str, Any]:
    if isinstance(row, Exception):
        said = str(row) if isinstance(row, InputError) else "it cannot be read; the log says why"
        return {"predicted": [], "probabilities": {}, "error": _safe(said)}
    proba, chosen = row
    predicted = np.flatnonzero(chosen)
    first = best(proba[None], len(proba) if top is None else top)[0]
    predicted = predicted[np.argsort(-proba[predicted], kind="stable")]
    named: Iterator[list[tuple[Any, float]]] = (
        [(labels[k], value) for k, value in zip(some.tolist(), proba[some].tolist(), strict=True)]
        for some in (predicted, first)
    )
    put_in, shown = named if hierarchy is None else map(hierarchy.added, named)
    return {"predicted": [label for label, _ in put_in], "probabilities": dict(shown)}


def _category(one: Served, name: str) -> Any:
    if (place := one.places.get(name)) is not None:
        return one.model.classes[place]
    raise HTTPException(404, f"the model {one.name!r} has no category {name!r}")


def _explained(item: Any) -> dict[str, Any]:
    return {
        "category": str(item.category),
        "score": item.score,
        "probability": item.probability,
        "threshold": None if item.threshold is None or np.isinf(item.threshold) else item.threshold,
        "chosen": item.chosen,
        "intercept": item.intercept,
        "contributions": [part._asdict() for part in item.contributions],
    }


def _info(one: Served, store: Store) -> dict[str, Any]:
    model = one.model
    return {
        "name": one.name,
        "link": model.link,
        "classes": len(model.classes),
        "exclusive": model.exclusive,
        "features": len(model.feature_names),
        "reads": "texts" if one.reads_text else "vectors",
        "columns": one.beside,
        "evaluated": one.assessment is not None,
        "promises": model.conformal is not None,
        "loads": store.loads[one.name],
        "provenance": {key: value for key, value in model.provenance.items() if key != "variance_curves"},
    }


def _categories(one: Served) -> list[dict[str, Any]]:
    model = one.model
    thresholds = model.threshold_probabilities
    return [
        {
            "name": str(label),
            "positives": None if model.converted_from else int(model.fits.positives[k]),
            "features": int(model.n_kept[k]),
            "threshold": float(thresholds[k]) if model.has_thresholds and np.isfinite(model.thresholds[k]) else None,
        }
        for k, label in enumerate(model.categories)
    ]
