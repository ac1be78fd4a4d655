"""An API server accepts what the builders make, to the last field."""

import json
import os
from collections.abc import Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from api_server import ApiServer, eventually, plain
from manifests import CORE, CUSTOM, GPUS, request_with
from random_requests import of_seed, valid

import kai
from kai.integrations import ORCHESTRATORS

RUNTIME_CLASS = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "nvidia"},
    "handler": "nvidia",
}
PODS = 100  # of each orchestrator


@pytest.fixture(scope="module")
def kinds(api_server: ApiServer) -> set[tuple[str, str]]:
    """apiVersion and kind of all kinds that the server has, including KAI_CRDS (a folder of
    definitions)."""
    api_server.apply(RUNTIME_CLASS)
    for file in sorted(Path(os.environ.get("KAI_CRDS", "/nowhere")).glob("*.yaml")):
        for each in yaml.load_all(file.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader):
            if each and each.get("kind") == "CustomResourceDefinition":
                each["spec"].pop("conversion", None)  # by a webhook that is not installed here
                api_server.apply(each)
                established = partial(is_established, api_server, each["metadata"]["name"])
                eventually(established)
    listed = api_server.run("api-resources", "--no-headers").splitlines()
    return {tuple(line.split()[-3::2]) for line in listed}  # type: ignore[misc]


def is_established(api_server: ApiServer, definition: str) -> bool:
    there = json.loads(api_server.run("get", "crd", definition, "--output=json"))
    conditions = there.get("status", {}).get("conditions") or []
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


@pytest.mark.parametrize("gpus", GPUS, ids=[" ".join(gpus) or "none" for gpus in GPUS])
@pytest.mark.parametrize("name", [*CORE, *CUSTOM])
def test_the_server_accepts_a_manifest(
    name: str, gpus: dict[str, Any], api_server: ApiServer, kinds: set[tuple[str, str]]
) -> None:
    built = {**CORE, **CUSTOM}[name](request_with(gpus))
    manifests = [dict(built), *getattr(built, "cluster_objects", ())]
    if any((each["apiVersion"], each["kind"]) not in kinds for each in manifests):
        pytest.skip(f"the server has no {name}: KAI_CRDS names a folder of definitions")
    made = api_server.create(*manifests, dry_run=True)
    assert made[0]["kind"] == manifests[0]["kind"]


@pytest.mark.parametrize("orchestrator", ORCHESTRATORS)
def test_the_server_accepts_a_pod_of_an_orchestrator(
    orchestrator: str, api_server: ApiServer, kinds: set[tuple[str, str]]
) -> None:
    assert kinds
    build = import_module(f"kai.integrations.{ORCHESTRATORS[orchestrator]}").build
    pods = []
    for number, given in zip(range(PODS), of_seed(valid, 1), strict=False):
        request = kai.PodRequest(**given).with_changes(container=None, gang_min=None)
        pods.append(pod_of(build(request, as_native=False).pod, f"p{number}"))
    made = api_server.create(*pods, dry_run=True)
    for pod, taken in zip(pods, made, strict=True):
        for part in ("labels", "annotations"):
            assert taken["metadata"].get(part, {}) == pod["metadata"].get(part, {})
        named = pod["spec"].get("schedulerName", "default-scheduler")
        assert taken["spec"]["schedulerName"] == named


def pod_of(template: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A pod with the fields that its orchestrator would add: a name and an image."""
    pod: dict[str, Any] = plain(template)
    metadata = {**pod.get("metadata", {}), "name": name}
    metadata.pop("ownerReferences", None)
    for part in ("containers", "initContainers"):
        for container in pod["spec"].get(part, ()):
            container.setdefault("image", "i")
    return {**pod, "apiVersion": "v1", "kind": "Pod", "metadata": metadata}
