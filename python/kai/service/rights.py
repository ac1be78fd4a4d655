"""Missing rights: logs each one once, and again when it has been granted.

    rights = Rights(log, clock.monotonic)
    rights.is_missing(denial)                        # logs it once
    await clock.sleep(rights.wait(denial))           # before the next try
    rights.is_there("create", "pods/binding", "")    # after a request that was allowed

A right for which a thousand requests are refused is one line, and another one after five minutes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from kai.api.resources import RESOURCES
from kai.api.writes import Write
from kai.install import access, manifests
from kai.k8s.answers import Denial
from kai.service.log import Log

LOG_AGAIN_S = 300.0
FIRST_WAIT_S, MOST_WAIT_S = 1.0, 30.0
MOST_NAMESPACES = 1000
"""The most namespaces remembered for one missing right."""

Right = tuple[str, str, str]
"""Verb, resource and API group, as in a ClusterRole."""


class _Missing:
    """`since`: the first refusal, `last`: the last one. `logged`: the time of the last log line."""

    def __init__(self, now: float) -> None:
        self.since, self.last, self.logged = now, now, float("-inf")
        self.namespaces: set[str] = set()


class Rights:
    """For the event loop."""

    def __init__(self, log: Log, clock: Callable[[], float]) -> None:
        self._log, self._clock = log, clock
        self._missing: dict[Right, _Missing] = {}

    def __len__(self) -> int:
        """The number of missing rights."""
        return len(self._missing)

    def is_missing(self, denial: Denial) -> None:
        """A request was refused."""
        now = self._clock()
        known = self._missing.setdefault(denial.right, _Missing(now))
        known.last = now
        if len(known.namespaces) < MOST_NAMESPACES:
            known.namespaces.add(denial.namespace)
        if now - known.logged < LOG_AGAIN_S:
            return
        known.logged = now
        fields = {"group": denial.group, "namespace": denial.namespace, "user": denial.user}
        self._log.warning(
            f"may not {denial.verb} {denial.resource}",
            **{name: value for name, value in fields.items() if value},
            fix=fix(denial),
        )

    def wait(self, denial: Denial) -> float:
        """Seconds until the next try: as long as the right has been missing, 1 to 30."""
        known = self._missing.get(denial.right)
        since = 0.0 if known is None else self._clock() - known.since
        return min(MOST_WAIT_S, max(FIRST_WAIT_S, since))

    def is_there(
        self, verb: str, resource: str, group: str, namespace: str = "", *, took: float = 0.0
    ) -> None:
        """A request was allowed, `took` seconds after it was sent. A request sent before the last
        refusal proves nothing. A right for a namespace may still be missing in others."""
        known = self._missing.get((verb, resource, group))
        if known is None or self._clock() - took < known.last:
            return
        known.namespaces.discard(namespace)
        if not known.namespaces:
            del self._missing[verb, resource, group]
            self._log.info(f"may {verb} {resource} again", **({"group": group} if group else {}))


def right_of(write: Write) -> Right | None:
    """The right that a write needs; None for a kind that is in no table."""
    row = RESOURCES.get(write.kind)
    if row is None:
        return None
    resource = f"{row.plural}/{write.subresource}" if write.subresource else row.plural
    return write.verb, resource, row.group


def fix(denial: Denial) -> str:
    """How to grant the right."""
    if denial.right not in _granted():
        if denial.verb == "get":
            return f"a ClusterRole with the label {access.OWNERS_LABEL}=true that allows it"
        return "a ClusterRole that allows it"
    option = ""
    if denial.resource == "leases" and denial.namespace != manifests.NAMESPACE:
        option = f" --namespace {denial.namespace}"
    return f"apply what kai install{option} prints"


@cache
def _granted() -> frozenset[Right]:
    rules = access.rules_of(access.ALL)
    return frozenset((verb, rule.resource, rule.group) for rule in rules for verb in rule.verbs)
