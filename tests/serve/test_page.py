"""The page of the server in a browser: the same answers as Python, two models side by side, nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli.build import SCRIPTS
from reporting.build import ATTACKS, EXTREME, texts
from reporting.open import TOLERANCE, Page, assert_same_words, expected

import lapwing
from lapwing.evaluate import assess, store_assessment
from serve.start import Server

WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]

_SETTLED = """
async (text) => {
  const area = document.getElementById("text");
  area.value = text;
  const answered = new Promise((resolve) => {
    const watch = new MutationObserver(() => { watch.disconnect(); resolve(); });
    watch.observe(document.querySelector("#try .classes"), { childList: true });
  });
  area.dispatchEvent(new Event("change"));
  await answered;
  return [...document.querySelectorAll("#try .column:first-child .classes li")].map((item) => [
    item.querySelector("bdi").textContent, item.querySelector("data").getAttribute("value"),
    item.className === "chosen"]);
}
"""


@pytest.fixture
def opened(chromium: Any, server: Server) -> Iterator[Any]:
    context = chromium.new_context()

    def open(path: str) -> Page:
        page = Page(context.new_page())
        page.open(server.address + path)
        return page

    yield open
    context.close()


@pytest.mark.parametrize(("name", "random"), [("sets", 180), ("three", 40), ("two", 40), ("ngrams", 40)])
def test_the_page_says_what_python_says(opened: Any, server: Server, folder: Path, name: str, random: int) -> None:
    model = lapwing.load(folder / f"{name}.lapwing")
    shown = opened(f"/?model={name}")
    given = ["oil", "", *SCRIPTS[1:], *ATTACKS, *EXTREME[1:], *texts(random)]
    assert len(given) >= 200 or name != "sets"  # the number, the empty text and 100,000 characters included
    for text in given:
        rows = {label: (float(p), c) for label, p, c in shown.page.evaluate(_SETTLED, text)}
        wanted = expected(model, text)
        assert rows.keys() == wanted.keys()
        for label, (p, chosen) in wanted.items():
            assert abs(rows[label][0] - p) <= TOLERANCE
            assert rows[label][1] == chosen
    assert shown.complaints == []
    assert all(address.startswith(server.address) for address in shown.requests)
    assert shown.page.evaluate("window.attacked") is None


@pytest.mark.parametrize("name", ["two", "three", "sets", "ngrams"])
def test_the_words_of_every_class_have_its_signs(opened: Any, server: Server, folder: Path, name: str) -> None:
    """Of two classes that which is decided for and the other, and which that is depends on the text."""
    model = lapwing.load(folder / f"{name}.lapwing")
    shown = opened(f"/?model={name}")
    given = ["oil wheat bank harvest", *texts(12, seed=4)]
    assert name != "two" or len(set(model.predict(given))) == 2
    for text in given:
        shown.page.evaluate(_SETTLED, text)
        assert_same_words(shown, model, text)
    assert shown.complaints == []


def test_two_models_on_one_text(opened: Any) -> None:
    shown = opened("/?model=sets")
    shown.page.fill("#text", "oil wheat bank")
    shown.page.select_option("#compare", "three")
    columns = shown.page.locator("#try .column")
    columns.nth(1).locator(".classes li").first.wait_for()
    assert columns.count() == 2
    titles = [columns.nth(k).locator("h3.model").inner_text() for k in (0, 1)]
    assert titles == ["sets", "three"]
    columns.nth(1).locator(".why .bars li").first.wait_for()
    shown.page.select_option("#compare", "")
    assert columns.count() == 1
    assert shown.complaints == []


def test_the_stored_evaluation_and_its_slider(chromium: Any, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "kept.lapwing"
    path.write_bytes((folder / "sets.lapwing").read_bytes())
    model = lapwing.load(path)
    documents = texts(80, seed=21)
    labels = [tuple(str(c) for c in row) for row in model.predict(documents)]
    labels[:20] = [("grain",)] * 20
    kept = assess(model, [(documents, labels)], "made up")[1]
    store_assessment(path, kept)
    with Server(path) as server:
        context = chromium.new_context()
        shown = Page(context.new_page())
        shown.open(server.address)
        shown.page.select_option("#category-choice", label="grain")
        slider = shown.page.locator("#threshold")
        for k in (1, 30, 99):
            slider.fill(str(k))
            tp, fp = kept.categories[1].grid[k - 1]
            positives = kept.categories[1].positives
            said = shown.page.locator("#category output").inner_text()
            assert f"p > {k / 100:.2f}:" in said
            assert f"recall {100 * tp / positives:.1f}" in said
            assert f"{tp} right, {fp} wrong, {positives - tp} missed" in said
            if tp + fp:
                assert f"precision {100 * tp / (tp + fp):.1f}" in said
        assert shown.complaints == []
        context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_accessibility(chromium: Any, server: Server, scheme: str, width: int) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed").Axe()
    context = chromium.new_context(color_scheme=scheme, viewport={"width": width, "height": 844})
    shown = Page(context.new_page())
    shown.open(f"{server.address}/?model=sets")
    shown.page.fill("#text", "oil wheat bank harvest")
    shown.page.select_option("#compare", "three")
    shown.page.locator("#try .column").nth(1).locator(".why .bars li").first.wait_for()
    result = axe.run(shown.page, options={"runOnly": WCAG}).response["violations"]
    assert [(one["id"], [node["html"] for node in one["nodes"]][:3]) for one in result] == []
    assert shown.page.evaluate("document.documentElement.scrollWidth") == width
    context.close()
