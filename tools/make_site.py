"""Builds the documentation site: static pages from docs/, the registry, the headers and the Python package.

.venv/bin/python tools/make_site.py --out site
"""

import argparse
import shutil
import sys
import time
from pathlib import Path

from docsite import build, registry


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--out", type=Path, default=registry.ROOT / "site", help="folder of the site; emptied first")
    arguments.add_argument("--no-cpp", action="store_true", help="without the C++ reference, which needs doxygen")
    asked = arguments.parse_args()
    if not asked.no_cpp and shutil.which("doxygen") is None:
        raise SystemExit("docs: doxygen is missing: run tools/setup --docs, or give --no-cpp")
    if asked.out.exists() and any(asked.out.iterdir()) and not (asked.out / "search.js").exists():
        raise SystemExit(f"docs: {asked.out} holds something else; name a folder that may be emptied")
    sys.path.insert(0, str(registry.ROOT / "build" / "python"))
    start = time.monotonic()
    version = registry.heed("--version").split()[-1]
    pages = build.build(asked.out, registry.load(), version=version, cpp=not asked.no_cpp)
    print(f"docs: {len(pages)} pages in {asked.out}/index.html, {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
