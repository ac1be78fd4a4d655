"""The options of `kai run admission`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kai.api import webhooks
from kai.controllers.admission import Rules
from kai.service.admission.pems import LIFETIME_S

DRAIN_S = 10.0
"""After SIGTERM the webhooks still answer for this long: by then no API server connects to this
replica any more. It is less than the grace period of the pods."""


@dataclass(frozen=True, slots=True)
class AdmissionOptions:
    """`webhook_address`, `listen`: addresses of the webhooks and of the pages, "host:port"; the
    latter may be "". `service`, `secret`: names in `namespace`. `lifetime_s`: of a certificate.
    `policies`: the failure policy by kind of the reviewed objects; Fail for the others."""

    rules: Rules = field(default_factory=Rules)
    namespace: str = "kai-scheduler"
    webhook_address: str = f":{webhooks.PORT}"
    listen: str = ""
    service: str = webhooks.SERVICE
    secret: str = webhooks.SECRET
    policies: Mapping[str, str] = field(default_factory=dict)
    lifetime_s: float = LIFETIME_S
    drain_s: float = DRAIN_S
