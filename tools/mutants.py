#!/usr/bin/env python3
"""Changes one operator at a time in the product, and reports changes that no test notices.

A changed file is a *mutant*. Its floor is built and tested; a mutant that passes is tried on the
floors above, too. A mutant that passes everything is a *survivor*: the tests do not look at that
line. Then write a test that fails on it, or, if the change cannot be seen from outside, add a line
to tools/mutants_equal.txt that explains why.

Everything happens in a copy of the sources below build/mutants; the checkout is only read.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from check_floors import Floor, reachable

ROOT = Path(__file__).resolve().parent.parent
EQUAL = ROOT / "tools" / "mutants_equal.txt"
NOT_CHANGED = ("base", "dra", "ingest", "session")  # floors beside the engine, and its edge
COPIED = ("CMakeLists.txt", "cmake", "cpp")

OPERATORS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&",
    "+": "-", "-": "+", "*": "/", "/": "*", "+=": "-=", "-=": "+=", "!": "",
    "std::min": "std::max", "std::max": "std::min",
}  # fmt: skip
OPERATOR = re.compile(
    r"(?<=\s)(?:[<>=!]=|[<>*/]|&&|\|\||[+-]=?)(?=\s|$)"  # clang-format puts spaces around them
    r"|(?<![\w)\]])!(?=[\w(])|\bstd::(?:min|max)\b(?=[(<])"
)
LINE = re.compile(r":(\d+)$")
# Comments and texts, whose operators do not count.
QUIET = re.compile(r"//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'")
# Lines that state what must always hold.
PASSED_OVER = re.compile(r"^\s*(#|template\b|static_assert)|CHECK\(|operator")


@dataclass(frozen=True)
class Mutant:
    """One operator of one line that is replaced by another."""

    file: str
    line: int
    column: int
    old: str
    new: str
    text: str  # of the line, without its indentation
    place: int  # among equal operators of the line, from 1 on

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.old} -> {self.new or 'nothing'}"

    def names(self) -> set[tuple[str, str, str]]:
        """Its keys in the list of equal mutants."""
        operators = (self.old, f"{self.old} #{self.place}")
        return {(self.file, self.text, each) for each in operators}

    def applied(self, source: str) -> str:
        lines = source.splitlines(keepends=True)
        before, after = lines[self.line - 1][: self.column], lines[self.line - 1][self.column :]
        lines[self.line - 1] = before + self.new + after[len(self.old) :]
        return "".join(lines)


class Change(Protocol):
    """A change of one file."""

    @property
    def file(self) -> str: ...

    def applied(self, source: str) -> str: ...


ChangeT = TypeVar("ChangeT", bound=Change)


@dataclass(frozen=True)
class Outcome(Generic[ChangeT]):
    """The result of a mutant: caught by a test, survived, or did not compile."""

    mutant: ChangeT
    verdict: str  # caught, survived, broken
    by: str  # the test executable that failed, or ran out of time
    seconds: float
    output: str | None  # of the last command; None: it ran out of time


def find_mutants(file: str, source: str) -> Iterator[Mutant]:
    """All mutants of a file, in the order of its text."""
    quiet = QUIET.sub(lambda part: " " * len(part[0]), source)
    for number, (line, text) in enumerate(
        zip(quiet.splitlines(), source.splitlines(), strict=True), start=1
    ):
        if PASSED_OVER.search(line):
            continue
        seen: Counter[str] = Counter()
        for found in OPERATOR.finditer(line):
            old = found[0]
            seen[old] += 1
            new = OPERATORS[old]
            yield Mutant(file, number, found.start(), old, new, text.strip(), seen[old])


def is_named(mutant: Mutant, named: Sequence[str]) -> bool:
    """Whether its line is chosen, if lines of its file are named ("path:12")."""
    lines = [
        int(line[1])
        for each in named
        if (line := LINE.search(each)) is not None and each.startswith(f"{mutant.file}:")
    ]
    return not lines or mutant.line in lines


def read_equal(path: Path = EQUAL) -> dict[tuple[str, str, str], str]:
    """Reasons by file, text of the line, and operator: "<", or "< #2" for the second."""
    equal = {}
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            parts = line.split(" | ")
            if len(parts) != 4 or not parts[3].strip():
                sys.exit(f"{path.name}: not 'file | text | operator | reason': {line}")
            equal[parts[0], parts[1], parts[2]] = parts[3]
    return equal


# --- floors and files -----------------------------------------------------------------------------


def floors_above(name: str, floors: Sequence[Floor]) -> list[str]:
    """The product's floors that use this one, the nearest first."""
    links = {floor.name: floor.links for floor in floors}
    return [
        floor.name
        for floor in sorted(floors, key=lambda floor: len(reachable({floor.name}, links)))
        if not floor.for_tests and floor.name != name and name in reachable({floor.name}, links)
    ]


