"""Clusters from files: KAI snapshots and Kubernetes manifests.

Each snapshot is one cluster. All manifests of one call together are one cluster.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from datetime import datetime, timezone

from kai.api import documents, files, keys, kinds, times
from kai.api.arguments import in_a_sentence
from kai.engine.cluster import Cluster
from kai.errors import InvalidClusterError, InvalidInputError
from kai.snapshot import archive
from kai.snapshot.manifests import Manifests

Source = str | os.PathLike[str] | bytes

STANDARD_INPUT = files.STANDARD_INPUT
_ENDINGS = (".zip", ".json", ".yaml", ".yml", ".json.gz", ".yaml.gz", ".yml.gz")


@in_a_sentence
def load(
    source: Source | Iterable[Source],
    *,
    now: datetime | str | None = None,
    strict: bool = False,
    into: Cluster | None = None,
    scheduler_name: str = keys.SCHEDULER_NAME,
    queue_label_key: str = keys.QUEUE_LABEL,
) -> Cluster:
    """The cluster in a file, a directory, bytes, "-" for standard input, or a list of those.

    It may be a KAI snapshot (.zip or .json) or Kubernetes manifests (YAML or JSON); the type is
    detected from the content. A List without items is an input without objects. `now` is the
    default time of plans. Invalid objects are left out and listed in `Cluster.rejected`; plans have
    warnings about unknown names. With `strict`, both raise InvalidClusterError. Raises
    InvalidInputError for input that cannot be read at all.

    >>> load(b"{kind: Node, metadata: {name: n1}, status: {capacity: {nvidia.com/gpu: 8}}}")
    <kai.Cluster: 1 node with 8 GPUs, 0 pod groups with 0 pods, 2 queues>

    Pods of other schedulers are not planned: only those whose `schedulerName` is `scheduler_name`,
    or is not set. `queue_label_key` is the label that names their queue, if they have no pod group
    yet.

    `into` is a cluster. The manifests are added to it as if they were submitted now, and `load`
    returns it. A new object replaces an object of the same kind and name.

    >>> import kai
    >>> cluster = kai.Cluster().queue("vision").node("n1", gpus=8)
    >>> load(b"{kind: Node, metadata: {name: n2}}", into=cluster)
    <kai.Cluster: 2 nodes with 8 GPUs, 0 pod groups with 0 pods, 1 queue>
    """
    clusters = _all(
        read(
            source,
            now=now,
            into=into,
            scheduler_name=scheduler_name,
            queue_label_key=queue_label_key,
        )
    )
    if len(clusters) != 1:
        names = ", ".join(str(cluster.name) for cluster in clusters)
        raise InvalidInputError(f"there are {len(clusters)} inputs, use kai.load_all: {names}")
    [cluster] = clusters
    if strict and (found := [*cluster._warnings(), *map(str, cluster.rejected)]):
        raise InvalidClusterError("; ".join(found))
    return cluster


@in_a_sentence
def load_all(
    source: Source | Iterable[Source], *, now: datetime | str | None = None
) -> list[Cluster]:
    """Every cluster of the sources: one per snapshot, and one of all manifests together.

    Raises InvalidInputError for a source that cannot be read, and for a `now` that is not a time.

    >>> import kai
    >>> node = b"{kind: Node, metadata: {name: n1}}"
    >>> [cluster.counts["nodes"] for cluster in kai.load_all([node, b'{"rawObjects": {}}'])]
    [0, 1]
    """
    return _all(read(source, now=now))


def _all(read: Iterable[Cluster | InvalidInputError]) -> list[Cluster]:
    clusters = []
    for found in read:
        if isinstance(found, InvalidInputError):
            raise found
        clusters.append(found)
    return clusters


def read(
    source: Source | Iterable[Source],
    *,
    now: datetime | str | None = None,
    into: Cluster | None = None,
    scheduler_name: str = keys.SCHEDULER_NAME,
    queue_label_key: str = keys.QUEUE_LABEL,
) -> Iterator[Cluster | InvalidInputError]:
    """Yields the clusters of `load_all` one by one, and an error for each unreadable input.

    `into`: the cluster that manifests are added to. Raises InvalidInputError for a `now` that is
    not a time.
    """
    sources = [source] if isinstance(source, (str, os.PathLike, bytes)) else list(source)
    manifests = Manifests(
        scheduler=scheduler_name,
        queue_label=queue_label_key,
        command="kai plan" if into is None else "kai plan INPUT --what-if",
    )
    params = _params(scheduler_name, queue_label_key)
    named: dict[str, None] = {}  # the sources that manifests came from
    broken = False  # a manifest could not be read, so the cluster is incomplete
    has_snapshot = False
    skipped: list[str] = []
    for each in sources:
        if each == "":  # Path("") would be the current directory
            broken = True
            yield InvalidInputError("the name of an input is empty: name a file, a directory or -")
            continue
        name = None if isinstance(each, bytes) else os.fspath(each)
        for file, data in _files(each):
            if isinstance(data, _Skipped):
                skipped.append(f"{file} {data}")
                continue
            is_manifest = True  # an unreadable file counts as a manifest
            try:
                if isinstance(data, InvalidInputError):
                    raise data
                is_manifest = False
                data, memory = archive.unpack(data)
                snapshot = archive.find_snapshot(data)
                if snapshot is not None and into is not None:
                    raise InvalidInputError("is a snapshot; only manifests can be added")
                if snapshot is not None:
                    has_snapshot = True
                    cluster = _from_snapshot(snapshot, memory, file, now, skipped)
                    skipped = []
                    yield cluster.configure(**params) if params else cluster
                    continue
                is_manifest = True
                if not manifests.add(_shown(file), documents.decode(data)) and file == name:
                    raise InvalidInputError("is neither a Kubernetes object nor a KAI snapshot")
                if name is not None:
                    named[name] = None
            except InvalidInputError as error:
                broken |= is_manifest
                yield InvalidInputError(f"{_shown(file)}: {error}")
    # A snapshot beside an empty List is one input: the List is no cluster of its own.
    files = manifests.files if has_snapshot else (*manifests.files, *manifests.empty_files)
    if files and not broken:
        yield _with_manifests(manifests, into, now, ", ".join(named) or None, skipped)
    elif skipped and not broken and not has_snapshot:
        yield InvalidInputError("; ".join(skipped))


def _from_snapshot(
    snapshot: archive.Snapshot,
    memory: archive.Memory | None,
    file: str | None,
    now: datetime | str | None,
    skipped: Iterable[str],
) -> Cluster:
    cluster = Cluster.from_snapshot(
        snapshot.data,
        name=file,
        now=now or snapshot.now or (memory and memory.now),
        memory=memory and memory.text,
        warnings=skipped,
    )
    cluster._search_for_lost_pods()
    return cluster


def _params(scheduler_name: str, queue_label_key: str) -> dict[str, str]:
    """What differs from the defaults, as `schedulerParams` of a snapshot."""
    given = {
        "schedulerName": (scheduler_name, keys.SCHEDULER_NAME),
        "queueLabelKey": (queue_label_key, keys.QUEUE_LABEL),
    }
    return {name: value for name, (value, default) in given.items() if value != default}


def _with_manifests(
    manifests: Manifests,
    into: Cluster | None,
    now: datetime | str | None,
    name: str | None,
    skipped: Iterable[str],
) -> Cluster:
    if into is not None:
        return _add_manifests(manifests, into, now)
    snapshot, rejected = manifests.to_snapshot()
    data = json.dumps(snapshot, separators=(",", ":")).encode()
    cluster = Cluster.from_snapshot(
        data, name=name, now=now, rejected=rejected, warnings=(*manifests.warnings, *skipped)
    )
    cluster._without_pods = manifests.without_pods
    cluster._search_for_lost_pods()
    return cluster


def _add_manifests(manifests: Manifests, into: Cluster, now: datetime | str | None) -> Cluster:
    snapshot, rejected = manifests.to_snapshot(beside=into.objects)
    if now is not None:
        into.at(now)
    created = times.to_text(int((into.now or datetime.now(timezone.utc)).timestamp()) * 10**9)
    for kind, listed in kinds.LISTS.items():
        for manifest in snapshot["rawObjects"].get(listed, ()):
            metadata = {"creationTimestamp": created, **manifest["metadata"]}
            into.upsert({**manifest, "kind": kind, "metadata": metadata})
    into._reject(rejected)
    into._warn(manifests.warnings)
    into._without_pods = {**into._without_pods, **manifests.without_pods}
    into._search_for_lost_pods()
    return into


class _Skipped(str):
    """Why a file of a directory is not read: it is a pipe, a socket or a device."""

    __slots__ = ()


def _files(source: Source) -> Iterator[tuple[str | None, bytes | InvalidInputError | _Skipped]]:
    """The name of each file of one source, with its content or the error from reading it."""
    if isinstance(source, bytes):
        yield None, source
        return
    name = os.fspath(source)
    try:
        found = _in_directory(name) if os.path.isdir(name) else [name]
    except OSError as error:
        yield os.fsdecode(error.filename or name), InvalidInputError(files.why_unreadable(error))
        return
    if not found:
        yield name, InvalidInputError("no snapshot and no manifest in this directory")
    odd = [each for each in found if each != name and not _can_be_read_to_its_end(each)]
    for file in odd:
        yield file, _Skipped("was skipped: it is no regular file; name it as an input itself")
    for file in found:
        if file in odd:
            continue
        try:
            yield file, files.read(file)
        except InvalidInputError as error:
            yield file, error


def _can_be_read_to_its_end(file: str) -> bool:
    """False for a pipe, a socket and a device; a file that is gone is reported when it is read."""
    return os.path.isfile(file) or not os.path.exists(file)


def _in_directory(directory: str) -> list[str]:
    """The possible inputs in a directory tree, without hidden files.

    Each real directory is read once, so links that form a circle do no harm.
    """
    found, seen, open_directories = [], set[str](), [directory]
    while open_directories:
        here = open_directories.pop()
        if (real := os.path.realpath(here)) in seen:
            continue
        seen.add(real)
        for entry in os.scandir(here):
            if entry.name.startswith("."):
                continue
            path = os.path.join(here, entry.name)
            if entry.is_dir():
                open_directories.append(path)
            elif entry.name.endswith(_ENDINGS):
                found.append(path)
    return sorted(found, key=lambda name: name.split(os.sep))


def _shown(file: str | None) -> str:
    return {None: "the input", STANDARD_INPUT: "standard input"}.get(file, str(file))
