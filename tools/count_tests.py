"""Adds up the JUnit reports in a folder and prints the closing line of `make test`."""

import sys
import xml.etree.ElementTree as ET
from pathlib import Path


def main() -> int:
    total = failed = skipped = 0
    for report in sorted(Path(sys.argv[1]).rglob("*.xml")):
        for case in ET.parse(report).getroot().iter("testcase"):
            total += 1
            if case.find("failure") is not None or case.find("error") is not None:
                failed += 1
            elif case.find("skipped") is not None or case.get("status") == "notrun":
                skipped += 1
                reason = case.find("skipped")
                text = (reason.get("message") or "").strip().splitlines() if reason is not None else []
                print(f"skipped: {case.get('classname')}.{case.get('name')}: {text[-1] if text else ''}")
    print(f"heed: {total - failed - skipped} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or total == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
