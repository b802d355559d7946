"""What a monitor asks for: counts and times of requests, in the text format of Prometheus.

Paths are those the server has, and `other` for the rest, so that nobody outside can make up series.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable

from lapwing import __version__
from lapwing.serve.store import Store

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
PATHS = ("/v1/classify", "/v1/explain", "/v1/models", "/health", "/metrics", "/docs", "/openapi.json", "/")


class Metrics:
    """Counters of one server; every method is called from its one event loop."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self.times: dict[str, list[int]] = {}
        self.seconds: Counter[str] = Counter()
        self.documents: Counter[str] = Counter()
        self.admitted = 0

    def answered(self, path: str, status: int, seconds: float) -> None:
        path = path if path in PATHS else "other"
        self.requests[path, status] += 1
        self.times.setdefault(path, [0] * (len(BOUNDS) + 1))[bisect_left(BOUNDS, seconds)] += 1
        self.seconds[path] += seconds  # type: ignore[assignment]

    def classified(self, model: str, documents: int) -> None:
        self.documents[model] += documents

    def text(self, store: Store) -> str:
        answered = [({"path": path, "status": str(code)}, n) for (path, code), n in sorted(self.requests.items())]
        lines = [
            *_series("lapwing_info", "gauge", "The release that serves.", [({"version": __version__}, 1)]),
            *_series("lapwing_requests_total", "counter", "Requests answered, by path and status.",
                     answered),
            *_series("lapwing_requests_in_progress", "gauge", "Requests being worked for.", [({}, self.admitted)]),
            *self._histogram(),
            *_series("lapwing_documents_total", "counter", "Documents classified, by model.",
                     [({"model": name}, self.documents[name]) for name in store.models]),
            *_series("lapwing_model_loads_total", "counter", "How often a model's file was loaded.",
                     [({"model": name}, store.loads[name]) for name in store.models]),
            *_series("lapwing_model_reload_failed", "gauge", "Whether the last reload of a model failed.",
                     [({"model": name}, int(name in store.failed)) for name in store.models]),
        ]  # fmt: skip
        return "\n".join(lines) + "\n"

    def _histogram(self) -> Iterable[str]:
        name = "lapwing_request_seconds"
        yield f"# HELP {name} Seconds from a request to its answer, by path."
        yield f"# TYPE {name} histogram"
        for path, counts in sorted(self.times.items()):
            below = 0
            for bound, count in zip((*map(repr, BOUNDS), "+Inf"), counts, strict=True):
                below += count
                yield f"{name}_bucket{_labels({'path': path, 'le': bound})} {below}"
            yield f"{name}_sum{_labels({'path': path})} {self.seconds[path]!r}"
            yield f"{name}_count{_labels({'path': path})} {below}"


def _series(name: str, kind: str, text: str, values: Iterable[tuple[dict[str, str], float]]) -> Iterable[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"
    for labels, value in values:
        yield f"{name}{_labels(labels)} {value}"


def _labels(labels: dict[str, str]) -> str:
    if not labels:
        return ""
    escaped = (
        (key, value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")) for key, value in labels.items()
    )
    return "{" + ",".join(f'{key}="{value}"' for key, value in escaped) + "}"
