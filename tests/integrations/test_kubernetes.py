"""With the kubernetes client, whose classes changed in 37 (spec 7 J6)."""

from typing import Any

import pytest
import yaml
from conftest import without_nulls
from kubernetes import client

from kai.errors import InvalidRequestError
from kai.integrations import kubernetes
from kai.settings import PodRequest
from kai.settings.native import to_native, to_plain

REQUESTS: dict[str, dict[str, Any]] = {
    "none": {"cpu": "1"},
    "whole": {"gpus": 2, "runtime_class": "nvidia"},
    "fraction": {"gpu_fraction": 0.5, "gpu_type": "Tesla-T4", "env": {"A": "1"}},
    "memory": {"gpu_memory": "5Gi", "isolation": "mps", "privileged": True},
    "devices": {"gpu_fraction": 0.5, "devices": 2, "priority": "train"},
    "mig": {"mig": "1g.5gb", "tolerations": [{"operator": "Exists", "tolerationSeconds": 5}]},
}
MAKERS: dict[str, tuple[Any, dict[str, Any], type]] = {
    "template": (kubernetes.build, {}, client.V1PodTemplateSpec),
    "pod": (kubernetes.pod, {"name": "n"}, client.V1Pod),
    "job": (kubernetes.job, {"name": "n"}, client.V1Job),
    "cron_job": (kubernetes.cron_job, {"name": "n", "schedule": "@daily"}, client.V1CronJob),
    "deployment": (kubernetes.deployment, {"name": "n"}, client.V1Deployment),
    "stateful_set": (kubernetes.stateful_set, {"name": "n"}, client.V1StatefulSet),
    "daemon_set": (kubernetes.daemon_set, {"name": "n"}, client.V1DaemonSet),
}


@pytest.mark.parametrize("given", REQUESTS)
@pytest.mark.parametrize("maker", MAKERS)
def test_objects_of_the_client_equal_the_plain_values(maker: str, given: str) -> None:
    make, options, kind = MAKERS[maker]
    request = PodRequest(queue="team-a", **REQUESTS[given])
    built = make(request, image="i", as_native=True, **options)
    assert isinstance(built.native, kind)
    # With the client's serialiser and with ours, and through YAML.
    sent = without_nulls(client.ApiClient().sanitize_for_serialization(built.native))
    assert sent == without_nulls(dict(built))
    assert to_plain(built.native) == without_nulls(dict(built))
    assert yaml.safe_load(yaml.safe_dump(to_plain(built.native))) == without_nulls(dict(built))


def test_an_object_of_the_client_can_be_patched() -> None:
    whole = kubernetes.job(PodRequest(queue="a", gpus=1), name="n", image="i", as_native=True)
    built = kubernetes.patch(whole.native, PodRequest(queue="b", gpu_fraction=0.5))
    assert isinstance(built.native, client.V1Job)
    template = built.native.spec.template
    assert template.metadata.annotations["gpu-fraction"] == "0.5"
    assert template.metadata.labels == {"kai.scheduler/queue": "b"}
    assert template.spec.containers[0].resources is None


def test_an_object_without_a_kind_is_recognized_by_its_class() -> None:
    container = client.V1Container(name="main", image="i")
    pod = client.V1Pod(spec=client.V1PodSpec(containers=[container]))
    built = kubernetes.patch(pod, PodRequest(queue="a", topology="t", required_level="rack"))
    assert built.native.metadata.annotations["kai.scheduler/topology"] == "t"


def test_tolerations_of_the_client_are_read() -> None:
    toleration = client.V1Toleration(key="a", operator="Exists", toleration_seconds=5)
    built = kubernetes.build(PodRequest(queue="a", tolerations=[toleration]), as_native=True)
    assert built["spec"]["tolerations"] == [
        {"key": "a", "operator": "Exists", "tolerationSeconds": 5}
    ]
    assert built.native.spec.tolerations[0].toleration_seconds == 5


def test_fields_unknown_to_the_client_are_refused() -> None:
    with pytest.raises(InvalidRequestError, match="V1PodSpec of this client has no"):
        to_native("V1Pod", {"spec": {"containers": [], "scheduler_name": "kai-scheduler"}})
    incomplete = {"kind": "Pod", "metadata": {"name": "n"}, "spec": {"containers": None}}
    request = PodRequest(queue="a")
    assert kubernetes.patch(incomplete, request).native["spec"]["schedulerName"]
    with pytest.raises(InvalidRequestError, match="V1PodSpec cannot be created"):
        kubernetes.patch(incomplete, request, as_native=True)
