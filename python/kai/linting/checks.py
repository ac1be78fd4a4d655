"""lint(): the findings about objects of any kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from kai import admission
from kai.admission import fields, gpus, keys_of, pod_groups, schema, shape
from kai.admission.finding import Finding, Path, dotted, error, refusal
from kai.admission.pods import Pod, pods_in
from kai.admission.queue_tree import Queues, check_queue_object
from kai.api import defaults, keys, kinds
from kai.api.reading import at, labels_of, mapping, text
from kai.errors import InvalidRequestError
from kai.linting import duplicates, groups, ignored, reader, settings_files, templates, zenml
from kai.linting.given import NOTHING, Given
from kai.settings import Built
from kai.settings.native import to_plain

_DEEPEST = 200  # as in files
_HINT = (
    "give a Kubernetes manifest (with a kind), a list of manifests, settings of an orchestrator as"
    " kai settings prints them, or the result of a builder of kai.integrations"
)


def lint(
    settings_or_manifest: Any,
    *,
    queues: Iterable[Mapping[str, Any]] | None = None,
    scheduler_name: str = keys.SCHEDULER_NAME,
    queue_label_key: str = keys.QUEUE_LABEL,
) -> list[Finding]:
    """Finds what KAI or ZenML would refuse or silently ignore; returns [] if there is nothing.

    The argument is a manifest of any kind with pods, a Queue, a list of these, a compiled KFP
    pipeline, settings of an orchestrator as `kai settings` prints them, ZenML settings (of a run, a
    step, a component or a pod), or a `Built`. queues: manifests of
    *all* queues of the cluster; without it, Queue objects in the argument count as some of them.
    Raises InvalidRequestError for anything else.

    >>> import kai
    >>> pod = {"kind": "Pod", "metadata": {"name": "p", "annotations": {"gpu-fraction": "1.5"}}}
    >>> [finding.code for finding in kai.lint({**pod, "spec": {"containers": []}})]
    ['fraction-refused', 'scheduler-missing', 'queue-missing']
    """
    objects = list(objects_in(_read(settings_or_manifest)))
    known = _known_queues((each for _, each in objects), queues)
    given = Given.of(each for _, each in objects)
    found = list(not_objects(settings_or_manifest))
    for prefix, value in objects:
        found += check(
            value,
            prefix,
            known,
            scheduler_name=scheduler_name,
            queue_label_key=queue_label_key,
            given=given,
        )
    found += [
        each.inside(objects[index][0], groups.name_of(objects[index][1]))
        for index, each in duplicates.check([value for _, value in objects])
    ]
    said: set[str] = set()
    return [each for each in found if not was_said(each, said)]


def was_said(finding: Finding, said: set[str]) -> bool:
    """Whether this is about a queue that many pods use, and was said before; `said` remembers."""
    if finding.code != "queue-without-parent":
        return False
    before = len(said)
    said.add(finding.message)
    return len(said) == before


def _known_queues(
    objects: Iterable[Mapping[str, Any]], given: Iterable[Mapping[str, Any]] | None
) -> Queues:
    return Queues.of(given, [each for each in objects if each.get("kind") == "Queue"])


def not_objects(value: Any) -> Iterator[Finding]:
    """The items of a List that are no objects; `objects_in` skips them."""
    if isinstance(value, Mapping):
        name = groups.name_of(value)
        found = list(admission.item_refusals(value))
        yield from (each.inside((), name) for each in templates.without_unfilled(found, value))


def objects_in(value: Any, prefix: Path = ()) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Every object in a value, with its path."""
    if isinstance(value, (list, tuple)):
        for index, each in enumerate(value):
            yield from objects_in(each, (*prefix, index))
    elif not isinstance(value, Mapping):
        raise InvalidRequestError(f"{type(value).__name__} cannot be checked: {_HINT}")
    elif (items := kinds.items_of(value)) is not None:
        for index, each in enumerate(items):
            if isinstance(each, Mapping):
                yield from objects_in(each, (*prefix, "items", index))
    elif "kind" not in value and (inside := list(_inside(value))):
        yield from (((*prefix, *path), each) for path, each in inside)
    elif any(name in value for name in ("kind", "apiVersion")) or _is_single(value):
        yield prefix, value
    else:
        raise InvalidRequestError(f"this object cannot be checked: {_HINT}")


def _is_single(value: Mapping[str, Any]) -> bool:
    """Whether this is one object without a kind."""
    return zenml.is_settings(value) or is_pipeline(value) or _is_pod(value)


