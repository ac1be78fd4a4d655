"""detect(): proofs, hints, and signs that are neither."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kai
from kai.runtime import Detected, detect

Smi = Callable[[str], str]
Libcuda = Callable[..., str]


def looked_at(**arguments: Any) -> Detected:
    """On a machine without anything except the arguments."""
    nothing: dict[str, Any] = {
        "environ": {},
        "cdi_directory": "/nowhere/cdi",
        "libraries": ("libnothing-at-all.so",),
        "nvidia_smi": "/nowhere/nvidia-smi",
    }
    return detect(**{**nothing, **arguments})


def test_a_machine_without_gpus() -> None:
    found = looked_at()
    assert (found.available, found.hinted, found.shared) == (False, False, False)
    assert (found.device_count, found.visible, found.portion) == (None, None, None)
    assert not found
    assert "no GPU was found" in str(found)
    assert "no driver library was found" in str(found)


@pytest.mark.parametrize(
    "environ",
    [
        {"NVIDIA_VISIBLE_DEVICES": "all"},
        {"RUNAI-VISIBLE-DEVICES": "0"},
        {"CUDA_VISIBLE_DEVICES": "0"},
        {"GPU_DEVICE_ORDINAL": "0"},
    ],
)
def test_variables_are_hints(environ: dict[str, str]) -> None:
    """spec 7 X2: a CUDA image on a node without a GPU sets all of these."""
    found = looked_at(environ=environ)
    assert (found.available, found.hinted) == (False, True)
    assert found.variables == environ
    assert next(iter(environ)) in str(found)


def test_a_cdi_directory_is_a_hint(tmp_path: Path) -> None:
    found = looked_at(cdi_directory=str(tmp_path))
    assert (found.available, found.hinted) == (False, True)


@pytest.mark.parametrize("value", ["", "-1", "void", "none", "NoDevFiles", "NODEVFILES"])
def test_some_values_mean_no_gpu(value: str) -> None:
    found = looked_at(environ={"NVIDIA_VISIBLE_DEVICES": value})
    assert (found.hinted, found.visible) == (False, ())


def test_the_cdi_prefix_is_removed_from_names() -> None:
    prefix = "k8s.device-plugin.nvidia.com/gpu="
    environ = {"NVIDIA_VISIBLE_DEVICES": f"{prefix}GPU-1,{prefix}GPU-2"}
    assert looked_at(environ=environ).visible == ("GPU-1", "GPU-2")
    environ["CUDA_VISIBLE_DEVICES"] = "1"
    assert looked_at(environ=environ).visible == ("1",)


def test_a_driver_that_counts_devices_is_proof(
    libcuda: Libcuda, started_in: Callable[[], int | None]
) -> None:
    found = looked_at(libraries=("libnothing-at-all.so", libcuda(15360, 15360)))
    assert (found.available, found.hinted, found.device_count) == (True, False, 2)
    assert found.device_memory_mib == (15360, 15360)
    assert started_in() not in (None, 0), "CUDA was started in this process"


def test_the_driver_is_queried_in_process_only_on_request(
    libcuda: Libcuda, started_in: Callable[[], int | None]
) -> None:
    assert looked_at(libraries=(libcuda(8192),), in_process=True).device_memory_mib == (8192,)
    assert started_in() == 0


@pytest.mark.parametrize(
    ("build", "message"), [({"init": 100}, "cuInit returns 100"), ({}, "0 devices")]
)
def test_a_driver_without_devices_is_not_proof(
    libcuda: Libcuda, build: dict[str, int], message: str
) -> None:
    found = looked_at(libraries=(libcuda(**build),))
    assert not found.available
    assert message in str(found)


def test_a_library_that_is_not_a_driver_does_not_crash() -> None:
    found = looked_at(libraries=("libc.so.6",))
    assert not found.available
    assert "lacks a function" in str(found)


def test_nvidia_smi_is_proof(nvidia_smi: Smi) -> None:
    found = looked_at(nvidia_smi=nvidia_smi("echo Tesla T4; echo Tesla T4"))
    assert (found.available, found.device_count) == (True, 2)
    assert "nvidia-smi: Tesla T4, Tesla T4" in str(found)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo no devices >&2; exit 9", "exit status 9: no devices"),
        ("exit 0", "lists no device"),
        ("sleep 30", "no answer within 0.2 s"),
    ],
)
def test_nvidia_smi_may_fail(nvidia_smi: Smi, script: str, message: str) -> None:
    # The driver gets four times as long.
    found = looked_at(nvidia_smi=nvidia_smi(script), timeout_s=0.2, libraries=())
    assert not found.available
    assert message in str(found)


def test_named_frameworks_are_queried(tmp_path: Path) -> None:
    (tmp_path / "cupy.py").write_text(
        "class cuda:\n    class runtime:\n        getDeviceCount = staticmethod(lambda: 3)\n"
    )
    (tmp_path / "torch.py").write_text("raise OSError('broken')\n")
    environ = {"PYTHONPATH": str(tmp_path)}
    found = looked_at(environ=environ, frameworks=("cupy", "torch", "abacus"))
    assert (found.available, found.device_count) == (True, 3)
    fields = {each.source: each.detail for each in found.evidence}
    assert "broken" in fields["torch"]
    assert "write one of" in fields["abacus"]


def test_a_share_is_read_from_variables() -> None:
    found = looked_at(
        environ={
            "GPU_PORTION": "0.50",
            "CUDA_DEVICE_MEMORY_LIMIT": "7680m",
            "CUDA_DEVICE_SM_LIMIT": "50",
            "CUDA_MPS_PIPE_DIRECTORY": "/tmp/mps",
            "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "25",
        }
    )
    assert (found.portion, found.memory_limit_mib, found.shared) == (0.5, 7680, True)
    assert (found.sm_limit, found.mps_thread_percentage) == (50, 25)
    assert found.mps_pipe_directory == "/tmp/mps"


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, (None, None, False)),
        ({"GPU_PORTION": "1.00"}, (1.0, None, False)),
        ({"GPU_PORTION": "0.00"}, (None, None, False)),
        ({"GPU_PORTION": "much"}, (None, None, False)),
        ({"RUNAI_NUM_OF_GPUS": "0.25"}, (0.25, None, True)),
        ({"RUNAI_NUM_OF_GPUS": "2"}, (None, None, False)),
        (
            {"CUDA_DEVICE_MEMORY_LIMIT_0": "2g", "CUDA_DEVICE_MEMORY_LIMIT": "1g"},
            (None, 2048, True),
        ),
        ({"CUDA_DEVICE_MEMORY_LIMIT": "1073741824"}, (None, 1024, True)),
        ({"CUDA_DEVICE_MEMORY_LIMIT": "0m"}, (None, None, False)),
        ({"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": "0=4G,1=2G"}, (None, 4096, True)),
        ({"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": "nonsense"}, (None, None, False)),
    ],
)
def test_invalid_and_unusual_shares(environ: dict[str, str], expected: tuple[Any, ...]) -> None:
    found = looked_at(environ=environ)
    assert (found.portion, found.memory_limit_mib, found.shared) == expected


def test_detect_without_arguments_reads_this_machine() -> None:
    found = kai.runtime.detect(timeout_s=2)
    assert found.available == any(each.proof and each.says_gpu for each in found.evidence)
    assert set(found.variables) <= set(os.environ)


def test_a_bare_container_needs_only_the_standard_library() -> None:
    """No NumPy, no click, no compiled core: not even importable."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "for name in ('numpy', 'click', 'rich', 'yaml', 'kai._core'): sys.modules[name] = None\n"
        "import kai\n"
        "print(kai.runtime.detect(libraries=(), nvidia_smi=None).available)\n"
        "print(kai.pod_settings(gpu_fraction=0.5).to_pod_patch()['metadata'])\n"
    )
    root = str(Path(kai.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, root], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["False", "{'annotations': {'gpu-fraction': '0.5'}}"]
