"""Who uses more of a GPU's memory than its share, from measurements of a node. No I/O.

shares = shares_of(pods, given)                     # what each pod may use
uses = uses_of(measurement, shares, rules)          # what each uses of each device
audited = audit(Before(), uses, now=12.0, rules=rules)
audited.events, audited.before
"""

from kai.controllers.gpu_audit.audit import Audited, Before, audit
from kai.controllers.gpu_audit.shares import PodShare, devices_given, shares_of
from kai.controllers.gpu_audit.uses import AuditRules, PodUse, ProcessUse, uses_of

__all__ = [
    "AuditRules",
    "Audited",
    "Before",
    "PodShare",
    "PodUse",
    "ProcessUse",
    "audit",
    "devices_given",
    "shares_of",
    "uses_of",
]
