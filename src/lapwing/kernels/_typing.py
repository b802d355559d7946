"""What Numba found out about an operator's types once is not found out again: a sixth of the time to compile.

For every `a + b` and every `x[i]` Numba asks all that have ever been declared for that operator, one after the other,
whether they take such types. A kernel has thousands of them, of a few dozen kinds.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import types

from lapwing.kernels._built_in import signature_of

_answers: dict[Any, Any] = {}  # by what is declared, and so empty for an operator that more is declared for


@contextmanager
def remembering() -> Iterator[None]:
    """To be held with Numba's lock: no other thread types anything meanwhile."""
    ask = types.BaseFunction.get_call_type

    def get_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
        question = (self.key, context, args)
        if kws:
            return ask(self, context, args, kws)
        if question not in _answers:
            answer: Any = signature_of(self.typing_key, context, args)
            if answer is None:
                answer = ask(self, context, args, kws)
            _answers[question] = answer, self._impl_keys.get(answer.args)
        signature, key = _answers[question]
        self._impl_keys[signature.args] = key
        return signature

    types.BaseFunction.get_call_type = get_call_type  # type: ignore[method-assign]
    try:
        yield
    finally:
        types.BaseFunction.get_call_type = ask  # type: ignore[method-assign]
