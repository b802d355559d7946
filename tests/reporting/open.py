"""A page in a browser: opened with the network off, and what it says read back."""

from __future__ import annotations

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
