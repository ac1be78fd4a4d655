"""The settings of each framework for its share."""

from typing import Any

import pytest

import kai
from kai.settings import PodRequest, pod_part
from kai.settings.frameworks import settings_for
from kai.settings.request import FRAMEWORKS

HALF = {"gpu_fraction": 0.5, "gpu_memory_total": 15360}


def env(**arguments: Any) -> dict[str, str]:
    return dict(settings_for(PodRequest(**arguments)).env)


def warnings_of(**arguments: Any) -> str:
    return "\n".join(settings_for(PodRequest(**arguments)).warnings)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_every_framework_has_settings(framework: str) -> None:
    settings_for(PodRequest(**HALF, framework=framework))


def test_torch_gets_its_fraction_only_in_versions_that_support_it() -> None:
    plain = "garbage_collection_threshold:0.8"
    assert env(**HALF, framework="torch") == {"PYTORCH_CUDA_ALLOC_CONF": plain}
    for old in ("2.4", "2.9.1+cu128", "nightly"):
        written = env(**HALF, framework="torch", framework_versions={"torch": old})
        assert written == {"PYTORCH_CUDA_ALLOC_CONF": plain}
    for new in ("2.10", "2.11.0", "3.0"):
        written = env(**HALF, framework="torch", framework_versions={"torch": new})
        expected = f"per_process_memory_fraction:0.464,{plain}"
        assert written == {"PYTORCH_CUDA_ALLOC_CONF": expected}
    assert "kai.runtime.limit()" in warnings_of(**HALF, framework="torch")


def test_torch_options_of_the_user_are_kept() -> None:
    for own in ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"):
        request = PodRequest(**HALF, framework="torch", env={own: "expandable_segments:True"})
        part = pod_part(request)
        assert part.env == {own: "expandable_segments:True"}
        assert any(own in each for each in part.warnings)


def test_jax_gets_one_setting() -> None:
    """JAX reports an error if both names are set."""
    assert env(**HALF, framework="jax") == {"XLA_CLIENT_MEM_FRACTION": "0.464"}
    own = {"XLA_PYTHON_CLIENT_MEM_FRACTION": "0.3"}
    assert env(**HALF, framework="jax", env=own) == {}
    assert pod_part(PodRequest(**HALF, framework="jax", env=own)).env == own


def test_jax_does_not_preallocate_an_unknown_part() -> None:
    assert env(gpu_memory=4096, framework="jax") == {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}


def test_the_fraction_for_jax_fits_a_half() -> None:
    assert float(env(gpu_fraction=0.5, framework="jax")["XLA_CLIENT_MEM_FRACTION"]) == 0.475


def test_tensorflow_grows_its_memory() -> None:
    assert env(**HALF, framework="tensorflow") == {"TF_FORCE_GPU_ALLOW_GROWTH": "true"}
    assert "is not a limit" in warnings_of(**HALF, framework="tensorflow")


@pytest.mark.parametrize(
    ("given", "utilization"),
    [
        ({**HALF}, "0.49"),
        ({**HALF, "isolation": "hamicore"}, "0.9"),
        ({"gpu_fraction": 0.5, "isolation": "hamicore"}, "0.9"),
        ({"gpu_fraction": 0.5, "isolation": "guard"}, "0.9"),
        ({"gpu_memory": 4096, "gpu_memory_total": 15360}, "0.26"),
        ({"gpu_memory": 4096, "gpu_memory_total": 15360, "isolation": "hamicore"}, "0.9"),
        ({"gpu_fraction": 0.5}, "0.47"),
    ],
)
def test_vllm_gets_an_argument(given: dict[str, Any], utilization: str) -> None:
    settings = settings_for(PodRequest(**given, framework="vllm"))
    assert settings.arguments["vllm"] == ("--gpu-memory-utilization", utilization)
    assert any(f"--gpu-memory-utilization {utilization}" in each for each in settings.warnings)
    assert settings.env == {}


def test_vllm_with_an_unknown_part_gets_no_argument() -> None:
    settings = settings_for(PodRequest(gpu_memory=4096, framework="vllm"))
    assert settings.arguments == {}
    assert "is unknown" in settings.warnings[0]


