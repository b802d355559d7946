from __future__ import annotations

from cli.conftest import model, news, run

__all__ = ["model", "news", "run"]
