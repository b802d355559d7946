"""A server in a process of its own, on a port that was free."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

import httpx2


def _answers(port: int) -> bool:
    try:
        return httpx2.get(f"http://127.0.0.1:{port}/health", trust_env=False, timeout=10).status_code == 200
    except httpx2.TransportError:
        return False


class Server:
    def __init__(self, *arguments: object, open_files: int | None = None, **environment: str) -> None:
        self.open_files = open_files
        self.arguments = [str(argument) for argument in arguments]
        self.environment = {**os.environ, **environment}

    def __enter__(self) -> Server:
        self.stderr = tempfile.TemporaryFile("w+b")
        line = [sys.executable, "-m", "lapwing", "serve", *self.arguments, "--port", "0"]
        if self.open_files is not None:
            line = ["sh", "-c", f'ulimit -n {self.open_files} && exec "$@"', "sh", *line]
        self.process = subprocess.Popen(line, stderr=self.stderr, env=self.environment)
        until = time.monotonic() + 60
        while not (match := re.search(r"http://(\S+):(\d+)/", self.said())) or not _answers(int(match[2])):
            if self.process.poll() is not None or time.monotonic() > until:
                self.process.kill()
                raise AssertionError(self.said())
            time.sleep(0.05)
        self.address = f"http://127.0.0.1:{match[2]}"
        self.client = httpx2.Client(base_url=self.address, timeout=60, trust_env=False)
        return self

    def said(self) -> str:
        self.stderr.seek(0)
        return self.stderr.read().decode()

    @property
    def log(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.said().splitlines() if line.startswith("{")]

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(30)

    def __exit__(self, *problem: object) -> None:
        self.client.close()
        if self.process.poll() is None:
            self.stop()
        self.stderr.close()
