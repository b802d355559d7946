"""`lapwing report`: the file, what it shows, and that nothing in it runs that is not ours."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli import build as cli_build

import lapwing
from lapwing.corpus import read
from lapwing.evaluate import look_mislabelled
from lapwing.reporting import Contents, page
from lapwing.reporting.mistakes import Worst, ranked_mistakes
from lapwing.reporting.page import SCRIPTS, embedded, scripts
from reporting.build import ATTACKS, EXTREME, model, texts
from reporting.open import assert_same, opened

WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]


def report(*arguments: object) -> dict[str, Any]:
    line = [sys.executable, "-m", "lapwing", "report", *map(str, arguments), "--json"]
    done = subprocess.run(line, check=True, capture_output=True)
    output: dict[str, Any] = json.loads(done.stdout)
    return output


@pytest.fixture(scope="module")
def reuters(archive: Path, trained: tuple[dict[str, Any], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "reuters.html"
    output = report(trained[1], archive, "-o", path)
    assert output["live"]
    assert output["evaluated"]
    return path


@pytest.fixture(scope="module")
def corpus(archive: Path) -> Any:
    return read(archive)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models of a small corpus, one beside the other, with curves of the variance."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "news.jsonl").write_bytes(cli_build.jsonl(cli_build.documents(120)))
    cli_build.train(folder / "news.jsonl", folder / "cv.lapwing", "--variance", "cv")
    cli_build.train(folder / "news.jsonl", folder / "ridge.lapwing", "--prior", "gaussian")
    report(folder / "cv.lapwing", folder / "ridge.lapwing", folder / "news.jsonl", "-o", folder / "report.html",
           "--path", "energy")  # fmt: skip
    return folder


def test_the_reuters_report_says_what_python_says(chromium: Any, reuters: Path, corpus: Any, trained: Any) -> None:
    """Show 1: texts typed into the page opened from disk, with the network off."""
    model = lapwing.load(trained[1])
    documents = corpus.part("test").documents[:3000:20]
    assert len(documents) == 150
    with opened(chromium, reuters) as shown:
        shown.show_all()
        assert_same(shown, model, [*documents, *cli_build.SCRIPTS, *ATTACKS, *EXTREME, *texts(40)])


def test_the_reuters_report_is_small(reuters: Path) -> None:
    assert reuters.stat().st_size < 5_000_000


def test_every_word_of_reuters_has_the_same_stem(chromium: Any, reuters: Path, corpus: Any) -> None:
    import Stemmer

    from lapwing.reporting import snowball
    from lapwing.text import TextSettings, tokenize

    settings = TextSettings()
    words = sorted({token for text in corpus.documents for token in tokenize(text, settings)})
    assert len(words) > 40_000
    script = snowball.script("porter")
    with opened(chromium, reuters) as shown:
        result = shown.page.evaluate(
            f"(words) => {{ {script}; return words.map((w) => snowball.stemWord(w)); }}", words
        )
    assert result == Stemmer.Stemmer("porter", 0).stemWords(words)


def rows(shown: Any) -> list[str]:
    return [cell.inner_text() for cell in shown.page.query_selector_all("#categories .sortable tbody th")]


def test_the_table_sorts_and_filters_and_opens_a_category(chromium: Any, reuters: Path) -> None:
    with opened(chromium, reuters) as shown:
        page = shown.page
        assert rows(shown)[:2] == ["earn", "acq"]  # by training documents, most first
        page.get_by_role("button", name="Category").click()
        names = rows(shown)
        assert names == sorted(names)
        assert page.locator("#categories th[aria-sort=ascending]").inner_text() == "Category"
        page.get_by_role("button", name="Category").click()
        assert rows(shown)[0] == "zinc"
        page.fill("#categories input[type=search]", "WHEA")
        page.locator("#categories .note[role=status]", has_text="1 of 115").wait_for()
        assert rows(shown) == ["wheat"]
        page.get_by_role("button", name="wheat", exact=True).click()
        assert page.locator("#category h3.big").inner_text() == "wheat"
        assert page.locator("#category .bars.for li").first.inner_text().startswith("wheat")
        for name in ("Precision and recall", "Reliability"):
            page.locator("#category figure", has_text=name).locator("svg").wait_for()
        before = page.locator("#category output").inner_text()
        page.locator("#threshold").focus()
        page.keyboard.press("Home")
        after = page.locator("#category output").inner_text()
        assert before != after
        assert after.startswith("p > 0.01:")
        page.locator("#category details").last.locator("summary").click()
        page.locator("#category .documents .text").first.wait_for()


def test_show_more(chromium: Any, reuters: Path) -> None:
    with opened(chromium, reuters) as shown:
        assert len(rows(shown)) == 25
        shown.page.get_by_role("button", name="Show more").click()
        assert len(rows(shown)) == 115


def test_a_model_of_ngrams(chromium: Any, small: Path, tmp_path: Path) -> None:
    """The box finds them, and there is no path: weaker priors would have others."""
    path = cli_build.train(small / "news.jsonl", tmp_path / "ngrams.lapwing", "--ngrams", "word", "--variance", "10")
    output = report(path, small / "news.jsonl", "-o", tmp_path / "report.html")
    assert (output["live"], output["evaluated"]) == (True, True)
    model = lapwing.load(path)
    documents = [one.text for one in cli_build.documents(120)[:20]]
    with opened(chromium, tmp_path / "report.html") as shown:
        assert_same(shown, model, [*documents, *cli_build.SCRIPTS])
        assert shown.page.locator("figure", has_text="Coefficient path").count() == 0
    line = [
        sys.executable,
        "-m",
        "lapwing",
        "report",
        str(path),
        str(small / "news.jsonl"),
        "-o",
        "x",
        "--path",
        "grain",
    ]
    done = subprocess.run(line, capture_output=True, check=False, cwd=tmp_path)
    assert (done.returncode, b"n-grams that the model does not have" in done.stderr) == (2, True)


def test_models_side_by_side_curve_and_path(chromium: Any, small: Path) -> None:
    with opened(chromium, small / "report.html") as shown:
        page = shown.page
        table = page.locator("#models table").inner_text()
        assert "cv" in table
        assert "ridge" in table
        assert "Wilcoxon p" in page.inner_text("#models")
        page.locator("#models figure").scroll_into_view_if_needed()
        page.locator("#models svg").wait_for()
        assert page.locator("#models svg polyline").count() == 3
        assert page.locator("#category h3.big").inner_text() == "energy"
        for name in ("Choice of the variance", "Coefficient path"):
            page.locator("#category figure", has_text=name).scroll_into_view_if_needed()
            page.locator("#category figure", has_text=name).locator("svg").wait_for()


# Ticks, axes' names and counts in a chart of which one lies over another, or beyond the chart's edges.
OVERLAPS = """
[...document.querySelectorAll("figure svg")].flatMap((svg) => {
  const edge = svg.getBoundingClientRect();
  const labels = [...svg.querySelectorAll(".axes text, .count")];
  const texts = labels.map((one) => [one.textContent, one.getBoundingClientRect()]);
  const over = (a, b) => a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom;
  return texts.flatMap(([text, box], k) => [
    ...texts.slice(k + 1).filter(([, other]) => over(box, other)).map(([other]) => `${text} over ${other}`),
    ...(box.left < edge.left - 1 || box.right > edge.right + 1 ? [`${text} is cut`] : []),
  ]);
})
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_accessibility(chromium: Any, small: Path, scheme: str, width: int) -> None:
    """axe-core finds nothing against WCAG 2.1 AA, and nothing is wider than the window."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed").Axe()
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 844}}
    with opened(chromium, small / "report.html", **options) as shown:
        shown.page.fill("#text", "oil and wheat\n" * 60)  # longer than its frame, which scrolls
        shown.page.locator("#try .text", has_text="oil and wheat\noil").wait_for()
        for summary in shown.page.query_selector_all("summary"):
            summary.click()
        result = axe.run(shown.page, options={"runOnly": WCAG}).response["violations"]
        assert [(one["id"], [node["html"] for node in one["nodes"]][:3]) for one in result] == []
        assert shown.page.evaluate("document.documentElement.scrollWidth") == width
        for chart in shown.page.query_selector_all("figure"):
            chart.scroll_into_view_if_needed()
            chart.wait_for_selector("svg")
        assert shown.page.evaluate(OVERLAPS) == []


def test_a_model_of_3500_categories_opens(chromium: Any, tmp_path: Path) -> None:
    classifier = model(classes=tuple(f"category {k}" for k in range(3500)))
    path = tmp_path / "many.html"
    path.write_text(page(Contents("many", classifier).to_dict()), encoding="utf-8")
    with opened(chromium, path) as shown:
        assert "3,500 in all" in shown.page.inner_text("#categories")
        shown.page.fill("#categories input[type=search]", "category 3499")
        shown.page.locator("#categories .note[role=status]", has_text="1 of 3,500").wait_for()
        shown.page.fill("#text", "oil wheat bank")
        shown.page.locator("#try .classes li").first.wait_for()


ATTACK = "</script><img src=x onerror='window.attacked=1'>\u202eevil\x00<b>{{style}}"


def test_names_and_texts_are_shown_as_text(chromium: Any, tmp_path: Path) -> None:
    """Show 5: a corpus whose labels, ids and texts are all attacks."""
    rows = [
        {"id": f"{ATTACK}{i}", "text": f"{text} {ATTACK}", "label": f"{'a' if i % 2 else 'b'} {ATTACK}"}
        for i, text in enumerate([*ATTACKS[:-1], *ATTACKS[:-1], *ATTACKS[:-1]])
    ]
    data = tmp_path / f"{ATTACK.replace('/', '').replace(chr(0), '')}.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    cli_build.train(data, tmp_path / "model.lapwing", "--variance", "100")
    report(tmp_path / "model.lapwing", data, "-o", tmp_path / "report.html")
    with opened(chromium, tmp_path / "report.html") as shown:
        for summary in shown.page.query_selector_all("summary"):
            summary.click()
        for text in ATTACKS:
            shown.answer(text)
        assert shown.page.evaluate("window.attacked") is None
        assert shown.page.query_selector("img, b, iframe, main script") is None
        body = shown.page.inner_text("body")
        assert "<img src=x onerror" in body
        assert "U+202E" in body
        assert "U+0000" in body
        assert "\u202e" not in body
        assert "{{style}}" in body


def test_what_is_embedded_cannot_leave_its_place() -> None:
    held = {"text": "</script><!-- \u2028 \u2029 \ud800 & \x00", "number": float("nan"), "list": [float("inf")]}
    text = embedded(held)
    assert not re.search("[<>&\u2028\u2029\ud800\x00]", text)
    assert json.loads(text) == {"text": held["text"], "number": None, "list": [None]}


def test_the_policy_allows_this_script_and_style_only() -> None:
    html = page(Contents("a", model()).to_dict())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    assert "default-src &#x27;none&#x27;" in policy[1]
    assert "unsafe" not in policy[1]
    assert " style=" not in html
    assert " onclick=" not in html


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_script_ends_its_element_or_makes_html(name: str) -> None:
    source = (Path(lapwing.__file__).parent / "reporting" / "static" / f"{name}.js").read_text(encoding="utf-8")
    assert "</script" not in source.lower()
    assert "<!--" not in source
    for forbidden in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch("):
        assert forbidden not in source or (forbidden, name) == ("fetch(", "remote")


def test_only_one_stemmer_is_embedded() -> None:
    classifier = scripts("porter")
    assert "PorterStemmer" in classifier
    assert "TurkishStemmer" not in classifier
    assert "Stemmer=" not in scripts(None)


def test_worst_mistakes_and_labels_to_look_at() -> None:
    proba = np.array([[0.9], [0.8], [0.99], [0.01], [0.3], [0.02], [0.6]])
    truth = np.array([[True], [True], [False], [True], [False], [False], [False]])
    chosen = proba > 0.5
    result = Worst(3)
    result.add(ranked_mistakes(proba, truth, chosen), proba, truth, first=5)
    assert [(one.document, one.row) for one in result] == [(2, 5), (3, 5), (6, 5)]
    # members have 0.57 on average, others 0.4775: documents 2 and 6 look like members, 3 like none
    assert look_mislabelled(proba, truth) == [(2, 0), (3, 0), (6, 0)]


def test_errors(tmp_path: Path, small: Path) -> None:
    def complaint(*arguments: object) -> str:
        line = [sys.executable, "-m", "lapwing", "report", *map(str, arguments)]
        done = subprocess.run(line, capture_output=True, check=False)
        assert done.returncode == 2, done.stderr
        assert b"Traceback" not in done.stderr
        return done.stderr.decode().splitlines()[-1]

    out = tmp_path / "out.html"
    assert "expected a model file" in complaint(small / "news.jsonl", "-o", out)
    assert "give DATA" in complaint(small / "cv.lapwing", small / "ridge.lapwing", "-o", out)
    assert "must not be a file that is read" in complaint(small / "cv.lapwing", "-o", small / "cv.lapwing")
    assert "--path must name categories" in complaint(
        small / "cv.lapwing", small / "news.jsonl", "-o", out, "--path", "none such"
    )
    assert not out.exists()


def test_the_same_from_python(small: Path, tmp_path: Path) -> None:
    """`lapwing.report` gives the command's page to the byte; a classifier or a loaded model does as well as a file."""
    data = lapwing.corpus.read(small / "news.jsonl")
    report(small / "cv.lapwing", small / "ridge.lapwing", small / "news.jsonl", "-o", tmp_path / "command.html")
    output = lapwing.report(small / "cv.lapwing", data, tmp_path / "python.html", rivals=[small / "ridge.lapwing"])
    assert (tmp_path / "python.html").read_bytes() == (tmp_path / "command.html").read_bytes() == output.html.encode()
    assert output.evaluated
    assert output.refusal is None
    classifier = lapwing.TextClassifier(variance=1.0).fit(data.documents, [row[0] for row in data.labels])
    for one in (classifier, classifier.model_):
        assert "<html" in lapwing.report(one).html
    with pytest.raises(lapwing.errors.InputError, match="expected a model, a model file or a fitted classifier"):
        lapwing.report(b"news")
    with pytest.raises(lapwing.errors.InputError, match="compared on documents"):
        lapwing.report(classifier, rivals=[classifier])


