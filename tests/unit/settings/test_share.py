"""The arithmetic of a share of GPU memory, for six GPUs (spec 7 W1, W2)."""

from fractions import Fraction
from typing import Any

import pytest

from kai.api import gpu_memory
from kai.settings import PodRequest
from kai.settings.frameworks import settings_for
from kai.settings.share import Share


def share_of(**arguments: Any) -> Share:
    share = PodRequest(**arguments).share
    assert share is not None
    return share


# Table 24.1: M, M', R(0.5), L(0.5), R(0.125), L("0.12"), p(4096), its L, p(2000), its L.
CARDS = {
    "T4": (15360, 15300, 7650, 7680, 1912, 1843, 0.27, 4147, 0.14, 2150),
    "L4": (23034, 23000, 11500, 11517, 2875, 2764, 0.18, 4146, 0.09, 2073),
    "A100 40G": (40960, 40900, 20450, 20480, 5112, 4915, 0.11, 4505, 0.05, 2048),
    "A100 80G": (81920, 81900, 40950, 40960, 10237, 9830, 0.06, 4915, 0.03, 2457),
    "H100 80G": (81559, 81500, 40750, 40779, 10187, 9787, 0.06, 4893, 0.03, 2446),
    "H200": (143771, 143700, 71850, 71885, 17962, 17252, 0.03, 4313, 0.02, 2875),
}


@pytest.mark.parametrize("card", CARDS)
def test_a_device_is_shared_as_in_kai(card: str) -> None:
    total, *expected = CARDS[card]
    half, eighth = (
        gpu_memory.portion(total, fraction=0.5),
        gpu_memory.portion(total, fraction=0.125),
    )
    mib_4096, mib_2000 = (gpu_memory.portion(total, memory=mib) for mib in (4096, 2000))
    assert gpu_memory.announced(eighth) == "0.12"
    assert [
        gpu_memory.capacity(total),
        gpu_memory.reserved(total, fraction=0.5),
        gpu_memory.hami_limit(total, half),
        gpu_memory.reserved(total, fraction=0.125),
        gpu_memory.hami_limit(total, eighth),
        mib_4096,
        gpu_memory.hami_limit(total, mib_4096),
        mib_2000,
        gpu_memory.hami_limit(total, mib_2000),
    ] == expected


def test_limits_may_add_up_to_more_than_the_device() -> None:
    """71 pods of 2000 MiB fit an H200, and HAMi allows them 204,125 MiB of its 143,771."""
    fit = gpu_memory.capacity(143771) // gpu_memory.reserved(143771, memory=2000)
    limit = gpu_memory.hami_limit(143771, gpu_memory.portion(143771, memory=2000))
    assert (fit, limit and fit * limit) == (71, 204_125)


def test_a_portion_is_rounded_up_in_floating_point() -> None:
    assert Fraction(1071, 15300) == Fraction(7, 100)
    assert gpu_memory.portion(15360, memory=1071) == 0.08


@pytest.mark.parametrize(
    ("portion", "text"), [(0.125, "0.12"), (0.375, "0.38"), (0.004, "0.00"), (0.5, "0.50")]
)
def test_the_portion_in_the_pod_has_two_decimals(portion: float, text: str) -> None:
    assert gpu_memory.announced(portion) == text


def test_a_label_in_bytes_is_read_as_one() -> None:
    assert gpu_memory.capacity(15360 * 1024 * 1024) == gpu_memory.capacity(15360) == 15300
    assert gpu_memory.hami_limit(15360 * 1024 * 1024, 0.5) == 7680


def test_a_node_without_the_label_has_a_default_device() -> None:
    """No division by zero, and no limit that nothing sets."""
    assert gpu_memory.capacity(None) == 100
    assert gpu_memory.reserved(None, fraction=0.5) == 50
    assert gpu_memory.portion(None, memory=4096) == 40.96
    assert gpu_memory.hami_limit(None, 0.5) is None


def test_a_share_rounded_to_zero_is_not_limited() -> None:
    assert gpu_memory.hami_limit(15360, 0.004) is None


