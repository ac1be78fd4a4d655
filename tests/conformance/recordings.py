"""The actions of KAI's control plane on a real API server, as objects that change.

    for recording in recordings():
        for step in recording.steps():     # a person's actions, and what the watches showed
            ...

Recorded with KAI d5bc503a; pack.py packs the archive. `KAI_CONFORMANCE` names a folder that has the
unpacked recordings in control-plane/.
"""

import copy
import io
import json
import lzma
import os
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kai.api import keys

ARCHIVE = Path(__file__).parent / "control-plane.tar.xz"


@dataclass(frozen=True)
class Recording:
    name: str  # "01-cpu-pod"
    content: Mapping[str, Any]

    @property
    def manifests(self) -> list[dict[str, Any]]:
        """The applied manifests, in order, each with the UID that references give it."""
        return [_with_uid(each) for each in copy.deepcopy(self.content["manifests"])]

    @property
    def timeline(self) -> list[dict[str, Any]]:
        return copy.deepcopy(self.content["timeline"])


@cache
def recordings() -> tuple[Recording, ...]:
    """All of them, by name."""
    elsewhere = os.environ.get(keys.CONFORMANCE_ENV)
    folder = Path(elsewhere) / "control-plane" if elsewhere else None
    if folder is not None and folder.is_dir():
        files = {file.stem: file.read_bytes() for file in folder.glob("*.json")}
    else:
        files = {}
        with tarfile.open(fileobj=io.BytesIO(lzma.decompress(ARCHIVE.read_bytes()))) as archive:
            for member in archive:
                content = archive.extractfile(member)
                assert content is not None, member.name
                files[Path(member.name).stem] = content.read()
    return tuple(Recording(name, json.loads(files[name])) for name in sorted(files))


def changes(entry: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Paths and new values of a MODIFIED entry; None for what was removed."""
    for path, value in (entry.get("changed") or {}).items():
        yield _path(path), value
    for path in entry.get("removed") or ():
        yield _path(path), None


def apply(entry: Mapping[str, Any], target: dict[str, Any]) -> None:
    """Applies a MODIFIED entry to the object, except conditions and other lists by type."""
    for path, value in changes(entry):
        where: Any = target
        for step in path[:-1]:
            member, _, named = step.partition("[")
            where = where.setdefault(member, [] if named else {})
            if named:
                where = _item(where, named.rstrip("]"))
        if path[-1].endswith("]"):
            continue
        if value is None:
            where.pop(path[-1], None)
        else:
            where[path[-1]] = value


def _item(items: list[dict[str, Any]], name: str) -> dict[str, Any]:
    for item in items:
        if name in (item.get("name"), item.get("type")):
            return item
    items.append({"name": name})
    return items[-1]


def _path(path: str) -> tuple[str, ...]:
    """Keys of labels and annotations contain dots themselves."""
    for prefix in ("metadata.labels.", "metadata.annotations."):
        if path.startswith(prefix):
            return (*prefix.split(".")[:2], path.removeprefix(prefix))
    return tuple(path.split("."))


def _with_uid(manifest: dict[str, Any]) -> dict[str, Any]:
    metadata = manifest["metadata"]
    metadata.setdefault("uid", f"<uid:{manifest['kind']}/{metadata['name']}>")
    return manifest
