"""Prefect's Kubernetes worker with the template and the variables that kai builds for it."""

import asyncio
import copy
import uuid
from typing import Any

import pytest
from conftest import GPUS, IN_A_RACK, ON_A_T4, without_nulls
from prefect.client.orchestration import PrefectClient
from prefect.client.schemas.objects import FlowRun
from prefect.utilities.schema_tools.validation import is_valid, validate
from prefect_kubernetes.worker import KubernetesWorker, KubernetesWorkerJobConfiguration

import kai
from kai.integrations import prefect

REQUEST = ON_A_T4.with_changes(priority="train")


@pytest.fixture
def version(environment: str) -> str:
    return environment.rpartition("-")[2]


def rendered(template: dict[str, Any], variables: dict[str, Any]) -> Any:
    async def render() -> KubernetesWorkerJobConfiguration:
        configuration = await KubernetesWorkerJobConfiguration.from_template_and_values(
            copy.deepcopy(template), variables, client=PrefectClient("http://127.0.0.1:1/api")
        )
        flow_run = FlowRun(id=uuid.UUID(int=1), flow_id=uuid.UUID(int=2), name="my-run")
        configuration.prepare_for_flow_run(flow_run)
        return configuration

    job = asyncio.run(render()).job_manifest
    container = job["spec"]["template"]["spec"]["containers"][0]
    # The settings of the machine that renders are copied into the container.
    container["env"] = [one for one in container["env"] if not one["name"].startswith("PREFECT")]
    return without_nulls(job)


def test_the_job_of_a_run(expected: Any, environment: str) -> None:
    # Built for a new worker in every environment: the recorded 0.7.5 shows the result with an old
    # one.
    built = prefect.build(REQUEST)
    variables = {**built["job_variables"], "image": "img"}
    if environment != "prefect-kubernetes-0.7.5":
        variables["annotations"] = {"kai.scheduler/topology": "t"}
    job = rendered(built.native["base_job_template"], variables)
    assert job == expected(environment)


def test_the_variables_equal_those_of_the_template(version: str) -> None:
    made = prefect.build(REQUEST, version=version).native["base_job_template"]
    # Prefect has, or the builder adds, all variables that the builder relies on.
    assert set(prefect.job_variables(REQUEST)) <= set(made["variables"]["properties"])
    default = KubernetesWorker.get_default_base_job_template()
    assert set(default["variables"]["properties"]) <= set(made["variables"]["properties"])


@pytest.mark.parametrize("own", [False, True], ids=["prefect's template", "kai's template"])
def test_a_run_may_use_another_queue_and_share(version: str, own: bool) -> None:
    request = REQUEST.with_changes(topology="t", required_level="rack", cpu="500m")
    built = prefect.build(request, version=version)
    template = built.settings if own else built.native
    other = kai.PodRequest(queue="team-b", gpu_fraction=0.25, priority="inference", memory="1Gi")
    job = rendered(template["base_job_template"], prefect.job_variables(other))
    assert job["metadata"]["labels"]["kai.scheduler/queue"] == "team-b"
    topology = {"kai.scheduler/topology": "t", "kai.scheduler/topology-required-placement": "rack"}
    assert job["metadata"]["annotations"] == topology
    pod = job["spec"]["template"]
    assert pod["metadata"]["labels"]["kai.scheduler/queue"] == "team-b"
    assert pod["metadata"]["annotations"] == {
        "gpu-fraction": "0.25",
        "gpu-fraction-container-name": "prefect-job",
        **({} if version == "0.7.5" else topology),
    }
    assert pod["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "500m", "memory": "1Gi"}
    }


def test_the_priority_reaches_kai_in_every_version(version: str) -> None:
    built = prefect.build(REQUEST, version=version)
    pod = rendered(built.native["base_job_template"], {})["spec"]["template"]
    label = pod["metadata"]["labels"].get("priorityClassName")
    assert (label or pod["spec"].get("priorityClassName")) == "train"


@pytest.mark.parametrize("gpus", [*GPUS, {"gpu_fraction": 0.5}])
def test_prefect_makes_the_predicted_pod(version: str, gpus: dict[str, Any]) -> None:
    request = IN_A_RACK.with_changes(runtime_class=None, tolerations=[], **gpus)
    built = prefect.build(request, version=version)
    for template in (built.settings, built.native):
        pod = rendered(template["base_job_template"], {})["spec"]["template"]
        predicted = copy.deepcopy(dict(built.to_pod_spec()))
        assert predicted["metadata"]["labels"].items() <= pod["metadata"]["labels"].items()
        wanted, main = predicted["spec"].pop("containers")[0], pod["spec"].pop("containers")[0]
        annotations = pod["metadata"].get("annotations", {})
        if not request.shares_gpus:
            # The name of the container alone requests nothing.
            assert annotations.pop("gpu-fraction-container-name") == "prefect-job"
        assert annotations == predicted["metadata"].get("annotations", {})
        assert predicted["spec"].items() <= pod["spec"].items()
        assert wanted.items() <= main.items()


def test_the_schema_refuses_values_that_kai_refuses() -> None:
    schema = prefect.base_job_template(REQUEST)["variables"]
    assert is_valid({"gpu_fraction": "0.25", "kai_queue": "team-b"}, schema)
    for wrong in ({"gpu_fraction": ""}, {"gpu_fraction": "1.5"}, {"kai_queue": "team a/b"}):
        assert validate(wrong, schema), wrong
