"""Which new pods get the guard, by whose choice, and what they get."""

import copy
from collections.abc import Mapping
from typing import Any

import pytest

from kai.controllers.admission import Guard, Known, KnownQueue, Rules, mutate
from kai.controllers.admission.guarding import Guarding, decide, limit_of

IMAGE = "registry.example/kai-sched:1"
CHOICE = "kai.scheduler/gpu-guard"


class Cluster(Known):
    """Queues by name: the parent, and the choice."""

    def __init__(self, **queues: tuple[str, str]) -> None:
        self._queues = {name: KnownQueue(*each) for name, each in queues.items()}

    @property
    def knows_queues(self) -> bool:
        return True

    def queue(self, name: str) -> KnownQueue | None:
        return self._queues.get(name)


NO_QUEUES = Cluster()


def rules_with(**guard: Any) -> Rules:
    return Rules(guard=Guard(**{"image": IMAGE, **guard}))


def container(name: str = "main", **fields: Any) -> dict[str, Any]:
    return {"name": name, "image": "example/app:1", **fields}


def half(
    *containers: dict[str, Any], choice: str = "", queue: str = "", **spec: Any
) -> dict[str, Any]:
    annotations = {"gpu-fraction": "0.5", **({CHOICE: choice} if choice else {})}
    labels = {"kai.scheduler/queue": queue} if queue else {}
    return {
        "metadata": {"name": "p", "labels": labels, "annotations": annotations},
        "spec": {"containers": list(containers) or [container()], **spec},
    }


def created(given: Mapping[str, Any], known: Known = NO_QUEUES, **guard: Any) -> dict[str, Any]:
    before, rules = copy.deepcopy(given), rules_with(**guard)
    guarded = decide(given, rules, known).is_guarded
    patched = mutate(given, rules, draw=lambda count: "x" * count, guarded=guarded)
    assert given == before
    return patched


def problem_of(given: Mapping[str, Any], known: Known = NO_QUEUES) -> str:
    guarding = decide(given, rules_with(), known)
    assert not (guarding.problem and guarding.is_guarded)
    return guarding.problem


def values_of(patched: dict[str, Any], index: int = 0) -> dict[str, Any]:
    listed = patched["spec"]["containers"][index].get("env", [])
    return {each["name"]: each.get("value") for each in listed}


# ---- what a pod gets -----------------------------------------------------------------------------


def test_the_container_with_the_share_gets_the_guard() -> None:
    patched = created(half(container(), container("side")))
    found = values_of(patched)
    assert found["LD_PRELOAD"] == "/run/kai-guard/libkaiguard.so"
    assert found["KAI_GUARD_REGION"] == "/run/kai-guard/region"
    assert found["KAI_GUARD_LIMIT"] == "0.5"
    mount = {"name": "kai-guard", "mountPath": "/run/kai-guard"}
    assert patched["spec"]["containers"][0]["volumeMounts"] == [mount]
    assert "LD_PRELOAD" not in values_of(patched, 1)
    [files] = patched["spec"]["initContainers"]
    args = ["run", "guard-files", "/run/kai-guard", "--optional"]
    assert (files["image"], files["args"]) == (IMAGE, args)
    assert files["volumeMounts"] == [mount]
    assert {"name": "kai-guard", "emptyDir": {"medium": "Memory"}} in patched["spec"]["volumes"]


def test_it_runs_before_the_pods_own_init_containers() -> None:
    patched = created(half(initContainers=[container("fetch")]))
    assert [each["name"] for each in patched["spec"]["initContainers"]] == ["kai-guard", "fetch"]


@pytest.mark.parametrize(
    ("own", "requested"),
    [
        ({}, {}),
        ({"requests": {"cpu": "1"}}, {"cpu": "100m"}),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, {"cpu": "100m", "memory": "128Mi"}),
    ],
)
def test_it_requests_what_the_pod_requests(own: dict[str, Any], requested: dict[str, str]) -> None:
    """A queue without a limit of CPUs has none to give, and a Guaranteed pod stays one."""
    [first] = created(half(container(resources=own)))["spec"]["initContainers"]
    assert first["resources"] == ({"requests": requested, "limits": requested} if requested else {})


def test_a_pod_that_is_reviewed_again_stays_as_it_is() -> None:
    once = created(half())
    assert created(once) == once


