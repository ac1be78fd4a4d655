"""The webhooks of KAI's API, with the names and paths of KAI's operator (spec 6 C16): one table.

>>> [each.path for each in WEBHOOKS if each.kind == "Pod"]
['/mutate--v1-pod', '/validate--v1-pod']
>>> BY_PATH["/validate--v1-pod"].name_in("kai")
'admission.kai.svc'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SERVICE = "admission"
"""The Service of the webhooks, as KAI's: certificates and registrations of either are valid for
both."""
SERVICE_PORT, PORT = 443, 9443
SECRET = "kai-admission-webhook-tls-secret"
"""Where the certificates are kept (spec 6 C12)."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """`configuration`: the name of its registration. `name`: {namespace} is that of the Service.
    `kind`: of the objects that are reviewed."""

    configuration: str
    name: str
    path: str
    kind: str
    operations: tuple[str, ...]
    mutates: bool = False

    def name_in(self, namespace: str) -> str:
        return self.name.format(namespace=namespace)

    @property
    def registration(self) -> str:
        """The kind of its registration."""
        return f"{'Mutating' if self.mutates else 'Validating'}WebhookConfiguration"


_PODS = "admission.{namespace}.svc"
_WRITES = ("CREATE", "UPDATE")

WEBHOOKS = (
    Webhook("mutating-kai-admission", _PODS, "/mutate--v1-pod", "Pod", ("CREATE",), mutates=True),
    Webhook("validating-kai-admission", _PODS, "/validate--v1-pod", "Pod", _WRITES),
    Webhook(
        "validating-kai-admission",
        f"topology.{_PODS}",
        "/validate-kai-scheduler-v1alpha1-topology",
        "Topology",
        _WRITES,
    ),
    Webhook(
        "kai-queue-validation-v2",
        "queue-validation.kai.scheduler",
        "/validate-scheduling-run-ai-v2-queue",
        "Queue",
        (*_WRITES, "DELETE"),  # KAI does not review deletions
    ),
    Webhook(
        "kai-podgroup-validation-v2alpha2",
        "podgroup-validation.kai.scheduler",
        "/validate-scheduling-run-ai-v2alpha2-podgroup",
        "PodGroup",
        _WRITES,
    ),
)

BY_PATH: Mapping[str, Webhook] = {each.path: each for each in WEBHOOKS}
CONFIGURATIONS: Mapping[str, str] = {each.configuration: each.registration for each in WEBHOOKS}
"""The kind of each registration, by its name."""
