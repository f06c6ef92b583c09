"""Markdown to the inside of a page: anchors, highlighted code, links between pages."""

import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

_FORMAT = HtmlFormatter(nowrap=True)
_OUTSIDE = re.compile(r"^(https?:|mailto:)")
_SHORT = re.compile(r"<td((?: style=\"[^\"]*\")?)>([^<]{1,18})</td>")  # figures are not broken into lines
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)


@dataclass
class Text:
    """A page's text: its HTML, its headings, and the words of each section for the search."""

    html: Markup
    title: str
    headings: list[tuple[int, str, str]]  # level, anchor, words
    sections: list[tuple[str, str, str]] = field(default_factory=list)  # anchor, heading, words


def code(source: str, language: str) -> Markup:
    """A block of code, in colour where the language is known."""
    try:
        lexer = get_lexer_by_name(language or "text", stripnl=False)
    except ClassNotFound:
        lexer = get_lexer_by_name("text", stripnl=False)
    inside = Markup(highlight(source.rstrip("\n") + "\n", lexer, _FORMAT))
    return Markup('<pre tabindex="0" role="group" aria-label="{}"><code>{}</code></pre>').format(
        f"{language} code" if language else "text", inside
    )


def anchor(words: str, taken: set[str]) -> str:
    """GitHub's anchors, so that links work in both places."""
    plain = re.sub(r"[^\w\- ]", "", words.lower()).strip().replace(" ", "-") or "section"
    name, count = plain, 0
    while name in taken:
        count += 1
        name = f"{plain}-{count}"
    taken.add(name)
    return name


class Renderer:
    """Renders Markdown. `resolve` turns the target of a link, relative to the repository, into one of the site."""

    def __init__(self, resolve: Callable[[str, str], str]):
        self._resolve = resolve
        # html off: what looks like a tag in a text is text.
        self._parser = MarkdownIt("commonmark", {"html": False, "highlight": None}).enable("table")
        self._parser.add_render_rule("fence", self._fence)
        self._parser.add_render_rule("code_block", self._fence)
        self._parser.add_render_rule(
            "table_open", lambda *_: '<div class="scroll" tabindex="0" role="group" aria-label="table"><table>\n'
        )
        self._parser.add_render_rule("table_close", lambda *_: "</table></div>\n")

    @staticmethod
    def _fence(_, tokens, index, options, env) -> str:
        token = tokens[index]
        return code(token.content, token.info.split()[0] if token.info.strip() else "")

    def inline(self, text: str) -> Markup:
        return Markup(self._parser.renderInline(text))

    def block(self, text: str) -> Markup:
        return Markup(self._parser.render(text))

    def page(self, text: str, source: str) -> Text:
        """`source` is the file's path in the repository: links are relative to it."""
        tokens = self._parser.parse(_COMMENT.sub("", text))
        taken: set[str] = set()
        headings, sections, words = [], [], []
        title = ""
        for index, token in enumerate(tokens):
            if token.type == "heading_open":
                level, said = int(token.tag[1]), _words(tokens[index + 1])
                name = anchor(said, taken)
                token.attrSet("id", name)
                if level == 1 and not title:
                    title = said
                    token.meta["drop"] = True
                else:
                    headings.append((level, name, said))
                words = []
                sections.append(("" if level == 1 else name, said, words))
            elif token.type in ("inline", "fence", "code_block") and tokens[index - 1].type != "heading_open":
                words.append(_words(token))
            for child in token.children or []:
                self._link(child, source)
        kept = _without_title(tokens)
        html = Markup(
            _SHORT.sub(r'<td class="short"\1>\2</td>', self._parser.renderer.render(kept, self._parser.options, {}))
        )
        return Text(html, title, headings, [(a, h, " ".join(w)) for a, h, w in sections])

    def _link(self, token, source: str) -> None:
        for name in ("href", "src"):
            target = token.attrGet(name)
            if target is None or _OUTSIDE.match(str(target)) or str(target).startswith("#"):
                continue
            path, _, place = str(target).partition("#")
            joined = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
            token.attrSet(name, self._resolve(joined, source) + (f"#{place}" if place else ""))


def _without_title(tokens: list) -> list:
    """The template shows the title."""
    for index, token in enumerate(tokens):
        if token.meta.get("drop"):
            return tokens[:index] + tokens[index + 3 :]
    return tokens


def _words(token) -> str:
    if not token.children:
        return token.content
    return "".join(child.content if child.content else " " for child in token.children if child.type != "image")