def test_where_it_is_required_a_pod_waits_for_the_library() -> None:
    [files] = created(half(), required=True)["spec"]["initContainers"]
    assert files["args"] == ["run", "guard-files", "/run/kai-guard"]


@pytest.mark.parametrize("required", [True, False])
def test_a_pod_that_another_configuration_has_changed_stays_as_it_is(*, required: bool) -> None:
    once = created(half(), required=required)
    assert created(once, required=not required) == once


def test_libraries_that_the_pod_preloads_itself_stay() -> None:
    own = [{"name": "LD_PRELOAD", "value": "/lib/a.so /lib/b.so"}]
    patched = created(half(container(env=own)))
    expected = "/run/kai-guard/libkaiguard.so:/lib/a.so:/lib/b.so"
    assert values_of(patched)["LD_PRELOAD"] == expected


OWN_LIMITS = "GPU-8216274a-c05d-4f77-b44e-2b8f9a4c6d10=1.0"


@pytest.mark.parametrize("own", ["env", "envFrom"])
def test_limits_that_the_pod_sets_itself_have_no_effect(own: str) -> None:
    """An empty variable overrules those of `envFrom` and of the image."""
    variables = [{"name": "KAI_GUARD_LIMIT", "value": "1.0"}]
    variables.append({"name": "KAI_GUARD_LIMITS", "value": OWN_LIMITS})
    fields = {"env": variables} if own == "env" else {"envFrom": [{"configMapRef": {"name": "c"}}]}
    patched = created(half(container(**fields)))
    assert (values_of(patched)["KAI_GUARD_LIMIT"], values_of(patched)["KAI_GUARD_LIMITS"]) == (
        "0.5",
        None,
    )
    names = [each["name"] for each in patched["spec"]["containers"][0]["env"]]
    assert len(names) == len(set(names))
    assert created(patched) == patched


def notes_of(given: Mapping[str, Any], known: Known = NO_QUEUES, **guard: Any) -> tuple[str, ...]:
    return decide(given, rules_with(**guard), known).notes


def test_a_warning_names_the_limits_that_are_replaced() -> None:
    given = half(container(env=[{"name": "KAI_GUARD_LIMITS", "value": OWN_LIMITS}]))
    assert notes_of(given) == (
        "the pod sets KAI_GUARD_LIMITS, which the guard replaces by the pod's share; remove it",
    )
    assert notes_of(created(given)) == ()
    assert notes_of(half(*given["spec"]["containers"], choice="false")) == ()


JAX = {"name": "XLA_CLIENT_MEM_FRACTION", "value": "0.464"}


def test_a_warning_names_the_settings_for_a_part_of_the_whole_gpu() -> None:
    [note] = notes_of(half(container(env=[JAX])))
    assert note == (
        "XLA_CLIENT_MEM_FRACTION has 0.464: with the guard, this is a part of the pod's share, and"
        " not of the GPU; write a part of the share, such as 0.928, or the annotation"
        ' kai.scheduler/gpu-guard: "false"'
    )
    assert len(note) <= 256  # the API server cuts longer ones
    assert notes_of(half(container(env=[JAX]), choice="true")) == ()  # it is for the guard
    assert notes_of(half(container(env=[JAX])), shares=False) == ()
    [of_queue] = notes_of(half(container(env=[JAX]), queue="top"), CHOOSING, shares=False)
    assert of_queue == note


@pytest.mark.parametrize(
    ("spec", "user"),
    [
        ({}, None),
        ({"securityContext": {"runAsUser": 7}}, None),
        ({"securityContext": {"runAsUser": 0}}, 10000),
    ],
)
def test_its_user_is_that_of_the_image_or_of_the_pod(spec: dict[str, Any], user: Any) -> None:
    """OpenShift allows only users of its own choice, and `runAsNonRoot` no root."""
    [files] = created(half(**spec))["spec"]["initContainers"]
    assert files["securityContext"]["runAsNonRoot"] is True
    assert files["securityContext"].get("runAsUser") == user


