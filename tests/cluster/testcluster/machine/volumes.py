"""The volumes of a pod as folders of this machine."""

from collections.abc import Mapping
from pathlib import Path

from ..client import Object
from .data import Data
from .environment import field_of
from .errors import MachineError

SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
"""Where the API server mounts the token of a pod's service account."""


async def write_volumes(pod: Object, folder: Path, data: Data) -> dict[str, Path]:
    """Writes the volumes into a folder; returns the folder of each volume by its name. Later
    changes of their objects do not change the files.

    Raises:
        NotYetError: a ConfigMap, a Secret or a key does not exist.
        MachineError: a kind of volume is not supported.
    """
    found: dict[str, Path] = {}
    for volume in pod["spec"].get("volumes", ()):
        if "hostPath" in volume:
            found[volume["name"]] = Path(volume["hostPath"]["path"])
            continue
        own = found[volume["name"]] = folder / volume["name"]
        own.mkdir(parents=True, exist_ok=True)
        for path, value in (await _files(volume, pod, data)).items():
            (own / path).parent.mkdir(parents=True, exist_ok=True)
            (own / path).write_bytes(value)
    return found


async def _files(volume: Object, pod: Object, data: Data) -> dict[str, bytes]:
    if "emptyDir" in volume:
        return {}
    if "secret" in volume:  # only here the name of a Secret has another key
        secret = volume["secret"]
        return await _of_source({"secret": {**secret, "name": secret["secretName"]}}, pod, data)
    files: dict[str, bytes] = {}
    for source in volume.get("projected", {}).get("sources", [volume]):
        files |= await _of_source(source, pod, data)
    return files


async def _of_source(source: Mapping[str, Object], pod: Object, data: Data) -> dict[str, bytes]:
    if token := source.get("serviceAccountToken"):
        return {token["path"]: (await data.token(pod, token)).encode()}
    if fields := source.get("downwardAPI"):
        return {
            each["path"]: field_of(pod, each["fieldRef"]["fieldPath"]).encode()
            for each in fields["items"]
        }
    for member, kind in (("configMap", "ConfigMap"), ("secret", "Secret")):
        if member in source:
            return await _of_object(kind, source[member], data)
    kinds = ", ".join(key for key in source if key != "name")
    raise MachineError(f"pod {pod['metadata']['name']}: the machine has no volumes of kind {kinds}")


async def _of_object(kind: str, reference: Object, data: Data) -> dict[str, bytes]:
    """The values by file name."""
    if "items" not in reference:
        return dict(await data.of(kind, reference))
    files: dict[str, bytes] = {}
    for item in reference["items"]:
        value = await data.value(kind, {**reference, "key": item["key"]})
        if value is not None:
            files[item["path"]] = value
    return files
