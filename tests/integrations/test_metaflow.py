"""Metaflow with the arguments that kai builds for its decorators."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import GPUS, IN_A_RACK, ON_A_T4, without_nulls
from kubernetes import client
from metaflow.plugins.kubernetes.kubernetes_decorator import KubernetesDecorator
from metaflow.plugins.kubernetes.kubernetes_job import KubernetesJob
from metaflow.plugins.kubernetes.kubernetes_jobsets import KubernetesJobSet

from kai.integrations import metaflow
from kai.settings.native import to_plain

REQUEST = ON_A_T4.with_changes(cpu=1, memory="1024M")


class Client:
    """Replaces Metaflow's connection to a cluster; making manifests needs none."""

    def get(self) -> Any:
        return client


def arguments_of(settings: Any, step: str) -> dict[str, Any]:
    """The arguments that Metaflow passes from its decorators to the Job."""
    decorator = KubernetesDecorator(
        attributes={**settings["kubernetes"], "image": "img"}, statically_defined=True
    )
    decorator.external_init()
    taken = (
        "namespace", "service_account", "node_selector", "image", "cpu", "memory", "disk", "gpu",
        "gpu_vendor", "tolerations", "labels", "annotations", "qos", "security_context",
        "extended_resources",
    )  # fmt: skip
    nothing = (
        "image_pull_policy", "use_tmpfs", "tmpfs_tempdir", "tmpfs_size", "tmpfs_path",
        "persistent_volume_claims", "shared_memory", "port",
    )  # fmt: skip
    return {
        **{name: decorator.attributes[name] for name in taken},
        **dict.fromkeys(nothing),
        "secrets": [],
        "image_pull_secrets": [],
        "command": ["bash"],
        "timeout_in_seconds": 432000,
        "retries": 0,
        "step_name": step,
        "environment_variables": settings.get("environment", {}).get("vars", {}),
    }


def job_of(settings: Any, step: str = "train_model") -> Any:
    job = KubernetesJob(Client(), generate_name="t-", **arguments_of(settings, step)).create()
    return without_nulls(to_plain(job._job))


def test_the_job_of_a_step(expected: Any) -> None:
    assert job_of(metaflow.build(REQUEST)) == expected("metaflow-2.19.39")["Job"]


def test_the_jobset_of_a_parallel_step(expected: Any) -> None:
    built = metaflow.build(REQUEST, parallel=True)
    jobset = KubernetesJobSet(
        client=Client(),
        name="js",
        num_parallel=3,
        subdomain="js",
        **arguments_of(built, "train_model"),
    )
    jobset.control.replicas(1)
    jobset.worker.replicas(2)
    jobset.labels(built["kubernetes"]["labels"])
    jobset.annotations(built["kubernetes"]["annotations"])
    dumped = jobset.dump()
    plain = to_plain(dumped if isinstance(dumped, dict) else vars(dumped))
    assert without_nulls(plain) == expected("metaflow-2.19.39")["JobSet (@parallel)"]


@pytest.mark.parametrize(
    "gpus", [*(gpus for gpus in GPUS if "claim" not in gpus), {"gpu_fraction": 0.5}]
)
def test_metaflow_makes_the_predicted_pod(gpus: dict[str, Any]) -> None:
    request = IN_A_RACK.with_changes(runtime_class=None, cpu="500m", **gpus)
    built = metaflow.build(request, step="train_model")
    job, predicted = job_of(built), without_nulls(built.to_pod_spec())
    assert job["metadata"]["labels"] == predicted["metadata"]["labels"]
    assert job["metadata"]["annotations"] == predicted["metadata"]["annotations"]
    pod = job["spec"]["template"]
    assert predicted["metadata"].items() <= pod["metadata"].items()
    (main,), (wanted,) = pod["spec"].pop("containers"), predicted["spec"].pop("containers")
    assert predicted["spec"].pop("schedulerName") == "kai-scheduler"  # by the policy
    assert predicted["spec"].items() <= pod["spec"].items()
    assert main["name"] == wanted["name"] == "train-model"
    assert main["securityContext"] == wanted["securityContext"]
    assert main["resources"].get("limits") == wanted["resources"].get("limits")
    requests = main["resources"]["requests"]
    if "mig" in gpus:
        assert requests.pop("nvidia.com/mig-1g.5gb") == "1"  # Metaflow repeats the limit
    assert requests == wanted["resources"]["requests"]


