"""Write a version of the token table from this Python's Unicode data: `make_token_table.py VERSION`.

A version, once released, never changes: models name it. Run this only to make a new one.
"""

from __future__ import annotations

import json
import sys
import unicodedata
from pathlib import Path

SEPARATOR, LETTER, DIGIT, SINGLE, MARK, IGNORABLE, SPACE = range(7)
LAST = 0x10FFFF
# Scripts written without spaces between words: every letter is a token of its own.
SINGLES = ("CJK ", "THAI CHARACTER", "LAO ", "KHMER ", "MYANMAR ", "TANGUT ", "NUSHU ", "YI SYLLABLE")


def token_class(code: int) -> int:
    char = chr(code)
    category = unicodedata.category(char)
    if category == "Cs" or char.isspace():
        return SPACE  # lone surrogates separate, whatever the kind of token
    if category == "Cf":
        return IGNORABLE
    if category in ("Mn", "Mc", "Me"):
        return MARK
    if category[0] == "L":
        return SINGLE if unicodedata.name(char, "").startswith(SINGLES) else LETTER
    if category[0] == "N":
        return DIGIT
    return SEPARATOR


def main(version: int) -> None:
    classes = [token_class(code) for code in range(LAST + 1)]
    runs, start = [], 0
    for code in range(1, LAST + 2):
        if code > LAST or classes[code] != classes[start]:
            if classes[start] != SEPARATOR:
                runs.append([start, code - 1, classes[start]])
            start = code
    lower = []
    for code in range(LAST + 1):
        folded = chr(code).lower() if not 0xD800 <= code <= 0xDFFF else chr(code)
        if len(folded) == 1 and ord(folded) != code and classes[ord(folded)] == classes[code]:
            lower.append([code, ord(folded)])
    table = {
        "version": version,
        "unicode": unicodedata.unidata_version,
        "classes": {
            "separator": SEPARATOR, "letter": LETTER, "digit": DIGIT, "single": SINGLE,
            "mark": MARK, "ignorable": IGNORABLE, "space": SPACE,
        },
        "runs": runs,
        "lower": lower,
    }  # fmt: skip
    out = Path(__file__).parents[1] / "src/lapwing/text/data" / f"token-table-{version}.json"
    out.write_text(json.dumps(table, separators=(",", ":")) + "\n", encoding="ascii")
    print(f"{out.name}: {len(runs)} runs, {len(lower)} lower-case pairs, Unicode {table['unicode']}")


if __name__ == "__main__":
    main(int(sys.argv[1]))
