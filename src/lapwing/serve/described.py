"""/docs: the interface as /openapi.json describes it, as a page that fetches nothing and runs no script."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape
from typing import Any

from lapwing.reporting.page import policy, static

EXAMPLES = {
    "/v1/classify": {"text": "Wheat and corn exports rose", "top": 3},
    "/v1/explain": {"text": "Wheat and corn exports rose", "top": 1},
}
STYLE = """
main.docs { max-width: 60rem; margin: 0 auto; padding: 1rem; }
main.docs section { margin: 2rem 0; }
main.docs pre { overflow-x: auto; padding: 0.6rem; border: 1px solid; border-radius: 4px; }
main.docs table { border-collapse: collapse; } main.docs td, main.docs th { padding: 0.2rem 0.8rem 0.2rem 0; }
main.docs td, main.docs th { text-align: left; vertical-align: top; }
main.docs dl { display: grid; grid-template-columns: 4rem 1fr; gap: 0.1rem; margin: 0; } main.docs dd { margin: 0; }
"""


def description_page(described: dict[str, Any]) -> str:
    """The whole page of an OpenAPI description."""
    style = static("style.css") + STYLE
    shown = "".join(_operations(described))
    about = described["info"]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy(style, ""))}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(about['title'])} interface</title><style>{style}</style></head><body><main class='docs'>"
        f"<h1>{escape(about['title'])} {escape(about['version'])}</h1><p>{escape(about['description'])} What a program "
        'needs to know is in <a href="/openapi.json">/openapi.json</a>. Where a token is needed it goes into the '
        f"header <code>Authorization: Bearer TOKEN</code>.</p>{shown}</main></body></html>"
    )


def _operations(described: dict[str, Any]) -> Iterator[str]:
    for path, methods in described["paths"].items():
        for method, one in methods.items():
            name = f"{method.upper()} {path}"
            yield f"<section><h2><code>{escape(name)}</code></h2><p>{escape(one.get('description', ''))}</p>"
            parameters = [
                (item["name"], item["schema"], item.get("required", False)) for item in one.get("parameters", ())
            ]
            if body := one.get("requestBody"):
                schema = _resolved(described, body["content"]["application/json"]["schema"])
                required = schema.get("required", ())
                parameters += [(key, value, key in required) for key, value in schema["properties"].items()]
            yield from _table(parameters)
            if path in EXAMPLES:
                given = escape(json.dumps(EXAMPLES[path]))
                yield f"<pre tabindex='0'>curl -H 'Content-Type: application/json' \\\n  -d '{given}' \\\n  http://HOST{path}</pre>"
            answers = (
                f"<dt>{code}</dt><dd>{escape(answer['description'])}</dd>" for code, answer in one["responses"].items()
            )
            yield f"<h3>Answers</h3><dl>{''.join(answers)}</dl></section>"


def _table(parameters: list[tuple[str, dict[str, Any], bool]]) -> Iterator[str]:
    if not parameters:
        return
    yield "<table><thead><tr><th>field</th><th>type</th><th></th></tr></thead><tbody>"
    for name, schema, required in parameters:
        note = schema.get("description", "") + (" (required)" if required else "")
        yield f"<tr><td><code>{escape(name)}</code></td><td>{escape(_type(schema))}</td><td>{escape(note)}</td></tr>"
    yield "</tbody></table>"


def _type(schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(_type(one) for one in schema["anyOf"] if one.get("type") != "null")
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return "object" if schema.get("type") == "object" else str(schema.get("type", "any"))


def _resolved(described: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in schema:
        return schema
    node: dict[str, Any] = described
    for part in schema["$ref"].removeprefix("#/").split("/"):
        node = node[part]
    return node
