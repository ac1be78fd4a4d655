"""Provides volumes for claims that wait for their first consumer (spec 3 B25).

This works as in Kubernetes' own scheduler: an existing volume is reserved for the claim, or the
claim gets an annotation with the node on which its provisioner creates one. Then the claim is
checked until Kubernetes' controller has bound it. A provisioner that fails removes the node from
the claim: the binding fails, and the pod is planned again. The same happens after `timeout`
seconds; the claim can then get a volume elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kai.api.reading import at, text
from kai.api.writes import NOT_LEADING, Lane, Outcome, Read, Result, Write
from kai.controllers.bindings import wait_of
from kai.controllers.one_binding import VOLUMES, Binding
from kai.controllers.preparing import Given, Pod
from kai.controllers.volumes import matching
from kai.controllers.volumes.matching import Claim, Volume
from kai.controllers.waits import earliest

TIMEOUT_S = 120.0
"""The time limit for binding a claim (spec 6 C48)."""
FIRST_LOOK_S, LOOK_EVERY_S = 0.1, 10.0
"""A claim is read when a watch shows a change, and at least this often."""
MOST_TRIES = 8
"""How often claims are read again because something has changed."""


@dataclass(slots=True, eq=False)
class _Task:
    """The claims of one binding. `missing`: answers that are needed to continue. `volumes`: the
    volume of each claim, by name; "": a new one. `done`: claims that are bound. `deadline`: counted
    from the first write."""

    binding: Binding
    names: list[str]
    node: Mapping[str, Any] = field(default_factory=dict)
    claims: dict[str, Claim | None] = field(default_factory=dict)
    classes: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    found: dict[str, Mapping[str, Any] | None] = field(default_factory=dict)  # volumes, by name
    volumes: dict[str, str] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)
    missing: int = 0
    tries: int = 0
    looks: int = 0
    again: bool = False  # something has changed: everything is read again
    due: float | None = None
    deadline: float | None = None

    @property
    def pods(self) -> Sequence[tuple[str, str]]:
        """The pods that wait for the write (kai.api.writes)."""
        return self.binding.pods


@dataclass(slots=True, eq=False)
class _Undo:
    """A claim whose volume must not be created on the node any more."""

    namespace: str
    name: str
    uid: str
    node: str
    failures: int = 0
    due: float | None = None


class VolumeGiver:
    """A giver of volumes (kai.controllers.preparing). `volumes`: the known volumes that claims can
    get; `timeout`: in seconds."""

    what = VOLUMES

    def __init__(self, volumes: Callable[[], Iterable[Volume]], timeout: float = TIMEOUT_S) -> None:
        self._volumes, self._timeout = volumes, timeout
        self._tasks: dict[tuple[str, str], _Task] = {}  # by pod and UID
        self._undos: dict[tuple[str, str], _Undo] = {}  # by namespace and name of the claim

    def __len__(self) -> int:
        """The number of bindings and claims in progress."""
        return len(self._tasks) + len(self._undos)

    # ---- what happens ----------------------------------------------------------------------------

    def needs(self, binding: Binding) -> bool:
        return VOLUMES in binding.needs

    def give(self, now: float, binding: Binding, pod: Pod) -> Given:
        given = Given()
        task = _Task(binding, matching.claims_of(pod))
        self._tasks[task.binding.key] = task
        task.missing += 1
        given.reads.append(Read("Node", "", binding.node, about=task))
        self._look(given, task)
        return given

    def answered(self, now: float, write: Write, outcome: Outcome) -> Given:
        given = Given()
        about = write.about
        if isinstance(about, _Undo):
            self._undone(now, given, about, outcome)
        if not isinstance(about, _Task) or self._tasks.get(about.binding.key) is not about:
            return given
        about.missing -= 1
        if outcome.result in (Result.CONFLICT, Result.LOST, Result.GONE):
            about.again = True
        elif outcome.result is not Result.DONE:
            self._fail(given, about, "Bind", outcome.message or "the API server did not answer")
            return given
        if not about.missing:
            self._written(now, given, about, outcome)
        return given

    def read(self, now: float, read: Read, found: Any) -> Given:
        given = Given()
        about = read.about
        if isinstance(about, _Undo):
            self._undo(given, about, found)
        if not isinstance(about, _Task) or self._tasks.get(about.binding.key) is not about:
            return given
        about.missing -= 1
        if read.kind == "Node":
            about.node = found or {}
        elif read.kind == "StorageClass":
            about.classes[read.name] = found or {}
        elif read.kind == "PersistentVolume":
            about.found[read.name] = found
        else:
            about.claims[read.name] = None if found is None else Claim.of(found)
        if not about.missing:
            self._judge(now, given, about)
        return given

    def changed(self, now: float, namespace: str, name: str) -> None:
        """A watch has shown a claim: the next `tick` checks the bindings that wait for it."""
        for task in self._tasks.values():
            if task.due is not None and task.binding.namespace == namespace and name in task.names:
                task.due = min(task.due, now)

    def waits_for(self, binding: Binding) -> str:
        task = self._tasks.get(binding.key)
        names = [] if task is None else [each for each in task.names if each not in task.done]
        claims = (f"{binding.namespace}/{each}" for each in names)
        return f"a volume for the claim {', '.join(claims)}" if names else self.what

    def take_back(self, binding: Binding) -> Given:
        given = Given()
        task = self._tasks.pop(binding.key, None)
        if task is None:
            return given
        for name, volume in task.volumes.items():
            claim = task.claims.get(name)
            if volume or claim is None or name in task.done:
                continue  # the claim gets a volume that is reserved for it in any case
            undo = _Undo(task.binding.namespace, name, claim.uid, binding.node)
            self._undos[task.binding.namespace, name] = undo
            self._look_at(given, undo)
        return given

    def keep(self, binding: Binding) -> None:
        self._tasks.pop(binding.key, None)

    def tick(self, now: float) -> Given:
        given = Given()
        for task in list(self._tasks.values()):
            if task.due is not None and now >= task.due:
                task.due = None
                self._look(given, task)
        for undo in self._undos.values():
            if undo.due is not None and now >= undo.due:
                undo.due = None
                self._look_at(given, undo)
        return given

    def next_tick(self) -> float | None:
        times = [each.due for each in self._tasks.values()]
        times += [each.due for each in self._undos.values()]
        return earliest(times)

    # ---- giving ----------------------------------------------------------------------------------

    def _look(self, given: Given, task: _Task) -> None:
        """Reads the claims that are not bound."""
        for name in task.names:
            if name not in task.done:
                task.missing += 1
                given.reads.append(
                    Read("PersistentVolumeClaim", task.binding.namespace, name, about=task)
                )

    def _judge(self, now: float, given: Given, task: _Task) -> None:
        """Decides when all objects have been read."""
        waiting: list[Claim] = []
        for name in task.names:
            claim = task.claims[name]
            if name in task.done:
                continue
            if claim is None:
                self._fail(given, task, "PreFilter", f'persistentvolumeclaim "{name}" not found')
                return
            if claim.is_bound:
                self._check_volume(given, task, claim)
            elif claim.is_leaving:
                why = f'persistentvolumeclaim "{name}" is being deleted'
                self._fail(given, task, "PreFilter", why)
                return
            elif name not in task.volumes:
                waiting.append(claim)
            elif not task.volumes[name] and claim.selected_node != task.binding.node:
                why = f'binding volumes: selectedNode annotation reset for PVC "{name}"'
                self._fail(given, task, "Bind", why)
                return
        if given.failed:
            return
        for name in sorted({claim.storage_class for claim in waiting} - task.classes.keys()):
            task.missing += 1
            given.reads.append(Read("StorageClass", "", name, about=task))
        if not task.missing:
            self._go_on(now, given, task, waiting)

    def _check_volume(self, given: Given, task: _Task, claim: Claim) -> None:
        """The node must be able to reach the volume to which the claim is bound."""
        if claim.volume not in task.found:
            task.missing += 1
            given.reads.append(Read("PersistentVolume", "", claim.volume, about=task))
            return
        volume = task.found[claim.volume]
        if volume is None:
            self._fail(given, task, "Bind", f'persistentvolume "{claim.volume}" not found')
        elif not matching.is_on(matching.affinity_of(volume), task.node):
            why = f'pv "{claim.volume}" node affinity doesn\'t match node "{task.binding.node}"'
            self._fail(given, task, "Bind", why)
        else:
            task.done.add(claim.name)

    def _go_on(self, now: float, given: Given, task: _Task, waiting: list[Claim]) -> None:
        if waiting:
            self._choose(now, given, task, waiting)
        elif len(task.done) == len(task.names):
            given.ready.append(task.binding)
        elif task.deadline is not None and now >= task.deadline:
            self._fail(given, task, "Bind", "binding volumes: context deadline exceeded")
        else:
            task.looks += 1
            wait = min(LOOK_EVERY_S, FIRST_LOOK_S * 2.0 ** min(task.looks, 10))
            task.due = min(now + wait, task.deadline or now + wait)

    def _choose(self, now: float, given: Given, task: _Task, waiting: list[Claim]) -> None:
        """Chooses a volume for each claim, smallest claim first, or has one created."""
        chosen: dict[str, Volume | None] = {}
        taken = self._taken(but=task)
        for claim in sorted(waiting, key=lambda each: (each.bytes, each.name)):
            storage_class = task.classes[claim.storage_class]
            if claim.volume or storage_class.get("volumeBindingMode") != "WaitForFirstConsumer":
                why = "pod has unbound immediate PersistentVolumeClaims"
                self._fail(given, task, "PreFilter", why)
                return
            volume = None
            if not claim.selected_node:
                free = (each for each in self._volumes() if each.name not in taken)
                volume = matching.best(
                    claim, free, lambda each: matching.is_on(each.affinity, task.node)
                )
            provisioner = storage_class.get("provisioner") or matching.NO_PROVISIONER
            if volume is not None:
                taken.add(volume.name)
            elif provisioner == matching.NO_PROVISIONER or claim.selected_node not in (
                "",
                task.binding.node,
            ):
                why = "node(s) didn't find available persistent volumes to bind"
                self._fail(given, task, "Filter", why)
                return
            chosen[claim.name] = volume
        task.deadline = task.deadline or now + self._timeout
        for claim in waiting:
            self._write(given, task, claim, chosen[claim.name])
        if not task.missing:
            self._look(given, task)

    def _write(self, given: Given, task: _Task, claim: Claim, volume: Volume | None) -> None:
        task.volumes[claim.name] = "" if volume is None else volume.name
        if volume is not None:
            if volume.claim is not None and volume.claim[2]:
                return  # it is reserved for this claim already
            body = _kept_for(claim, volume)
            where = ("PersistentVolume", "", volume.name, body)
        elif claim.selected_node:
            return
        else:
            body = _made_on(claim, task.binding.node)
            where = ("PersistentVolumeClaim", claim.namespace, claim.name, body)
        task.missing += 1
        given.writes.append(Write(Lane.BINDING, "patch", *where, about=task))

    def _written(self, now: float, given: Given, task: _Task, outcome: Outcome) -> None:
        """All its writes have answers."""
        if not task.again:
            task.due = now + FIRST_LOOK_S
            return
        task.again, task.tries = False, task.tries + 1
        if task.tries > MOST_TRIES:
            self._fail(given, task, "Bind", f"binding volumes: {outcome.message}")
            return
        task.volumes.clear()  # the next read shows what was written
        self._look(given, task)

    def _taken(self, *, but: _Task) -> set[str]:
        """Volumes that claims of other bindings are about to get."""
        return {
            name
            for task in self._tasks.values()
            if task is not but
            for name in task.volumes.values()
            if name
        }

    def _fail(self, given: Given, task: _Task, step: str, why: str) -> None:
        binding = task.binding
        where = "" if step == "PreFilter" else f" and node {binding.node}"
        message = (
            f"K8sPlugin VolumeBinding failed {step} for pod: {binding.pod}{where}. error: {why}"
        )
        given.failed.append((binding, f"plugin volumebinding failed in PreBind: {message}"))

    # ---- taking back -----------------------------------------------------------------------------

    def _look_at(self, given: Given, undo: _Undo) -> None:
        given.reads.append(Read("PersistentVolumeClaim", undo.namespace, undo.name, about=undo))

    def _undo(self, given: Given, undo: _Undo, found: Mapping[str, Any] | None) -> None:
        claim = None if found is None else Claim.of(found)
        if self._undos.get((undo.namespace, undo.name)) is not undo:
            return
        is_ours = (
            claim is not None
            and (claim.uid, claim.selected_node) == (undo.uid, undo.node)
            and not claim.volume
            and not self._is_wanted(undo)
        )
        if claim is None or not is_ours:
            del self._undos[undo.namespace, undo.name]
            return
        body = _made_on(claim, None)
        given.writes.append(
            Write(
                *(Lane.BINDING, "patch", "PersistentVolumeClaim", undo.namespace, undo.name, body),
                about=undo,
            )
        )

    def _undone(self, now: float, given: Given, undo: _Undo, outcome: Outcome) -> None:
        if self._undos.get((undo.namespace, undo.name)) is not undo:
            return
        if outcome.result in (Result.CONFLICT, Result.LOST):
            self._look_at(given, undo)
        elif outcome.result in (Result.DONE, Result.GONE) or outcome.reason == NOT_LEADING:
            del self._undos[undo.namespace, undo.name]
        else:
            undo.due = now + wait_of(undo.failures)
            undo.failures += 1

    def _is_wanted(self, undo: _Undo) -> bool:
        """Whether a later binding needs the claim, or another pod that shares it."""
        return any(
            task.binding.namespace == undo.namespace and undo.name in task.names
            for task in self._tasks.values()
        )


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


def _made_on(claim: Claim, node: str | None) -> dict[str, Any]:
    """A patch of a claim: its volume is created on the node; None: on no node."""
    metadata = {"uid": claim.uid, "resourceVersion": claim.version}
    return {"metadata": {**metadata, "annotations": {matching.SELECTED_NODE: node}}}


def volume_of(manifest: Mapping[str, Any]) -> Volume | None:
    """The part of a PersistentVolume that a sink stores; None: no claim can get it."""
    return Volume.of(manifest) if text(at(manifest, "metadata", "name")) else None
