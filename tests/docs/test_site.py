"""The docs site: every part has a page, every link leads somewhere, nothing is loaded from elsewhere."""

import dataclasses
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import torch

from tests.conftest import ROOT
from tests.docs.reading import PageReader, broken, is_outside, read_site

sys.path.insert(0, str(ROOT / "tools"))
import docsite.parts  # noqa: E402
from docsite import build, documents, doxygen, formulas, markdown, registry, usage  # noqa: E402
from docsite.pages import Frame  # noqa: E402

HOSTILE = "<script>alert(1)</script> \"'><img src=x onerror=alert(1)> שלום 🙂"


@pytest.fixture(scope="module")
def parts():
    return registry.load()


@pytest.fixture(scope="module", autouse=True)
def few_descriptions():
    """`heed describe` is started for one mechanism, not for each: starting it is most of the build's time."""
    row = {"name": "attention", "query": "q", "keys": "text", "output": "c"}
    stand_in = json.dumps({"attention": {"modules": [row]}})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(docsite.parts, "heed", lambda *words: registry.heed(*words) if "rotatory" in words else stand_in)
        yield


@pytest.fixture(scope="module")
def site(parts, tmp_path_factory):
    out = tmp_path_factory.mktemp("docs") / "site"
    build.build(out, parts, version="test", cpp=False)
    return out


@pytest.fixture(scope="module")
def pages(site):
    return read_site(site)


def test_every_part_has_a_page_with_its_formula_and_pictures(site, parts):
    for part in parts:
        html = (site / part.path).read_text()
        assert '<span class="katex-mathml">' in html and "katex-error" not in html, part.key
        assert len(re.findall('class="katex-display"', html)) == len(formulas.lines_of(part.formula)), part.key
        assert ('<figure class="wiring">' in html) == (part.group == "mechanism" and part.built), part.key
        drawn = ROOT / "docs" / "weights" / f"{part.group}-{part.id}.svg"
        assert ('<figure class="weights">' in html) == drawn.exists(), part.key
        for option in part.options:
            assert f"<code>{option['name']}</code>" in html, (part.key, option["name"])


def test_the_parts_of_a_formula_are_the_whole_formula(parts):
    for part in parts:
        joined = "".join(formulas.lines_of(part.formula))
        assert re.sub(r"[\s,;]|\\quad|\\;", "", joined) == re.sub(r"[\s,;]|\\quad|\\;", "", part.formula), part.key


def test_a_formula_that_cannot_be_read_stops_the_build():
    with pytest.raises(SystemExit, match="cannot be drawn"):
        formulas.render_all([r"\frac{1}{"])


def test_links_and_resources_resolve(pages):
    assert len(pages) > 90
    assert broken(pages) == []


def test_nothing_is_loaded_from_elsewhere(site, pages):
    loaded = {link for page in pages.values() for link in page.loaded}
    assert loaded and not [link for link in loaded if is_outside(link)]
    for style in site.glob("*.css"):
        outside = [
            url for url in re.findall(r"url\(([^)]*)\)|@import", style.read_text()) if not url.startswith("data:")
        ]
        assert outside == [], style.name
    for script in (site / "site.js", site / "theme.js"):
        assert not re.search(r"https?://|fetch\(|XMLHttpRequest|innerHTML", script.read_text()), script.name


def test_the_map_leads_to_every_part(site, parts):
    links = PageReader(site / "map.html").links
    assert sorted(link for link in links if link.startswith("parts/")) == sorted(part.path for part in parts)


def test_the_search_finds_every_part(site, parts):
    script = (site / "search.js").read_text()
    rows = json.loads(script.removeprefix("window.heedSearch = ").rstrip().removesuffix(";"))
    found = {link for _, _, link, _ in rows}
    assert {part.path for part in parts} <= found
    assert all((site / link.partition("#")[0]).is_file() for link in found)
    assert any("heed.attend" == title for title, *_ in rows)


def test_advice_speaks_of_parts_that_exist(parts):
    advice = tomllib.loads((ROOT / "docs" / "advice.toml").read_text())
    keys = {part.key for part in parts}
    assert {f"{group}/{id}" for group in advice for id in advice[group]} <= keys
    assert {key for group in advice.values() for note in group.values() for key in note["see"]} <= keys


def test_hostile_text_stays_text(parts, tmp_path):
    option = {"name": HOSTILE, "default": HOSTILE, "doc": HOSTILE, "choices": [HOSTILE]}
    odd = dataclasses.replace(
        parts[0], title=HOSTILE, advice=HOSTILE, paper=HOSTILE, time=HOSTILE, options=(option,), suits=(HOSTILE,)
    )
    build.build(tmp_path / "site", [odd, *parts[1:12]], version=HOSTILE, cpp=False, python=False)
    for name in (odd.path, "map.html", "index.html", parts[1].path):
        page = PageReader(tmp_path / "site" / name)
        assert HOSTILE in page.text, name
        assert page.tags.count("script") == 2 and "onerror" not in page.attributes, name
    assert "</script" not in (tmp_path / "site" / "search.js").read_text()


def test_markdown_takes_no_html_and_knows_wrong_links():
    text = markdown.Renderer(lambda target, source: target).page(
        f"# T\n\n{HOSTILE}\n\n```py\n{HOSTILE}\n```\n", "docs/x.md"
    )
    assert "<script" not in text.html and "<img" not in text.html
    with pytest.raises(SystemExit, match="leads nowhere"):
        documents.Documents(Frame(ROOT / "nowhere", "0")).renderer.page("[x](missing.md)", "docs/tasks.md")


def test_python_examples_of_all_parts_run(parts):
    pytest.importorskip("heed")
    torch.set_num_threads(1)
    for part in parts:
        exec(compile(usage.python(part), part.key, "exec"), {})


@pytest.mark.parametrize(
    "key", ["mechanism/rotatory", "mechanism/gat", "query/specialised", "position/rope", "mechanism/pointer"]
)
def test_config_examples_are_legal(heed, parts, tmp_path, key):
    config = tmp_path / "config.toml"
    config.write_text(usage.config(next(part for part in parts if part.key == key)))
    done = heed("describe", config)
    assert done.returncode == 0, done.stderr


def test_trailing_comments_become_documentation():
    source = "struct A {\n  int x = 0;  // first\n              // second\n  int y;  // NOLINT\n};\n}  // namespace heed\n// alone\n"
    assert doxygen.with_marks(source) == (
        "struct A {\n  int x = 0;  ///< first second\n\n  int y;  // NOLINT\n};\n}  // namespace heed\n// alone\n"
    )


@pytest.mark.skipif(not Path("/usr/bin/chromium").exists(), reason="chromium is not installed")
def test_pages_are_right_in_a_browser(site):
    names = ["index.html", "map.html", "parts/mechanism-rotatory.html", "guide/pytorch.html", "api/python/heed.nn.html"]
    names += ["docs/results.html"]
    script = ROOT / "tests" / "docs" / "browser.mjs"
    done = subprocess.run(["node", script, site, *names], capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []


def test_the_link_checker_sees_what_is_broken(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a href="b.html#there">1</a><a href="b.html#not">2</a><img src="c.png"><a href="https://x.org">3</a>'
    )
    (tmp_path / "b.html").write_text('<p id="there"></p>')
    assert broken(read_site(tmp_path)) == ["a.html: b.html#not", "a.html: c.png"]
