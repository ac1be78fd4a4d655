"""One claim with a selector that costs too much does not stop the planning of others."""

import time
from typing import Any

import pytest

import kai

DRIVER = "gpu.nvidia.com"
NOW = "2026-01-01T00:00:00Z"
OF_DEVICE = f"device.attributes['{DRIVER}']"


def loops(*sizes: int, condition: str = "true") -> str:
    """all() over lists of these lengths, one inside the other."""
    expression = " + ".join(f"v{at}" for at in range(len(sizes))) + f" >= 0 && {condition}"
    for at in reversed(range(len(sizes))):
        expression = f"{list(range(sizes[at]))}.all(v{at}, {expression})"
    return expression


BY_UUID = f"{OF_DEVICE}.uuid != 'GPU-x'"
COSTLY = loops(50, 50, 20, condition=BY_UUID)


def slice_of(node: str, devices: int = 8) -> dict[str, Any]:
    listed = [
        {"name": f"gpu-{i}", "attributes": {"uuid": {"string": f"GPU-{node}-{i}"}}}
        for i in range(devices)
    ]
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": listed}
    return {"metadata": {"name": node}, "spec": spec}


def cluster(expressions: dict[str, list[str]], *, nodes: int = 2, of_class: str = "true") -> Any:
    """Nodes with GPUs in slices, and a pod with a claim of its own for each of these selectors."""
    selectors = [{"cel": {"expression": of_class}}]
    classed = {"metadata": {"name": DRIVER}, "spec": {"selectors": selectors}}
    made = kai.Cluster().queue("team").add("DeviceClass", classed)
    for number in range(nodes):
        made.node(f"n{number}").add("ResourceSlice", slice_of(f"n{number}"))
    for name, each in expressions.items():
        exactly = {
            "deviceClassName": DRIVER,
            "selectors": [{"cel": {"expression": expression}} for expression in each],
        }
        requests = [{"name": "gpu", "exactly": exactly}]
        labels = {"kai.scheduler/queue": "team"}
        metadata = {"name": name, "namespace": "team", "labels": labels}
        spec = {"devices": {"requests": requests}}
        made.pending(f"team/{name}").add("ResourceClaim", {"metadata": metadata, "spec": spec})
    snapshot = made.to_snapshot()
    for pod in snapshot["rawObjects"]["pods"]:
        claim = pod["metadata"]["name"].removesuffix("-0")
        pod["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": claim}]
    return kai.Cluster.from_snapshot(snapshot)


def bound(plan: kai.Plan) -> list[str]:
    return [each.pod for each in plan.decisions]


def test_a_costly_selector_keeps_only_its_own_pod_waiting() -> None:
    made = cluster({"before": ["true"], "costly": [COSTLY], "later": [BY_UUID]})
    plan = kai.Scheduler().plan(made, now=NOW)
    assert bound(plan) == ["team/before-0", "team/later-0"]
    (reason,) = [each for each in plan.pod_groups["team/costly"].reasons if each.pod]
    assert reason.code == "selector_costs_too_much"
    assert reason.message == (
        "resource claim team/costly: its selector costs too much: the expressions of its requests"
        " and device classes take more than 103200 steps for the 16 device(s) of the cluster; make"
        " them simpler, for example without all(), exists() or map() inside each other"
    )


@pytest.mark.parametrize(
    "expressions",
    [
        pytest.param([loops(50, 50, 50)], id="loops"),
        pytest.param([loops(8, 8, 8, 8, condition=BY_UUID)], id="loops over each device"),
        pytest.param(
            [loops(9, 9, condition=f"{BY_UUID} && {at} >= 0") for at in range(32)], id="many"
        ),
        pytest.param(
            [loops(40, 40, condition=f"!{OF_DEVICE}.uuid.matches('(a|b)*{{9}}' + 'c')")],
            id="patterns",
        ),
        pytest.param(
            [
                "cel.bind(x, 'xxxxxxxxxxxxxxxx', "
                + "cel.bind(x, x + x, " * 30
                + "x != ''"
                + ")" * 31
            ],
            id="a long string",
        ),
        pytest.param(
            ["cel.bind(x, [1], " + "cel.bind(x, x + x, " * 30 + "x != []" + ")" * 31],
            id="a long list",
        ),
    ],
)
def test_all_kinds_of_costly_selectors_are_found(expressions: list[str]) -> None:
    made = cluster({"costly": expressions, "other": ["true"]}, nodes=8)
    begin = time.process_time()
    plan = kai.Scheduler().plan(made, now=NOW)
    assert bound(plan) == ["team/other-0"]
    assert plan.pod_groups["team/costly"].reasons[0].code == "selector_costs_too_much"
    assert time.process_time() - begin < 2  # a hundredth of a second on an idle machine


def test_a_costly_selector_of_a_device_class_is_the_reason_of_its_claims() -> None:
    made = cluster({"a": ["true"]}, of_class=COSTLY)
    plan = kai.Scheduler().plan(made, now=NOW)
    assert plan.pod_groups["team/a"].reasons[0].code == "selector_costs_too_much"


def test_a_selector_that_takes_long_is_evaluated_once_for_equal_devices() -> None:
    equal = loops(40, 40, condition="device.driver != ''")
    made = cluster({"a": [equal], "b": [equal]}, nodes=50)
    assert bound(kai.Scheduler().plan(made, now=NOW)) == ["team/a-0", "team/b-0"]


def test_as_kai_the_limit_is_that_of_kubernetes() -> None:
    made = cluster({"a": [COSTLY], "b": [loops(80, 80, 80)]}, nodes=1)
    plan = kai.Scheduler({"compat": {"claim_budgets": "kai"}}).plan(made, now=NOW)
    assert bound(plan) == ["team/a-0"]
    (reason,) = [each for each in plan.pod_groups["team/b"].reasons if each.pod]
    assert reason.code == "no_free_devices"
    assert "the expression takes more than 1000000 steps" in reason.message


def test_a_scheduler_that_goes_on_decides_as_a_new_one() -> None:
    """Answers are kept from plan to plan; nodes come, go and change, and each plan is the same."""
    selectors = {
        "a": [loops(6, 6, condition=BY_UUID)],
        "b": [loops(10, 10, condition=BY_UUID)],
        "c": [loops(9, condition=f"{OF_DEVICE}.uuid != 'GPU-n1-0'")],
    }
    made = cluster(selectors, nodes=6)
    living = kai.Scheduler()
    codes, there = set(), 6
    for nodes in (6, 60, 4, 61):
        for number in range(there, nodes):
            made.upsert({"kind": "ResourceSlice", **slice_of(f"n{number}")})
        for number in range(nodes, there):
            made.delete("ResourceSlice", f"n{number}")
        there = nodes
        plan = living.plan(made, now=NOW)
        again = kai.Scheduler().plan(kai.Cluster.from_snapshot(made.to_snapshot()), now=NOW)
        assert plan.to_dict()["decisions"] == again.to_dict()["decisions"]
        reasons = plan.pod_groups["team/b"].reasons
        assert reasons == again.pod_groups["team/b"].reasons
        codes.add(reasons[0].code if reasons else "bound")
    assert codes == {"bound", "selector_costs_too_much"}
