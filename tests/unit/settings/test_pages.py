"""Requests and settings in the form for a person."""

import json
from typing import Any

import pytest
import yaml

import kai
from kai.settings import Built, page


@pytest.mark.parametrize("orchestrator", kai.integrations.ORCHESTRATORS)
def test_the_page_of_settings_is_yaml(orchestrator: str) -> None:
    request = kai.pod_settings(queue="test", gpu_fraction=0.5, framework="torch", env={"A": "yes"})
    built = request.for_orchestrator(orchestrator, as_native=False)
    first = str(built).split("\n\n")[0]
    title, _, _ = first.partition("\n")
    assert title == f"Settings for {orchestrator}:"
    assert yaml.safe_load(first)[title[:-1]] == json.loads(json.dumps(dict(built)))


def test_the_page_has_warnings_and_unsupported_settings() -> None:
    built = kai.pod_settings(queue="test", gpu_fraction=0.5).for_kfp(as_native=False)
    text = str(built)
    assert "\n\nNot supported:\n  - scheduler_name: Kubeflow" in text
    assert "\n\nWarnings:\n  - nothing limits the pod to its share" in text
    assert "\n\nAn administrator must apply once:\n  - MutatingAdmissionPolicy kai-sched" in text
    assert repr(built) == "<settings for kfp: kubernetes; 1 not supported; 1 warning>"


def test_empty_settings_have_a_page() -> None:
    empty = Built(orchestrator="x", settings={}, native={}, pod={}, placement={})
    assert str(empty) == "Settings for x:\n  {}"
    assert repr(empty) == "<settings for x: nothing>"


@pytest.mark.parametrize(
    "value",
    [
        {"a": {}, "b": [], "c": None, "d": True, "e": 1.5, "f": ""},
        {"yes": "no", "5": "0x10", "null": "~", "x: y": "a: b", "k": "- a", "t": "2026-01-01"},
        {"lists": [[1, 2], [], [{"a": [{"b": "c"}]}]], "text": "two\nlines", "é": "ü #x"},
        {"s": " blank ", "q": '"', "star": "*a", "tab": "\t", "colon": "a:", "hash": "a #b"},
        {
            "n": "1_000",
            "e": "1e3",
            "o": "0o7",
            "sex": "1:30",
            "dot": ".5",
            "inf": ".inf",
            "eq": "=",
        },
    ],
)
def test_any_settings_are_read_back(value: dict[str, Any]) -> None:
    assert yaml.safe_load("\n".join(page.lines(value))) == value


def test_the_repr_of_a_request_has_only_the_given_arguments() -> None:
    request = kai.PodRequest(queue="test", gpu_fraction=0.5, gpu_type="T4", env={"A": "1"})
    assert repr(request) == (
        "PodRequest(queue='test', gpu_fraction=0.5, gpu_type='T4', env={'A': '1'})"
    )
    assert repr(kai.PodRequest()) == "PodRequest()"
    assert eval(repr(request), {"PodRequest": kai.PodRequest}) == request
    assert repr(kai.pod_settings(gpus=2)) == "PodSettings(gpus=2)"
