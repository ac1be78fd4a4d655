"""A kubelet's assignments to pods, over its socket; and the CPUs of NUMA nodes in sysfs."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from fakes.scenarios import in_a_loop, scenarios

pytest.importorskip("grpc", reason="needs the extra numa")
import grpc

import kai
from fakes.kubelet import FakeKubelet, answer, container, sysfs
from kai.api.pod_resources import PodResources, Share
from kai.k8s.kubelet import cpu_lists, list_pod_resources, read

Story = Callable[[FakeKubelet], Awaitable[None]]


async def play(tmp_path: Path, story: Story) -> None:
    async with FakeKubelet(tmp_path / "kubelet.sock") as kubelet:
        await story(kubelet)


scenario = scenarios(play, "tmp_path")


@scenario
async def test_resources_of_containers_are_read(kubelet: FakeKubelet) -> None:
    two = [
        container([("nvidia.com/gpu", ["a", "b"], [0])], [4, 5], [("memory", 1 << 40, [0])]),
        container([("example.com/nic", ["x"], [0, 1])], [], [("hugepages-2Mi", 0, [1])]),
    ]
    kubelet.data = answer(("team/a", two), ("team/b", []))
    a, b = await list_pod_resources(kubelet.socket)
    assert a.pod == "team/a"
    assert list(a.shares) == [
        Share("nvidia.com/gpu", 2, (0,), ("a", "b")),
        Share("memory", 1 << 40, (0,)),
        Share("example.com/nic", 1, (0, 1), ("x",)),
        Share("hugepages-2Mi", 0, (1,)),
    ]
    assert list(a.cpus) == [4, 5]
    assert (b.pod, list(b.shares), list(b.cpus)) == ("team/b", [], [])


@scenario
async def test_a_large_node_is_read_completely(kubelet: FakeKubelet) -> None:
    """grpc accepts only 4 MiB by default."""
    many = [container([("d", ["x" * 1000], [0])]) for _ in range(6000)]
    kubelet.data = answer(("team/a", many))
    assert len(kubelet.data) > 4 << 20
    [pod] = await list_pod_resources(kubelet.socket)
    assert len(pod.shares) == 6000


@scenario
async def test_an_error_raises_one_sentence(kubelet: FakeKubelet, *, tmp_path: Path) -> None:
    kubelet.code = grpc.StatusCode.UNAVAILABLE
    with pytest.raises(kai.UnreachableError, match=r"kubelet\.sock: unavailable: not now$"):
        await list_pod_resources(kubelet.socket)
    kubelet.code, kubelet.data = None, b"\xff\xff"
    with pytest.raises(kai.UnreachableError, match="the answer is not a list of pod resources"):
        await list_pod_resources(kubelet.socket)
    with pytest.raises(kai.UnreachableError, match=r"gone\.sock: no such socket$"):
        await list_pod_resources(str(tmp_path / "gone.sock"))
    plain = tmp_path / "plain"
    plain.write_text("")
    with pytest.raises(kai.UnreachableError, match=r"plain: unavailable: "):
        await list_pod_resources(str(plain))


@in_a_loop
async def test_a_kubelet_without_the_api_is_named(*, tmp_path: Path) -> None:
    kubelet = FakeKubelet(tmp_path / "kubelet.sock")
    kubelet.serves = False
    async with kubelet:
        with pytest.raises(kai.UnreachableError, match=r"does not serve pod resources \(v1\)"):
            await list_pod_resources(kubelet.socket)


def test_unknown_fields_are_skipped() -> None:
    """Field 9 is a string of three letters, which a later kubelet might send."""
    unknown = b"\x4a\x03new"
    pod = b"\x0a\x01a\x12\x01t" + unknown
    assert read(b"\x0a" + bytes([len(pod)]) + pod, "x") == [PodResources("t/a", [], [])]


def test_cpus_of_numa_nodes_are_read(tmp_path: Path) -> None:
    root = sysfs(tmp_path, "0-3,8-11", "4-7,12-15")
    (tmp_path / "devices/system/node/node-list").mkdir()
    assert cpu_lists(root) == {0: "0-3,8-11\n", 1: "4-7,12-15\n"}
    assert cpu_lists(str(tmp_path / "none")) == {}
