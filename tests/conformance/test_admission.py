"""KAI's webhook on the pods of the recordings: created or rejected, and the ConfigMaps that its
binder made for them."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from recordings import Recording, apply, recordings

from kai.api.keys import RESERVATION
from kai.api.reading import annotations_of, at
from kai.controllers.admission import Rules, mutate, refusals
from kai.controllers.pods.sharing import (
    Reservations,
    config_map_bodies,
    config_maps,
    reservation_pod,
    shares_gpus,
)
from kai.errors import NotFoundError


def plain(recording: Recording) -> Recording:
    """Replaces placeholders of random characters by valid ones: rnd1 for <rnd1>."""
    text = re.sub(r"<(rnd[0-9]+)>", r"\1", json.dumps(recording.content))
    return Recording(recording.name, json.loads(text))


DENIED = 'admission webhook "kai-admission.kai-scheduler.svc" denied the request: '
WITHOUT_ADMISSION = "10-invalid-annotations-no-admission"
RECORDED = {each.name: each for each in map(plain, recordings())}
SHARING = [
    each.name
    for each in RECORDED.values()
    if each.name != WITHOUT_ADMISSION and any(shares_gpus(pod) for pod in each.manifests)
]


def created(recording: Recording) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Applied pods, each with its first state at the API server."""
    shown = {
        entry["name"]: entry["object"]
        for entry in reversed(recording.timeline)
        if entry.get("kind") == "Pod" and entry.get("event") == "ADDED"
    }
    for manifest in recording.manifests:
        if manifest["kind"] == "Pod" and manifest["metadata"]["name"] in shown:
            yield manifest, shown[manifest["metadata"]["name"]]


