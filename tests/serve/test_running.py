"""The server as it runs: overload, reload, shutdown."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest
from reporting.build import model, texts

import lapwing
from lapwing.formats import save
from serve.start import Server


def test_twenty_times_more_clients_than_it_takes(folder: Path) -> None:
    """Every request is answered, with 200 and its own answer or with 503 and Retry-After; memory stays bounded."""
    admitted, clients, each = 4, 80, 5
    loaded = lapwing.load(folder / "sets.lapwing")
    given = texts(clients, seed=9)
    wanted = [dict(zip(loaded.classes, row, strict=True)) for row in loaded.category_proba(given).tolist()]
    with Server(folder / "sets.lapwing", "--concurrency", admitted, "--log-level", "warning") as server:
        before = memory(server.process.pid)
        codes = asyncio.run(storm(server.address, given, wanted, each))
        assert memory(server.process.pid) - before < 50e6
        assert server.client.post("/v1/classify", json={"text": given[0]}).status_code == 200
    assert len(codes) == clients * each
    assert set(codes) == {200, 503}
    assert codes.count(200) >= each


async def storm(address: str, given: list[str], wanted: list[dict[str, float]], each: int) -> list[int]:
    codes: list[int] = []
    limits = httpx2.Limits(max_connections=len(given), max_keepalive_connections=len(given))
    async with httpx2.AsyncClient(base_url=address, timeout=60, limits=limits, trust_env=False) as client:

        async def ask(k: int) -> None:
            for _ in range(each):
                answer = await client.post("/v1/classify", json={"text": given[k]})
                codes.append(answer.status_code)
                if answer.status_code == 200:
                    assert answer.json()["results"][0]["probabilities"] == pytest.approx(wanted[k], abs=1e-12)
                else:
                    assert answer.headers["retry-after"] == "1"

        await asyncio.gather(*(ask(k) for k in range(len(given))))
    return codes


def memory(process: int) -> float:
    """Bytes resident."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_health_is_answered_while_it_is_full(folder: Path) -> None:
    with Server(folder / "sets.lapwing", "--concurrency", "1", "--timeout", "3") as server:
        held = Held(server)
        try:
            assert server.client.post("/v1/classify", json={"text": "a"}).status_code == 503
            assert server.client.get("/health").status_code == 200
            assert held.answer().startswith(b"HTTP/1.1 504")  # the rest of its body never came
        finally:
            held.close()
        assert server.client.post("/v1/classify", json={"text": "a"}).status_code == 200


class Held:
    """A request whose body does not come to its end."""

    def __init__(self, server: Server) -> None:
        import socket

        self.body = json.dumps({"text": "oil wheat"}).encode()
        self.connection = socket.create_connection(("127.0.0.1", int(server.address.rpartition(":")[2])), timeout=20)
        lines = ("POST /v1/classify HTTP/1.1", "Host: localhost", "Content-Type: application/json",
                 f"Content-Length: {len(self.body)}", "", "")  # fmt: skip
        self.connection.sendall("\r\n".join(lines).encode() + self.body[:-1])
        time.sleep(0.3)

    def finish(self) -> None:
        self.connection.sendall(self.body[-1:])

    def answer(self) -> bytes:
        return self.connection.recv(100_000)

    def close(self) -> None:
        self.connection.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_request_under_way_is_answered_at_shutdown(folder: Path, number: int) -> None:
    with Server(folder / "sets.lapwing") as server:
        held = Held(server)
        server.process.send_signal(number)
        time.sleep(0.5)
        with pytest.raises(httpx2.ConnectError):
            httpx2.get(f"{server.address}/health", trust_env=False)
        held.finish()
        assert held.answer().startswith(b"HTTP/1.1 200")
        held.close()
        assert server.process.wait(20) == 0


def test_a_replaced_model_is_loaded_without_dropping_a_request(tmp_path: Path) -> None:
    path = tmp_path / "m.lapwing"
    first, second = model(seed=1), model(seed=2)
    save(first, path)
    text = "oil wheat bank harvest 石油"
    known = [m.category_proba([text])[0].tolist() for m in (first, second)]
    answers: list[Any] = []
    stop = threading.Event()
    with Server(path, "--reload-every", "0.1", "--log-level", "warning") as server:

        def ask() -> None:
            with httpx2.Client(base_url=server.address, timeout=30, trust_env=False) as client:
                while not stop.is_set():
                    answers.append(client.post("/v1/classify", json={"text": text}))

        thread = threading.Thread(target=ask)
        thread.start()
        time.sleep(0.5)
        path.write_bytes(b"not a model")  # such a file leaves the old model in place
        time.sleep(0.5)
        save(second, path)
        until = time.monotonic() + 20
        while server.client.get("/v1/models").json()["models"][0]["loads"] < 2 and time.monotonic() < until:
            time.sleep(0.1)
        time.sleep(0.3)
        stop.set()
        thread.join()
        assert any(line["event"].startswith("reload failed") for line in server.log)
    assert {answer.status_code for answer in answers} == {200}
    output = [[one.json()["results"][0]["probabilities"][c] for c in first.classes] for one in answers]
    assert all(one in known for one in output)
    assert output[0] == known[0]
    assert output[-1] == known[1]


def test_starting_loads_neither_numba_nor_scikit_learn(folder: Path) -> None:
    """Nor does a text of a million characters."""
    with Server(folder / "sets.lapwing") as server:
        assert server.client.post("/v1/classify", json={"text": "oil " * 250_000}).status_code == 200
        assert server.client.get("/").status_code == 200
        mapped = Path(f"/proc/{server.process.pid}/maps").read_text()
    assert "scipy" in mapped
    assert "numba" not in mapped
    assert "llvmlite" not in mapped
    assert "sklearn" not in mapped


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none.lapwing"], "expected a model file"),
        (["m.lapwing", "m.lapwing"], "two models"),
        ([__file__], "not a lapwing"),
    ],
)
def test_what_cannot_be_served(tmp_path: Path, arguments: list[str], said: str) -> None:
    import subprocess
    import sys

    save(model(), tmp_path / "m.lapwing")
    line = [sys.executable, "-m", "lapwing", "serve", *arguments, "--port", "0"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, check=False, timeout=60)
    assert done.returncode == 2
    assert said in done.stderr.decode()
    assert b"Traceback" not in done.stderr


def test_a_port_that_is_taken(server: Server, folder: Path) -> None:
    import subprocess
    import sys

    port = server.address.rpartition(":")[2]
    line = [sys.executable, "-m", "lapwing", "serve", str(folder / "sets.lapwing"), "--port", port]
    done = subprocess.run(line, capture_output=True, check=False, timeout=60)
    assert done.returncode == 2
    assert b"cannot listen" in done.stderr
