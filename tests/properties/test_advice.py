"""The advice of a finding, followed word for word, ends the finding and keeps the request.

One mistake in a manifest or in settings of every orchestrator; a small reader of advice changes the
place that the finding names; then lint finds nothing and the pods request what was meant.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
import yaml
from manifests import CORE, CUSTOM

import kai
from kai.admission.pods import pods_in
from kai.integrations import ORCHESTRATORS, builder_for
from kai.linting import Finding, lint, settings_files, zenml

FRACTION = "gpu-fraction"
KEYS = ("gpu-fraction", "gpu-fraction-container-name")


def plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, (list, tuple)) else value


def _right() -> dict[str, Any]:
    """Manifests and settings that request half a GPU; those of Prefect have variables."""
    request = kai.PodRequest(queue="team-a", gpu_fraction=0.5)
    made = {kind: plain(make(request)) for kind, make in {**CORE, **CUSTOM}.items()}
    settings = {
        f"settings of {name}": plain(builder_for(name)(request, as_native=False).settings)
        for name in ORCHESTRATORS
        if name != "prefect"
    }
    return {**made, **settings}


RIGHT = _right()


# ---- places --------------------------------------------------------------------------------------


def places(value: Any, key: str, where: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every path that ends in a key."""
    if isinstance(value, dict):
        for name, each in value.items():
            if name == key:
                yield (*where, name)
            yield from places(each, key, (*where, name))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from places(each, key, (*where, index))


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


def put(value: Any, path: tuple[Any, ...], key: str, entry: Any) -> None:
    for step in path:
        value = value.setdefault(step, {}) if isinstance(value, dict) else value[step]
    value[key] = entry


def rename(value: Any, path: tuple[Any, ...], key: str) -> None:
    above = at(value, path[:-1])
    above[key] = above.pop(path[-1])


# ---- mistakes ------------------------------------------------------------------------------------


def misspelt(name: str) -> Callable[[Any], Any]:
    def make(value: Any) -> Any:
        for path in list(places(value, FRACTION)):
            rename(value, path, name)
        return value

    return make


def written(text: Any) -> Callable[[Any], Any]:
    def make(value: Any) -> Any:
        for path in places(value, FRACTION):
            at(value, path[:-1])[FRACTION] = text
        return value

    return make


def as_labels(value: Any) -> Any:
    for path in list(places(value, FRACTION)):
        entry = at(value, path[:-1]).pop(FRACTION)
        put(value, (*path[:-2], "labels"), FRACTION, entry)
    return value


def on_the_workload(value: Any) -> Any:
    for path in list(places(value, FRACTION)):
        entry = at(value, path[:-1]).pop(FRACTION)
        put(value, ("metadata", "annotations"), FRACTION, entry)
    return value


def misspelt_queue(value: Any) -> Any:
    for path in list(places(value, "kai.scheduler/queue")):
        rename(value, path, "kai-scheduler/queue")
    return value


def misspelt_scheduler(value: Any) -> Any:
    for name in ("schedulerName", "scheduler_name", "schedulername"):
        for path in list(places(value, name)):
            at(value, path[:-1])[path[-1]] = "kai-sheduler"
    return value


MISTAKES: dict[str, Callable[[Any], Any]] = {
    "gpu_fraction": misspelt("gpu_fraction"),
    "a prefix": misspelt("kai.scheduler/gpu-fraction"),
    "a percentage": written("50%"),
    "a comma": written("0,5"),
    "a word": written("half"),
    "a number": written(0.5),
    "a label": as_labels,
    "on the workload": on_the_workload,
    "the queue": misspelt_queue,
    "the scheduler": misspelt_scheduler,
}


# ---- advice --------------------------------------------------------------------------------------


def follow(value: Any, finding: Finding) -> None:
    """Changes the value as the finding says."""
    path, fix = finding.at, finding.fix
    if moved := re.search(r"move it to ([\w.\[\]/-]+)$", fix):
        _move(value, path, moved[1], _meant(fix) or str(path[-1]))
    elif meant := _meant(fix):
        if path[-1] in at(value, path[:-1]) and at(value, path) != "kai-sheduler":
            rename(value, path, meant)
        else:
            put(value, path[:-1], path[-1], meant)
    elif found := re.fullmatch(r'write "?([^"]+?)"?(?:, in quotes)?', fix):
        put(value, path[:-1], path[-1], found[1])
    else:
        pytest.fail(f"no such advice: {finding}")


def _meant(fix: str) -> str:
    found = re.match(r"did you mean ([^?]+)\?", fix)
    return found[1] if found else ""


def _move(value: Any, path: tuple[Any, ...], to: str, key: str) -> None:
    entry = at(value, path[:-1]).pop(path[-1])
    if to in ("labels", "annotations"):
        put(value, (*path[:-2], to), key, entry)
        return
    steps = tuple(
        int(index) if index else name for index, name in re.findall(r"\[(\d+)\]|([^.\[\]]+)", to)
    )
    put(value, steps, key, entry)


# ---- requests ------------------------------------------------------------------------------------


def requests(value: Any) -> list[Any]:
    """What each pod requests of KAI: queue, part of a GPU, scheduler."""
    if zenml.is_settings(value) or "kind" not in value:
        pods = [*settings_files.pods_in(value)] or [*pods_in(value)]
    else:
        pods = [*pods_in(value)]
    return [
        (
            {key: pod.annotations[key] for key in KEYS if key in pod.annotations},
            pod.labels.get("kai.scheduler/queue"),
            pod.scheduler,
        )
        for pod in pods
    ]


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("name", RIGHT)
def test_followed_advice_ends_the_finding_and_keeps_the_request(name: str, mistake: str) -> None:
    right = RIGHT[name]
    value = MISTAKES[mistake](copy.deepcopy(right))
    if value == right or (mistake == "on the workload" and name not in (*CORE, *CUSTOM)):
        return  # settings without a scheduler's name, or without a workload
    if mistake == "on the workload" and requests(value) == requests(right):
        return  # a Pod, or an operator that copies annotations
    before = [each for each in lint(value) if each.code != "queue-missing"]
    assert before, f"no finding: {yaml.safe_dump(value)}"
    for _ in range(20):
        found = lint(value)
        if not found:
            break
        follow(value, found[0])
    assert [str(each) for each in lint(value)] == []
    if mistake == "on the workload":  # one place is named, of the pods with a GPU
        parts = [annotations for annotations, _, _ in requests(value) if FRACTION in annotations]
        assert parts
    else:
        assert requests(value) == requests(right)


def test_right_manifests_have_no_findings() -> None:
    for name, right in RIGHT.items():
        assert [str(each) for each in lint(right)] == [], name
        if name != "settings of mlflow":  # a manifest inside settings
            assert requests(right), name
