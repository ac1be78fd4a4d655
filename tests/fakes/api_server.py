"""An API server of Kubernetes in memory, without HTTP and without threads.

    server = ApiServer(node, pod)
    pods = server.watch("Pod")                     # a queue of events, for the test to deliver
    server.send(Write(Lane.BINDING, "create", "Pod", "team", "p", binding, "binding"))
    server.find(Read("Pod", "team", "p"))["spec"]["nodeName"]
    server.fault = lambda write: Fault(unanswered(write), applied=True)

`send` and `find` answer as kai.k8s.client does. Other actors (users, kubelets) use `put`,
`change`, `remove` and `get`. The same calls give the same objects, versions and UIDs. Stored
objects never change: each change makes another one, so events may be delivered late.
"""

import functools
import json
import marshal
from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from fakes.clock import VirtualClock
from kai.api.resources import RESOURCES, Resource
from kai.api.times import to_text
from kai.api.writes import Outcome, Read, Result, Write
from kai.k8s.answers import Answer, outcome_of
from kai.k8s.client import must_not_repeat

Object = dict[str, Any]

SUCCESS: Object = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
UPDATE: Any = "update"
"""The verb of a PUT, which no Write of a controller has."""
KEPT = (
    *("name", "namespace", "uid", "resourceVersion", "creationTimestamp"),
    *("deletionTimestamp", "deletionGracePeriodSeconds"),
)
"""Metadata that no patch changes."""
MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)
MERGED_BY = {
    "conditions": "type",
    "containers": "name",
    "ownerReferences": "uid",
    "resourceClaimStatuses": "name",
    "webhooks": "name",
}
"""Lists whose items a strategic merge patch identifies by a key."""


class Event(NamedTuple):
    version: int
    type: str  # ADDED, MODIFIED or DELETED
    kind: str
    item: Object


@dataclass(frozen=True)
class Fault:
    """What happens to a write: the outcome (None: the real one), whether it is applied, and how
    many seconds pass before it is applied and before it is answered."""

    outcome: Outcome | None = None
    applied: bool = False
    before: float = 0.0
    after: float = 0.0


class ApiError(Exception):
    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code, self.reason = code, reason

    def status(self) -> Object:
        why = {"code": self.code, "reason": self.reason, "message": str(self)}
        return {**SUCCESS, "status": "Failure", **why}


def unanswered(write: Write) -> Outcome:
    """The outcome if no answer comes to any try."""
    result = Result.LOST if must_not_repeat(write) else Result.FAILED
    return Outcome(result, 0, "Unanswered", "no answer in time")


