"""An image as an OCI layout: blobs by digest, and an index that names them.

    image = Image("kai-sched:0.1.0", "amd64", "2026-01-01T00:00:00Z", {"User": "10000"}, {})
    digest = write_layout(image, [base, kai], Path("build/image/oci"), Path("dist/kai.oci.tar"))

The same files give the same bytes: owners are root, times are 0, names are sorted, and modes do
not depend on the umask. The archive also has the manifest.json of `docker save`, which older
versions of `docker load` need.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


@dataclass(frozen=True)
class Image:
    name: str
    """With the tag."""
    architecture: str
    """As Go and Debian name it: amd64, arm64."""
    created: str
    process: Mapping[str, Any]
    """User, Env, Entrypoint, Cmd."""
    labels: Mapping[str, str]


def write_layout(image: Image, layers: Sequence[Path], folder: Path, archive: Path) -> str:
    """Writes the layout into `folder` and, as one file, to `archive`. Returns the image's digest.
    `layers` are folders, the lowest one first."""
    packed, unpacked = [], []
    for layer in layers:
        files = archived(layer)
        unpacked.append(digest_of(files))
        packed.append(add_blob(folder, LAYER, gzip.compress(files, 6, mtime=0)))
    config = add_blob(folder, CONFIG, to_json(configuration(image, unpacked)))
    manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": packed}
    described = add_blob(folder, MANIFEST, to_json(manifest))
    tag = image.name.rpartition(":")[2]
    # The first name is for containerd, which `kind load image-archive` uses, the second for others.
    names = {
        "io.containerd.image.name": full_name(image.name),
        "org.opencontainers.image.ref.name": tag,
    }
    platform = {"architecture": image.architecture, "os": "linux"}
    entry = {**described, "annotations": names, "platform": platform}
    index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [entry]}
    docker = {
        "Config": path_of(config),
        "RepoTags": [image.name],
        "Layers": [path_of(layer) for layer in packed],
    }
    (folder / "index.json").write_bytes(to_json(index))
    (folder / "oci-layout").write_bytes(to_json({"imageLayoutVersion": "1.0.0"}))
    (folder / "manifest.json").write_bytes(to_json([docker]))
    archive.parent.mkdir(exist_ok=True)
    archive.write_bytes(archived(folder))
    return str(described["digest"])


def full_name(name: str) -> str:
    """The name as containerd stores it: with the registry that a kubelet assumes if there is none.

    >>> full_name("kai-sched:0.1.0")
    'docker.io/library/kai-sched:0.1.0'
    >>> full_name("registry.test:5000/kai-sched:0.1.0")
    'registry.test:5000/kai-sched:0.1.0'
    """
    first, slash, _ = name.partition("/")
    if slash and (first == "localhost" or "." in first or ":" in first):
        return name
    return f"docker.io/{name}" if slash else f"docker.io/library/{name}"


def configuration(image: Image, unpacked: Sequence[str]) -> dict[str, Any]:
    return {
        "created": image.created,
        "architecture": image.architecture,
        "os": "linux",
        "config": {**image.process, "Labels": dict(image.labels)},
        "rootfs": {"type": "layers", "diff_ids": list(unpacked)},
        "history": [{"created": image.created, "created_by": "make image"} for _ in unpacked],
    }


def archived(folder: Path) -> bytes:
    """The files of a folder as a tar archive."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(folder.rglob("*")):
            member = archive.gettarinfo(path, str(path.relative_to(folder)))
            member.uid = member.gid = member.mtime = 0
            member.uname = member.gname = ""
            member.mode = mode_of(member)
            content = path.read_bytes() if member.isreg() else b""
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def mode_of(member: tarfile.TarInfo) -> int:
    if member.mode & 0o1000:  # /tmp
        return 0o1777
    return 0o755 if member.isdir() or member.mode & 0o100 else 0o644


def digest_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def path_of(blob: Mapping[str, Any]) -> str:
    """The path of a blob in the layout."""
    return "blobs/" + str(blob["digest"]).replace(":", "/")


def add_blob(folder: Path, media_type: str, content: bytes) -> dict[str, Any]:
    """Writes a blob, and returns its descriptor."""
    blob = {"mediaType": media_type, "digest": digest_of(content), "size": len(content)}
    path = folder / path_of(blob)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return blob


def to_json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()
