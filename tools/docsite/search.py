"""The search index: a script, because a page opened from a file may load scripts but fetch nothing."""

import json
import re

from .pages import AREAS, Page

_LONGEST = 1200  # characters of a section that are searched


def index(pages: list[Page]) -> str:
    areas = {area: title for area, title, _ in AREAS} | {"parts": "Part"}
    rows = []
    for page in pages:
        for anchor, title, words in page.found or [("", page.title, page.about)]:
            link = f"{page.path}#{anchor}" if anchor else page.path
            where = areas.get(page.area, "") if title == page.title else page.title
            rows.append([title, where, link, re.sub(r"\s+", " ", words)[:_LONGEST]])
    text = json.dumps(rows, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")
    return f"window.heedSearch = {text};\n"
