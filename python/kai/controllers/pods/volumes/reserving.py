"""Provides volumes for claims that wait for their first consumer (spec 3 B25).

This works as in Kubernetes' own scheduler: an existing volume is reserved for the claim, or the
claim gets an annotation with the node on which its provisioner creates one. Then the claim is
checked until Kubernetes' controller has bound it. A provisioner that fails removes the node from
the claim: the binding fails, and the pod is planned again. The same happens after `timeout`
seconds; the claim can then get a volume elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kai.api.reading import at, text
from kai.api.writes import Lane, Outcome, Read, Result, Write
from kai.controllers.courses import All, Find, Send, Until
from kai.controllers.pods.course import (
    Pod,
    PodCourse,
    Refused,
    answer_of,
    check_lease,
    wait_of,
)
from kai.controllers.pods.decisions import VOLUMES, Binding
from kai.controllers.pods.volumes import matching
from kai.controllers.pods.volumes.matching import Claim, Volume

TIMEOUT_S = 120.0
"""The time limit for binding a claim (spec 6 C48)."""
FIRST_LOOK_S, LOOK_EVERY_S = 0.1, 10.0
"""A claim is read when a watch shows a change, and at least this often."""
MOST_TRIES = 8
"""How often claims are read again because something has changed."""


class Volumes:
    """A reserver of volumes (kai.controllers.pods.course). `known`: the known volumes that claims
    can get; `timeout`: in seconds."""

    what = VOLUMES

    def __init__(self, known: Callable[[], Iterable[Volume]], timeout: float = TIMEOUT_S) -> None:
        self.known, self.timeout = known, timeout
        self.open: dict[VolumesOfPod, None] = {}  # steps under way

    def needs(self, binding: Binding) -> bool:
        return VOLUMES in binding.needs

    def step(self, course: PodCourse, pod: Pod) -> VolumesOfPod:
        step = VolumesOfPod(self, course, matching.claims_of(pod))
        self.open[step] = None
        return step

    def changed(self, namespace: str, name: str) -> None:
        """A watch has shown a claim: the bindings that wait for it look at it."""
        for step in self.open:
            if step.wants(namespace, name):
                step.until.wake()

    def taken(self, but: VolumesOfPod) -> set[str]:
        """Volumes that claims of other bindings are about to get."""
        steps = (step for step in self.open if step is not but)
        return {name for step in steps for name in step.volumes.values() if name}

    def is_wanted(self, namespace: str, name: str) -> bool:
        """Whether a binding needs the claim."""
        return any(step.wants(namespace, name) for step in self.open)


class VolumesOfPod:
    """A step. `names`: of its claims. `volumes`: the volume of each claim, by name; "": a new one.
    `until`: what it waits for when there is nothing to do."""

    def __init__(self, shared: Volumes, course: PodCourse, names: Sequence[str]) -> None:
        self._shared, self._course, self._binding = shared, course, course.binding
        self._names = names
        self._node: Mapping[str, Any] = {}
        self._claims: dict[str, Claim | None] = {}
        self._classes: dict[str, Mapping[str, Any]] = {}
        self._done: set[str] = set()  # claims that are bound
        self._new: set[str] = set()  # claims that get a new volume
        self._deadline: float | None = None  # counted from the first write
        self.volumes: dict[str, str] = {}
        self.until = Until()

    def wants(self, namespace: str, name: str) -> bool:
        return self._binding.namespace == namespace and name in self._names

    @property
    def waits_for(self) -> str:
        claims = [f"{self._binding.namespace}/{each}" for each in self._open()]
        return f"a volume for the claim {', '.join(claims)}" if claims else VOLUMES

    def leave(self) -> None:
        self._shared.open.pop(self, None)

    keep = leave

    def _open(self) -> list[str]:
        return [each for each in self._names if each not in self._done]

    def _now(self) -> float:
        return self._course.courses.now

    # ---- reserving -------------------------------------------------------------------------------

    async def reserve(self) -> None:
        self._node = await Find(Read("Node", "", self._binding.node)) or {}
        looks = tries = 0
        while True:
            waiting = await self._look()
            if not waiting and not self._open():
                return
            outcomes = await All([Send(each) for each in await self._writes(waiting)])
            if not self._are_clear(outcomes):
                tries += 1
                if tries > MOST_TRIES:
                    raise self._refusal("Bind", f"binding volumes: {outcomes[-1].message}")
                self.volumes.clear()  # the next read shows what was written
            elif outcomes:
                await self._wait(FIRST_LOOK_S)
            elif not waiting:
                looks += 1
                await self._wait(min(LOOK_EVERY_S, FIRST_LOOK_S * 2.0 ** min(looks, 10)))

    async def _wait(self, seconds: float) -> None:
        """Until a watch shows one of the claims, or the time has passed."""
        now, deadline = self._now(), self._deadline
        self.until = Until(min(now + seconds, deadline or now + seconds))
        await self.until

    async def _look(self) -> list[Claim]:
        """Reads the claims that are not bound, and returns those without a chosen volume."""
        names = self._open()
        reads = [Read("PersistentVolumeClaim", self._binding.namespace, each) for each in names]
        found = await All([Find(each) for each in reads])
        for name, there in zip(names, found, strict=True):
            self._claims[name] = None if there is None else Claim.of(there)
        waiting: list[Claim] = []
        for name in names:
            claim = self._claims[name]
            if claim is None:
                raise self._refusal("PreFilter", f'persistentvolumeclaim "{name}" not found')
            if claim.is_bound:
                await self._check_volume(claim)
            elif claim.is_leaving:
                why = f'persistentvolumeclaim "{name}" is being deleted'
                raise self._refusal("PreFilter", why)
            elif name not in self.volumes:
                waiting.append(claim)
            elif not self.volumes[name] and claim.selected_node != self._binding.node:
                why = f'binding volumes: selectedNode annotation reset for PVC "{name}"'
                raise self._refusal("Bind", why)
        is_late = self._deadline is not None and self._now() >= self._deadline
        if is_late and not waiting and self._open():
            raise self._refusal("Bind", "binding volumes: context deadline exceeded")
        return waiting

    async def _check_volume(self, claim: Claim) -> None:
        """The node must be able to reach the volume to which the claim is bound."""
        volume = await Find(Read("PersistentVolume", "", claim.volume))
        if volume is None:
            raise self._refusal("Bind", f'persistentvolume "{claim.volume}" not found')
        if not matching.is_on(matching.affinity_of(volume), self._node):
            node = self._binding.node
            why = f'pv "{claim.volume}" node affinity doesn\'t match node "{node}"'
            raise self._refusal("Bind", why)
        self._done.add(claim.name)

    async def _writes(self, waiting: list[Claim]) -> list[Write]:
        """Chooses a volume for each claim, smallest claim first, or has one created."""
        if not waiting:
            return []
        for name in sorted({claim.storage_class for claim in waiting} - self._classes.keys()):
            self._classes[name] = await Find(Read("StorageClass", "", name)) or {}
        chosen: dict[str, Volume | None] = {}
        taken = self._shared.taken(but=self)
        for claim in sorted(waiting, key=lambda each: (each.bytes, each.name)):
            chosen[claim.name] = volume = self._choose(claim, taken)
            if volume is not None:
                taken.add(volume.name)
        self._deadline = self._deadline or self._now() + self._shared.timeout
        writes = [self._write(claim, chosen[claim.name]) for claim in waiting]
        return [each for each in writes if each is not None]

    def _choose(self, claim: Claim, taken: set[str]) -> Volume | None:
        """None: a new one."""
        storage_class = self._classes[claim.storage_class]
        if claim.volume or storage_class.get("volumeBindingMode") != "WaitForFirstConsumer":
            why = "pod has unbound immediate PersistentVolumeClaims"
            raise self._refusal("PreFilter", why)
        if not claim.selected_node:
            free = (each for each in self._shared.known() if each.name not in taken)
            volume = matching.best(
                claim, free, lambda each: matching.is_on(each.affinity, self._node)
            )
            if volume is not None:
                return volume
        provisioner = storage_class.get("provisioner") or matching.NO_PROVISIONER
        is_elsewhere = claim.selected_node not in ("", self._binding.node)
        if provisioner == matching.NO_PROVISIONER or is_elsewhere:
            why = "node(s) didn't find available persistent volumes to bind"
            raise self._refusal("Filter", why)
        return None

    def _write(self, claim: Claim, volume: Volume | None) -> Write | None:
        """None: it is written already."""
        self.volumes[claim.name] = "" if volume is None else volume.name
        if volume is not None:
            if volume.claim is not None and volume.claim[2]:
                return None
            where = ("PersistentVolume", "", volume.name, _kept_for(claim, volume))
            return Write(Lane.BINDING, "patch", *where, about=self._course)
        self._new.add(claim.name)
        return None if claim.selected_node else self._patch(claim, self._binding.node)

    def _patch(self, claim: Claim, node: str | None) -> Write:
        """Its volume is created on the node; None: on no node."""
        metadata = {"uid": claim.uid, "resourceVersion": claim.version}
        body = {"metadata": {**metadata, "annotations": {matching.SELECTED_NODE: node}}}
        where = ("PersistentVolumeClaim", claim.namespace, claim.name, body)
        return Write(Lane.BINDING, "patch", *where, about=self._course)

    def _are_clear(self, outcomes: Sequence[Outcome]) -> bool:
        """Otherwise something has changed, or a write may have been applied."""
        unclear = (Result.CONFLICT, Result.LOST, Result.GONE)
        for each in outcomes:
            check_lease(each)
            if each.result is not Result.DONE and each.result not in unclear:
                raise self._refusal("Bind", answer_of(each))
        return not any(each.result in unclear for each in outcomes)

    def _refusal(self, step: str, why: str) -> Refused:
        binding = self._binding
        where = "" if step == "PreFilter" else f" and node {binding.node}"
        message = (
            f"K8sPlugin VolumeBinding failed {step} for pod: {binding.pod}{where}. error: {why}"
        )
        return Refused(f"plugin volumebinding failed in PreBind: {message}")

    # ---- undoing ---------------------------------------------------------------------------------

    async def unreserve(self) -> None:
        """A claim that gets a volume that is reserved for it gets it in any case."""
        self.leave()
        for name in self._open():
            claim = self._claims.get(name)
            if name in self._new and claim is not None:
                await self._release(claim)

    async def _release(self, claim: Claim) -> None:
        """Its volume must not be created on the node any more."""
        failures = 0
        while True:
            found = await Find(Read("PersistentVolumeClaim", claim.namespace, claim.name))
            now = None if found is None else Claim.of(found)
            mine = (claim.uid, self._binding.node)
            if now is None or (now.uid, now.selected_node) != mine or now.volume:
                return
            if self._shared.is_wanted(claim.namespace, claim.name):
                return  # by another pod that shares it
            outcome = await Send(self._patch(now, None))
            check_lease(outcome)
            if outcome.result in (Result.DONE, Result.GONE):
                return
            if outcome.result not in (Result.CONFLICT, Result.LOST):
                await Until(self._now() + wait_of(failures))
                failures += 1


def _kept_for(claim: Claim, volume: Volume) -> dict[str, Any]:
    """A patch of a volume."""
    reference = {
        **{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": claim.namespace},
        **{"name": claim.name, "uid": claim.uid, "resourceVersion": claim.version},
    }
    metadata: dict[str, Any] = {"uid": volume.uid, "resourceVersion": volume.version}
    if volume.claim is None:
        metadata["annotations"] = {matching.BOUND_BY_CONTROLLER: "yes"}
    return {"metadata": metadata, "spec": {"claimRef": reference}}


def volume_of(manifest: Mapping[str, Any]) -> Volume | None:
    """The part of a PersistentVolume that a sink stores; None: no claim can get it."""
    return Volume.of(manifest) if text(at(manifest, "metadata", "name")) else None