def product_files(floors: Sequence[Floor], named: Sequence[str]) -> dict[str, str]:
    """The floor of each file that may be changed; `named` are files, folders or floors."""
    names = [LINE.sub("", each.rstrip("/")) for each in named]
    chosen = {}
    for floor in floors:
        for path in floor.folder.rglob("*"):
            file = path.relative_to(ROOT).as_posix()
            if path.suffix not in {".cc", ".h"} or floor.for_tests:
                continue
            if path.stem.endswith(("_test", "_benchmark")):
                continue
            if names:
                wanted = any(
                    each in (file, floor.name) or file.startswith(f"{each}/") for each in names
                )
            else:  # a header rebuilds every file that includes it
                wanted = path.suffix == ".cc" and floor.name not in NOT_CHANGED
            if wanted:
                chosen[file] = floor.name
    return dict(sorted(chosen.items()))


def write_whole(file: Path, text: str) -> None:
    """Writes a file; an interrupt waits until that is done."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        file.write_text(text)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# --- the copy -------------------------------------------------------------------------------------


class Workshop:
    """A copy of the sources and its build folder: where mutants are made and tested."""

    def __init__(self, folder: Path, jobs: int, test_options: Sequence[str] = ()) -> None:
        self.source, self.build = folder / "source", folder / "build"
        self.jobs = jobs
        self.test_options = test_options
        self.output: str | None = ""  # of the last command; None: it ran out of time
        self.usual_s: dict[str, float] = {}  # of each test executable, without a mutant

    def copy(self) -> None:
        """Makes the copy equal to the checkout; files that are equal keep their times."""
        wanted: dict[Path, bytes] = {}
        for name in COPIED:
            path = ROOT / name
            files = (
                [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
            )
            wanted |= {file.relative_to(ROOT): file.read_bytes() for file in files}
        for file in [each for each in self.source.rglob("*") if each.is_file()]:
            if file.relative_to(self.source) not in wanted:
                file.unlink()
        for name, content in wanted.items():
            file = self.source / name
            if not file.exists() or file.read_bytes() != content:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)

    def configure(self) -> None:
        """-O1 compiles fast and runs fast enough; assertions are on, of the library, too."""
        options = {
            "CMAKE_BUILD_TYPE": "Release",
            "CMAKE_CXX_FLAGS_RELEASE": "-O1 -D_GLIBCXX_ASSERTIONS",
            "KAI_BINDINGS": "OFF",
            "KAI_TESTS": "ON",
            "KAI_UNITY": "TESTS",
        }
        self._run(
            ["cmake", "-S", str(self.source), "-B", str(self.build), "-G", "Ninja"]
            + [f"-D{name}={value}" for name, value in options.items()],
            needed=True,
        )

    def prepare(self, floors: Iterable[str]) -> None:
        """Builds the tests, and measures how long they take."""
        self.copy()
        self.configure()
        names = [f"kai_{floor}_test" for floor in floors]
        self._run(self._ninja(names), needed=True)
        for name in names:
            start = time.monotonic()
            self._run(self._test(name), needed=True)
            self.usual_s[name] = time.monotonic() - start

    def judge(self, mutant: ChangeT, floors: Sequence[str]) -> Outcome[ChangeT]:
        """Tries a mutant on the tests of these floors, until one fails."""
        start = time.monotonic()

        def ended(verdict: str, by: str = "") -> Outcome[ChangeT]:
            return Outcome(mutant, verdict, by, time.monotonic() - start, self.output)

        file = self.source / mutant.file
        original = file.read_text()
        try:
            write_whole(file, mutant.applied(original))
            for floor in floors:
                name = f"kai_{floor}_test"
                if not self._run(self._ninja([name])):
                    return ended("broken")
                if not self._run(self._test(name), timeout_s=10 + 4 * self.usual_s[name]):
                    return ended("caught", name)
            return ended("survived")
        finally:
            write_whole(file, original)

    def _ninja(self, targets: Sequence[str]) -> list[str]:
        return ["ninja", "-C", str(self.build), "-j", str(self.jobs), *targets]

    def _test(self, name: str) -> list[str]:
        options = ["--gtest_brief=1", "--gtest_fail_fast", *self.test_options]
        return [str(self.build / "bin" / name), *options]

    def _run(
        self, command: Sequence[str], *, needed: bool = False, timeout_s: float | None = None
    ) -> bool:
        """Whether it succeeds. A failure of a needed command ends the program."""
        try:
            done = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout_s
            )
        except subprocess.TimeoutExpired:
            self.output = None
            return False
        self.output = done.stdout.decode(errors="replace")
        if needed and done.returncode != 0:
            print(self.output[-4000:], file=sys.stderr)
            sys.exit(f"mutants: without any mutant this failed: {' '.join(command)}")
        return done.returncode == 0


# --- the command ----------------------------------------------------------------------------------


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tools/mutants.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="""examples:
  tools/mutants.py                                   100 mutants of all floors; 15 minutes
  tools/mutants.py --files placement --count 20      20 of one floor
  tools/mutants.py --files cpp/kai/fairshare/division.cc --count 0
                                                     all of one file
  tools/mutants.py --seed 7 --json out.json          those of an earlier run again
  tools/mutants.py --files cpp/kai/actions --list    what there is to change; builds nothing

