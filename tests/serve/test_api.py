"""What the server answers, and what it refuses."""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli.build import SCRIPTS
from reporting.build import ATTACKS, EXTREME, model, texts

import lapwing
from lapwing.corpus import Hierarchy
from lapwing.errors import SettingsError
from lapwing.serve import ServeSettings
from lapwing.serve.api import Classify, _results
from lapwing.serve.store import Served
from serve.start import Server

TOKEN = "a-token-of-some-length"


def test_the_same_as_python(server: Server, folder: Path) -> None:
    for name in ("sets", "three", "two"):
        model = lapwing.load(folder / f"{name}.lapwing")
        for text in [*SCRIPTS, *ATTACKS, *EXTREME, *texts(30)]:
            output = server.client.post("/v1/classify", json={"model": name, "text": text}).json()
            scores = model.scores([text])
            wanted = dict(zip(map(str, model.classes), model.predict_proba([text])[0].tolist(), strict=True))
            assert output["results"][0]["probabilities"] == wanted
            chosen = np.array(model.classes, dtype=str)[model.decide(scores)[0]]
            assert sorted(output["results"][0]["predicted"]) == sorted(chosen)


def test_many_texts_and_the_top(server: Server) -> None:
    given = texts(20)
    many = server.client.post("/v1/classify", json={"texts": given, "top": 2}).json()["results"]
    one = [server.client.post("/v1/classify", json={"text": text}).json()["results"][0] for text in given]
    for batch, single in zip(many, one, strict=True):
        assert batch["predicted"] == single["predicted"]
        assert len(batch["probabilities"]) == 2
        assert list(batch["probabilities"]) == list(single["probabilities"])[:2]
        values = list(single["probabilities"].values())
        assert values == sorted(values, reverse=True)


@pytest.mark.parametrize(
    "promise", [{"coverage": 0.9}, {"coverage": 0.5}, {"coverage": 0.8, "abstain": True}, {"precision": 0.8}]
)
def test_promises(server: Server, folder: Path, promise: dict[str, Any]) -> None:
    model = lapwing.load(folder / "promising.lapwing")
    given = texts(20)
    asked = {"model": "promising", "texts": given, **promise}
    output = server.client.post("/v1/classify", json=asked).json()["results"]
    wanted = model.predict_set(given, **promise) if "coverage" in promise else model.predict_sure(given, **promise)
    assert [tuple(one["predicted"]) for one in output] == wanted
    none = server.client.post("/v1/classify", json={"text": "oil", **promise})
    assert (none.status_code, "keeps nothing to promise" in none.json()["error"]) == (409, True)


def test_one_promise_at_a_time(server: Server) -> None:
    asked = {"model": "promising", "text": "oil", "coverage": 0.9, "precision": 0.9}
    output = server.client.post("/v1/classify", json=asked)
    assert (output.status_code, "not both" in output.json()["error"]) == (422, True)
    for wrong in (
        {"abstain": True},
        {"abstain": True, "precision": 0.9},
        {"coverage": 1.0},
        {"coverage": 0.0},
        {"precision": 0.2},
        {"coverage": "0.9"},
    ):
        assert server.client.post("/v1/classify", json={"model": "promising", "text": "oil"} | wrong).status_code == 422


def test_thresholds_of_the_request(server: Server, folder: Path) -> None:
    given = texts(20)
    for name in ("sets", "three", "two"):
        proba = lapwing.load(folder / f"{name}.lapwing").predict_proba(given)
        classes = lapwing.load(folder / f"{name}.lapwing").classes

        def asked(name: str = name, **limits: Any) -> list[set[str]]:
            output = server.client.post("/v1/classify", json={"model": name, "texts": given, **limits})
            return [set(one["predicted"]) for one in output.json()["results"]]

        over = [{str(c) for c, p in zip(classes, row, strict=True) if p > 0.3} for row in proba]
        if name != "sets":
            over = [{str(classes[row.argmax()])} for row in proba]
        assert asked(threshold=0.3) == over
        assert asked(threshold=1.0) == [set()] * 20
        first = str(classes[0])
        assert all(first not in one for one in asked(thresholds={first: 1.0}))
    unknown = server.client.post("/v1/classify", json={"text": "oil", "thresholds": {"x": 0.5}})
    assert unknown.status_code == 404
    both = {"text": "oil", "model": "promising", "threshold": 0.5, "coverage": 0.9}
    assert server.client.post("/v1/classify", json=both).status_code == 422


