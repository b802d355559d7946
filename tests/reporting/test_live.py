"""The box of the page against Python: the same categories and probabilities, whatever the text and the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli.build import SCRIPTS

from lapwing.model.calibration import Coupling
from lapwing.reporting import Contents, page, refusal
from lapwing.reporting.contents import RATES
from lapwing.text import TextSettings
from reporting.build import ATTACKS, EXTREME, MARKUP, model, promising, texts
from reporting.open import assert_same, assert_same_words, opened

KINDS: dict[str, dict[str, Any]] = {
    "label sets": {},
    "two classes": {"classes": ("no", "yes"), "exclusive": True},
    "three classes": {"exclusive": True},
    "three classes, coupled": {"exclusive": True, "coupling": Coupling(0.4, 0.7)},
    "three classes of probit, coupled": {"exclusive": True, "link": "probit", "coupling": Coupling(0.4, 0.7)},
    "never assigned": {"thresholds": np.array([np.inf, 0.0, -1.0])},
    "probit": {"link": "probit"},
    "cloglog": {"link": "cloglog"},
    "robit": {"link": "robit:4"},
    "softmax": {"link": "softmax", "exclusive": True},
    "expected F1": {"decision": "expected_f1"},
    "characters": {"settings": TextSettings(tokens="char")},
    "ready-made": {"settings": TextSettings(tokens="ready", stop_words="none", stemmer="none")},
    "markup": {"settings": TextSettings(strip_html=True)},
    "markup, characters": {"settings": TextSettings(strip_html=True, tokens="char")},
    "no digits": {"settings": TextSettings(digits=False, stop_words=("oil", "don't"), stemmer="none")},
    "raw": {"settings": TextSettings(tf="raw", idf=False, cosine=False, stemmer="russian")},
    "binary": {"settings": TextSettings(tf="binary", min_df=2, stemmer="turkish")},
    "bigrams": {"settings": TextSettings(word_ngrams=(1, 2))},
    "words in threes": {"settings": TextSettings(word_ngrams=(2, 3), stop_words="none", stemmer="none", min_df=2)},
    "ready-made, bigrams": {"settings": TextSettings(tokens="ready", word_ngrams=(1, 2))},
    "characters inside words": {"settings": TextSettings(char_ngrams=(3, 5), strip_html=True)},
    "characters across words": {"settings": TextSettings(char_ngrams=(1, 3), tokens="char")},
    "word n-grams": {"settings": TextSettings.for_ngrams(ngrams=True)},
    "character n-grams": {"settings": TextSettings.for_ngrams(tokens="char", ngrams=True, strip_html=True)},
    "n-grams between stop words": {
        "settings": TextSettings.for_ngrams(ngrams=True, stop_words="smart", stemmer="porter")
    },
}


def write(path: Path, result: Any) -> Path:
    path.write_text(page(Contents("a model", result).to_dict()), encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_model(chromium: Any, tmp_path: Path, kind: str) -> None:
    classifier = model(**KINDS[kind])
    with opened(chromium, write(tmp_path / "page.html", classifier)) as shown:
        shown.show_all()
        assert_same(shown, classifier, [*SCRIPTS, *ATTACKS, *EXTREME, *MARKUP, *texts(60)])


@pytest.mark.parametrize(
    "kind", ["label sets", "two classes", "three classes", "softmax", "two classes of a softmax", "word n-grams"]
)
def test_every_class_has_its_words_with_its_signs(chromium: Any, tmp_path: Path, kind: str) -> None:
    """In the box, among the categories, and in the list to choose one from."""
    options = (
        {"classes": ("no", "yes"), "exclusive": True, "link": "softmax"} if " of a softmax" in kind else KINDS[kind]
    )
    classifier = model(**options)
    with opened(chromium, write(tmp_path / "page.html", classifier)) as shown:
        for text in ("oil wheat bank harvest", "the rate of the bank"):
            shown.answer(text)
            assert_same_words(shown, classifier, text)
        names = sorted(map(str, classifier.classes))
        assert sorted(shown.page.locator("#categories .sortable tbody th").all_inner_texts()) == names
        assert sorted(shown.page.locator("#category-choice option").all_inner_texts()) == names
        for label in names:
            shown.page.select_option("#category-choice", label=label)
            words = classifier.top_features(label, None)
            for side, sign in (("for", 1.0), ("against", -1.0)):
                found = [(word, weight) for word, weight in words if sign * weight > 0]
                assert (
                    shown.page.locator("#category h4", has_text=side.title()).inner_text().endswith(f"({len(found)})")
                )
                first = shown.page.locator(f"#category .bars.{side} li").first
                assert first.locator(".value").first.inner_text() == f"{'+' if sign > 0 else '−'}{abs(found[0][1]):.2f}"


def test_the_link_probit(chromium: Any, tmp_path: Path) -> None:
    """Φ to rounding over the whole line, in the page's own arithmetic."""
    from scipy.special import ndtr

    path = write(tmp_path / "page.html", model())
    source = path.read_text(encoding="utf-8")
    assert "probit: (scores)" in source
    script = source[source.index("function erfc") : source.index("// The terms of a text in their order")]
    scores = np.concatenate([np.linspace(-38, 38, 2001), np.linspace(-1, 1, 201)])
    with opened(chromium, path) as shown:
        result = shown.page.evaluate(f"(scores) => {{ {script}; return LINKS.probit(scores); }}", scores.tolist())
    wanted = ndtr(scores)
    assert np.abs(np.array(result) - wanted).max() <= 1e-15
    seen = wanted > 1e-300
    assert np.abs(np.array(result)[seen] / wanted[seen] - 1).max() <= 1e-11


