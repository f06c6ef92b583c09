"""Writes docs/mechanisms.md from the registry: formulas, costs, advice, wirings and weights.

With --weights it first trains every alignment and every mechanism that a single text can feed on
builtin:reviews, and draws the weights of one sentence into docs/weights/, where a picture is missing.
"""

import argparse
import html
import json
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
CONFIG = """[task]
kind = "classify"
data = "builtin:reviews"
[feature]
model = "bigru"
dim = 32
dropout = 0
[attention]
{key} = "{id}"
[train]
epochs = 4
traces = 20
"""


def heed(*args: str) -> subprocess.CompletedProcess:
    return subprocess.run([ROOT / "build" / "heed", *args], capture_output=True, text=True)


def draw(trace: dict) -> str:
    """Words over a bar for each map, darker where more weight lies."""
    (words,) = trace["inputs"].values()
    maps = [m for m in trace["maps"] if m["shape"][-1] == len(words)][:4]
    x, places = 150, []
    for word in words:
        places.append((x, 9 * len(word) + 12))
        x += places[-1][1]
    height = 40 + 26 * len(maps)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {x + 10} {height}" width="{x + 10}" '
        f'height="{height}" role="img">',
        "<title>Weights of one sentence, darker is more</title>",
        "<style>text{font:13px system-ui,sans-serif;fill:#1d2430}.name{fill:#5b6472}rect{fill:#2b62b3}"
        "@media(prefers-color-scheme:dark){text{fill:#e7ebf1}.name{fill:#a9b3c1}rect{fill:#6da3ee}}</style>",
    ]
    for (left, wide), word in zip(places, words):
        lines.append(f'<text x="{left + wide / 2}" y="22" text-anchor="middle">{html.escape(word)}</text>')
    for row, m in enumerate(maps):
        top = 34 + 26 * row
        lines.append(f'<text class="name" x="8" y="{top + 15}">{html.escape(m["name"])}</text>')
        weights = m["data"][: len(words)]
        most = max(max(weights), 1e-9)
        for (left, wide), weight in zip(places, weights):
            lines.append(
                f'<rect x="{left + 1}" y="{top}" width="{wide - 2}" height="20" rx="3" '
                f'fill-opacity="{weight / most:.3f}"><title>{weight:.3f}</title></rect>'
            )
    return "\n".join([*lines, "</svg>\n"])


def flat(data) -> list[float]:
    return [x for item in data for x in flat(item)] if isinstance(data, list) else [data]


def draw_weights(parts: list[dict]) -> None:
    (DOCS / "weights").mkdir(exist_ok=True)
    for part in parts:
        picture = DOCS / "weights" / f"{part['group']}-{part['id']}.svg"
        if part["group"] not in ("align", "mechanism", "score") or picture.exists():
            continue
        with tempfile.TemporaryDirectory() as folder:
            config = Path(folder) / "config.toml"
            config.write_text(CONFIG.format(key=part["group"], id=part["id"]))
            done = heed("train", str(config), "--out", f"{folder}/run", "--threads", "1")
            if done.returncode:
                print(f"docs: no weights of {part['group']}/{part['id']}: {done.stderr.strip().splitlines()[-1]}")
                continue
            traces = [json.loads(line) for line in (Path(folder) / "run" / "traces.jsonl").read_text().splitlines()]
        trace = next((t for t in traces if t.get("maps") and 6 <= len(next(iter(t["inputs"].values()))) <= 14), None)
        if trace is None:
            continue
        for m in trace["maps"]:
            m["data"] = flat(m["data"])
        picture.write_text(draw(trace))
        print(f"docs: weights of {part['group']}/{part['id']}", flush=True)


def page(part: dict) -> list[str]:
    status = "" if part["status"] == "built" else " — *planned*"
    lines = [f"### {part['id']}: {part['title']}{status}", "", f"$${part['formula']}$$", ""]
    if part["group"] == "mechanism" and part["status"] == "built":
        picture = DOCS / "wiring" / f"{part['id']}.svg"
        picture.parent.mkdir(exist_ok=True)
        done = heed("describe", part["id"], "--svg", str(picture))
        if done.returncode:
            raise SystemExit(done.stderr)
        lines += [f"![wiring of {part['id']}](wiring/{part['id']}.svg)", ""]
    facts = [("Paper", part["paper"]), ("Inputs", part["inputs"]), ("Time", part["time"]), ("Memory", part["memory"])]
    lines += [f"- {name}: {value}" for name, value in facts if value]
    lines += [f"- Advice: {part['advice']}"]
    if part["suits"]:
        lines += [f"- Suits: {', '.join(part['suits'])} (`heed advise --need {part['suits'][0]}`)"]
    for option in part["options"]:
        choices = f" ({', '.join(option['choices'])})" if "choices" in option else ""
        lines += [f"- Option `{option['name']}` = `{json.dumps(option['default'])}`: {option['doc']}{choices}"]
    if part["status"] == "built":
        table = "query" if part["group"] == "query" else "attention"
        key = "model" if part["group"] == "query" else part["group"]
        lines += ["", "```toml", f"[{table}]", f'{key} = "{part["id"]}"', "```"]
    weights = DOCS / "weights" / f"{part['group']}-{part['id']}.svg"
    if weights.exists():
        lines += ["", "Weights of one held-out sentence after four epochs on `builtin:reviews`:", ""]
        lines += [f"![weights of {part['id']}](weights/{weights.name})"]
    return [*lines, ""]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--weights", action="store_true", help="train, and draw the weights anew")
    asked = arguments.parse_args()
    parts = json.loads(heed("list", "--json").stdout)
    if asked.weights:
        draw_weights([part for part in parts if part["status"] == "built"])
    lines = [
        "# Mechanisms",
        "",
        "Made from the registry by `make docs`. In the wirings, what a module is asked with is",
    ]
    lines += ["dashed and what it attends to is solid.", ""]
    group = None
    for part in parts:
        if part["group"] != group:
            group = part["group"]
            lines += [f"## {group}", ""]
        lines += page(part)
    (DOCS / "mechanisms.md").write_text("\n".join(lines))
    print("docs: docs/mechanisms.md")


if __name__ == "__main__":
    main()