def test_metrics_as_prometheus_reads_them(server: Server) -> None:
    def value(line: str) -> float:
        output = [one for one in server.client.get("/metrics").text.splitlines() if one.startswith(line + " ")]
        return float(output[0].rpartition(" ")[2]) if output else 0.0

    counted, asked = 'lapwing_documents_total{model="sets"}', 'lapwing_requests_total{path="/v1/classify",status="200"}'
    before = value(counted), value(asked)
    server.client.post("/v1/classify", json={"model": "sets", "texts": ["oil", "gas"]})
    assert (value(counted), value(asked)) == (before[0] + 2, before[1] + 1)
    server.client.get("/no/such/path")
    answer = server.client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'path="other",status="404"' in answer.text
    assert "/no/such" not in answer.text
    whole = 'lapwing_request_seconds_bucket{path="/v1/classify",le="+Inf"}'
    assert value(whole) == value('lapwing_request_seconds_count{path="/v1/classify"}') > 0


def test_the_description_is_a_page_that_fetches_nothing(server: Server) -> None:
    answer = server.client.get("/docs")
    assert answer.status_code == 200
    for path in ("/v1/classify", "/v1/explain", "/metrics"):
        assert f"{path}</code>" in answer.text
    assert "Predict classes of a larger probability" in answer.text
    assert "<script" not in answer.text
    assert "http://" not in answer.text.replace("http://HOST", "")
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_vectors_by_the_names_of_features(server: Server, folder: Path) -> None:
    model = lapwing.load(folder / "vectors.lapwing")
    known = model.feature_names[3]
    asked = {"model": "vectors", "vectors": [{known: 2.0, "no such feature": 9.0}, {}]}
    output = server.client.post("/v1/classify", json=asked).json()["results"]
    matrix = np.zeros((2, len(model.feature_names)))
    matrix[0, 3] = 2.0
    wanted = model.category_proba(matrix)
    assert output[0]["probabilities"] == dict(
        sorted(zip(model.classes, wanted[0].tolist(), strict=True), key=lambda pair: -pair[1])
    )
    wrong = server.client.post("/v1/classify", json={"model": "vectors", "text": "oil"})
    assert (wrong.status_code, "vectors" in wrong.json()["error"]) == (409, True)
    assert server.client.post("/v1/classify", json={"vectors": [{}]}).status_code == 409
    assert server.client.post("/v1/explain", json={"model": "vectors", "text": "oil"}).status_code == 409


def test_explain(server: Server, folder: Path) -> None:
    model = lapwing.load(folder / "sets.lapwing")
    text = " ".join(SCRIPTS)
    output = server.client.post("/v1/explain", json={"text": text, "top": 2}).json()
    wanted = model.explain(text).categories[:2]
    assert [one["category"] for one in output["categories"]] == [one.category for one in wanted]
    for mine, theirs in zip(output["categories"], wanted, strict=True):
        assert mine["probability"] == theirs.probability
        assert [part["contribution"] for part in mine["contributions"]] == [
            p.contribution for p in theirs.contributions
        ]
    named = server.client.post("/v1/explain", json={"text": text, "categories": ["money"]}).json()
    assert [one["category"] for one in named["categories"]] == ["money"]
    assert server.client.post("/v1/explain", json={"text": text, "categories": ["x"]}).status_code == 404


@pytest.mark.parametrize("label", ["no", "yes"])
def test_explain_takes_either_of_two_classes_by_name(server: Server, folder: Path, label: str) -> None:
    text = "oil and wheat"
    answer = server.client.post("/v1/explain", json={"model": "two", "text": text, "categories": [label]})
    assert answer.status_code == 200
    (got,) = answer.json()["categories"]
    (wanted,) = lapwing.load(folder / "two.lapwing").explain(text, [label]).categories
    assert (got["category"], got["score"], got["chosen"]) == (label, wanted.score, wanted.chosen)