def test_cupy_has_a_limit_in_bytes_or_in_per_cent() -> None:
    assert env(**HALF, framework="cupy") == {"CUPY_GPU_MEMORY_LIMIT": str(7138 * 1024 * 1024)}
    assert env(gpu_memory=4096, framework="cupy") == {
        "CUPY_GPU_MEMORY_LIMIT": str(3584 * 1024 * 1024)
    }
    assert env(gpu_fraction=0.5, framework="cupy") == {"CUPY_GPU_MEMORY_LIMIT": "47%"}


def test_other_servers_get_arguments() -> None:
    settings = settings_for(PodRequest(**HALF, framework=["sglang", "triton"]))
    assert settings.arguments == {
        "sglang": ("--mem-fraction-static", "0.464"),
        "triton": ("--backend-config=tensorflow,gpu-memory-fraction=0.464",),
    }
    assert "7650 MiB - weights - 512 MiB" in warnings_of(**HALF, framework="tensorrt-llm")


def test_several_frameworks_are_combined() -> None:
    assert set(env(**HALF, framework=["torch", "jax"])) == {
        "PYTORCH_CUDA_ALLOC_CONF",
        "XLA_CLIENT_MEM_FRACTION",
    }


def test_mps_limits_each_device_and_mounts_its_pipe() -> None:
    settings = settings_for(
        PodRequest(**HALF, devices=2, isolation="mps", mps_pipe_directory="/run/mps")
    )
    assert settings.env == {
        "CUDA_MPS_PIPE_DIRECTORY": "/run/mps",
        "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": "0=7650M,1=7650M",
        "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "50",
    }
    assert settings.volumes == (
        {"name": "nvidia-mps", "hostPath": {"path": "/run/mps", "type": "DirectoryOrCreate"}},
    )
    assert settings.volume_mounts == ({"name": "nvidia-mps", "mountPath": "/run/mps"},)
    assert "daemon" in settings.warnings[0]


def test_the_threads_of_mps_are_whole_per_cents() -> None:
    for fraction, percentage in ((0.29, "29"), (0.57, "57"), (0.125, "12"), (0.004, "1")):
        written = env(gpu_fraction=fraction, isolation="mps")
        assert written["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] == percentage


def test_mps_on_an_unknown_device_limits_only_memory_requests() -> None:
    name = "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"
    assert name not in env(gpu_fraction=0.5, isolation="mps")
    assert env(gpu_memory=4096, isolation="mps")[name] == "0=4096M"


def test_hami_needs_no_settings() -> None:
    assert env(**HALF, isolation="hamicore") == {}
    assert "no limit" in warnings_of(gpu_fraction=0.004, isolation="hamicore")


def test_whole_gpus_need_no_settings() -> None:
    for request in ({}, {"gpus": 1}, {"mig": "1g.5gb"}):
        settings = settings_for(PodRequest(**request, framework="jax", isolation="hamicore"))
        assert (settings.env, settings.arguments) == ({}, {})
        assert "has no effect" in settings.warnings[0]


def test_a_share_too_small_for_a_framework_is_refused() -> None:
    small = {"gpu_memory": 512, "framework": "torch"}
    with pytest.raises(kai.InvalidRequestError, match="larger share, or write a smaller headroom"):
        PodRequest(**small)
    assert PodRequest(**small, headroom=256).gpu_memory == 512
    with pytest.raises(kai.InvalidRequestError, match="in each of 4 processes"):
        PodRequest(gpu_memory=2048, framework="torch", processes=4)


def test_settings_are_set_on_the_pod() -> None:
    part = pod_part(PodRequest(**HALF, framework="jax", isolation="mps", env={"A": "b"}))
    fields = part.container_fields()
    assert {"name": "XLA_CLIENT_MEM_FRACTION", "value": "0.464"} in fields["env"]
    assert fields["volumeMounts"] == [{"name": "nvidia-mps", "mountPath": "/tmp/nvidia-mps"}]
    assert part.spec()["volumes"][0]["name"] == "nvidia-mps"
