"""Random requests for pod settings, valid and invalid. The seed is printed; KAI_SEED runs another
one."""

import os
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from kai import PodRequest

SEED = int(os.environ.get("KAI_SEED", "20260807"))
REQUESTS = 1000
GPU_MIB = 81920
CAPACITY = GPU_MIB - GPU_MIB % 100
QUEUES = ("team-a", "team-b", "1e3")

Arguments = dict[str, Any]


def gpus(rng: random.Random) -> Arguments:
    kind = rng.choice(("none", "whole", "fraction", "fraction", "memory", "memory", "mig"))
    if kind == "whole":
        return {"gpus": rng.randint(1, 8)}
    if kind == "mig":
        return {"mig": rng.choice(("1g.5gb", "3g.20gb", "1g.5gb.me"))}
    if kind == "none":
        return {"gpus": 0} if rng.random() < 0.3 else {}
    request: Arguments = {}
    if kind == "fraction":
        part = Fraction(rng.randint(5, 999), 1000)
        request["gpu_fraction"] = rng.choice((part, float(part), f"{float(part):.3f}"))
    else:
        mib = rng.randint(1, 79)
        request["gpu_memory"] = rng.choice((f"{mib}Gi", mib * 1024, mib * 1000 + 7, f"{mib}000"))
    if rng.random() < 0.3:
        request["devices"] = rng.randint(2, 4)
    if rng.random() < 0.1:
        request["mps"] = True
    return request


def is_large(request: Arguments) -> bool:
    """Whether it is enough for a framework besides CUDA's own memory."""
    if "gpu_fraction" in request:
        return float(request["gpu_fraction"]) > 0.2
    return "gpu_memory" in request and PodRequest(**request).gpu_memory > 4000  # type: ignore[operator]


def valid(rng: random.Random) -> Arguments:
    request = gpus(rng)

    def sometimes(**choices: Any) -> None:
        for name, values in choices.items():
            if rng.random() < 0.25:
                request[name] = rng.choice(values)

    sometimes(
        priority=("train", "build", "inference"),
        preemptible=(True, False),
        preemption_delay=("5m", "90s"),
        staleness_grace_period=("5m", "-1s"),
        gang_min=(1, 4),
        platform=("gke", "eks", "aks", "generic"),
        gpu_type=("model",),
        node_selector=({"zone": "a"}, {}),
        tolerations=([{"key": "x", "operator": "Exists"}], [{"key": "y", "value": "z"}]),
        env=({"A": "1"}, {"B": "on", "C": 5}),
        cpu=("500m", 2, "1.5"),
        memory=("1Gi", "2000Mi"),
        labels=({"team": "vision"}, {"number": "1e3"}),
        annotations=({"own": "0.5"}, {"example.com/x": "y"}),
        runtime_class=("nvidia",),
        privileged=(True, False),
        headroom=(256, 512),
        container=("trainer", "main"),
        gpu_memory_total=(GPU_MIB,),
        kai_version=("0.17", "0.18"),
        workaround_stale_gang=(True,),
    )
    if rng.random() < 0.95:
        request["queue"] = rng.choice(QUEUES)
    if rng.random() < 0.1:
        request[rng.choice(("both", "legacy"))] = True
    if "platform" in request and request["platform"] != "generic" and rng.random() < 0.5:
        request["node_pool"] = "pool"
    if rng.random() < 0.1:
        level = rng.choice(("required_level", "preferred_level"))
        request |= {"topology": "cluster", level: "example.com/rack"}
    if is_large(request) and rng.random() < 0.5:
        request["framework"] = rng.sample(("torch", "tensorflow", "jax", "vllm", "cupy"), 2)
        request["isolation"] = rng.choice(("none", "hamicore", "mps"))
    return request


def invalid(rng: random.Random) -> Arguments:
    """A valid request with one invalid value."""
    request = valid(rng)
    plain = {k: v for k, v in request.items() if k not in ("gpu_fraction", "gpu_memory", "devices",
             "mps", "gpus", "mig", "framework", "isolation", "gpu_memory_total")}  # fmt: skip
    text = "".join(rng.choice("aZ9 /:é_=") for _ in range(rng.randint(1, 8))) + "!"
    wrong: tuple[Callable[[], Arguments], ...] = (
        lambda: plain | {"gpu_fraction": rng.choice((0, -rng.random(), "nan", "0x1p-1", text, ""))},
        lambda: plain | {"gpu_fraction": 1 + rng.random() + 0.001},
        lambda: plain | {"gpu_fraction": rng.randint(2, 9)},
        lambda: plain | {"gpu_fraction": Fraction(1, 3)},
        lambda: plain | {"gpu_memory": rng.choice((0, -5, "5GB", "1500k", 2.5, text, True))},
        lambda: plain | {"gpu_memory": CAPACITY + 1, "gpu_memory_total": GPU_MIB},
        lambda: plain | {"gpu_fraction": 0.5, "gpus": 1},
        lambda: plain | {"gpu_fraction": 0.5, "gpu_memory": 5},
        lambda: plain | {"gpus": rng.choice((-1, 0.5, "2", True))},
        lambda: plain | {"devices": rng.randint(2, 4)},
        lambda: plain | {"gpus": 1, "mps": True},
        lambda: plain | {"gpu_fraction": 0.5, "devices": rng.choice((0, -1, 1.5))},
        lambda: plain | {"gpu_fraction": 0.5, "env": {"NVIDIA_VISIBLE_DEVICES": "all"}},
        lambda: plain | {"mig": text},
        lambda: request | {"queue": rng.choice((text, "", "a" * 64, 5))},
        lambda: request | {"container": text},
        lambda: request | {"labels": {"a": rng.choice((text, 5, None))}},
        lambda: request | {"annotations": {"gpu-fraction": "0.5"}},
        lambda: request | {"annotations": {"own": rng.choice((5, None, ["a"]))}},
        lambda: request | {"node_selector": {text: "a"}},
        lambda: request | {"tolerations": [rng.choice(({}, {"key": "a", "operator": text}, 5))]},
        lambda: request | {"platform": text},
        lambda: request | {"topology": None, "required_level": "rack", "preferred_level": None},
        lambda: request | {"cpu": rng.choice((text, 0, -1))},
        lambda: request | {"memory": "2Gi", "memory_limit": "1Gi"},
        lambda: request | {"preemption_delay": rng.choice(("5", "", text))},
        lambda: request | {"framework": text},
        lambda: request | {"gang_min": rng.choice((0, -1, "2"))},
    )
    return rng.choice(wrong)()


def of_seed(make: Callable[[random.Random], Arguments], salt: int) -> Iterator[Arguments]:
    print(f"seed {SEED}")
    for number in range(REQUESTS):
        yield make(random.Random(SEED * 1_000_003 + salt * REQUESTS + number))
