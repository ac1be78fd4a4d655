"""Checks that every C++ floor includes only headers of floors that it links.

All floors share one include folder, so the compiler would not object to an arrow that points up,
and the linker only sometimes would. What a floor links is read from its CMakeLists.txt. Prints
offending lines; exit status 1 if there are any.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s*"kai/(\w+)/', re.MULTILINE)
FLOOR = re.compile(r"kai_floor\((\w+)(?:\s+LINKS([^)]*?))?(?:\s+TEST_LINKS([^)]*?))?\)", re.DOTALL)


def read_links(folder: Path) -> tuple[set[str], set[str]]:
    """The floors that `folder` links, and those that its tests and benchmarks link besides."""
    text = re.sub(r"#.*", "", (folder / "CMakeLists.txt").read_text())
    match = FLOOR.search(text)
    if match is None:
        sys.exit(f"{folder.name}/CMakeLists.txt does not call kai_floor()")
    links, test_links = (set(re.findall(r"kai::(\w+)", part or "")) for part in match.groups()[1:])
    return links, test_links


def reachable(start: set[str], links: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    todo = set(start)
    while todo:
        floor = todo.pop()
        if floor not in seen:
            seen.add(floor)
            todo |= links[floor]
    return seen


def main() -> int:
    folders = sorted(path.parent for path in ROOT.glob("cpp/kai/*/CMakeLists.txt"))
    both = {folder.name: read_links(folder) for folder in folders}
    links = {name: direct for name, (direct, _) in both.items()}
    wrong = 0
    for folder in folders:
        floor = folder.name
        allowed = reachable({floor}, links)
        allowed_in_tests = allowed | reachable(both[floor][1], links)
        for path in sorted(folder.rglob("*")):
            if path.suffix not in {".h", ".cc"}:
                continue
            is_test = path.stem.endswith(("_test", "_benchmark"))
            text = path.read_text()
            for include in INCLUDE.finditer(text):
                if include[1] not in (allowed_in_tests if is_test else allowed):
                    wrong += 1
                    line = text.count("\n", 0, include.start(1)) + 1
                    print(
                        f"{path.relative_to(ROOT)}:{line}: {floor} does not link kai::{include[1]}"
                    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
