"""Pictures inside pages: drawn SVG is put into the page itself, so that its colours follow the page's."""

import html
import re
from pathlib import Path

from markupsafe import Markup

# What `heed describe --svg` and tools/make_docs.py write; anything else is shown as an image, which runs nothing.
_OURS = re.compile(
    r"<svg xmlns=\"http://www\.w3\.org/2000/svg\" viewBox=\"[\d. ]+\" width=\"[\d.]+\" height=\"[\d.]+\" role=\"img\">"
)
_ACTIVE = re.compile(r"<script|<foreignObject|\son\w+\s*=|javascript:|<image|<use", re.IGNORECASE)


def inline(path: Path, label: str, kind: str) -> Markup:
    """The SVG with its own style taken away; the page's stylesheet draws `.wiring` and `.weights`."""
    svg = path.read_text()
    if not _OURS.match(svg) or _ACTIVE.search(svg):
        raise SystemExit(f"docs: {path.name} is not a picture that heed draws")
    svg = re.sub(r"<style>.*?</style>\n?", "", svg, flags=re.DOTALL)
    svg = re.sub(r"\bid=\"tip\"", f'id="tip-{kind}"', svg).replace("url(#tip)", f"url(#tip-{kind})")
    svg = svg.replace('style="fill:#7a8494;stroke:none"', 'class="tip"')
    scroll = Markup('<div class="scroll" tabindex="0" role="group" aria-label="{}">{}</div>')
    return scroll.format(label, Markup(svg))


def read_weights(path: Path) -> list[tuple[str, float]]:
    """The words and weights of a picture's first row."""
    svg = path.read_text()
    words = [html.unescape(word) for word in re.findall(r"<text x=[^>]*middle\">([^<]*)</text>", svg)]
    weights = re.findall(r"<title>([\d.]+)</title></rect>", svg)
    return [(word, float(weight)) for word, weight in zip(words, weights)]
