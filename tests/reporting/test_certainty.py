"""What the page says of how sure the model is: exclusive classes with one voice, calibration, confusion, promises."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lapwing.evaluate import assess
from lapwing.model import LinearModel
from lapwing.reporting import Contents, page
from reporting.build import model, promising, texts
from reporting.open import opened

WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]


def shown_of(result: LinearModel, path: Path) -> dict[str, Any]:
    """A page with an evaluation on texts whose labels are drawn from the model's own probabilities."""
    documents = texts(150, seed=21)
    rng = np.random.default_rng(22)
    proba = result.predict_proba(documents)
    if result.exclusive:
        labels = [(result.classes[rng.choice(len(row), p=row / row.sum())],) for row in proba]
    else:
        labels = [tuple(np.array(result.classes, dtype=object)[rng.random(len(row)) < row]) for row in proba]
    _, kept = assess(result, [(documents, labels)], "drawn")
    contents = Contents("sure", result, kept).to_dict()
    path.write_text(page(contents), encoding="utf-8")
    return contents


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_three_exclusive_classes(chromium: Any, tmp_path: Path, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed").Axe()
    contents = shown_of(promising(model(exclusive=True)), tmp_path / "report.html")
    options = {"color_scheme": scheme, "viewport": {"width": 390, "height": 844}}
    with opened(chromium, tmp_path / "report.html", **options) as shown:
        cells = shown.page.locator("table.confusion tbody td").all_inner_texts()
        assert sum(0 if cell == "·" else int(cell) for cell in cells) == 150
        assert shown.page.locator("#confusion tbody tr").count() == len(contents["confusion"]["pairs"]) + 3
        assert shown.page.locator("#categories th", has_text="Threshold").count() == 0
        assert shown.page.locator("#threshold").count() == 0
        assert sum(p for p, _ in shown.answer("oil and wheat").values()) == pytest.approx(1.0)
        for name in ("Reliability", "Wrong answers"):
            figure = shown.page.locator("#categories figure", has_text=name)
            figure.scroll_into_view_if_needed()
            figure.locator("svg").wait_for()
        counts = shown.page.locator("#categories svg .count").all_text_contents()
        assert sum(int(count.replace(",", "")) for count in counts) == 3 * 150
        assert contents["calibration"]["in_words"].split(",")[0][1:] in shown.page.inner_text("#categories")
        result = axe.run(shown.page, options={"runOnly": WCAG}).response["violations"]
        assert [(one["id"], [node["html"] for node in one["nodes"]][:3]) for one in result] == []
        assert shown.page.evaluate("document.documentElement.scrollWidth") == 390


def test_label_sets_and_two_classes_keep_their_thresholds(chromium: Any, tmp_path: Path) -> None:
    for k, classifier in enumerate((model(), model(classes=("no", "yes"), exclusive=True))):
        contents = shown_of(classifier, tmp_path / f"{k}.html")
        assert contents["promises"] is None
        with opened(chromium, tmp_path / f"{k}.html") as shown:
            assert shown.page.locator("#categories th", has_text="Threshold").count() == 1
            assert shown.page.locator("#threshold").count() == 1
            assert shown.page.locator("#promise").count() == 0
            assert shown.page.locator("#confusion").count() == (1 if classifier.exclusive else 0)