def _is_pod(value: Mapping[str, Any]) -> bool:
    """Whether this is a single pod template."""
    return isinstance(at(value, "spec", "containers"), list)


def _inside(value: Mapping[str, Any]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """The settings and manifests in a file of settings."""
    if places := list(zenml.places(value)):
        yield from ((path, mapping(at(value, *path))) for path in places)
        return
    if _is_single(value):
        return
    yield from settings_files.manifests_in(value)
    if settings_files.is_settings(value):
        yield (), value


def is_pipeline(value: Mapping[str, Any]) -> bool:
    return at(value, "platforms", "kubernetes") is not None or "pipelineInfo" in value


def _read(value: Any, depth: int = 0) -> Any:
    """Plain values, as from a file: keys are strings, and the nesting is limited."""
    value = _plain(value)
    if depth > _DEEPEST:
        raise InvalidRequestError(f"this is nested more than {_DEEPEST} levels deep: {_HINT}")
    if isinstance(value, Mapping):
        return {str(key): _read(each, depth + 1) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_read(each, depth + 1) for each in value]
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, Built):
        return value.settings if value.orchestrator == "zenml" else value.pod
    if isinstance(value, (str, int, float, Mapping, list, tuple)):
        return value
    if isinstance(
        getattr(value, "attribute_map", None), Mapping
    ):  # an object of a Kubernetes client
        return to_plain(value)
    dump = getattr(value, "model_dump", None)  # a pydantic model, such as ZenML's
    return dump(exclude_unset=True) if callable(dump) else value


def check(
    manifest: Mapping[str, Any],
    prefix: Path,
    known: Queues,
    *,
    scheduler_name: str = keys.SCHEDULER_NAME,
    queue_label_key: str = keys.QUEUE_LABEL,
    given: Given = NOTHING,
) -> list[Finding]:
    """The findings about one object; `prefix` is its path in the document."""
    written, manifest = manifest, templates.with_defaults(manifest)
    if zenml.is_settings(manifest):
        found = list(zenml.check(manifest))
    elif "kind" not in manifest and settings_files.is_settings(manifest) and not _is_pod(manifest):
        found = list(settings_files.check(manifest, scheduler_name, queue_label_key))
    elif manifest.get("kind") == "Queue":
        is_kais = _is_of(manifest, keys.SCHEDULING_GROUP)
        found = list(shape.check_texts(mapping(manifest.get("metadata")), ("metadata",)))
        found += keys_of.check(mapping(manifest.get("metadata")), ("metadata",), "queue")
        if keys.GUARD_ANNOTATION in labels_of(manifest):
            where = ("metadata", "labels", keys.GUARD_ANNOTATION)
            message = keys_of.misplaced(keys.GUARD_ANNOTATION, "labels")
            found.append(error("annotation-as-label", where, message, "move it to annotations"))
        found += fields.of_manifest(manifest, ()) if is_kais else ()
        found += admission.queue_refusals(manifest) if is_kais else ()
        found += check_queue_object(manifest, known) if is_kais else ()
    else:
        found = list(_workload(manifest, given, known, scheduler_name, queue_label_key))
        found += given.devices.check_place(manifest)
        found += given.named.check(manifest, pods_in(manifest))
        found += _beside(manifest, given, known, scheduler_name, queue_label_key)
    found += admission.name_refusals(manifest)
    found += _refused_as_a_whole(manifest)
    if not any(each.refused for each in found):
        known_values = templates.filled(manifest)
        found += reader.check(known_values, pods_in(known_values))
    if "kind" in manifest:
        found = _with_schema(found, list(schema.of_manifest(manifest, pods_in(manifest))))
    found = list(templates.without_unfilled(found, manifest))
    if manifest is not written:
        found = list(templates.about_defaults(found, written))
    name = groups.name_of(manifest)
    if not name and any(isinstance(step, str) and step != "items" for step in prefix):
        found = [replace(each, path=dotted((*prefix, *each.at))) for each in found]
    return [each.inside(prefix, name) for each in found]


def _with_schema(found: Iterable[Finding], more: Iterable[Finding]) -> list[Finding]:
    """With the findings of the schema, one for each value: other checks know more about a value,
    except the reader of plans, which does not know what to write instead."""
    fixes = {each.at: each.fix for each in more}
    found = [
        replace(each, fix=fixes[each.at])
        if each.code == "value-refused" and each.at in fixes
        else each
        for each in found
    ]
    said = [each.at for each in found if each.severity == "error" and each.at]
    return found + [
        each for each in more if not any(at[: len(each.at)] == each.at[: len(at)] for at in said)
    ]