Exit status: 0 when every mutant was caught or is known to be equal, 1 when one survived, 2 for a
name that is nowhere, 130 when interrupted.""",
    )
    parser.add_argument(
        "--count", type=int, default=100, metavar="N", help="how many; 0: all [100]"
    )
    parser.add_argument(
        "--files",
        nargs="+",
        default=[],
        metavar="NAME",
        help="only these files, folders or floors; FILE:LINE for one line",
    )
    parser.add_argument("--seed", type=int, help="seed of the sample [today's date]")
    parser.add_argument("--json", metavar="FILE", help="write every mutant and its result")
    parser.add_argument("--list", action="store_true", help="list the mutants, and do nothing else")
    parser.add_argument(
        "--jobs", type=int, default=int(os.environ.get("JOBS", os.cpu_count() or 1))
    )
    return parser.parse_args(arguments)


def draw(mutants: Sequence[Mutant], count: int, seed: int) -> list[Mutant]:
    """A sample in the order of the files, so that those of one file follow each other."""
    if count == 0 or count >= len(mutants):
        return list(mutants)
    chosen = set(random.Random(seed).sample(range(len(mutants)), count))
    return [mutant for i, mutant in enumerate(mutants) if i in chosen]


def main(arguments: Sequence[str]) -> int:
    options = parse(arguments)
    floors = [Floor(path.parent) for path in sorted((ROOT / "cpp/kai").rglob("CMakeLists.txt"))]
    files = product_files(floors, options.files)
    if not files:
        print(f"mutants: no file of the product is {' or '.join(options.files)}", file=sys.stderr)
        return 2
    equal = read_equal()
    all_mutants = [m for file in files for m in find_mutants(file, (ROOT / file).read_text())]
    all_mutants = [mutant for mutant in all_mutants if is_named(mutant, options.files)]
    seed = int(time.strftime("%Y%m%d")) if options.seed is None else options.seed
    drawn = draw(all_mutants, options.count, seed)
    chosen = [mutant for mutant in drawn if not mutant.names() & equal.keys()]
    print(
        f"{len(drawn)} of {len(all_mutants)} mutants in {len(files)} files, seed {seed};"
        f" {len(drawn) - len(chosen)} of them are known to be equal",
        flush=True,
    )
    if options.list:
        for mutant in chosen:
            print(f"{mutant}    {mutant.text}")
        return 0

    tests = {file: [floor, *floors_above(floor, floors)] for file, floor in files.items()}
    workshop = Workshop(ROOT / "build" / "mutants", options.jobs)
    outcomes: list[Outcome[Mutant]] = []
    try:
        workshop.prepare(dict.fromkeys(f for mutant in chosen for f in tests[mutant.file]))
        for number, mutant in enumerate(chosen, start=1):
            outcome = workshop.judge(mutant, tests[mutant.file])
            outcomes.append(outcome)
            by = f" by {outcome.by}" if outcome.by else ""
            print(f"[{number}/{len(chosen)}] {mutant}: {outcome.verdict}{by}", flush=True)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
    return report(outcomes, seed, options.json, interrupted=len(outcomes) < len(chosen))


def report(
    outcomes: Sequence[Outcome[Mutant]], seed: int, file: str | None, *, interrupted: bool
) -> int:
    of = {name: [o for o in outcomes if o.verdict == name] for name in ("caught", "survived")}
    judged = len(of["caught"]) + len(of["survived"])
    seconds = sum(outcome.seconds for outcome in outcomes)
    print(
        f"{len(of['caught'])} of {judged} were caught, in {seconds / 60:.0f} minutes;"
        f" {len(outcomes) - judged} did not compile"
    )
    for outcome in of["survived"]:
        print(f"survived: {outcome.mutant}\n    {outcome.mutant.text}")
    if file is not None:
        entries = [{**asdict(o.mutant), "verdict": o.verdict, "by": o.by} for o in outcomes]
        Path(file).write_text(json.dumps({"seed": seed, "mutants": entries}, indent=1) + "\n")
    if interrupted:
        return 130
    return 1 if of["survived"] else 0


if __name__ == "__main__":
    for each in (signal.SIGINT, signal.SIGTERM):  # also where a shell started it in the background
        signal.signal(each, signal.default_int_handler)
    sys.exit(main(sys.argv[1:]))
