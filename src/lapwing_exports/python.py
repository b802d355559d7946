"""A model as one Python file that needs only the standard library: standalone.py, a stemmer, and the tables."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any

from lapwing.errors import InputError, MissingExtraError
from lapwing.model import LinearModel
from lapwing.reporting.live import KINDS, text_tables, weight_tables

STEMMER = """

# The stemmer is of the Snowball project, https://snowballstem.org, under the three-clause BSD licence:
# Copyright (c) 2001, Dr Martin Porter; 2004,2005, Richard Boulton; 2013, Yoshiki Shibukawa; 2006-2025, Olly Betts.
"""
TAIL = """

DATA = json.loads(
    {data}
)
MODEL = Model(DATA, {stem})
classify, decide, explain = MODEL.classify, MODEL.decide, MODEL.explain

if __name__ == "__main__":
    main(MODEL)
"""


def python(model: LinearModel) -> str:
    """The text of the file; an InputError for a model that it cannot be made of."""
    weighting = model.weighting
    if weighting is None or type(weighting) not in KINDS:
        raise InputError("this model was trained on vectors, and no text can be made into one; export it to ONNX")
    settings = weighting.settings
    if settings.cut is not None:
        raise InputError(f"texts are cut by {settings.cut.name}, which the standard library does not have; use ONNX")
    if settings.max_gap:
        raise InputError("the model has n-grams with gaps, which the file does not look for; export it to ONNX")
    text = text_tables(model)
    text["entities"] = None  # Python has them
    stems, stemmer = _stemmer(settings.stemmer) if settings.stems else ("", "None")
    source = (files("lapwing_exports") / "standalone.py").read_text(encoding="utf-8")
    data = json.dumps({"model": weight_tables(model), "text": text}, ensure_ascii=True, separators=(",", ":"))
    return source.rstrip() + "\n" + stems + TAIL.format(data=repr(data), stem=stemmer)


def _stemmer(language: str) -> tuple[str, str]:
    """(source, expression for a function) of a stemmer, from the package snowballstemmer."""
    try:
        package: Any = files("snowballstemmer")
        parts = [(package / f"{name}.py").read_text(encoding="utf-8") for name in ("among", "basestemmer")]
        parts.append((package / f"{language}_stemmer.py").read_text(encoding="utf-8"))
    except (ModuleNotFoundError, FileNotFoundError) as error:
        raise MissingExtraError(
            f"a file of its own needs the stemmer for {language} of the package snowballstemmer, which is not there; "
            "get it with: pip install 'lapwing[export]'"
        ) from error
    check_stemmer(language)
    source = "\n\n".join(re.sub(r"^from \.\w+ import .*$", "", part, flags=re.MULTILINE).strip() for part in parts)
    kind = "".join(word.capitalize() for word in language.split("_")) + "Stemmer"
    return f"{STEMMER}\n\n{source}\n", f"{kind}().stemWord"


def check_stemmer(language: str) -> None:
    """Both packages are made from one source, but releases differ: those that do not belong together are refused."""
    import snowballstemmer
    import Stemmer

    words = sample_words()
    theirs = snowballstemmer.stemmer(language).stemWords(words)
    if theirs != Stemmer.Stemmer(language, 0).stemWords(words):
        raise InputError(
            f"the package snowballstemmer installed here stems {language} otherwise than PyStemmer {Stemmer.version()} "
            "does, with which the model reads texts; install releases that belong together"
        )


def sample_words() -> list[str]:
    """Words with endings of all kinds."""
    stop = (files("lapwing.text") / "data" / "smart.txt").read_text(encoding="ascii").split()
    endings = "s es ies ed ing ly tion ations ness ment able al ize ive ful ous e ée er en heit ung ción amente".split()
    return [word + ending for word in stop for ending in ("", *endings)]
