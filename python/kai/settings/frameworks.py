"""Settings that limit a framework to the pod's share of GPU memory: variables, volumes, arguments.

KAI places pods by their shares, but nothing limits a pod to its share unless something on the node
does. So each framework gets its limit in a form that its version supports; a setting that an older
version would refuse needs a known version (spec 7 W6). docs/concepts/gpu_memory.md has the reasons.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from kai.api import gpu_memory, rules
from kai.settings.request import PodRequest
from kai.settings.share import Share

MPS_PIPE_DIRECTORY = "/tmp/nvidia-mps"
"""The default pipe directory of NVIDIA's MPS daemon."""

_HELPER = "call kai.runtime.limit() in the pod, which can query the GPU"
_ENFORCED = ("guard", "hamicore", "mps", "nvfractions")
_JAX, _JAX_BEFORE = "XLA_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_MEM_FRACTION"
_TORCH, _TORCH_NEW = "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"
_TORCH_WITH_FRACTION = (2, 10)


@dataclass(frozen=True, kw_only=True)
class MemorySettings:
    """`arguments`: command-line arguments by framework; the user must add them."""

    env: Mapping[str, str] = field(default_factory=dict)
    volumes: Sequence[Mapping[str, Any]] = ()
    volume_mounts: Sequence[Mapping[str, Any]] = ()
    node_selector: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    arguments: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def settings_for(request: PodRequest) -> MemorySettings:
    """The settings for the frameworks and the isolation of a request."""
    share = request.share
    if share is None:
        return MemorySettings(warnings=tuple(_without_share(request)))
    written = _Written(share, request)
    written.isolation()
    for framework in request.frameworks:
        _WRITERS[framework](written)
    return written.settings()


def _without_share(request: PodRequest) -> Iterator[str]:
    if request.isolation != "none":
        yield (f"isolation={request.isolation!r} has no effect: the request has no part of a GPU")


class _Written:
    """Collects settings."""

    def __init__(self, share: Share, request: PodRequest) -> None:
        self.share = share
        self.request = request
        self._env: dict[str, str] = {}
        self._arguments: dict[str, tuple[str, ...]] = {}
        self._warnings: list[str] = []
        self._volumes: list[Mapping[str, Any]] = []
        self._mounts: list[Mapping[str, Any]] = []

    def settings(self) -> MemorySettings:
        return MemorySettings(
            env=MappingProxyType(self._env),
            volumes=tuple(self._volumes),
            volume_mounts=tuple(self._mounts),
            warnings=tuple(dict.fromkeys(self._warnings)),
            arguments=MappingProxyType(self._arguments),
        )

    def warn(self, sentence: str) -> None:
        self._warnings.append(sentence)

    def variable(self, name: str, value: str, *, instead: Sequence[str] = ()) -> None:
        """Sets a variable, unless the request sets it or an equivalent one (`instead`)."""
        for own in (name, *instead):
            if own in self.request.env:
                if self.request.env[own] != value:
                    self.warn(f"env has {own}, so {name}={value} is not set")
                return
        self._env[name] = value

    def argument(self, framework: str, *arguments: str) -> None:
        self._arguments[framework] = arguments
        self.warn(f"start {framework} with {' '.join(arguments)}: it has no variable for this")

    def fraction(self, framework: str) -> Fraction | None:
        """The part for a framework whose limit is a part of the total."""
        found = self.share.allocator_fraction()
        if found is None:
            self.warn(
                f"the memory of a GPU is unknown, so {framework} gets no limit: write"
                f" gpu_memory_total=, or {_HELPER}"
            )
        elif self.share.total is None:
            self.warn(
                f"the memory of a GPU is unknown, so the limit of {framework} is {_decimals(found)}"
                " of it, a little less than its share: write gpu_memory_total=, or"
                f" {_HELPER}"
            )
        return found

    # ---- isolation of pods ----------------------------------------------------------------------

    def isolation(self) -> None:
        share = self.share
        if share.isolation == "hamicore":
            if share.part is not None and gpu_memory.announced(share.part) == "0.00":
                self.warn(
                    "KAI gives the pod this share as 0.00, and HAMi-core then sets no limit:"
                    " request at least 0.01 of a GPU"
                )
        elif self.request.isolation == "mps":
            self._mps()

    def _mps(self) -> None:
        share, request = self.share, self.request
        directory = request.mps_pipe_directory or MPS_PIPE_DIRECTORY
        self.variable("CUDA_MPS_PIPE_DIRECTORY", directory)
        if share.budget is None:
            self.warn(
                "the memory of a GPU is unknown, so MPS gets no limit: write gpu_memory_total="
            )
        else:
            # MPS counts the memory of each process separately, like the budget.
            limits = (f"{ordinal}={share.budget}M" for ordinal in range(request.devices))
            self.variable("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", ",".join(limits))
        if share.part is not None:
            percentage = max(1, math.floor(round(share.part * 100, 6)))
            self.variable("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", str(percentage))
        self._volumes.append(
            {"name": "nvidia-mps", "hostPath": {"path": directory, "type": "DirectoryOrCreate"}}
        )
        self._mounts.append({"name": "nvidia-mps", "mountPath": directory})
        if not request.node_selector:
            self.warn("MPS needs its daemon on the node: select such nodes with node_selector=")


