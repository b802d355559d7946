"""Hours of misfortune in minutes: kills of training, updating and labelling, full disks, hostile files, slow clients,
reload storms; prints what was lost.

    python benchmarks/soak.py [--minutes 20] [--seed 1]

Stages take turns until the time is over. A fault is an old file that changed, a model that differs from the one an
undisturbed run writes, a temporary file left behind by a run that ended by itself, an answer that is neither of the
two models served, an answer that is missing, be it of a server or of somebody who labels, or an error that is not one
of ours. Ends with 1 if there was any.
Everything stays in a temporary folder and on the local host.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lapwing import corpus, load
from lapwing.errors import LapwingError

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from adversary.past import sources

COMMAND = [sys.executable, "-m", "lapwing"]
ENVIRONMENT = {**os.environ, "SOURCE_DATE_EPOCH": "1"}
CLIENTS = 4
WORDS = "oil gas wheat corn bank rate crude crop loan dollar harvest barrel price market year report".split()


class Soak:
    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.draw = folder, random.Random(seed)
        self.counts: Counter[str] = Counter()
        self.faults: list[str] = []
        self.data = folder / "data.jsonl"
        self.data.write_text("".join(self._document(k) for k in range(1500)))
        self.straight = folder / "straight.lapwing"
        self._train(self.straight).wait()
        self.wanted = self.straight.read_bytes()
        self.second = folder / "second.lapwing"
        self._train(self.second, "--variance", "3").wait()
        self.news = folder / "news.jsonl"
        self.news.write_text("".join(self._document(k) for k in range(1500, 1800)))
        updated = folder / "updated.lapwing"
        self._update(updated).wait()
        self.updated = updated.read_bytes()

    def _document(self, k: int) -> str:
        text = " ".join(self.draw.choices(WORDS + [f"w{self.draw.randrange(3000)}" for _ in range(20)], k=40))
        labels = sorted({f"c{self.draw.randrange(30)}" for _ in range(2)})
        return json.dumps({"id": f"d{k}", "text": text, "labels": labels}) + "\n"

    def fault(self, said: str) -> None:
        self.faults.append(said)
        print(f"FAULT: {said}", flush=True)

    def _train(self, output: Path, *options: str) -> subprocess.Popen[bytes]:
        return _quietly("train", str(self.data), "-o", str(output), "--jobs", "2", *options)

    def _update(self, output: Path) -> subprocess.Popen[bytes]:
        return _quietly("update", str(self.straight), str(self.news), "-o", str(output))

    def kills(self, until: float) -> None:
        """Of trainings and of updates."""
        while time.monotonic() < until:
            self._kill("models after kills", self._train, self.wanted)
            self._kill("updates after kills", self._update, self.updated)

    def _kill(self, name: str, begin: Callable[[Path], subprocess.Popen[bytes]], wanted: bytes) -> None:
        """Killed again and again over an old model; what comes of it is the model of an undisturbed run."""
        output = self.folder / f"killed{self.counts[name]}.lapwing"
        output.write_bytes(b"the old model")
        for _ in range(self.draw.randint(1, 4)):
            process = begin(output)
            time.sleep(self.draw.uniform(0.1, 4.0))
            if process.poll() is None:
                process.send_signal(self.draw.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGINT]))
                self.counts["kills"] += 1
            process.wait()
            if output.read_bytes() not in (b"the old model", wanted):
                self.fault(f"{output.name} is neither the old model nor the new one")
        if begin(output).wait() != 0 or output.read_bytes() != wanted:
            self.fault(f"{output.name} differs from the model of an undisturbed run")
        self.counts[name] += 1
        for left in self.folder.glob(f"*{output.name}*"):
            left.unlink()

    def labelled(self, until: float) -> None:
        """Somebody labels, the server is killed between two answers or within one, and started again on the same file:
        every answer that was confirmed is there, once, and at most the one under way beside them."""
        output = self.folder / f"labels{self.counts['labelling sessions killed']}.jsonl"
        confirmed: dict[str, str] = {}
        while time.monotonic() < until:
            said = self.folder / "label.log"
            options = ["--category", "c0", "--category", "c1", "--port", "0", "--every", "3"]
            with said.open("wb") as log:
                server = subprocess.Popen([*COMMAND, "label", str(self.data), "-o", str(output), *options], stderr=log)
            try:
                port = self._port(said, server)
                if _quietly("label", str(self.data), "-o", str(output), *options).wait() != 2:
                    self.fault("a second session was let in")
                killer = threading.Timer(self.draw.uniform(0.2, 6.0), server.kill)
                killer.start()
                self._label(port, confirmed)
                killer.join()
            finally:
                server.kill()
                server.wait()
            self.counts["labelling sessions killed"] += 1
            whole = [line for line in output.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
            answer = {one["id"]: one["labels"][0] for one in map(json.loads, whole)}
            if len(answer) != len(whole) or len(answer) > len(confirmed) + 1 or confirmed.items() - answer.items():
                self.fault(f"{len(confirmed)} answers were confirmed, {len(whole)} lines are there")
            confirmed = answer

    def _label(self, port: int, confirmed: dict[str, str]) -> None:
        """Answer until nobody is there any more."""
        try:
            while True:
                shown = _ask_json(port, "GET", "/state")["document"]
                if shown is None:
                    return
                name = self.draw.choice(["c0", "c1"])
                _ask_json(port, "POST", "/answer", {"id": shown["id"], "labels": [name]})
                confirmed[shown["id"]] = name
                self.counts["labels"] += 1
        except (OSError, http.client.HTTPException, ValueError):
            return

    def full(self, until: float) -> None:
        """No room for the new model: the old one stays, and nothing else."""
        while time.monotonic() < until:
            output = self.folder / "full.lapwing"
            output.write_bytes(b"the old model")
            room = self.draw.randrange(len(self.wanted))
            script = (
                "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
                f"resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room}));"
                "from lapwing.cli import main; main(sys.argv[1:])"
            )
            line = [sys.executable, "-c", script, "train", str(self.data), "-o", str(output)]
            done = subprocess.run(line, env=ENVIRONMENT, capture_output=True, check=False)
            self.counts["full disks"] += 1
            if done.returncode not in (1, 2) or b"Traceback" in done.stderr:
                self.fault(f"a full disk ended with {done.returncode}: {done.stderr[-200:]!r}")
            if output.read_bytes() != b"the old model":
                self.fault("the old model is lost to a full disk")
            for left in self.folder.glob("*full.lapwing?*"):
                if not left.name.endswith(".checkpoint"):
                    self.fault(f"{left.name} is left behind")
                left.unlink()

    def hostile(self, until: float) -> None:
        """Model files and sources with bytes changed, cut, repeated: read, or refused by one of our errors."""
        seeds = list(sources().items())
        while time.monotonic() < until:
            is_model = self.draw.random() < 0.4
            name, content = ("m.lapwing", self.wanted) if is_model else self.draw.choice(seeds)
            path = self.folder / f"hostile-{name}"
            path.write_bytes(self._mutated(content))
            read: Callable[[], object] = (lambda p=path: load(p)) if is_model else (lambda p=path: corpus.read(p))
            try:
                read()
                self.counts["hostile files read"] += 1
            except LapwingError:
                self.counts["hostile files refused"] += 1
            except Exception as error:
                kept = self.folder.parent / f"soak-{len(self.faults)}-{name}"
                kept.write_bytes(path.read_bytes())
                self.fault(f"{type(error).__name__} for {name}, kept as {kept}: {error}")
            path.unlink()

    def _mutated(self, content: bytes) -> bytes:
        result = bytearray(content)
        for _ in range(self.draw.randint(0, 4)):
            at, size = self.draw.randrange(len(result) + 1), self.draw.randrange(1, 64)
            kind = self.draw.randrange(4)
            if kind == 0:
                result[at : at + size] = self.draw.randbytes(size)
            elif kind == 1:
                del result[at : at + size]
            elif kind == 2:
                result[at:at] = result[at : at + size] * self.draw.randint(1, 50)
            else:
                result = result[: max(at, 1)]
        return bytes(result)

    def served(self, until: float) -> None:
        """Requests while silent clients hold on, the model's file changes under the server, or is none for a while."""
        served = self.folder / "served.lapwing"
        served.write_bytes(self.wanted)
        texts = [" ".join(self.draw.choices(WORDS, k=12)) for _ in range(50)]
        models = [load(self.straight), load(self.second)]
        wanted = [
            [dict(zip(one.classes, one.category_proba([text])[0], strict=True)) for one in models] for text in texts
        ]
        line = [*COMMAND, "serve", str(served), "--port", "0", "--reload-every", "0.1", "--log-level", "warning"]
        said = self.folder / "served.log"
        with said.open("wb") as log:
            server = subprocess.Popen([*line, "--max-connections", "100"], stderr=log)
        try:
            port = self._port(said, server)
            workers = [threading.Thread(target=self._ask, args=(port, texts, wanted, until)) for _ in range(CLIENTS)]
            workers.append(threading.Thread(target=self._hold, args=(port, until)))
            workers.append(threading.Thread(target=self._replace, args=(served, until)))
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
        finally:
            server.terminate()
            if server.wait(60) != 0:
                self.fault(f"the server ended with {server.returncode}")
        log_lines = [json.loads(line) for line in said.read_text().splitlines() if line.startswith("{")]
        for one in log_lines:
            if one["event"] == "failure" or "Traceback" in str(one.get("traceback", "")):
                self.fault(f"the server's log: {one}")

    def _port(self, said: Path, server: subprocess.Popen[bytes]) -> int:
        for _ in range(600):
            match = re.search(r":(\d+)/", said.read_text())
            if match:
                with socket.socket() as one:
                    if one.connect_ex(("127.0.0.1", int(match[1]))) == 0:
                        return int(match[1])
            time.sleep(0.1)
        raise AssertionError(said.read_text())

    def _ask(self, port: int, texts: list[str], wanted: list[list[dict[str, float]]], until: float) -> None:
        draw = random.Random(threading.get_ident())
        client: http.client.HTTPConnection | None = None
        while time.monotonic() < until:
            if client is None or draw.random() < 0.02:
                client = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            k = draw.randrange(len(texts))
            try:
                health = draw.random() < 0.05
                if health:
                    client.request("GET", "/health")
                else:
                    body = json.dumps({"text": texts[k]})
                    client.request("POST", "/v1/classify", body, {"content-type": "application/json"})
                answer = client.getresponse()
                content = json.loads(answer.read())
            except (OSError, http.client.HTTPException, ValueError) as error:
                # Of a connection that the server closed while it was idle the client makes a new one.
                self.counts["connections lost"] += 1
                client = None
                if self.counts["connections lost"] > 0.01 * self.counts["requests"] + 50:
                    self.fault(f"too many connections lost, the last by {error!r}")
                continue
            self.counts["requests"] += 1
            self.counts[f"answers {answer.status}"] += 1
            if answer.status == 503 and not health:
                continue
            if answer.status != 200:
                self.fault(f"status {answer.status}: {content}")
            elif not health:
                result = content["results"][0]["probabilities"]
                if not any(_same(result, one) for one in wanted[k]):
                    self.fault(f"an answer of neither model to {texts[k]!r}")

    def _hold(self, port: int, until: float) -> None:
        """Clients that say nothing, or not all."""
        held: list[socket.socket] = []
        while time.monotonic() < until:
            try:
                one = socket.create_connection(("127.0.0.1", port), timeout=10)
                one.sendall(self.draw.choice([b"", b"GET /hea", b"POST /v1/classify HTTP/1.1\r\nHost: localhost\r\n"]))
                held.append(one)
                self.counts["silent connections"] += 1
            except OSError:
                self.counts["silent connections refused"] += 1
            if len(held) > 200:
                held.pop(0).close()
            time.sleep(0.02)
        for one in held:
            one.close()

    def _replace(self, served: Path, until: float) -> None:
        contents = [self.wanted, self.second.read_bytes(), b"no model", self.wanted[:1000]]
        while time.monotonic() < until:
            content = self.draw.choice(contents)
            beside = served.with_suffix(".new")
            beside.write_bytes(content)
            beside.replace(served)
            self.counts["model files replaced"] += 1
            time.sleep(self.draw.uniform(0.0, 0.3))


