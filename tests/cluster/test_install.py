"""The output of `kai install` on a real API server."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from testcluster import ApiError, Client, Cluster, Object, path_of

from fakes.scenarios import in_a_loop
from kai.api import keys, webhooks
from kai.install import access, manifests

BASE = {
    "PodGroup": "/apis/scheduling.run.ai/v2alpha2/namespaces/{}/podgroups",
    "Queue": "/apis/scheduling.run.ai/v2/queues",
    "Topology": "/apis/kai.scheduler/v1alpha1/topologies",
    "SchedulingShard": "/apis/kai.scheduler/v1/schedulingshards",
}


@pytest.fixture(scope="module")
def installed(cluster: Cluster) -> Iterator[Cluster]:
    """Everything, for one Deployment and for one of each role; applied twice, the second time
    without changes."""
    crds = manifests.to_yaml(manifests.crds())
    cluster.kubectl("apply", "--server-side", "-f", "-", stdin=crds)
    for separate in (False, True, False):
        daemons = {"numa_exporter": True, "gpu_auditor": True}
        text = manifests.to_yaml(manifests.everything(separate=separate, **daemons))
        cluster.kubectl("apply", "--server-side", "-f", "-", stdin=text)
    yield cluster
    for kind in ("daemonsets", "deployments", "pods"):
        cluster.kubectl("delete", kind, "--all", "-n", manifests.NAMESPACE, "--wait=false")
    for kind in set(webhooks.CONFIGURATIONS.values()):
        cluster.kubectl("delete", kind, "--all")


def make(kind: str, name: str, spec: Any) -> Object:
    crd = next(each for each in manifests.crds() if each["spec"]["names"]["kind"] == kind)
    version = f"{crd['spec']['group']}/{crd['spec']['versions'][0]['name']}"
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}


async def sent(api: Client, namespace: str, made: Object) -> Object:
    return await api.post(BASE[made["kind"]].format(namespace), made)


def level(label: str, **members: str) -> dict[str, str]:
    return {"nodeLabel": label, **members}


HOST = "kubernetes.io/hostname"
# What KAI's CRDs reject, with the messages of its API server (recording 34).
REFUSED = [
    (
        make("PodGroup", "neg", {"minMember": -1}),
        "spec.minMember in body should be greater than or equal to 0",
    ),
    (
        make("PodGroup", "badpre", {"preemptibility": "sometimes"}),
        'spec.preemptibility: Unsupported value: "sometimes": '
        'supported values: "preemptible", "non-preemptible"',
    ),
    (
        make("PodGroup", "badname", {"subGroups": [{"name": "Worker_1"}]}),
        "spec.subGroups[0].name in body should match",
    ),
    (
        make("PodGroup", "noname", {"subGroups": [{"minMember": 1}]}),
        "spec.subGroups[0].name: Required value",
    ),
    (
        make("Topology", "dup", {"levels": [level("a"), level("a")]}),
        "spec.levels: Invalid value: nodeLabel must be unique",
    ),
    (make("Topology", "empty", {"levels": []}), "spec.levels in body should have at least 1 items"),
    (
        make("Topology", "hostfirst", {"levels": [level(HOST), level("a")]}),
        "the kubernetes.io/hostname label can only be used at the lowest level of topology",
    ),
    (
        make("SchedulingShard", "none", {"goMemLimitRatio": 0}),
        "spec.goMemLimitRatio in body should be greater than 0",
    ),
]


@pytest.mark.parametrize(("made", "why"), REFUSED, ids=lambda each: str(each)[:40])
@in_a_loop
async def test_invalid_objects_are_refused(
    *, installed: Cluster, namespace: str, made: Object, why: str
) -> None:
    async with installed.client() as api:
        with pytest.raises(ApiError) as refusal:
            await sent(api, namespace, made)
        assert refusal.value.status == 422
        text = refusal.value.message.replace('"array": ', "")  # the format of 1.34
        assert why in text


# What KAI's CRDs accept, too: its webhooks reject some of these.
TAKEN = [
    make("PodGroup", "zero", {"minMember": 0, "topologyConstraint": {}}),
    make("PodGroup", "both", {"minMember": 1, "minSubGroup": 1, "queue": "nowhere"}),
    make("PodGroup", "backoff", {"schedulingBackoff": -1, "preemptionDelay": "5m"}),
    make("Queue", "nores", {}),
    make("Queue", "half", {"resources": {"gpu": {"quota": 0.5, "limit": -1}}, "priority": 100}),
    make("Topology", "one", {"levels": [level("zone", alias="z"), level(HOST)]}),
    make("SchedulingShard", "blue", {"partitionLabelValue": "blue", "kValue": 0.5}),
]


@pytest.mark.parametrize("made", TAKEN, ids=lambda each: str(each["metadata"]["name"]))
@in_a_loop
async def test_objects_valid_in_kai_are_stored_completely(
    *, installed: Cluster, namespace: str, made: Object
) -> None:
    async with installed.client() as api:
        stored = await sent(api, namespace, made)
        assert stored["spec"] == made["spec"]
        await api.delete(f"{BASE[made['kind']].format(namespace)}/{made['metadata']['name']}")


@in_a_loop
async def test_only_the_aliases_of_a_topology_may_change(*, installed: Cluster) -> None:
    path = f"{BASE['Topology']}/dc"
    async with installed.client() as api:
        levels = [level("zone"), level("rack")]
        await sent(api, "", make("Topology", "dc", {"levels": levels}))
        await api.patch(path, {"spec": {"levels": [level("zone", alias="z"), level("rack")]}})
        with pytest.raises(ApiError, match="only aliases may be edited"):
            await api.patch(path, {"spec": {"levels": [level("rack"), level("zone")]}})
        await api.delete(path)


def test_the_default_queue_is_listed_as_in_kai(installed: Cluster) -> None:
    text = manifests.to_yaml(manifests.queues())
    installed.kubectl("apply", "--server-side", "-f", "-", stdin=text)
    shown = installed.kubectl("get", "queues.scheduling.run.ai", "default-queue", "-o", "yaml")
    share = {"quota": 0, "limit": -1, "overQuotaWeight": 1}
    assert yaml.safe_load(shown)["spec"] == {
        "parentQueue": "default-parent-queue",
        "resources": {"cpu": share, "gpu": share, "memory": share},
    }
    [head, *_] = installed.kubectl("get", "queues").splitlines()
    assert head.split() == ["NAME", "PRIORITY", "PARENT", "CHILDREN", "DISPLAYNAME"]


@pytest.mark.parametrize("role", [*access.ROLES, access.ALL, *access.PROGRAMS])
@in_a_loop
async def test_an_account_has_exactly_the_rights_of_its_role(
    *, installed: Cluster, namespace: str, role: str
) -> None:
    account = f"{manifests.NAMESPACE}:{manifests.account_of(role)}"
    rules = access.rules_of(role)
    needed = {
        (each.group, each.resource, verb): each
        for each in rules
        if not each.reserving
        for verb in each.verbs
    }
    every = {
        (each.group, each.resource, verb)
        for each in access.rules_of(access.ALL)
        for verb in ("get", "list", "watch", "create", "update", "patch", "delete")
    }
    async with installed.client() as api:
        for group, resource, verb in sorted({*every, *needed}):
            rule = needed.get((group, resource, verb))
            own = resource == "leases" if rule is None else rule.own
            where = manifests.NAMESPACE if own else namespace
            for name in rule.names if rule and rule.names else ("",):
                allowed = await api.may(account, verb, resource, group, where, name)
                assert allowed == (rule is not None), (resource, verb, name)
            if rule and rule.names:
                assert not await api.may(account, verb, resource, group, where, "other")
        makes_pods = any(rule.reserving for rule in rules)
        where = (account, "create", "pods", "")
        assert await api.may(*where, keys.RESERVATION) == makes_pods
        leases = ("leases", "coordination.k8s.io", "kube-system")
        assert not await api.may(account, "update", *leases)
        assert not await api.may(account, "get", "secrets", "", namespace)


@in_a_loop
async def test_requests_have_priority_levels_of_the_control_plane(*, installed: Cluster) -> None:
    """The answer to a request names the flow schema by its UID."""
    async with installed.client() as api:
        schemas = await api.items("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas")
        ours = [each for each in schemas if each["metadata"]["name"].startswith("kai-")]
        assert len(ours) == 2
        for each in ours:
            dangling = {
                condition["type"]: condition["status"]
                for condition in each["status"].get("conditions", ())
            }
            assert dangling.get("Dangling", "False") == "False"  # its level exists


@in_a_loop
async def test_deployments_are_accepted(*, installed: Cluster) -> None:
    async with installed.client() as api:
        found = await api.items(path_of("Deployment", manifests.NAMESPACE))
        names = {each["metadata"]["name"] for each in found}
        assert {"kai", *(f"kai-{role}" for role in access.ROLES)} <= names
