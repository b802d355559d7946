from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise, zip_longest

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.text import TextSettings, count_terms, strip_html, token_spans, tokenize
from lapwing.text.reading import Tokens, read_tokens
from lapwing.text.table import CLASS_SHIFT, IGNORABLE, SPACE, token_table

from .strategies import texts

WAYS = [
    TextSettings(tokens=tokens, digits=digits, stop_words="none", stemmer="none")
    for tokens in ("word", "char", "ready")
    for digits in (True, False)
]
WORDS, WORDS_WITHOUT_DIGITS, CHARS, _, READY, _ = WAYS
every_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way.tokens}-{way.digits}")


def entries(read: Tokens) -> list[list[tuple[str, int]]]:
    """The tokens of every document, with their counts where they were counted."""
    rows: list[list[tuple[str, int]]] = [[] for block in read.blocks for _ in block.documents]
    for ends, numbers, counts, place, documents in read.blocks:
        tokens = [read.tokens[i] for i in place[numbers[: ends[-1]]]]
        both = list(zip_longest(tokens, counts[: ends[-1]].tolist(), fillvalue=1))
        for i, (start, end) in zip(documents, pairwise(ends), strict=True):
            rows[i] = both[start:end]
    return rows


def same_as_plain(read: Tokens, documents: list[str], way: TextSettings) -> bool:
    """Whether the kernel read what plain Python cuts."""
    cut = [tokenize(document, way) for document in documents]
    counted = [dict(Counter(tokens)) for tokens in cut]
    same = by_document(read) == counted if any(len(block.counts) for block in read.blocks) else in_turn(read) == cut
    return same and list(read.tokens) == sorted(set().union(*cut))


def by_document(read: Tokens) -> list[dict[str, int]]:
    return [dict(document) for document in entries(read)]


def in_turn(read: Tokens) -> list[list[str]]:
    return [[token for token, _ in document] for document in entries(read)]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Don't stop -- O'Neill's 3rd X_ray!", "don t stop o neill s 3rd x ray"),
        ("The Naïve ÉCOLE, e\u0301te\u0301", "the naïve école e\u0301te\u0301"),
        ("हिन्दी में लिखा", "हिन्दी में लिखा"),  # vowel signs and the virama belong to the word
        ("ภาษาไทย", "ภ า ษ า ไ ท ย"),
        ("ที่นี่", "ที่ นี่"),  # tone marks and vowels above stay with their consonant
        ("我爱Python编程", "我 爱 python 编 程"),
        ("中\u0301a", "中\u0301 a"),  # a mark on a single, and no letter after it
        ("カタカナ 한국어", "カタカナ 한국어"),
        ("win32 and 1984, ٣٤ 3.14", "win32 and 1984 ٣٤ 3 14"),
        ("co\u00adoper\u200bate \u200d", "cooperate"),  # what is invisible is dropped
        ("\u0301\u0302 a", "a"),  # a mark on nothing starts no word
        ("a\ud800b", "a b"),
        ("İSTANBUL", "İstanbul"),
        ("👩\u200d🚀 👍🏽", ""),
        ("", ""),
    ],
)
def test_words(text: str, tokens: str) -> None:
    assert tokenize(text, WORDS) == tokens.split()


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("win32 and 1984, B2B", "win and b b"), ("x²y ٣٤ Ⅳ", "x y"), ("3\u0301a", "a"), ("a3\u0301b", "a b")],
)
def test_words_without_digits(text: str, tokens: str) -> None:
    assert tokenize(text, WORDS_WITHOUT_DIGITS) == tokens.split()


def test_characters() -> None:
    assert tokenize("A  b\n\t\u3000-", CHARS) == ["a", " ", "b", " ", "-"]
    assert tokenize(" \u200d \u200d", CHARS) == [" "]
    assert tokenize("\ud800\udc00x", CHARS) == [" ", "x"]
    assert tokenize("e\u0301 中1", CHARS) == ["e", "\u0301", " ", "中", "1"]


def test_ready_made_tokens_are_left_alone() -> None:
    assert tokenize("  The_CAT\u200d don't\n\t3.14  ", READY) == ["The_CAT\u200d", "don't", "3.14"]


ascii_words = st.text("aZq07", min_size=1, max_size=18)
ascii_ends = st.sampled_from([" ", ", ", "\n\n\t", ".", "_", "\x00", " é", "é", "中 ", "-" * 70])


@pytest.mark.parametrize("way", [WORDS, WORDS_WITHOUT_DIGITS], ids=lambda way: str(way.digits))
@settings(max_examples=80, deadline=None)
@given(documents=st.lists(st.lists(ascii_words | ascii_ends, max_size=60).map("".join), max_size=4))
def test_words_of_long_ascii_texts_are_cut_alike(way: TextSettings, documents: list[str]) -> None:
    """The kernel looks at 64 bytes at a time, and where there are fewer goes letter by letter."""
    documents = [*documents, "x" * 80]
    assert same_as_plain(read_tokens([documents], way, counting=False), documents, way)


@every_way
@settings(max_examples=150, deadline=None)
@given(documents=st.lists(texts, max_size=5))
def test_plain_python_and_the_kernel_count_alike(way: TextSettings, documents: list[str]) -> None:
    for counting in (True, False):
        for n_jobs in (1, 3):
            read = read_tokens([documents, documents[:1]], way, counting=counting, n_jobs=n_jobs)
            assert same_as_plain(read, [*documents, *documents[:1]], way)


