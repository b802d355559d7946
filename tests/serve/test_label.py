"""The page for labelling in a browser: by keys alone, taken back, and after kill -9."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest
from cli import build

WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
KEYS = {"energy": "1", "grain": "2", "money": "3"}


class Labelling:
    """`lapwing label` in a process of its own."""

    def __init__(self, folder: Path, *arguments: str, port: int = 0) -> None:
        self.log = tempfile.TemporaryFile("w+b")  # noqa: SIM115
        names = [word for name in KEYS for word in ("--category", name)]
        files = [str(folder / "pool.jsonl"), "-o", str(folder / "labels.jsonl")]
        line = [sys.executable, "-m", "lapwing", "label", *files, *names, "--port", str(port), *arguments]
        self.process = subprocess.Popen(line, stderr=self.log, env=os.environ)
        until = time.monotonic() + 90
        while not (match := re.search(r"http://127.0.0.1:(\d+)/", self.said())) or not self._answers(int(match[1])):
            assert self.process.poll() is None, self.said()
            assert time.monotonic() < until, self.said()
            time.sleep(0.05)
        self.port = int(match[1])
        self.address = f"http://127.0.0.1:{self.port}/"

    def said(self) -> str:
        self.log.seek(0)
        return self.log.read().decode()

    def _answers(self, port: int) -> bool:
        try:
            return httpx2.get(f"http://127.0.0.1:{port}/health", trust_env=False, timeout=10).status_code == 200
        except httpx2.TransportError:
            return False

    def stop(self, number: int) -> None:
        self.process.send_signal(number)
        self.process.wait(30)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("label")
    rows = [json.dumps({"id": str(i), "text": d.text}) for i, d in enumerate(build.documents(90))]
    (folder / "pool.jsonl").write_text("\n".join(rows), encoding="utf-8")
    return folder


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "labels.jsonl").read_text(encoding="utf-8").splitlines()]


def by_key(page: Any, truth: dict[str, str], count: int, done: int) -> None:
    for number in range(done + 1, done + count + 1):
        text = page.locator("#document").inner_text()
        page.keyboard.press(KEYS[truth[text.strip()]])
        page.wait_for_selector(f"html[data-answered='{number}']", state="attached")


def test_fifty_documents_by_keys_and_a_killed_server(chromium: Any, folder: Path) -> None:
    from axe_playwright_python.sync_playwright import Axe

    docs = build.documents(90)
    truth = {d.text.strip(): d.label for d in docs}
    server = Labelling(folder)
    context = chromium.new_context()
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    try:
        page.goto(server.address)
        page.wait_for_selector("html[data-ready=yes]")
        by_key(page, truth, 20, 0)
        before = page.locator("#document").inner_text()
        page.keyboard.press("u")
        page.wait_for_selector("html[data-answered='19']", state="attached")
        assert len(lines(folder)) == 19
        assert page.locator("#document").inner_text() != before
        by_key(page, truth, 1, 19)
        page.keyboard.press("s")
        page.locator("#progress", has_text="1 skipped").wait_for()
        by_key(page, truth, 10, 20)
        assert said == []

        server.stop(signal.SIGKILL)
        assert len(lines(folder)) == 30
        page.keyboard.press("1")
        page.locator("#problem", has_text="Not saved").wait_for()
        assert len(lines(folder)) == 30

        server = Labelling(folder, port=server.port)
        page.reload()
        page.wait_for_selector("html[data-answered='30']", state="attached")
        by_key(page, truth, 20, 30)
        result = lines(folder)
        assert len(result) == len({one["id"] for one in result}) == 50
        assert all(truth[one["text"].strip()] == one["labels"][0] for one in result)
        assert page.locator("#curve svg").count() == 1
        violations = Axe().run(page, options={"runOnly": WCAG}).response["violations"]
        assert violations == []
    finally:
        context.close()
        server.stop(signal.SIGTERM)


def test_pages_of_elsewhere_cannot_answer_and_a_retry_can(folder: Path) -> None:
    server = Labelling(folder)
    try:
        client = httpx2.Client(base_url=server.address, trust_env=False)
        body = json.dumps({"id": "0", "labels": ["grain"]})
        assert client.post("answer", content=body, headers={"content-type": "text/plain"}).status_code == 400
        assert client.get("state", headers={"host": "elsewhere.example"}).status_code == 400
        assert client.post("undo", json={}, headers={"host": "elsewhere.example"}).status_code == 400
        for wrong in ({"id": 0}, [], {"id": "none", "labels": ["grain"]}, {"id": "0", "labels": "grain"}):
            assert client.post("answer", json=wrong).status_code == 400
        before = client.get("state").json()
        given = {"id": before["document"]["id"], "labels": ["grain"]}
        for _ in range(2):  # again, where the reply was lost
            reply = client.post("answer", json=given)
            assert (reply.status_code, reply.json()["answered"]) == (200, before["answered"] + 1)
    finally:
        server.stop(signal.SIGTERM)
