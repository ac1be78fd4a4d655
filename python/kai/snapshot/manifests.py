"""Makes a snapshot of the cluster that Kubernetes manifests describe.

    manifests = Manifests()
    manifests.add("cluster.yaml", text)
    snapshot, rejected = manifests.to_snapshot()

A snapshot is complete: a missing field has a meaning. A person who writes a manifest leaves out the
usual values. Only manifests therefore have these defaults: a node without conditions is Ready,
allocatable falls back to capacity and `pods` to 110, a pod without phase is Pending, a pod without
schedulerName gets ours, requests fall back to limits, and the queues and priority classes of the
chart exist. Pods are created for workloads. Pods get pod groups, and the class of service
Guaranteed where it applies. The result does not depend on the order of the objects or on the files
that contain them.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from kai import admission
from kai.admission.finding import Finding
from kai.admission.pods import pods_in
from kai.admission.queue_tree import DEFAULT_NOT_GIVEN, Queues
from kai.api import defaults, documents, keys, kinds
from kai.api.nearest import did_you_mean
from kai.api.owning import Owners
from kai.api.reading import at, labels_of, mapping, objects, text
from kai.api.templates import check_name, read_rendered
from kai.engine.cluster import Rejected
from kai.engine.text import listing
from kai.grouping import (
    FIXED,
    InvalidField,
    Key,
    Rules,
    chain_in,
    controller_of,
    gangs,
    group,
    is_created_again,
    key_of,
    says_if_movable,
)
from kai.snapshot import qos, workloads
from kai.snapshot.ended import with_lower_minimums
from kai.snapshot.starts import with_starts


@dataclass(frozen=True, slots=True)
class _Item:
    """An object of a file."""

    kind: str
    manifest: Mapping[str, Any]

    @property
    def key(self) -> Key:
        metadata = self.manifest["metadata"]
        return (self.kind, metadata.get("namespace", ""), metadata["name"])

    @property
    def name(self) -> str:
        return kinds.full_name(self.manifest, cluster_scoped=self.kind in kinds.CLUSTER_SCOPED)


class Manifests:
    """The manifests of any number of files, which together describe one cluster."""

    def __init__(
        self,
        *,
        scheduler: str = keys.SCHEDULER_NAME,
        queue_label: str = keys.QUEUE_LABEL,
        command: str = "kai plan",
    ) -> None:
        """`scheduler`: only pods with this schedulerName, or without one, get pod groups.
        `queue_label`: the key of the label that names a queue. `command`: what reads the files, for
        errors."""
        self._scheduler, self._queue_label, self._command = scheduler, queue_label, command
        self._items: list[_Item] = []
        self._bystanders: list[_Item] = []  # objects of other kinds that may own pods
        self._rejected: list[Rejected] = []
        self.files: list[str] = []
        self.empty_files: list[str] = []  # only Lists without items, and comments
        self.warnings: list[str] = []
        self.without_pods: dict[str, str] = {}  # "Job a/x": why it gets no pods
        """Warnings about unknown names; filled by `to_snapshot`."""

    def add(self, file: str, content: str) -> bool:
        """Adds the objects of a file; False if it is no file of manifests.

        Lists without items and comments are manifests without objects, but a file without any text
        is not: it may come from a command that failed. Raises InvalidInputError.
        """
        values = [
            (value, document)
            for document in read_rendered(content, self._command)
            for value in _flatten(document.value)
        ]
        if not values and content.strip():
            self.empty_files.append(file)
            return True
        if not any(isinstance(value, Mapping) for value, _ in values):
            return False
        for value, document in values:
            self._take(value, document, f"{file}, line {document.line}")
        self.files.append(file)
        return True

    def to_snapshot(
        self, *, beside: Mapping[str, Iterable[Mapping[str, Any]]] | None = None
    ) -> tuple[dict[str, Any], list[Rejected]]:
        """The snapshot, and every object that had to be left out of it.

        `beside`: the objects that the cluster already has, by list, such as priority classes. They
        are not added to the snapshot, and neither are the default queues and priority classes.
        """
        rejected = list(self._rejected)
        items = _without_duplicates(self._items, rejected)
        owners = Owners({item.key: item.manifest for item in (*self._bystanders, *items)})
        there = {kind: list((beside or {}).get(listed, ())) for kind, listed in kinds.LISTS.items()}
        self._warn(items, owners, there["PriorityClass"], is_added=beside is not None)
        by_kind: dict[str, list[Mapping[str, Any]]] = {kind: [] for kind in kinds.LISTS}
        for item in items:
            if item.kind in kinds.LISTS:
                by_kind[item.kind].append(item.manifest)

        for kind, refusals in (
            ("Queue", admission.queue_refusals),
            ("Node", admission.node_refusals),
            ("PodGroup", admission.pod_group_refusals),
            ("Topology", admission.topology_refusals),
        ):
            by_kind[kind] = [
                each for each in by_kind[kind] if not _noted(kind, each, refusals(each), rejected)
            ]

        given_queues = list(by_kind["Queue"])
        if beside is None:
            _add_missing(by_kind["Queue"], defaults.queues())
            _add_missing(by_kind["PriorityClass"], defaults.priority_classes())
        by_kind["Node"] = [_node(node) for node in by_kind["Node"]]
        made, self.without_pods = _pods_of_workloads(items, owners, rejected, self._scheduler)
        sensible = _sensible(by_kind["Pod"], rejected, self._scheduler)
        pods = [_pod(pod, self._scheduler) for pod in (*sensible, *made)]
        known = self._possible_owners(items)
        pods = [_marked(pod, known) for pod in _completed(pods, known)]
        classes = [*by_kind["PriorityClass"], *there["PriorityClass"]]
        queues = Queues.of(None, [{"kind": "Queue", **each} for each in given_queues])
        is_lacking = beside is None and queues.lacks_default()
        by_kind["Pod"] = self._group(
            pods, known, by_kind, classes, rejected, lacks_default=is_lacking
        )
        by_kind["PodGroup"] = with_starts(by_kind["PodGroup"], by_kind["Pod"])
        _add_root_certificates(by_kind["ConfigMap"], there["ConfigMap"], by_kind["Pod"])
        if not any(
            lists[kind]
            for lists in (by_kind, there)
            for kind in ("StorageClass", "PersistentVolume")
        ):
            # Without storage objects it is unknown how claims are bound, so no pod waits for them.
            by_kind["PersistentVolumeClaim"] = []
            by_kind["Pod"] = [_without_claims(pod) for pod in by_kind["Pod"]]
        lists = {
            kinds.LISTS[kind]: sorted(
                (_with_uid(kind, manifest) for manifest in manifests), key=_sort_key
            )
            for kind, manifests in by_kind.items()
            if manifests or kind in _ALWAYS
        }
        return {**self._params(), "rawObjects": lists}, sorted(rejected)

    def _warn(
        self,
        items: list[_Item],
        owners: Owners,
        classes: list[Mapping[str, Any]],
        *,
        is_added: bool,
    ) -> None:
        """Sets the warnings. `classes`: the priority classes that the cluster has. `is_added`: the
        objects are added to a cluster, and should make pods."""
        every = [*classes, *defaults.priority_classes()]
        names = {text(at(each, "metadata", "name")) for each in every}
        warnings = [*_warnings(items, self._scheduler, names), *_guesses(items, owners)]
        if is_added:
            warnings += _later(items, owners)
        self.warnings = list(dict.fromkeys(warnings))
        if not self.files:
            self.warnings.append(f"there are no objects in {listing(self.empty_files, most=3)}")

    def _params(self) -> dict[str, Any]:
        """The schedulerParams of the snapshot, unless all have their defaults."""
        known = defaults.scheduler_params()
        given = {"schedulerName": self._scheduler, "queueLabelKey": self._queue_label}
        return {} if given.items() <= known.items() else {"schedulerParams": known | given}

    def _possible_owners(self, items: list[_Item]) -> dict[Key, Mapping[str, Any]]:
        """The objects that may own pods, also those of kinds that plans do not read."""
        return {
            item.key: item.manifest
            for item in (*sorted(self._bystanders, key=_as_text), *items)
            if item.kind not in kinds.LISTS
        }

    def _group(
        self,
        pods: list[dict[str, Any]],
        owners: Mapping[Key, Mapping[str, Any]],
        by_kind: dict[str, list[Mapping[str, Any]]],
        priority_classes: list[Mapping[str, Any]],
        rejected: list[Rejected],
        *,
        lacks_default: bool,
    ) -> list[Mapping[str, Any]]:
        """Assigns the pods to pod groups, and adds new pod groups to `by_kind`."""
        classes = [text(at(each, "metadata", "name")) for each in priority_classes]
        rules = Rules(frozenset(classes), queue_label=self._queue_label, keeps_invalid=True)
        grouped = group(pods, owners, by_kind["PodGroup"], rules, scheduler=self._scheduler)
        rejected += [
            Rejected("Pod", kinds.full_name(problem.pod), problem.field, problem.message)
            for problem in grouped.problems
        ]
        for kind, namespace, name in sorted(grouped.unknown_gangs):
            give = "it or its PodGroup" if kind in gangs.KNOWN else "its PodGroup"
            why = f"how many pods of a {kind} start together is not known; give {give}"
            rejected.append(Rejected(kind, f"{namespace}/{name}", "kind", why))
        if lacks_default and grouped.without_queue:
            users = [
                f"{kind} {space}/{name}" for kind, space, name in sorted(grouped.without_queue)
            ]
            self.warnings.append(f"{listing(users, most=1)}: {DEFAULT_NOT_GIVEN}")
        left_out = {kinds.full_name(problem.pod) for problem in grouped.problems}
        in_groups: list[Mapping[str, Any]] = [
            _in_group(pod, grouped.group_of_pod.get(name), grouped.sub_group_of_pod.get(name))
            for pod in pods
            if (name := kinds.full_name(pod)) not in left_out
        ]
        by_kind["PodGroup"] += with_lower_minimums(grouped.pod_groups, in_groups, owners)
        return in_groups

    def _take(self, value: Any, document: documents.Document, place: str) -> None:
        if not isinstance(value, Mapping):
            self._reject("Document", "", "", f"is not a Kubernetes object ({place})")
            return
        kind = value.get("kind")
        if not isinstance(kind, str) or not kind:
            message = f"is missing ({place})"
            if "actions" in value or "tiers" in value:
                message = f"is missing; a scheduler configuration goes after --config ({place})"
            elif len(_OF_A_SCENARIO & value.keys()) > 1:
                message = f"is missing; a scenario is run with kai verify FILE ({place})"
            self._reject("Document", text(at(value, "metadata", "name")), "kind", message)
            return
        name = kinds.full_name(value, cluster_scoped=kind in kinds.CLUSTER_SCOPED)
        if document.problem:
            is_named = isinstance(at(value, "metadata", "name"), str)
            self._reject(kind, name if is_named else "", "", f"{document.problem} ({place})")
            return
        if wrong := list(admission.list_refusals(value)):
            for each in wrong:
                self._reject(kind, name, each.path, f"{each.message} ({place})")
            return
        relevant = self._is_relevant(kind, name, value, place)
        if relevant:
            check_name(name, self._command)
        try:
            item = _Item(kind, {**value, "metadata": _metadata(kind, value)})
        except InvalidField as error:
            if relevant:
                self._reject(kind, name, error.field, f"{error.message} ({place})")
        else:
            refused = list(admission.name_refusals(value)) if relevant else []
            for each in refused:
                self._reject(kind, name, each.path, f"{each.message} ({place})")
            if not refused:
                (self._items if relevant else self._bystanders).append(item)

    def _is_relevant(self, kind: str, name: str, value: Mapping[str, Any], place: str) -> bool:
        """Whether kai reads this kind; a misspelt one is rejected."""
        if kind in kinds.KINDS:
            known = kinds.row_of_manifest(value)
            return known is not None and known.read
        version = value.get("apiVersion")
        group = kinds.group_of(version) if isinstance(version, str) else None
        if group is not None and group not in kinds.WHOLE_GROUPS:
            return False
        close = difflib.get_close_matches(kind, _IN_WHOLE_GROUPS, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        self._reject(kind, name, "kind", f"is not a kind of Kubernetes{hint} ({place})")
        return False

    def _reject(self, kind: str, name: str, field: str, message: str) -> None:
        self._rejected.append(Rejected(kind, name, field, message))


_OF_A_SCENARIO = frozenset(("cluster", "pending", "expect"))
_IN_WHOLE_GROUPS = [name for name, kind in kinds.KINDS.items() if kind.group in kinds.WHOLE_GROUPS]
ROOT_CERTIFICATES = "kube-root-ca.crt"
"""The ConfigMap that Kubernetes puts into every namespace."""

_OF_A_CLAIM = frozenset(("persistentVolumeClaim", "ephemeral"))
_ALWAYS = frozenset(("Node", "Queue", "PriorityClass", "PodGroup", "Pod"))


def _metadata(kind: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata with a name and, unless cluster-scoped, a namespace; raises InvalidField."""
    if not isinstance(manifest.get("metadata"), Mapping):
        raise InvalidField("metadata", "is missing")
    metadata = dict(manifest["metadata"])
    if not metadata.get("name") and isinstance(metadata.get("generateName"), str):
        metadata["name"] = metadata["generateName"].rstrip("-")
    if not metadata.get("name"):
        raise InvalidField("metadata.name", "is missing")
    if kind not in kinds.CLUSTER_SCOPED:
        metadata["namespace"] = metadata.get("namespace") or "default"
    for member in ("name", "namespace"):
        if not isinstance(metadata.get(member, ""), str):
            raise InvalidField(f"metadata.{member}", "is not a text")
    return metadata


