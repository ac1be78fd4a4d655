"""The pages of docs/howto work as written, on a real API server."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest
from page_play import HOWTO, Command, Reader, agrees, steps
from testcluster import Cluster, node, temporary_cluster

PAGES = ("install-by-hand.md", "first-pod.md")


async def add_node(cluster: Cluster) -> None:
    """Until the node is ready a pod waits, and its events begin with the reason."""
    async with cluster.client() as api:
        await api.create(node("gpu-1", gpus=4))
        await api.ready_nodes(1)


def test_commands_of_the_pages_print_what_they_show(
    programs: Mapping[str, Path], tmp_path: Path
) -> None:
    with temporary_cluster(found=programs) as cluster:
        reader = Reader(cluster, {"kubectl": programs["kubectl"]}, tmp_path)
        try:
            for name in PAGES:
                if name == "first-pod.md":
                    asyncio.run(add_node(cluster))
                reader.follow((HOWTO / name).read_text())
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
