"""What the program writes into the registrations of its webhooks: the authorities that the API
server trusts, and the failure policies.

    patch = missing(configuration, ours, authorities)       # None: it has everything

The chart makes the registrations, without authorities, and at first with the policy Ignore: no pod
is refused before the program runs. No I/O.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kai.api.reading import at, mapping, objects, text
from kai.api.webhooks import WEBHOOKS

FAIL, IGNORE = "Fail", "Ignore"


@dataclass(frozen=True, slots=True)
class Ours:
    """The Service of the webhooks. `policies`: the failure policy by kind of the reviewed objects;
    Fail for those without one."""

    namespace: str
    service: str
    policies: Mapping[str, str] = field(default_factory=dict)


def missing(
    configuration: Mapping[str, Any], ours: Ours, authorities: bytes
) -> dict[str, Any] | None:
    """A strategic merge patch with what the registration lacks. Webhooks that call another Service
    are left alone."""
    bundle = base64.b64encode(authorities).decode()
    changes: list[dict[str, Any]] = []
    for each in objects(configuration.get("webhooks")):
        service = mapping(at(each, "clientConfig", "service"))
        if (service.get("namespace"), service.get("name")) != (ours.namespace, ours.service):
            continue
        change: dict[str, Any] = {}
        if at(each, "clientConfig", "caBundle") != bundle:
            change["clientConfig"] = {"caBundle": bundle}
        policy = ours.policies.get(_KINDS.get(text(service.get("path")), ""), FAIL)
        if each.get("failurePolicy") != policy:
            change["failurePolicy"] = policy
        if change:
            changes.append({"name": each.get("name"), **change})
    if not changes:
        return None
    version = at(configuration, "metadata", "resourceVersion")
    return {"metadata": {"resourceVersion": version}, "webhooks": changes}


_KINDS = {each.path: each.kind for each in WEBHOOKS}
