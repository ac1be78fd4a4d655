"""Checks of queues: whether KAI can place pods of them (spec 7 C11, spec 5 A10)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kai.admission import queues
from kai.admission.finding import Finding, Path, error, refusal, warning
from kai.admission.trees import ancestors, is_own_ancestor
from kai.api import defaults, keys, kinds
from kai.api.numerals import numeral
from kai.api.reading import at, mapping, text


@dataclass(frozen=True)
class Queues:
    """The known queues of a cluster. complete: there are no others. given: not only those of `kai
    install`, which a cluster has anyway; otherwise any name may be that of a queue. without_quota:
    the resources for which a queue has no quota. limits: of the given queues, by resource. checked:
    the queues whose own objects are checked.
    """

    parents: Mapping[str, str | None]
    complete: bool
    given: bool = True
    without_quota: Mapping[str, frozenset[str]] = field(default_factory=dict)
    limits: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    checked: frozenset[str] = frozenset()

    @staticmethod
    def of(
        manifests: Iterable[Mapping[str, Any]] | None, checked: Iterable[Mapping[str, Any]]
    ) -> Queues:
        """manifests: all queues of the cluster, if they are given. checked: those of the input."""
        complete = manifests is not None
        checked = [each for each in checked if _is_queue(each)]
        given = [*(each for each in manifests or () if _is_queue(each)), *checked]
        found = _parents(given)
        beside = [] if complete else defaults.queues()
        installed = _parents(beside)
        without = {
            text(at(each, "metadata", "name")): frozenset(
                name
                for name in queues.RESOURCES
                if not at(each, "spec", "resources", name, "quota")
            )
            for each in (*beside, *given)
        }
        limits = {
            text(at(each, "metadata", "name")): {
                name: limit
                for name in queues.RESOURCES
                if isinstance(limit := at(each, "spec", "resources", name, "limit"), (int, float))
                and limit >= 0
            }
            for each in given
        }
        names = frozenset(_parents(checked))
        return Queues(installed | found, complete, bool(found), without, limits, names)

    def lacks_default(self) -> bool:
        """Whether queues are given, and the one for pods that name none is not among them."""
        return self.given and defaults.DEFAULT_QUEUE not in self.limits

    def has_children(self, name: str) -> bool:
        return name in self.parents.values()

    def check_use(self, name: str, where: Path) -> Iterator[Finding]:
        """Checks that pods can use this queue."""
        if name not in self.parents:
            if self.given or self.complete:
                make = error if self.complete else warning
                where_given = "" if self.complete else " in the given files"
                yield make(
                    "queue-unknown",
                    where,
                    f"there is no queue {name}{where_given}: "
                    "pods of a queue that does not exist wait",
                    f"write one of {', '.join(self._leaves()) or 'those of the cluster'}",
                )
            return
        if self.has_children(name):
            yield error(
                "queue-not-leaf",
                where,
                f"queue {name} has child queues: KAI places no pods of such a queue",
                "write one of its leaf queues: " + ", ".join(self._leaves_below(name)),
            )
        elif self.parents[name] is None and name not in self.checked:
            yield warning(
                "queue-without-parent", where, _no_parent(name), "give the queue a parent"
            )

    def _leaves(self) -> list[str]:
        return sorted(
            name
            for name, parent in self.parents.items()
            if parent is not None and not self.has_children(name)
        )

    def _leaves_below(self, name: str) -> list[str]:
        return [leaf for leaf in self._leaves() if name in ancestors(leaf, self.parents)]

    def check_deletion(self, name: str, groups: Iterable[str]) -> Iterator[Finding]:
        """Checks that nothing is left in a queue that is deleted. `groups`: its pod groups."""
        if children := sorted(child for child, above in self.parents.items() if above == name):
            yield refusal(
                "queue-in-use",
                ("metadata", "name"),
                f"queue {name} has child queues, which KAI ignores without their parent",
                f"delete {_some(children)} first",
            )
        if there := sorted(groups):
            yield refusal(
                "queue-in-use",
                ("metadata", "name"),
                f"queue {name} still has pods, which would wait or run without a queue: those of"
                f" {_some(there)}",
                "delete them, or move them to another queue, first",
            )


WITHOUT_QUEUE = f"no queue is named: the pods use {defaults.DEFAULT_QUEUE}"
DEFAULT_NOT_GIVEN = (
    f"{WITHOUT_QUEUE}, which is not in the given files: plans add it with a quota of 0, and in a"
    " cluster without it the pods wait"
)
"""What lint and plans say of pods without a queue, if the default queue is not given."""


def _is_queue(manifest: Mapping[str, Any]) -> bool:
    """Whether this is a Queue of KAI; Volcano has Queues, too."""
    version = manifest.get("apiVersion")
    is_kais = version is None or kinds.group_of(text(version)) == keys.SCHEDULING_GROUP
    return is_kais and manifest.get("kind") == "Queue"


def _above_parents(queue: Mapping[str, Any], name: str, known: Queues) -> Iterator[Finding]:
    """A quota that the queue can never use, as one of its ancestors has a smaller limit."""
    for resource in queues.RESOURCES:
        quota = at(queue, "spec", "resources", resource, "quota")
        if not isinstance(quota, (int, float)):
            continue
        for above in ancestors(name, known.parents):
            limit = known.limits.get(above, {}).get(resource)
            if limit is not None and quota > limit:
                yield warning(
                    "queue-quota-above-limit",
                    ("spec", "resources", resource, "quota"),
                    f"the quota is {numeral(quota)}, above the limit {numeral(limit)} of queue"
                    f" {above}, its ancestor: the queue never gets its quota",
                    f"write a quota of at most {numeral(limit)}, or a larger limit of {above}",
                )
                break


def _parents(manifests: Iterable[Mapping[str, Any]]) -> dict[str, str | None]:
    return {
        text(at(each, "metadata", "name")): text(at(each, "spec", "parentQueue")) or None
        for each in manifests
    }


def check_queue_object(queue: Mapping[str, Any], known: Queues) -> Iterator[Finding]:
    """Checks a Queue object."""
    name = text(at(queue, "metadata", "name"))
    parent = text(at(queue, "spec", "parentQueue"))
    if not parent and not known.has_children(name):
        yield warning(
            "queue-without-parent",
            ("spec",),
            _no_parent(name),
            "write parentQueue, and add a queue of that name",
        )
    elif is_own_ancestor(name, known.parents):
        yield error(
            "queue-cycle",
            ("spec", "parentQueue"),
            f'queue {name} is its own ancestor, through the parent queue "{parent}"',
            "write a parent that is not below the queue",
        )
    elif parent and parent not in known.parents:
        make = error if known.complete else warning
        where = "" if known.complete else " in the given files"
        yield make(
            "queue-parent-unknown",
            ("spec", "parentQueue"),
            f"there is no queue {parent}{where}, the parent of queue {name}",
            "add it first: KAI ignores a queue if its parent does not exist",
        )
    if any(queues.queue_refusals(queue)):
        return
    yield from queues.doubts(queue)
    yield from _above_parents(queue, name, known)
    resources = mapping(at(queue, "spec", "resources"))
    silent = [each for each in queues.RESOURCES if each not in resources]
    if silent:
        yield _no_limit(name, silent, ("spec",))
    for resource in queues.RESOURCES:
        if resource in resources and mapping(resources[resource]).get("limit") is None:
            yield _no_limit(name, [resource], ("spec", "resources", resource))


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _no_parent(name: str) -> str:
    """KAI places pods of such a queue, unless it flattens the hierarchy (spec 1 F12)."""
    only = "only if it runs with --full-hierarchy-fairness=false"
    return f"queue {name} has no parent: KAI ignores it, but {only}"


def _no_limit(name: str, resources: list[str], where: Path) -> Finding:
    *most, last = resources
    either = f"{', '.join(most)} or {last}" if most else last
    return warning(
        "queue-limit-zero",
        where,
        f"queue {name} has no limit of {either}, which counts as 0: no pod that requests"
        f" {'them' if most else last} is placed",
        "write limit: -1 for no limit",
    )
