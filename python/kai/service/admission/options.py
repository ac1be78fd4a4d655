"""The options of `kai run admission`, and of `kai run all --webhooks`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from kai.api import webhooks
from kai.controllers.admission import Rules
from kai.service.admission.pems import LIFETIME_S

DRAIN_S = 10.0
"""After SIGTERM the webhooks still answer for this long: by then no API server connects to this
replica any more. It is less than the grace period of the pods."""


@dataclass(frozen=True, slots=True)
class AdmissionOptions:
    """`webhook_address`, `listen`: addresses of the webhooks and of the pages, "host:port"; without
    `listen` there are no pages. `service`, `secret`: names in `namespace`. `lifetime_s`: of a
    certificate. `policies`: the failure policy by kind of the reviewed objects; Fail for the
    others. `url`: "https://host:port", where API servers reach the program without the Service; it
    then makes the registrations itself, removes them at its end, and keeps no Secret."""

    rules: Rules = field(default_factory=Rules)
    namespace: str = "kai-scheduler"
    webhook_address: str = f":{webhooks.PORT}"
    listen: str = ""
    service: str = webhooks.SERVICE
    secret: str = webhooks.SECRET
    policies: Mapping[str, str] = field(default_factory=dict)
    lifetime_s: float = LIFETIME_S
    drain_s: float = DRAIN_S
    url: str = ""

    @property
    def host(self) -> str:
        """The name or the address that its certificate is valid for."""
        return urlsplit(self.url).hostname or f"{self.service}.{self.namespace}.svc"
