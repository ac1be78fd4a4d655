"""What the registrations of the webhooks get from the program."""

import base64
from dataclasses import replace
from typing import Any

from kai.controllers.admission.registrations import (
    Ours,
    called_service,
    missing,
    with_authorities,
)

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


def test_a_program_that_no_server_has_reached_is_not_required() -> None:
    made = registration(PODS, webhook("ignored", "/validate--v1-pod", failurePolicy="Ignore"))
    first = missing(made, OURS, b"pem", is_reached=False)
    assert first is not None
    assert [sorted(each) for each in first["webhooks"]] == [["clientConfig", "name"]] * 2


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


AT_URL = replace(OURS, url="https://192.0.2.7:9443", policies={"Pod": "Ignore"})


def test_webhooks_at_another_address_get_ours() -> None:
    there = {**PODS, "clientConfig": {"url": "https://192.0.2.1:1/validate--v1-pod"}}
    call = {"url": "https://192.0.2.7:9443/validate--v1-pod", "caBundle": BUNDLE}
    patch = missing(registration(there), AT_URL, b"pem")
    assert patch is not None
    assert patch["webhooks"] == [{"name": "pods", "clientConfig": call}]
    created = with_authorities(registration(there), AT_URL, b"pem")
    assert created["webhooks"] == [{**PODS, "clientConfig": call}]
    assert missing(created, AT_URL, b"pem") is None


def test_with_a_url_webhooks_of_a_service_are_left_alone_and_named() -> None:
    assert missing(registration(PODS), AT_URL, b"pem") is None
    assert called_service(registration(PODS)) == "kai-scheduler/admission"