@pytest.mark.parametrize(
    ("annotations", "limit"),
    [
        ({"gpu-fraction": "0.5"}, "0.5"),
        ({"gpu-fraction": "0.125"}, "0.125"),
        ({"gpu-fraction": ".25"}, "0.25"),
        ({"gpu-fraction": "5e-1"}, "0.5"),
        ({"gpu-fraction": "+0.5"}, "0.5"),
        ({"gpu-memory": "04096"}, "4096Mi"),
        ({"gpu-memory": "4096"}, "4096Mi"),
        ({"gpu-fraction": "half"}, ""),
        ({}, ""),
    ],
)
def test_the_limit_is_what_the_pod_requests(annotations: dict[str, str], limit: str) -> None:
    assert limit_of({"metadata": {"annotations": annotations}}) == limit


def test_a_pod_without_a_share_is_left_alone() -> None:
    whole = half()
    del whole["metadata"]["annotations"]
    assert decide(whole, rules_with(), NO_QUEUES) == Guarding(False)


# ---- who chooses ---------------------------------------------------------------------------------

CHOOSING = Cluster(
    top=("", "true"),
    strict=("top", ""),
    free=("top", "false"),
    alpine=("free", ""),
    plain=("", ""),
    typo=("", "yes"),
    round_a=("round_b", ""),
    round_b=("round_a", ""),
)


@pytest.mark.parametrize(
    ("queue", "choice", "by_default", "is_guarded"),
    [
        ("strict", "", False, True),
        ("alpine", "", True, False),
        ("plain", "", True, True),
        ("plain", "", False, False),
        ("missing", "", True, True),
        ("typo", "", False, False),
        ("round_a", "", True, True),
        ("", "", False, False),
        ("strict", "false", True, False),
        ("free", "true", False, True),
    ],
)
def test_the_pod_chooses_then_its_queue_then_the_queues_above_then_the_cluster(
    queue: str, choice: str, by_default: bool, is_guarded: bool
) -> None:
    rules = rules_with(shares=by_default)
    assert decide(half(queue=queue, choice=choice), rules, CHOOSING) == Guarding(is_guarded)


@pytest.mark.parametrize("choice", ["no", "True", "FALSE", " "])
@pytest.mark.parametrize(("queue", "by_default"), [("free", True), ("strict", False)])
def test_a_value_that_chooses_nothing_is_said(choice: str, queue: str, by_default: bool) -> None:
    rules = rules_with(shares=by_default)
    found = decide(half(queue=queue, choice=choice), rules, CHOOSING)
    assert found.is_guarded is decide(half(queue=queue), rules, CHOOSING).is_guarded
    words = "gets the guard" if found.is_guarded else "gets no guard"
    assert found.problem == (
        f"the pod {words} of its GPU memory: the annotation kai.scheduler/gpu-guard is {choice!r}:"
        ' write "true" or "false"'
    )


def test_a_cluster_may_name_queues_by_another_label() -> None:
    given = half()
    given["metadata"]["labels"] = {"team": "free"}
    rules = Rules(guard=Guard(IMAGE), queue_label="team")
    assert decide(given, rules, CHOOSING) == Guarding(False)


def test_without_an_image_no_choice_has_an_effect() -> None:
    assert decide(half(choice="true"), Rules(), CHOOSING) == Guarding(False)


@pytest.mark.parametrize("by_default", [True, False])
def test_before_the_queues_are_listed_the_cluster_chooses_and_says_so(by_default: bool) -> None:
    found = decide(half(queue="a"), rules_with(shares=by_default), Known())
    assert found.is_guarded is by_default
    assert "the choice of queue a is not known yet: create the pod again" in found.problem
    own = decide(half(queue="a", choice="true"), rules_with(shares=by_default), Known())
    assert own == Guarding(True)


# ---- pods that cannot have it --------------------------------------------------------------------

