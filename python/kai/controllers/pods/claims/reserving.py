"""Allocates the devices of resource claims before a pod is bound (spec 3 D9, D10).

The usual course for a claim: it is read, gets a finalizer if it has none, and one patch of its
status adds the devices and the pod as a user. Each patch names the version that was read. If
another writer changed the claim, the patch fails and the claim is read again. If the claim then
holds other devices, the binding fails, and the pod is planned again.

For extended resources that device classes provide, the claim is created first, with a name derived
from the pod; at the end the pod's status names it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kai.api.writes import Lane, Read, Result, Verb, Write, delete_options
from kai.controllers.courses import All, Find, Send, Until
from kai.controllers.pods.claims import allocations
from kai.controllers.pods.course import (
    Pod,
    PodCourse,
    Refused,
    answer_of,
    check_lease,
    wait_of,
)
from kai.controllers.pods.decisions import CLAIMS, Binding

MOST_TRIES = 8
"""How often a claim is read again because it has changed."""
PLUGIN = "plugin dynamicresources failed in PreBind: "

Found = Mapping[str, Any]


@dataclass(slots=True, eq=False)
class _Claim:
    """One claim. `wanted`: the devices it must hold; None: it holds some already. `requests`: the
    claim is created for the pod with these requests. `is_touched`: something may have been written.
    `was_used`: an earlier process has added the pod as a user. `uid`: of its object, once it was
    read."""

    name: str
    wanted: Mapping[str, Any] | None
    requests: list[Mapping[str, Any]] | None = None
    classes: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    is_touched: bool = False
    was_used: bool = False
    uid: str = ""
    is_done: bool = False


class Claims:
    """A reserver of devices (kai.controllers.pods.course). `gave`: the UIDs of claims whose devices
    this process allocated, and that no bound pod uses: the last of their pods releases them."""

    what = CLAIMS

    def __init__(self) -> None:
        self.gave: set[str] = set()

    def needs(self, binding: Binding) -> bool:
        return CLAIMS in binding.needs

    def step(self, course: PodCourse, pod: Pod) -> ClaimsOfPod:
        return ClaimsOfPod(course, pod, self.gave)


class ClaimsOfPod:
    """A step."""

    def __init__(self, course: PodCourse, pod: Pod, gave: set[str]) -> None:
        self._course, self._binding, self._gave = course, course.binding, gave
        self._names = allocations.names_of(pod)
        self._claims = self._claims_of(self._binding, pod)
        self._is_named = bool(_extended_status(pod))  # the pod may name the claim created for it
        self._failures = 0

    def _claims_of(self, binding: Binding, pod: Pod) -> list[_Claim]:
        wanted = {
            each.get("name", ""): each.get("allocation")
            for each in binding.spec.get("resourceClaimAllocations") or ()
        }
        found = {name: _Claim(name, wanted.get(use)) for use, name in self._names.items() if name}
        claims = list(found.values())
        extended = binding.spec.get("extendedResourceClaimAllocation")
        if extended:
            made = allocations.made_name(binding.own_name, binding.uid)
            name = _extended_status(pod).get("resourceClaimName") or made
            requests = list(extended.get("deviceRequests") or ())
            claims.append(_Claim(name, extended.get("allocation") or {}, requests))
        return claims

    @property
    def waits_for(self) -> str:
        names = [f"{self._binding.namespace}/{each.name}" for each in self._open()]
        return f"devices of the resource claim {', '.join(names)}" if names else "its own status"

    async def reserve(self) -> None:
        try:
            await self._reserve_all()
        except Refused as end:
            raise Refused(f"{PLUGIN}{end.why}" if end.why else "") from None

    def leave(self) -> None:
        self.keep()

    def keep(self) -> None:
        self._gave.difference_update(each.uid for each in self._claims)

    def _open(self) -> list[_Claim]:
        return [each for each in self._claims if not each.is_done]

    # ---- reserving -------------------------------------------------------------------------------

    async def _reserve_all(self) -> None:
        binding = self._binding
        for use, name in self._names.items():
            if not name:
                why = "no resource claim name found for pod"
                raise Refused(f"{why} {binding.pod} and claim reference {use}")
        found = await All([Find(self._read(claim)) for claim in self._claims])
        for claim, there in zip(self._claims, found, strict=True):
            if there is not None and allocations.is_for(there, binding.uid):
                claim.is_touched = claim.was_used = True
                claim.uid = there["metadata"].get("uid", "")
        for claim, there in zip(self._claims, found, strict=True):
            await self._reserve(claim, there)
            claim.is_done = True
        extended = binding.spec.get("extendedResourceClaimAllocation")
        if extended and not self._is_named:
            self._is_named = True
            mappings = list(extended.get("containerMappings") or ())
            body = allocations.pod_status(binding.uid, self._claims[-1].name, mappings)
            outcome = await Send(self._patch_of_pod(body))
            check_lease(outcome)
            if outcome.result is not Result.DONE:
                raise Refused(answer_of(outcome))

    async def _reserve(self, claim: _Claim, found: Found | None) -> None:
        tries = 0
        while not self._is_reserved(claim, found):
            write, is_last = await self._next_write(claim, found)
            outcome = await Send(write)
            check_lease(outcome)
            if outcome.result is Result.DONE and is_last:
                return
            if outcome.result not in (Result.DONE, Result.CONFLICT, Result.LOST):
                where = f"resource claim {self._binding.namespace}/{claim.name}"
                raise Refused(f"{where}: {answer_of(outcome)}")
            tries += outcome.result is not Result.DONE
            if tries > MOST_TRIES:
                raise Refused(f"resource claim {claim.name}: {outcome.message}")
            found = await Find(self._read(claim))

    def _is_reserved(self, claim: _Claim, found: Found | None) -> bool:
        """Raises Refused for a claim that the pod cannot use."""
        where = f"resource claim {self._binding.namespace}/{claim.name}"
        uid = self._binding.uid
        if found is None:
            if claim.requests is None:
                raise Refused(f"{where} does not exist")
            return False
        held = allocations.allocation_of(found)
        if "deletionTimestamp" in found.get("metadata", {}):
            raise Refused(f"{where} is being deleted")
        if claim.requests is not None and not _is_owned(found, uid):
            raise Refused(f"{where} was not made for this pod")
        if held is None and claim.wanted is None:
            raise Refused(f"the allocation of {where} is unknown")
        if held is not None and claim.wanted and not allocations.is_same(held, claim.wanted):
            raise Refused(f"{where} has other devices now")
        if allocations.is_for(found, uid) and held is not None:
            return True
        most = allocations.MOST_CONSUMERS
        if len(allocations.consumers(found)) >= most:
            raise Refused(f"{where} has reached its maximum number of consumers ({most})")
        return False

    async def _next_write(self, claim: _Claim, found: Found | None) -> tuple[Write, bool]:
        """With whether it is the last one of the claim."""
        binding = self._binding
        if found is None:
            claim.is_touched = True
            names = (binding.namespace, binding.own_name, binding.uid)
            body = allocations.made_claim(*names, claim.requests or (), claim.name)
            return self._write("create", claim, body), False
        claim.uid = found["metadata"].get("uid", "")
        allocation = None
        if allocations.allocation_of(found) is None and claim.wanted is not None:
            protected = allocations.protected(found)
            if protected is not None:
                return self._write("patch", claim, protected), False
            for name in sorted(allocations.classes_of(found, claim.wanted)):
                if name not in claim.classes:
                    claim.classes[name] = await Find(Read("DeviceClass", "", name)) or {}
            allocation = allocations.configured(claim.wanted, found, claim.classes)
        claim.is_touched = True
        if allocation is not None:
            self._gave.add(claim.uid)
        body = allocations.status_with(found, binding.own_name, binding.uid, allocation)
        return self._write("patch", claim, body, "status"), True

    # ---- undoing ---------------------------------------------------------------------------------

    async def unreserve(self) -> None:
        if self._claims and self._claims[-1].requests is not None and self._is_named:
            metadata = {"uid": self._binding.uid}
            body = {"metadata": metadata, "status": {"extendedResourceClaimStatus": None}}
            check_lease(await Send(self._patch_of_pod(body)))
        for claim in self._claims:
            if claim.is_touched:
                await self._free(claim)

    async def _free(self, claim: _Claim) -> None:
        """Removes our changes from the claim in its current state."""
        found = await Find(self._read(claim))
        while (write := self._freeing(claim, found)) is not None:
            outcome = await Send(write)
            check_lease(outcome)
            if outcome.result in (Result.FAILED, Result.REFUSED):
                await Until(self._course.courses.now + wait_of(self._failures))
                self._failures += 1
            found = await Find(self._read(claim))
        if found is None or not allocations.consumers(found):
            self._gave.discard(claim.uid)

    def _freeing(self, claim: _Claim, found: Found | None) -> Write | None:
        """The next write; None: nothing of ours is left."""
        uid, is_made = self._binding.uid, claim.requests is not None
        if found is None or (is_made and not _is_owned(found, uid)):
            return None
        has_devices = is_made and allocations.allocation_of(found) is not None
        if allocations.is_for(found, uid) or has_devices:
            frees = is_made or claim.was_used or claim.uid in self._gave
            body = allocations.status_without(found, uid, frees=frees)
            return self._write("patch", claim, body, "status")
        if is_made and "deletionTimestamp" not in found["metadata"]:
            options = delete_options(found["metadata"].get("uid", ""))
            return self._write("delete", claim, options)
        return None

    # ---- requests --------------------------------------------------------------------------------

    def _read(self, claim: _Claim) -> Read:
        return Read("ResourceClaim", self._binding.namespace, claim.name)

    def _write(self, verb: Verb, claim: _Claim, body: Mapping[str, Any], part: str = "") -> Write:
        where = ("ResourceClaim", self._binding.namespace, claim.name)
        return Write(Lane.BINDING, verb, *where, body, part, about=self._course)

    def _patch_of_pod(self, body: Mapping[str, Any]) -> Write:
        where = ("Pod", self._binding.namespace, self._binding.own_name)
        return Write(Lane.BINDING, "patch", *where, body, "status", about=self._course)


def _extended_status(pod: Pod) -> Mapping[str, Any]:
    return pod.get("status", {}).get("extendedResourceClaimStatus") or {}


def _is_owned(claim: Mapping[str, Any], uid: str) -> bool:
    owners = claim.get("metadata", {}).get("ownerReferences") or ()
    return any(each.get("uid") == uid for each in owners)
