"""A cluster: loaded from a snapshot, or described in a few lines for a notebook or a test.

>>> import kai
>>> cluster = (
...     kai.Cluster()
...     .queue("vision", deserved_gpus=2)
...     .queue("speech", deserved_gpus=6)
...     .node("n1", gpus=8)
...     .running("speech/bulk", pods=6, gpus=1, node="n1")
...     .pending("vision/train", pods=2, gpus=1, min_member=2)
... )
>>> cluster
<kai.Cluster: 1 node with 8 GPUs, 2 pod groups with 8 pods (2 pending), 2 queues>
"""

from __future__ import annotations

import copy
import gc
import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kai.api import arguments, defaults, files, keys, kinds, times
from kai.api.naming import naming
from kai.api.nearest import check_known, did_you_mean
from kai.api.reading import at, mapping
from kai.engine import edits, objects, overview, parameters, text
from kai.engine import usage as usages
from kai.engine.config import ConfigSource, read, split, to_json
from kai.engine.elsewhere import Elsewhere, may_wait_elsewhere
from kai.engine.lost_pods import LostPods, node_names_in
from kai.engine.objects import Amount, NodeOptions, Objects, PodOptions, QueueOptions
from kai.errors import InvalidClusterError, InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from kai import _core
    from kai.engine.fragmentation import Fragmentation, Mix

_MOST = 1_000_000
"""The most pods, nodes or GPUs that one call creates; a larger number is a typing mistake."""
_Lists = dict[str, tuple[dict[str, Any], ...]]
_FIRST_CREATION_NS = times.to_ns("2025-01-01T00:00:00Z")


@dataclass(frozen=True, slots=True, order=True)
class Rejected:
    """An invalid object, or an invalid part of one, that was left out.

    >>> import kai
    >>> cluster = kai.Cluster().queue("a", parent="ml")
    >>> print(cluster.rejected[0])
    Queue a: spec.parentQueue: parent queue "ml" does not exist
    """

    kind: str
    name: str
    field: str
    message: str

    def __str__(self) -> str:
        named = " ".join(part for part in (self.kind, self.name) if part)
        return (
            f"{named}: {self.field}: {self.message}" if self.field else f"{named}: {self.message}"
        )