def test_on_paper_tables_are_whole_and_charts_drawn(chromium: Any, tmp_path: Path) -> None:
    many = model(classes=tuple(f"class {k:03}" for k in range(60)), exclusive=False)
    classifier = texts(80)
    labels = [(f"class {i % 60:03}",) for i in range(80)]
    corpus = lapwing.corpus.Corpus("made", "text", classifier, labels, [str(i) for i in range(80)], False, [""] * 80,
                                   np.ones(80))  # fmt: skip
    rival = model(classes=many.classes, exclusive=False, seed=6)
    contents = lapwing.report(many, corpus, tmp_path / "page.html", rivals=[rival]).contents.to_dict()
    with opened(chromium, tmp_path / "page.html") as shown:
        rows = "document.querySelectorAll('#categories .sortable tbody tr').length"
        empty = "[...document.querySelectorAll('figure .plot')].filter((one) => !one.firstChild).length"
        before = shown.page.evaluate(rows)
        shown.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        assert (before < 60, shown.page.evaluate(rows), shown.page.evaluate(empty)) == (True, 60, 0)
        shown.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
        assert shown.page.evaluate(rows) == before
        assert shown.page.locator("#models svg .over").count() > 0  # names of categories that differ most
        mistakes, suspects = (
            set(shown.page.locator(f"#{part} summary").all_inner_texts()) for part in ("mistakes", "suspects")
        )
        assert mistakes
        assert suspects
        assert not mistakes & suspects
        opened_first = shown.page.locator("#category h3.big").inner_text()
        errors = {one["name"]: one["errors"] for one in contents["categories"]}
        assert errors[opened_first] == max(errors.values())


