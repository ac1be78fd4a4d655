"""What the registrations of the webhooks get from the program."""

from __future__ import annotations

import base64
from typing import Any

from kai.controllers.admission.registrations import Ours, missing

OURS = Ours("kai-scheduler", "admission", {"Topology": "Ignore"})
BUNDLE = base64.b64encode(b"pem").decode()


def webhook(name: str, path: str, service: str = "admission", **members: Any) -> dict[str, Any]:
    call = {"namespace": "kai-scheduler", "name": service, "path": path}
    return {"name": name, "clientConfig": {"service": call}, "failurePolicy": "Ignore", **members}


PODS = webhook("pods", "/validate--v1-pod")
TOPOLOGIES = webhook("topologies", "/validate-kai-scheduler-v1alpha1-topology")


def registration(*webhooks: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": "c", "resourceVersion": "7"}, "webhooks": list(webhooks)}


def test_a_new_registration_gets_the_authorities_and_the_policies() -> None:
    assert missing(registration(PODS, TOPOLOGIES), OURS, b"pem") == {
        "metadata": {"resourceVersion": "7"},
        "webhooks": [
            {"name": "pods", "clientConfig": {"caBundle": BUNDLE}, "failurePolicy": "Fail"},
            {"name": "topologies", "clientConfig": {"caBundle": BUNDLE}},
        ],
    }


def test_a_registration_with_everything_is_not_written() -> None:
    there = webhook("pods", "/validate--v1-pod", failurePolicy="Fail")
    there["clientConfig"]["caBundle"] = BUNDLE
    assert missing(registration(there), OURS, b"pem") is None
    patch = missing(registration(there), OURS, b"other")
    assert patch is not None
    assert list(patch["webhooks"][0]) == ["name", "clientConfig"]


def test_webhooks_of_other_services_are_left_alone() -> None:
    kais = webhook("kais", "/validate--v1-pod", service="queue-controller")
    by_url = {"name": "url", "clientConfig": {"url": "https://kai.example/"}}
    assert missing(registration(kais, by_url), OURS, b"pem") is None
    assert missing({}, OURS, b"pem") is None
