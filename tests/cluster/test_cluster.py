"""The test cluster has the properties that tests of the scheduler rely on."""

import asyncio

import pytest
from scene_play import with_client
from testcluster import Client, Cluster, Object, job, node, path_of, pod, pod_spec

from fakes.scenarios import in_a_loop

GPU = "nvidia.com/gpu"


async def with_nodes(api: Client, count: int) -> None:
    await api.create(*(node(f"n{index}") for index in range(count)))
    await api.ready_nodes(count)


@with_client
async def test_nodes_become_ready_with_their_gpus(api: Client, *, namespace: str) -> None:
    await with_nodes(api, 3)
    for each in await api.items(path_of("Node")):
        assert each["status"]["allocatable"][GPU] == "8"
        assert each["metadata"]["labels"][f"{GPU}.memory"] == "81920"
        assert each["metadata"]["labels"][f"{GPU}.count"] == "8"


@with_client
async def test_a_pod_waits_until_it_is_bound_and_then_runs(api: Client, *, namespace: str) -> None:
    await with_nodes(api, 1)
    [made] = await api.create(pod("p", namespace, 8, annotations={"sim/run-for": "1s"}))
    await asyncio.sleep(0.3)
    assert (await api.get(path_of("Pod", namespace, "p")))["status"]["phase"] == "Pending"
    await api.bind(namespace, "p", "n0", uid=made["metadata"]["uid"])
    run = await api.until("it runs", api.has_phase(namespace, "p", "Running"))
    assert run["spec"]["nodeName"] == "n0"
    await api.until("it ends", api.has_phase(namespace, "p", "Succeeded"))


@with_client
async def test_a_second_binding_and_one_of_another_uid_are_refused(
    api: Client, *, namespace: str
) -> None:
    await with_nodes(api, 2)
    await api.create(pod("p", namespace))
    wrong = "00000000-0000-0000-0000-000000000000"
    assert await api.status_of(api.bind(namespace, "p", "n0", uid=wrong)) == 409
    await api.bind(namespace, "p", "n0", annotations={"copied": "yes"})
    assert await api.status_of(api.bind(namespace, "p", "n1")) == 409
    bound = await api.get(path_of("Pod", namespace, "p"))
    assert bound["spec"]["nodeName"] == "n0"
    assert bound["metadata"]["annotations"]["copied"] == "yes"


@with_client
async def test_the_server_binds_to_a_node_that_does_not_exist(
    api: Client, *, namespace: str
) -> None:
    await api.create(pod("p", namespace))
    await api.bind(namespace, "p", "nowhere")
    bound = await api.get(path_of("Pod", namespace, "p"))
    assert bound["spec"]["nodeName"] == "nowhere"


@with_client
async def test_the_kubelet_rejects_a_pod_with_a_reason(api: Client, *, namespace: str) -> None:
    await with_nodes(api, 1)
    reject = {"sim/reject": "OutOfnvidia.com/gpu", "sim/reject-message": "no GPU is left"}
    await api.create(pod("p", namespace, annotations=reject))
    await api.bind(namespace, "p", "n0")
    failed = await api.until("a rejection", api.has_phase(namespace, "p", "Failed"))
    assert failed["status"]["reason"] == "OutOfnvidia.com/gpu"
    assert failed["status"]["message"] == "no GPU is left"
    assert not failed["status"].get("containerStatuses")


@with_client
async def test_a_job_creates_its_pods_and_ends_with_them(api: Client, *, namespace: str) -> None:
    await with_nodes(api, 1)
    await api.create(job("train", namespace, 4, pod_spec(2), run_for="300ms"))
    pods = path_of("Pod", namespace)

    async def members() -> list[Object] | None:
        found = await api.items(pods, labelSelector="job-name=train")
        return found if len(found) == 4 else None

    for each in await api.until("its four pods", members):
        await api.bind(namespace, each["metadata"]["name"], "n0")

    async def is_complete() -> bool:
        status = (await api.get(path_of("Job", namespace, "train")))["status"]
        return status.get("succeeded") == 4 and "completionTime" in status

    await api.until("it is complete", is_complete)


@with_client
async def test_a_disruption_budget_refuses_an_eviction(api: Client, *, namespace: str) -> None:
    await with_nodes(api, 1)
    await api.create(pod("p", namespace, labels={"app": "serve"}))
    await api.bind(namespace, "p", "n0")
    await api.until("it runs", api.has_phase(namespace, "p", "Running"))
    budget = path_of("PodDisruptionBudget", namespace)
    selector = {"selector": {"matchLabels": {"app": "serve"}}, "minAvailable": 1}
    await api.post(budget, {"metadata": {"name": "b"}, "spec": selector})

    async def is_counted() -> bool:
        status = (await api.get(f"{budget}/b")).get("status", {})
        return status.get("currentHealthy") == 1

    await api.until("the budget counts the pod", is_counted)
    assert await api.status_of(api.evict(namespace, "p")) == 429
    await api.delete(f"{budget}/b")
    await api.evict(namespace, "p")
    await api.until("it is gone", api.is_gone(path_of("Pod", namespace, "p")))


