"""The API server as the third side of lint and plans: for changed manifests, what lint or plans
refuse, the server refuses, too, and lint has a finding about all that the server refuses. The
differences that are meant are in REASONS, VALUES and ONLY_SERVER.

Server-side dry run with strict validation: nothing is stored. KAI_MANIFESTS: how many manifests
(600). KAI_SEED: the first seed.
"""

import asyncio
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from testcluster import ApiError, Client, Cluster, Object, install, path_of, together

sys.path += [
    str(Path(__file__).parents[1] / "properties"),
    str(Path(__file__).parents[2] / "tools"),
]

import kubernetes_fields
import many_fields
from mutated_manifests import KINDS, changed, valid

import kai
from kai.admission import schema
from kai.api import kinds
from kai.api.resources import resource
from kai.linting import Finding
from kai.linting.templates import placeholder_in

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
        "container-missing",
    ),
    "the API server takes null as an empty text": ("not-text",),
    "KAI's definition has a duration as a plain text": ("duration-refused",),
    "the parent queue may come later": ("queue-cycle", "queue-parent-unknown"),
}
"""Why lint and plans refuse more than the schema of the server, by the codes of findings."""
VALUES: Mapping[str, str] = {
    "KAI's definition has a text without a format": "duration",
    "the server reads a suffix without a number as 0": (
        r"is '[A-Za-z]+', which is not a quantity|quantity \"[A-Za-z]+\" is not valid"
    ),
    "the server cuts the amounts of nodes": "more than the largest amount of Kubernetes",
    "the server takes null as absent": "null|has no value",
}
"""The same for single values, by a part of the message."""
LATER = {
    "the server checks the Jobs of a CronJob when it creates them": "spec.jobTemplate.metadata"
}
"""The same for places, by the start of the path."""


ONLY_SERVER: Mapping[str, str] = {
    "another program fills in the value": "",
    "expressions in CEL": r"\.cel\.expression: Invalid value",
    "settings of storage drivers": "must specify a volume type",
    "schedules of CronJobs": r"spec\.schedule: Invalid value",
    "an amount of storage of 2^63 overflows": "must be a valid resource quantity",
    "data of ConfigMaps": r"data\[.*\]: Invalid value",
    "the cluster lacks an object that another file may have": "no PriorityClass with name",
    "a manifest without images is a part of one": r"image: Required value",
    "an empty text is an absent value, except in few fields": 'Unsupported value: ""',
}
"""Why only the server refuses a manifest, by a part of its answer. These are fields that neither
KAI nor plans read, and values that are not in the manifest."""


async def refusal(api: Client, namespace: str, kind: str, manifest: Object) -> str:
    """The answer to a manifest that is not to be stored; "" if it is accepted."""
    version = manifest["apiVersion"]  # no change concerns it
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
            [partial(refusal, api, namespace, kind, manifest) for kind, manifest in sent]
        )


def refused(manifest: Object) -> list[Finding]:
    """What lint says that the server refuses."""
    return [each for each in kai.lint(manifest) if each.refused or each.code == "schema-refused"]


def found_in(manifest: Object, before: Object) -> list[str]:
    """The findings that the manifest did not have before it was changed."""
    known = {str(each) for each in kai.lint(before)}
    return [str(each) for each in kai.lint(manifest) if str(each) not in known]


def has_placeholder(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(has_placeholder, value.values()))
    if isinstance(value, list):
        return any(map(has_placeholder, value))
    return bool(placeholder_in(value))


def reason_of(manifest: Object, answer: str) -> str:
    """Why only the server refuses the manifest; "" if that is not meant."""
    if has_placeholder(manifest):
        return "another program fills in the value"
    return next((why for why, part in ONLY_SERVER.items() if part and re.search(part, answer)), "")


def is_meant(manifest: Object) -> bool:
    """Whether all findings have a reason; another program fills in the values of placeholders."""
    found = refused(manifest) or kai.lint(manifest)
    return has_placeholder(manifest) or (bool(found) and all(map(has_reason, found)))


def has_reason(finding: Finding) -> bool:
    if any(finding.code in codes for codes in REASONS.values()):
        return True
    if finding.path.startswith(tuple(LATER.values())):
        return True
    is_value = finding.code in ("value-refused", "quantity-refused")
    return is_value and any(re.search(part, finding.message) for part in VALUES.values())