def _quietly(*arguments: str) -> subprocess.Popen[bytes]:
    line = [*COMMAND, *arguments]
    return subprocess.Popen(line, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _ask_json(port: int, method: str, path: str, body: object = None) -> Any:
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        content = None if body is None else json.dumps(body)
        client.request(method, path, content, {"content-type": "application/json"})
        answer = client.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise ValueError(content)
        return json.loads(content)
    finally:
        client.close()


def _same(result: dict[str, float], wanted: dict[str, float]) -> bool:
    return result.keys() == wanted.keys() and all(abs(result[key] - wanted[key]) < 1e-12 for key in result)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory() as folder:
        soak = Soak(Path(folder), options.seed)
        turn = max(60 * options.minutes / 18, 8)
        while time.monotonic() < end:
            for stage in (soak.hostile, soak.served, soak.labelled, soak.full, soak.kills):
                if time.monotonic() < end:
                    stage(min(time.monotonic() + turn * (2 if stage == soak.served else 1), end))
    width = max(map(len, soak.counts))
    for name in sorted(soak.counts):
        print(f"{name:<{width}}  {soak.counts[name]:>9,}")
    print(f"{'faults':<{width}}  {len(soak.faults):>9,}")
    return 1 if soak.faults else 0


if __name__ == "__main__":
    sys.exit(main())