def _refused_as_a_whole(manifest: Mapping[str, Any]) -> Iterator[Finding]:
    """Kinds, names and pods without which plans leave an object out."""
    if wrong := list(admission.list_refusals(manifest)):
        yield from wrong
        return
    if "apiVersion" in manifest and not text(manifest.get("kind")):
        yield refusal("kind-unknown", ("kind",), "kind is missing", "write the kind of the object")
        return
    if isinstance(manifest.get("apiVersion"), str):
        yield from admission.unknown_kind(manifest)
    row = kinds.known(text(manifest.get("kind")))
    has_pods = bool(row.pods) or row.makes_pods is not None
    is_named = any(name in mapping(manifest.get("metadata")) for name in ("name", "generateName"))
    if is_named or not has_pods or _has_images(manifest):
        yield from admission.workload_refusals(manifest)
    # Settings that are merged into a manifest have metadata without a name.
    if is_named or not has_pods or not isinstance(manifest.get("metadata", {}), Mapping):
        yield from admission.without_name(manifest)


def _has_images(manifest: Mapping[str, Any]) -> bool:
    """Whether the containers have images, so that this is a whole manifest."""
    containers = [each for pod in pods_in(manifest) for each in pod.containers]
    return bool(containers) and all("image" in each.fields for each in containers)


def _beside(
    manifest: Mapping[str, Any], given: Given, known: Queues, scheduler: str, label_key: str
) -> Iterator[Finding]:
    """What KAI ignores of the pods, and what does not fit the other objects of the input."""
    kind = text(manifest.get("kind"))
    owner = _owner(manifest)
    namespace = text(at(manifest, "metadata", "namespace"))
    pods = [pod for pod in pods_in(manifest) if groups.concerns_kai(manifest, [pod], scheduler)]
    if pods and pods[0].at != ():
        yield from ignored.gangs(mapping(manifest.get("metadata")), ("metadata",), kind)
    for pod in pods:
        yield from given.devices.check(pod)
        if pod.scheduler not in (None, "", scheduler):
            continue
        yield from ignored.fields(pod, given.polite)
        own = pod.metadata if pod.own is None else pod.own
        yield from ignored.gangs(own, pod.metadata_at, kind)
        yield from given.check_priority(pod, owner)
        if pod.spec.get("nodeName"):
            continue  # it runs, and has its claims
        queue = text(labels_of(owner).get(label_key) or pod.labels.get(label_key))
        yield from given.check_claims(pod, namespace, queue or defaults.DEFAULT_QUEUE, label_key)
        if queue and not at(manifest, "metadata", "ownerReferences"):
            where: Path = (*pod.metadata_at, "labels")
            yield from given.check_quota(pod, owner, kind, queue, known, where)


