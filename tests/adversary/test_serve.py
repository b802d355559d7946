"""A server that is meant no good: silent connections, refused bodies, files that change under it."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest

pytest.importorskip("fastapi", reason="the extra 'serve' is not installed")
pytest.importorskip("uvicorn", reason="the extra 'serve' is not installed")

from reporting.build import model
from serve.start import Server

from adversary.test_documents import poisoned
from lapwing.errors import InputError, SettingsError
from lapwing.formats import save
from lapwing.model import LinearModel
from lapwing.serve import ServeSettings
from lapwing.serve import connections as bounds
from lapwing.serve.settings import host_name
from lapwing.serve.store import Served, Store
from lapwing.text import TextSettings


@pytest.fixture
def path(tmp_path: Path) -> Path:
    save(model(), tmp_path / "m.lapwing")
    return tmp_path / "m.lapwing"


def connect(server: Server) -> socket.socket:
    host, port = server.address.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=20)


def many(server: Server, number: int, said: bytes = b"") -> list[socket.socket]:
    held = []
    for _ in range(number):
        one = connect(server)
        one.sendall(said)
        held.append(one)
    return held


def is_closed(one: socket.socket) -> bool:
    one.setblocking(False)
    try:
        while one.recv(4096):  # what it was told before
            pass
        return True
    except BlockingIOError:
        return False
    except OSError:
        return True


@pytest.mark.parametrize("said", [b"", b"GET /health HTT", b"POST /v1/classify HTTP/1.1\r\nHost: x\r\nX: "])
def test_silent_connections_keep_nobody_from_being_answered(path: Path, said: bytes) -> None:
    """More of them than may be open: whoever asks is answered, and the longest silent have made room."""
    with Server(path, "--max-connections", "40") as server, ExitStack() as cleaning:
        held = many(server, 100, said)
        for one in held:
            cleaning.callback(one.close)
        for _ in range(5):
            with httpx2.Client(base_url=server.address, timeout=20, trust_env=False) as client:
                assert client.get("/health").status_code == 200
                assert client.post("/v1/classify", json={"text": "oil"}).status_code == 200
        closed = [is_closed(one) for one in held]
        assert sum(closed) >= 80  # half of the 40, for there is one address
        assert closed == sorted(closed, reverse=True)  # those that came first


def test_connections_stay_below_the_limit_on_descriptors(path: Path) -> None:
    with Server(path, open_files=256) as server, ExitStack() as cleaning:
        for one in many(server, 400):
            cleaning.callback(one.close)
        with httpx2.Client(base_url=server.address, timeout=20, trust_env=False) as client:
            assert client.get("/health").status_code == 200
        assert len(os.listdir(f"/proc/{server.process.pid}/fd")) < 256
        assert "Too many open files" not in server.said()


def test_too_few_descriptors_are_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds.resource, "getrlimit", lambda _: (150, 150))
    with pytest.raises(InputError, match="ulimit -n"):
        bounds.most_connections(ServeSettings(), 128)


class Pretended:
    """A connection of which only the bounds know: the clock is in our hands."""

    def __init__(self, loop: Any, address: str, since: float, answering: bool = False) -> None:
        self.loop, self.address, self.since, self.answering = loop, address, since, answering
        self.lingering = self.aborted = self.closing = self.leaving = False
        self.transport = self

    def abort(self) -> None:
        self.aborted = True

    def tell(self) -> None:
        self.leaving = True

    def is_closing(self) -> bool:
        return self.closing

    def look(self, now: float) -> None:
        pass


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def time(self) -> float:
        return self.now

    def call_later(self, *_: object) -> None:
        return None


def test_who_makes_room() -> None:
    clock = Clock()
    held = bounds.Connections(6, 10.0)
    first = [Pretended(clock, "a", since) for since in (3.0, 1.0, 2.0)]
    for one in first:
        held.add(one)  # type: ignore[arg-type]
    held.add(Pretended(clock, "a", 4.0))  # type: ignore[arg-type]  # a fourth of one address, where three may be
    assert [one.leaving for one in first] == [False, True, False]
    assert first[1] in held.all  # until its client has closed it
    others = [Pretended(clock, name, 0.0, answering=True) for name in "bcd"]
    for one in others:
        held.add(one)  # type: ignore[arg-type]
    held.add(Pretended(clock, "e", 5.0))  # type: ignore[arg-type]
    assert first[2].leaving
    assert not any(one.aborted or one.leaving for one in (first[0], *others))


def test_a_request_without_its_answer_is_never_given_up() -> None:
    """Neither one that is worked for nor one that is about to be refused: the latest connection comes back later."""
    clock, held = Clock(), bounds.Connections(4, 10.0)
    answering = [Pretended(clock, "a", 0.0, answering=True) for _ in range(2)]
    latest = Pretended(clock, "a", 1.0)
    for one in (*answering, latest):
        held.add(one)  # type: ignore[arg-type]
    assert [one.aborted or one.leaving for one in (*answering, latest)] == [False, False, True]
    answering[1].lingering = True  # it has its answer
    held.add(Pretended(clock, "a", 2.0))  # type: ignore[arg-type]
    assert [one.aborted for one in answering] == [False, True]


def test_who_was_told_to_come_back_is_closed_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "LEAVING", 2)
    clock, held = Clock(), bounds.Connections(4, 10.0)
    some = [Pretended(clock, "a", float(k)) for k in range(9)]
    for one in some:
        held.add(one)  # type: ignore[arg-type]
    assert [one.leaving for one in some] == [True] * 7 + [False] * 2
    assert [one.aborted for one in some] == [True] * 3 + [False] * 6
    clock.now = bounds.CLOSING + 10
    held._tick(clock)  # type: ignore[arg-type]
    assert not any(one.leaving for one in held.all)


def test_a_request_beyond_the_connections_there_may_be_is_answered(path: Path) -> None:
    """Each of 60 clients, where 10 of an address may be, sends a request and is answered with 200 or 503."""
    given = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with Server(path, "--max-connections", "20") as server, ExitStack() as cleaning:
        held = many(server, 60, given)
        for one in held:
            cleaning.callback(one.close)
        answers = [one.recv(4096) for one in held]
    assert {answer[:12] for answer in answers} <= {b"HTTP/1.1 200", b"HTTP/1.1 503"}
    refused = [answer.lower() for answer in answers if b" 503 " in answer[:16]]
    assert all(b"retry-after: 1" in answer and b"connection: close" in answer for answer in refused)


def test_when_a_silent_connection_is_closed() -> None:
    clock = Clock()
    held = bounds.Connections(10, 10.0)
    idle, closing, busy = (Pretended(clock, name, 0.0) for name in "abc")
    closing.closing, busy.answering = True, True
    for one in (idle, closing, busy):
        held.add(one)  # type: ignore[arg-type]

    def closed(now: float) -> list[bool]:
        clock.now = now
        held._tick(clock)  # type: ignore[arg-type]
        return [idle.aborted, closing.aborted, busy.aborted]

    assert closed(bounds.CLOSING - 1) == [False, False, False]
    assert closed(bounds.CLOSING + 1) == [False, True, False]
    assert closed(bounds.QUIET + 1) == [True, True, False]
    assert closed(held.longest_answer + 1) == [True, True, True]
    assert not held.all


@pytest.mark.parametrize("chunked", [False, True])
def test_a_refused_body_is_answered_before_the_connection_closes(path: Path, chunked: bool) -> None:
    """The client sends all of it before it looks for an answer."""
    body = b'{"text": "' + b"a" * 20_000_000 + b'"}'
    parts = (body[at : at + 65536] for at in range(0, len(body), 65536))
    with Server(path) as server:
        for _ in range(5):
            answer = server.client.post("/v1/classify", content=parts if chunked else body)
            assert answer.status_code == 413
            assert "2000000 bytes" in answer.json()["error"]
            parts = (body[at : at + 65536] for at in range(0, len(body), 65536))


@pytest.mark.parametrize(
    "host", ["localhost:", "localhost:99999", "localhost:8000:1", "localhost/evil", "user@localhost", "[::1", "::1",
             "[::1]x", "[localhost]", "localhost:80\t", "local host", "", "[::1]:x", "localhost,evil"],
)  # fmt: skip
def test_host_headers_that_are_none(host: str) -> None:
    assert host_name(host) is None
    assert not ServeSettings().admits(host)


@pytest.mark.parametrize(
    ("host", "name"), [("LocalHost", "localhost"), ("localhost:8000", "localhost"), ("127.0.0.1:1", "127.0.0.1"),
                       ("[::1]", "::1"), ("[::1]:65535", "::1")],
)  # fmt: skip
def test_host_headers(host: str, name: str) -> None:
    assert host_name(host) == name
    assert ServeSettings().admits(host)


@pytest.mark.parametrize("name", ["timeout", "reload_every", "grace"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0, 1e300])
def test_times_that_are_none(name: str, value: float) -> None:
    with pytest.raises(SettingsError, match=name):
        ServeSettings(**{name: value})


def test_halves_of_surrogate_pairs_are_explained(path: Path) -> None:
    with Server(path) as server:
        body = b'{"text": "oil \\ud800 wheat \\udfff"}'
        answer = server.client.post("/v1/explain", content=body, headers={"content-type": "application/json"})
        assert answer.status_code == 200
        assert answer.json()["text"] == "oil \ufffd wheat \ufffd"


@pytest.fixture
def store(path: Path) -> Store:
    return Store([str(path)])


def test_a_reload_that_fails_in_a_way_nobody_thought_of(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    before = store.models["m"]

    def fail(self: Store, name: str) -> Served:
        raise ZeroDivisionError("nobody thought of it")

    with monkeypatch.context() as patched:
        patched.setattr(Store, "_load", fail)
        os.utime(path, (1, 1))
        assert store.changed() == ["m"]
        assert not store.reload("m")
        assert not store.reload("m")
    assert store.models["m"] is before
    assert sum("reload failed" in record.message for record in caplog.records) == 1  # said once
    assert store.changed() == []
    monkeypatch.setattr("lapwing.serve.store.RETRY", 0.0)
    assert store.changed() == ["m"]  # and tried again
    assert store.reload("m")
    assert store.changed() == []


def test_the_watcher_outlives_anything(path: Path) -> None:
    """A FIFO in the model's place neither stops the watcher nor blocks the shutdown."""
    with Server(path, "--reload-every", "0.1") as server:
        path.unlink()
        os.mkfifo(path)
        until = time.monotonic() + 30
        while not any(line["event"].startswith("reload failed") for line in server.log) and time.monotonic() < until:
            time.sleep(0.05)
        assert server.client.post("/v1/classify", json={"text": "oil"}).status_code == 200
        path.unlink()
        save(model(seed=5), path)
        while not any(line["event"] == "model reloaded" for line in server.log) and time.monotonic() < until:
            time.sleep(0.05)
        assert any(line["event"] == "model reloaded" for line in server.log)
        path.unlink()
        os.mkfifo(path)
        time.sleep(0.3)
        assert server.stop() == 0


