"""limit(): a framework gets its share if the device is known."""

import sys
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import kai.runtime
from kai.runtime import limit as of_limit

LIMIT = sys.modules["kai.runtime.limit"]
HALF = {"GPU_PORTION": "0.50"}


@pytest.fixture(autouse=True)
def _nothing_done() -> Iterator[None]:
    LIMIT._done.clear()  # type: ignore[attr-defined]
    yield
    LIMIT._done.clear()  # type: ignore[attr-defined]


class FakeTorch(ModuleType):
    """Replaces torch, and records its calls."""

    def __init__(self) -> None:
        super().__init__("torch")
        self.calls: list[tuple[float, int]] = []
        self.cuda = SimpleNamespace(
            set_per_process_memory_fraction=lambda part, device: self.calls.append((part, device))
        )


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> FakeTorch:
    built = FakeTorch()
    monkeypatch.setitem(sys.modules, "torch", built)
    return built


def test_half_of_a_t4(torch: FakeTorch) -> None:
    done = of_limit("torch", environ=dict(HALF), totals_mib=[15360])
    assert torch.calls == [(0.466, 0)]
    assert (done.applied, done.isolation, done.portion) == (("torch",), "none", 0.5)
    assert (done.budgets_mib, done.totals_mib, done.fractions) == ((7680,), (15360,), (0.466,))


def test_a_share_is_not_scaled_twice(torch: FakeTorch) -> None:
    """spec 7 W2: with HAMi-core, CUDA reports the share already."""
    environ = {**HALF, "CUDA_DEVICE_MEMORY_LIMIT": "7680m"}
    done = of_limit("torch", environ=environ, totals_mib=[7680])
    assert (done.isolation, torch.calls) == ("hamicore", [(0.933, 0)])


def test_the_limit_of_mps_is_the_budget(torch: FakeTorch) -> None:
    environ = {**HALF, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": "0=7650M,1=7650M"}
    done = of_limit("torch", environ=environ, totals_mib=[15360, 7650])
    assert (done.isolation, done.budgets_mib) == ("mps", (7650, 7650))
    assert torch.calls == [(0.464, 0), (0.933, 1)]


def test_each_device_and_process_gets_its_part(torch: FakeTorch) -> None:
    of_limit("torch", environ=dict(HALF), totals_mib=[15360, 15360], processes=2)
    assert torch.calls == [(0.216, 0), (0.216, 1)]


def test_limiting_is_idempotent(torch: FakeTorch) -> None:
    first = of_limit("torch", environ=dict(HALF), totals_mib=[15360])
    assert of_limit("torch", environ=dict(HALF), totals_mib=[40960]) is first
    assert len(torch.calls) == 1


def test_the_driver_is_queried_in_its_own_process(
    torch: FakeTorch,
    libcuda: Callable[..., str],
    started_in: Callable[[], int | None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kai.runtime.driver.memory_of_devices, "__defaults__", ((libcuda(15360),),))
    of_limit("torch", environ=dict(HALF))
    assert torch.calls == [(0.466, 0)]
    assert started_in() not in (None, 0)


def test_without_an_announced_share_nothing_is_limited(torch: FakeTorch) -> None:
    with pytest.warns(RuntimeWarning, match="this container has no share of a GPU"):
        done = of_limit("torch", environ={}, totals_mib=[15360])
    assert (torch.calls, done.applied, done.fractions) == ([], (), ())


def test_a_too_small_share_causes_a_warning(torch: FakeTorch) -> None:
    with pytest.warns(RuntimeWarning, match="leaves nothing after 512 MiB"):
        done = of_limit("torch", environ={"GPU_PORTION": "0.03"}, totals_mib=[15360])
    assert (torch.calls, len(done.problems)) == ([], 1)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("headroom_mib", -100_000),  # the part would be 10 devices
        ("headroom_mib", float("nan")),
        ("headroom_mib", "512"),
        ("processes", 0),
        ("processes", 1.5),
    ],
)
def test_a_wrong_number_does_not_stop_the_pod(torch: FakeTorch, name: str, value: Any) -> None:
    numbers: dict[str, Any] = {name: value}
    with pytest.warns(RuntimeWarning, match=f"{name} is .*: write a whole number of at least"):
        done = of_limit("torch", environ=dict(HALF), totals_mib=[10000], **numbers)
    assert (done.applied, torch.calls) == ((), [])