FIRST = {"name": "first", "image": "example/app:1"}


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (
            half(volumes=[{"name": "kai-guard", "configMap": {"name": "c"}}]),
            "it has a volume kai-guard of its own: rename it",
        ),
        (
            half(initContainers=[container("kai-guard")]),
            "it has a container kai-guard of its own: rename it",
        ),
        (
            half(container(), container("kai-guard")),
            "it has a container kai-guard of its own: rename it",
        ),
        (
            half(container(volumeMounts=[{"name": "kai-guard", "mountPath": "/data"}])),
            "container main mounts kai-guard at /data: move it",
        ),
        (
            half(container(volumeMounts=[{"name": "data", "mountPath": "/run/kai-guard/"}])),
            "container main mounts data at /run/kai-guard/: move it",
        ),
        (
            half(container(env=[{"name": "LD_PRELOAD", "valueFrom": {"configMapKeyRef": {}}}])),
            "container main has LD_PRELOAD by reference: write its value",
        ),
    ],
)
def test_a_pod_that_cannot_have_it_says_why(given: dict[str, Any], problem: str) -> None:
    said = problem_of(given)
    assert said == (
        f"the pod gets no guard of its GPU memory: {problem}, or write the annotation"
        ' kai.scheduler/gpu-guard: "false"'
    )
    given["metadata"]["annotations"][CHOICE] = "false"
    assert problem_of(given) == ""


def test_a_share_of_an_init_container_is_not_guarded() -> None:
    given = half(initContainers=[FIRST])
    given["metadata"]["annotations"]["gpu-fraction-container-name"] = "first"
    assert "its share is in the init container first" in problem_of(given)
    assert "kai-guard" not in str(created(given))


@pytest.mark.parametrize("wrong", [5, "x", ["x"], {}])
@pytest.mark.parametrize("part", ["volumeMounts", "env"])
def test_a_list_that_is_none_is_left_to_the_api_server(part: str, wrong: Any) -> None:
    given = half(container(**{part: wrong}))
    assert created(given) == given


# ---- MPS -----------------------------------------------------------------------------------------


def with_mps(*containers: dict[str, Any], **more: Any) -> dict[str, Any]:
    given = half(*containers, **more)
    given["metadata"]["annotations"] |= {"mps": "true", "runai/shared-gpu-configmap": "p"}
    return given


def reference(name: str, *, optional: bool) -> dict[str, Any]:
    key: dict[str, Any] = {"name": "p-0", "key": name, **({"optional": True} if optional else {})}
    return {"name": name, "valueFrom": {"configMapKeyRef": key}}


LIMIT, THREADS = "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"


def test_a_pod_with_mps_gets_its_memory_limit_and_no_library() -> None:
    patched = created(with_mps())
    assert reference(LIMIT, optional=True) in patched["spec"]["containers"][0]["env"]
    assert {THREADS, "LD_PRELOAD"}.isdisjoint(values_of(patched))
    assert "initContainers" not in patched["spec"]
    assert created(patched) == patched


def test_its_part_of_the_compute_time_is_a_choice() -> None:
    env = created(with_mps(), mps_threads=True)["spec"]["containers"][0]["env"]
    assert env[-2:] == [reference(each, optional=True) for each in (LIMIT, THREADS)]


def test_where_it_is_required_a_pod_with_mps_gets_the_library_too() -> None:
    """The limits of MPS are none where its daemon does not run, or without the node's label."""
    patched = created(with_mps(), required=True)
    assert values_of(patched)["LD_PRELOAD"] == "/run/kai-guard/libkaiguard.so"
    assert values_of(patched)["KAI_GUARD_LIMIT"] == "0.5"
    assert patched["spec"]["initContainers"][0]["args"][-1] == "/run/kai-guard"
    assert patched["spec"]["containers"][0]["env"][-1] == reference(LIMIT, optional=True)
    assert created(patched, required=True) == patched


def test_where_it_is_required_a_pod_with_mps_that_cannot_have_the_library_says_why() -> None:
    given = with_mps(volumes=[{"name": "kai-guard", "hostPath": {"path": "/"}}])
    found = decide(given, rules_with(required=True), NO_QUEUES)
    assert not found.is_guarded
    assert "it has a volume kai-guard of its own: rename it" in found.problem


def test_limits_that_the_pod_sets_itself_stay() -> None:
    own = {"name": LIMIT, "value": "0=1G"}
    patched = created(with_mps(container(env=[own])))
    assert [each for each in patched["spec"]["containers"][0]["env"] if each["name"] == LIMIT] == [
        own
    ]


def test_a_pod_with_mps_that_chooses_none_has_no_limit() -> None:
    assert LIMIT not in values_of(created(with_mps(choice="false")))
    assert LIMIT in values_of(created(with_mps(container(), volumes=[{"name": "kai-guard"}])))
