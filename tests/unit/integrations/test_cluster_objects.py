"""Objects that an administrator applies once; tests/integrations/test_airflow.py reads them with a
client."""

import json
from typing import Any

import pytest
import yaml

import kai
from kai.integrations.cluster_objects import scheduler_name_policy, workflow_defaults

REQUEST = kai.PodRequest(queue="team-a")
FORMS = ("policy", "kyverno")


def of_kind(objects: Any, kind: str) -> dict[str, Any]:
    (found,) = [each for each in objects if each["kind"] == kind]
    return dict(found)


def conditions(policy: dict[str, Any]) -> str:
    return " and ".join(each["expression"] for each in policy["spec"]["matchConditions"])


def mutation(policy: dict[str, Any]) -> str:
    (only,) = policy["spec"]["mutations"]
    return str(only["applyConfiguration"]["expression"])


# ---- the scheduler's name -----------------------------------------------------------------------


def test_pods_with_a_queue_and_no_scheduler_get_kai() -> None:
    policy = of_kind(scheduler_name_policy(REQUEST), "MutatingAdmissionPolicy")

    assert '"kai.scheduler/queue" in object.metadata.labels' in conditions(policy)
    assert 'object.spec.schedulerName == "default-scheduler"' in conditions(policy)
    assert mutation(policy) == 'Object{spec: Object.spec{schedulerName: "kai-scheduler"}}'
    (rule,) = policy["spec"]["matchConstraints"]["resourceRules"]
    assert (rule["resources"], rule["operations"]) == (["pods"], ["CREATE"])


def test_each_policy_has_a_binding() -> None:
    objects = scheduler_name_policy(REQUEST, pin_queue=True)

    for kind in ("MutatingAdmissionPolicy", "ValidatingAdmissionPolicy"):
        policies = {each["metadata"]["name"] for each in objects if each["kind"] == kind}
        bound = {each["spec"]["policyName"] for each in objects if each["kind"] == f"{kind}Binding"}
        assert policies
        assert policies == bound


@pytest.mark.parametrize("form", FORMS)
def test_scheduler_and_label_are_set_everywhere(form: str) -> None:
    text = json.dumps(
        scheduler_name_policy(
            kai.PodRequest(scheduler_name="kai-blue", queue_label_key="example.com/queue"),
            form=form,
            pin_queue=True,
        )
    )

    assert "kai-blue" in text
    assert "example.com/queue" in text
    assert "kai-scheduler" not in text
    assert "kai.scheduler/queue" not in text


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, {"kai.scheduler/queue"}),
        ({"legacy": True}, {"runai/queue"}),
        ({"both": True}, {"kai.scheduler/queue", "runai/queue"}),
    ],
)
def test_pods_are_found_by_the_label_that_the_request_uses(
    form: str, changes: dict[str, bool], found: set[str]
) -> None:
    text = json.dumps(scheduler_name_policy(REQUEST.with_changes(**changes), form=form))

    assert {key for key in ("kai.scheduler/queue", "runai/queue") if key in text} == found


def test_the_queue_of_the_request_has_no_effect() -> None:
    assert scheduler_name_policy(REQUEST) == scheduler_name_policy(kai.PodRequest(gpus=1))


def test_older_clusters_get_beta_policies() -> None:
    versions = {
        each["apiVersion"] for each in scheduler_name_policy(REQUEST, api_version="v1beta1")
    }
    assert versions == {"admissionregistration.k8s.io/v1beta1"}


def test_kyverno_does_not_change_job_templates() -> None:
    (policy,) = scheduler_name_policy(REQUEST, form="kyverno")

    assert (
        policy["metadata"]["annotations"]["pod-policies.kyverno.io/autogen-controllers"] == "none"
    )
    (rule,) = policy["spec"]["rules"]
    assert rule["mutate"]["patchStrategicMerge"] == {"spec": {"schedulerName": "kai-scheduler"}}


