"""PyTorch's and JAX's allocators under the guard; check.py runs this.

    python3 frameworks.py torch|torch-speed|jax|jax-whole|jax-platform

Prints one object of JSON: the size of the device that the framework sees, how much it filled, which
part of the device it wants, the error that it got beyond it, whether that was the driver's, and
whether the framework went on; or times.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any


def torch_fills() -> dict[str, Any]:
    import torch

    total = torch.cuda.get_device_properties(0).total_memory
    _, of_info = torch.cuda.mem_get_info()
    block = total // 64
    held, error = [], ""
    try:
        while True:
            held.append(torch.empty(block, dtype=torch.uint8, device="cuda"))
    except torch.cuda.OutOfMemoryError as refused:
        error = str(refused).splitlines()[0]
    filled = len(held) * block
    del held[len(held) // 2 :]  # into its cache
    values = torch.ones(block // 16, device="cuda")
    went_on = float(values.sum()) == values.numel()
    del values
    torch.cuda.empty_cache()
    held += [torch.empty(block, dtype=torch.uint8, device="cuda") for _ in range(16)]
    return {
        "total": total if total == of_info else [total, of_info],
        "part": 1.0,
        "filled": filled,
        "error": error,
        "from_driver": True,
        "went_on": went_on and "out of memory" in error,
    }


def fastest(count: int, work: Callable[[], object], wait: Callable[[], object]) -> float:
    """Microseconds for one `work`, in the fastest of five rounds."""
    best = float("inf")
    for _ in range(5):
        wait()
        started = time.perf_counter()
        for _ in range(count):
            work()
        wait()
        best = min(best, (time.perf_counter() - started) / count * 1e6)
    return best


def torch_times() -> dict[str, Any]:
    import torch

    torch.manual_seed(1)
    layers = [torch.nn.Linear(4096, 4096) for _ in range(4)]
    model = torch.nn.Sequential(*layers).cuda()
    optimizer = torch.optim.Adam(model.parameters(), capturable=True)
    data = torch.randn(1024, 4096, device="cuda")

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        loss = (model(data) - data).square().mean()
        loss.backward()
        optimizer.step()

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):  # as PyTorch's documentation of graphs has it
        for _ in range(5):
            step()
    torch.cuda.current_stream().wait_stream(side)
    loop = fastest(60, step, torch.cuda.synchronize)
    graph = torch.cuda.CUDAGraph()
    optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        step()
    replay = fastest(60, graph.replay, torch.cuda.synchronize)
    return {"training_step_us": loop, "graph_replay_us": replay}


def jax_fills(part: float, from_driver: bool) -> dict[str, Any]:
    import jax
    import jax.numpy as jnp

    device = jax.devices("cuda")[0]
    total = device_total()
    stats = device.memory_stats() or {}
    block = total // 64
    held, error = [], ""
    try:
        while True:
            held.append(jnp.zeros((block,), jnp.uint8).block_until_ready())
    except Exception as refused:  # the class has changed its name and place
        error = str(refused).splitlines()[0]
    filled = len(held) * block
    del held[len(held) // 2 :]
    values = jnp.ones((block // 16,), jnp.float32)
    went_on = float(values.sum()) == values.size
    return {
        "total": total,
        "bytes_limit": stats.get("bytes_limit"),
        "part": part,
        "filled": filled,
        "error": error,
        "from_driver": from_driver,
        "went_on": went_on and "RESOURCE_EXHAUSTED" in error,
    }


def device_total() -> int:
    """The size of the first device by the driver, as JAX's library asks it."""
    import ctypes

    driver = ctypes.CDLL("libcuda.so.1")
    size = ctypes.c_size_t()
    code = driver.cuInit(0) or driver.cuDeviceTotalMem_v2(ctypes.byref(size), 0)
    if code:
        raise OSError(f"the driver answered {code}")
    return size.value


COMMANDS: dict[str, Callable[[], dict[str, Any]]] = {
    "torch": torch_fills,
    "torch-speed": torch_times,
    "jax": lambda: jax_fills(0.75, from_driver=False),
    "jax-whole": lambda: jax_fills(0.9, from_driver=True),  # nine tenths of what was refused
    "jax-platform": lambda: jax_fills(1.0, from_driver=True),
}

if __name__ == "__main__":
    print(json.dumps(COMMANDS[sys.argv[1]]()))
