"""What encoding bytes that are not UTF-8 may be in: a guess for a person to judge, never acted upon."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

MOST = 3  # encodings that are named
# What the same bytes mean for people: charset-normalizer gives the narrowest that fits.
WIDER = {"gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949", "iso8859_1": "latin-1"}


def likely_encodings(samples: Iterable[bytes]) -> list[str]:
    """The likeliest encodings of these texts, best first; those of several samples that fit most of them."""
    from charset_normalizer import from_bytes

    votes: defaultdict[str, float] = defaultdict(float)
    for sample in samples:
        names = [WIDER.get(match.encoding, match.encoding) for match in from_bytes(sample)]
        for rank, name in enumerate(dict.fromkeys(names)):
            votes[name] += 1 / (1 + rank)
    best = sorted(votes, key=lambda name: (-votes[name], name))
    return [name for name in best if name not in ("utf_8", "ascii")][:MOST]


def encoding_advice(samples: Iterable[bytes]) -> str:
    """The rest of a sentence on bytes in another encoding than was expected: what to do."""
    names = likely_encodings(samples)
    if not names:
        return "name the right encoding (--encoding latin-1, say)"
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
    return f"they may be {listed}: name the right one with encoding (--encoding {names[0]})"