@pytest.mark.parametrize("form", FORMS)
def test_policies_are_plain_data_with_a_chosen_name(form: str) -> None:
    objects = scheduler_name_policy(REQUEST, form=form, pin_queue=True, name="gpu-pods")

    assert all(each["metadata"]["name"].startswith("gpu-pods") for each in objects)
    assert list(yaml.safe_load_all(yaml.safe_dump_all(objects))) == list(objects)
    keys = [(each["kind"], each["metadata"]["name"]) for each in objects]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"form": "opa"}, "write one of policy, kyverno"),
        ({"api_version": "v2"}, "write one of v1, v1beta1"),
        ({"name": "Not A Name"}, "not the name of a Kubernetes object"),
    ],
)
def test_invalid_arguments_raise_one_sentence(options: dict[str, str], message: str) -> None:
    with pytest.raises(kai.InvalidRequestError, match=message):
        scheduler_name_policy(REQUEST, **options)  # type: ignore[arg-type]


# ---- one queue per namespace (spec 7 KW18) -------------------------------------------------------


def test_a_namespace_with_a_queue_sends_all_its_pods_there() -> None:
    objects = scheduler_name_policy(REQUEST, pin_queue=True)
    (policy,) = [
        each
        for each in objects
        if each["kind"] == "MutatingAdmissionPolicy" and "labels" in mutation(dict(each))
    ]
    binding = next(
        each["spec"]
        for each in objects
        if each["kind"] == "MutatingAdmissionPolicyBinding"
        and each["spec"]["policyName"] == policy["metadata"]["name"]
    )

    # Applies to pods with a scheduler's name, with a queue, and with neither.
    assert "matchConditions" not in policy["spec"]
    assert "namespaceObject.metadata.labels" in mutation(dict(policy))
    assert 'schedulerName: "kai-scheduler"' in mutation(dict(policy))
    (expression,) = binding["matchResources"]["namespaceSelector"]["matchExpressions"]
    assert expression == {"key": "kai.scheduler/queue", "operator": "Exists"}


@pytest.mark.parametrize("form", FORMS)
def test_owners_in_the_namespace_cannot_use_another_queue(form: str) -> None:
    objects = scheduler_name_policy(REQUEST, form=form, pin_queue=True)
    policy = of_kind(objects, "ValidatingAdmissionPolicy")
    binding = of_kind(objects, "ValidatingAdmissionPolicyBinding")

    (rule,) = policy["spec"]["matchConstraints"]["resourceRules"]
    assert rule["resources"] == ["*"]
    (validation,) = policy["spec"]["validations"]
    assert "== namespaceObject.metadata.labels" in validation["expression"]
    assert "oldObject" in validation["expression"]  # objects from before can be finished
    assert binding["spec"]["validationActions"] == ["Deny"]
    assert binding["spec"]["matchResources"]["namespaceSelector"]["matchExpressions"]


def test_without_pin_queue_any_queue_is_allowed() -> None:
    assert "namespaceObject" not in json.dumps(scheduler_name_policy(REQUEST))


# ---- Argo's defaults -----------------------------------------------------------------------------


def test_workflows_use_kai_by_default() -> None:
    configmap = workflow_defaults(REQUEST)

    assert configmap["metadata"] == {
        "name": "workflow-controller-configmap",
        "namespace": "argo",
    }
    assert yaml.safe_load(configmap["data"]["workflowDefaults"]) == {
        "metadata": {"labels": {"kai.scheduler/queue": "team-a"}},
        "spec": {"schedulerName": "kai-scheduler"},
    }


def test_existing_defaults_are_kept() -> None:
    existing = "spec:\n  ttlStrategy:\n    secondsAfterCompletion: 60\n  schedulerName: old\n"
    configmap = workflow_defaults(
        kai.PodRequest(), existing=existing, namespace="kubeflow", name="argo-config"
    )

    assert configmap["metadata"] == {"name": "argo-config", "namespace": "kubeflow"}
    assert yaml.safe_load(configmap["data"]["workflowDefaults"]) == {
        "spec": {
            "ttlStrategy": {"secondsAfterCompletion": 60},
            "schedulerName": "kai-scheduler",
        }
    }


def test_merging_defaults_is_idempotent() -> None:
    once = workflow_defaults(REQUEST, existing="spec: {}")
    assert workflow_defaults(REQUEST, existing=once["data"]["workflowDefaults"]) == once


@pytest.mark.parametrize("existing", ["- a list", "a: [broken"])
def test_defaults_that_are_not_a_mapping_are_refused(existing: str) -> None:
    with pytest.raises(kai.InvalidRequestError, match="existing is not a mapping"):
        workflow_defaults(REQUEST, existing=existing)
