"""The report's page, with a server behind its box."""

from __future__ import annotations

import gzip
import re
from functools import lru_cache
from html import unescape
from typing import Any

from lapwing.reporting import Contents, page
from lapwing.reporting.live import refusal
from lapwing.serve.store import Served


@lru_cache(maxsize=2)  # with very many categories a page takes seconds to make
def serve_page(one: Served, names: tuple[str, ...], max_body: int, packed: bool) -> tuple[bytes, str]:
    """(the page of one model, gzipped or not, and its policy)

    Texts are sent to this server, and may be compared with its other models.
    """
    live: dict[str, Any] = {"remote": {"model": one.name, "models": list(names), "most": max_body}}
    if not one.reads_text or hasattr(one.model.weighting, "beside"):
        live = {"refusal": refusal(one.model)}
    html = page(Contents(one.name, one.model, one.assessment, live=live).to_dict(), connect="'self'")
    return gzip.compress(html.encode(), 6, mtime=0) if packed else html.encode(), policy_for(html)


def policy_for(html: str) -> str:
    """The policy that the page states, as a header, which also says who may frame it: nobody."""
    match = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert match is not None
    return f"{unescape(match[1])}; frame-ancestors 'none'"
