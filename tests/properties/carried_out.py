"""Carries out what a fix prints on the objects of a file, as `kubectl` or an editor would: maps are
merged, null removes, containers are found by name, and other lists are replaced."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

import yaml

Manifest = dict[str, Any]
KINDS = {
    "queues.scheduling.run.ai": "Queue",
    "podgroups.scheduling.run.ai": "PodGroup",
    "job": "Job",
    "pods": "Pod",
    "nodes": "Node",
}
DEFAULT = "default"


def carry_out(how: Sequence[str], manifests: list[Manifest]) -> list[tuple[int, str]]:
    """Changes `manifests`. Returns the nodes to add: how many, like which.

    Raises NotImplementedError for a line that is no order, such as one that names what to scale.
    """
    nodes: list[tuple[int, str]] = []
    for comment, lines in sections(how):
        if lines:
            write(comment, yaml.safe_load("\n".join(lines)), manifests)
        elif comment.startswith("kai plan ... --what-if "):
            words = comment.split()
            nodes.append((int(words[words.index("--add-nodes") + 1]), words[-1]))
        elif comment.startswith("kubectl "):
            run(shlex.split(comment)[1:], manifests)
        elif not comment.startswith(("# it needs as many completions", "# what set a gate")):
            raise NotImplementedError(comment)
    return nodes


def sections(how: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Commands, and comments with the YAML below them."""
    comment, lines = "", list[str]()
    for line in how:
        if line.startswith(("# ", "kubectl ", "kai ")):
            if comment:
                yield comment, lines
            comment, lines = line, []
        else:
            lines.append(line)
    yield from [(comment, lines)] if comment else []


def write(comment: str, body: Manifest, manifests: list[Manifest]) -> None:
    words = comment.removeprefix("# ").split()
    if words[0] == "kubectl":  # apply -f -
        manifests.append(body)
    elif words[0] == "to":  # create so many times: kubectl create -f FILE
        stem = body["metadata"].pop("generateName")
        for number in range(1 if words[2].startswith("once") else int(words[2])):
            metadata = {**body["metadata"], "name": f"{stem}made{number}"}
            manifests.append({**body, "metadata": metadata})
    elif words[0] in ("the", "pods"):  # the pods of Job a/x; pods of Job a/x like a/x-1
        place = words.index("of")
        if "like" in words:
            raise NotImplementedError(comment)
        for template in templates(found(manifests, words[place + 1], words[place + 2])):
            merge(template, body)
    else:
        merge(found(manifests, *words), body)


def run(words: Sequence[str], manifests: list[Manifest]) -> None:
    verb, kind, *names = words
    where = names[names.index("-n") + 1] + "/" if "-n" in names else ""
    plain = [each for each in names if not each.startswith("-") and f"{each}/" != where]
    match verb, kind:
        case "patch", _ if "--type=merge" in names:
            body = json.loads(names[names.index("-p") + 1])
            merge(found(manifests, KINDS[kind], where + plain[0]), body)
        case "patch", "pods":
            for name in plain[:-1]:
                found(manifests, "Pod", where + name)["spec"].pop("schedulingGates")
        case "uncordon", _:
            for name in (kind, *names):
                del found(manifests, "Node", name)["spec"]["unschedulable"]
        case "taint", _:
            gone = [each[:-1] for each in plain if each.endswith("-")]
            for name in plain[: -len(gone)]:
                spec = found(manifests, "Node", name)["spec"]
                spec["taints"] = [
                    each for each in spec["taints"] if f"{each['key']}:{each['effect']}" not in gone
                ]
        case "label", _:
            given = dict(each.split("=", 1) for each in plain if "=" in each)
            given |= {each[:-1]: None for each in plain if each.endswith("-")}
            for name in plain[: -len(given)]:
                node = found(manifests, KINDS[kind], where + name)
                merge(node, {"metadata": {"labels": given}})
        case _:
            raise NotImplementedError(" ".join(words))


def found(manifests: list[Manifest], kind: str, name: str) -> Manifest:
    namespace, _, short = name.rpartition("/")
    [one] = [
        each
        for each in manifests
        if (each["kind"], each["metadata"]["name"]) == (kind, short)
        and each["metadata"].get("namespace", DEFAULT) == (namespace or DEFAULT)
    ]
    return one


def templates(owner: Manifest) -> list[Manifest]:
    """The pod templates of a workload; a bare pod is its own."""
    spec = owner["spec"]
    match owner["kind"]:
        case "Pod":
            return [owner]
        case "LeaderWorkerSet":
            return [spec["leaderWorkerTemplate"]["workerTemplate"]]
        case _:
            return [spec["template"]]


def merge(target: Manifest, body: Manifest) -> None:
    for name, value in body.items():
        own = target.get(name)
        if value is None:
            target.pop(name, None)
        elif isinstance(value, dict):
            merge(target.setdefault(name, {}), value)
        elif name in ("containers", "initContainers"):
            assert isinstance(own, list)
            by_name = {each["name"]: each for each in own}
            for each in value:
                merge(by_name[each["name"]], each)
        else:
            target[name] = value
