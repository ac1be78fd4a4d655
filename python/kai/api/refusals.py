"""Which part of a cluster refused a write: a webhook, a policy, a quota, or another admission rule.

    found = refusal(message)        # of the API server, or of a text that contains it
    found.sentence                  # 'the webhook "w" refuses it: no'
    found.fix                       # what a person can do about it

Admission runs before an object is stored, so a refused write has changed nothing. A later try may
succeed: a person can change the rule, and a webhook can answer again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

By = Literal["webhook", "policy", "quota", "security", "rule"]

REGISTRATIONS = "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations"
SWITCHING = "docs/howto/shadow.md#switch-from-kai-to-kai"

_OF_KAI: Mapping[str, str] = {
    "podgroup-validation.kai.scheduler": "kai-podgroup-validation-v2alpha2",
    "queue-validation.kai.scheduler": "kai-queue-validation-v2",
}
"""KAI's registrations (spec 6 C16) that must go when its programs are stopped, by webhook."""
_KAIS_ADMISSION = re.compile(r"(?:topology\.)?(?:kai-)?admission\.(?P<namespace>[^.]+)\.svc")


@dataclass(frozen=True, slots=True)
class Refusal:
    """`name`: of the webhook, policy or quota; "" for other rules. `answered`: False: a webhook
    that must agree gave no usable answer."""

    by: By
    name: str
    why: str
    answered: bool = True

    @property
    def sentence(self) -> str:
        """Without a full stop."""
        if not self.answered:
            return f'the webhook "{self.name}" cannot be called: {self.why or "no reason is given"}'
        refused = f"refuses it: {self.why}" if self.why else "refuses it without a reason"
        return f"{self.who} {refused}" if self.name else f"the API server {refused}"

    @property
    def who(self) -> str:
        """The rule in words."""
        match self.by:
            case "webhook":
                return f'the webhook "{self.name}"'
            case "policy":
                return f"the admission policy {self.name}"
            case "quota":
                return f"the resource quota {self.name}"
            case "security":
                return f'the Pod Security Standard "{self.name}"'
            case _:
                return "the API server"

    @property
    def fix(self) -> str:
        """What a person can do, as an instruction without a full stop."""
        match self.by:
            case "webhook":
                return self._fix_of_webhook()
            case "policy":
                return f"change the policy {self.name}, or the objects to which it is bound"
            case "quota":
                return f"raise the quota: kubectl get resourcequota {self.name} --all-namespaces"
            case "security":
                return "allow such pods with the labels pod-security.kubernetes.io of the namespace"
            case _:
                return "remove the cause that the API server names"

    def _fix_of_webhook(self) -> str:
        if self.answered:
            return f'change what the webhook "{self.name}" accepts: {REGISTRATIONS}'
        if registration := _OF_KAI.get(self.name):
            return (
                "if KAI's programs were stopped: kubectl delete validatingwebhookconfiguration"
                f" {registration} ({SWITCHING})"
            )
        if found := _KAIS_ADMISSION.fullmatch(self.name):
            return (
                "start KAI's webhook of pods again: kubectl scale deployment admission -n"
                f" {found['namespace']} --replicas=1 ({SWITCHING})"
            )
        return (
            f"start the program of the webhook again, or delete its registration: {REGISTRATIONS}"
        )


# The texts of Kubernetes 1.34 to 1.36. A refused name may be cut out of a longer text, so the
# reason ends at the end of the text.
_FORBIDDEN = r'[\w./-]+(?: "[^"]*")? is forbidden: '
_POLICY = r"(?:(?:Validating|Mutating)AdmissionPolicy|policy) ['\"](?P<policy>[^'\"]+)['\"]"
_TEXTS: tuple[tuple[By, str], ...] = (
    (
        "webhook",
        r'admission webhook "(?P<name>[^"]+)" denied the request(?:: (?P<why>.*)| without .*)',
    ),
    (
        "webhook",
        r'admission webhook "(?P<name>[^"]+)" (?P<why>does not support dry run|attempted .*)',
    ),
    (
        "webhook",
        r'(?:Internal error occurred: )?failed calling webhook "(?P<unanswered>[^"]+)"'
        r"(?:: (?P<why>.*)|; .*)",
    ),
    (
        "policy",
        rf"(?:{_FORBIDDEN})?{_POLICY}(?: with binding '[^']*')? denied request: (?P<why>.*)",
    ),
    ("quota", rf"{_FORBIDDEN}(?P<why>exceeded quota: (?P<name>[^,\s]+), .*)"),
    ("quota", rf"{_FORBIDDEN}failed quota: (?P<name>[^:\s]+): (?P<why>.*)"),
    ("quota", rf"{_FORBIDDEN}(?P<why>status unknown for quota: (?P<name>[^,\s]+), .*)"),
    ("security", rf'{_FORBIDDEN}violates PodSecurity "(?P<name>[^"]+)": (?P<why>.*)'),
    ("rule", rf"{_FORBIDDEN}(?!User \")(?P<why>.*)"),
)
_PATTERNS = tuple((by, re.compile(text, re.DOTALL)) for by, text in _TEXTS)
_REQUEST = re.compile(r'^failed to call webhook: (?:Post|Put) "[^"]*": ')


def refusal(text: str, *, inside: bool = False) -> Refusal | None:
    """The refusal that a message of the API server reports; None for other messages, also for a
    missing right.

    `inside`: the message may be a part of a longer text.
    """
    if "webhook" not in text and "denied" not in text and " is forbidden: " not in text:
        return None
    for by, pattern in _PATTERNS:
        found = pattern.search(text) if inside else pattern.match(text)
        if found is not None:
            groups = found.groupdict()
            name = groups.get("name") or groups.get("policy") or groups.get("unanswered") or ""
            why = _REQUEST.sub("", " ".join((groups.get("why") or "").split()))
            return Refusal(by, name, why, answered=not groups.get("unanswered"))
    return None
