"""The objects of the chart's hooks."""

from typing import Any

import pytest

import kai.service.programs.chart_hooks
from kai.cli import main
from kai.install import hooks

MADE = hooks.objects("gpu", "registry/kai:1", "mine")


def pods() -> list[dict[str, Any]]:
    jobs = [each["spec"]["template"]["spec"] for each in MADE if each["kind"] == "Job"]
    return [*jobs, *(each["spec"] for each in MADE if each["kind"] == "Pod")]


def test_no_object_of_a_hook_stays_in_the_release() -> None:
    for each in MADE:
        annotations = each["metadata"]["annotations"]
        assert set(annotations["helm.sh/hook"].split(",")) <= {
            *("pre-install", "pre-upgrade", "pre-delete", "test")
        }
        deletion = annotations["helm.sh/hook-delete-policy"]
        assert deletion == "before-hook-creation,hook-succeeded"


def test_helm_shows_no_test_suites_before_helm_test() -> None:
    """It shows objects of the phase `test` that were created in any phase."""
    phases = {each["metadata"]["annotations"]["helm.sh/hook"] for each in MADE}
    assert {each for each in phases if "test" in each} == {"test"}


def test_the_rights_exist_before_the_pods_that_use_them() -> None:
    weights: dict[bool, set[int]] = {True: set(), False: set()}
    for each in MADE:
        runs = each["kind"] in ("Job", "Pod")
        weights[runs].add(int(each["metadata"]["annotations"]["helm.sh/hook-weight"]))
    assert max(weights[False]) < min(weights[True])


def test_the_options_are_checked_before_anything_changes() -> None:
    weights = {
        each["metadata"]["name"]: int(each["metadata"]["annotations"]["helm.sh/hook-weight"])
        for each in MADE
        if each["kind"] == "Job"
    }
    assert weights["kai-hook-check"] < weights["kai-hook-crds"]


@pytest.mark.parametrize("pod", pods(), ids=lambda pod: pod["containers"][0]["args"][2])
def test_the_command_of_a_hook_is_accepted(
    pod: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    [container] = pod["containers"]
    [variable] = container["env"]
    assert variable["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.namespace"
    ran: list[str] = []

    def run(work: Any) -> None:
        work.close()
        ran.append("")

    monkeypatch.setattr("asyncio.run", run)
    assert main([each.replace("$(NAMESPACE)", "gpu") for each in container["args"]]) == 0
    assert ran or "check" in container["args"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert container["securityContext"]["readOnlyRootFilesystem"]


def test_a_hook_may_change_named_objects_only() -> None:
    """Creating cannot be restricted to names."""
    [role] = [each for each in MADE if each["kind"] == "ClusterRole"]
    open_rules = [rule for rule in role["rules"] if "resourceNames" not in rule]
    assert [(rule["resources"], rule["verbs"]) for rule in open_rules] == [
        (["customresourcedefinitions"], ["create"])
    ]


def test_a_release_owns_what_helm_marked_with_its_name() -> None:
    annotations = {
        "meta.helm.sh/release-name": "mine",
        "meta.helm.sh/release-namespace": "gpu",
    }
    release = kai.service.programs.chart_hooks.Release("mine", "gpu")
    assert release.owns({"metadata": {"annotations": annotations}})
    assert not release._replace(namespace="other").owns({"metadata": {"annotations": annotations}})
    assert not release.owns({"metadata": {}})