def _owner(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """The object that KAI treats as owner of the pods, such as the Job of a CronJob (spec 7 J3)."""
    owner_at = kinds.known(text(manifest.get("kind"))).owner.split(".")[:-1]
    return mapping(at(manifest, *owner_at))


def _workload(
    manifest: Mapping[str, Any], given: Given, known: Queues, scheduler: str, label_key: str
) -> Iterator[Finding]:
    kind = text(manifest.get("kind"))
    pods = list(pods_in(manifest))
    if not pods or not groups.concerns_kai(manifest, pods, scheduler):
        yield from _of_others(manifest, pods, known)
        return
    yield from fields.of_manifest(manifest, pods)
    owner_at = tuple(kinds.known(kind).owner.split(".")[:-1])
    owner = _owner(manifest)
    bare = len(pods) == 1 and pods[0].at == ()
    if not bare:
        metadata = mapping(owner.get("metadata"))
        where: Path = (*owner_at, "metadata")
        yield from shape.check_texts(metadata, where)
        yield from groups.check_keys(
            metadata,
            where,
            kind=kind,
            is_pod=False,
            is_owner=True,
            has_gpu=all(map(gpus.has_gpu, pods)),
            template=dotted((*_with_gpu(pods, kind).metadata_at, "annotations")),
            label_key=label_key,
        )
    if owner_at:  # KAI reads no key of this object
        yield from groups.check_keys(
            mapping(manifest.get("metadata")),
            ("metadata",),
            kind=kind,
            is_pod=False,
            is_owner=False,
            has_gpu=all(map(gpus.has_gpu, pods)),
            template=dotted((*_with_gpu(pods, kind).metadata_at, "annotations")),
            label_key=label_key,
        )
    # The queue of an owned object is that of its owner, which is checked if it is in the input.
    has_owner = bool(at(manifest, "metadata", "ownerReferences"))
    for pod in pods:
        above = owner if not bare else {}
        yield from _pod(pod, kind, above, scheduler, label_key)
        if has_owner or keys.POD_GROUP_ANNOTATION in pod.annotations:
            continue
        if _is_for_kai(pod, above, scheduler) or pod.scheduler == scheduler:
            otherwise = given.without_queue(pod, above, kind, known)
            own_at: Path = (*owner_at, "metadata")
            yield from groups.check_queue(above, pod, label_key, own_at=own_at, otherwise=otherwise)
    yield from groups.check_kind(manifest, kind)
    yield from _queues(pods, owner, owner_at, label_key, known)


def _of_others(manifest: Mapping[str, Any], pods: list[Pod], known: Queues) -> Iterator[Finding]:
    """What the API server refuses, for objects that are not for KAI."""
    bare = len(pods) == 1 and pods[0].at == ()
    if "kind" in manifest and not bare:
        yield from shape.check_texts(mapping(manifest.get("metadata")), ("metadata",))
    yield from fields.of_manifest(manifest, pods)
    if manifest.get("kind") == "Node":
        yield from admission.node_refusals(manifest)
    if manifest.get("kind") == "PodGroup":
        yield from keys_of.check(mapping(manifest.get("metadata")), ("metadata",))
        queue = at(manifest, "spec", "queue")
        if queue is not None and not isinstance(queue, str):
            yield shape.no_text(queue, ("spec", "queue"), "spec.queue")
        if _is_of(manifest, keys.SCHEDULING_GROUP):
            yield from pod_groups.check(manifest)
            if isinstance(queue, str) and queue:
                yield from known.check_use(queue, ("spec", "queue"))
    if manifest.get("kind") == "Topology" and _is_of(manifest, keys.KAI_GROUP):
        yield from admission.topology_refusals(manifest)
    for pod in pods:
        yield from shape.check_texts(pod.metadata, pod.metadata_at)
        yield from shape.check(pod)


def _is_of(manifest: Mapping[str, Any], group: str) -> bool:
    """Whether a manifest is of this API group, or names none."""
    version = manifest.get("apiVersion")
    return version is None or kinds.group_of(text(version)) == group


def _with_gpu(pods: list[Pod], kind: str) -> Pod:
    """The first pod that requests a GPU, otherwise the first that may need one."""
    described = kinds.known(kind).pods
    without = [tuple(each.path.split(".")) for each in described if not each.gpu]
    roles = {role for each in described for role in each.no_gpu}
    able = [pod for pod in pods if pod.at not in without and not roles.intersection(pod.at)]
    named = [pod for pod in pods if any(key in pod.annotations for key in groups.POD_ONLY)]
    return next((pod for pod in pods if gpus.has_gpu(pod)), (named or able or pods)[0])


def _pod(
    pod: Pod, kind: str, owner: Mapping[str, Any], scheduler: str, label_key: str
) -> Iterator[Finding]:
    yield from admission.check(pod)
    yield from groups.check_keys(
        pod.metadata if pod.own is None else pod.own,
        pod.metadata_at,
        kind=kind,
        is_pod=True,
        is_owner=pod.owns_itself,
        has_gpu=gpus.has_gpu(pod),
        label_key=label_key,
    )
    is_for_kai = _is_for_kai(pod, owner, scheduler)
    yield from groups.check_scheduler(pod, kind, scheduler, is_for_kai=is_for_kai)


def _is_for_kai(pod: Pod, owner: Mapping[str, Any], scheduler: str) -> bool:
    return groups.wants_kai(pod, scheduler) or groups.queue_of(labels_of(owner)) is not None


def _queues(
    pods: list[Pod], owner: Mapping[str, Any], owner_at: Path, label_key: str, known: Queues
) -> Iterator[Finding]:
    """Checks each queue that the manifest names, once."""
    named: dict[str, Path] = {}
    places = [(labels_of(owner), (*owner_at, "metadata"))]
    places += [(pod.labels, pod.metadata_at) for pod in pods]
    for labels, where in places:
        for key in (label_key, keys.LEGACY_QUEUE_LABEL):
            if isinstance(name := labels.get(key), str) and name:
                named.setdefault(name, (*where, "labels", key))
    for name, path in named.items():
        yield from known.check_use(name, path)
