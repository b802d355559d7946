"""Work one piece after the other, so that many requests at a time share the processor instead of fighting for it."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

INLINE = 20_000  # characters: less is done at once, more in a thread, so that others need not wait
SLICE = 0.05  # seconds of work between two looks at who else is there: refusing many must not starve the few admitted


class Turns:
    def __init__(self) -> None:
        self.waiting: deque[tuple[asyncio.Future[Any], Callable[[], Any]]] = deque()
        self.scheduled = False
        self.long = asyncio.Lock()

    async def do(self, characters: int, task: Callable[[], T]) -> T:
        """The result of `task`, whose work grows with `characters`."""
        loop = asyncio.get_running_loop()
        if characters > INLINE:
            await self.long.acquire()
            # A thread cannot be stopped: its turn ends when it is done, not when nobody waits for it any longer.
            running = loop.run_in_executor(None, task)
            running.add_done_callback(lambda done: self.long.release())
            return await asyncio.shield(running)
        answer: asyncio.Future[T] = loop.create_future()
        self.waiting.append((answer, task))
        if not self.scheduled:
            self.scheduled = True
            loop.call_soon(self._work, loop)
        return await answer

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        until = time.monotonic() + SLICE
        while self.waiting and time.monotonic() < until:
            answer, task = self.waiting.popleft()
            if answer.cancelled():  # its time was up, or its client is gone
                continue
            try:
                answer.set_result(task())
            except Exception as error:
                answer.set_exception(error)
        self.scheduled = bool(self.waiting)
        if self.scheduled:
            loop.call_soon(self._work, loop)
