"""The API server as the third side of lint and plans: what these refuse of a changed manifest, the
server refuses, too, except for the reasons in REASONS.

Server-side dry run with strict validation: nothing is stored. The server also refuses values that
neither lint nor plans read; their number is printed. KAI_MANIFESTS: how many manifests (600).
KAI_SEED: the first seed.
"""

import asyncio
import json
import os
import re
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from testcluster import ApiError, Client, Cluster, Object, install, path_of, together

sys.path.append(str(Path(__file__).parents[1] / "properties"))

from mutated_manifests import KINDS, changed, valid

import kai
from kai.api import kinds
from kai.api.resources import resource
from kai.linting import Finding

FIRST = int(os.environ.get("KAI_SEED", "0"))
MANIFESTS = int(os.environ.get("KAI_MANIFESTS", "600"))
OF_KUBERNETES = ("", "apps", "batch", "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io")
OF_KAI = ("scheduling.run.ai", "kai.scheduler")
SERVED = [kind for kind in KINDS if resource(kind).group in (*OF_KUBERNETES, *OF_KAI)]

REASONS: Mapping[str, tuple[str, ...]] = {
    "KAI's webhook refuses it": (
        *("fraction-refused", "gpu-memory-refused", "devices-refused", "fraction-and-memory"),
        *("devices-without-share", "whole-gpu-beside-fraction", "queue-without-resources"),
        *("queue-quantity", "topology-alias", "pod-group-structure", "pod-group-minimum"),
    ),
    "the API server takes null as an empty text": ("not-text",),
    "KAI's definition has a duration as a plain text": ("duration-refused",),
    "the parent queue may come later": ("queue-cycle", "queue-parent-unknown"),
}
"""Why lint and plans refuse more than the schema of the server, by the codes of findings."""
VALUES: Mapping[str, str] = {
    "KAI's definition has a text without a format": "duration",
    "the server reads a suffix without a number as 0": r"is '[A-Za-z]+', which is not a quantity",
    "the server cuts the amounts of nodes": "more than the largest amount of Kubernetes",
    "the server takes null as absent": "null",
}
"""The same for single values, by a part of the message."""


async def refusal(api: Client, namespace: str, kind: str, version: str, manifest: Object) -> str:
    """The answer to a manifest that is not to be stored; "" if it is accepted."""
    base = f"/apis/{version}" if "/" in version else f"/api/{version}"
    inside = "" if kind in kinds.CLUSTER_SCOPED else f"/namespaces/{namespace}"
    path = f"{base}{inside}/{path_of(kind).rpartition('/')[2]}"
    how = {"dryRun": "All", "fieldValidation": "Strict"}
    try:
        await api.request("POST", path, manifest, parameters=how)
    except ApiError as error:
        return str(error)
    return ""


async def refusals(cluster: Cluster, namespace: str, sent: list[tuple[str, Object]]) -> list[str]:
    async with cluster.client() as api:
        return await together(
            [
                partial(refusal, api, namespace, kind, version_of(kind), manifest)
                for kind, manifest in sent
            ]
        )


def version_of(kind: str) -> str:
    return str(valid(kind, Random(0))["apiVersion"])


def refused(manifest: Object) -> list[Finding]:
    return [each for each in kai.lint(manifest) if each.refused]


def is_meant(manifest: Object) -> bool:
    """Whether all findings have a reason."""
    known = {code for codes in REASONS.values() for code in codes}
    found = refused(manifest)
    of_values = re.compile("|".join(VALUES.values()))
    return bool(found) and all(
        each.code in known
        or (each.code in ("value-refused", "quantity-refused") and of_values.search(each.message))
        for each in found
    )


def without_overhead(manifest: Object) -> Object:
    """Only a RuntimeClass may set the overhead of a pod."""
    if manifest["kind"] == "Pod":
        manifest["spec"].pop("overhead", None)
    return manifest


def test_valid_manifests_are_accepted_by_the_server(cluster: Cluster, namespace: str) -> None:
    install(cluster)
    sent = [
        (kind, without_overhead(valid(kind, Random(seed)))) for kind in SERVED for seed in range(3)
    ]
    found = asyncio.run(refusals(cluster, namespace, sent))
    assert [each for each in found if each] == []


def test_the_server_refuses_what_lint_and_plans_refuse(cluster: Cluster, namespace: str) -> None:
    install(cluster)
    sent: list[tuple[str, Object]] = []
    about: list[str] = []
    for seed in range(FIRST, FIRST + MANIFESTS):
        random = Random(seed)
        kind = random.choice(SERVED)
        how, path, manifest = changed(without_overhead(valid(kind, random)), random)
        sent.append((kind, manifest))
        about.append(f"seed {seed}: {kind}, {how} at {path}")
    answers = asyncio.run(refusals(cluster, namespace, sent))
    unexplained, both, only_server = [], 0, 0
    for (_, manifest), text, answer in zip(sent, about, answers, strict=True):
        rejected: Any = kai.load(json.dumps(manifest).encode()).rejected
        ours = bool(refused(manifest) or rejected)
        both += ours and bool(answer)
        only_server += bool(answer) and not ours
        if ours and not answer and not is_meant(manifest):
            unexplained.append(f"{text}: {[*map(str, (*refused(manifest), *rejected))]}")
    print(f"KAI_SEED={FIRST}: {both} refused by all, {only_server} only by the server")
    assert "\n".join(unexplained) == ""
    assert both > MANIFESTS / 10
