"""kai install: manifests for kubectl."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml

import kai

Run = Callable[..., Any]


def kinds(text: str) -> list[str]:
    return [each["kind"] for each in yaml.safe_load_all(text)]


def test_the_crds_alone_are_printed(run: Run) -> None:
    done = run("install", "--crds-only")
    assert (done.status, done.err) == (0, "")
    assert kinds(done.out) == ["CustomResourceDefinition"] * 6


def test_everything_is_printed_in_the_order_in_which_it_is_applied(run: Run) -> None:
    done = run("install")
    assert (done.status, done.err) == (0, "")
    found = kinds(done.out)
    assert found[:7] == [*["CustomResourceDefinition"] * 6, "Namespace"]
    assert found[-1] == "Deployment"
    assert f"image: kai-sched:{kai.__version__}\n" in done.out
    assert "namespace: kai-scheduler\n" in done.out


def test_namespace_and_image_are_chosen(run: Run) -> None:
    done = run("install", "--namespace", "gpu", "--image", "registry/kai:1", "--json")
    objects = json.loads(done.out)["items"]
    namespaces = {
        each["metadata"]["namespace"] for each in objects if "namespace" in each["metadata"]
    }
    assert namespaces == {"gpu", "kai-resource-reservation"}
    [deployment] = [each for each in objects if each["kind"] == "Deployment"]
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    assert (container["image"], container["args"][:2]) == ("registry/kai:1", ["run", "all"])


def test_each_role_gets_a_deployment_of_its_own(run: Run) -> None:
    assert kinds(run("install", "--separate").out).count("Deployment") == 5


def test_without_programs_there_is_everything_but_the_deployment(run: Run) -> None:
    done = run("install", "--without-programs", "--namespace", "gpu")
    assert (done.status, done.err) == (0, "")
    found = kinds(done.out)
    assert found == [each for each in kinds(run("install").out) if each != "Deployment"]
    assert "ServiceAccount" in found


def test_the_numa_exporter_comes_when_it_is_wanted(run: Run) -> None:
    assert "DaemonSet" not in kinds(run("install").out)
    done = run("install", "--numa-exporter", "--namespace", "gpu", "--json")
    objects = json.loads(done.out)["items"]
    [exporter] = [each for each in objects if each["kind"] == "DaemonSet"]
    account = exporter["spec"]["template"]["spec"]["serviceAccountName"]
    assert exporter["metadata"] == {**exporter["metadata"], "name": account, "namespace": "gpu"}
    bound = [each for each in objects if each["kind"] == "ClusterRoleBinding"]
    [role] = [each["roleRef"]["name"] for each in bound if each["subjects"][0]["name"] == account]
    [rights] = [each for each in objects if each["metadata"]["name"] == role and "rules" in each]
    assert rights["rules"] == [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "patch"]}
    ]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--crds-only", "--numa-exporter"], "--crds-only goes with --json alone"),
        (["--without-programs", "--numa-exporter"], "--numa-exporter and --without-programs"),
        (["--crds-only", "--without-programs"], "--crds-only goes with --json alone"),
        (["--without-programs", "--image", "x"], "--image and --without-programs exclude"),
        (["--crds-only", "--image", "x"], "--crds-only goes with --json alone"),
        (["--namespace", "My Team"], "--namespace: 'My Team' is no name of a namespace"),
        (["--namespace", ""], "--namespace: '' is no name of a namespace"),
        (["--image", ""], "--image: '' is no name of an image"),
    ],
)
def test_what_makes_no_sense_is_refused(run: Run, arguments: list[str], why: str) -> None:
    done = run("install", *arguments)
    assert (done.status, done.out) == (2, "")
    assert why in done.err