class ApiServer:
    """`fault`: called with each write. `listeners`: called with each event. `writes`: those that
    arrived. `copies_labels`: bindings give their labels to pods (from Kubernetes 1.35 on)."""

    def __init__(self, *objects: Object, clock: VirtualClock | None = None) -> None:
        self.clock = clock or VirtualClock()
        self.version = 0
        self.copies_labels = True
        self.writes: list[Write] = []
        self.fault: Callable[[Write], Fault | None] = lambda write: None
        self.listeners: list[Callable[[Event], object]] = []
        self._objects: defaultdict[str, dict[tuple[str, str], Object]] = defaultdict(dict)
        self._history: defaultdict[str, list[Event]] = defaultdict(list)
        self._compacted = self._created = 0
        self._unshown: deque[Event] = deque()
        self._is_showing = False
        self.put(*objects)

    # ---- clients ---------------------------------------------------------------------------------

    def send(self, write: Write) -> Outcome:
        """Applies a write at once. Raises nothing."""
        return self._send(write, self.fault(write) or Fault())

    def post(self, write: Write, answered: Callable[[Outcome], object]) -> None:
        """Applies a write and calls back, after the delays of its fault, by the clock."""
        fault = self.fault(write) or Fault()

        def arrive() -> None:
            outcome = self._send(write, fault)
            self.clock.later(fault.after, lambda: answered(outcome))

        self.clock.later(fault.before, arrive)

    def find(self, read: Read) -> Any:
        """A copy of the object, None if it does not exist, or a list."""
        if read.name:
            return self.get(read.kind, read.namespace, read.name)
        return self.list(read.kind, read.namespace, labels=read.selector)

    def watch(self, kind: str, since: int | None = None) -> deque[Event]:
        """The events of a kind after a version; later ones are added. Raises ApiError 410 if the
        server does not have that version any more."""
        since = self.version if since is None else since
        if since < self._compacted:
            raise ApiError(410, "Expired", f"too old resource version: {since}")
        past = self._history[kind]
        events = deque(past[bisect_right(past, since, key=lambda each: each.version) :])
        self.listeners.append(lambda each: events.append(each) if each.kind == kind else None)
        return events

    # ---- other actors ----------------------------------------------------------------------------

    def put(self, *objects: Object) -> None:
        """Creates or replaces objects as they are; UIDs are kept or made."""
        for each in objects:
            made: Object = parsed(each)
            row, metadata = _row(made["kind"]), made["metadata"]
            known = self._objects[row.kind].get(_key(made))
            uid = "" if known is None else known["metadata"]["uid"]
            if uid and metadata.setdefault("uid", uid) != uid:
                self.remove(row.kind, *_key(made))
                known = None
            self._begin(made, row)
            self._store("MODIFIED" if known else "ADDED", made)

    def change(self, kind: str, namespace: str, name: str, patch: Object) -> None:
        """A merge patch of an existing object, also of its status."""
        self.put(merged(self._objects[kind][namespace, name], patch))

    def remove(self, kind: str, namespace: str, name: str) -> None:
        """Deletes an object at once; without effect if it does not exist."""
        known = self._objects[kind].get((namespace, name))
        if known is not None:
            self._store("DELETED", known)

    def get(self, kind: str, namespace: str, name: str) -> Object | None:
        found = self._objects[kind].get((namespace, name))
        return None if found is None else copied(found)

    def list(
        self, kind: str, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> list[Object]:
        """Copies, in the order of their names."""
        found = self._objects[kind]
        keys = sorted(each for each in found if namespace in ("", each[0]))
        return [copied(found[each]) for each in keys if selects(labels, fields, found[each])]

    def all(self, *kinds: str) -> Iterator[Object]:
        """The stored objects, not to be changed."""
        for kind in kinds or self._objects:
            yield from self._objects[kind].values()

    def stored(self, kind: str, namespace: str, name: str) -> Object | None:
        """The stored object, not to be changed."""
        return self._objects[kind].get((namespace, name))

    def collect_garbage(self) -> None:
        """Deletes objects whose owners are all gone, and then those that they own."""
        while True:
            uids = {each["metadata"]["uid"] for each in self.all()}
            orphans = [
                each
                for each in self.all()
                if (owners := each["metadata"].get("ownerReferences"))
                and "deletionTimestamp" not in each["metadata"]
                and not any(owner["uid"] in uids for owner in owners)
            ]
            if not orphans:
                return
            for each in orphans:
                self._delete(each, {})

    def compact(self) -> None:
        """Forgets the events until now: watches that need them have to list again."""
        self._compacted = self.version
        self._history.clear()

    def lose(self, kind: str, namespace: str, name: str) -> None:
        """Deletes an object, and no watch shows it."""
        del self._objects[kind][namespace, name]
        self.version += 1

    def restore(self, version: int, *objects: Object) -> None:
        """As if its etcd was restored from a backup: versions go back, and no watch shows it."""
        for each in objects:
            known = self._objects[each["kind"]][_key(each)]
            uid = known["metadata"]["uid"]
            self._objects[each["kind"]][_key(each)] = merged(each, {"metadata": {"uid": uid}})
        self.version = version
        for kind, found in self._objects.items():
            back = {"metadata": {"resourceVersion": str(version)}}
            self._objects[kind] = {key: merged(each, back) for key, each in found.items()}
        self._history.clear()

    # ---- requests --------------------------------------------------------------------------------

    def apply(self, write: Write, *, dry_run: bool = False) -> tuple[int, Object]:
        """The status and the object of the answer. Raises ApiError."""
        row = _row(write.kind)
        key = (write.namespace if row.namespaced else "", write.name)
        body: Any = parsed(write.body) if write.body is not None else {}
        if write.verb == "create" and not write.subresource:
            return 201, self._create(row, key, body, dry_run=dry_run)
        known = self.find_one(row, write.namespace, write.name)
        if write.verb == "delete":
            return 200, self._delete(known, body, dry_run=dry_run)
        if write.subresource == "eviction":
            self._delete(known, body.get("deleteOptions") or {}, dry_run=dry_run)
            return 201, SUCCESS
        if write.subresource == "binding":
            self._bind(known, body)
            return 201, SUCCESS
        keys = MERGED_BY if write.patch_type == "strategic" else {}
        if write.patch_type == "json" or (keys and not _is_built_in(row)):
            raise ApiError(415, "UnsupportedMediaType", "the body of the request is not supported")
        self._check(known, body.get("metadata") or {})
        changed = body if write.verb == UPDATE else merged(known, body, keys)
        return 200, self._update(known, changed, write.subresource, dry_run=dry_run)

    def find_one(self, row: Resource, namespace: str, name: str) -> Object:
        """The stored object. Raises ApiError."""
        known = self._objects[row.kind].get((namespace if row.namespaced else "", name))
        if known is None:
            raise ApiError(404, "NotFound", f'{_title(row)} "{name}" not found')
        return known

    def _send(self, write: Write, fault: Fault) -> Outcome:
        self.writes.append(write)
        if fault.outcome is not None and not fault.applied:
            return fault.outcome
        try:
            code, item = self.apply(write)
        except ApiError as error:
            code, item = error.code, error.status()
        return fault.outcome or outcome_of(Answer(code, dumps(item), {}), write)

    def _create(
        self, row: Resource, key: tuple[str, str], made: Object, *, dry_run: bool
    ) -> Object:
        metadata = made.setdefault("metadata", {})
        if not metadata.get("name") and "generateName" in metadata:
            metadata["name"] = f"{metadata['generateName']}{self._created:05}"
        metadata["name"] = name = metadata.get("name") or key[1]
        if row.namespaced:
            metadata["namespace"] = key[0]
        if (key[0], name) in self._objects[row.kind]:
            raise ApiError(409, "AlreadyExists", f'{_title(row)} "{name}" already exists')
        for each in ("uid", "deletionTimestamp"):
            metadata.pop(each, None)
        made.pop("status", None)
        if row.kind == "Pod":
            made["status"] = {"phase": "Pending"}
        self._begin(made, row)
        metadata["creationTimestamp"] = self._stamp()
        return made if dry_run else self._store("ADDED", made)

    def _begin(self, made: Object, row: Resource) -> None:
        """Adds the kind and the UID."""
        self._created += 1
        made.setdefault("apiVersion", row.api_version)
        made["kind"] = row.kind
        made["metadata"].setdefault("uid", f"{self._created:08x}-0000-4000-8000-000000000000")

    def _update(
        self, known: Object, changed: Object, subresource: str, *, dry_run: bool = False
    ) -> Object:
        """Of a status only the status changes, and of pods also labels and annotations."""
        before = known["metadata"]
        if subresource == "status":
            metadata = dict(before)
            if known["kind"] == "Pod":
                after = changed.get("metadata") or {}
                for each in ("labels", "annotations"):
                    _set(metadata, each, after.get(each))
            made = {**known, "metadata": metadata}
            _set(made, "status", changed.get("status"))
        else:
            metadata = dict(changed.get("metadata") or {})
            for each in KEPT:
                _set(metadata, each, before.get(each))
            made = {**changed, "metadata": metadata}
            _set(made, "status", known.get("status"))
        if dry_run or made == known:
            return made
        if _is_over(metadata):
            return self._store("DELETED", made)
        return self._store("MODIFIED", made)

    def _delete(self, known: Object, options: Object, *, dry_run: bool = False) -> Object:
        self._check(known, options.get("preconditions") or {})
        metadata, seconds = known["metadata"], _grace(known, options)
        leaves = "deletionTimestamp" in metadata
        if dry_run or "All" in options.get("dryRun", ()):
            return known
        if leaves and seconds >= metadata.get("deletionGracePeriodSeconds", 0):
            return known
        metadata = {**metadata, "deletionGracePeriodSeconds": seconds}
        metadata["deletionTimestamp"] = self._stamp(seconds)
        made = {**known, "metadata": metadata}
        if _is_over(metadata):
            return self._store("DELETED", known)
        return self._store("MODIFIED", made)

    def _bind(self, pod: Object, binding: Object) -> None:
        metadata, spec = binding.get("metadata") or {}, pod.get("spec") or {}
        self._check(pod, metadata)
        name, why = pod["metadata"]["name"], ""
        if "deletionTimestamp" in pod["metadata"]:
            why = f"pod {name} is being deleted, cannot be assigned to a host"
        elif spec.get("nodeName"):
            why = f'pod {name} is already assigned to node "{spec["nodeName"]}"'
        elif spec.get("schedulingGates"):
            why = f"pod {name} has non-empty .spec.schedulingGates"
        if why:
            raise _conflict(pod, why)
        given = ("annotations", "labels") if self.copies_labels else ("annotations",)
        condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": self._stamp()}
        patch = {
            "metadata": {each: metadata[each] for each in given if metadata.get(each)},
            "spec": {"nodeName": binding["target"]["name"]},
            "status": {"conditions": [condition]},
        }
        self._store("MODIFIED", merged(pod, patch, MERGED_BY))

    def _check(self, known: Object, wanted: Mapping[str, Any]) -> None:
        """Preconditions of a write. Raises ApiError."""
        for each, why in (("uid", "Precondition failed: UID"), ("resourceVersion", MODIFIED)):
            if wanted.get(each) not in ("", None, known["metadata"][each]):
                raise _conflict(known, why)

    def _store(self, what: str, item: Object) -> Object:
        self.version += 1
        made = {**item, "metadata": {**item["metadata"], "resourceVersion": str(self.version)}}
        kind, key = made["kind"], _key(made)
        if what == "DELETED":
            del self._objects[kind][key]
        else:
            self._objects[kind][key] = made
        event = Event(self.version, what, kind, made)
        self._history[kind].append(event)
        self._unshown.append(event)
        self._show()
        return made

    def _show(self) -> None:
        """A listener may cause further events; all listeners get them in order."""
        while self._unshown and not self._is_showing:
            self._is_showing, event = True, self._unshown.popleft()
            try:
                for each in self.listeners:
                    each(event)
            finally:
                self._is_showing = False

    def _stamp(self, seconds: float = 0.0) -> str:
        return to_text(int(self.clock.wall() + seconds) * 10**9)


def runs_pods(server: ApiServer) -> None:
    """Adds kubelets: a bound pod runs at once, and a deleted one is gone at once."""

    def changed(event: Event) -> None:
        pod = event.item
        if event.kind != "Pod" or event.type == "DELETED" or not pod["spec"].get("nodeName"):
            return
        if "deletionTimestamp" in pod["metadata"]:
            server.remove("Pod", *_key(pod))
        elif pod["status"].get("phase") == "Pending":
            server.change("Pod", *_key(pod), {"status": {"phase": "Running"}})

    server.listeners.append(changed)


def merged(value: Any, patch: Any, keys: Mapping[str, str] | None = None) -> Any:
    """A merge patch (RFC 7386) applied to a value; with the keys of lists, a strategic one."""
    if not isinstance(patch, dict):
        return patch
    found = dict(value) if isinstance(value, dict) else {}
    for name, each in patch.items():
        if each is None:
            found.pop(name, None)
        elif keys and name in keys and isinstance(each, list):
            found[name] = _merged_list(found.get(name) or [], each, keys[name], keys)
        else:
            found[name] = merged(found.get(name), each, keys)
    return found


def _merged_list(
    value: list[Any], patch: list[Any], key: str, keys: Mapping[str, str]
) -> list[Any]:
    found = {each.get(key): each for each in value}
    for each in patch:
        if each.get("$patch") == "delete":
            found.pop(each.get(key), None)
        else:
            found[each.get(key)] = merged(found.get(each.get(key)), each, keys)
    return list(found.values())


def selects(labels: str, fields: str, item: Object) -> bool:
    """Whether an object matches selectors such as "a=b,c!=d"."""
    of_labels = item["metadata"].get("labels") or {}

    def field(name: str) -> Any:
        return functools.reduce(lambda found, part: found.get(part) or {}, name.split("."), item)

    for selector, value_of in ((labels, of_labels.get), (fields, field)):
        for each in filter(None, selector.split(",")):
            name, _, value = each.partition("=")
            if ((value_of(name.removesuffix("!")) or "") == value) == name.endswith("!"):
                return False
    return True


def dumps(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def parsed(value: Any) -> Any:
    """The value as it arrives. Raises TypeError for a value that is not JSON."""
    return json.loads(json.dumps(value))


def copied(value: Any) -> Any:
    return marshal.loads(marshal.dumps(value))  # 4 times faster than with JSON


def _row(kind: str) -> Resource:
    return RESOURCES.get(kind) or Resource(kind, "example.test", "v1", f"{kind.lower()}s")


def _key(item: Object) -> tuple[str, str]:
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]


def _title(row: Resource) -> str:
    return f"{row.plural}.{row.group}" if row.group else row.plural


def _conflict(item: Object, why: str) -> ApiError:
    what = f'{_title(_row(item["kind"]))} "{item["metadata"]["name"]}"'
    return ApiError(409, "Conflict", f"Operation cannot be fulfilled on {what}: {why}")


def _is_built_in(row: Resource) -> bool:
    """Whether its objects accept strategic merge patches."""
    is_core = "." not in row.group or row.group.endswith(".k8s.io")
    return is_core and row.kind != "NodeResourceTopology"


def _set(target: Object, name: str, value: Any) -> None:
    if value is None:
        target.pop(name, None)
    else:
        target[name] = value


def _is_over(metadata: Object) -> bool:
    """Whether nothing keeps an object that is being deleted."""
    if "deletionTimestamp" not in metadata or metadata.get("finalizers"):
        return False
    return not metadata.get("deletionGracePeriodSeconds")


def _grace(item: Object, options: Object) -> int:
    """The seconds that a pod has to end; other objects have none."""
    spec, phase = item.get("spec") or {}, (item.get("status") or {}).get("phase")
    if item["kind"] != "Pod" or not spec.get("nodeName") or phase in ("Succeeded", "Failed"):
        return 0
    given = options.get("gracePeriodSeconds")
    return int(spec.get("terminationGracePeriodSeconds", 30) if given is None else given)