def test_what_the_page_cannot_do_is_refused_by_name(chromium: Any, tmp_path: Path) -> None:
    polish = model(TextSettings(stemmer="polish")) if "polish" in _stemmers() else None
    if polish is not None:
        assert "'polish'" in str(refusal(polish))
        with opened(chromium, write(tmp_path / "page.html", polish)) as shown:
            assert "'polish'" in shown.page.inner_text("#try")
            assert not shown.page.query_selector("textarea")
    vectors = model(weighting=None)
    assert "vectors" in str(refusal(vectors))
    assert refusal(model()) is None


def _stemmers() -> tuple[str, ...]:
    from lapwing.text import stemmer_names

    return stemmer_names()


@pytest.mark.parametrize("language", ["porter", "russian", "turkish", "portuguese", "arabic", "french", "german"])
def test_stems(chromium: Any, language: str) -> None:
    """Words of every length and ending, letters beyond the first plane among them."""
    import random

    import Stemmer

    from lapwing.reporting import snowball

    if reason := snowball.missing(language):
        pytest.skip(reason)
    draw = random.Random(1)
    letters = {"russian": "авеиостнлмьюя", "arabic": "ابتسلمنوهيةءأ"}.get(language, "aeiouybdglmnrstvxéçãäöğışß𝔘")
    endings = [
        "",
        "s",
        "ed",
        "ing",
        "ational",
        "fulness",
        "mente",
        "heiten",
        "issement",
        "larımız",
        "ости",
        "ами",
        "ات",
    ]
    words = ["".join(draw.choices(letters, k=draw.randint(0, 9))) + draw.choice(endings) for _ in range(5000)]
    script = snowball.script(language) + Path(snowball.__file__).with_name("static").joinpath("text.js").read_text(
        "utf-8"
    )
    context = chromium.new_context(offline=True)
    result = context.new_page().evaluate(f"(words) => {{ {script}; return words.map(stemmer(snowball)); }}", words)
    context.close()
    assert result == Stemmer.Stemmer(language, 0).stemWords(words)


def test_typing_with_the_keyboard(chromium: Any, tmp_path: Path) -> None:
    """The words that spoke are underlined; another category is chosen without a mouse."""
    classifier = model()
    words = classifier.row_features(0, 400)
    good = next(word for word, weight in words if weight > 0 and word.isascii() and word.isalpha() and len(word) > 2)
    bad = next(word for word, weight in words if weight < 0 and word.isascii() and word.isalpha() and len(word) > 2)
    with opened(chromium, write(tmp_path / "page.html", classifier)) as shown:
        shown.page.click("#text")
        shown.page.keyboard.type(f"{good} {bad}")
        shown.page.wait_for_selector("#try mark.for")
        button = shown.page.locator("#try .classes button", has_text="energy")
        button.focus()
        shown.page.keyboard.press("Enter")
        shown.page.locator("#try .why h3", has_text="energy").wait_for()
        assert good in [mark.inner_text() for mark in shown.page.query_selector_all("#try .text mark.for")]
        assert bad in [mark.inner_text() for mark in shown.page.query_selector_all("#try .text mark.against")]
        assert button.get_attribute("aria-pressed") == "true"


@pytest.mark.parametrize("kind", ["sets", "three classes", "two classes"])
def test_promises_are_those_of_python(chromium: Any, tmp_path: Path, kind: str) -> None:
    exclusive = kind != "sets"
    classes = ("no", "yes") if kind == "two classes" else ("energy", "grain", "money")
    original = promising(model(classes=classes, exclusive=exclusive))
    path = tmp_path / "report.html"
    path.write_text(page(Contents("promises", original).to_dict()), encoding="utf-8")
    given = texts(12, seed=13)
    with opened(chromium, path) as shown:
        options = shown.page.locator("#promise option").all_inner_texts()
        ways = [{"coverage": r} for r in RATES], [{"coverage": r, "abstain": True} for r in RATES]
        asked: list[dict[str, Any]] = [*ways[0], *ways[1], *({"precision": r} for r in RATES)]
        assert len(options) == 1 + len(asked)
        for k, way in enumerate(asked):
            shown.page.select_option("#promise", str(k + 1))
            wanted = original.promised(original.predict_proba(given), **way)
            for text, row in zip(given, wanted, strict=True):
                answer = shown.answer(text)
                assert {name for name, (_, chosen) in answer.items() if chosen} == {
                    str(label) for label, inside in zip(original.classes, row, strict=True) if inside
                }, (way, text)


def test_one_of_very_many_is_found_by_typing(chromium: Any, tmp_path: Path) -> None:
    names = tuple(f"topic {k}" for k in range(599))
    classifier = model(classes=(*names, "the harvest of corn"))
    with opened(chromium, write(tmp_path / "page.html", classifier)) as shown:
        page = shown.page
        assert page.locator("#category-choice option").count() == 0
        page.locator("#category-choice").fill("harv")
        offered = page.locator("#category-names option").evaluate_all("(all) => all.map((one) => one.value)")
        assert offered == ["the harvest of corn"]
        page.locator("#category-choice").press("Enter")
        assert page.locator("#category h3.big").inner_text() == "the harvest of corn"
        page.locator("#category-choice").fill("topic 17")
        assert page.locator("#category h3.big").inner_text() == "topic 17"
        assert page.locator("#categories tbody tr").count() == 25