def test_one_text_takes_no_other_with_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(LinearModel, "scores", poisoned)
    one = Served("m", model(TextSettings(strip_html=True)))
    texts = ["oil", "poison", "wheat", "poison", "gas"]
    result = one.classify_each(texts, len(texts))
    alone = one.classify([text for text in texts if text != "poison"])[0]
    assert [isinstance(row, ValueError) for row in result] == [text == "poison" for text in texts]
    assert [row[0].tolist() for row in result if not isinstance(row, Exception)] == alone.tolist()


def test_an_answer_per_text(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from lapwing.serve.api import create_app

    monkeypatch.setattr(LinearModel, "scores", poisoned)
    save(model(), tmp_path / "m.lapwing")
    store = Store([str(tmp_path / "m.lapwing")])
    store.models["m"] = Served("m", model(TextSettings(strip_html=True)))
    app = create_app(store, ServeSettings())

    async def ask() -> httpx2.Response:
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://localhost") as client:
            return await client.post("/v1/classify", json={"texts": ["oil", "poison"]})

    answer = asyncio.run(ask())
    assert answer.status_code == 200
    good, bad = answer.json()["results"]
    assert good["probabilities"]
    assert "error" not in good
    assert bad == {"predicted": [], "probabilities": {}, "error": "it cannot be read; the log says why"}