def test_a_framework_that_fails_does_not_stop_the_pod(torch: FakeTorch) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("out of luck")

    torch.cuda.set_per_process_memory_fraction = fail
    with pytest.warns(RuntimeWarning, match="RuntimeError: out of luck"):
        assert of_limit("torch", environ=dict(HALF), totals_mib=[15360]).applied == ()


def test_an_unknown_framework_causes_a_warning() -> None:
    with pytest.warns(RuntimeWarning, match="write one of torch, tensorflow, jax, cupy"):
        of_limit("abacus", environ=dict(HALF), totals_mib=[15360])


def test_a_missing_driver_causes_a_warning(
    torch: FakeTorch, monkeypatch: pytest.MonkeyPatch
) -> None:
    default = (("libnothing-at-all.so",),)
    monkeypatch.setattr(kai.runtime.driver.memory_of_devices, "__defaults__", default)
    with pytest.warns(RuntimeWarning, match="no driver library was found"):
        of_limit("torch", environ=dict(HALF))
    with pytest.warns(RuntimeWarning, match="there is no GPU to limit"):
        of_limit("torch", environ=dict(HALF), totals_mib=[])
    assert torch.calls == []


def test_jax_gets_its_limit_in_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    environ = dict(HALF)
    of_limit("jax", environ=environ, totals_mib=[15360, 16384])
    assert environ["XLA_CLIENT_MEM_FRACTION"] == "0.466"


def test_jax_with_a_setting_or_already_started_is_not_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    environ = {**HALF, "XLA_PYTHON_CLIENT_MEM_FRACTION": "0.3"}
    with pytest.warns(RuntimeWarning, match=r"already has XLA_PYTHON_CLIENT_MEM_FRACTION=0\.3"):
        of_limit("jax", environ=environ, totals_mib=[15360])
    bridge = SimpleNamespace(backends_are_initialized=lambda: True)
    monkeypatch.setitem(sys.modules, "jax._src.xla_bridge", bridge)  # type: ignore[arg-type]
    with pytest.warns(RuntimeWarning, match="already uses the GPU"):
        of_limit("jax", environ=dict(HALF), totals_mib=[15360])
    assert "XLA_CLIENT_MEM_FRACTION" not in environ


def test_tensorflow_gets_its_limit_as_logical_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, list[int]]] = []
    config = SimpleNamespace(
        list_physical_devices=lambda kind: [f"{kind}:0"],
        LogicalDeviceConfiguration=lambda memory_limit: memory_limit,
        set_logical_device_configuration=lambda gpu, wanted: calls.append((gpu, wanted)),
    )
    monkeypatch.setitem(sys.modules, "tensorflow", SimpleNamespace(config=config))  # type: ignore[arg-type]
    of_limit("tensorflow", environ=dict(HALF), totals_mib=[15360])
    assert calls == [("GPU:0", [7168])]


def test_cupy_gets_its_limit_as_a_pool_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    from contextlib import nullcontext

    calls: list[int] = []
    pool = SimpleNamespace(set_limit=lambda size: calls.append(size))
    cupy = SimpleNamespace(
        cuda=SimpleNamespace(Device=lambda ordinal: nullcontext(ordinal)),
        get_default_memory_pool=lambda: pool,
    )
    monkeypatch.setitem(sys.modules, "cupy", cupy)  # type: ignore[arg-type]
    of_limit("cupy", environ=dict(HALF), totals_mib=[15360])
    assert calls == [7168 * 1024**2]


def test_auto_limits_imported_frameworks(torch: FakeTorch) -> None:
    assert of_limit(environ=dict(HALF), totals_mib=[15360]).applied == ("torch",)
    assert len(torch.calls) == 1


def test_auto_without_a_framework_causes_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LIMIT, "_frameworks", lambda _: [])
    with pytest.warns(RuntimeWarning, match="no framework was found"):
        of_limit(environ=dict(HALF), totals_mib=[15360])
