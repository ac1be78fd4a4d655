"""Allocates the devices of resource claims before a pod is bound (spec 3 D9, D10).

The usual course for a claim: it is read, gets a finalizer if it has none, and one patch of its
status adds the devices and the pod as a user. Each patch names the version that was read. If
another writer changed the claim, the patch fails and the claim is read again. If the claim then
holds other devices, the binding fails, and the pod is planned again.

For extended resources that device classes provide, the claim is created first, with a name derived
from the pod; at the end the pod's status names it.

After a failed binding all changes are undone, and a new binding of the pod waits until that is
complete.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kai.api.writes import NOT_LEADING, Lane, Outcome, Read, Result, Verb, Write, delete_options
from kai.controllers.bindings import wait_of
from kai.controllers.claims import allocations
from kai.controllers.one_binding import CLAIMS, Binding
from kai.controllers.preparing import Given, Pod
from kai.controllers.waits import earliest

MOST_TRIES = 8
"""How often a claim is read again because it has changed."""
PLUGIN = "plugin dynamicresources failed in PreBind: "


@dataclass(slots=True, eq=False)
class _Claim:
    """One claim in progress. `wanted`: the devices it must hold; None: it holds some already.
    `gave`: this process allocated its devices. `requests`: the claim is created for the pod with
    these requests."""

    name: str
    wanted: Mapping[str, Any] | None
    requests: list[Mapping[str, Any]] | None = None
    found: Mapping[str, Any] | None = None
    classes: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    tries: int = 0
    on_their_way: int = 0  # writes without an answer yet
    touched: bool = False  # something may have been written
    gave: bool = False
    is_done: bool = False


@dataclass(slots=True, eq=False)
class _Task:
    """The claims of one binding. `mappings`: which container gets what from the claim that is
    created for the pod, until the pod names it. `undoes`: the binding has failed."""

    binding: Binding
    claims: list[_Claim]
    mappings: list[Mapping[str, Any]] | None = None
    named: bool = False  # the pod may name the claim that was created for it
    undoes: bool = False
    next: tuple[Binding, Pod] | None = None  # starts when the undoing is complete
    due: float | None = None
    failures: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class _About:
    task: _Task
    claim: _Claim | None  # None: the write is about the pod
    what: str

    @property
    def pods(self) -> Sequence[tuple[str, str]]:
        """The pods that wait for the write (kai.api.writes)."""
        return self.task.binding.pods


class ClaimGiver:
    """A giver of devices (kai.controllers.preparing)."""

    what = CLAIMS

    def __init__(self) -> None:
        self._tasks: dict[tuple[str, str], _Task] = {}  # by pod and UID

    def __len__(self) -> int:
        """The number of bindings in progress."""
        return len(self._tasks)

    # ---- what happens ----------------------------------------------------------------------------

    def needs(self, binding: Binding) -> bool:
        return CLAIMS in binding.needs

    def give(self, now: float, binding: Binding, pod: Pod) -> Given:
        given = Given()
        earlier = self._of(binding)
        if earlier is not None and earlier.undoes:
            earlier.next = (binding, pod)
        else:
            self._begin(given, binding, pod)
        return given

    def answered(self, now: float, write: Write, outcome: Outcome) -> Given:
        given = Given()
        about = write.about
        if not isinstance(about, _About):
            return given
        task, claim = about.task, about.claim
        if claim is not None:
            claim.on_their_way -= 1
        if self._tasks.get(task.binding.key) is not task:
            return given
        if task.undoes:
            self._undone(now, given, about, outcome)
        elif claim is None:
            self._pod_answered(given, task, outcome)
        else:
            self._claim_answered(given, about, claim, outcome)
        return given

    def read(self, now: float, read: Read, found: Any) -> Given:
        given = Given()
        about = read.about
        if not isinstance(about, _About) or about.claim is None:
            return given
        task, claim = about.task, about.claim
        if self._tasks.get(task.binding.key) is not task or (about.what == "undo") != task.undoes:
            return given
        if about.what == "class":
            claim.classes[read.name] = found or {}
        else:
            claim.found = found
        if task.undoes:
            self._undo(given, task, claim)
        else:
            self._step(given, task, claim)
        return given

    def waits_for(self, binding: Binding) -> str:
        task = self._of(binding)
        if task is None or task.undoes:
            return "the end of its previous binding, which is being undone"
        names = [f"{binding.namespace}/{each.name}" for each in task.claims if not each.is_done]
        return f"devices of the resource claim {', '.join(names)}" if names else "its own status"

    def take_back(self, binding: Binding) -> Given:
        given = Given()
        task = self._of(binding)
        if task is not None and task.undoes:
            task.next = None
        elif task is not None:
            self._take_back(given, task)
        return given

    def keep(self, binding: Binding) -> None:
        self._tasks.pop(binding.key, None)

    def tick(self, now: float) -> Given:
        given = Given()
        for task in list(self._tasks.values()):
            if task.due is not None and now >= task.due:
                task.due = None
                self._go_on_undoing(given, task)
        return given

    def next_tick(self) -> float | None:
        return earliest(each.due for each in self._tasks.values())

    def _of(self, binding: Binding) -> _Task | None:
        return self._tasks.get(binding.key)

    # ---- giving ----------------------------------------------------------------------------------

    def _begin(self, given: Given, binding: Binding, pod: Pod) -> None:
        names = allocations.names_of(pod)
        wanted = {
            each.get("name", ""): each.get("allocation")
            for each in binding.spec.get("resourceClaimAllocations") or ()
        }
        claims = {name: _Claim(name, wanted.get(use)) for use, name in names.items() if name}
        task = _Task(binding, list(claims.values()))
        self._tasks[task.binding.key] = task
        for use, name in names.items():
            if not name:
                why = (
                    f"no resource claim name found for pod {binding.pod} and claim reference {use}"
                )
                self._fail(given, task, why)
                return
        extended = binding.spec.get("extendedResourceClaimAllocation")
        if extended:
            existing = pod.get("status", {}).get("extendedResourceClaimStatus") or {}
            name = existing.get("resourceClaimName") or allocations.made_name(
                task.binding.own_name, binding.uid
            )
            requests = list(extended.get("deviceRequests") or ())
            task.claims.append(_Claim(name, extended.get("allocation") or {}, requests))
            task.mappings = list(extended.get("containerMappings") or ())
            task.named = bool(existing)
        for claim in task.claims:
            self._look(given, task, claim)
        self._settle(given, task)

    def _step(self, given: Given, task: _Task, claim: _Claim) -> None:
        """The next step for a claim in its current state."""
        found, uid = claim.found, task.binding.uid
        where = f"resource claim {task.binding.namespace}/{claim.name}"
        if found is None:
            if claim.requests is None:
                self._fail(given, task, f"{where} does not exist")
            else:
                self._make(given, task, claim)
            return
        held = allocations.allocation_of(found)
        if "deletionTimestamp" in found.get("metadata", {}):
            self._fail(given, task, f"{where} is being deleted")
        elif claim.requests is not None and not _is_owned(found, uid):
            self._fail(given, task, f"{where} was not made for this pod")
        elif held is None and claim.wanted is None:
            self._fail(given, task, f"the allocation of {where} is unknown")
        elif held is not None and claim.wanted and not allocations.is_same(held, claim.wanted):
            self._fail(given, task, f"{where} has other devices now")
        elif allocations.is_for(found, uid) and held is not None:
            claim.is_done = True
            self._settle(given, task)
        elif len(allocations.consumers(found)) >= allocations.MOST_CONSUMERS:
            most = allocations.MOST_CONSUMERS
            self._fail(given, task, f"{where} has reached its maximum number of consumers ({most})")
        else:
            self._write(given, task, claim, found, held)

    def _write(
        self,
        given: Given,
        task: _Task,
        claim: _Claim,
        found: Mapping[str, Any],
        held: Mapping[str, Any] | None,
    ) -> None:
        allocation = None
        if held is None and claim.wanted is not None:
            body = allocations.protected(found)
            if body is not None:
                given.writes.append(self._patch(task, claim, body, "protect"))
                return
            needed = allocations.classes_of(found, claim.wanted)
            missing = [name for name in sorted(needed) if name not in claim.classes]
            if missing:
                about = _About(task, claim, "class")
                given.reads.append(Read("DeviceClass", "", missing[0], about=about))
                return
            allocation = allocations.configured(claim.wanted, found, claim.classes)
        claim.touched = True
        claim.gave = claim.gave or allocation is not None
        body = allocations.status_with(found, task.binding.own_name, task.binding.uid, allocation)
        given.writes.append(self._patch(task, claim, body, "give", "status"))

    def _make(self, given: Given, task: _Task, claim: _Claim) -> None:
        claim.touched = True
        body = allocations.made_claim(
            *(
                task.binding.namespace,
                task.binding.own_name,
                task.binding.uid,
                claim.requests or (),
                claim.name,
            )
        )
        given.writes.append(self._write_of("create", task, claim, body, "make"))

    def _claim_answered(self, given: Given, about: _About, claim: _Claim, outcome: Outcome) -> None:
        task = about.task
        if outcome.result is Result.DONE and about.what == "give":
            claim.is_done = True
            self._settle(given, task)
        elif outcome.result in (Result.DONE, Result.CONFLICT, Result.LOST):
            claim.tries += outcome.result is not Result.DONE
            if claim.tries > MOST_TRIES:
                self._fail(given, task, f"resource claim {claim.name}: {outcome.message}")
            else:
                self._look(given, task, claim)
        else:
            why = outcome.message or "the API server did not answer"
            self._fail(given, task, f"resource claim {task.binding.namespace}/{claim.name}: {why}")

    def _settle(self, given: Given, task: _Task) -> None:
        """Called when a claim is done; finishes if all claims are ready."""
        if not all(claim.is_done for claim in task.claims):
            return
        if task.mappings is not None and not task.named:
            task.named = True
            body = allocations.pod_status(task.binding.uid, task.claims[-1].name, task.mappings)
            given.writes.append(self._pod_patch(task, body))
            return
        given.ready.append(task.binding)

    def _pod_answered(self, given: Given, task: _Task, outcome: Outcome) -> None:
        if outcome.result is Result.DONE:
            given.ready.append(task.binding)
        else:
            self._fail(given, task, outcome.message or "the API server did not answer")

    def _fail(self, given: Given, task: _Task, why: str) -> None:
        """Fails once; the binder then takes the binding back."""
        if task.binding not in (binding for binding, _ in given.failed):
            given.failed.append((task.binding, PLUGIN + why))

    # ---- taking back -----------------------------------------------------------------------------

    def _take_back(self, given: Given, task: _Task) -> None:
        task.undoes = True
        for claim in task.claims:
            claim.is_done = not claim.touched
        if task.mappings is not None and task.named:
            metadata = {"uid": task.binding.uid}
            body = {"metadata": metadata, "status": {"extendedResourceClaimStatus": None}}
            given.writes.append(self._pod_patch(task, body))
        self._go_on_undoing(given, task)

    def _go_on_undoing(self, given: Given, task: _Task) -> None:
        for claim in task.claims:
            if not claim.is_done and not claim.on_their_way:
                self._look(given, task, claim)
        self._finish_undoing(given, task)

    def _undo(self, given: Given, task: _Task, claim: _Claim) -> None:
        """Removes our changes from the claim in its current state."""
        found, uid, is_made = claim.found, task.binding.uid, claim.requests is not None
        if found is None or (is_made and not _is_owned(found, uid)):
            claim.is_done = True
        elif allocations.is_for(found, uid) or (
            is_made and allocations.allocation_of(found) is not None
        ):
            body = allocations.status_without(found, uid, frees=claim.gave or is_made)
            given.writes.append(self._patch(task, claim, body, "free", "status"))
        elif is_made and "deletionTimestamp" not in found["metadata"]:
            options = delete_options(found["metadata"].get("uid", ""))
            given.writes.append(self._write_of("delete", task, claim, options, "delete"))
        else:
            claim.is_done = True
        self._finish_undoing(given, task)

    def _undone(self, now: float, given: Given, about: _About, outcome: Outcome) -> None:
        task, claim = about.task, about.claim
        if outcome.reason == NOT_LEADING:
            del self._tasks[task.binding.key]  # another process may be about to bind the pod
        elif claim is None or claim.is_done:
            return
        elif outcome.result in (Result.FAILED, Result.REFUSED):
            task.due = now + wait_of(task.failures)
            task.failures += 1
        elif not claim.on_their_way:
            # Also after a write that was under way when the binding failed
            self._look(given, task, claim)

    def _finish_undoing(self, given: Given, task: _Task) -> None:
        if not all(claim.is_done for claim in task.claims) or task.binding.key not in self._tasks:
            return
        del self._tasks[task.binding.key]
        if task.next is not None:
            self._begin(given, *task.next)

    # ---- requests --------------------------------------------------------------------------------

    def _look(self, given: Given, task: _Task, claim: _Claim) -> None:
        about = _About(task, claim, "undo" if task.undoes else "look")
        given.reads.append(Read("ResourceClaim", task.binding.namespace, claim.name, about=about))

    def _patch(
        self, task: _Task, claim: _Claim, body: Mapping[str, Any], what: str, part: str = ""
    ) -> Write:
        return self._write_of("patch", task, claim, body, what, part)

    def _write_of(
        self,
        verb: Verb,
        task: _Task,
        claim: _Claim,
        body: Mapping[str, Any],
        what: str,
        part: str = "",
    ) -> Write:
        claim.on_their_way += 1
        return Write(
            *(Lane.BINDING, verb, "ResourceClaim", task.binding.namespace, claim.name, body, part),
            about=_About(task, claim, what),
        )

    def _pod_patch(self, task: _Task, body: Mapping[str, Any]) -> Write:
        return Write(
            *(
                Lane.BINDING,
                "patch",
                "Pod",
                task.binding.namespace,
                task.binding.own_name,
                body,
                "status",
            ),
            about=_About(task, None, "pod"),
        )


def _is_owned(claim: Mapping[str, Any], uid: str) -> bool:
    owners = claim.get("metadata", {}).get("ownerReferences") or ()
    return any(each.get("uid") == uid for each in owners)
