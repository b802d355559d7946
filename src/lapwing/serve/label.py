"""The page for labelling, and the few requests behind it."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse

from lapwing.errors import InputError, LapwingError
from lapwing.labelling import Session
from lapwing.reporting.page import shell
from lapwing.serve.pages import policy_for


def _own(name: str) -> str:
    return (files("lapwing.serve") / "static" / name).read_text(encoding="utf-8")


def label_page(title: str) -> str:
    return shell(title, _own("label.html"), style=_own("label.css"), script=_own("label.js"), connect="'self'")


def create_label_app(session: Session) -> FastAPI:
    """GET / and /state; POST /answer, /skip and /undo, as JSON, each answered by the new state."""
    app = FastAPI(title="lapwing label", docs_url=None, redoc_url=None, openapi_url=None)
    page = label_page(session.pool.name)

    @app.get("/")
    def index() -> HTMLResponse:
        return HTMLResponse(page, headers={"content-security-policy": policy_for(page)})

    @app.get("/health")
    def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/state")
    def state() -> dict[str, Any]:
        return session.state()

    @app.post("/answer")
    async def answer(request: Request) -> JSONResponse:
        return await _told(request, lambda body: session.answer(_text(body, "id"), _texts(body, "labels")))

    @app.post("/skip")
    async def skip(request: Request) -> JSONResponse:
        return await _told(request, lambda body: session.skip(_text(body, "id")))

    @app.post("/undo")
    async def undo(request: Request) -> JSONResponse:
        return await _told(request, lambda body: session.undo())

    async def _told(request: Request, do: Any) -> JSONResponse:
        from starlette.concurrency import run_in_threadpool

        try:
            # A page of elsewhere cannot send this type without asking first, and is told no.
            if request.headers.get("content-type", "").partition(";")[0] != "application/json":
                raise InputError("expected a body of application/json")
            try:
                body = await request.json()
            except (ValueError, RecursionError) as error:
                raise InputError("expected JSON") from error
            await run_in_threadpool(do, body)
        except InputError as error:
            return JSONResponse({"error": str(error)}, status_code=400)
        except LapwingError as error:  # no room on the disk
            return JSONResponse({"error": str(error)}, status_code=507)
        return JSONResponse(await run_in_threadpool(session.state))

    return app


def _text(body: Any, name: str) -> str:
    if not isinstance(body, dict) or not isinstance(body.get(name), str):
        raise InputError(f"expected a string as {name!r}")
    return str(body[name])


def _texts(body: Any, name: str) -> list[str]:
    texts = body.get(name) if isinstance(body, dict) else None
    if not isinstance(texts, list) or not all(isinstance(one, str) for one in texts):
        raise InputError(f"expected a list of strings as {name!r}")
    return texts