@arguments.all_in_sentences
class Cluster:
    """Nodes, queues, pod groups and pods, as Kubernetes objects.

    `kai.load` creates one from a file. ``kai.Cluster()`` is empty, except for the priority classes
    of KAI's chart; its methods add objects or change them. They return the cluster, so calls can be
    chained; use `copy` to keep the original. A second plan of a cluster costs only what changed.

    >>> import kai
    >>> cluster = kai.Cluster().queue("vision").nodes("n", 2, gpus=8)
    >>> cluster.pending("vision/train", pods=3, gpus=8, min_member=3)
    <kai.Cluster: 2 nodes with 16 GPUs, 1 pod group with 3 pods (3 pending), 1 queue>
    >>> larger = cluster.copy().add_nodes(1, like="n1")
    >>> for each in (cluster, larger):
    ...     print(kai.Scheduler().plan(each).pod_groups["vision/train"].verdict)
    unschedulable
    placed

    Clusters can be pickled and copied (`copy.copy`, `copy.deepcopy`).

    Raises InvalidInputError for a `now` that is not a time. Methods that read the objects raise it
    if the bytes of a snapshot cannot be read; methods that change objects raise InvalidClusterError
    for a value that no object can hold.
    """

    def __init__(self, *, name: str | None = None, now: datetime | str | None = None) -> None:
        self._name = name
        self._now_ns = None if now is None else times.to_ns(now)
        self._tree: dict[str, Any] | None = {
            "rawObjects": {
                "nodes": [],
                "queues": [],
                "priorityClasses": defaults.priority_classes(),
                "podGroups": [],
                "pods": [],
            }
        }
        self._owns_tree = True  # False: a copy may share the lists
        self._is_live = False  # True: a feed fills it, and it has no objects except these:
        self._beside: Callable[[], _Lists] = dict
        self._memory: str | None = None  # of the scheduler whose snapshot this is
        self._text_has_context = False  # True: the bytes have `now` or `memory`, maybe old ones
        self._data: _Text | None = None
        self._names: dict[str, _Names] = {}
        self._compiled: _core.Cluster | None = None
        self._reader_rejected: tuple[Rejected, ...] = ()
        self._reader_warnings: tuple[str, ...] = ()
        self._without_pods: Mapping[str, str] = {}  # "Job a/x": why plans have no pods of it
        self._lost: LostPods | None = LostPods()  # None: the input was not searched for them yet
        self._elsewhere: Elsewhere | None = Elsewhere({})  # None: the same
        self._missing = _Missing()
        self._groups: dict[str, _Group] | None = None
        self._keys: dict[str, _Keys] = {}
        # By pod group: the calls that added pods. The same cell of a notebook may run twice.
        self._calls: dict[str, set[str]] = {}
        # Changes since the tree or the bytes: by kind and name.
        self._later: dict[str, dict[str, _Later]] = {}
        # Keeps the tree, the bytes and the compiled cluster consistent
        self._lock = threading.RLock()
        self._changes = 0  # how often its objects, its configuration or its time changed

    # ---- from and to snapshots -------------------------------------------------------------------

    @classmethod
    def from_snapshot(
        cls,
        snapshot: bytes | Mapping[str, Any],
        *,
        name: str | None = None,
        now: datetime | str | None = None,
        rejected: Iterable[Rejected] = (),
        warnings: Iterable[str] = (),
        memory: str | None = None,
    ) -> Cluster:
        """A cluster from a KAI snapshot.json: its bytes, or the parsed content.

        `now` is the default time of plans; default: the time in the snapshot, if there is one.
        `rejected` are objects that the caller left out already, and `warnings` its other messages.
        `memory` is what the scheduler of this cluster remembered (`kai.Scheduler.export_memory`):
        each scheduler that plans the cluster continues with it. Raises InvalidInputError if the
        bytes are not a snapshot.

        >>> import kai
        >>> kai.Cluster.from_snapshot({"rawObjects": {"nodes": [], "pods": []}})
        <kai.Cluster: 0 nodes, 0 pod groups with 0 pods, 0 queues>
        """
        cluster = cls(name=name, now=now)
        cluster._reader_rejected = tuple(rejected)
        cluster._reader_warnings = tuple(warnings)
        if isinstance(snapshot, bytes):
            cluster._tree, cluster._data = None, _Text(snapshot)
            core = cluster._core_cluster()
            own_now, own_memory = core.now, core.memory_json
            left_out = _parse(snapshot).get(_LEFT_OUT) if _LEFT_OUT.encode() in snapshot else None
            cluster._text_has_context = bool(own_now or own_memory or left_out)
        else:
            cluster._tree = _parse(_dump(snapshot))
            left_out = cluster._tree.pop(_LEFT_OUT, None)
            own_now = cluster._tree.pop(_NOW, "")
            own_memory = cluster._tree.pop(_MEMORY, None) and _dump(snapshot[_MEMORY]).decode()
        cluster._add_left_out(left_out)
        cluster._memory = memory or own_memory or None
        if now is None and own_now:
            with naming("the snapshot's now"):
                cluster._now_ns = times.to_ns(own_now)
        return cluster

    @classmethod
    def _live(
        cls,
        core: _core.Cluster,
        *,
        name: str | None = None,
        objects: Callable[[], _Lists] = dict,
    ) -> Cluster:
        """A cluster that a feed fills: it has rows, and only the objects that were kept with
        them."""
        cluster = cls(name=name)
        cluster._tree, cluster._compiled, cluster._is_live = None, core, True
        cluster._beside = objects
        return cluster

    def copy(self) -> Cluster:
        """An independent cluster with the same objects.

        A copy is much cheaper than a load: objects are shared until one of the clusters changes
        them. Both can be planned at the same time. What schedulers remember about the original,
        such as promises, is not copied.

        >>> import kai
        >>> cluster = kai.Cluster().node("n1", gpus=8)
        >>> cluster.copy().node("n2", gpus=8)
        <kai.Cluster: 2 nodes with 16 GPUs, 0 pod groups with 0 pods, 0 queues>
        >>> cluster
        <kai.Cluster: 1 node with 8 GPUs, 0 pod groups with 0 pods, 0 queues>
        """
        with self._lock:
            self._owns_tree = False
            twin = Cluster()
            for member in (*_BESIDE_OBJECTS, "_tree", "_owns_tree", "_data", "_is_live", "_beside"):
                setattr(twin, member, getattr(self, member))
            twin._names = dict(self._names)
            twin._later = {kind: dict(later) for kind, later in self._later.items()}
            twin._compiled = None if self._compiled is None else self._compiled.copy()
            twin._missing = copy.deepcopy(self._missing)
            return twin

    def __copy__(self) -> Cluster:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Cluster:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        data = self._snapshot_bytes()
        return _unpickled, (data, {member: getattr(self, member) for member in _BESIDE_OBJECTS})

    def to_snapshot(self) -> dict[str, Any]:
        """The content of a snapshot.json, as a copy, with the cluster's time and memory, and with
        what the reader of manifests left out."""
        return self._with_context(self._snapshot_bytes(), self._context())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a snapshot: a .json file, or, for a name ending in .zip, the archive that KAI
        writes.

        It includes the time of the cluster (`now`), the memory of a scheduler, if the cluster was
        read from a snapshot with one, and the objects of manifests that were left out, with the
        warnings about the others: the loaded cluster has the same plan.
        """
        context = self._context()
        memory = context.pop(_MEMORY, None) if os.fspath(path).endswith(".zip") else None
        data = self._snapshot_bytes()
        if self._text_has_context:
            data = _dump(self._with_context(data, context))
        elif context:
            data = b"%s,%s" % (data.rstrip()[:-1], _dump(context)[1:])
        if os.fspath(path).endswith(".zip"):
            from kai.engine.packing import pack

            data = pack([data], None if memory is None else _dump(memory).decode())
        files.write(path, data)

    def _context(self) -> dict[str, Any]:
        """The members of a snapshot that plans depend on besides objects and configuration."""
        now = {} if self._now_ns is None else {_NOW: times.to_text(self._now_ns)}
        found: dict[str, Any] = dict(now)
        if self._reader_rejected or self._reader_warnings:
            objects = [asdict(each) for each in self._reader_rejected]
            found[_LEFT_OUT] = {"objects": objects, "warnings": [*self._reader_warnings]}
        if self._memory is None:
            return found
        try:
            return {**found, _MEMORY: {**json.loads(self._memory), **now}}
        except (TypeError, ValueError):
            raise InvalidInputError("the memory of the cluster is not a JSON object") from None

    @staticmethod
    def _with_context(data: bytes, context: Mapping[str, Any]) -> dict[str, Any]:
        """The parsed bytes with this context in place of their own."""
        tree: dict[str, Any] = _parse(data)
        tree.pop(_LEFT_OUT, None)
        return {**tree, **context}

    def _add_left_out(self, left_out: Any) -> None:
        """Takes over what a saved cluster had left out."""
        if left_out is None:
            return
        try:
            objects = [Rejected(**each) for each in left_out.get("objects", ())]
            warnings = list(left_out.get("warnings", ()))
        except (AttributeError, TypeError):
            objects, warnings = [], [None]
        texts = (*warnings, *(text for each in objects for text in astuple(each)))
        if not all(isinstance(each, str) for each in texts):
            raise InvalidInputError(f"the snapshot's {_LEFT_OUT}: is not as kai writes it")
        self._reject(objects)._warn(warnings)

    # ---- what it is ------------------------------------------------------------------------------

    @property
    def name(self) -> str | None:
        """The source of the cluster: the `input` of its plans. None for a cluster made by hand."""
        return self._name

    @property
    def now(self) -> datetime | None:
        """The default time of plans; None is the current time."""
        return None if self._now_ns is None else times.to_datetime(self._now_ns)

    @property
    def objects(self) -> dict[str, Sequence[dict[str, Any]]]:
        """The Kubernetes objects by their list in the snapshot: "nodes", "pods", "podGroups", ...

        >>> import kai
        >>> kai.Cluster().node("n1", gpus=8).objects["nodes"][0]["status"]["allocatable"]
        {'cpu': '64', 'memory': '512Gi', 'pods': '110', 'nvidia.com/gpu': '8'}

        Each object that you read from it is a copy: changing it does not change the cluster. Use
        `upsert` to store it.
        """
        lists = self._beside() if self._is_live else self._lists()
        return {name: Objects(listed) for name, listed in lists.items()}

    @property
    def config(self) -> dict[str, Any] | None:
        """The scheduler configuration in the cluster, in KAI's format; None: there is none.

        >>> import kai
        >>> kai.Cluster().configure({"actions": "allocate"}).config
        {'actions': 'allocate'}
        """
        carried = self._core_cluster().config_json
        config: dict[str, Any] | None = json.loads(carried) if carried else None
        return config

    def _has_params(self, wanted: Mapping[str, Any]) -> bool:
        """Whether these are among the `schedulerParams` of the cluster; True for a live one, whose
        connection has them."""
        if self._is_live:
            return True
        known = self._tree_before().get("schedulerParams")
        there = defaults.scheduler_params() if known is None else mapping(known)
        return all(_holds(there.get(name), each) for name, each in wanted.items())

    @property
    def rejected(self) -> tuple[Rejected, ...]:
        """The invalid objects, which were left out; all others are scheduled."""
        return self._all_rejected(self._core_cluster().rejected)

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of nodes, pods, pod_groups and queues that the engine accepted."""
        return dict(self._core_cluster().counts)

    def fragmentation(self, mix: Mix | None = None) -> Fragmentation:
        """How much of the GPUs that are idle now the typical pod cannot use (`kai.Fragmentation`).

        `mix`: the typical pods, as `kai.Fragmentation.against` takes them. Without it they are the
        most frequent ones that belong to pod groups, waiting and placed: 95 % of all. Raises
        InvalidInputError for an invalid mix.

        >>> import kai
        >>> cluster = kai.Cluster().queue("a").node("n1", gpus=8)
        >>> cluster.running("a/x", pods=2, gpus=3, node="n1").fragmentation().gpus
        2
        """
        from kai.engine.fragmentation import fragmentation_of

        return fragmentation_of(self._core_cluster().measured(), mix)

    @property
    def usage(self) -> dict[str, dict[str, float]]:
        """The past usage of existing queues (`set_usage`), by queue and resource."""
        return usages.to_mapping(self._core_cluster().usage())

    # ---- events --------------------------------------------------------------------------------

    def upsert(self, manifest: Mapping[str, Any] | bytes | str) -> Cluster:
        """Adds or replaces an object: a Kubernetes object with its `kind`, as a mapping or JSON.

        It must be the whole object, as on the API server; no defaults are added. An invalid object
        replaces the previous version, and is in `rejected` until a valid version arrives. An object
        with a lower `metadata.resourceVersion` than an earlier upsert is outdated and ignored.

        The next plan costs only what changed, not a load; the first change reads the cluster once
        more.

        >>> import kai
        >>> cluster = kai.Cluster().queue("a").node("n1", gpus=1).pending("a/one", gpus=1)
        >>> pod = cluster.objects["pods"][0]
        >>> _ = cluster.upsert({**pod, "kind": "Pod", "status": {"phase": "Succeeded"}})
        >>> kai.Scheduler().plan(cluster).decisions
        ()

        Raises InvalidClusterError for text that is not JSON, for an object without a name, and for
        a kind that no plan depends on.
        """
        if isinstance(manifest, Mapping):
            kind = manifest.get("kind")
            if (
                isinstance(kind, str)
                and kind not in kinds.LISTS
                and (hint := did_you_mean(kind, kinds.LISTS))
            ):
                raise InvalidClusterError(f"plans do not use the kind {kind}{hint}")
            data = _dump(manifest)
        elif isinstance(manifest, (str, bytes)):
            data = manifest.encode() if isinstance(manifest, str) else manifest
        else:
            taken = "a mapping, or JSON as text or bytes"
            raise arguments.wrong_type(f"upsert() takes {taken}, not {type(manifest).__name__}")
        with self._lock:
            core = self._core_cluster()
            kind, name, was_there, is_late = core.upsert(data)
            if not is_late:
                self._note(core, kind, name, data, was_there=was_there)
        return self

    def delete(self, kind: str, name: str) -> Cluster:
        """Deletes an object: "namespace/name", or "name" for a kind without namespaces.

        Deleting a missing object is not an error.

        >>> import kai
        >>> cluster = kai.Cluster().queue("a").node("n1", gpus=1).pending("a/one", gpus=1)
        >>> cluster.delete("Pod", "a/one-0")
        <kai.Cluster: 1 node with 1 GPU, 1 pod group with 0 pods, 1 queue>

        Raises InvalidClusterError for a kind that no plan depends on.
        """
        _check_kind(kind)
        with self._lock:
            core = self._core_cluster()
            self._note(core, kind, name, None, was_there=core.delete(kind, name))
        return self

    def set_usage(self, usage: Mapping[str, Mapping[str, float]]) -> Cluster:
        """Sets the past usage of queues (docs/concepts/time_based_fair_share.md).

        By queue, and "gpu", "cpu" or "memory": a fraction of the cluster's capacity; the default is
        0. It replaces earlier values and is included in snapshots. Queues may be missing, or be
        added later.

        >>> import kai
        >>> cluster = kai.Cluster().queue("a").queue("b").node("n1", gpus=8)
        >>> cluster = cluster.pending("a/x", pods=8, gpus=1).pending("b/x", pods=8, gpus=1)
        >>> queues = kai.Scheduler().plan(cluster.set_usage({"a": {"gpu": 0.5}})).queues
        >>> queues["a"].gpu.fair_share, queues["b"].gpu.fair_share
        (3, 5)

        Raises InvalidInputError for a fraction that is negative or not a number.
        """
        rows = usages.rows_of(usage)
        with self._lock:
            self._changes += 1
            if not self._is_live:
                self._keep_usage(usages.to_mapping(rows))
            core = self._compiled
            if core is not None and core.can_follow():
                core.set_usage(rows)
            else:
                self._compiled = None
        return self

    def _keep_usage(self, usage: Mapping[str, Any]) -> None:
        """Stores it in the tree, or in the text if there is no tree: parsing a large text takes
        seconds."""
        if self._tree is None and self._data is not None:
            text = self._data.data.rstrip()
            self._data = _Text(b"%s,%s" % (text[:-1], _dump({"usage": usage})[1:]))
        else:
            self._own_tree()["usage"] = dict(usage)
            self._data = None

    def _reject(self, rejected: Iterable[Rejected]) -> Cluster:
        """Records objects that a reader left out; they are in `rejected` until a valid version
        arrives."""
        with self._lock:
            self._reader_rejected = (*self._reader_rejected, *rejected)
        return self

    def _warn(self, warnings: Iterable[str]) -> Cluster:
        """Records warnings of a reader, each once."""
        with self._lock:
            known = self._reader_warnings
            self._reader_warnings = tuple(dict.fromkeys((*known, *warnings)))
        return self

    # ---- changes -------------------------------------------------------------------------------

    def remove(self, *names: str, kind: str | None = None) -> Cluster:
        """Removes pod groups, pods, nodes or queues by name.

        A pod group is removed with its pods; the pods of a removed node wait again or are removed,
        as after `drain`. `kind` is needed for objects of other kinds, and for a name that several
        kinds use.

        >>> import kai
        >>> cluster = kai.Cluster().queue("a").nodes("n", 2, gpus=8).pending("a/x", pods=4, gpus=1)
        >>> cluster.remove("a/x", "n2")
        <kai.Cluster: 1 node with 8 GPUs, 0 pod groups with 0 pods, 1 queue>

        Raises NotFoundError for an unknown name, and InvalidClusterError for a name that several
        kinds use and for a kind that no plan depends on.
        """
        with self._lock:
            found = [(self._kind_of(name, kind), name) for name in names]
            for kind_of, name in found:
                if kind_of == "PodGroup":
                    self._calls.pop(name, None)
                    self._take_out(self._pods_of(name))
                elif kind_of == "Node":
                    self._empty(name)
                if kind_of == "Pod":
                    self._take_out([name])
                else:
                    self.delete(kind_of, name)
        return self

    def update_queue(self, name: str, **changes: Unpack[QueueOptions]) -> Cluster:
        """Changes the given options of a queue; all others stay.

        The options are those of `queue`: parent, deserved_gpus, gpu_limit, weight, priority, ...
        (`kai.engine.objects.QueueOptions`), in devices, cores and bytes; None is unlimited.

        >>> import kai
        >>> cluster = kai.Cluster().queue("a", deserved_gpus=2).node("n1", gpus=8)
        >>> _ = cluster.update_queue("a", deserved_gpus=4, weight=3)
        >>> share = kai.Scheduler().plan(cluster).queues["a"].gpu
        >>> share.deserved, share.over_quota_weight
        (4, 3)

        Raises NotFoundError for an unknown queue, InvalidClusterError for an amount that is not a
        quantity, and TypeError for an unknown option.
        """
        _known_options("update_queue", changes, QueueOptions)
        arguments.check(changes, QueueOptions)
        with self._lock:
            self._put("Queue", edits.queue_with(self._existing("Queue", name), changes))
        return self

    def add_nodes(
        self,
        count: int,
        *,
        like: str,
        prefix: str | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> Cluster:
        """Adds empty copies of an existing node.

        Their names continue its numbering: "gpu-3", "gpu-4" after "gpu-2"; with `prefix`, the
        prefix and numbers from 1. `labels` replace labels of the node: a rack, a zone. The state of
        the node is not copied: new nodes are ready and not cordoned, without the taints that
        Kubernetes sets for a state, such as node.kubernetes.io/not-ready. Other objects that
        describe its devices (ResourceSlices, NUMA zones) are not copied; add them with `upsert`.

        >>> import kai
        >>> cluster = kai.Cluster().nodes("gpu-", 2, gpus=8).add_nodes(2, like="gpu-1")
        >>> [node["metadata"]["name"] for node in cluster.objects["nodes"]]
        ['gpu-1', 'gpu-2', 'gpu-3', 'gpu-4']

        Raises NotFoundError for an unknown node, and InvalidClusterError for a negative count.
        """
        _at_least("count", count, 0)
        with self._lock:
            model = self._existing("Node", like)
            first = like if prefix is None else f"{prefix}0"
            numbers = edits.new_numbers(first, self._all("Node"))
            for _ in range(count):
                name = edits.numbered(first, next(numbers))
                self._put("Node", edits.node_like(model, name, labels or {}))
        return self

    def cordon(self, *nodes: str) -> Cluster:
        """Cordons nodes: they accept no new pods; their pods stay.

        >>> import kai
        >>> cluster = kai.Cluster().queue("a").node("n1", gpus=8).pending("a/x", gpus=1)
        >>> kai.Scheduler().plan(cluster.cordon("n1")).decisions
        ()

        Raises NotFoundError for an unknown node.
        """
        return self._cordon(nodes, value=True)

    def uncordon(self, *nodes: str) -> Cluster:
        """Uncordons nodes: they accept pods again. Raises NotFoundError for an unknown node."""
        return self._cordon(nodes, value=False)

    def drain(self, *nodes: str) -> Cluster:
        """Drains nodes: they accept no new pods, and their pods wait again, without a node.

        Pods that are being deleted, that have ended, or that no controller creates again, are
        removed. Pods of DaemonSets stay.

        >>> import kai
        >>> cluster = kai.Cluster().queue("a").nodes("n", 2, gpus=8)
        >>> _ = cluster.running("a/x", pods=2, gpus=1, node="n1").drain("n1")
        >>> [decision.node for decision in kai.Scheduler().plan(cluster).decisions]
        ['n2', 'n2']

        Raises NotFoundError for an unknown node.
        """
        with self._lock:
            self._cordon(nodes, value=True)
            for node in nodes:
                self._empty(node, is_stopped=False)
        return self

    def scale(self, group: str, pods: int, *, min_member: int | None = None) -> Cluster:
        """Changes the number of pods of a pod group; new pods wait, and are copies of its last one.

        If there are too many, waiting pods are removed first, then running ones, in both cases
        those with the highest numbers. Pods that have ended or are being deleted do not count.
        `min_member`: how many must start together; unchanged by default.

        >>> import kai
        >>> cluster = kai.Cluster().queue("a").node("n1", gpus=8).pending("a/x", pods=2, gpus=1)
        >>> cluster.scale("a/x", 8, min_member=8)
        <kai.Cluster: 1 node with 8 GPUs, 1 pod group with 8 pods (8 pending), 1 queue>

        Raises NotFoundError for an unknown group, and InvalidClusterError for a negative number and
        for a group without a pod to copy.
        """
        _at_least("pods", pods, 0)
        _at_least("min_member", min_member or 0, 0)
        with self._lock:
            self._calls.pop(group, None)
            manifest = self._existing("PodGroup", group)
            every = self._pods_of(group)
            alive = sorted((name for name in every if _is_alive(every[name])), key=_by_number)
            # The pods that are removed last come first.
            alive.sort(key=lambda name: not at(every[name], "spec", "nodeName"))
            self._take_out(alive[pods:])
            if pods > len(alive):
                model = max(alive or every, key=_by_number, default=None)
                if model is None:
                    raise InvalidClusterError(f"scale({group!r}): the group has no pod to copy")
                namespace = model.rpartition("/")[0]
                same = [name for name in self._all("Pod") if name.rpartition("/")[0] == namespace]
                numbers = edits.new_numbers(model, same)
                for _ in range(pods - len(alive)):
                    self._put("Pod", edits.pod_like(every[model], next(numbers)))
            if min_member is not None:
                self._put("PodGroup", edits.with_minimum(manifest, min_member))
        return self

    # ---- the words of a situation ----------------------------------------------------------------

    @arguments.suggesting
    def queue(
        self,
        name: str,
        *,
        parent: str | None = None,
        deserved_gpus: Amount | None = 0,
        deserved_cpus: Amount | None = None,
        deserved_memory: Amount | None = None,
        gpu_limit: Amount | None = None,
        cpu_limit: Amount | None = None,
        memory_limit: Amount | None = None,
        weight: float = 1,
        priority: int | None = None,
        created: str | None = None,
        spec: Mapping[str, Any] | None = None,
    ) -> Cluster:
        """Adds a queue, or replaces the one of this name.

        None is unlimited; `weight` distributes surplus resources among queues.
        CPUs are in cores and memory in bytes; both may be quantities such as "64Gi". `spec`
        overrides fields of the queue's spec, for settings without an argument:
        ``spec={"reclaimMinRuntime": "10m"}``.

        Raises InvalidClusterError for an amount that is not a quantity, for an argument of another
        type, and for a value that no object can hold.
        """
        given = _checked(Cluster.queue, locals())
        given["created"] = created or self._creation_of(name) or self._next_creation("queues")
        return self.add("Queue", objects.queue(**given))

    def default_queues(self) -> Cluster:
        """Adds the two queues that KAI's chart installs."""
        return self.add("Queue", *defaults.queues())

    def priority_class(self, name: str, value: int) -> Cluster:
        """Adds a priority class. Below 100, a pod group is preemptible by default.

        Raises InvalidClusterError for a value that no object can hold.
        """
        return self.add("PriorityClass", defaults.priority_class(name, value))

    @arguments.suggesting
    def node(
        self,
        name: str,
        *,
        gpus: int = 0,
        cpus: Amount = 64,
        memory: Amount = "512Gi",
        pods: int = 110,
        gpu_memory_mib: int | None = 81920,
        resources: Mapping[str, Amount] | None = None,
        labels: Mapping[str, str] | None = None,
        taints: Iterable[str | Mapping[str, Any]] = (),
        cordoned: bool = False,
        ready: bool = True,
    ) -> Cluster:
        """Adds a node, or replaces the one of this name.

        Taints have kubectl's format: "key=value:NoSchedule".
        CPUs are in cores and memory in bytes; both may be quantities such as "64Gi".
        `gpu_memory_mib` is per GPU; None: the node has no label with it.

        Raises InvalidClusterError for a negative number of GPUs, for arguments of the wrong type,
        such as a text instead of a list, for an invalid taint, and for a value that no object can
        hold.
        """
        given = _checked(Cluster.node, locals())
        _at_least("gpus", gpus, 0)
        return self.add("Node", objects.node(**given))

    def topology(self, name: str, *levels: str, **aliases: str) -> Cluster:
        """Adds a Topology: node labels, the widest level first, optionally as alias=label.

        >>> import kai
        >>> cluster = kai.Cluster().topology("site", "example.com/zone", rack="example.com/rack")
        >>> cluster.objects["topologies"][0]["spec"]["levels"][1]
        {'nodeLabel': 'example.com/rack', 'alias': 'rack'}

        Raises InvalidClusterError for a level that no object can hold.
        """
        listed: list[dict[str, str]] = [{"nodeLabel": label} for label in levels]
        listed += [{"nodeLabel": label, "alias": alias} for alias, label in aliases.items()]
        return self.add("Topology", {"metadata": {"name": name}, "spec": {"levels": listed}})

    def nodes(self, prefix: str, count: int, **node: Unpack[NodeOptions]) -> Cluster:
        """Adds `count` equal nodes; their names sort in the order of their numbers.

        The options are those of `node`: gpus, cpus, memory, labels, taints, ...

        >>> import kai
        >>> [n["metadata"]["name"] for n in kai.Cluster().nodes("n", 10, gpus=8).objects["nodes"]]
        ['n01', 'n02', 'n03', 'n04', 'n05', 'n06', 'n07', 'n08', 'n09', 'n10']

        Raises InvalidClusterError for a negative count, and as `node` does; TypeError for an
        unknown option.
        """
        _known_options("nodes", node, NodeOptions)
        _at_least("count", count, 0)
        width = len(str(count))
        for number in range(1, count + 1):
            self.node(f"{prefix}{number:0{width}d}", **node)
        return self

    def pending(self, group: str, **pod: Unpack[PodOptions]) -> Cluster:
        """Adds waiting pods to the pod group "namespace/name", and the group if it is new.

        The options are those of `kai.engine.objects.PodOptions`: pods, queue, min_member, priority,
        preemptible, gpus, cpus, memory, node_selector, tolerations, affinity, anti_affinity, ...

        >>> import kai
        >>> kai.Cluster().queue("vision").pending("vision/train", pods=4, gpus=8, min_member=4)
        <kai.Cluster: 0 nodes, 1 pod group with 4 pods (4 pending), 1 queue>

        The same call a second time is refused, because a cell of a notebook may run twice; a call
        with other options adds pods.

        If a priority class, or the node of running pods, does not exist when a plan is made, the
        plan's `warnings` name it.

        Raises InvalidClusterError for a group without a queue, for negative numbers, for options of
        the wrong type, for an invalid toleration, for whole GPUs together with a GPU fraction, for
        `gpus` that are a part of a GPU, and for the same call again; TypeError for an unknown
        option.
        """
        with self._lock:
            return self._add_pods("pending", group, pod)

    def running(
        self, group: str, *, node: str | Sequence[str], **pod: Unpack[PodOptions]
    ) -> Cluster:
        """Adds running pods, all on one node, or in turn on the nodes of a list.

        Raises InvalidClusterError as `pending` does, and without a node.
        """
        with self._lock:
            return self._add_pods("running", group, pod, node)

    def releasing(
        self, group: str, *, node: str | Sequence[str], **pod: Unpack[PodOptions]
    ) -> Cluster:
        """Adds running pods that are being deleted: their resources will be free soon.

        Raises InvalidClusterError as `pending` does, and without a node.
        """
        with self._lock:
            return self._add_pods("releasing", group, pod, node)

    def add(self, kind: str, *manifests: Mapping[str, Any]) -> Cluster:
        """Adds Kubernetes objects unchanged, for kinds that have no method of their own.

        An object replaces an earlier one of the same kind and name.

        >>> import kai
        >>> cluster = kai.Cluster().add("Topology", {"metadata": {"name": "racks"}, "spec": {}})

        Raises InvalidClusterError for a kind that no snapshot holds, and for a value that no object
        can hold.
        """
        _check_kind(kind, "a snapshot does not contain")
        added = _parse(_dump(list(manifests)))
        with self._lock:
            new = self._replaced(kind, added)
            self._list(kinds.LISTS[kind]).extend(new)
            if kind in ("PodGroup", "Pod"):
                self._groups = None
            self._changed(kind, added, may_replace=len(new) < len(added))
        return self

    def _replaced(self, kind: str, added: Sequence[Any]) -> Sequence[Any]:
        """Puts objects whose names exist in the place of the earlier ones; returns the others."""
        listed = self._list(kinds.LISTS[kind])
        known = self._keys.get(kind)
        if known is None or known.listed is not listed or known.count > len(listed):
            known = self._keys[kind] = _Keys(listed)
        known.read()
        keys_of_added = [_key(each) if isinstance(each, dict) else "" for each in added]
        again = {key: each for key, each in zip(keys_of_added, added, strict=True) if key}
        again = {key: each for key, each in again.items() if key in known.keys}
        if not again:
            return added
        for place, each in enumerate(listed):
            if isinstance(each, dict) and (key := _key(each)) in again:
                listed[place] = again[key]
        self._names.pop(kind, None)
        return [each for key, each in zip(keys_of_added, added, strict=True) if key not in again]

    def configure(self, config: ConfigSource | None = None, **params: Any) -> Cluster:
        """Sets the scheduler configuration of the cluster, and its `schedulerParams`.

        `config` has the same forms as for `kai.Config.load`, or is a `kai.Config`; its
        `schedulerParams` are set, too. Other parameters keep the default of KAI's command line.

        Raises InvalidClusterError for an unknown parameter and for a value that no object can hold,
        and InvalidConfigError for a configuration that cannot be used.
        """
        _check_params(params)
        carried = None
        if config is not None:
            found, of_config = split(config)
            carried = to_json(found)
            read(carried)
            params = {**parameters.nested(of_config), **params}
        with self._lock:
            tree = self._writable()
            if carried is not None:
                tree["config"] = json.loads(carried or "{}")
            if params:
                known = tree.get("schedulerParams") or defaults.scheduler_params()
                tree["schedulerParams"] = json.loads(_dump(known | params))
            self._data = self._compiled = None
            self._changes += 1
        return self

    def at(self, now: datetime | str) -> Cluster:
        """Sets the default time of plans.

        Raises InvalidInputError if `now` is not a time.
        """
        self._now_ns = times.to_ns(now)
        self._changes += 1
        return self

    # ---- looks -----------------------------------------------------------------------------------

    def __repr__(self) -> str:
        name = f" {self._name}" if self._name else ""
        return f"<kai.Cluster{name}: {self.summary()}>"

    def summary(self) -> str:
        """The numbers of objects, in one line."""
        if self._is_live:
            of = {
                kind: text.count(n, kind[:-1].replace("_", " ")) for kind, n in self.counts.items()
            }
            return f"{of['nodes']}, {of['pod_groups']} with {of['pods']}, {of['queues']}"
        return overview.summary(self._lists())

    def _repr_html_(self) -> str:
        title = f"kai.Cluster {self._name or ''}".strip()
        return overview.to_html(title, self._lists())

    # ---- inside ----------------------------------------------------------------------------------

    def _add_pods(
        self, how: str, group: str, options: PodOptions, node: str | Sequence[str] = ()
    ) -> Cluster:
        _known_options(how, options, PodOptions, noun="option")
        arguments.check({"group": group, "node": node}, Cluster._add_pods)
        objects.check_options(options)
        namespace, _, name = group.rpartition("/")
        queue = options.get("queue") or namespace
        count = options.get("pods", 1)
        where = [node] if isinstance(node, str) else list(node)
        _at_least("pods", count, 0)
        _at_least("min_member", options.get("min_member", 0), 0)
        if not name or not queue:
            raise InvalidClusterError(
                f"{how}({group!r}) needs a queue: name the pod group queue/name, or give queue=..."
            )
        if how != "pending" and not where:
            raise InvalidClusterError(f"{how}({group!r}) needs a node")
        started_ns = _start_in(how, group, options)
        self._note_call(how, f"{namespace or 'default'}/{name}", where, options)
        for each in dict.fromkeys(where):
            self._missing.note("Node", each, f"pods of {group} are on it", self._list)
        entry = self._group(namespace or "default", name)
        manifest = edits.copied(entry.manifest)
        metadata, spec = manifest["metadata"], manifest.setdefault("spec", {})
        if "queue" in options or "queue" not in spec:
            spec["queue"] = queue
        if "priority" in options or "priorityClassName" not in spec:
            named = options.get("priority")
            spec["priorityClassName"] = defaults.TRAIN if named is None else self._priority(named)
        if "min_member" in options:
            spec["minMember"] = options["min_member"]
        if "preemptible" in options:
            spec["preemptibility"] = "preemptible" if options["preemptible"] else "non-preemptible"
        if "topology" in options:
            spec["topologyConstraint"] = objects.topology_constraint(options)
            metadata.setdefault("annotations", {}).update(objects.domain_annotations(options))
        if options.get("created"):
            metadata["creationTimestamp"] = options["created"]
        if started_ns is not None:
            edits.note_start(metadata, started_ns)
        first, entry.pods = entry.pods, entry.pods + count
        made = [
            objects.pod(
                metadata["namespace"],
                name,
                index,
                phase="Pending" if how == "pending" else "Running",
                node=where[(index - first) % len(where)] if where else None,
                releasing=how == "releasing",
                options=options,
                created=metadata.get("creationTimestamp"),
            )
            for index in range(first, first + count)
        ]
        entry.manifest = self._list("podGroups")[entry.place] = manifest
        self._names.pop("PodGroup", None)
        self._list("pods").extend(made)
        self._changed("PodGroup", [manifest], may_replace=True)
        self._changed("Pod", made)
        return self

    def _note_call(
        self, how: str, group: str, where: Sequence[str], options: Mapping[str, Any]
    ) -> None:
        """Refuses the same call a second time: probably the cell of a notebook ran twice."""
        call = f"{how} {list(where)} {sorted(options.items(), key=lambda option: option[0])}"
        calls = self._calls.setdefault(group, set())
        if call in calls:
            raise InvalidClusterError(
                f"{how}({group!r}) was called before with the same options: for more pods use"
                f" pods=... or scale(), to describe the group again call remove({group!r}) first,"
                " and in a notebook begin the cell with kai.Cluster() or copy()"
            )
        calls.add(call)

    def _group(self, namespace: str, name: str) -> _Group:
        """The pod group of this name, created if it does not exist."""
        if self._groups is None:
            pods = Counter(
                f"{at(pod, 'metadata', 'namespace') or 'default'}/"
                f"{at(pod, 'metadata', 'annotations', keys.POD_GROUP_ANNOTATION)}"
                for pod in self._list("pods")
            )
            self._groups = {
                full_name: _Group(manifest, pods[full_name], place)
                for place, manifest in enumerate(self._list("podGroups"))
                if isinstance(manifest, dict) and (full_name := kinds.full_name(manifest))
            }
        full_name = f"{namespace}/{name}"
        if full_name not in self._groups:
            groups = self._list("podGroups")
            made = objects.pod_group(namespace, name, created=self._next_creation("podGroups"))
            self._groups[full_name] = _Group(made, 0, len(groups))
            groups.append(made)
        return self._groups[full_name]

    def _priority(self, priority: str | int) -> str:
        if isinstance(priority, str):
            effect = f"pod groups that name it have {defaults.PRIORITIES[defaults.TRAIN]}"
            self._missing.note("PriorityClass", priority, effect, self._list)
            return priority
        name = f"priority-{priority}"
        if all(at(c, "metadata", "name") != name for c in self._list("priorityClasses")):
            self.priority_class(name, priority)
        return name

    def _creation_of(self, queue: str) -> str | None:
        """The creation time of a queue that is described again: its order stays."""
        if queue not in self._keys.get("Queue", _Keys([])).keys:
            return None
        created: str | None = at(self._find("Queue", queue), "metadata", "creationTimestamp")
        return created

    def _next_creation(self, list_name: str) -> str:
        """Each object is one second younger than the previous one."""
        earlier = len(self._list(list_name))
        return times.to_text(_FIRST_CREATION_NS + earlier * times.SECOND_NS)

    def _warnings(self, nodes: Callable[[], Iterable[str]] | None = None) -> tuple[str, ...]:
        """Warnings for plans of this cluster.

        `nodes`: names of its nodes; they may save reading the objects a second time.
        """
        with self._lock:
            if self._lost is None:
                self._lost = self._lost_pods(nodes)
            lost = self._lost.warnings(lambda name: self._find("Pod", name), self._node_names)
            return (*self._reader_warnings, *self._missing.warnings(self._list), *lost)

    def _search_for_lost_pods(self) -> None:
        """The next plan names pods on nodes that do not exist, and waiting pods of other
        schedulers. A feed only has current pods."""
        if self._is_live:
            self._lost, self._elsewhere = LostPods(), Elsewhere({})
        else:
            self._lost = self._elsewhere = None

    def _pods_elsewhere(self) -> Elsewhere:
        """The waiting pods that a plan leaves to other schedulers."""
        with self._lock:
            if self._elsewhere is None:
                self._elsewhere = self._find_elsewhere()
            if self._elsewhere and self._later:
                return self._elsewhere.among_these(lambda name: self._find("Pod", name))
            return self._elsewhere

    def _find_elsewhere(self) -> Elsewhere:
        if self._data is not None and not self._later and not may_wait_elsewhere(self._data.data):
            return Elsewhere({})
        named = at(self._tree_before(), "schedulerParams", "schedulerName")
        scheduler = named if isinstance(named, str) and named else keys.SCHEDULER_NAME
        return Elsewhere.among(self._all("Pod").values(), scheduler)

    def _lost_pods(self, nodes: Callable[[], Iterable[str]] | None) -> LostPods:
        if self._data is not None and not self._later:
            named = node_names_in(self._data.data)
            if not named or (nodes is not None and named.issubset(nodes())):
                return LostPods()
        known = {*self._node_names(), *self._missing.names("Node")}
        return LostPods.among(self._all("Pod"), known)

    def _node_names(self) -> set[str]:
        """The names of all nodes of the input, also of those that were left out."""
        left_out = (each.name for each in self._reader_rejected if each.kind == "Node")
        return {*self._all("Node"), *left_out}

    def _all_rejected(self, found: Iterable[tuple[str, str, str, str]]) -> tuple[Rejected, ...]:
        return tuple(sorted({*self._reader_rejected, *(Rejected(*each) for each in found)}))

    # ---- objects by list, and by name

    def _lists(self) -> _Lists:
        """The objects themselves, which copies of the cluster may share."""
        lists = self._parsed().get("rawObjects") or {}
        return {
            name: tuple(each for each in items if isinstance(each, dict))
            for name, items in lists.items()
            if isinstance(items, list)
        }

    def _kind_of(self, name: str, kind: str | None) -> str:
        """The kind of an existing object."""
        if kind is not None:
            _check_kind(kind)
            self._existing(kind, name)
            return kind
        for listed in (_REMOVABLE, tuple(kinds.LISTS)):
            found = [each for each in listed if self._find(each, name) is not None]
            if len(found) == 1:
                return found[0]
            if found:
                raise InvalidClusterError(
                    f"{name!r} is the name of a {' and of a '.join(found)}: name the kind with"
                    " kind=..."
                )
        known = [each for one in _REMOVABLE for each in self._all(one)]
        raise NotFoundError(text.not_found("pod group, pod, node or queue", name, known))

    def _existing(self, kind: str, name: str) -> Mapping[str, Any]:
        manifest = self._find(kind, name)
        if manifest is None:
            raise NotFoundError(text.not_found(_NOUNS.get(kind, kind), name, self._all(kind)))
        return manifest

    def _find(self, kind: str, name: str) -> Mapping[str, Any] | None:
        """An object by "namespace/name", or "name" where a kind has no namespaces."""
        if (later := self._later.get(kind, {}).get(name)) is not None:
            return later.manifest
        return self._named(kind).get(name)

    def _all(self, kind: str) -> Mapping[str, Mapping[str, Any]]:
        """The objects of a kind by name."""
        if not (later := self._later.get(kind)):
            return self._named(kind)
        every = dict(self._named(kind))
        for name, each in later.items():
            every.pop(name, None)
            if (manifest := each.manifest) is not None:
                every[name] = manifest
        return every

    def _named(self, kind: str) -> Mapping[str, Mapping[str, Any]]:
        """The objects of the tree, without later changes."""
        listed = at(self._tree_before(), "rawObjects", kinds.LISTS[kind])
        listed = listed if isinstance(listed, list) else []
        known = self._names.get(kind)
        if known is None or known.listed is not listed or known.count > len(listed):
            known = self._names[kind] = _Names(listed)
        if known.count < len(listed):
            new = (each for each in listed[known.count :] if isinstance(each, dict))
            known = self._names[kind] = _Names(
                listed, len(listed), {**known.objects, **{_key(each): each for each in new}}
            )
        return known.objects

    def _pods_of(self, *groups: str) -> dict[str, Mapping[str, Any]]:
        """The pods of these pod groups, by name."""
        parts = (group.rpartition("/") for group in groups)
        wanted = {(namespace or "default", name) for namespace, _, name in parts}
        return {
            key: pod
            for key, pod in self._all("Pod").items()
            if _group_of(pod) in wanted and isinstance(at(pod, "metadata", "name"), str)
        }

    def _put(self, kind: str, manifest: Mapping[str, Any]) -> None:
        self.upsert({**manifest, "kind": kind})

    def _cordon(self, nodes: Iterable[str], *, value: bool) -> Cluster:
        with self._lock:
            for manifest in [self._existing("Node", name) for name in nodes]:
                if bool(at(manifest, "spec", "unschedulable")) != value:
                    self._put("Node", edits.cordoned(manifest, value))
        return self

    def _empty(self, node: str, *, is_stopped: bool = True) -> None:
        """The pods of a node wait again if they are created again; the others are removed.
        `is_stopped`: also those of DaemonSets."""
        for name, request in [*self._all("BindRequest").items()]:
            if at(request, "spec", "selectedNode") == node:
                self.delete("BindRequest", name)
        there = [
            name
            for name, pod in self._all("Pod").items()
            if at(pod, "spec", "nodeName") == node and (is_stopped or not edits.stays(pod))
        ]
        self._release_claims(there)
        for name in there:
            pod = self._existing("Pod", name)
            if _is_alive(pod) and edits.is_created_again(pod):
                self._put("Pod", edits.waiting(pod))
            else:
                self.delete("Pod", name)

    def _take_out(self, pods: Iterable[str]) -> None:
        gone = [*pods]
        self._release_claims(gone)
        for name in gone:
            self.delete("Pod", name)

    def _release_claims(self, pods: Iterable[str]) -> None:
        """Releases resource claims of pods that lose their node or are removed."""
        gone: dict[str, set[str]] = {}
        for key in pods:
            namespace, _, name = key.rpartition("/")
            gone.setdefault(namespace, set()).add(name)
            # The binder created this claim for the pod's extended resources.
            made = at(self._find("Pod", key), *_EXTENDED_CLAIM)
            if made:
                self.delete("ResourceClaim", f"{namespace}/{made}")
        for key, claim in [*self._all("ResourceClaim").items()]:
            names = gone.get(key.rpartition("/")[0])
            changed = edits.without_users(claim, names) if names else None
            if changed is not None:
                self._put("ResourceClaim", changed)

    # ---- the tree, and what happened since

    def _parsed(self) -> dict[str, Any]:
        """The tree, with all later changes."""
        with self._lock:
            tree = self._tree_before()
            if self._later:
                tree = self._own_tree()
                self._put_later(tree)
            return tree

    def _tree_before(self) -> dict[str, Any]:
        """The tree, without later changes."""
        if self._is_live:
            what = "a live cluster stores only what plans need, not the objects themselves"
            raise InvalidClusterError(what)
        if self._tree is None:
            assert self._data is not None
            self._tree, self._owns_tree = self._data.tree(), False
        return self._tree

    def _own_tree(self) -> dict[str, Any]:
        """The tree, with lists that no other cluster shares; the listed objects are not changed."""
        tree = self._tree_before()
        if not self._owns_tree:
            tree = dict(tree)
            if isinstance(lists := tree.get("rawObjects"), dict):
                tree["rawObjects"] = {
                    name: list(items) if isinstance(items, list) else items
                    for name, items in lists.items()
                }
                for kind, known in self._names.items():
                    mine = tree["rawObjects"].get(kinds.LISTS[kind])
                    if known.listed is lists.get(kinds.LISTS[kind]) and isinstance(mine, list):
                        self._names[kind] = _Names(mine, known.count, known.objects)
            self._tree, self._owns_tree = tree, True
        return tree

    def _put_later(self, tree: dict[str, Any]) -> None:
        """Merges the later changes into the tree."""
        if not isinstance(tree.get("rawObjects"), dict):
            tree["rawObjects"] = {}
        lists: dict[str, Any] = tree["rawObjects"]
        for kind, later in self._later.items():
            known = lists.get(kinds.LISTS[kind])
            objects_now = [
                each
                for each in (known if isinstance(known, list) else [])
                if not isinstance(each, dict) or _key(each) not in later
            ]
            new = b",".join(each.data for each in later.values() if each.data)
            objects_now += _parse(b"[" + new + b"]")
            lists[kinds.LISTS[kind]] = objects_now
        self._later = {}
        self._data = self._groups = None

    def _note(
        self, core: _core.Cluster, kind: str, name: str, data: bytes | None, *, was_there: bool
    ) -> None:
        """Stores a change for the export; None: the object is deleted."""
        self._changes += 1
        if self._is_live:
            return
        if not core.can_follow():
            self._compiled = None  # the next plan reads everything again
            was_there = True  # as far as is known
        later = self._later.setdefault(kind, {})
        in_tree = later[name].in_tree if name in later else was_there
        if data is None and not in_tree:
            later.pop(name, None)
        else:
            later[name] = _Later(data, in_tree)
        self._groups = None
        self._reader_rejected = tuple(
            each for each in self._reader_rejected if (each.kind, each.name) != (kind, name)
        )

    @contextmanager
    def changes_undone(self) -> Iterator[None]:
        """Undoes what the block changes by `upsert` and `delete`; for planning many changes, each
        at the cost of what it changes. The cluster must have no earlier changes of this kind."""
        with self._lock:
            if self._later:
                self._parsed()
            try:
                yield
            finally:
                changed, self._later = self._later, {}
                for kind, names in changed.items():
                    for name in names:
                        before = self._named(kind).get(name)
                        core = self._core_cluster()
                        if before is None:
                            core.delete(kind, name)
                        else:
                            core.upsert(_dump({**before, "kind": kind}))
                self._groups = None

    def _writable(self) -> dict[str, Any]:
        self._parsed()
        tree = self._own_tree()
        if not isinstance(tree.get("rawObjects"), dict):
            tree["rawObjects"] = {}
        return tree

    def _list(self, name: str) -> list[Any]:
        lists: dict[str, Any] = self._writable()["rawObjects"]
        if not isinstance(lists.get(name), list):
            lists[name] = []
        items: list[Any] = lists[name]
        return items

    def _changed(
        self, kind: str, manifests: Iterable[Mapping[str, Any]], *, may_replace: bool = False
    ) -> None:
        """Objects of the tree are new, or may have changed; updates the compiled cluster.

        Reads everything again for errors that only a file can contain: two objects with one name,
        one without a name.
        """
        self._changes += 1
        self._data = None
        try:
            for manifest in manifests:
                core = self._compiled
                if core is None:
                    return
                if not core.can_follow() or (not may_replace and core.has(kind, _key(manifest))):
                    self._compiled = None
                    return
                core.upsert(_dump({**manifest, "kind": kind}))
        except InvalidClusterError:
            self._compiled = None

    def _snapshot_bytes(self) -> bytes:
        with self._lock:
            if self._later or self._is_live:
                self._parsed()
            if self._data is None:
                self._data = _Text(_dump(self._tree))
            return self._data.data

    def _core_cluster(self) -> _core.Cluster:
        """The compiled cluster, created at the first use; later changes are applied to it."""
        with self._lock:
            if self._compiled is None:
                from kai import _core

                self._compiled = _core.load_snapshot(self._snapshot_bytes())
            return self._compiled


def case_of(data: bytes) -> tuple[bytes, str] | None:
    """The snapshot and the time ("" if it has none) of a recorded case; None if it is not a case.

    Raises InvalidInputError if the bytes are not JSON.
    """
    from kai import _core

    return _core.case_of(data)


_Listed = Callable[[str], list[Any]]
"""The objects of a list of the snapshot."""


class _Missing:
    """Names that the builder methods used before an object with that name existed.

    A cluster may lose hundreds of nodes at once, and each plan asks for the warnings. So the names
    of a kind are read once for all warnings, and similar names are searched only for a few.
    """

    _MOST_SHOWN = 10  # of a kind
    _MOST_HINTS = 3  # more missing names than this are hardly all mistyped

    def __init__(self) -> None:
        self._there: dict[str, tuple[int, set[str]]] = {}  # by kind: objects, their names
        self._noted: dict[str, dict[str, str]] = {}  # by kind: names, what a missing one means
        self._hints: dict[tuple[str, str], str] = {}

    def note(self, kind: str, name: str, means: str, listed: _Listed) -> None:
        if name in self._noted.get(kind, ()):
            return
        manifests = listed(kinds.LISTS[kind])
        objects, names = self._there.get(kind, (0, set()))
        if name not in names and objects != len(manifests):
            # Objects are appended; warnings() reads all names again.
            names |= _names_of(manifests[objects:] if objects < len(manifests) else manifests)
            self._there[kind] = (len(manifests), names)
        if name not in names:
            self._noted.setdefault(kind, {})[name] = means

    def names(self, kind: str) -> Iterable[str]:
        """The names that were noted as missing."""
        return self._noted.get(kind, ())

    def warnings(self, listed: _Listed) -> list[str]:
        """Warnings about the names that are still missing."""
        found = []
        for kind, noted in self._noted.items():
            names = self._read(kind, listed)
            missing = [name for name in noted if name not in names]
            has_hints = len(missing) <= self._MOST_HINTS
            found += [
                f"there is no {kind} {name!r}, and {noted[name]}"
                f"{self._hint(kind, name, names) if has_hints else ''}"
                for name in missing[: self._MOST_SHOWN]
            ]
            if (more := len(missing) - self._MOST_SHOWN) > 0:
                found.append(f"{more} more objects of kind {kind} are named and do not exist")
        return found

    def _hint(self, kind: str, name: str, names: set[str]) -> str:
        if (kind, name) not in self._hints:
            self._hints[kind, name] = did_you_mean(name, names)
        return self._hints[kind, name]

    def _read(self, kind: str, listed: _Listed) -> set[str]:
        manifests = listed(kinds.LISTS[kind])
        names = _names_of(manifests)
        if names != self._there.get(kind, (0, set()))[1]:
            self._hints.clear()
        self._there[kind] = (len(manifests), names)
        return names


def _names_of(manifests: Iterable[Mapping[str, Any]]) -> set[str]:
    return {str(at(each, "metadata", "name")) for each in manifests}


class _Text:
    """The JSON of a snapshot, and its value; copies of a cluster parse it only once."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._tree: dict[str, Any] | None = None
        self._lock = threading.Lock()

    def tree(self) -> dict[str, Any]:
        """Must not be changed. Raises InvalidInputError if the text cannot be read."""
        with self._lock:
            if self._tree is None:
                tree = _parse(self.data)
                self._tree = tree if isinstance(tree, dict) else {}
            return self._tree


@dataclass(frozen=True)
class _Later:
    """The last version of an object that changed; None: it is deleted."""

    data: bytes | None
    in_tree: bool  # the tree has an earlier version

    @cached_property
    def manifest(self) -> Mapping[str, Any] | None:
        manifest: dict[str, Any] | None = None if self.data is None else _parse(self.data)
        return manifest


@dataclass(frozen=True, slots=True)
class _Names:
    """The objects of a list of the tree by name, and how many list items are indexed."""

    listed: list[Any]
    count: int = 0
    objects: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(slots=True)
class _Keys:
    """The names of the objects of a list of the tree, and how many list items were read."""

    listed: list[Any]
    count: int = 0
    keys: set[str] = field(default_factory=set)

    def read(self) -> None:
        new = (each for each in self.listed[self.count :] if isinstance(each, dict))
        self.keys.update(key for each in new if (key := _key(each)))
        self.count = len(self.listed)


@dataclass(slots=True)
class _Group:
    """A pod group of this cluster, its number of pods, and its index in the list."""

    manifest: dict[str, Any]
    pods: int
    place: int


_BESIDE_OBJECTS = (
    "_name",
    "_now_ns",
    "_text_has_context",
    "_memory",
    "_lost",
    "_elsewhere",
    "_missing",
    "_reader_rejected",
    "_reader_warnings",
    "_without_pods",
)
"""The members of a cluster that copies and pickles take over beside its objects."""
_NOW, _MEMORY, _LEFT_OUT = "now", "memory", "leftOut"  # members that we add to KAI's snapshot
_GROUP = keys.POD_GROUP_ANNOTATION
_EXTENDED_CLAIM = ("status", "extendedResourceClaimStatus", "resourceClaimName")
_REMOVABLE = ("PodGroup", "Pod", "Node", "Queue")
_NOUNS = {"PodGroup": "pod group", "Pod": "pod", "Node": "node", "Queue": "queue"}


def _unpickled(data: bytes, beside_objects: Mapping[str, Any]) -> Cluster:
    cluster = Cluster()
    vars(cluster).update(beside_objects, _tree=None, _data=_Text(data))
    return cluster


def _is_alive(pod: Mapping[str, Any]) -> bool:
    """Whether it runs, or will run."""
    return at(pod, "status", "phase") in ("Pending", "Running") and not at(
        pod, "metadata", "deletionTimestamp"
    )


def _by_number(name: str) -> tuple[int, str]:
    return edits.number_of(name), name


def _group_of(pod: Mapping[str, Any]) -> tuple[Any, Any]:
    """The namespace of a pod, and the pod group that it names; fast, because it is called for all
    pods."""
    try:
        metadata = pod["metadata"]
        named = metadata.get("namespace") or "default", metadata["annotations"][_GROUP]
        hash(named)  # a malformed name is no name
    except (KeyError, TypeError, AttributeError):
        return None, None
    return named


def _dump(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), default=_plain).encode()


def _parse(data: bytes) -> Any:
    """The value of a JSON text. Raises InvalidInputError if it is invalid or has a number out of
    range.

    Python's garbage collector is off meanwhile: it searches for cycles after so many new objects,
    here there are none, and for a large snapshot it took more than half of the time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"not a readable snapshot: {error}") from None
    finally:
        if was_on:
            gc.enable()


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Iterable):
        return list(value)
    raise InvalidClusterError(f"{value!r} is not a valid value in Kubernetes")


