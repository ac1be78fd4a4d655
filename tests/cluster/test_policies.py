"""An API server with the policies of `kai install --policies objects` has the verdicts of the
webhooks, with the same texts; nothing is created."""

from collections.abc import Iterator
from typing import Any

import pytest
from testcluster import ApiError, Client, Cluster, install, path_of, pod

from fakes.scenarios import in_a_loop
from kai.controllers.admission import Known, Reviews, Rules
from kai.install import policies

FREE = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
GROUP_API, QUEUE_API = "scheduling.run.ai/v2alpha2", "scheduling.run.ai/v2"
PATHS = {
    "Pod": "/validate--v1-pod",
    "Queue": "/validate-scheduling-run-ai-v2-queue",
    "PodGroup": "/validate-scheduling-run-ai-v2alpha2-podgroup",
    "Topology": "/validate-kai-scheduler-v1alpha1-topology",
}
REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
COLLECTIONS = {
    "ValidatingAdmissionPolicy": f"{REGISTRATION}/validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": f"{REGISTRATION}/validatingadmissionpolicybindings",
}


def pods(space: str) -> Iterator[dict[str, Any]]:
    fractions = ("0.5", ".5", "5e-1", "1", "1.5", "0", "-0.5", "NaN", "half", "", "0x1p-1", "500m")
    for value in (*fractions, "0.5_0", "inf", "1e-9", "0.999"):
        yield pod("p", space, 0, annotations={"gpu-fraction": value})
    for value in ("4000", "0", "-5", "4Gi", "4000.5", "", "+5", "007"):
        yield pod("p", space, 0, annotations={"gpu-memory": value})
        share = {"gpu-fraction": "0.5", "gpu-fraction-num-devices": value}
        yield pod("p", space, 0, annotations=share)
    for more in (
        {"gpu-fraction": "0.5", "gpu-memory": "100"},
        {"gpu-fraction-num-devices": "2"},
        {"mps": "true"},
        {"mps": "true", "gpu-fraction": "0.5"},
        {"gpu-fraction": "0.5", "gpu-fraction-container-name": "missing"},
        {"gpu-fraction-container-name": "missing"},
        {},
    ):
        yield pod("p", space, 0, annotations=more)
    for key in ("gpu-fraction", "gpu-memory"):
        yield pod("p", space, 1, annotations={key: "0.5" if "fraction" in key else "100"})
    yield pod("p", space, 0, scheduler="default-scheduler", annotations={"gpu-fraction": "7"})


def part(name: str, parent: str = "", **minimums: int) -> dict[str, Any]:
    return {"name": name, **({"parent": parent} if parent else {}), **minimums}


def others(space: str) -> Iterator[dict[str, Any]]:
    for spec in (
        {"minMember": 3},
        {"minSubGroup": 2},
        {"minMember": 3, "minSubGroup": 1},
        {"subGroups": [part("a", minMember=1), part("b", minMember=1)]},
        {"subGroups": [part("a", minMember=1), part("a", minMember=1)]},
        {"subGroups": [part("a", "z", minMember=1)]},
        {"subGroups": [part("a", "a", minSubGroup=1)]},
        {"subGroups": [part("a", minMember=1, minSubGroup=1)]},
        {"subGroups": [part("a")]},
        {"subGroups": [part("p", minMember=2), part("a", "p", minMember=1)]},
        {"subGroups": [part("p", minSubGroup=1), part("a", "p", minMember=1)]},
    ):
        metadata = {"name": "g", "namespace": space}
        group = {"apiVersion": GROUP_API, "kind": "PodGroup", "metadata": metadata}
        yield {**group, "spec": {"queue": "q", **spec}}
    for spec in (
        {"resources": {"gpu": FREE}},
        {"parentQueue": "q", "resources": {"gpu": FREE}},
        {"resources": {"gpu": {"quota": 8, "limit": 4}}},
        {"resources": {"memory": {"quota": 8, "limit": 0}}},
        {},
    ):
        yield {"apiVersion": QUEUE_API, "kind": "Queue", "metadata": {"name": "q"}, "spec": spec}
    for aliases in (("z", "r"), ("z", "z"), ("rack", "r"), ("", "")):
        labels = ("zone", "rack")
        levels = [
            {"nodeLabel": label, **({"alias": alias} if alias else {})}
            for label, alias in zip(labels, aliases, strict=True)
        ]
        yield {
            "apiVersion": "kai.scheduler/v1alpha1",
            "kind": "Topology",
            "metadata": {"name": "t"},
            "spec": {"levels": levels},
        }


def verdict(manifest: dict[str, Any]) -> str:
    """The first sentence with which the webhook refuses; "": it does not."""
    reviews = Reviews(Rules(), draw=str, known=Known())
    request = {"uid": "u", "operation": "CREATE", "object": manifest}
    response = reviews.answer(PATHS[manifest["kind"]], {"request": request})["response"]
    return str(response.get("status", {}).get("message", "")).partition("\n")[0]


async def refusal(api: Client, manifest: dict[str, Any]) -> str:
    path = path_of(manifest["kind"], manifest["metadata"].get("namespace", ""))
    try:
        await api.request("POST", path, manifest, parameters={"dryRun": "All"})
    except ApiError as error:
        if error.status not in (403, 422):
            raise
        return str(error)
    return ""


@pytest.mark.parametrize("kinds", [pods, others], ids=["pods", "kinds of kai"])
@in_a_loop
async def test_the_server_refuses_what_the_webhooks_refuse(
    *, cluster: Cluster, namespace: str, kinds: Any
) -> None:
    install(cluster)
    async with cluster.client() as api:
        made = policies.objects()
        for each in made:
            await api.post(COLLECTIONS[each["kind"]], each)
        try:
            probes = one_of_each_kind(namespace)
            await api.until("the policies are in force", lambda: in_force(api, probes), 30)
            different = [
                (each["spec"], each["metadata"].get("annotations"), found, wanted)
                for each in kinds(namespace)
                if bool(found := await refusal(api, each)) != bool(wanted := verdict(each))
                or kais_words(wanted) not in found
            ]
            assert different == []
        finally:
            for each in made:
                await api.delete(f"{COLLECTIONS[each['kind']]}/{each['metadata']['name']}")


def one_of_each_kind(space: str) -> list[dict[str, Any]]:
    """Objects that are refused."""
    refused = [each for each in (*pods(space), *others(space)) if verdict(each)]
    return list({each["kind"]: each for each in refused}.values())


async def in_force(api: Client, probes: list[dict[str, Any]]) -> bool:
    return all([await refusal(api, each) for each in probes])


def kais_words(answer: str) -> str:
    """Without what the webhook adds about a fraction, and without KAI's text for odd forms of
    numbers, for which the policies have the general one."""
    general = "gpu-fraction annotation value must be"
    if answer.startswith(general):
        return general
    return "above the limit" if answer.startswith("the quota") else answer