@with_client
async def test_a_stop_delay_keeps_a_deleted_pod_for_a_while(api: Client, *, namespace: str) -> None:
    await with_nodes(api, 1)
    await api.create(pod("p", namespace, annotations={"sim/stop-delay": "1s"}))
    await api.bind(namespace, "p", "n0")
    await api.until("it runs", api.has_phase(namespace, "p", "Running"))
    path = path_of("Pod", namespace, "p")
    await api.delete(path)
    await asyncio.sleep(0.4)
    assert (await api.get(path))["metadata"]["deletionTimestamp"]
    await api.until("it is gone", api.is_gone(path))


@with_client
async def test_a_namespace_is_deleted_with_its_pods(api: Client, *, namespace: str) -> None:
    await api.create_namespace(f"{namespace}-b")
    await api.create(pod("p", f"{namespace}-b"))
    await api.delete(path_of("Namespace", name=f"{namespace}-b"))
    gone = api.is_gone(path_of("Namespace", name=f"{namespace}-b"))
    await api.until("it is gone", gone, seconds=60)
    assert await api.items(path_of("Pod", f"{namespace}-b")) == []


@in_a_loop
async def test_only_roles_give_rights(*, cluster: Cluster, namespace: str) -> None:
    async with cluster.client() as admin, cluster.client("scheduler") as api:
        pods = path_of("Pod", namespace)
        assert await api.status_of(api.get(pods)) == 403
        rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
        subject = {"kind": "User", "name": "scheduler-under-test"}
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
        await admin.post(path_of("Role", namespace), {"metadata": {"name": "r"}, "rules": rules})
        await admin.post(
            path_of("RoleBinding", namespace),
            {"metadata": {"name": "r"}, "roleRef": reference, "subjects": [subject]},
        )
        await admin.until("the role is in force", lambda: api.get(pods))
        assert await api.status_of(api.post(pods, pod("p", namespace))) == 403


@in_a_loop
async def test_a_token_of_a_service_account_is_accepted(
    *, cluster: Cluster, namespace: str
) -> None:
    async with cluster.client() as api:
        token = await api.service_account_token(namespace)
    async with cluster.client(token=token) as own:
        answer = await own.post(
            "/apis/authentication.k8s.io/v1/selfsubjectreviews",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"},
        )
        user = answer["status"]["userInfo"]["username"]
        assert user == f"system:serviceaccount:{namespace}:default"


@with_client
async def test_a_restart_keeps_data_and_ends_old_watches_with_410(
    api: Client, *, cluster: Cluster, namespace: str
) -> None:
    pods = path_of("Pod", namespace)
    await api.create(pod("before", namespace))
    old = (await api.get(pods))["metadata"]["resourceVersion"]
    await api.create(pod("after", namespace))
    await asyncio.to_thread(cluster.restart, "kube-apiserver")
    names = [each["metadata"]["name"] for each in await api.items(pods)]
    assert names == ["after", "before"]
    watch = api.watch(pods, resourceVersion=old)
    first = await anext(watch)
    await watch.aclose()
    assert first["type"] == "ERROR"
    assert first["object"]["code"] == 410


@pytest.mark.cluster_slow
@with_client
async def test_a_frozen_etcd_delays_writes_and_loses_none(
    api: Client, *, cluster: Cluster, namespace: str
) -> None:
    cluster.freeze("etcd")
    try:
        write = asyncio.create_task(api.create(pod("p", namespace)))
        done, _ = await asyncio.wait([write], timeout=0.5)
        assert not done
    finally:
        cluster.thaw("etcd")
    await write
    assert [each["metadata"]["name"] for each in await api.items(path_of("Pod", namespace))]


@with_client
async def test_the_server_counts_requests_by_verb_and_subresource(
    api: Client, *, namespace: str
) -> None:
    await with_nodes(api, 1)
    before = await api.request_counts()
    await api.create(pod("a", namespace), pod("b", namespace))
    await api.bind(namespace, "a", "n0")
    made = await api.request_counts() - before
    assert made["POST", "pods", ""] == 2
    assert made["POST", "pods", "binding"] == 1


def test_every_program_reports_its_cpu_time_and_memory(cluster: Cluster) -> None:
    usage = cluster.usage()
    assert set(usage) == {"etcd", "kube-apiserver", "kube-controller-manager", "kwok"}
    assert usage["kube-apiserver"].cpu_s > 0.1
    assert all(20 < each.rss_mib <= each.peak_mib for each in usage.values())
