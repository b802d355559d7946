"""Which of the Snowball project's JavaScript stemmers stem as the Python ones do."""

from __future__ import annotations

from importlib.resources import files

# The JavaScript is of Snowball 3.0.1. Compared word by word with PyStemmer 2.2.0.3 and 3.1.0 over dictionaries of
# 50,000 to 150,000 words and the vocabulary of Reuters-21578: these agree with both …
_ALWAYS = set(
    """arabic armenian basque catalan hindi hungarian indonesian irish nepali porter portuguese russian
    serbian tamil turkish yiddish""".split()
)
# … these with the releases from 3.0 on, as their algorithms were revised there …
_SINCE_3 = set("dutch dutch_porter esperanto estonian french german italian norwegian romanian spanish swedish".split())
# … and these were revised again in 3.1.
_ONLY_3_0 = set("danish english finnish greek lithuanian".split())


def missing(language: str) -> str | None:
    """Why the page cannot stem as this Python does; None where it can."""
    import Stemmer

    release = tuple(int(part) for part in Stemmer.version().split(".")[:2])
    if language in _ALWAYS or (language in _SINCE_3 and release >= (3, 0)):
        return None
    if language in _ONLY_3_0 | _SINCE_3:
        if release[:2] == (3, 0):
            return None
        return (
            f"the page's JavaScript stemmer for {language!r} is Snowball 3.0's, and that of the PyStemmer installed "
            f"here ({Stemmer.version()}) stems some words otherwise"
        )
    return f"Snowball has no JavaScript stemmer for {language!r} among those that lapwing carries"


def script(language: str) -> str:
    """The stemmer of one language: JavaScript that ends in a function `stemWord`."""
    folder = files("lapwing.reporting") / "static" / "snowball"
    base, stemmer = ((folder / f"{name}-stemmer.js").read_text(encoding="utf-8") for name in ("base", language))
    kind = "".join(part.capitalize() for part in language.split("_")) + "Stemmer"
    return f"var BaseStemmer;\n{base}\n{stemmer}\nconst snowball = new {kind}();\n"