@pytest.mark.parametrize("way", [WORDS, CHARS, READY], ids=lambda way: way.tokens)
def test_both_agree_on_every_code_point(way: TextSettings) -> None:
    letters = [chr(code) for code in range(0x110000)]
    strings = ["a" + "1".join(letters[start : start + 4096]) for start in range(0, len(letters), 4096)]
    assert same_as_plain(read_tokens([strings], way, counting=True), strings, way)


@pytest.mark.parametrize("n", [6, 7, 8, 9, 14, 15, 16, 17, 40])
def test_words_of_every_length(n: int) -> None:
    """Keys hold up to fifteen bytes; longer words that begin alike are told apart and sorted by their spelling."""
    words = ["x" * k + end for k in range(n - 3, n + 3) for end in ("", "a", "é", "中", "\U00010400")]
    text = " ".join(words + words[::2])
    assert same_as_plain(read_tokens([[text]], WORDS, counting=True), [text], WORDS)


@every_way
@settings(max_examples=150, deadline=None)
@given(text=texts)
def test_spans_lead_back_to_the_text(way: TextSettings, text: str) -> None:
    fold = token_table().fold
    spans = list(token_spans(text, way))
    assert [token for _, _, token in spans] == tokenize(text, way)
    before = 0
    for start, end, token in spans:
        assert before <= start < end <= len(text)
        before = end
        piece = text[start:end]
        if way.tokens != "ready":
            seen = [fold[ord(c)] for c in piece if fold[ord(c)] >> CLASS_SHIFT != IGNORABLE]
            piece = "".join(chr(entry & ((1 << CLASS_SHIFT) - 1)) for entry in seen)
            if all(entry >> CLASS_SHIFT == SPACE for entry in seen):
                piece = " "
        assert piece == token


@pytest.mark.parametrize(
    ("markup", "words"),
    [
        ("<p>Wheat<br>corn</p>", "Wheat corn"),
        ("one<b>two</b>three", "one two three"),
        ("<script>var a = '<b>';</script>seen<STYLE media=x>p { }</style >too", "seen too"),
        ("seen <script>if (a < b) unclosed", "seen"),
        ("<script src='x'/>seen<script-like>too", "seen too"),
        ("a <!-- no > no --> b <!-- unclosed", "a b"),
        ('<a title="x > y" href=z>shown</a>', "shown"),
        ("<p class=it's>shown", "shown"),
        ("a < b and c > d, x<3", "a < b and c > d, x<3"),
        ("unclosed <a href=", "unclosed <a href="),
        ("<![CDATA[x]]>y<![if IE]>z<![foo[bar]]><?php echo ?><!DOCTYPE html>", "y z"),
        (
            "AT&amp;T &lt;b&gt; caf&eacute; &#x4e2d;&#25991; &bogus; &#xD800;",
            "AT&T <b> café 中文 &bogus; \ufffd",
        ),
        ("fish&nbsp;chips", "fish chips"),
        ("</p></script>shown", "shown"),
        ("<ſcript>shown", "<ſcript>shown"),
        ("", ""),
    ],
)
def test_strip_html(markup: str, words: str) -> None:
    assert strip_html(markup).split() == words.split()


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "<",
                ">",
                "</",
                "<!",
                "<!--",
                "-->",
                "<![",
                "]]>",
                "<?",
                "<script>",
                "</script",
                "<style ",
                '"',
                "'",
            ]
        )
        | st.sampled_from(["/", "=", "&", "&#", ";", "amp", "x", " "])
        | st.text(max_size=3)
    ).map("".join)
)
def test_any_markup_can_be_stripped(markup: str) -> None:
    stripped = strip_html(markup)
    assert len(stripped) <= max(len(markup), 1) * 2
    if not set("<&") & set(markup):
        assert stripped == markup


@pytest.mark.parametrize("piece", ["<", "<a ", '<a b="', "<!", "<![x[", "</", "<script ", "<script '</style' ", "&#"])
def test_unclosed_markup_stays_in_no_more_than_linear_time(piece: str) -> None:
    """Not a timing: a parser that looks to the end for every < would keep this test running for hours."""
    assert strip_html(piece * 100_000) == piece * 100_000


@pytest.mark.parametrize("piece", ["<!--", "<script>", "<script>'</script'"])
def test_unclosed_comments_and_scripts_hide_the_rest(piece: str) -> None:
    assert strip_html("seen" + piece * 100_000) == "seen "


@pytest.mark.parametrize("method", ["plain", "kernel"])
def test_html_is_stripped_on_request_only(method: str) -> None:
    text = ["<i>corn</i> &amp; wheat"]
    plain = TextSettings(stop_words="none", stemmer="none")
    assert count_terms(text, plain, method=method).terms == ["amp", "corn", "i", "wheat"]
    assert count_terms(text, replace(plain, strip_html=True), method=method).terms == ["corn", "wheat"]
    ready = replace(plain, strip_html=True, tokens="ready")
    assert count_terms(text, ready, method=method).terms == ["&amp;", "<i>corn</i>", "wheat"]
