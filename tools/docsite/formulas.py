"""Formulas: LaTeX to HTML by the KaTeX that the report uses too, with its fonts.

MathML alone looks as good as the reader's fonts: where none has mathematical tables, subscripts stand on the line. The fonts
are put into the stylesheet, because some browsers load none from a file beside a page that is a file itself.
"""

import base64
import json
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from markupsafe import Markup

from .registry import ROOT

SCRIPT = Path(__file__).with_name("formulas.mjs")
KATEX = ROOT / "viewer" / "node_modules" / "katex" / "dist"
FONTS = (
    "Main-Regular",
    "Math-Italic",
    "Size1-Regular",
    "Size2-Regular",
    "Size3-Regular",
    "Size4-Regular",
    "AMS-Regular",
)
_OPEN, _CLOSE = ("{", r"\left"), ("}", r"\right")
_MARK = re.compile(r"\{|\}|\\left(?!arrow)|\\right(?!arrow)|, \\;|; \\quad")
_FACE = re.compile(r"@font-face\{[^}]*\}")


def stylesheet() -> str:
    """KaTeX's own, with the fonts that formulas of the registry need inside it."""
    style = (KATEX / "katex.min.css").read_text()
    faces = []
    for face in _FACE.findall(style):
        name = re.search(r"KaTeX_([\w-]+)\.woff2", face)
        if name and name[1] in FONTS:
            data = base64.b64encode((KATEX / "fonts" / f"KaTeX_{name[1]}.woff2").read_bytes()).decode()
            faces.append(re.sub(r"src:[^}]*", f'src:url(data:font/woff2;base64,{data}) format("woff2")', face))
    return "\n".join([*faces, _FACE.sub("", style)])


def lines_of(latex: str) -> list[str]:
    """A formula of several equations, one a line: they are parted by `, \\;` or `; \\quad` outside of all brackets."""
    made, depth, start = [], 0, 0
    for mark in _MARK.finditer(latex):
        depth += (mark[0] in _OPEN) - (mark[0] in _CLOSE)
        if mark[0][0] in ",;" and depth == 0:
            made.append(latex[start : mark.start()])
            start = mark.end()
    return [line.strip() for line in [*made, latex[start:]] if line.strip()]


def render_all(formulas: Iterable[str]) -> dict[str, Markup]:
    """Each formula's HTML. One that cannot be read stops the build: a page never shows half a formula."""
    wanted = list(dict.fromkeys(formulas))
    lines = [lines_of(latex) for latex in wanted]
    done = subprocess.run(["node", SCRIPT], input=json.dumps(sum(lines, [])), capture_output=True, text=True)
    if done.returncode:
        reason = next((line for line in done.stderr.splitlines() if "Error" in line), done.stderr)
        raise SystemExit(f"docs: a formula cannot be drawn: {reason}")
    drawn = iter(json.loads(done.stdout))
    return {latex: Markup("\n").join(Markup(next(drawn)) for _ in own) for latex, own in zip(wanted, lines)}
