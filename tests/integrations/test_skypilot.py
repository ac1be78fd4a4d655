"""SkyPilot's schema, merge and check with the configuration that kai builds."""

import copy
from typing import Any

import pytest
from conftest import GPUS, IN_A_RACK, ON_A_T4, without_nulls
from sky import Task
from sky.provision.kubernetes import utils
from sky.utils import common_utils, config_utils, schemas

import kai
from kai.integrations import skypilot

# A reduced form of what SkyPilot renders; the full form needs a cluster.
BASE = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"labels": {"parent": "skypilot"}, "annotations": {"skypilot-user": "u"}},
    "spec": {
        "restartPolicy": "Never",
        "containers": [
            {
                "name": "ray-node",
                "image": "img",
                "env": [{"name": "A", "value": "1"}],
                "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}},
            }
        ],
    },
}


def merged(config: dict[str, Any]) -> Any:
    """The pod, after SkyPilot's checks have passed."""
    common_utils.validate_schema(config, schemas.get_config_schema(), "invalid: ")
    pod = copy.deepcopy(BASE)
    config_utils.merge_k8s_configs(pod, copy.deepcopy(config["kubernetes"]["pod_config"]))
    assert utils.check_pod_config(pod) == (True, None)
    return without_nulls(pod)


def test_the_pod_of_a_task(expected: Any) -> None:
    built = skypilot.build(ON_A_T4, provision_timeout=-1)
    assert merged(dict(built)) == expected("skypilot-0.14.1")


def test_a_task_accepts_the_configuration() -> None:
    built = skypilot.build(kai.PodRequest(queue="team-a", gpu_fraction=0.5))
    task = Task.from_yaml_config({"run": "nvidia-smi", "config": dict(built)})
    for resources in task.resources:
        assert resources.cluster_config_overrides == built


@pytest.mark.parametrize("gpus", GPUS)
def test_skypilot_makes_the_predicted_pod(gpus: dict[str, Any]) -> None:
    built = skypilot.build(IN_A_RACK.with_changes(cpu=2, env={"B": "2"}, **gpus))
    made, predicted = merged(dict(built)), copy.deepcopy(dict(built.to_pod_spec()))
    for kind, wanted in predicted["metadata"].items():
        assert wanted.items() <= made["metadata"][kind].items()
    (main,), (wanted,) = made["spec"].pop("containers"), predicted["spec"].pop("containers")
    assert predicted["spec"].items() <= made["spec"].items()
    assert main["env"] == [{"name": "A", "value": "1"}, *wanted["env"]]
    assert main["resources"]["requests"] == {"cpu": "2", "memory": "1Gi"}
    assert main["resources"].get("limits") == wanted["resources"].get("limits")
    assert main["securityContext"] == wanted["securityContext"]


def test_skypilot_reports_an_unknown_key_only_in_the_pod() -> None:
    # The reason why the keys have the API server's spelling.
    config = {"kubernetes": {"pod_config": {"spec": {"scheduler_name": "kai-scheduler"}}}}
    with pytest.raises(AssertionError):
        merged(config)
