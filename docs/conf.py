"""The documentation site: `make docs` builds it into build/docs, and a warning is an error."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

import lapwing

sys.path.insert(0, str(Path(__file__).parent))
import reference

project = "lapwing"
author = "The lapwing authors"
copyright = author
version = release = lapwing.__version__
extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = f"lapwing {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_math_renderer = "mathml"
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
smartquotes = False
nitpicky = True
# Signatures name types of the libraries they come from, and nothing is fetched to link them.
nitpick_ignore_regex = [("py:.*", ".*")]

# What a page may not fetch: it must read the same without a network.
FETCHED = re.compile(
    r"""<(?:script|img|iframe|source|link(?![^>]*rel="(?:canonical|index|search|next|prev)"))\b[^>]*
        \b(?:src|href)="(?:https?:)?//[^"]*" | url\(\s*["']?(?:https?:)?// | @import\s+["'](?:https?:)?//""",
    re.VERBOSE,
)


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(f'<div class="math" tabindex="0">{convert(node.astext(), display="block")}</div>\n')
    raise nodes.SkipNode


def _fetches_nothing(app: Sphinx, problem: Exception | None) -> None:
    if problem is not None or app.builder.format != "html":
        return
    for path in sorted(Path(app.outdir).rglob("*")):
        if path.suffix in (".html", ".css") and (found := FETCHED.search(path.read_text(encoding="utf-8"))):
            raise ExtensionError(f"{path.name} would load something from elsewhere: {found[0][:200]}")


def setup(app: Sphinx) -> None:
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.connect("source-read", reference.fill)
    app.connect("build-finished", _fetches_nothing)
