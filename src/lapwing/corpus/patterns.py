"""What a regular expression finds in paths, within a time.

Some expressions take time exponential in the length of what they are held against, and nothing but the end of its
process stops a search. So paths are searched by a child process, which knows the standard library only.
"""

from __future__ import annotations

import json
import subprocess
import sys

from lapwing.errors import SettingsError

SECONDS, PER_PATH = 10.0, 1e-3  # an ordinary expression takes microseconds for a path

SEARCH = """
import json, re, sys
pattern, paths = json.load(sys.stdin)
expression = re.compile(pattern)
def found(match):
    names = match.groupdict()
    label = names["label"] if "label" in names else match[1] if expression.groups else match[0]
    return label or "", names.get("split") or ""
matches = map(expression.search, paths)
json.dump([found(match) if match else ("", "") for match in matches], sys.stdout)
"""


def search(pattern: str, paths: list[str], seconds: float = SECONDS) -> list[tuple[str, str]]:
    """Of every path the class, the group `label`, else the first group, else all that matches, and the group `split`;
    "" where there is none."""
    allowed = seconds + PER_PATH * len(paths)
    try:
        child = subprocess.run(
            [sys.executable, "-I", "-S", "-c", SEARCH],
            input=json.dumps([pattern, paths]), capture_output=True, encoding="ascii", timeout=allowed, check=True,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise SettingsError(
            f"label_from={pattern!r} was not through with {len(paths):,} paths in {allowed:.0f} s; use one without a "
            "repetition inside a repetition, such as (a+)+"
        ) from None
    return [(label, split) for label, split in json.loads(child.stdout)]
