"""A reader who follows a page of the documentation, command by command.

A yaml block begins with its file's name as a comment. A console block runs line by line: each
command is repeated until it prints the lines below it; `...` matches any text. A block may be
`notest`, or `background` for a program that keeps running.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from testcluster import Cluster, ClusterError

ROOT = Path(__file__).parents[2]
HOWTO = ROOT / "docs/howto"
BLOCK = re.compile(r"^```(yaml|console)([a-z ]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PATIENCE_S = 40.0


class Command(NamedTuple):
    line: str
    expected: list[str]
    stays: bool = False


def steps(page: str) -> Iterator[Command | tuple[str, str]]:
    """Commands, and files with their text, in the order of the page."""
    for kind, what, text in BLOCK.findall(page):
        if "notest" in what:
            continue
        if kind == "yaml":
            yield text.splitlines()[0].removeprefix("# "), text
            continue
        for part in re.split(r"^\$ ", text.replace("\\\n", ""), flags=re.MULTILINE)[1:]:
            line, *expected = part.strip().splitlines()
            yield Command(line, expected, "background" in what)


def section(page: str, title: str) -> str:
    """From this heading to the next one of its level."""
    return page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def agrees(expected: list[str], printed: str) -> bool:
    """Whether the lines are printed in this order; a line `...` matches any number of lines."""
    lines = [" ".join(line.split()) for line in printed.strip().splitlines()]
    pattern = "".join(
        r"(?:.*\n)*?"
        if line.strip() == "..."
        else re.escape(" ".join(line.split())).replace(r"\.\.\.", ".*") + r"\n"
        for line in expected
    )
    return re.fullmatch(pattern, "".join(line + "\n" for line in lines)) is not None


class Reader:
    """Follows a page in a separate directory, with these programs and `kai`. The charts of the
    checkout are there too."""

    def __init__(self, cluster: Cluster, programs: Mapping[str, Path], folder: Path) -> None:
        tools = folder / "tools"
        tools.mkdir()
        for name, path in programs.items():
            (tools / name).symlink_to(path)
        (folder / "charts").symlink_to(ROOT / "charts")
        kai = tools / "kai"
        kai.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kai "$@"\n')
        kai.chmod(0o755)
        self._folder = folder
        self._env = {
            **os.environ,
            "KUBECONFIG": str(cluster.kubeconfig),
            "PATH": f"{tools}:{os.environ['PATH']}",
        }
        self._running: list[subprocess.Popen[bytes]] = []

    def follow(self, page: str) -> None:
        for step in steps(page):
            if not isinstance(step, Command):
                (self._folder / step[0]).write_text(step[1])
            elif step.stays:
                self._start(step)
            else:
                self._run(step)

    def end(self) -> None:
        for each in self._running:
            each.terminate()
            each.wait(20)

    def _start(self, step: Command) -> None:
        log = self._folder / f"program-{len(self._running)}.log"
        with log.open("w") as output:
            program = subprocess.Popen(
                ["sh", "-c", f"exec {step.line}"],
                stdout=output,
                stderr=output,
                env=self._env,
                cwd=self._folder,
            )
        self._running.append(program)
        ends = time.monotonic() + PATIENCE_S
        while not agrees([*step.expected, "..."], log.read_text()):
            assert time.monotonic() < ends, f"$ {step.line}\n{log.read_text()}"
            time.sleep(0.2)

    def _run(self, step: Command) -> None:
        ends = time.monotonic() + PATIENCE_S
        while True:
            done = subprocess.run(
                ["sh", "-c", step.line],
                capture_output=True,
                env=self._env,
                cwd=self._folder,
                text=True,
                check=False,
            )
            output = done.stdout + done.stderr
            if done.returncode == 0 and agrees(step.expected, output):
                return
            changes = re.search(r"kubectl (apply|delete)|helm upgrade", step.line)
            if changes or time.monotonic() > ends:
                raise ClusterError(f"$ {step.line}\nprinted:\n{output}\nand not:\n{step.expected}")
            time.sleep(0.3)
