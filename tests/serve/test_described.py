"""schemathesis makes requests of every kind from /openapi.json: no 500, and every answer is as described."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from lapwing.serve import ServeSettings
from lapwing.serve.run import guarded
from lapwing.serve.store import Store

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
PATHS = {
    "/v1/classify",
    "/v1/explain",
    "/v1/models",
    "/v1/models/{name}/categories",
    "/health",
    "/metrics",
    "/docs",
    "/",
}


@pytest.fixture(scope="module")
def described(folder: Path) -> Any:
    store = Store([str(folder / f"{name}.lapwing") for name in ("sets", "three", "two", "vectors")])
    app = guarded(store, ServeSettings(allowed_hosts=("testserver",), reload_every=0))
    return schemathesis.openapi.from_asgi("/openapi.json", app)


@pytest.mark.parametrize(
    ("path", "mode"),
    [(path, "POSITIVE") for path in sorted(PATHS)]
    + [(path, "NEGATIVE") for path in ("/v1/classify", "/v1/explain", "/")],
)
def test_the_description_holds(described: Any, path: str, mode: str) -> None:
    rows = {one.ok().path: one.ok() for one in described.get_all_operations()}
    assert rows.keys() == PATHS
    generation = getattr(schemathesis.GenerationMode, mode)

    @settings(max_examples=60, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(case=rows[path].as_strategy(generation_mode=generation))
    def holds(case: Any) -> None:
        answer = case.call(headers={"host": "testserver"})
        assert answer.status_code < 500, answer.text
        case.validate_response(answer)

    holds()
