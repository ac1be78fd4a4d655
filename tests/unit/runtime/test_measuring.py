"""Processes of a node's devices and their pods, from folders that a test fills."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kai.api.gpu_use import GpuProcess, MeasuredDevice, Measurement
from kai.runtime import measuring, nvml
from kai.runtime.measuring import pod_in

UID = "8c8c7d2e-0001-4e1f-a5f6-0123456789ab"
SLICE = UID.replace("-", "_")


@pytest.mark.parametrize(
    "cgroup",
    [
        f"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{SLICE}.slice/cri-1.scope",
        f"0::/kubepods/besteffort/pod{UID}/3f2a",
        f"0::/../../kubepods-pod{SLICE}.slice/cri-containerd-3f2a.scope",  # as another container
        f"0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod{SLICE}.slice/cri-1.scope",
        f"12:memory:/kubepods/burstable/pod{UID}/3f2a\n1:name=systemd:/kubepods/pod{UID}/3f2a",
        f"0::/kubepods.slice/kubepods-pod{SLICE}.slice/crio-3f2a.scope/container (deleted)",
    ],
)
def test_the_cgroup_names_the_pod(cgroup: str) -> None:
    assert pod_in(cgroup) == UID


def test_a_static_pod_has_a_hash() -> None:
    assert pod_in("0::/kubepods.slice/kubepods-pod" + "ab" * 16 + ".slice/x") == "ab" * 16


@pytest.mark.parametrize("cgroup", ["", "0::/", "0::/init.scope", "0::/docker/pod1", "0::/podman"])
def test_other_cgroups_are_no_pods(cgroup: str) -> None:
    assert pod_in(cgroup) == ""


class Node:
    def __init__(self, folder: Path) -> None:
        self.proc, self.pods = folder / "proc", folder / "pods"
        self.proc.mkdir()
        self.processes: list[GpuProcess] = []

    def runs(self, pid: int, name: str, cgroup: str, inner: str = "") -> None:
        folder = self.proc / str(pid)
        folder.mkdir()
        (folder / "cgroup").write_text(cgroup)
        (folder / "status").write_text(f"Name:\t{name}\nNSpid:\t{pid}{inner}\n")

    def region(self, uid: str) -> Path:
        folder = self.pods / uid / "volumes/kubernetes.io~empty-dir/kai-guard"
        folder.mkdir(parents=True)
        return folder / "region"

    def measure(self, *pids: int) -> Measurement:
        self.processes = [GpuProcess(pid, 5) for pid in pids]
        return measuring.measure(proc=str(self.proc), pods=str(self.pods))


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    made = Node(tmp_path)

    def devices(library: str) -> tuple[list[MeasuredDevice], list[str]]:
        return [MeasuredDevice("GPU-1", 80, 9, tuple(made.processes))], []

    monkeypatch.setattr(nvml, "devices", devices)
    return made


def test_a_process_has_its_pod_and_the_number_in_its_container(node: Node) -> None:
    node.runs(812, "python", f"0::/kubepods/pod{UID}/3f2a", inner="\t17\t1")
    node.runs(900, "Xorg", "0::/user.slice")
    found = node.measure(812, 900)
    assert found.devices[0].processes == (
        GpuProcess(812, 5, "python", UID, 1),
        GpuProcess(900, 5, "Xorg", "", 900),
    )
    assert found.problems == ()


def test_a_name_is_one_line(node: Node) -> None:
    node.runs(812, "a\x1b[2J", f"0::/kubepods/pod{UID}/3f2a")
    assert node.measure(812).devices[0].processes[0].name == r"a\x1b[2J"


def test_a_process_that_has_just_ended_is_not_listed(node: Node) -> None:
    node.runs(812, "python", f"0::/kubepods/pod{UID}/3f2a")
    found = node.measure(812, 813)
    assert [each.pid for each in found.devices[0].processes] == [812]
    assert found.problems == ()


def test_a_container_without_the_processes_of_the_node_says_so(node: Node) -> None:
    [problem] = node.measure(812, 813).problems
    assert problem == f"no process of NVML is in {node.proc}: the container needs hostPID"


def test_a_file_of_a_guard_without_processes_has_no_figures(node: Node) -> None:
    node.region(UID).touch()
    found = node.measure()
    assert (found.counted, found.problems) == ((), ())


def test_a_pod_cannot_make_the_measurement_wait_or_read_other_files(node: Node) -> None:
    os.mkfifo(node.region("pipe"))
    secret = node.pods / "secret"
    secret.parent.mkdir(exist_ok=True)
    secret.write_text("hello")
    node.region("link").symlink_to(secret)
    node.region("folder").mkdir()
    node.region("text").write_text("hello")
    found = node.measure()
    assert found.counted == ()
    assert found.problems == (
        "the guard's file of pod folder cannot be read: not a file",
        "the guard's file of pod link cannot be read: Too many levels of symbolic links",
        "the guard's file of pod pipe cannot be read: not a file",
        "the guard's file of pod text cannot be read: "
        "not a file of the guard, or of another version",
    )
