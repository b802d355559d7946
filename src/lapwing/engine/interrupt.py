"""Ctrl-C while a kernel runs: compiled code hears no signal, so it runs beside the thread that does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextvars import ContextVar, copy_context
from functools import wraps
from typing import ParamSpec, TypeVar

LOOK = 0.2  # seconds
P = ParamSpec("P")
Result = TypeVar("Result")

_stop: ContextVar[threading.Event | None] = ContextVar("stop", default=None)


def interruptible(function: Callable[P, Result]) -> Callable[P, Result]:
    """`function`, in a thread of its own where it is called from the main one.

    Ctrl-C then ends the call at once; the thread ends with the fit that it is at, and its result is dropped.
    """

    @wraps(function)
    def heard(*args: P.args, **kwargs: P.kwargs) -> Result:
        if threading.current_thread() is not threading.main_thread():
            return function(*args, **kwargs)
        outcome: Future[Result] = Future()
        stop = threading.Event()
        context = copy_context()
        context.run(_stop.set, stop)

        def work() -> None:
            try:
                outcome.set_result(context.run(function, *args, **kwargs))
            except BaseException as error:
                outcome.set_exception(error)

        try:
            threading.Thread(target=work, name="lapwing", daemon=True).start()  # which may be interrupted, too
            while not wait([outcome], LOOK).done:  # the signal may wake another thread than this
                pass
            return outcome.result()
        except KeyboardInterrupt:
            stop.set()
            raise

    return heard


def stop_event() -> threading.Event | None:
    """What is set once the call that this belongs to is interrupted; threads that it starts are to be handed it."""
    return _stop.get()


def stopped() -> bool:
    """Whether the call that this belongs to has been interrupted."""
    stop = _stop.get()
    return stop is not None and stop.is_set()