def test_models_categories_health_and_description(server: Server) -> None:
    models = server.client.get("/v1/models").json()["models"]
    assert [one["name"] for one in models] == ["sets", "three", "two", "vectors", "ngrams", "promising"]
    assert [one["promises"] for one in models] == [False] * 5 + [True]
    assert [one["reads"] for one in models] == ["texts", "texts", "texts", "vectors", "texts", "texts"]
    categories = server.client.get("/v1/models/two/categories").json()["categories"]
    assert [one["name"] for one in categories] == ["yes"]
    assert server.client.get("/health").json()["status"] == "ok"
    assert "/v1/classify" in server.client.get("/openapi.json").json()["paths"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", 422),
        (b"{", 422),
        (b"[" * 100_000, (400, 422)),
        (b"null", 422),
        (b'{"text": 3}', 422),
        (b'{"text": "a", "texts": ["b"]}', 422),
        (b'{"texts": []}', 422),
        (b'{"text": null}', 422),
        (b"{}", 422),
        (b'{"text": "a", "unknown": 1}', 422),
        (b'{"text": "\\ud800"}', (200, 422)),
        (b'{"text": "a\\u0000b"}', 200),
        (b'{"text": "a", "top": 0}', 422),
        (b'{"text": "a", "top": true}', 422),
        (b'{"text": "a", "top": "1"}', 422),
        (b'{"text": "a", "top": 2.0}', 200),
        (b'{"model": "vectors", "vectors": [{"a": 1}]}', 200),
        (b'{"text": "a", "top": 1e400}', 422),
        (b'{"model": "none such", "text": "a"}', 404),
        (b'{"model": "vectors", "vectors": [{"a": NaN}]}', 422),
        (b'{"model": "vectors", "vectors": [{"a": 1e999}]}', 422),
        (b"\xff\xfe", (400, 422)),
        (json.dumps({"texts": ["a"] * 257}).encode(), 422),
        (b'{"text": "' + b"a" * 2_000_000 + b'"}', 413),
    ],
)
def test_bodies(server: Server, body: bytes, code: Any) -> None:
    answer = server.client.post("/v1/classify", content=body, headers={"content-type": "application/json"})
    assert answer.status_code in (code if isinstance(code, tuple) else (code,)), answer.text
    if answer.status_code != 200:
        assert set(answer.json()) == {"error"}


def test_a_long_body_in_pieces_is_refused(server: Server) -> None:
    def pieces() -> Any:
        yield b'{"text": "'
        for _ in range(300):
            yield b"a" * 10_000

    answer = server.client.post("/v1/classify", content=pieces(), headers={"content-type": "application/json"})
    assert answer.status_code == 413


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "", "localhost.evil", "[::2]", "a@localhost"]
)
def test_other_hosts_are_refused(server: Server, host: str) -> None:
    assert server.client.get("/v1/models", headers={"host": host}).status_code == 400


@pytest.mark.parametrize("host", ["localhost", "localhost:8000", "127.0.0.1:1", "[::1]:80", "LOCALHOST"])
def test_the_local_host_is_not(server: Server, host: str) -> None:
    assert server.client.get("/v1/models", headers={"host": host}).status_code == 200


def test_a_page_elsewhere_cannot_ask(server: Server) -> None:
    """A form can send text/plain without asking first; only JSON is read, and no other origin is allowed that."""
    simple = server.client.post("/v1/classify", content=b'{"text": "a"}', headers={"content-type": "text/plain"})
    assert simple.status_code == 422
    asked = server.client.options(
        "/v1/classify", headers={"origin": "http://evil.example", "access-control-request-method": "POST"}
    )
    assert "access-control-allow-origin" not in asked.headers


def test_every_answer_is_sealed(server: Server) -> None:
    for path in ("/", "/v1/models", "/none", "/health"):
        headers = server.client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert "server" not in headers


def test_the_page_is_packed_for_those_who_can_unpack_it(server: Server) -> None:
    packed, plain = (server.client.get("/", headers={"accept-encoding": way}) for way in ("gzip, br", "identity"))
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert packed.text == plain.text
    assert int(packed.headers["content-length"]) < int(plain.headers["content-length"]) / 2
    assert packed.headers["vary"] == plain.headers["vary"] == "Accept-Encoding"


def test_the_log_is_json_and_holds_no_text(server: Server) -> None:
    server.client.post("/v1/classify", json={"text": "a very secret text"})
    server.client.get("/%22quoted%22%E2%80%AE%0a")
    until = time.monotonic() + 10  # a line is written after the answer
    while "quoted" not in server.said() and time.monotonic() < until:
        time.sleep(0.02)
    lines = [line for line in server.log if line["event"] == "request"]
    assert {"id", "method", "path", "status", "ms"} <= set(lines[-1])
    assert lines[-1]["path"] == '/"quoted"\u202e\n'
    assert "secret" not in server.said()