def _decimals(value: Fraction) -> str:
    return rules.decimal_text(value) or str(float(value))


def _version(request: PodRequest, framework: str) -> tuple[int, int] | None:
    """Major and minor version; None if unknown: then only settings of all versions are used."""
    numbers = str(request.framework_versions.get(framework, "")).split("+")[0].split(".")
    if len(numbers) < 2 or not (numbers[0].isdigit() and numbers[1].isdigit()):
        return None
    return int(numbers[0]), int(numbers[1])


# ---- settings of each framework ------------------------------------------------------------------


def _torch(written: _Written) -> None:
    options = [
        "garbage_collection_threshold:0.8"
    ]  # takes effect once a fraction is set, here or in code
    version = _version(written.request, "torch")
    if version is not None and version >= _TORCH_WITH_FRACTION:
        if (part := written.fraction("torch")) is not None:
            options.insert(0, f"per_process_memory_fraction:{_decimals(part)}")
    elif written.share.isolation not in _ENFORCED:
        known = "" if version is None else f" {version[0]}.{version[1]}"
        written.warn(
            f"PyTorch{known} gets its limit only in code: {_HELPER}, or for 2.10 and later write"
            " framework_versions={'torch': '2.10'}"
        )
    written.variable(_TORCH, ",".join(options), instead=(_TORCH_NEW,))


def _tensorflow(written: _Written) -> None:
    written.variable("TF_FORCE_GPU_ALLOW_GROWTH", "true")
    if written.share.isolation not in _ENFORCED:
        written.warn(
            "TF_FORCE_GPU_ALLOW_GROWTH stops TensorFlow from taking the whole GPU at once, but is"
            f" not a limit: {_HELPER}"
        )


def _jax(written: _Written) -> None:
    if (part := written.fraction("jax")) is not None:
        written.variable(_JAX, _decimals(part), instead=(_JAX_BEFORE,))
    else:
        written.variable("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


def _vllm(written: _Written) -> None:
    part = written.share.utilization()
    if part is None:
        written.fraction("vllm")  # warns
        return
    written.argument("vllm", "--gpu-memory-utilization", _decimals(part))
    written.warn(
        "vLLM starts only if that much memory is free, so all pods on the GPU must keep to their"
        " shares; capturing CUDA graphs may briefly take more, which --enforce-eager avoids"
    )


def _sglang(written: _Written) -> None:
    if (part := written.fraction("sglang")) is not None:
        written.argument("sglang", "--mem-fraction-static", _decimals(part))


def _tensorrt_llm(written: _Written) -> None:
    share = written.share
    budget = "its share" if share.budget is None else f"{share.budget} MiB"
    written.warn(
        "TensorRT-LLM takes a part of the memory that is free after its weights are loaded, which"
        " does not follow from the share: set free_gpu_memory_fraction of its KvCacheConfig to"
        f" ({budget} - weights - {share.headroom} MiB) / (free at the start - weights)"
    )


def _triton(written: _Written) -> None:
    if (part := written.fraction("triton")) is not None:
        written.argument(
            "triton", f"--backend-config=tensorflow,gpu-memory-fraction={_decimals(part)}"
        )
    written.warn(
        "Triton itself has no limit: each backend needs one; --cuda-memory-pool-byte-size is only"
        " for input and output"
    )


def _cupy(written: _Written) -> None:
    name = "CUPY_GPU_MEMORY_LIMIT"
    if (free := written.share.free_mib) is not None:
        written.variable(name, str(free * rules.MIB))
    elif (part := written.fraction("cupy")) is not None:
        written.variable(name, f"{math.floor(100 * part)}%")


def _ray(written: _Written) -> None:
    """Its builder sets num-gpus of the group instead."""


_WRITERS: Mapping[str, Callable[[_Written], None]] = {
    "torch": _torch,
    "tensorflow": _tensorflow,
    "jax": _jax,
    "vllm": _vllm,
    "tensorrt-llm": _tensorrt_llm,
    "sglang": _sglang,
    "triton": _triton,
    "cupy": _cupy,
    "ray": _ray,
}