def _key(manifest: Mapping[str, Any]) -> str:
    """The name of an object in the compiled cluster: "namespace/name", or "name"."""
    metadata = mapping(manifest.get("metadata"))
    name, namespace = str(metadata.get("name") or ""), metadata.get("namespace")
    return f"{namespace}/{name}" if namespace else name


def _check_kind(kind: str, why: str = "plans do not use") -> None:
    if kind not in kinds.LISTS:
        raise InvalidClusterError(f"{why} the kind {kind}{did_you_mean(kind, kinds.LISTS)}")


def _known_options(
    function: str, given: Iterable[str], options: type, *, noun: str = "argument"
) -> None:
    check_known(given, options.__annotations__, f"{function}() has no {noun}", TypeError)


def _checked(method: Callable[..., object], variables: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a method of `Cluster`, which are checked by its annotations."""
    given = {name: each for name, each in variables.items() if name != "self"}
    arguments.check(given, method)
    return given


def _holds(there: object, wanted: object) -> bool:
    """Whether a parameter has this value; a missing one is zero, as in Go."""
    if isinstance(wanted, Mapping):
        return all(_holds(mapping(there).get(name), each) for name, each in wanted.items())
    return bool(there == wanted or (there is None and not wanted))


def _check_params(params: Iterable[str]) -> None:
    if params:
        from kai import _core

        known = _core.scheduler_param_names()[""]
        check_known(params, known, "schedulerParams has no member", InvalidClusterError)


def _start_in(how: str, group: str, options: PodOptions) -> int | None:
    """When the pods started. Raises InvalidClusterError."""
    if "started" not in options:
        return None
    if how == "pending":
        raise InvalidClusterError(f"pending({group!r}): started is for running pods")
    try:
        return times.to_ns(options["started"])
    except InvalidInputError as error:
        raise InvalidClusterError(f"started: {error}") from None


def _at_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise InvalidClusterError(f"{name} is {value}: it must be at least {least}")
    if value > _MOST:
        raise InvalidClusterError(
            f"{name} is larger than {_MOST:,}, the most that one call creates"
        )