def _flatten(value: Any) -> Iterator[Any]:
    """The objects of a document, also from nested Lists; an empty document has none."""
    open_values = [value]
    while open_values:
        value = open_values.pop()
        if isinstance(value, list):
            open_values += reversed(value)
        elif isinstance(value, Mapping) and (items := kinds.items_of(value)) is not None:
            kind = text(value.get("kind"))
            # The items of a PodList have no kind and apiVersion of their own.
            own = {"kind": kind.removesuffix("List"), "apiVersion": value.get("apiVersion")}
            known = own if own["kind"] else {}
            open_values += [
                {**known, **item} if isinstance(item, Mapping) else item for item in reversed(items)
            ]
        elif value is not None:
            yield value


def _without_duplicates(items: Iterable[_Item], rejected: list[Rejected]) -> list[_Item]:
    """Each object once. Different objects of the same name are all rejected.

    Otherwise the result would depend on the order of the files.
    """
    found: dict[Key, list[_Item]] = {}
    for item in items:
        found.setdefault(item.key, []).append(item)
    kept = []
    for same in found.values():
        if len(same) > 1 and any(_as_text(each) != _as_text(same[0]) for each in same[1:]):
            message = admission.same_name(len(same))
            rejected.append(Rejected(same[0].kind, same[0].name, "metadata.name", message))
        else:
            kept.append(same[0])
    return kept