FLOW = """
from metaflow.datastore.flow_datastore import FlowDataStore
FlowDataStore.save_data = lambda *_, **__: [("s3://x/y/code", "sha")]  # uploads nothing
import kai
from kai.integrations import metaflow
from metaflow import FlowSpec, environment, kubernetes, parallel, step

request = kai.PodRequest(
    queue="team-a", gpu_fraction=0.5, platform="gke", gpu_type="nvidia-tesla-t4", privileged=True,
    cpu=1, memory="1024M", env={"NVIDIA_DRIVER_CAPABILITIES": "all"},
)
one = metaflow.build(request, target="argo", step="train_model")
bare = request.with_changes(privileged=None, platform=None, gpu_type=None, node_selector={}, env={})
several = metaflow.build(bare, target="argo", parallel=True)

class TFlow(FlowSpec):
    @step
    def start(self): self.next(self.train_model)
    @environment(**one["environment"])
    @kubernetes(image="img", **one["kubernetes"])
    @step
    def train_model(self): self.next(self.dist, num_parallel=2)
    @kubernetes(image="img", **several["kubernetes"])
    @parallel
    @step
    def dist(self): self.next(self.join)
    @step
    def join(self, inputs): self.next(self.end)
    @step
    def end(self): pass

if __name__ == "__main__":
    TFlow()
"""


def test_the_workflow_of_a_flow(expected: Any, tmp_path: Path) -> None:
    (tmp_path / "flow.py").write_text(FLOW)
    done = subprocess.run(
        [
            *(sys.executable, "flow.py", "--datastore=s3", "--datastore-root=s3://x/y"),
            *("--metadata=local", "argo-workflows", "create", "--only-json"),
        ],
        cwd=tmp_path,
        env={**os.environ, "USERNAME": "kai", "METAFLOW_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    templates = {each["name"]: each for each in json.loads(done.stdout)["spec"]["templates"]}
    recorded = expected("metaflow-argo-2.19.39")

    wanted = recorded["template train-model"]
    # The hand-written toleration had seconds, which arrive under a name that nothing reads.
    assert wanted["tolerations"][0].pop("toleration_seconds") == 5
    made = templates["train-model"]
    annotations = made["metadata"]["annotations"]
    assert wanted["metadata"]["annotations"].items() <= annotations.items()
    assert made["metadata"]["labels"] == wanted["metadata"]["labels"]
    assert made["nodeSelector"] == wanted["nodeSelector"]
    assert made["tolerations"] == wanted["tolerations"]
    env = made["container"].pop("env")
    assert without_nulls(wanted["container.env NVIDIA"][0]) in without_nulls(env)
    assert wanted["container"].items() <= without_nulls(made["container"]).items()

    wanted = recorded["template dist (@parallel) resource manifest, excerpt"]
    # Argo replaces expressions before the text is parsed as YAML.
    manifest = re.sub(r"(\{\{=.*?\}\})", r"'\1'", templates["dist"]["resource"]["manifest"])
    made = yaml.safe_load(manifest)
    assert made["metadata"]["labels"] == wanted["metadata.labels"]
    assert wanted["metadata.annotations"].items() <= made["metadata"]["annotations"].items()
    for job, recorded_job in zip(
        made["spec"]["replicatedJobs"], wanted["replicatedJobs"], strict=True
    ):
        pod = job["template"]["spec"]["template"]
        assert job["name"] == recorded_job["name"]
        assert pod["metadata"]["labels"].items() >= recorded_job["pod labels"].items()
        assert pod["metadata"]["annotations"].items() >= recorded_job["pod annotations"].items()
        (container,), (recorded_one,) = pod["spec"]["containers"], recorded_job["containers"]
        assert container["name"] == recorded_one["name"] == "dist"
        assert without_nulls(container["resources"]) == recorded_one["resources"]
