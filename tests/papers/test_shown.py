from __future__ import annotations

import pytest

from lapwing_papers.shown import p_value


@pytest.mark.parametrize(("p", "said"), [(0.0, "< 0.001"), (0.00049, "< 0.001"), (0.0006, "0.001"), (0.0481, "0.048")])
def test_a_small_p_is_not_printed_as_zero(p: float, said: str) -> None:
    assert p_value(p) == said
