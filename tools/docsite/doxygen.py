"""The C++ headers as Doxygen understands them: symbols by header, from its XML."""

import re
import subprocess
import tempfile
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from pathlib import Path

SETTINGS = """
INPUT = {folder}/include/heed
OUTPUT_DIRECTORY = {folder}
STRIP_FROM_PATH = {folder}/include
RECURSIVE = YES
FILE_PATTERNS = *.hpp
EXTRACT_ALL = YES
GENERATE_HTML = NO
GENERATE_LATEX = NO
GENERATE_XML = YES
XML_PROGRAMLISTING = NO
HAVE_DOT = NO
MACRO_EXPANSION = YES
EXPAND_ONLY_PREDEF = YES
PREDEFINED = "TORCH_MODULE(x)="
QUIET = YES
WARN_IF_UNDOCUMENTED = NO
"""
# A comment behind a member says what it is; Doxygen knows such comments as ///<.
_BEHIND = re.compile(r"^(?P<code>.*\S.*?)\s+// (?!NOLINT|namespace|clang-format)(?P<words>.*)$")
_OF_FILE = re.compile(r"((?:^///.*\n)+)(?=namespace )", re.MULTILINE)
_ALONE = re.compile(r"^\s*// (?P<words>.*)$")


@dataclass
class Symbol:
    """A class, function, type or constant of a namespace, with a class's public members."""

    id: str
    name: str  # with its namespace
    kind: str
    code: str
    line: int
    text: list[ET.Element]  # the paragraphs of its comment
    members: list["Symbol"] = field(default_factory=list)

    @property
    def words(self) -> str:
        return " ".join(" ".join("".join(p.itertext()).split()) for p in self.text)


@dataclass
class Header:
    text: list[ET.Element] = field(default_factory=list)
    symbols: list[Symbol] = field(default_factory=list)


def with_marks(source: str) -> str:
    """The header, its trailing comments marked for Doxygen; a comment may go on in the lines below.

    What stands above a namespace is said of the file: many files share the namespace.
    """
    lines, behind = [], -1
    for line in _OF_FILE.sub(r"/// @file\n\1", source).splitlines():
        trailing = _BEHIND.match(line)
        if trailing and not trailing["code"].lstrip().startswith(("//", "#")):
            line, behind = f"{trailing['code']}  ///< {trailing['words']}", len(lines)
        elif behind >= 0 and (alone := _ALONE.match(line)):
            lines[behind] += f" {alone['words']}"  # one line, or Doxygen takes the rest for another comment
            line = ""
        else:
            behind = -1
        lines.append(line)
    return "\n".join(lines) + "\n"


def read(include: Path) -> dict[str, Header]:
    """The headers by path, their symbols in order. Doxygen's warnings end the build: they are wrong comments."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for header in sorted(include.rglob("*.hpp")):
            copy = folder / "include" / header.relative_to(include)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(with_marks(header.read_text()))
        (folder / "Doxyfile").write_text(SETTINGS.format(folder=folder))
        done = subprocess.run(["doxygen", folder / "Doxyfile"], capture_output=True, text=True)
        if done.returncode or done.stderr:
            raise SystemExit("docs: doxygen: " + done.stderr.strip().replace(f"{folder}/include", "include"))
        return _headers(folder / "xml")


def _headers(folder: Path) -> dict[str, Header]:
    headers: dict[str, Header] = {}
    for path in sorted(folder.glob("*.xml")):
        for compound in ET.parse(path).getroot().iter("compounddef"):
            if compound.get("kind") in ("class", "struct"):
                _add(headers, compound.find("location"), _class(compound))
            elif compound.get("kind") == "namespace":
                for member in compound.iter("memberdef"):
                    _add(headers, member.find("location"), _member(member))
            elif compound.get("kind") == "file":
                headers.setdefault(compound.find("location").get("file"), Header()).text = _paragraphs(compound)
    for header in headers.values():
        header.symbols.sort(key=lambda symbol: symbol.line)
    return {name: header for name, header in sorted(headers.items()) if header.symbols}


def _add(headers: dict[str, Header], location: ET.Element | None, symbol: Symbol) -> None:
    if location is not None and "detail" not in symbol.name.split("::"):
        headers.setdefault(location.get("file"), Header()).symbols.append(symbol)


def _class(compound: ET.Element) -> Symbol:
    name, kind = compound.findtext("compoundname"), compound.get("kind")
    bases = [base.text for base in compound.iter("basecompoundref") if base.get("prot") == "public"]
    members = [
        _member(m) for m in compound.iter("memberdef") if m.get("prot") == "public" and m.get("kind") != "friend"
    ]
    code = _templates(compound) + f"{kind} {name}" + (f" : {', '.join(bases)}" if bases else "")
    return Symbol(compound.get("id"), name, kind, code, _line(compound), _paragraphs(compound), members)


def _member(member: ET.Element) -> Symbol:
    kind, name = member.get("kind"), member.findtext("qualifiedname") or member.findtext("name")
    if kind == "enum":
        values = ", ".join(value.findtext("name") for value in member.iter("enumvalue"))
        strong = "enum class" if member.get("strong") == "yes" else "enum"
        code = f"{strong} {name.rpartition('::')[2]} {{ {values} }}"
    elif kind == "function":
        code = _templates(member) + _type(member) + name.rpartition("::")[2] + (member.findtext("argsstring") or "")
    else:
        code = _type(member) + name.rpartition("::")[2] + (member.findtext("argsstring") or "")
        initial = "".join(member.find("initializer").itertext()) if member.find("initializer") is not None else ""
        code += f" {initial}" if 0 < len(initial) < 60 else ""
        code = f"using {name.rpartition('::')[2]} = {_type(member).strip()}" if kind == "typedef" else code
    if member.get("static") == "yes":
        code = "static " + code.removeprefix("static ")
    values = [_value(v) for v in member.iter("enumvalue") if _paragraphs(v)]
    return Symbol(member.get("id"), name, kind, code, _line(member), _paragraphs(member), values)


def _value(value: ET.Element) -> Symbol:
    name = value.findtext("name")
    return Symbol(value.get("id"), name, "enumvalue", name, 0, _paragraphs(value))


def _type(member: ET.Element) -> str:
    found = member.find("type")
    text = "".join(found.itertext()) if found is not None else ""
    return text + " " if text else ""


def _templates(element: ET.Element) -> str:
    listed = element.find("templateparamlist")
    if listed is None:
        return ""
    return "template <" + ", ".join("".join(p.itertext()).strip() for p in listed.iter("param")) + ">\n"


def _line(element: ET.Element) -> int:
    location = element.find("location")
    return int(location.get("line", 0)) if location is not None else 0


def _paragraphs(element: ET.Element) -> list[ET.Element]:
    found = [element.find("briefdescription"), element.find("detaileddescription")]
    return [para for each in found if each is not None for para in each.iter("para")]
