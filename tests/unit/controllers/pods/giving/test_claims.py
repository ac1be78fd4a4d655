"""A pod gets the devices of its claims before it is bound, and releases them if it is not."""

import pytest
from small_server import Harness, Object, SmallServer, binding, claim, device_class, devices, pod

from fakes.writes import BUSY, LOST, REFUSED
from kai.api.writes import NOT_LEADING, Outcome, Result, Write
from kai.controllers.courses import Send
from kai.controllers.pods.claims.allocations import FINALIZER, MOST_CONSUMERS, made_name, names_of
from kai.controllers.pods.decisions import Binding

PLUGIN = "plugin dynamicresources failed in PreBind: "


def user(name: str) -> Object:
    return {"resource": "pods", "name": name, "uid": f"uid-{name}"}


def held(name: str, *users: str, device: str = "gpu-0") -> Object:
    status = {"allocation": devices(device), "reservedFor": [user(each) for each in users]}
    return {**claim(name, finalizers=[FINALIZER]), "status": status}


PLANNED = binding(gpu=devices("gpu-1"))


def played(*objects: Object, device: str = "gpu-1") -> tuple[SmallServer, Harness]:
    """A pod gets the device for its claim c, until no request is under way."""
    server = SmallServer(*objects)
    harness = Harness(server)
    harness.begin(binding(gpu=devices(device)), pod(gpu="c"))
    harness.run()
    return server, harness


def test_one_patch_writes_devices_and_user_of_a_claim() -> None:
    server, harness = played(claim("c"))
    assert (harness.ready, harness.failed) == (["team/p"], [])
    assert server.did == ["patch ResourceClaim c", "patch ResourceClaim c/status"]
    assert (server.given("c"), server.users("c")) == (["gpu-1"], ["p"])
    assert server.claim("c")["metadata"]["finalizers"] == [FINALIZER]


def test_a_claim_with_the_finalizer_takes_one_write() -> None:
    server, _ = played(claim("c", finalizers=[FINALIZER]))
    assert server.did == ["patch ResourceClaim c/status"]


def test_a_pod_is_added_to_the_users_of_a_claim() -> None:
    server, harness = played(held("c", "other"), device="gpu-0")
    assert harness.ready == ["team/p"]
    assert (server.given("c"), server.users("c")) == (["gpu-0"], ["other", "p"])


def test_writes_of_an_earlier_process_are_not_repeated() -> None:
    server, harness = played(held("c", "p"), device="gpu-0")
    assert (harness.ready, server.did) == (["team/p"], [])


def test_a_pod_is_ready_after_all_its_claims() -> None:
    server = SmallServer(claim("a"), claim("b"))
    harness = Harness(server)
    harness.begin(binding(one=devices("gpu-0"), two=devices("gpu-1")), pod(one="a", two="b"))
    while server.users("a") + server.users("b") != ["p", "p"]:
        assert harness.ready == []
        harness.step()
    assert harness.ready == ["team/p"]


def test_the_second_of_two_writers_is_planned_again() -> None:
    server = SmallServer(claim("c"))
    first, second = Harness(server), Harness(server)
    first.begin(binding(gpu=devices("gpu-0")), pod(gpu="c"))
    second.begin(binding("q", gpu=devices("gpu-1")), pod("q", gpu="c"))
    while first.work or second.work:
        for harness in (first, second):
            if harness.work:
                harness.step()
    assert (first.ready, first.failed) == (["team/p"], [])
    assert (second.ready, second.failed) == (
        [],
        [f"{PLUGIN}resource claim team/c has other devices now"],
    )
    assert (server.given("c"), server.users("c")) == (["gpu-0"], ["p"])


def test_two_writers_with_equal_devices_both_succeed() -> None:
    server = SmallServer(claim("c"))
    first, second = Harness(server), Harness(server)
    first.begin(binding(gpu=devices("gpu-0")), pod(gpu="c"))
    second.begin(binding("q", gpu=devices("gpu-0")), pod("q", gpu="c"))
    while first.work or second.work:
        for harness in (first, second):
            if harness.work:
                harness.step()
    assert first.ready + second.ready == ["team/p", "team/q"]
    assert sorted(server.users("c")) == ["p", "q"]


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (None, "resource claim team/c does not exist"),
        (claim("c", deletionTimestamp="now"), "resource claim team/c is being deleted"),
        (held("c", device="gpu-7"), "resource claim team/c has other devices now"),
        (
            held("c", *(f"u{n}" for n in range(MOST_CONSUMERS))),
            "resource claim team/c has reached its maximum number of consumers (256)",
        ),
    ],
)
def test_an_invalid_claim_is_the_reason(found: Object | None, why: str) -> None:
    server, harness = played(*([found] if found else []), device="gpu-0")
    assert (harness.ready, harness.failed, server.did) == ([], [PLUGIN + why], [])