def as_written(pod: dict[str, Any]) -> dict[str, Any]:
    """Without what the API server adds."""
    spec = {key: value for key, value in pod["spec"].items() if key != "priority"}
    for volume in spec.get("volumes", []):
        volume.get("configMap", {}).pop("defaultMode", None)
    metadata = {key: value for key, value in pod["metadata"].items() if key != "uid"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def placeholder(pod: dict[str, Any]) -> str:
    """The placeholder for the random part of the names in the recording."""
    prefix = annotations_of(pod).get("runai/shared-gpu-configmap", "")
    found = re.search(r"rnd[0-9]+", prefix)
    return found.group() if found else "none"


def mutated(name: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    return [
        (mutate(manifest, Rules(), draw=lambda length, pod=pod: placeholder(pod)), pod)  # type: ignore[misc]
        for manifest, pod in created(RECORDED[name])
    ]


def test_the_recordings_have_pods_that_share() -> None:
    assert {each[:2] for each in SHARING} >= {"06", "07", "08", "09", "29", "31", "36", "37", "46"}


@pytest.mark.parametrize("name", SHARING)
def test_a_pod_is_created_as_with_kai(name: str) -> None:
    pairs = mutated(name)
    assert [as_written(ours) for ours, _ in pairs] == [as_written(kais) for _, kais in pairs]


@pytest.mark.parametrize("name", SHARING)
def test_pods_that_kai_accepted_are_not_refused(name: str) -> None:
    for ours, _ in mutated(name):
        assert refusals(ours, Rules()) == []


def refused(manifest: dict[str, Any]) -> str:
    """The answer of the two pod webhooks; "": accepted."""
    try:
        patched = mutate(manifest, Rules(), draw=lambda length: "x" * length)
    except NotFoundError as error:
        return str(error)
    return next(iter(refusals(patched, Rules())), "")


def test_an_invalid_pod_is_refused_with_kais_message() -> None:
    recording = RECORDED["09-invalid-annotations-admission"]
    answers = {each["do"].rpartition("/")[2]: each for each in recording.content["responses"]}
    pods = [each for each in recording.manifests if each["kind"] == "Pod"]
    assert {each["code"] for each in answers.values()} == {403}
    assert len(answers) == len(pods) - 1 == 18  # a tiny fraction is accepted
    assert {
        name: f"{DENIED}{why}"
        for pod in pods
        if (why := refused(pod)) and (name := pod["metadata"]["name"])
    } == {name: each["message"] for name, each in answers.items()}


def test_without_admission_a_binder_finds_no_config_map_names() -> None:
    pairs = list(created(RECORDED[WITHOUT_ADMISSION]))
    assert len(pairs) > 15
    reason = re.compile(r"no desired configmap name found in pod \S+ annotations")
    reasons = set(reason.findall(str(RECORDED[WITHOUT_ADMISSION].timeline)))
    found = set()
    for manifest, pod in pairs:
        assert as_written(pod)["metadata"] == as_written(manifest)["metadata"]
        with pytest.raises(NotFoundError) as raised:
            config_maps(pod)
        found.add(str(raised.value))
    assert reasons
    assert reasons <= found


def config_maps_made(recording: Recording) -> dict[str, dict[str, Any]]:
    """Their final state: KAI's binder creates them empty."""
    made: dict[str, dict[str, Any]] = {}
    for entry in recording.timeline:
        if entry.get("kind") == "ConfigMap" and entry.get("event") == "ADDED":
            made[entry["name"]] = entry["object"]
        elif entry.get("kind") == "ConfigMap" and entry.get("event") == "MODIFIED":
            apply(entry, made[entry["name"]])
    return made


def test_config_maps_equal_those_of_kais_binder() -> None:
    compared = 0
    for name in SHARING:
        made = config_maps_made(RECORDED[name])
        for manifest, pod in created(RECORDED[name]):
            if not shares_gpus(pod):
                continue
            names = config_maps(pod)
            kais = [made.get(each) for each in (names.capabilities, names.environment)]
            if kais[0] is None or kais[1] is None:
                continue  # it waited, or its binding failed
            data = kais[0]["data"]
            pod["metadata"]["uid"] = manifest["metadata"]["uid"]
            devices = data["NVIDIA_VISIBLE_DEVICES"].split(",")
            assert config_map_bodies(pod, devices, data["GPU_PORTION"]) == kais, name
            compared += 1
    assert compared > 20


def test_the_portion_equals_the_bind_request() -> None:
    """KAI passes it on unchanged."""
    compared = 0
    for name in SHARING:
        made = config_maps_made(RECORDED[name])
        for entry in RECORDED[name].timeline:
            if entry.get("kind") != "BindRequest" or entry.get("event") != "ADDED":
                continue
            portion = at(entry["object"], "spec", "receivedGPU", "portion")
            for config_map in made.values():
                owner = config_map["metadata"]["ownerReferences"][0]["name"]
                if owner == entry["name"] and "data" in config_map:
                    assert config_map["data"]["GPU_PORTION"] == portion
                    compared += 1
    assert compared > 20


def test_a_reservation_pod_equals_that_of_kais_binder() -> None:
    """Except for its image and arguments, and the hash in its name, which the recordings
    replace."""
    compared = 0
    for name in SHARING:
        for entry in RECORDED[name].timeline:
            if entry.get("namespace") != RESERVATION or entry["event"] != "ADDED":
                continue
            kais = as_written(entry["object"])
            container = kais["spec"]["containers"][0]
            group = kais["metadata"]["labels"]["runai-gpu-group"]
            tolerations = kais["spec"].get("tolerations", [])
            common = Reservations(image=container["image"])
            ours = reservation_pod(kais["spec"]["nodeName"], group, tolerations, common)
            (own,) = ours["spec"]["containers"]
            assert own.pop("args") == ["run", "reservation"]
            assert own.pop("imagePullPolicy") == "IfNotPresent"  # the server's default here
            for variable in container["env"]:
                assert variable["valueFrom"]["fieldRef"].pop("apiVersion") == "v1"
            assert kais["spec"].pop("schedulerName") == "default-scheduler"
            assert kais["metadata"]["name"].startswith("gpu-reservation-")
            ours["metadata"]["name"] = kais["metadata"]["name"]
            assert ours == kais
            compared += 1
    assert compared > 20
