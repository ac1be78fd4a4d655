"""Checks that every C++ floor includes only headers of floors that it links.

All floors share one include folder, so the compiler accepts an include of a higher floor, and the
linker reports it only sometimes. The links of a floor are read from its CMakeLists.txt. Prints the
wrong lines; exit status 1 if there are any.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CPP = ROOT / "cpp"
INCLUDE = re.compile(r'^\s*#\s*include\s*"(kai/[^"]+)"', re.MULTILINE)
FLOOR = re.compile(
    r"kai_floor\((\w+)(\s+FOR_TESTS)?(?:\s+TEST_SHARDS \d+)?"
    r"(?:\s+LINKS([^)]*?))?(?:\s+TEST_LINKS([^)]*?))?\)",
    re.DOTALL,
)
IS_TEST = ("_test", "_benchmark")  # ends of file names; helpers of tests end in _for_test


class Floor:
    """One folder with a kai_floor() line: its name, and the floors that it and its tests link."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        text = re.sub(r"#.*", "", (folder / "CMakeLists.txt").read_text())
        match = FLOOR.search(text)
        if match is None:
            sys.exit(f"{folder.relative_to(ROOT)}/CMakeLists.txt does not call kai_floor()")
        self.name, self.for_tests = match[1], match[2] is not None
        # kai::x_for_test is a part of the floor x
        self.links, self.test_links = (
            {link.removesuffix("_for_test") for link in re.findall(r"kai::(\w+)", part or "")}
            for part in match.groups()[2:]
        )


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
    floors = [Floor(path.parent) for path in sorted(CPP.glob("kai/**/CMakeLists.txt"))]
    links = {floor.name: floor.links for floor in floors}
    by_folder = {floor.folder: floor.name for floor in floors}
    wrong = 0
    for floor in floors:
        allowed = reachable({floor.name}, links)
        allowed_in_tests = allowed | reachable(floor.test_links, links)
        for path in sorted(floor.folder.rglob("*")):
            if path.suffix not in {".h", ".cc"}:
                continue
            is_test = path.stem.endswith(IS_TEST)
            text = path.read_text()
            for include in INCLUDE.finditer(text):
                target = floor_of(CPP / include[1], by_folder)
                if target not in (allowed_in_tests if is_test else allowed):
                    wrong += 1
                    line = text.count("\n", 0, include.start(1)) + 1
                    print(
                        f"{path.relative_to(ROOT)}:{line}: {floor.name} does not link kai::{target}"
                    )
    return 1 if wrong else 0


def floor_of(header: Path, by_folder: dict[Path, str]) -> str:
    return next((by_folder[each] for each in header.parents if each in by_folder), str(header))


if __name__ == "__main__":
    sys.exit(main())
