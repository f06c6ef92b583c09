"""Writes docs/mechanisms.md, the taxonomy with formulas and advice, from the registry."""

import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    parts = json.loads(
        subprocess.run([ROOT / "build" / "heed", "list", "--json"], check=True, capture_output=True).stdout
    )
    lines = ["# Mechanisms", "", "Made from the registry by `make docs`. *planned* parts are not built yet.", ""]
    group = None
    for part in parts:
        if part["group"] != group:
            group = part["group"]
            lines += [f"## {group}", ""]
        status = "" if part["status"] == "built" else " — *planned*"
        lines += [f"### {part['id']}: {part['title']}{status}", "", f"$${part['formula']}$$", ""]
        facts = [
            ("Paper", part["paper"]),
            ("Inputs", part["inputs"]),
            ("Time", part["time"]),
            ("Memory", part["memory"]),
        ]
        lines += [f"- {name}: {value}" for name, value in facts if value]
        lines += [f"- Advice: {part['advice']}"]
        for option in part["options"]:
            choices = f" ({', '.join(option['choices'])})" if "choices" in option else ""
            lines += [f"- Option `{option['name']}` = `{json.dumps(option['default'])}`: {option['doc']}{choices}"]
        lines += [""]
    (ROOT / "docs" / "mechanisms.md").write_text("\n".join(lines))
    print("docs: docs/mechanisms.md")


if __name__ == "__main__":
    main()
