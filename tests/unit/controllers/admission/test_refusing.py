"""Rejected pods, beyond the recordings of KAI (tests/conformance)."""

from typing import Any

import pytest

from kai import admission
from kai.admission.pods import pods_in
from kai.controllers.admission import Rules, refusals

DEVICES = "NVIDIA_VISIBLE_DEVICES"
FRACTION = "gpu-fraction annotation value must be a positive number smaller than 1.0"
WRITTEN = (
    "gpu-fraction annotation value must be a float written with a decimal point or a scientific"
    " notation .given value: "
)
MEMORY = "gpu-memory annotation value must be a positive integer greater than 0"
COUNT = "fraction count annotation value must be a positive integer greater than 0"


def pod(annotations: dict[str, str], *containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "team", "annotations": annotations},
        "spec": {"containers": list(containers) or [{"name": "main"}], **spec},
    }


def first(given: dict[str, Any], **rules: Any) -> str:
    return next(iter(refusals(given, Rules(**rules))), "")


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        ("0.5", ""),
        (".5", ""),
        ("5e-1", ""),
        ("+0.5", ""),
        ("1e-9", ""),
        ("1.0", FRACTION),
        ("500m", FRACTION),
        (" 0.5", FRACTION),
        ("inf", FRACTION),
        ("-0", FRACTION),
        ("0.\u0665", FRACTION),
        ("0x1p-400000", FRACTION),
        ("0x0.8", FRACTION),
        ("1__0", FRACTION),
        ("0x1p-1", f"{WRITTEN}0x1p-1"),
        ("nan", f"{WRITTEN}nan"),
        ("0.5_0", f"{WRITTEN}0.5_0"),
    ],
)
def test_fractions_are_checked(value: str, answer: str) -> None:
    assert first(pod({"gpu-fraction": value})) == answer


@pytest.mark.parametrize(
    ("value", "is_good"),
    [("1", True), ("007", True), ("18446744073709551615", True)]
    + [(each, False) for each in ("18446744073709551616", "+5", "0", "", "1.0", "\u0665", "5 ")],
)
def test_whole_numbers_are_checked(value: str, is_good: bool) -> None:
    assert first(pod({"gpu-memory": value})) == ("" if is_good else MEMORY)
    devices = pod({"gpu-fraction": "0.5", "gpu-fraction-num-devices": value})
    assert first(devices) == ("" if is_good else COUNT)


def test_parts_of_gpus_may_be_disabled() -> None:
    for key in ("gpu-fraction", "gpu-memory"):
        assert first(pod({key: ""}), sharing=False) == (
            "attempting to create a pod team/p with gpu sharing request, while GPU sharing is"
            " disabled"
        )
    assert first(pod({}), sharing=False) == ""


def test_mps_needs_a_part_of_a_gpu() -> None:
    message = "MPS is only supported with GPU fraction request"
    assert first(pod({"mps": "true"})) == message
    assert first(pod({"mps": "false"})) == ""
    assert first(pod({"mps": "true", "gpu-fraction": "0.5"})) == ""


@pytest.mark.parametrize("part", ["containers", "initContainers"])
def test_a_limit_of_whole_gpus_beside_a_part_is_refused_even_if_it_is_zero(part: str) -> None:
    beside = {"name": "other", "resources": {"limits": {"nvidia.com/gpu": "0"}}}
    given = pod({"gpu-fraction": "0.5"}, **{part: [{"name": "main"}, beside]})
    assert first(given).startswith("cannot have both GPU fraction request and whole GPU")


def test_all_reasons_are_listed_and_kais_first() -> None:
    found = refusals(pod({"gpu-fraction": "2", "gpu-memory": "x"}), Rules())
    assert found == ["cannot request both GPU and GPU memory", MEMORY, FRACTION]


def test_blocking_refuses_containers_that_choose_devices() -> None:
    chosen = {"name": "side", "env": [{"name": DEVICES, "value": "all"}]}
    reference = {"name": "side", "env": [{"name": DEVICES, "valueFrom": {"fieldRef": {}}}]}
    hidden = [{"name": "a", "env": [{"name": DEVICES, "value": v}]} for v in ("void", "none", "")]
    assert first(pod({}, chosen)) == ""
    assert first(pod({}, chosen), blocks_devices=True) == (
        "container side has an environment variable NVIDIA_VISIBLE_DEVICES defined with a value of"
        " all. This is forbidden due to conflicts with Nvidia's device plugin. The only values that"
        " are allowed are 'void' or 'none'"
    )
    assert first(pod({}, reference), blocks_devices=True) == (
        "container side has an environment variable NVIDIA_VISIBLE_DEVICES defined with a valueFrom"
        " reference. This is forbidden due to possible conflicts with Nvidia's device plugin"
    )
    assert first(pod({}, *hidden), blocks_devices=True) == ""
    assert first(pod({"gpu-fraction": "0.5"}, reference), blocks_devices=True) == ""


@pytest.mark.parametrize(
    "annotations",
    [
        {"gpu-fraction": value}
        for value in ("0.5", "1", "0", "-0.5", "NaN", "half", "", "0.001", "0x1p-1", "500m")
    ]
    + [{"gpu-memory": value} for value in ("4000", "0", "-5", "4Gi", "4000.5", "", "+5")]
    + [
        {"gpu-fraction": "0.5", "gpu-memory": "4000"},
        {"gpu-fraction-num-devices": "2"},
        {"gpu-fraction": "0.5", "gpu-fraction-num-devices": "0"},
        {"gpu-fraction": "0.5", "gpu-fraction-num-devices": "two"},
        {"gpu-fraction": "0.5", "gpu-fraction-container-name": "nothere"},
        {"gpu-fraction": "0.5", "gpu-fraction-container-name": "main"},
        {"mps": "true"},
        {"mps": "true", "gpu-memory": "100"},
    ],
)
def test_lint_refuses_what_admission_refuses(annotations: dict[str, str]) -> None:
    given = pod(annotations)
    reported = list(admission.refusals(pods_in(given), scheduler="kai-scheduler"))
    assert bool(reported) == bool(refusals(given, Rules()))
