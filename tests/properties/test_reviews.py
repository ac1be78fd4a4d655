"""Reviews of random pods, beside a plain program after the specification (spec 6 C17-C21)."""

import base64
import json
import os
import random
import re
from collections.abc import Iterator
from typing import Any

from kai.controllers.admission import Known, Reviews, Rules

PODS = 25 * int(os.environ.get("KAI_CLUSTERS", "40"))
DEVICES = "NVIDIA_VISIBLE_DEVICES"
Object = dict[str, Any]


# ---- random pods ---------------------------------------------------------------------------------

FRACTIONS = (
    *("0.5", "0.25", "1", "1.0", "1.5", "0", "-0.5", "NaN", "half", "", "0x1p-1", "1e-3", "500m"),
    *(".5", "5e-1", "+0.5", " 0.5", "0.5_0", "inf", "0.999999999999999999999", "0.005"),
)
AMOUNTS = ("4000", "1", "0", "-5", "4Gi", "4000.5", "", "+5", "007", "18446744073709551616")
NAMES = ("main", "side", "setup", "a-very-long-name-of-a-container")


def random_pod(dice: random.Random) -> Object:
    annotations: dict[str, str] = {}
    for key, values, chance in (
        ("gpu-fraction", FRACTIONS, 0.6),
        ("gpu-memory", AMOUNTS, 0.2),
        ("gpu-fraction-num-devices", AMOUNTS, 0.2),
        ("gpu-fraction-container-name", (*NAMES, "missing"), 0.2),
        ("mps", ("true", "false", "yes"), 0.2),
        ("other", ("1",), 0.3),
    ):
        if dice.random() < chance:
            # Mostly valid ones, so that what follows is also reached.
            annotations[key] = values[0] if dice.random() < 0.5 else dice.choice(values)
    spec: Object = {"schedulerName": "kai-scheduler" if dice.random() < 0.95 else "other"}
    spec["containers"] = [random_container(dice) for _ in range(dice.randint(1, 3))]
    if dice.random() < 0.4:
        spec["initContainers"] = [random_container(dice) for _ in range(dice.randint(1, 2))]
    if dice.random() < 0.3:
        spec["volumes"] = [{"name": "data", "emptyDir": {}}]
    if dice.random() < 0.3:
        spec["runtimeClassName"] = "own"
    metadata: Object = {"namespace": "team"}
    length = dice.choice((5, 33, 60))
    metadata["name"] = "".join(dice.choice("ab.-0") for _ in range(length)).strip(".-") or "p"
    if dice.random() < 0.3:
        metadata["ownerReferences"] = [{"kind": "Job", "name": "owner-of-the-pod"}]
    if annotations or dice.random() < 0.5:
        metadata["annotations"] = annotations
    return {"metadata": metadata, "spec": spec}


