"""A page in a browser: opened with the network off, and what it says read back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lapwing.model import LinearModel

TOLERANCE = 1e-9

# Sets a text as typing does, waits for the answer, and reads every class from the list that is shown.
_ANSWER = """
async (text) => {
  const area = document.getElementById("text");
  area.value = text;
  area.dispatchEvent(new Event("change"));
  await new Promise((resolve) => setTimeout(resolve, 0));
  return [...document.querySelectorAll("#try .classes li")].map((item) => [
    item.querySelector("bdi").textContent, item.querySelector("data").getAttribute("value"),
    item.className === "chosen"]);
}
"""


class Page:
    def __init__(self, page: Any) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on(
            "console", lambda said: self.complaints.append(said.text) if said.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def open(self, address: str) -> None:
        self.page.goto(address)
        self.page.wait_for_selector("html[data-ready=yes]")

    def show_all(self) -> None:
        button = self.page.get_by_role("button", name="Show all")
        if button.count():
            button.first.click()

    def answer(self, text: str) -> dict[str, tuple[float, bool]]:
        """Every class with its probability and whether the text was put in it."""
        return {name: (float(value), chosen) for name, value, chosen in self.page.evaluate(_ANSWER, text)}


@contextmanager
def opened(chromium: Any, path: Path, **options: Any) -> Iterator[Page]:
    """A file in a context of its own, with the network off; nothing may be said on the console."""
    context = chromium.new_context(offline=True, **options)
    try:
        page = Page(context.new_page())
        page.open(path.as_uri())
        yield page
        assert page.complaints == []
        assert page.requests == [path.as_uri()]
    finally:
        context.close()


def expected(model: LinearModel, text: str) -> dict[str, tuple[float, bool]]:
    scores = model.scores([text])
    proba, chosen = model.class_proba(scores)[0], model.decide(scores)[0]
    return {str(label): (float(p), bool(c)) for label, p, c in zip(model.classes, proba, chosen, strict=True)}


def assert_same(page: Page, model: LinearModel, texts: Sequence[str]) -> None:
    """The page puts every text where Python does, with the same probabilities."""
    for text in texts:
        mine, theirs = expected(model, text), page.answer(text)
        assert mine.keys() == theirs.keys()
        worst = max(abs(p - theirs[name][0]) for name, (p, _) in mine.items())
        assert worst <= TOLERANCE, text[:200]
        assert {k for k, one in mine.items() if one[1]} == {k for k, one in theirs.items() if one[1]}, text[:200]


def _signed(value: float) -> str:
    return f"{'−' if value < 0 else '+'}{abs(value):.2f}"


# Selects a class in the list and waits until its words are there.
WHY = """
async (name) => {
  document.querySelector("#try .why").replaceChildren();
  const items = [...document.querySelectorAll("#try .classes li")];
  items.find((item) => item.querySelector("bdi").textContent === name).querySelector("button").click();
  const shown = () => document.querySelector("#try .why h3 bdi")?.textContent;
  for (let waited = 0; waited < 10000 && shown() !== name; waited += 5) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const words = (side) => [...document.querySelectorAll(`#try .why .bars.${side} li`)].map((item) => [
    item.querySelector(".word bdi").textContent, item.querySelector(".value").textContent]);
  const note = [...document.querySelectorAll("#try .why > .note")].at(-1);
  return [words("for"), words("against"), note.textContent];
}
"""


def assert_same_words(page: Page, model: LinearModel, text: str) -> None:
    """The words for and against every class, its score and its intercept, are those of Python, whatever was decided."""
    page.show_all()
    for label in model.classes:
        pro, contra, note = page.page.evaluate(WHY, str(label))
        one = model.explain(text, [label]).categories[0]
        strongest = [(re.sub("^ | $", "␣", part.feature), part.contribution) for part in one.contributions[:12]]
        assert pro == [[word, _signed(value)] for word, value in strongest if value > 0], label
        assert contra == [[word, _signed(value)] for word, value in strongest if value < 0], label
        assert note.startswith(f"Score {_signed(one.score)} = intercept {_signed(one.intercept)} "), label
