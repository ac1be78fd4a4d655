"""The pages of docs/howto work as written, on a real API server.

A yaml block begins with its file's name as a comment. A console block runs line by line: each
command is repeated until it prints the lines below it; `...` matches any text. A block may be
`notest`, or `background` for a program that keeps running.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from testcluster import Cluster, ClusterError, node, temporary_cluster

ROOT = Path(__file__).parents[2]
PAGES = ("install-by-hand.md", "first-pod.md")
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
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            line, *expected = part.strip().splitlines()
            yield Command(line, expected, "background" in what)


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
    """Follows a page in a separate directory."""

    def __init__(self, cluster: Cluster, programs: Mapping[str, Path], folder: Path) -> None:
        tools = folder / "tools"
        tools.mkdir()
        (tools / "kubectl").symlink_to(programs["kubectl"])
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
            changes = re.search(r"kubectl (apply|delete)", step.line)
            if changes or time.monotonic() > ends:
                raise ClusterError(f"$ {step.line}\nprinted:\n{output}\nand not:\n{step.expected}")
            time.sleep(0.3)


async def add_node(cluster: Cluster) -> None:
    """Until the node is ready a pod waits, and its events begin with the reason."""
    async with cluster.client() as api:
        await api.create(node("gpu-1", gpus=4))
        await api.ready_nodes(1)


def test_commands_of_the_pages_print_what_they_show(
    programs: Mapping[str, Path], tmp_path: Path
) -> None:
    with temporary_cluster(found=programs) as cluster:
        reader = Reader(cluster, programs, tmp_path)
        try:
            for name in PAGES:
                if name == "first-pod.md":
                    asyncio.run(add_node(cluster))
                reader.follow((ROOT / "docs" / "howto" / name).read_text())
        finally:
            reader.end()


@pytest.mark.parametrize(
    ("expected", "printed", "right"),
    [
        (["a b"], "a   b\n", True),
        (["a b"], "a c\n", False),
        (["a", "..."], "a\nb\nc\n", True),
        (["...", "c"], "a\nb\nc\n", True),
        (["a"], "a\nb\n", False),
        (["pod-... Running"], "pod-x1 Running\n", True),
        (["pod-... Running"], "pod-x1 Pending\n", False),
    ],
)
def test_printed_text_must_match_the_expected_text(
    expected: list[str], printed: str, right: bool
) -> None:
    assert agrees(expected, printed) is right


def test_blocks_become_steps() -> None:
    page = "```yaml\n# a.yaml\nkind: A\n```\n```console notest\n$ no\n```\n"
    page += "```console\n$ ls\na\n```\n"
    assert list(steps(page)) == [("a.yaml", "# a.yaml\nkind: A\n"), Command("ls", ["a"])]
