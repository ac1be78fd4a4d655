"""The policies of kai.integrations.cluster_objects, in force on an API server (spec 7 C14, C18,
KW18)."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from api_server import ApiServer, Manifest, RefusedError, eventually

import kai
from kai.integrations.cluster_objects import scheduler_name_policy

QUEUE = "kai.scheduler/queue"
Namespaces = Callable[..., str]


def pod(namespace: str, queue: str | None = None, scheduler: str | None = None) -> Manifest:
    spec: dict[str, Any] = {"containers": [{"name": "main", "image": "i"}]}
    if scheduler:
        spec["schedulerName"] = scheduler
    metadata: dict[str, Any] = {"name": "p", "namespace": namespace}
    if queue:
        metadata["labels"] = {QUEUE: queue}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def config_map(namespace: str, queue: str, name: str = "owner", **data: str) -> Manifest:
    """In the role of an owner of pods: any object with a queue label."""
    metadata = {"name": name, "namespace": namespace, "labels": {QUEUE: queue}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def scheduler_of(api_server: ApiServer, manifest: Manifest) -> str:
    (taken,) = api_server.create(manifest, dry_run=True)
    return str(taken["spec"]["schedulerName"])


@pytest.fixture
def policies(api_server: ApiServer) -> Iterator[Callable[..., None]]:
    """Applies the policies for a request."""
    applied: list[Manifest] = []

    def apply(**options: Any) -> None:
        applied.extend(scheduler_name_policy(kai.PodRequest(queue="team-a"), **options))
        api_server.apply(*applied)

    yield apply
    api_server.delete(applied)


def test_a_pod_with_a_queue_gets_kai_as_scheduler(
    api_server: ApiServer, policies: Callable[..., None], namespace: Namespaces
) -> None:
    here = namespace()

    def with_queue() -> str:
        return scheduler_of(api_server, pod(here, queue="team-a"))

    eventually(lambda: with_queue() == "default-scheduler")
    policies()
    eventually(lambda: with_queue() == "kai-scheduler")
    assert scheduler_of(api_server, pod(here)) == "default-scheduler"
    assert scheduler_of(api_server, pod(here, queue="team-a", scheduler="other")) == "other"


def test_a_namespace_sets_the_queue_of_its_pods(
    api_server: ApiServer, policies: Callable[..., None], namespace: Namespaces
) -> None:
    pinned, free = namespace(**{QUEUE: "team-a"}), namespace()
    api_server.create(config_map(pinned, "team-b", before="the policy"))
    policies(pin_queue=True)
    eventually(lambda: scheduler_of(api_server, pod(pinned)) == "kai-scheduler")

    for requested in (None, "team-a", "team-b"):
        (taken,) = api_server.create(pod(pinned, queue=requested, scheduler="other"), dry_run=True)
        assert taken["metadata"]["labels"][QUEUE] == "team-a"
        assert taken["spec"]["schedulerName"] == "kai-scheduler"
    assert scheduler_of(api_server, pod(free)) == "default-scheduler"

    # Owners: another queue is rejected if the namespace has a queue, and accepted otherwise.
    def conditions_about_a_new_owner() -> str:
        owner = config_map(pinned, "team-b", name="new")
        try:
            api_server.create(owner, dry_run=True)
        except RefusedError as error:
            return str(error)
        return ""

    eventually(lambda: "the queue of this namespace is team-a" in conditions_about_a_new_owner())
    api_server.create(config_map(free, "team-b"), dry_run=True)
    # An object that had another queue before the policy can be finished, and moved to the right
    # queue.
    api_server.apply(config_map(pinned, "team-b", after="the policy"))
    api_server.apply(config_map(pinned, "team-a", after="the policy"))
    with pytest.raises(RefusedError, match="the queue of this namespace is team-a"):
        api_server.apply(config_map(pinned, "team-b", again="not"))
