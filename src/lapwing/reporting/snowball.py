"""Which of the Snowball project's JavaScript stemmers stem as the Python ones do."""

from __future__ import annotations

from importlib.resources import files

from lapwing.text.stemming import pystemmer_release

# The JavaScript is of Snowball 3.0.1. Compared word by word with PyStemmer 3.0.0 and 3.1.0 over dictionaries of 50,000
# to 150,000 words and the vocabulary of Reuters-21578: these agree with both …
_SINCE_3_0 = set(
    """arabic armenian basque catalan dutch dutch_porter esperanto estonian french german hindi hungarian indonesian
    irish italian nepali norwegian porter portuguese romanian russian serbian spanish swedish tamil turkish
    yiddish""".split()
)
# … and these were revised in 3.1.
_ONLY_3_0 = set("danish english finnish greek lithuanian".split())


def missing(language: str) -> str | None:
    """Why the page cannot stem as this Python does; None where it can."""
    release = pystemmer_release()
    if language in _SINCE_3_0 or (language in _ONLY_3_0 and release == "3.0"):
        return None
    if language in _ONLY_3_0:
        return (
            f"the page's JavaScript stemmer for {language!r} is Snowball 3.0's, and that of the PyStemmer installed "
            f"here ({release}) stems some words otherwise"
        )
    return f"Snowball has no JavaScript stemmer for {language!r} among those that lapwing carries"


def script(language: str) -> str:
    """The stemmer of one language: JavaScript that ends in a function `stemWord`."""
    folder = files("lapwing.reporting") / "static" / "snowball"
    base, stemmer = ((folder / f"{name}-stemmer.js").read_text(encoding="utf-8") for name in ("base", language))
    kind = "".join(part.capitalize() for part in language.split("_")) + "Stemmer"
    return f"var BaseStemmer;\n{base}\n{stemmer}\nconst snowball = new {kind}();\n"