# Table 24.2: B, T and a.
EXAMPLES = [
    ("T4, half", 15360, {"gpu_fraction": 0.5}, "none", (7650, 15360, "0.464")),
    ("T4, half", 15360, {"gpu_fraction": 0.5}, "hamicore", (7680, 7680, "0.933")),
    ("T4, half", 15360, {"gpu_fraction": 0.5}, "guard", (7680, 7680, "0.933")),
    ("A100 80G, quarter", 81920, {"gpu_fraction": 0.25}, "none", (20475, 81920, "0.243")),
    ("T4, 4096 MiB", 15360, {"gpu_memory": 4096}, "none", (4096, 15360, "0.233")),
    ("T4, 4096 MiB", 15360, {"gpu_memory": 4096}, "hamicore", (4096, 4147, "0.864")),
    ("T4, 4096 MiB", 15360, {"gpu_memory": 4096}, "guard", (4096, 4096, "0.875")),
    ("A100 80G, 20 GiB", 81920, {"gpu_memory": 20480}, "none", (20480, 81920, "0.243")),
]


@pytest.mark.parametrize(("name", "total", "given", "isolation", "expected"), EXAMPLES)
def test_fractions_for_allocators(
    name: str, total: int, given: dict[str, object], isolation: str, expected: tuple[object, ...]
) -> None:
    share = share_of(**given, gpu_memory_total=total, isolation=isolation)
    part = share.allocator_fraction()
    assert part is not None
    assert (share.budget, share.total, f"{float(part):.3f}") == expected, name


@pytest.mark.parametrize("total", [15360, 23034, 81559, 143771])
@pytest.mark.parametrize("isolation", ["none", "guard", "hamicore"])
@pytest.mark.parametrize("processes", [1, 2, 3])
def test_processes_and_headroom_stay_within_the_share(
    total: int, isolation: str, processes: int
) -> None:
    for percent in range(20, 100, 7):
        share = share_of(
            gpu_fraction=percent / 100,
            gpu_memory_total=total,
            isolation=isolation,
            processes=processes,
        )
        part = share.allocator_fraction()
        whole = gpu_memory.reserved(total, fraction=percent / 100)
        if isolation == "hamicore":
            whole = gpu_memory.hami_limit(total, percent / 100) or 0
        elif isolation == "guard":
            whole = total * percent // 100
        assert share.total is not None
        assert part is not None
        taken = processes * (part * share.total + share.headroom)
        assert taken <= whole
        assert taken > whole - processes * (share.total / 1000 + 1)  # and not far below it


def test_the_fraction_is_not_applied_twice_with_hami_core() -> None:
    """spec 7 W2: with HAMi-core the total is the share already."""
    share = share_of(gpu_fraction=0.5, gpu_memory_total=15360, isolation="hamicore")
    part = share.allocator_fraction()
    assert part is not None
    assert share.total is not None
    assert part * share.total > 7000


def test_the_fraction_of_an_unknown_device_has_headroom() -> None:
    """spec 7 W3."""
    assert share_of(gpu_fraction=0.5).allocator_fraction() == Fraction(475, 1000)
    assert share_of(gpu_fraction=0.3).allocator_fraction() == Fraction(285, 1000)
    assert share_of(gpu_fraction=0.1).allocator_fraction() == Fraction(95, 1000)
    assert share_of(gpu_fraction=0.09).allocator_fraction() is None
    assert share_of(gpu_fraction=0.5, processes=6).allocator_fraction() is None
    assert share_of(gpu_memory=4096).allocator_fraction() is None
    for isolation in ("guard", "hamicore"):
        assert share_of(gpu_fraction=0.5, isolation=isolation).allocator_fraction() is None
    # The guard shows a requested amount as the size of any device.
    guarded = share_of(gpu_memory=4096, isolation="guard")
    assert (guarded.total, guarded.allocator_fraction()) == (4096, Fraction(875, 1000))


def test_a_client_of_mps_gets_its_limits_where_it_would_get_the_guard() -> None:
    """CUDA reports the whole device then: 0.933 of it would be twice the share."""
    request = PodRequest(
        gpu_fraction=0.5, gpu_memory_total=15360, isolation="guard", mps=True, framework="jax"
    )
    settings = settings_for(request)
    assert settings.env == {"XLA_CLIENT_MEM_FRACTION": "0.464"}
    assert (request.isolated_by, settings.volumes, settings.warnings) == ("mps", (), ())
