"""Text to matrix: token table, tokens, stop words, stems, weighting."""

from lapwing.text.counts import count_terms
from lapwing.text.design import Design, Weighting, design
from lapwing.text.rows import Counts
from lapwing.text.settings import TextSettings, smart_stop_words, stemmer_names
from lapwing.text.tokens import strip_html, token_spans, tokenize

__all__ = [
    "Counts",
    "Design",
    "TextSettings",
    "Weighting",
    "count_terms",
    "design",
    "smart_stop_words",
    "stemmer_names",
    "strip_html",
    "token_spans",
    "tokenize",
]