def without_overhead(manifest: Object) -> Object:
    """Only a RuntimeClass may set the overhead of a pod."""
    if manifest["kind"] == "Pod":
        manifest["spec"].pop("overhead", None)
    return manifest


def test_valid_manifests_are_accepted_by_all(cluster: Cluster, namespace: str) -> None:
    install(cluster)
    sent = [
        (kind, without_overhead(valid(kind, Random(seed)))) for kind in SERVED for seed in range(3)
    ]
    found = asyncio.run(refusals(cluster, namespace, sent))
    assert [each for each in found if each] == []
    assert [str(each) for _, manifest in sent for each in refused(manifest)] == []


def test_lint_and_the_server_refuse_the_same_manifests(cluster: Cluster, namespace: str) -> None:
    install(cluster)
    sent: list[tuple[str, Object]] = []
    before: list[Object] = []
    about: list[str] = []
    for seed in range(FIRST, FIRST + MANIFESTS):
        random = Random(seed)
        kind = random.choice(SERVED)
        before.append(without_overhead(valid(kind, random)))
        how, path, manifest = changed(before[-1], random)
        sent.append((kind, manifest))
        about.append(f"seed {seed}: {kind}, {how} at {path}")
    answers = asyncio.run(refusals(cluster, namespace, sent))
    unexplained, counts = [], Counter[str]()
    for (_, manifest), old, text, answer in zip(sent, before, about, answers, strict=True):
        rejected: Any = kai.load(json.dumps(manifest).encode()).rejected
        ours = [*map(str, (*refused(manifest), *rejected))]
        if not answer:
            counts["refused by lint or plans only"] += bool(ours)
            if ours and not is_meant(manifest):
                unexplained.append(f"{text}: accepted by the server: {ours}")
        elif ours or found_in(manifest, old):
            counts["refused by the server, found by lint"] += 1
        else:
            reason = reason_of(manifest, answer)
            counts[reason or "unexplained"] += 1
            if not reason:
                unexplained.append(f"{text}: refused by the server: {answer}")
    print(f"KAI_SEED={FIRST}:", json.dumps(counts, indent=1))
    assert "\n".join(unexplained) == ""
    assert counts["refused by the server, found by lint"] > MANIFESTS / 2


def test_what_lint_says_about_many_fields_is_true(cluster: Cluster, namespace: str) -> None:
    """The other direction is not complete: lint does not know the rules of volumes, probes and
    environments, for example."""
    install(cluster)
    sent: list[tuple[str, Object]] = []
    before: list[Object] = []
    for seed in range(FIRST, FIRST + MANIFESTS):
        random = Random(seed)
        kind, manifest = many_fields.valid(random)
        before.append(manifest)
        sent.append((kind, changed(manifest, random)[2]))
    first = {kind: manifest for (kind, _), manifest in zip(sent, before, strict=True)}
    assert [*filter(None, asyncio.run(refusals(cluster, namespace, [*first.items()])))] == []
    assert [str(each) for manifest in first.values() for each in refused(manifest)] == []
    answers = asyncio.run(refusals(cluster, namespace, sent))
    wrong = [
        f"seed {FIRST + place}: {[*map(str, refused(manifest))]}"
        for place, ((_, manifest), answer) in enumerate(zip(sent, answers, strict=True))
        if not answer and refused(manifest) and not is_meant(manifest)
    ]
    found = sum(
        bool(answer and found_in(manifest, old))
        for (_, manifest), old, answer in zip(sent, before, answers, strict=True)
    )
    refusing = sum(map(bool, answers))
    print(f"KAI_SEED={FIRST}: {refusing} refused by the server, {found} of these found by lint")
    assert "\n".join(wrong) == ""
    assert found > refusing * 0.9


def test_the_table_of_fields_has_all_fields_of_the_server(cluster: Cluster, tmp_path: Path) -> None:
    async def fetch() -> None:
        async with cluster.client() as api:
            documents: Any = await api.request("GET", "/openapi/v3")
            for path in documents["paths"]:
                document = await api.request("GET", f"/openapi/v3/{path}")
                (tmp_path / f"{path.replace('/', '-')}.json").write_text(json.dumps(document))

    asyncio.run(fetch())
    served = kubernetes_fields.types_of(kubernetes_fields.definitions([tmp_path]))
    known = schema.kubernetes()
    missing = [
        f"{name}.{field}"
        for name in kubernetes_fields.reached(served)
        for field in served[name]
        if name not in known or field not in known[name]
    ]
    assert missing == []
