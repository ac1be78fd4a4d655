"""Reviews of the API server, and the answers to them."""

import base64
import copy
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest

from kai.controllers.admission import Guard, Known, Reviews, Rules, mutate
from kai.linting import lint
from kai.linting.codes import CODES

MUTATE, VALIDATE = "/mutate--v1-pod", "/validate--v1-pod"
QUEUES = "/validate-scheduling-run-ai-v2-queue"
POD_GROUPS = "/validate-scheduling-run-ai-v2alpha2-podgroup"
TOPOLOGIES = "/validate-kai-scheduler-v1alpha1-topology"
ALLOWED = {"uid": "u1", "allowed": True}


class Cluster(Known):
    """Queues with their parents, and the queue of each pod group."""

    def __init__(self, parents: Mapping[str, str | None], groups: Mapping[str, str]) -> None:
        self._parents, self._groups = parents, groups

    def parents(self) -> Mapping[str, str | None]:
        return self._parents

    def groups_of(self, queue: str) -> Iterable[str]:
        return [name for name, own in self._groups.items() if own == queue]


def answered(path: str, request: Any, known: Known | None = None, **rules: Any) -> dict[str, Any]:
    reviews = Reviews(Rules(**rules), draw=lambda length: "x" * length, known=known or Known())
    answer = reviews.answer(path, {"request": request})
    assert (answer["apiVersion"], answer["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    response: dict[str, Any] = answer["response"]
    return response


def pod(annotations: dict[str, str], *, namespace: str = "team", **spec: Any) -> dict[str, Any]:
    made = {
        "metadata": {"name": "p", "namespace": "team", "annotations": annotations},
        "spec": {"schedulerName": "kai-scheduler", "containers": [{"name": "main"}], **spec},
    }
    return {"uid": "u1", "namespace": namespace, "object": made}


def refusal(message: str) -> dict[str, Any]:
    status = {"code": 403, "reason": "Forbidden", "message": message}
    return {"uid": "u1", "allowed": False, "status": status}


# ---- pods ----------------------------------------------------------------------------------------


def test_a_pod_that_shares_is_admitted_with_a_patch() -> None:
    response = answered(MUTATE, pod({"gpu-fraction": "0.5"}))
    assert (response["uid"], response["allowed"]) == ("u1", True)
    assert response["patchType"] == "JSONPatch"
    operations = json.loads(base64.b64decode(response["patch"]))
    assert operations[0] == {
        "op": "add",
        "path": "/metadata/annotations/runai~1shared-gpu-configmap",
        "value": "p-xxxxxxx-shared-gpu",
    }


def test_a_pod_without_a_part_of_a_gpu_is_admitted_unchanged() -> None:
    assert answered(MUTATE, pod({})) == ALLOWED
    assert answered(VALIDATE, pod({"gpu-fraction": "0.5"})) == ALLOWED


OWN_VOLUME = [{"name": "kai-guard", "hostPath": {"path": "/"}}]


def test_a_pod_that_cannot_have_the_guard_starts_without_it_and_a_warning_says_so() -> None:
    request = pod({"gpu-fraction": "0.5"}, volumes=OWN_VOLUME)
    response = answered(MUTATE, request, guard=Guard("kai:1"))
    assert response["allowed"]
    assert "KAI_GUARD_LIMIT" not in str(base64.b64decode(response["patch"]))
    [warning] = response["warnings"]
    assert "it has a volume kai-guard of its own: rename it" in warning
    assert len(warning) <= 256


def test_where_the_guard_is_required_it_is_refused() -> None:
    request = pod({"gpu-fraction": "0.5"}, volumes=OWN_VOLUME)
    response = answered(MUTATE, request, guard=Guard("kai:1", required=True))
    assert not response["allowed"]
    assert "it has a volume kai-guard of its own" in response["status"]["message"]
    request = pod({"gpu-fraction": "0.5"}, volumes=[])
    assert answered(MUTATE, request, guard=Guard("kai:1", required=True))["allowed"]


def test_limits_of_the_pod_that_the_guard_replaces_are_a_warning() -> None:
    own = [{"name": "main", "env": [{"name": "KAI_GUARD_LIMITS", "value": "GPU-1=1.0"}]}]
    request = pod({"gpu-fraction": "0.5"}, containers=own)
    response = answered(MUTATE, request, guard=Guard("kai:1", required=True))
    assert response["allowed"]
    assert response["warnings"] == [
        "the pod sets KAI_GUARD_LIMITS, which the guard replaces by the pod's share; remove it"
    ]


@pytest.mark.parametrize(
    ("code", "annotations", "sentence"),
    [
        (
            "annotation-value",
            {"gpu-fraction": "0.5", "kai.scheduler/gpu-guard": "Yes"},
            'kai.scheduler/gpu-guard is "Yes", neither "true" nor "false": it counts as absent;'
            ' write "true" or "false"',
        ),
        (
            "annotation-value",
            {"gpu-fraction": "0.5", "mps": "True"},
            'mps is "True", neither "true" nor "false": it counts as absent; write "true" or'
            ' "false"',
        ),
        (
            "key-unknown",
            {"gpu_fraction": "0.5"},
            "KAI does not know gpu_fraction: the pod gets no GPU; did you mean gpu-fraction?",
        ),
        (
            "fraction-rounded",
            {"gpu-fraction": "0.125"},
            "KAI gives the pod its share with two decimals: 0.125 becomes 0.12; write 0.12",
        ),
        (
            "guard-without-share",
            {"kai.scheduler/gpu-guard": "true"},
            "kai.scheduler/gpu-guard has no effect: the pod has neither gpu-fraction nor"
            " gpu-memory, so it has no share that the guard could limit; remove it, or request a"
            " part of a GPU",
        ),
    ],
)
def test_a_finding_of_a_pod_is_refused_if_the_installation_chooses_it(
    code: str, annotations: dict[str, str], sentence: str
) -> None:
    given = pod(annotations)
    assert answered(VALIDATE, given) == ALLOWED
    refused = frozenset({code})
    assert answered(VALIDATE, given, refused=refused) == refusal(sentence)
    assert answered(VALIDATE, given, refused=refused, as_kai=True) == ALLOWED
    assert answered(VALIDATE, changed(given, given), refused=refused) == ALLOWED


def test_what_the_webhook_writes_is_never_refused() -> None:
    given = pod({"gpu-fraction": "0.5"})
    rules = Rules(guard=Guard("kai:1"))
    given["object"] = mutate(given["object"], rules, draw=lambda n: "x" * n, guarded=True)
    assert answered(VALIDATE, given, refused=frozenset(CODES)) == ALLOWED


def test_pods_of_other_schedulers_are_unchanged() -> None:
    others = pod({"gpu-fraction": "2", "mps": "true"}, schedulerName="default-scheduler")
    assert answered(MUTATE, others) == ALLOWED
    assert answered(VALIDATE, others) == ALLOWED


def test_a_pod_is_refused_with_the_first_reason() -> None:
    message = "cannot request both GPU and GPU memory"
    both = pod({"gpu-fraction": "2", "gpu-memory": "0"})
    assert answered(VALIDATE, both) == refusal(message)
    message = "failed to get fraction container ref: container with name b not found for fraction"
    missing = pod({"gpu-fraction": "0.5", "gpu-fraction-container-name": "b"})
    assert answered(MUTATE, missing) == refusal(f"{message} request")


def test_a_wrong_fraction_is_named_with_what_to_write() -> None:
    kais = "gpu-fraction annotation value must be a positive number smaller than 1.0"
    given = pod({"gpu-fraction": "1.5"})
    assert answered(VALIDATE, given, as_kai=True) == refusal(kais)
    assert answered(VALIDATE, given) == refusal(
        f"{kais}: gpu-fraction '1.5' is not; write gpu-fraction-num-devices: 2 and a fraction of"
        " each, 0.75"
    )


@pytest.mark.parametrize(
    ("value", "fix"),
    [
        ("1e400", "write a number between 0 and 1, such as 0.5"),
        ("12345678.5", "write a number between 0 and 1, such as 0.5"),
        ("1.999", "for whole GPUs, remove it and write the limit nvidia.com/gpu: 2"),
        ("2", "for whole GPUs, remove it and write the limit nvidia.com/gpu: 2"),
    ],
)
def test_a_fraction_above_1_has_a_fix_that_is_accepted(value: str, fix: str) -> None:
    message = answered(VALIDATE, pod({"gpu-fraction": value}))["status"]["message"]
    assert message.partition(" is not; ")[2] == fix


def test_a_long_value_is_cut_in_our_words() -> None:
    message = answered(VALIDATE, pod({"gpu-fraction": "9" * 4000}))["status"]["message"]
    assert len(message) < 300


BEYOND = str(2**63)


@pytest.mark.parametrize(
    ("annotations", "message"),
    [
        (
            {"gpu-memory": BEYOND},
            f"a gpu-memory of {BEYOND} is more than the scheduler can read, 2^63 - 1; write a whole"
            " number of MiB, such as 5120",
        ),
        (
            {"gpu-fraction": "0.5", "gpu-fraction-num-devices": BEYOND},
            f"a number of devices of {BEYOND} is more than the scheduler can read, 2^63 - 1; write"
            " a whole number of at least 1",
        ),
    ],
)
def test_a_number_that_only_kais_webhook_can_read_is_refused(
    annotations: dict[str, str], message: str
) -> None:
    given = pod(annotations)
    assert answered(VALIDATE, given) == refusal(message)
    assert answered(VALIDATE, given, as_kai=True) == ALLOWED
    assert answered(VALIDATE, given, refused=frozenset()) == ALLOWED
    assert answered(VALIDATE, changed(given, given)) == ALLOWED
    assert answered(VALIDATE, changed(pod({}), given)) == refusal(message)
    [reported] = [each for each in lint({**given["object"], "kind": "Pod"}) if each.refused]
    assert f"{reported.message}; {reported.fix}" == message


def test_a_pod_of_another_namespace_than_the_request_is_refused() -> None:
    assert answered(MUTATE, pod({}, namespace="other")) == refusal(
        "error: the namespace from the provided object team does not match the namespace other"
    )


def test_the_finalizers_of_an_invalid_pod_can_be_removed_while_it_is_deleted() -> None:
    invalid = pod({"gpu-fraction": "2"})
    assert answered(VALIDATE, invalid)["allowed"] is False
    invalid["object"]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert answered(VALIDATE, invalid) == ALLOWED


def test_an_invalid_review_is_allowed() -> None:
    for path in (MUTATE, VALIDATE, QUEUES, POD_GROUPS, TOPOLOGIES):
        response = answered(path, 3)
        assert response["uid"] == ""
    assert answered(MUTATE, {})["allowed"] is True


FULL: dict[str, Any] = {
    "name": "main",
    "env": [{"name": "A", "value": "b"}, {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}],
    "envFrom": [{"configMapRef": {"name": "c"}}],
    "resources": {"requests": {"nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "1"}},
}
ODD: tuple[Any, ...] = (None, True, 5, -1e300, "x", [], [3], ["x"], [None], [[{}]], {}, {"x": 1})


def places(value: Any, where: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in entries:
        yield (*where, key)
        if isinstance(each, (dict, list)):
            yield from places(each, (*where, key))


def with_odd_shapes(given: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every field is replaced once by every odd value."""
    for place in places(given):
        for odd in ODD:
            changed = copy.deepcopy(given)
            inner: Any = changed
            for step in place[:-1]:
                inner = inner[step]
            inner[place[-1]] = odd
            yield changed


@pytest.mark.parametrize("key", ["gpu-fraction", "none"])
def test_a_pod_of_any_shape_has_an_answer(key: str) -> None:
    annotations = {key: "0.5", "gpu-fraction-num-devices": "2", "mps": "true"}
    annotations["gpu-fraction-container-name"] = "main"
    spec: dict[str, Any] = {
        "volumes": [{"name": "v"}],
        "initContainers": [FULL],
        "containers": [FULL],
    }
    given = pod(annotations, runtimeClassName="own", **spec)
    given["object"]["metadata"] |= {
        "generateName": "p-",
        "ownerReferences": [{"name": "o"}],
        "labels": {"a": "b"},
    }
    for each in with_odd_shapes(given):
        for path in (MUTATE, VALIDATE):
            found = answered(path, each, blocks_devices=True, hami=True)
            assert found["allowed"] in (True, False)


@pytest.mark.parametrize("odd", [5, "x", [3], ["x"], [None], {"name": "A"}])
@pytest.mark.parametrize("field", ["env", "envFrom", "volumes", "containers", "initContainers"])
def test_a_pod_whose_lists_are_none_is_left_to_the_api_server(field: str, odd: Any) -> None:
    given = pod({"gpu-fraction": "0.5"})
    spec = given["object"]["spec"]
    (spec["containers"][0] if field.startswith("env") else spec)[field] = odd
    assert answered(MUTATE, given, blocks_devices=True) == ALLOWED


# ---- queues --------------------------------------------------------------------------------------

FREE = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
RESOURCES = {"cpu": FREE, "gpu": FREE, "memory": FREE}
TEAMS = Cluster({"all": None, "a": "all", "b": "all"}, {"train": "a", "serve": "a"})


def queue(name: str, parent: str = "", **resources: Any) -> dict[str, Any]:
    spec: dict[str, Any] = {"resources": {**RESOURCES, **resources}}
    if parent:
        spec["parentQueue"] = parent
    made = {"metadata": {"name": name}, "spec": spec}
    return {"uid": "u1", "operation": "CREATE", "object": made}


def changed(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    return {**after, "operation": "UPDATE", "oldObject": before["object"]}


def deleted(name: str) -> dict[str, Any]:
    old = {"metadata": {"name": name}, "spec": {"resources": RESOURCES}}
    return {"uid": "u1", "operation": "DELETE", "object": None, "oldObject": old}


def test_a_queue_needs_resources_as_with_kai() -> None:
    bare = {"uid": "u1", "operation": "CREATE", "object": {"metadata": {"name": "q"}, "spec": {}}}
    told = {"warnings": ["resources must be specified"]}
    assert answered(QUEUES, bare) == {**refusal("resources must be specified"), **told}


def test_a_valid_queue_is_admitted() -> None:
    assert answered(QUEUES, queue("c", "all"), TEAMS) == ALLOWED


def test_a_root_queue_may_get_its_children_later() -> None:
    assert answered(QUEUES, queue("division"), TEAMS) == ALLOWED


def test_a_queue_below_a_missing_parent_is_refused() -> None:
    given = queue("c", "departement")
    found = answered(QUEUES, given, TEAMS)
    assert found == refusal(
        "there is no queue departement, the parent of queue c; add it first: KAI ignores a queue if"
        " its parent does not exist"
    )
    assert answered(QUEUES, given, TEAMS, as_kai=True) == ALLOWED
    assert answered(QUEUES, given)["allowed"] is True  # the queues are not known yet


def test_a_queue_that_becomes_its_own_ancestor_is_refused() -> None:
    found = answered(QUEUES, changed(queue("all"), queue("all", "b")), TEAMS)
    assert found["status"]["message"].startswith("queue all is its own ancestor")


def test_a_limit_below_the_quota_is_refused() -> None:
    found = answered(QUEUES, queue("c", "all", gpu={"quota": 8, "limit": 4}), TEAMS)
    assert found["status"]["message"].startswith("the quota is 8, above the limit 4")


def test_findings_may_be_warnings_instead() -> None:
    found = answered(QUEUES, queue("c", "x"), TEAMS, refused=frozenset())
    assert found["allowed"] is True
    (warning,) = found["warnings"]
    assert warning.startswith("there is no queue x, the parent of queue c; add it first: KAI")


def test_a_change_of_a_queue_that_was_wrong_before_is_admitted() -> None:
    orphan = queue("c", "gone")
    larger = queue("c", "gone", gpu={"quota": 2, "limit": -1})
    found = answered(QUEUES, changed(orphan, larger), TEAMS)
    assert found["allowed"] is True
    assert found["warnings"][0].startswith("there is no queue gone")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            {"preemptMinRuntime": "5"},
            'spec.preemptMinRuntime: duration "5" is not valid; write a duration with a unit, such'
            " as 5m",
        ),
        (
            {"resources": {**RESOURCES, "gpu": {**FREE, "quota": 1e308}}},
            "spec.resources.gpu.quota: is more than the largest amount of Kubernetes, 2^63; write"
            " -1 for no limit",
        ),
    ],
)
def test_a_queue_that_plans_leave_out_is_refused(spec: dict[str, Any], message: str) -> None:
    given = queue("c", "all")
    given["object"]["spec"] |= spec
    assert answered(QUEUES, given, TEAMS) == refusal(message)
    assert answered(QUEUES, given, TEAMS, as_kai=True) == ALLOWED
    warned = answered(QUEUES, given, TEAMS, refused=frozenset())
    assert warned == {**ALLOWED, "warnings": [message]}
    assert answered(QUEUES, changed(given, given), TEAMS) == warned
    again = queue("c", "all")
    again["object"]["spec"] |= {**spec, "reclaimMinRuntime": "6"}
    found = answered(QUEUES, changed(given, again), TEAMS)
    assert found["status"]["message"].startswith('spec.reclaimMinRuntime: duration "6"')
    assert answered(QUEUES, changed(given, queue("c", "all")), TEAMS) == ALLOWED


def test_a_choice_of_a_queue_that_counts_as_absent_is_a_warning() -> None:
    sentence = (
        'kai.scheduler/gpu-guard is "Yes", neither "true" nor "false": it counts as absent; write'
        ' "true" or "false"'
    )
    given = queue("c", "all")
    given["object"]["metadata"]["annotations"] = {"kai.scheduler/gpu-guard": "Yes"}
    assert answered(QUEUES, given, TEAMS) == {**ALLOWED, "warnings": [sentence]}
    assert answered(QUEUES, given, TEAMS, as_kai=True) == ALLOWED
    refused = frozenset({"annotation-value"})
    assert answered(QUEUES, given, TEAMS, refused=refused) == refusal(sentence)
    again = answered(QUEUES, changed(given, given), TEAMS, refused=refused)
    assert again == {**ALLOWED, "warnings": [sentence]}
    given["object"]["metadata"]["annotations"] = {"kai.scheduler/gpu-guard": "true"}
    assert answered(QUEUES, given, TEAMS) == ALLOWED


def test_a_queue_with_pods_or_children_is_not_deleted() -> None:
    assert answered(QUEUES, deleted("b"), TEAMS) == ALLOWED
    assert answered(QUEUES, deleted("a"), TEAMS) == refusal(
        "queue a still has pods, which would wait or run without a queue: those of serve, train;"
        " delete them, or move them to another queue, first"
    )
    assert answered(QUEUES, deleted("all"), TEAMS) == refusal(
        "queue all has child queues, which KAI ignores without their parent; delete a, b first"
    )
    assert answered(QUEUES, deleted("all"), TEAMS, as_kai=True) == ALLOWED
    assert answered(QUEUES, deleted("all")) == ALLOWED  # the queues are not known yet


# ---- pod groups and topologies -------------------------------------------------------------------


def group(spec: dict[str, Any], operation: str = "CREATE") -> dict[str, Any]:
    made = {"metadata": {"name": "g", "namespace": "team"}, "spec": {"queue": "a", **spec}}
    return {"uid": "u1", "operation": operation, "object": made}


def part(name: str, parent: str = "", **minimums: int) -> dict[str, Any]:
    return {"name": name, **({"parent": parent} if parent else {}), **minimums}


BOTH = (
    "minMember and minSubGroup are mutually exclusive: set minMember (3) to schedule a fixed number"
    " of pods, or set minSubGroup to require a minimum number of child SubGroups, but not both"
)
LEAF = 'subgroup "a": minSubGroup cannot be set on a leaf SubGroup (no child SubGroups)'
INNER = (
    'subgroup "p": minMember cannot be set on a mid-level SubGroup (has child SubGroups); use'
    " minSubGroup instead"
)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"minMember": 3, "minSubGroup": 1}, BOTH),
        (
            {"minMember": 3, "minSubGroup": 1, "subGroups": [part("a"), part("a")]},
            BOTH,  # the first mistake only
        ),
        (
            {"subGroups": [part("a", minMember=1), part("a", minMember=1)]},
            "duplicate subgroup name a",
        ),
        ({"subGroups": [part("a", "z", minMember=1)]}, "parent z of a was not found"),
        (
            {"subGroups": [part("a", "b", minSubGroup=1), part("b", "a", minSubGroup=1)]},
            "cycle detected in subgroups",
        ),
        (
            {"subGroups": [part("b", minMember=1), part("a", minMember=1, minSubGroup=1)]},
            'subgroup "a": minMember and minSubGroup are mutually exclusive',
        ),
        ({"subGroups": [part("a")]}, "subgroup a: minMember is required"),
        ({"subGroups": [part("a", minSubGroup=1)]}, f"{LEAF}\nsubgroup a: minMember is required"),
        (
            {"subGroups": [part("b"), part("p", minMember=2), part("a", "p", minMember=1)]},
            f"subgroup b: minMember is required\n{INNER}",
        ),
    ],
)
def test_a_pod_group_with_wrong_subgroups_is_refused(spec: dict[str, Any], message: str) -> None:
    assert answered(POD_GROUPS, group(spec)) == refusal(message)


@pytest.mark.parametrize(
    ("spec", "warnings"),
    [
        ({"minMember": 3}, []),
        ({"minMember": 0}, []),
        ({"minSubGroup": 0}, []),
        ({"minSubGroup": 2}, ["minSubGroup (2) exceeds the number of direct child SubGroups (0)"]),
        (
            {"minSubGroup": 2, "subGroups": [part("p"), part("a", "p", minMember=1)]},
            ["minSubGroup (2) exceeds the number of direct child SubGroups (1)"],
        ),
        (
            {"subGroups": [part("p", minSubGroup=2), part("a", "p", minMember=1)]},
            ['subgroup "p": minSubGroup (2) exceeds the number of direct child SubGroups (1)'],
        ),
    ],
)
def test_a_pod_group_that_never_starts_is_admitted_with_a_warning(
    spec: dict[str, Any], warnings: list[str]
) -> None:
    expected = {**ALLOWED, "warnings": warnings} if warnings else ALLOWED
    assert answered(POD_GROUPS, group(spec)) == expected


def test_existing_pods_groups_may_keep_a_minimum_that_new_ones_may_not_have() -> None:
    spec = {"subGroups": [part("p", minMember=2), part("a", "p", minMember=1)]}
    assert answered(POD_GROUPS, group(spec)) == refusal(INNER)
    assert answered(POD_GROUPS, group(spec, "UPDATE")) == {**ALLOWED, "warnings": [INNER]}


@pytest.mark.parametrize(
    ("levels", "reasons"),
    [
        ([("zone", "z"), ("rack", "r"), ("host", "")], ""),
        ([("zone", ""), ("rack", "")], ""),
        (
            [("zone", "z"), ("rack", "z")],
            "aliases must be unique within the topology; duplicated: [z]",
        ),
        (
            [("zone", "rack"), ("rack", "r")],
            "an alias must not equal a nodeLabel; conflicting: [rack]",
        ),
        (
            [("zone", "x"), ("rack", "x"), ("host", "zone")],
            "aliases must be unique within the topology; duplicated: [x]; an alias must not equal a"
            " nodeLabel; conflicting: [zone]",
        ),
    ],
)
def test_aliases_of_a_topology_are_unique(levels: list[tuple[str, str]], reasons: str) -> None:
    listed = [{"nodeLabel": label, "alias": alias} for label, alias in levels]
    given = {"uid": "u1", "object": {"metadata": {"name": "t"}, "spec": {"levels": listed}}}
    expected = refusal(f"invalid topology aliases: {reasons}") if reasons else ALLOWED
    assert answered(TOPOLOGIES, given) == expected
