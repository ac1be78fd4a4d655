"""Nodes that do not take a pod: an admission policy refuses every binding to them, or their
kubelets reject it. The pod goes to other nodes, and not at the expense of others again and again.
"""

import asyncio

import pytest
from scene_play import scenario
from testcluster import Cluster, Object, Scene, node, path_of, pod_spec, queue
from testcluster.scene import until

REGISTRATION = "admissionregistration.k8s.io/v1"


def policy(name: str, namespace: str, to: str) -> list[Object]:
    rule = {
        "apiGroups": [""],
        "apiVersions": ["*"],
        "operations": ["CREATE"],
        "resources": ["pods/binding"],
    }
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [
            {
                "expression": f"object.target.name != '{to}' || request.namespace != '{namespace}'",
                "message": f"{to} is kept for others",
            }
        ],
    }
    kind = {"apiVersion": REGISTRATION, "kind": "ValidatingAdmissionPolicy"}
    binding = {"policyName": name, "validationActions": ["Deny"]}
    metadata = {"metadata": {"name": name}}
    return [
        {**kind, **metadata, "spec": spec},
        {**kind, "kind": f"{kind['kind']}Binding", **metadata, "spec": binding},
    ]


@pytest.mark.parametrize("binding", ["direct", "bind-requests"])
@scenario
async def test_sixteen_pods_start_beside_a_node_that_refuses_them(
    scene: Scene, *, cluster: Cluster, namespace: str, binding: str
) -> None:
    """Report 42: the refusing node has the best score, and free nodes are beside it."""
    rules = policy("kept", namespace, "n0")
    for each in rules:
        await scene.api.post(f"/apis/{REGISTRATION}/{PATHS[each['kind']]}", each)
    await scene.nodes(1)  # n0, with 8 GPUs
    await scene.start("--binding", binding)
    await asyncio.sleep(2)  # the policy is in force a moment after it was created
    await scene.pods(1, "early")
    await scene.until("it is refused", lambda: "n0 is kept for others" in scene.kai.log)
    await until(scene, "the reason names the node", lambda: is_told(scene, "early0"))
    await scene.api.create(node("n1", gpus=8), node("n2", gpus=8))
    await scene.api.ready_nodes(3)
    await scene.pods(15)
    await scene.bound(16, 30)
    log = await scene.end()
    assert "Traceback" not in log
    for each in rules:
        cluster.kubectl("delete", each["kind"].lower(), each["metadata"]["name"])


@pytest.mark.parametrize(
    "kind", [pytest.param("Deployment", marks=pytest.mark.cluster_slow), "ReplicaSet"]
)
@scenario
async def test_a_workload_that_kubelets_reject_evicts_few_pods(
    scene: Scene, *, namespace: str, kind: str
) -> None:
    """Its queue may reclaim a GPU. Each pod that it gets is rejected, and replaced at once."""
    await scene.api.create(
        queue("dept", gpu=4), queue("va", "dept", gpu=2), queue("vb", "dept", gpu=2)
    )
    await scene.nodes(2, gpus=2)
    await scene.start()
    await scene.api.create(workload("Deployment", "sweep", namespace, "va", 4))
    await scene.bound(4)
    rejected = {"sim/reject": "UnexpectedAdmissionError"}
    await scene.api.create(workload(kind, "rejected", namespace, "vb", 1, rejected))
    await scene.until("it is rejected", lambda: "a node rejected a pod" in scene.kai.log)
    await asyncio.sleep(15)
    assert scene.proxy.count("delete", "pods") <= 3, "after 0 and 10 s, not at each rejection"
    assert scene.proxy.count("delete", "pods") > 0


def workload(
    kind: str,
    name: str,
    namespace: str,
    of: str,
    replicas: int,
    annotations: dict[str, str] | None = None,
) -> Object:
    labels = {"app": name, "kai.scheduler/queue": of, "priorityClassName": "train"}
    template = {
        "metadata": {"labels": labels, "annotations": annotations or {}},
        "spec": {**pod_spec(), "restartPolicy": "Always"},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": template,
        },
    }


async def is_told(scene: Scene, name: str) -> bool:
    found = await scene.api.get(path_of("Pod", scene.namespace, name))
    messages = (each.get("message", "") for each in found["status"].get("conditions", ()))
    return any("avoided for now: n0" in each for each in messages)


PATHS = {
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}