def test_the_status_of_a_pod_has_the_claim_of_a_template() -> None:
    spec = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}, {"name": "no"}]}
    statuses = [{"name": "gpu", "resourceClaimName": "p-gpu-x"}]
    assert names_of({"spec": spec}) == {"gpu": "", "no": ""}
    assert names_of({"spec": spec, "status": {"resourceClaimStatuses": statuses}}) == {
        "gpu": "p-gpu-x",
        "no": "",
    }
    statuses.append({"name": "no"})  # this pod needs no claim
    assert names_of({"spec": spec, "status": {"resourceClaimStatuses": statuses}}) == {
        "gpu": "p-gpu-x"
    }


def test_a_claim_of_a_template_that_is_not_created_yet_fails() -> None:
    waits = pod()
    waits["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "t"}]
    harness = Harness(SmallServer())
    harness.begin(binding(gpu=devices("gpu-0")), waits)
    assert harness.failed == [
        f"{PLUGIN}no resource claim name found for pod team/p and claim reference gpu"
    ]


def test_drivers_get_parameters_of_class_and_claim() -> None:
    opaque = {"opaque": {"driver": "gpu.nvidia.com", "parameters": {"sharing": "TimeSlicing"}}}
    made = claim("c", finalizers=[FINALIZER])
    made["spec"]["devices"]["config"] = [
        {"requests": ["gpu"], **opaque},
        {"requests": ["other"], **opaque},
    ]
    server = SmallServer(made)
    server.put(device_class(config=[opaque]))
    harness = Harness(server)
    harness.begin(binding(gpu=devices("gpu-1")), pod(gpu="c"))
    harness.run()
    assert server.claim("c")["status"]["allocation"]["devices"]["config"] == [
        {"source": "FromClass", "requests": ["gpu"], **opaque},
        {"source": "FromClaim", "requests": ["gpu"], **opaque},
    ]


# ---- failures ------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [0, 1])
@pytest.mark.parametrize("is_done", [False, True])
def test_a_write_with_a_lost_answer_is_checked(at: int, is_done: bool) -> None:
    server = SmallServer(claim("c"))
    harness = Harness(server)

    def lose(write: Write) -> None:
        if len(server.did) == at:
            if is_done:
                server.apply(write)
            server.answers = [LOST]

    harness.between = lose
    harness.begin(binding(gpu=devices("gpu-1")), pod(gpu="c"))
    harness.run()
    assert (harness.ready, harness.failed) == (["team/p"], [])
    assert (server.given("c"), server.users("c")) == (["gpu-1"], ["p"])


def test_reads_of_a_changing_claim_are_limited() -> None:
    server = SmallServer(claim("c", finalizers=[FINALIZER]))
    harness = Harness(server)
    harness.between = lambda _: server.put(server.claim("c"))
    harness.begin(binding(gpu=devices("gpu-1")), pod(gpu="c"))
    harness.run()
    [why] = harness.failed
    assert why.startswith(f"{PLUGIN}resource claim c: Operation cannot be fulfilled")
    assert "the object has been modified" in why


@pytest.mark.parametrize("refusal", [REFUSED, BUSY])
def test_a_refused_write_fails_the_binding_with_the_servers_message(
    refusal: Outcome,
) -> None:
    server = SmallServer(claim("c", finalizers=[FINALIZER]))
    server.answers = [refusal]
    harness = Harness(server)
    harness.begin(binding(gpu=devices("gpu-1")), pod(gpu="c"))
    harness.run()
    assert harness.failed == [f"{PLUGIN}resource claim team/c: {refusal.message}"]


def test_a_failed_binding_releases_only_its_own_devices() -> None:
    server = SmallServer(claim("mine"), held("ours", "other"))
    harness = Harness(server)
    planned = binding(one=devices("gpu-1"), two=devices("gpu-0"))
    harness.begin(planned, pod(one="mine", two="ours"))
    harness.run()
    harness.undo(planned)
    assert (server.given("mine"), server.users("mine")) == ([], [])
    assert (server.given("ours"), server.users("ours")) == (["gpu-0"], ["other"])
    assert len(harness) == 0


def test_earlier_devices_stay_when_the_last_user_is_removed() -> None:
    server, harness = played(held("c"), device="gpu-0")
    harness.undo(PLANNED)
    assert (server.given("c"), server.users("c")) == (["gpu-0"], [])


@pytest.mark.parametrize("later", [devices("gpu-1"), None], ids=["planned together", "later"])
def test_the_last_pod_without_a_node_releases_devices_that_another_one_got(
    later: Object | None,
) -> None:
    """Otherwise the claim would keep both pods on a node to which they cannot be bound."""
    server = SmallServer(claim("c"))
    harness = Harness(server)
    first = binding(gpu=devices("gpu-1"))
    second = binding("q", **({"gpu": later} if later else {}))
    for each, name in ((first, "p"), (second, "q")):
        harness.begin(each, pod(name, gpu="c"))
        harness.run()
    harness.undo(first)
    assert (server.given("c"), server.users("c")) == (["gpu-1"], ["q"])
    harness.undo(second)
    assert (server.given("c"), server.users("c")) == ([], [])


def test_a_pod_that_follows_a_bound_one_releases_no_devices() -> None:
    """The first pod was bound and has ended since."""
    server = SmallServer(claim("c"))
    harness = Harness(server)
    first, second = binding(gpu=devices("gpu-1")), binding("q")
    harness.begin(first, pod(gpu="c"))
    harness.run()
    harness.keep(first)
    server.change("ResourceClaim", "team", "c", {"status": {"reservedFor": []}})
    harness.begin(second, pod("q", gpu="c"))
    harness.run()
    harness.undo(second)
    assert (server.given("c"), server.users("c")) == (["gpu-1"], [])


def test_writes_under_way_when_the_binding_fails_are_undone() -> None:
    server = SmallServer(claim("c", finalizers=[FINALIZER]))
    harness = Harness(server)
    harness.begin(PLANNED, pod(gpu="c"))
    while not any(isinstance(each, Send) for each in harness.work):
        harness.step()
    harness.undo(PLANNED)
    assert (server.given("c"), server.users("c"), len(harness)) == ([], [], 0)


def test_a_failed_release_is_repeated() -> None:
    server, harness = played(claim("c", finalizers=[FINALIZER]))
    server.answers = [BUSY]
    harness.undo(PLANNED)
    assert server.users("c") == ["p"]
    assert harness.courses.next() == 1.0
    harness.now = 1.0
    harness.go_on()
    harness.run()
    assert (server.users("c"), len(harness)) == ([], 0)


def test_a_new_binding_waits_until_the_previous_one_is_undone() -> None:
    server = SmallServer(claim("c", finalizers=[FINALIZER]))
    harness = Harness(server)
    first, second = binding(gpu=devices("gpu-1")), binding(gpu=devices("gpu-2"))
    harness.begin(first, pod(gpu="c"))
    harness.run()
    harness.take_back(first)
    harness.begin(second, pod(gpu="c"))
    harness.run()
    assert harness.ready == ["team/p", "team/p"]
    assert (server.given("c"), server.users("c")) == (["gpu-2"], ["p"])


def test_a_process_that_lost_its_lease_releases_nothing() -> None:
    """The current leader may have bound the pod with these devices."""
    server, harness = played(claim("c", finalizers=[FINALIZER]))
    server.answers = [
        Outcome(Result.FAILED, 0, NOT_LEADING, "this process no longer holds the lease")
    ]
    harness.undo(PLANNED)
    assert (server.users("c"), len(harness), harness.courses.next()) == (["p"], 0, None)


def test_a_bound_pod_keeps_its_devices() -> None:
    server, harness = played(claim("c"))
    harness.keep(PLANNED)
    harness.take_back(PLANNED)
    assert (harness.work, server.users("c"), len(harness)) == ([], ["p"], 0)


# ---- extended resources --------------------------------------------------------------------------

REQUEST = {
    "name": "container-0-request-0",
    "exactly": {"deviceClassName": "gpu.nvidia.com", "allocationMode": "ExactCount", "count": 1},
}
MAPPING = {
    "containerName": "main",
    "requestName": "container-0-request-0",
    "resourceName": "nvidia.com/gpu",
}
MADE = made_name("p", "uid-p")


def extended() -> Binding:
    spec = {
        "extendedResourceClaimAllocation": {
            "allocation": devices("gpu-3", request="container-0-request-0"),
            "deviceRequests": [REQUEST],
            "containerMappings": [MAPPING],
        }
    }
    return Binding("team/p", "uid-p", "n1", 1, "pg", spec=spec)


def test_a_claim_is_made_for_extended_resources_and_the_pod_names_it() -> None:
    server = SmallServer(pod())
    harness = Harness(server)
    harness.begin(extended(), pod())
    harness.run()
    assert harness.ready == ["team/p"]
    made = server.claim(MADE)
    assert made["metadata"]["annotations"] == {
        "resource.kubernetes.io/extended-resource-claim": "true"
    }
    assert [each["uid"] for each in made["metadata"]["ownerReferences"]] == ["uid-p"]
    assert made["spec"]["devices"]["requests"] == [REQUEST]
    assert (server.given(MADE), server.users(MADE)) == (["gpu-3"], ["p"])
    named = server.get("Pod", "team", "p")
    assert named is not None
    assert named["status"]["extendedResourceClaimStatus"] == {
        "resourceClaimName": MADE,
        "requestMappings": [MAPPING],
    }


@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize("is_done", [False, True])
def test_a_process_may_end_after_any_write_and_the_next_continues(at: int, is_done: bool) -> None:
    server = SmallServer(pod())
    harness = Harness(server)
    harness.begin(extended(), pod())
    while len(server.did) < at:
        harness.step()
    while not isinstance(harness.work[0], Send):
        harness.step()
    if is_done:
        server.send(harness.work[0].write)
    following = Harness(server)
    found = server.get("Pod", "team", "p")
    assert found is not None
    following.begin(extended(), found)
    following.run()
    assert following.ready == ["team/p"]
    claims = [each["metadata"]["name"] for each in server.all("ResourceClaim")]
    assert (claims, server.users(MADE)) == ([MADE], ["p"])


def test_what_an_earlier_process_gave_to_a_pod_is_released_if_its_binding_is_refused() -> None:
    """Its claim kept the pod on a node to which it could not be bound."""
    server, harness = played(held("c", "p"), held("d"), device="gpu-0")
    assert (harness.ready, server.did) == (["team/p"], [])
    harness.undo(binding(gpu=devices("gpu-0")))
    assert (server.given("c"), server.users("c")) == ([], [])
    assert server.given("d") == ["gpu-0"]  # of another pod


@pytest.mark.parametrize("other_is_bound", [False, True])
def test_devices_that_an_earlier_process_gave_to_two_pods_stay_until_both_are_without_a_node(
    other_is_bound: bool,
) -> None:
    server, harness = played(held("c", "p", "q"), device="gpu-0")
    harness.undo(binding(gpu=devices("gpu-0")))
    assert (server.given("c"), server.users("c")) == (["gpu-0"], ["q"])
    harness.begin(binding("q"), pod("q", gpu="c"))
    harness.run()
    (harness.keep if other_is_bound else harness.undo)(binding("q"))
    left = (["gpu-0"], ["q"]) if other_is_bound else ([], [])
    assert (server.given("c"), server.users("c")) == left


@pytest.mark.parametrize("first", [held("b", "p"), held("b", "p", device="gpu-7"), None])
def test_all_claims_that_an_earlier_process_gave_to_a_pod_are_released(
    first: Object | None,
) -> None:
    """Also if another one of its claims is the reason."""
    server = SmallServer(held("c", "p"), *([first] if first else []))
    harness = Harness(server)
    planned = binding(one=devices("gpu-0"), two=devices("gpu-0"))
    harness.begin(planned, pod(one="b", two="c"))
    harness.run()
    if not harness.failed:
        harness.undo(planned)
    assert (server.given("c"), server.users("c")) == ([], [])


def test_a_claim_that_an_earlier_process_made_is_deleted_if_the_binding_is_refused() -> None:
    server = SmallServer(pod())
    earlier, harness = Harness(server), Harness(server)
    earlier.begin(extended(), pod())
    earlier.run()
    found = server.get("Pod", "team", "p")
    assert found is not None
    harness.begin(extended(), found)
    harness.run()
    harness.undo(extended())
    [made] = server.all("ResourceClaim")
    assert "deletionTimestamp" in made["metadata"]


@pytest.mark.parametrize("steps", range(8))
def test_created_claims_are_deleted_when_the_binding_fails(steps: int) -> None:
    server = SmallServer(pod())
    harness = Harness(server)
    harness.begin(extended(), pod())
    for _ in range(steps):
        if harness.work:
            harness.step()
    harness.undo(extended())
    for each in server.all("ResourceClaim"):  # Kubernetes removes the finalizer of unused claims
        assert "deletionTimestamp" in each["metadata"]
        assert (server.given(MADE), server.users(MADE)) == ([], [])
    left = server.get("Pod", "team", "p")
    assert left is not None
    assert "extendedResourceClaimStatus" not in left["status"]
    assert len(harness) == 0


def test_a_claim_of_another_pod_with_the_name_is_not_used() -> None:
    server = SmallServer(pod(), claim(MADE))
    harness = Harness(server)
    harness.begin(extended(), pod())
    harness.run()
    assert harness.failed == [f"{PLUGIN}resource claim team/{MADE} was not made for this pod"]
    harness.undo(extended())
    assert server.users(MADE) == []


def test_long_pod_names_give_valid_claim_names() -> None:
    name = made_name("a" * 225 + "-" + "b" * 27, "uid")
    assert len(name) <= 253
    assert "--" not in name
    assert made_name("p", "uid-1") != made_name("p", "uid-2")
