#!/usr/bin/env python3
"""Breaks updates in place on purpose, and reports those that the test of random events misses.

tools/broken_updates.toml lists them: a text of a file, and its replacement. Each is tried in a
copy of the sources below build/mutants, with --seeds random sequences of events. A missed one shows
that the events, or the comparison after them, must become stronger.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from mutants import ROOT, Outcome, Workshop

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LIST = ROOT / "tools" / "broken_updates.toml"
FLOOR = "engine"
TEST = "*RandomEventsGiveThePlanOfAFreshLoad*"
SEED = re.compile(r"\bseed (\d+)")


@dataclass(frozen=True)
class BrokenUpdate:
    """One entry of the list."""

    name: str
    row: str
    breaks: str
    file: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.name} ({self.row}: {self.breaks})"

    def applied(self, source: str) -> str:
        return source.replace(self.before, self.after)

    def problem(self) -> str | None:
        """Why it cannot be applied; None if it can."""
        file = ROOT / self.file
        if not file.is_file():
            return f"{self.name}: {self.file} does not exist"
        count = file.read_text().count(self.before)
        if count != 1:
            return f"{self.name}: {self.file} has its text {count} times, not once"
        return None


def read_list(path: Path = LIST) -> list[BrokenUpdate]:
    return [BrokenUpdate(**each) for each in tomllib.loads(path.read_text())["broken"]]


def how(outcome: Outcome[BrokenUpdate]) -> str:
    """How the test found a broken update: "by seed 7"."""
    if outcome.output is None:
        return "because the test did not end"
    seeds = SEED.findall(outcome.output)
    return f"by seed {seeds[-1]}" if seeds else "by a crash"


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tools/broken_updates.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="""examples:
  tools/broken_updates.py                 all of them; 20 minutes
  tools/broken_updates.py node-ledgers    one
  tools/broken_updates.py --list          what there is; builds nothing

Exit status: 0 when every one was found, 1 when one was missed or does not compile, 2 when the text
of one is no longer in its file exactly once, 130 when interrupted.""",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these")
    parser.add_argument(
        "--seeds", type=int, default=1000, metavar="N", help="sequences of events for each [1000]"
    )
    parser.add_argument("--json", metavar="FILE", help="write what became of each")
    parser.add_argument("--list", action="store_true", help="list them, and do nothing else")
    parser.add_argument(
        "--jobs", type=int, default=int(os.environ.get("JOBS", os.cpu_count() or 1))
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    options = parse(arguments)
    known = read_list()
    unknown = set(options.names) - {each.name for each in known}
    problems = [f"{name}: not in {LIST.name}" for name in sorted(unknown)]
    chosen = [each for each in known if not options.names or each.name in options.names]
    problems += [problem for each in chosen if (problem := each.problem())]
    if problems:
        print("".join(f"broken_updates: {each}\n" for each in problems), end="", file=sys.stderr)
        return 2
    if options.list:
        for each in chosen:
            print(f"{each}\n    {each.file}")
        return 0

    os.environ["KAI_SEEDS"] = f"0:{options.seeds}"
    folder = ROOT / "build" / "mutants"
    workshop = Workshop(folder, options.jobs, test_options=[f"--gtest_filter={TEST}"])
    outcomes: list[Outcome[BrokenUpdate]] = []
    try:
        workshop.prepare([FLOOR])
        for number, each in enumerate(chosen, start=1):
            outcome = workshop.judge(each, [FLOOR])
            outcomes.append(outcome)
            became = {
                "caught": f"found {how(outcome)}",
                "survived": "MISSED",
                "broken": "does not compile",
            }[outcome.verdict]
            print(f"[{number}/{len(chosen)}] {each}: {became}", flush=True)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
    found = sum(outcome.verdict == "caught" for outcome in outcomes)
    seconds = sum(outcome.seconds for outcome in outcomes)
    print(f"{found} of {len(outcomes)} were found, in {seconds / 60:.0f} minutes")
    if options.json is not None:
        entries = [
            {**asdict(each), "verdict": outcome.verdict, "how": how(outcome)}
            for each, outcome in zip(chosen, outcomes, strict=False)
        ]
        Path(options.json).write_text(json.dumps({"broken": entries}, indent=1) + "\n")
    if len(outcomes) < len(chosen):
        return 130
    return 0 if found == len(outcomes) else 1


if __name__ == "__main__":
    for each in (signal.SIGINT, signal.SIGTERM):  # also where a shell started it in the background
        signal.signal(each, signal.default_int_handler)
    sys.exit(main(sys.argv[1:]))
