"""The Python reference, from the signatures and docstrings of the package."""

import importlib
import inspect
import json
import re
import textwrap
from dataclasses import dataclass, field
from types import ModuleType

from markupsafe import Markup

from .markdown import Renderer, code
from .pages import Frame, Link, Page

MODULES = ("heed", "heed.nn", "heed.metrics")


def load() -> list[ModuleType]:
    return [importlib.import_module(name) for name in MODULES]


@dataclass
class Symbol:
    name: str
    kind: str  # "class" or "function"
    signature: Markup
    text: Markup
    words: str
    members: list["Symbol"] = field(default_factory=list)


def text_of(docstring: str | None, renderer: Renderer) -> Markup:
    """A docstring as HTML: Markdown, where `>>>` begins an example and indented lines are kept as they are."""
    lines = inspect.cleandoc(docstring or "").replace("``", "`").split("\n")
    made, example = [], []
    for line in [*lines, ""]:
        if line.startswith((">>>", "...")) or (example and line):
            example.append(line)
            continue
        if example:
            made.append("```pycon\n" + "\n".join(example) + "\n```\n")
            example = []
        option = re.match(r"^    (\w+): (.*)$", line)
        made.append(f"- `{option[1]}`: {option[2]}" if option else line)
    return renderer.block("\n".join(made))


def signature_of(name: str, thing) -> str:
    """As it is written in the source: one line where it is short, else a parameter a line."""
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return name
    rows, star = [], False
    for parameter in signature.parameters.values():
        if parameter.name == "self" or parameter.name.startswith("_"):
            continue
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            star = True
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not star:
            rows.append("*")
            star = True
        rows.append(_parameter(parameter))
    given = signature.return_annotation
    result = "" if given is inspect.Signature.empty or inspect.isclass(thing) else f" -> {_annotation(given)}"
    line = f"{name}({', '.join(rows)}){result}"
    return line if len(line) <= 96 else name + "(\n" + "".join(f"    {row},\n" for row in rows) + ")" + result


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    text = stars + parameter.name
    typed = parameter.annotation is not inspect.Parameter.empty
    if typed:
        text += f": {_annotation(parameter.annotation)}"
    if parameter.default is not inspect.Parameter.empty:
        default = json.dumps(parameter.default) if isinstance(parameter.default, str) else repr(parameter.default)
        text += f" = {default}" if typed else f"={default}"
    return text


def _annotation(given) -> str:
    text = given if isinstance(given, str) else inspect.formatannotation(given)
    return text.replace("torch.Tensor", "Tensor").replace("collections.abc.", "")


def symbols(module: ModuleType, renderer: Renderer) -> list[Symbol]:
    found = []
    for name in module.__all__:
        thing = getattr(module, name)
        if inspect.ismodule(thing) or name.startswith("__"):
            continue
        is_class = inspect.isclass(thing)
        made = Symbol(
            f"{module.__name__}.{name}",
            "class" if is_class else "function",
            code(("class " if is_class else "") + signature_of(f"{module.__name__}.{name}", thing), "python"),
            text_of(thing.__doc__, renderer),
            inspect.cleandoc(thing.__doc__ or ""),
        )
        if is_class:
            made.members = _members(thing, renderer)
        found.append(made)
    return found


def _members(thing: type, renderer: Renderer) -> list[Symbol]:
    """Methods the class itself defines and documents, and how it is called."""
    made = []
    for name, member in vars(thing).items():
        function = member.fget if isinstance(member, property) else member
        plain = name == "forward" or (not name.startswith("_") and getattr(function, "__doc__", None))
        if not plain or not inspect.isfunction(function):
            continue
        shown = name if isinstance(member, property) else signature_of(name, function)
        words = inspect.cleandoc(function.__doc__ or "")
        made.append(Symbol(name, "method", code(shown, "python"), text_of(function.__doc__, renderer), words))
    return made


def pages(frame: Frame, renderer: Renderer, modules: list[ModuleType], part_paths: dict[str, str]) -> list[Page]:
    """A page for each module; `part_paths` leads from a class of heed.nn to its mechanism's page."""
    beside = [("Python", [Link(m.__name__, _path(m)) for m in modules])]
    made = []
    for module in modules:
        found = symbols(module, renderer)
        path = _path(module)
        body = frame.render(
            "python.html",
            path,
            module=module.__name__,
            about=text_of(module.__doc__, renderer),
            symbols=found,
            part_paths=part_paths,
        )
        page = Page(path, module.__name__, body, "python", f"Reference of the module {module.__name__}.", beside=beside)
        page.headings = [(2, symbol.name, symbol.name.rpartition(".")[2]) for symbol in found]
        page.found = [("", module.__name__, module.__doc__ or "")]
        page.found += [(s.name, s.name, textwrap.shorten(s.words, 400)) for s in found]
        made.append(page)
    return made


def _path(module: ModuleType) -> str:
    return f"api/python/{module.__name__}.html"