def _as_text(item: _Item) -> str:
    return json.dumps(item.manifest, sort_keys=True)


def _add_missing(present: list[Mapping[str, Any]], wanted: list[dict[str, Any]]) -> None:
    names = {at(each, "metadata", "name") for each in present}
    present += [each for each in wanted if each["metadata"]["name"] not in names]


def _add_root_certificates(
    config_maps: list[Mapping[str, Any]],
    there: list[Mapping[str, Any]],
    pods: list[Mapping[str, Any]],
) -> None:
    """Adds the ConfigMap that every namespace has, if the cluster has any ConfigMaps at all."""
    if not config_maps and not there:
        return
    having = {
        at(each, "metadata", "namespace")
        for each in (*config_maps, *there)
        if at(each, "metadata", "name") == ROOT_CERTIFICATES
    }
    config_maps += [
        {"kind": "ConfigMap", "metadata": {"namespace": space, "name": ROOT_CERTIFICATES}}
        for space in sorted({text(at(pod, "metadata", "namespace")) for pod in pods} - having)
    ]


def _node(node: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(node.get("status"), (Mapping, type(None))):
        return dict(node)  # the reader refuses it
    metadata, status = dict(node["metadata"]), dict(mapping(node.get("status")))
    held = status.get("allocatable")
    if held is None:
        held = status.get("capacity", {})
    if isinstance(held, Mapping):
        held = {keys.PODS: "110", **held}
    status["allocatable"] = held
    if status.get("conditions") in (None, []):
        status["conditions"] = [{"type": "Ready", "status": "True"}]
    if isinstance(metadata.get("labels") or {}, Mapping):
        # The kubelet sets this label on every node, and spreading over hosts needs it.
        metadata["labels"] = {
            keys.HOSTNAME_LABEL: metadata["name"],
            **(metadata.get("labels") or {}),
        }
    return {**node, "metadata": metadata, "status": status}


def _warnings(items: list[_Item], scheduler: str, classes: Set[str]) -> Iterator[str]:
    """Warnings about unknown names in manifests. `classes`: the priority classes beside them."""
    classes = classes | {item.key[2] for item in items if item.kind == "PriorityClass"}
    missing: dict[str, list[str]] = {}
    for item in sorted(items, key=lambda item: item.key):
        manifest = {**item.manifest, "kind": item.kind}
        pods = list(pods_in(manifest))
        for found in admission.doubts(manifest, pods, scheduler=scheduler):
            yield f"{item.kind} {item.name}: {found.path}: {found.message}; {found.fix}"
        for name in admission.priorities(manifest, pods):
            if name not in classes:
                missing.setdefault(name, []).append(f"{item.kind} {item.name}")
    for name, users in missing.items():
        where = listing(users, most=1)
        hint = did_you_mean(name, classes)
        yield f"there is no PriorityClass {name!r} in the input; it is used by {where}{hint}"


def _later(items: list[_Item], owners: Owners) -> Iterator[str]:
    """What makes pods, but not now."""
    owning = _owning(items, owners)
    for item in items:
        if item.kind == "CronJob" and item.key not in owning:
            yield (
                f"CronJob {item.name} makes no pods now, but when it starts a Job: to plan the Job,"
                f" print it with kubectl create job NAME --from=cronjob/{item.key[2]}"
                " --dry-run=client -o yaml"
            )


def _pods_of_workloads(
    items: list[_Item], owners: Owners, rejected: list[Rejected], scheduler: str
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Creates pods for the workloads that have none, and says why others get none, by "Job a/x".

    The files of a saved cluster contain workloads and their pods; those pods are kept.
    """
    owning = _owning(items, owners)
    made, without = list[dict[str, Any]](), dict[str, str]()
    for item in items:
        makes_pods = kinds.known(item.kind).makes_pods
        if item.kind == "CronJob":
            without[f"CronJob {item.name}"] = "it creates Jobs later, at the times of its schedule"
        if item.key in owning:
            if makes_pods and (why := workloads.why_stopped(item.kind, item.manifest)):
                without[f"{item.kind} {item.name}"] = why
            continue
        if makes_pods is False:
            problem = f"kai does not create the pods of a {item.kind}; add the pods themselves"
            rejected.append(Rejected(item.kind, item.name, "kind", problem))
        elif makes_pods and not _refused(item.kind, item.manifest, rejected, scheduler):
            try:
                pods = workloads.pods_of(item.kind, item.manifest)
                made += pods
                if not pods:
                    why = workloads.why_without_pods(item.kind, item.manifest)
                    without[f"{item.kind} {item.name}"] = why
            except InvalidField as error:
                rejected.append(Rejected(item.kind, item.name, error.field, error.message))
    taken = {item.key for item in items if item.kind == "Pod"}
    kept = []
    for pod in made:
        metadata = pod["metadata"]
        if ("Pod", metadata["namespace"], metadata["name"]) in taken:
            owner = metadata["ownerReferences"][0]
            problem = f"has the name of a pod that kai creates for {owner['kind']} {owner['name']}"
            rejected.append(Rejected("Pod", kinds.full_name(pod), "metadata.name", problem))
        else:
            kept.append(pod)
    return kept, without


def _owning(items: list[_Item], owners: Owners) -> set[Key]:
    """The objects that own another object; the objects between them may be missing."""
    owning = {
        (text(reference.get("kind")), item.key[1], text(reference.get("name")))
        for item in items
        for reference in objects(item.manifest["metadata"].get("ownerReferences"))
    }
    for item in items:
        if item.kind == "Pod":
            with suppress(InvalidField):  # grouping reports it
                owning.update(owner.key for owner in chain_in(item.manifest, owners)[1:])
    return owning


def _guesses(items: list[_Item], owners: Owners) -> Iterator[str]:
    """Warnings about pods whose labels alone say which workload they belong to."""
    found: dict[Key, list[str]] = {}
    others: dict[Key, set[str]] = {}
    for item in items:
        if item.kind == "Pod" and (guessed := owners.guessed(item.manifest)):
            found.setdefault(guessed[0], []).append(item.name)
            others.setdefault(guessed[0], set()).update(key[2] for key in guessed[1:])
    for key, pods in sorted(found.items()):
        also = listing(sorted(others[key]))
        match = f"its selector and that of {also} match" if also else "its selector matches"
        yield (
            f"{key[0]} {key[1]}/{key[2]}: {match} {listing(sorted(pods), most=1)}, whose owner is"
            " not in the input; kai counts each as a pod of it and creates no others"
        )


def _noted(
    kind: str, manifest: Mapping[str, Any], found: Iterable[Finding], rejected: list[Rejected]
) -> bool:
    """Adds the findings about an object to `rejected`; True if there are any."""
    name = kinds.full_name(manifest, cluster_scoped=kind in kinds.CLUSTER_SCOPED)
    noted = [Rejected(kind, name, each.path, each.message) for each in found]
    rejected += noted
    return bool(noted)


def _refused(
    kind: str, manifest: Mapping[str, Any], rejected: list[Rejected], scheduler: str
) -> bool:
    """Whether the API server or KAI would refuse the pods of this object."""
    pods = pods_in({**manifest, "kind": kind})
    found = admission.refusals(pods, scheduler=scheduler)
    return _noted(kind, manifest, found, rejected)


def _sensible(
    pods: Iterable[Mapping[str, Any]], rejected: list[Rejected], scheduler: str
) -> Iterator[Mapping[str, Any]]:
    for pod in pods:
        if isinstance(pod.get("spec"), Mapping):
            waits = not at(pod, "spec", "nodeName") and at(pod, "status", "phase") in (
                None,
                "Pending",
            )
            # The API server has accepted the pods that do not wait.
            if not (waits and _refused("Pod", pod, rejected, scheduler)):
                yield pod
        else:
            message = "is missing" if pod.get("spec") is None else "is not a mapping"
            rejected.append(Rejected("Pod", kinds.full_name(pod), "spec", message))


def _pod(pod: Mapping[str, Any], scheduler: str) -> dict[str, Any]:
    spec, status = dict(pod["spec"]), pod.get("status")
    if spec.get("schedulerName") in (None, ""):
        # Saved pods name their scheduler, "default-scheduler"; a pod without a name is ours.
        spec["schedulerName"] = scheduler
    for containers in ("containers", "initContainers"):
        if isinstance(spec.get(containers), list):
            spec[containers] = [_container(each) for each in spec[containers]]
    if status is None or isinstance(status, Mapping):
        status = {"phase": "Pending", **mapping(status)}
        status["phase"] = status["phase"] or "Pending"
        if not status.get("qosClass") and qos.is_guaranteed(spec):
            status["qosClass"] = "Guaranteed"
    return {**pod, "spec": spec, "status": status}


def _completed(
    pods: Iterable[Mapping[str, Any]], known: Mapping[Key, Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """The pods with the owner references that grouping adds: consolidation moves pods with one."""
    pods = list(pods)
    owners = Owners({**{key_of("Pod", pod): pod for pod in pods}, **known})
    for pod in pods:
        yield {**owners.completed(pod)}


def _marked(pod: dict[str, Any], known: Mapping[Key, Mapping[str, Any]]) -> dict[str, Any]:
    """Marks a pod of a Job that does not create it again; the snapshot will not have the Job."""
    reference = controller_of(pod)
    metadata = pod["metadata"]
    if reference is None or says_if_movable(pod):
        return pod
    job = known.get(("Job", text(metadata.get("namespace")), text(reference.get("name"))))
    if is_created_again(pod, job):
        return pod
    annotations = {**mapping(metadata.get("annotations")), **FIXED}
    return {**pod, "metadata": {**metadata, "annotations": annotations}}


def _without_claims(pod: Mapping[str, Any]) -> Mapping[str, Any]:
    volumes = pod["spec"].get("volumes")
    if not isinstance(volumes, list):
        return pod
    kept = [
        each
        for each in volumes
        if not isinstance(each, Mapping) or _OF_A_CLAIM.isdisjoint(each.keys())
    ]
    return {**pod, "spec": {**pod["spec"], "volumes": kept}}


def _container(container: Any) -> Any:
    """Missing requests are set to the limits, as the API server does."""
    limits = at(container, "resources", "limits")
    requests = at(container, "resources", "requests")
    if not isinstance(limits, Mapping) or not isinstance(requests or {}, Mapping):
        return container
    resources = {**container["resources"], "requests": {**limits, **(requests or {})}}
    return {**container, "resources": resources}


def _in_group(pod: dict[str, Any], group: str | None, sub_group: str | None) -> dict[str, Any]:
    if group is None:
        return pod
    metadata = dict(pod["metadata"])
    if sub_group:
        metadata["labels"] = {**labels_of(pod), keys.SUBGROUP_LABEL: sub_group}
    annotations = metadata.get("annotations")
    metadata["annotations"] = {**mapping(annotations), keys.POD_GROUP_ANNOTATION: group}
    return {**pod, "metadata": metadata}


_NUMBER = re.compile(r"\d+")


def _with_uid(kind: str, manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """Gives an object without a uid one that sorts numbers in names: train-2 before train-10.

    Pods and groups of equal age are scheduled in the order of their uids.
    """
    metadata = manifest["metadata"]
    if metadata.get("uid") not in (None, ""):
        return manifest
    name = kinds.full_name(manifest, cluster_scoped=kind in kinds.CLUSTER_SCOPED)
    uid = f"{kind}/" + _NUMBER.sub(lambda number: number.group().zfill(8), name)
    return {**manifest, "metadata": {**metadata, "uid": uid}}


def _sort_key(manifest: Mapping[str, Any]) -> tuple[str, str]:
    metadata = manifest["metadata"]
    return (text(metadata.get("namespace")), text(metadata.get("name")))