def test_mistakes_say_what_was_predicted_and_titles_are_read(chromium: Any, small: Path, tmp_path: Path) -> None:
    (tmp_path / "titles.tsv").write_text("energy\tOil and gas\n")
    report(small / "ridge.lapwing", small / "news.jsonl", "-o", tmp_path / "page.html", "--split", "all", "--no-path",
           "--titles", tmp_path / "titles.tsv")  # fmt: skip
    with opened(chromium, tmp_path / "page.html") as shown:
        table = shown.page.locator("#categories table").last.inner_text()
        assert "energy · Oil and gas" in table
        assert "AUC" in table
        assert shown.page.locator("abbr", has_text="relative gap").first.get_attribute("title").startswith("How far")
    contents = lapwing.report(small / "ridge.lapwing", read(small / "news.jsonl"), split="all").contents
    for one in contents.documents["mistakes"]:
        assert one["predicted"] != one["labels"]
    (tmp_path / "wrong.tsv").write_text("no tab\n")
    line = [sys.executable, "-m", "lapwing", "report", small / "ridge.lapwing", "-o", tmp_path / "x.html"]
    done = subprocess.run([*line, "--titles", tmp_path / "wrong.tsv"], capture_output=True, check=False)
    assert b"line 1: expected a category, a tab and its title" in done.stderr
