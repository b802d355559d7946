"""One self-contained HTML file: style, scripts and data inside, nothing fetched, and a policy that says so."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from functools import lru_cache
from html import escape
from importlib.resources import files
from typing import Any

from lapwing.reporting import snowball

SCRIPTS = ("text", "model", "dom", "charts", "table", "marks", "remote", "box", "category", "sections", "main")


@lru_cache(maxsize=32)
def static(name: str) -> str:
    return (files("lapwing.reporting") / "static" / name).read_text(encoding="utf-8")


def scripts(stemmer: str | None) -> str:
    """The page's one script; of the stemmers only the model's."""
    stems = snowball.script(stemmer) if stemmer else "const snowball = null;\n"
    parts = "\n".join(static(f"{name}.js") for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{stems}{parts}}})();\n'


def policy(style: str, script: str, *, connect: str = "'none'") -> str:
    """Only this style and this script run, by their hashes; nothing is loaded from anywhere."""

    def sha256(content: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"

    return (
        f"default-src 'none'; script-src {sha256(script)}; style-src {sha256(style)}; img-src data:; "
        f"connect-src {connect}; base-uri 'none'; form-action 'none'"
    )


_UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


def embedded(data: Any) -> str:
    """JSON that may stand inside a script element whatever the texts in it; NaN and infinities are null."""
    text = json.dumps(_finite(data), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(k): _finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(v) for v in value]
    return value


def shell(title: str, body: str, *, style: str = "", script: str = "", connect: str = "'none'", **more: str) -> str:
    """A page with this body, in the style of the report and what `style` adds; `{{name}}` in it is filled in once."""
    style = static("style.css") + style
    parts = {
        "title": escape(title),
        "policy": escape(policy(style, script, connect=connect)),
        "style": style,
        "script": script,
        **more,
    }
    whole = static("shell.html").replace("{{body}}", body)
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], whole)


def in_columns(categories: list[dict[str, Any]]) -> dict[str, Any]:
    """Categories, in the order of their rows, by what is said of them: what is the same of all once."""
    same, each = {}, {}
    for key in [key for key in categories[0] if key not in ("name", "row")]:
        values = [_short(one[key]) for one in categories]
        if all(value == values[0] for value in values):
            same[key] = values[0]
        else:
            each[key] = values
    return {"names": [one["name"] for one in categories], "same": same, "each": each}


def _short(value: Any) -> Any:
    """As many digits as anybody reads."""
    return float(f"{value:.6g}") if isinstance(value, float) and math.isfinite(value) else value


def page(data: dict[str, Any], *, connect: str = "'none'") -> str:
    """The page that shows `data`, which `contents` makes."""
    script = scripts((data.get("live") or {}).get("stemmer"))
    shown = embedded({**data, "categories": in_columns(data["categories"])})
    return shell(str(data["title"]), static("page.html"), script=script, connect=connect, data=shown)