def random_container(dice: random.Random) -> Object:
    made: Object = {"name": dice.choice(NAMES), "image": "i"}
    if dice.random() < 0.2:
        amounts = {"nvidia.com/gpu": dice.choice(("0", "1", 2))}
        part = dice.choice(("limits", "requests"))
        made["resources"] = {part: amounts}
    elif dice.random() < 0.1:
        made["resources"] = {"limits": {"nvidia.com/mig-1g.5gb": "1"}}
    env = []
    if dice.random() < 0.3:
        value = dice.choice(("all", "void", "none", "", "0,1"))
        env.append({"name": DEVICES, "value": value})
    elif dice.random() < 0.1:
        env.append({"name": DEVICES, "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}})
    if dice.random() < 0.3:
        env.append({"name": "GPU_PORTION", "value": "mine"})
    if env:
        made["env"] = env
    return made


# ---- the specification, step by step -------------------------------------------------------------


def mutated(pod: Object, rules: Rules) -> Object | str:
    """The pod after the webhook, or why it is refused."""
    made: Object = json.loads(json.dumps(pod))
    annotations = made["metadata"].get("annotations", {})
    shares = "gpu-fraction" in annotations or "gpu-memory" in annotations
    chosen: Object | None = None
    if shares:
        part, index = "containers", 0
        named = annotations.get("gpu-fraction-container-name")
        if named is not None:
            found = [
                (part, index)
                for part in ("initContainers", "containers")
                for index, each in enumerate(made["spec"].get(part, []))
                if each["name"] == named
            ]
            if not found:
                return (
                    "failed to get fraction container ref: container with name"
                    f" {named} not found for fraction request"
                )
            part, index = found[0]
        chosen = made["spec"][part][index]
        owners = made["metadata"].get("ownerReferences")
        name = owners[0]["name"] if owners else made["metadata"]["name"]
        prefix = name[:33].rstrip(".-") + "-xxxxxxx-shared-gpu"
        annotations["runai/shared-gpu-configmap"] = prefix
        map_name = f"{prefix}-{'i' if part == 'initContainers' else ''}{index}"
        written = [DEVICES, "RUNAI_NUM_OF_GPUS", "GPU_PORTION"]
        written += ["CUDA_DEVICE_MEMORY_LIMIT"] if rules.hami else []
        env = [each for each in chosen.get("env", []) if each["name"] not in written]
        for variable in written:
            key: Object = {"name": map_name, "key": variable}
            if variable == "CUDA_DEVICE_MEMORY_LIMIT":
                key["optional"] = True
            env.append({"name": variable, "valueFrom": {"configMapKeyRef": key}})
        chosen["env"] = env
        source = {"name": f"{map_name}-evar", "optional": False}
        chosen["envFrom"] = [{"configMapRef": source}]
        volume = re.sub(r"[^a-z0-9-]+", "-", f"{map_name}-vol".lower()).strip("-")
        more = {"name": volume, "configMap": {"name": map_name}}
        made["spec"]["volumes"] = [*made["spec"].get("volumes", []), more]
    if rules.blocks_devices:
        for each in containers(made):
            if each is chosen or asks_for_gpus(each):
                continue
            found_env = [e for e in each.get("env", []) if e["name"] == DEVICES]
            if not found_env:
                each["env"] = [*each.get("env", []), {"name": DEVICES, "value": "void"}]
            elif "valueFrom" not in found_env[0]:
                found_env[0]["value"] = "void"
    if shares and rules.runtime_class:
        made["spec"].setdefault("runtimeClassName", rules.runtime_class)
    return made


def containers(pod: Object) -> Iterator[Object]:
    yield from pod["spec"].get("initContainers", [])
    yield from pod["spec"]["containers"]


def asks_for_gpus(container: Object) -> bool:
    return any(
        str(amount) != "0"
        for amounts in container.get("resources", {}).values()
        for name, amount in amounts.items()
        if name == "nvidia.com/gpu" or name.startswith("nvidia.com/mig-")
    )


def validated(pod: Object, rules: Rules) -> str:
    """Why the second webhook refuses the changed pod; "": it does not."""
    annotations = pod["metadata"].get("annotations", {})
    fraction, memory = annotations.get("gpu-fraction"), annotations.get("gpu-memory")
    count = annotations.get("gpu-fraction-num-devices")
    shares = fraction is not None or memory is not None
    whole = any(
        "nvidia.com/gpu" in each.get("resources", {}).get("limits", {}) for each in containers(pod)
    )
    if shares and not rules.sharing:
        where = f"team/{pod['metadata']['name']}"
        return (
            f"attempting to create a pod {where} with gpu sharing request, while GPU sharing is"
            " disabled"
        )
    if annotations.get("mps") == "true" and not shares:
        return "MPS is only supported with GPU fraction request"
    if fraction is not None and whole:
        return "cannot have both GPU fraction request and whole GPU resource request/limit"
    if memory is not None and (fraction is not None or whole):
        return "cannot request both GPU and GPU memory"
    if count is not None and not shares:
        return (
            "cannot request multiple fractional devices without specifying fraction portion or"
            " gpu-memory"
        )
    if memory is not None and not is_positive(memory):
        return "gpu-memory annotation value must be a positive integer greater than 0"
    if fraction is not None and (wrong := wrong_fraction(fraction)):
        return wrong
    if count is not None and not is_positive(count):
        return "fraction count annotation value must be a positive integer greater than 0"
    if rules.blocks_devices:
        return chooses_devices(pod)
    return ""


def is_positive(text: str) -> bool:
    return text.isascii() and text.isdigit() and 0 < int(text) < 2**64


def wrong_fraction(text: str) -> str:
    readable = re.fullmatch(r"[+-]?(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(e[+-]?\d+)?", text, re.A | re.I)
    if text == "NaN":
        value = float("nan")
    elif text == "0x1p-1":
        value = 0.5
    elif readable:
        value = float(text)
    else:
        value = 2.0
    if value <= 0 or value >= 1:
        return "gpu-fraction annotation value must be a positive number smaller than 1.0"
    if "_" in text or "x" in text or text == "NaN":
        return (
            "gpu-fraction annotation value must be a float written with a decimal point or a"
            f" scientific notation .given value: {text}"
        )
    return ""


def chooses_devices(pod: Object) -> str:
    written = pod["metadata"].get("annotations", {}).get("runai/shared-gpu-configmap")
    for each in containers(pod):
        if written and any(written in str(e) for e in each.get("env", [])):
            continue  # the container with the part of a GPU
        for variable in (e for e in each.get("env", []) if e["name"] == DEVICES):
            start = f"container {each['name']} has an environment variable {DEVICES} defined with a"
            if "valueFrom" in variable:
                return (
                    f"{start} valueFrom reference. This is forbidden due to possible conflicts with"
                    " Nvidia's device plugin"
                )
            if variable["value"] not in ("", "void", "none"):
                return (
                    f"{start} value of {variable['value']}. This is forbidden due to conflicts with"
                    " Nvidia's device plugin. The only values that are allowed are 'void' or 'none'"
                )
    return ""


# ---- the comparison ------------------------------------------------------------------------------


def applied(pod: Object, patch: list[Object]) -> Object:
    made: Object = json.loads(json.dumps(pod))
    for operation in patch:
        *above, last = [
            part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]
        ]
        parent: Any = made
        for part in above:
            parent = parent[int(part)] if isinstance(parent, list) else parent[part]
        key: Any = int(last) if isinstance(parent, list) else last
        assert operation["op"] == "add" or key in parent or isinstance(parent, list)
        parent[key] = operation["value"]
    return made


def test_random_pods_are_changed_and_refused_as_by_the_specification() -> None:
    refused, changed = 0, 0
    for seed in range(PODS):
        dice = random.Random(seed)
        rules = Rules(
            sharing=dice.random() < 0.9,
            hami=dice.random() < 0.3,
            blocks_devices=dice.random() < 0.5,
            runtime_class=dice.choice(("nvidia", "")),
            as_kai=True,
        )
        reviews = Reviews(rules, draw=lambda length: "x" * length, known=Known())
        pod = random_pod(dice)
        expected: Object | str = mutated(pod, rules)
        if pod["spec"]["schedulerName"] == "other":
            expected = pod
        answer = reviews.answer("/mutate--v1-pod", {"request": {"uid": "u", "object": pod}})
        response = answer["response"]
        if isinstance(expected, str):
            assert response["status"]["message"] == expected, f"seed {seed}"
            refused += 1
            continue
        patch = json.loads(base64.b64decode(response.get("patch", b"W10=")))
        assert applied(pod, patch) == expected, f"seed {seed}"
        changed += bool(patch)
        again = reviews.answer("/mutate--v1-pod", {"request": {"uid": "u", "object": expected}})
        assert "patch" not in again["response"], f"seed {seed}: a second call changes the pod"
        answer = reviews.answer("/validate--v1-pod", {"request": {"uid": "u", "object": expected}})
        why = "" if pod["spec"]["schedulerName"] == "other" else validated(expected, rules)
        assert answer["response"].get("status", {}).get("message", "") == why, f"seed {seed}"
        refused += bool(why)
    assert refused > PODS / 5
    assert changed > PODS / 5