def test_a_token(folder: Path) -> None:
    with Server(folder / "sets.lapwing", LAPWING_TOKEN=TOKEN) as server:
        ask = server.client
        assert ask.get("/v1/models").status_code == 401
        assert ask.get("/").headers["www-authenticate"].startswith("Basic")
        assert ask.get("/health").status_code == 200
        for wrong in ("Bearer wrong", f"Bearer {TOKEN}x", "Basic !", f"Other {TOKEN}", "Bearer", "Bearer é"):
            assert ask.get("/v1/models", headers={"authorization": wrong.encode()}).status_code == 401
        assert ask.get("/v1/models", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
        basic = base64.b64encode(f"anyone:{TOKEN}".encode()).decode()
        assert ask.get("/", headers={"authorization": f"Basic {basic}"}).status_code == 200
        assert TOKEN not in server.said()


def test_beyond_the_local_host_a_token_is_made_up(folder: Path) -> None:
    with Server(folder / "sets.lapwing", "--host", "0.0.0.0") as server:
        result = server.said().split("token, for this run only: ")[1].split()[0]
        assert server.client.get("/v1/models").status_code == 401
        assert server.client.get("/v1/models", headers={"authorization": f"Bearer {result}"}).status_code == 200
        other = {"authorization": f"Bearer {result}", "host": "evil.example"}
        assert server.client.get("/v1/models", headers=other).status_code == 400


def test_settings_are_checked() -> None:
    with pytest.raises(SettingsError, match="needs a token"):
        ServeSettings(host="0.0.0.0")
    with pytest.raises(SettingsError, match="16 or more"):
        ServeSettings(token="short")
    with pytest.raises(SettingsError, match="concurrency"):
        ServeSettings(concurrency=0)
    assert ServeSettings(host="0.0.0.0", token=TOKEN).admits("10.0.0.3:80")
    assert ServeSettings(allowed_hosts=("Models.Example",)).admits("models.example:443")


def test_bad_bytes_do_not_stop_it(server: Server) -> None:
    port = int(server.address.rpartition(":")[2])
    for content in (b"\x00" * 1000, b"GET / HTTP/9\r\n\r\n", b"POST /v1/classify HTTP/1.1\r\nHost: localhost\r\n"
                    b"Content-Length: -5\r\n\r\n", b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n\r\n"):  # fmt: skip
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.sendall(content)
            connection.settimeout(5)
            with contextlib.suppress(TimeoutError, ConnectionError):
                assert b" 500 " not in connection.recv(1000)
    assert server.client.get("/health").status_code == 200


def test_of_very_many_classes_the_most_probable_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    classifier = model(classes=tuple(f"topic {k}" for k in range(1200)))
    one = Served("many", classifier)
    given = [*SCRIPTS[:3], "oil"]
    monkeypatch.setattr("lapwing.serve.api.BLOCK_SCORES", 2400)  # two texts at a time
    result = _results(one, Classify(texts=given), given, len(given))
    proba = classifier.predict_proba(given)
    assert [len(row["probabilities"]) for row in result] == [100] * len(given)
    for row, values, chosen in zip(result, proba, classifier.predict(given), strict=True):
        assert list(row["probabilities"].values()) == np.sort(values)[::-1][:100].tolist()
        assert sorted(row["predicted"]) == sorted(chosen)
    whole = _results(one, Classify(text="oil", top=10_000), ["oil"], 1)
    assert len(whole[0]["probabilities"]) == 1200


def test_broader_classes_on_request(server: Server) -> None:
    tree = Hierarchy.of([("grain", "commodities"), ("energy", "commodities")])
    one = Served("sets", model())
    (plain,) = _results(one, Classify(text="oil"), ["oil"], 1)
    (result,) = _results(one, Classify(text="oil", broader=True), ["oil"], 1, tree)
    assert set(result["probabilities"]) == {*plain["probabilities"], "commodities"}
    most = max(plain["probabilities"][name] for name in ("grain", "energy"))
    assert result["probabilities"]["commodities"] == most
    refused = server.client.post("/v1/classify", json={"text": "oil", "broader": True})
    assert (refused.status_code, "--broader" in refused.json()["error"]) == (409, True)
