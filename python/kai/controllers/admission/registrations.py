"""What the program writes into the registrations of its webhooks: the authorities that the API
server trusts, and the failure policies.

    patch = missing(configuration, ours, authorities)       # None: it has everything

The chart makes the registrations, without authorities, and at first with the policy Ignore: no pod
is refused before API servers reach the program. With an address of its own, outside the cluster,
the program makes them itself. No I/O.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from kai.api.reading import at, mapping, objects, text
from kai.api.webhooks import WEBHOOKS

FAIL, IGNORE = "Fail", "Ignore"


@dataclass(frozen=True, slots=True)
class Ours:
    """The Service of the webhooks. `policies`: the failure policy by kind of the reviewed objects;
    Fail for those without one. `url`: "https://host:port", which API servers call instead of the
    Service."""

    namespace: str
    service: str
    policies: Mapping[str, str] = field(default_factory=dict)
    url: str = ""

    def calls(self, webhook: Mapping[str, Any]) -> bool:
        """Whether a webhook calls this program, at any address if it has a URL."""
        service = service_of(webhook)
        if self.url:
            return not service
        return (service.get("namespace"), service.get("name")) == (self.namespace, self.service)

    def call(self, path: str, authorities: bytes) -> dict[str, str]:
        """What `clientConfig` of a webhook needs."""
        trusted = {"caBundle": base64.b64encode(authorities).decode()}
        return {"url": self.url + path, **trusted} if self.url else trusted


def missing(
    configuration: Mapping[str, Any], ours: Ours, authorities: bytes, *, is_reached: bool = True
) -> dict[str, Any] | None:
    """A strategic merge patch with what the registration lacks. Webhooks that call another Service
    are left alone. `is_reached`: an API server has reached the program; before that it is not
    required."""
    changes: list[dict[str, Any]] = []
    for each in objects(configuration.get("webhooks")):
        if not ours.calls(each):
            continue
        there, path = mapping(each.get("clientConfig")), path_of(each)
        call = ours.call(path, authorities)
        lacking = {name: value for name, value in call.items() if there.get(name) != value}
        change: dict[str, Any] = {"clientConfig": lacking} if lacking else {}
        policy = ours.policies.get(_KINDS.get(path, ""), FAIL)
        if each.get("failurePolicy") != policy and (is_reached or policy == IGNORE):
            change["failurePolicy"] = policy
        if change:
            changes.append({"name": each.get("name"), **change})
    if not changes:
        return None
    version = at(configuration, "metadata", "resourceVersion")
    return {"metadata": {"resourceVersion": version}, "webhooks": changes}


def with_authorities(
    registration: Mapping[str, Any], ours: Ours, authorities: bytes
) -> dict[str, Any]:
    """A registration to create, whose webhooks have the URL of `ours`."""
    made = [
        {**each, "clientConfig": ours.call(path_of(each), authorities)}
        for each in objects(registration.get("webhooks"))
    ]
    return {**registration, "webhooks": made}


def called_service(registration: Mapping[str, Any]) -> str:
    """The first Service that a registration calls, "namespace/name"; "": none."""
    for each in objects(registration.get("webhooks")):
        if service := service_of(each):
            return f"{text(service.get('namespace'))}/{text(service.get('name'))}"
    return ""


def service_of(webhook: Mapping[str, Any]) -> Mapping[str, Any]:
    """The Service that a webhook calls; empty if it has a URL."""
    return mapping(at(webhook, "clientConfig", "service"))


def path_of(webhook: Mapping[str, Any]) -> str:
    url = text(at(webhook, "clientConfig", "url"))
    return text(service_of(webhook).get("path")) or urlsplit(url).path


_KINDS = {each.path: each.kind for each in WEBHOOKS}
