"""Mistyped arguments of the builder methods are rejected, or reported in the warnings of a plan."""

from collections.abc import Callable
from typing import Any

import pytest

import kai
from kai.engine.objects import PodOptions


def cluster() -> kai.Cluster:
    return kai.Cluster().queue("a").node("n1", gpus=2)


@pytest.mark.parametrize(
    ("method", "options", "sentence"),
    [
        ("node", {"taints": "a=b:NoSchedule"}, "write a list, such as ['a=b:NoSchedule']"),
        ("node", {"taints": ["a=b:NoShedule"]}, "there is no effect 'NoShedule'; did you mean"),
        ("node", {"taints": ["=b:NoSchedule"]}, "taint '=b:NoSchedule' has no key"),
        ("node", {"taints": [{"ky": "a"}]}, "a taint has no member 'ky'; did you mean 'key'?"),
        ("node", {"labels": "a=b"}, "labels is 'a=b': write a mapping"),
        ("node", {"ready": "no"}, "ready is 'no': write True or False"),
        ("node", {"gpus": "8"}, "gpus is '8': write a whole number"),
        ("queue", {"weight": "2"}, "weight is '2': write a number"),
        ("queue", {"parent": 5}, "parent is 5: write a string"),
        ("pending", {"preemptible": "no"}, "preemptible is 'no': write True or False"),
        ("pending", {"tolerations": "a"}, "tolerations is 'a': write a list, such as ['a']"),
        ("pending", {"tolerations": [""]}, "toleration '' has no key"),
        ("pending", {"tolerations": ["a:NoExecut"]}, "there is no effect 'NoExecut'"),
        ("pending", {"gpu_groups": "g1"}, "gpu_groups is 'g1': write a list"),
        ("pending", {"node_selector": ["a"]}, "node_selector is ['a']: write a mapping"),
        ("pending", {"min_member": "2"}, "min_member is '2': write a whole number"),
        ("pending", {"pods": True}, "pods is True: write a whole number"),
        ("pending", {"gated": 1}, "gated is 1: write True or False"),
        ("pending", {"required_level": "rack"}, "required_level needs a topology"),
    ],
)
def test_an_argument_of_the_wrong_kind_is_refused(
    method: str, options: dict[str, Any], sentence: str
) -> None:
    name = "a/x" if method == "pending" else "x"
    with pytest.raises(kai.InvalidClusterError) as caught:
        getattr(cluster(), method)(name, **options)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: cluster().node("n2", gpu=8), "node() has no argument 'gpu'; did you mean 'gpus'?"),
        (lambda: cluster().nodes("n", 2, gpu=8), "no argument 'gpu'; did you mean 'gpus'?"),
        (lambda: cluster().queue("b", parnt="a"), "no argument 'parnt'; did you mean 'parent'?"),
        (lambda: cluster().pending("a/x", gpu=1), "no option 'gpu'; did you mean 'gpus'?"),
        (lambda: kai.Scheduler(as_kia=True), "no argument 'as_kia'; did you mean 'as_kai'?"),
        (lambda: kai.pod_settings(gpu_fracton=1), "'gpu_fracton'; did you mean 'gpu_fraction'?"),
    ],
)
def test_an_unknown_argument_is_refused_with_a_suggestion(
    call: Callable[[], object], sentence: str
) -> None:
    with pytest.raises(TypeError) as caught:
        call()
    assert sentence in str(caught.value)


@pytest.mark.parametrize("option", PodOptions.__annotations__)
def test_every_option_is_checked(option: str) -> None:
    with pytest.raises(kai.InvalidClusterError, match=f"^{option} is <object"):
        cluster().pending("a/x", **{option: object()})  # type: ignore[misc]


def test_a_priority_class_that_does_not_exist_is_among_the_warnings() -> None:
    made = cluster().pending("a/x", gpus=1, priority="inferense")
    warnings = kai.Scheduler().plan(made).warnings
    assert warnings == (
        "there is no PriorityClass 'inferense', and pod groups that name it have 50; did you mean"
        " 'inference'?",
    )
    made.priority_class("inferense", 7)
    assert kai.Scheduler().plan(made).warnings == ()


def test_a_node_that_does_not_exist_is_among_the_warnings() -> None:
    made = cluster().running("a/x", gpus=1, node="n2")
    (text,) = kai.Scheduler().plan(made).warnings
    assert text.startswith("there is no Node 'n2', and pods of a/x are on it")
    made.node("n2", gpus=2)
    assert kai.Scheduler().plan(made).warnings == ()


def test_the_warnings_about_many_lost_nodes_are_short_and_quick(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared = []
    monkeypatch.setattr(
        "kai.engine.cluster.did_you_mean", lambda name, known: compared.append(name) or ""
    )
    made = kai.Cluster().queue("a").nodes("n", 20, gpus=1)
    for number in range(30):
        made.running(f"a/r{number}", gpus=1, node=f"lost-{number}")
    scheduler = kai.Scheduler()
    warnings = scheduler.plan(made).warnings
    assert warnings[0] == "there is no Node 'lost-0', and pods of a/r0 are on it"
    assert warnings[10:] == ("20 more objects of kind Node are named and do not exist",)
    assert not compared  # no similar names are searched, in no plan

    for number in range(2, 30):
        made.node(f"lost-{number}", gpus=1)
    assert len(scheduler.plan(made).warnings) == len(scheduler.plan(made).warnings) == 2
    assert compared == ["lost-0", "lost-1"]  # once for both plans
