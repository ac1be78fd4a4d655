"""A pod gets the devices of its claims before it is bound, and releases them if it is not."""

from __future__ import annotations

import pytest
from small_server import Desk, Object, SmallServer, binding, claim, device_class, devices, pod

from kai.api.writes import NOT_LEADING, Outcome, Result, Write
from kai.controllers.claims.allocations import FINALIZER, MOST_CONSUMERS, made_name, names_of
from kai.controllers.one_binding import Binding

LOST = Outcome(Result.LOST)
FAILED = Outcome(Result.FAILED, 503, "ServiceUnavailable", "busy")
REFUSED = Outcome(Result.REFUSED, 403, "Forbidden", "policy says no")
PLUGIN = "plugin dynamicresources failed in PreBind: "


def user(name: str) -> Object:
    return {"resource": "pods", "name": name, "uid": f"uid-{name}"}


def held(name: str, *users: str, device: str = "gpu-0") -> Object:
    status = {"allocation": devices(device), "reservedFor": [user(each) for each in users]}
    return {**claim(name, finalizers=[FINALIZER]), "status": status}


def test_a_claim_gets_its_devices_and_its_user_in_one_patch() -> None:
    server = SmallServer(claim("c"))
    desk = Desk(server)
    desk.begin(binding(gpu=devices("gpu-1")), pod(gpu="c"))
    desk.run()
    assert (desk.ready, desk.failed) == (["team/p"], [])
    assert server.did == ["patch ResourceClaim c", "patch ResourceClaim c/status"]
    assert (server.given("c"), server.users("c")) == (["gpu-1"], ["p"])
    assert server.claim("c")["metadata"]["finalizers"] == [FINALIZER]


def test_a_claim_that_is_protected_already_takes_one_write() -> None:
    server = SmallServer(claim("c", finalizers=[FINALIZER]))
    desk = Desk(server)
    desk.begin(binding(gpu=devices("gpu-1")), pod(gpu="c"))
    desk.run()
    assert server.did == ["patch ResourceClaim c/status"]


def test_a_claim_that_others_use_gets_one_user_more() -> None:
    server = SmallServer(held("c", "other"))
    desk = Desk(server)
    desk.begin(binding(gpu=devices("gpu-0")), pod(gpu="c"))
    desk.run()
    assert desk.ready == ["team/p"]
    assert (server.given("c"), server.users("c")) == (["gpu-0"], ["other", "p"])


def test_what_was_done_by_a_process_that_ended_is_not_done_again() -> None:
    server = SmallServer(held("c", "p"))
    desk = Desk(server)
    desk.begin(binding(gpu=devices("gpu-0")), pod(gpu="c"))
    desk.run()
    assert (desk.ready, server.did) == (["team/p"], [])


def test_all_claims_of_a_pod_are_given_before_it_is_ready() -> None:
    server = SmallServer(claim("a"), claim("b"))
    desk = Desk(server)
    desk.begin(binding(one=devices("gpu-0"), two=devices("gpu-1")), pod(one="a", two="b"))
    while server.users("a") + server.users("b") != ["p", "p"]:
        assert desk.ready == []
        desk.step()
    assert desk.ready == ["team/p"]


def test_of_two_writers_one_wins_and_the_other_is_planned_again() -> None:
    server = SmallServer(claim("c"))
    first, second = Desk(server), Desk(server)
    first.begin(binding(gpu=devices("gpu-0")), pod(gpu="c"))
    second.begin(binding("q", gpu=devices("gpu-1")), pod("q", gpu="c"))
    while first.work or second.work:
        for desk in (first, second):
            if desk.work:
                desk.step()
    assert (first.ready, first.failed) == (["team/p"], [])
    assert (second.ready, second.failed) == (
        [],
        [f"{PLUGIN}resource claim team/c has other devices now"],
    )
    assert (server.given("c"), server.users("c")) == (["gpu-0"], ["p"])


def test_of_two_writers_with_the_same_devices_both_get_them() -> None:
    server = SmallServer(claim("c"))
    first, second = Desk(server), Desk(server)
    first.begin(binding(gpu=devices("gpu-0")), pod(gpu="c"))
    second.begin(binding("q", gpu=devices("gpu-0")), pod("q", gpu="c"))
    while first.work or second.work:
        for desk in (first, second):
            if desk.work:
                desk.step()
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
def test_what_is_wrong_with_a_claim_is_the_reason(found: Object | None, why: str) -> None:
    server = SmallServer(*([found] if found else []))
    desk = Desk(server)
    desk.begin(binding(gpu=devices("gpu-0")), pod(gpu="c"))
    desk.run()
    assert (desk.ready, desk.failed, server.did) == ([], [PLUGIN + why], [])


def test_a_claim_of_a_template_is_found_by_the_status_of_the_pod() -> None:
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


def test_a_claim_that_is_still_to_be_made_is_waited_for() -> None:
    waits = pod()
    waits["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "t"}]
    desk = Desk(SmallServer())
    desk.begin(binding(gpu=devices("gpu-0")), waits)
    assert desk.failed == [
        f"{PLUGIN}no resource claim name found for pod team/p and claim reference gpu"
    ]


def test_drivers_get_what_class_and_claim_say() -> None:
    opaque = {"opaque": {"driver": "gpu.nvidia.com", "parameters": {"sharing": "TimeSlicing"}}}
    asks = claim("c", finalizers=[FINALIZER])
    asks["spec"]["devices"]["config"] = [
        {"requests": ["gpu"], **opaque},
        {"requests": ["other"], **opaque},
    ]
    server = SmallServer(asks)
    server.objects["DeviceClass", "gpu.nvidia.com"] = device_class(config=[opaque])
    desk = Desk(server)
    desk.begin(binding(gpu=devices("gpu-1")), pod(gpu="c"))
    desk.run()
    assert server.claim("c")["status"]["allocation"]["devices"]["config"] == [
        {"source": "FromClass", "requests": ["gpu"], **opaque},
        {"source": "FromClaim", "requests": ["gpu"], **opaque},
    ]


# ---- failures ------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [0, 1])
@pytest.mark.parametrize("is_done", [False, True])
def test_a_write_without_an_answer_is_looked_at(at: int, is_done: bool) -> None:
    server = SmallServer(claim("c"))
    desk = Desk(server)

    def lose(write: Write) -> None:
        if len(server.did) == at:
            if is_done:
                server._carry_out(write)
            server.answers = [LOST]

    desk.between = lose
    desk.begin(binding(gpu=devices("gpu-1")), pod(gpu="c"))
    desk.run()
    assert (desk.ready, desk.failed) == (["team/p"], [])
    assert (server.given("c"), server.users("c")) == (["gpu-1"], ["p"])


def test_a_claim_that_always_changes_is_not_read_for_ever() -> None:
    server = SmallServer(claim("c", finalizers=[FINALIZER]))
    desk = Desk(server)
    desk.between = lambda _: server.put(server.objects["ResourceClaim", "c"])
    desk.begin(binding(gpu=devices("gpu-1")), pod(gpu="c"))
    desk.run()
    assert desk.failed == [f"{PLUGIN}resource claim c: it has changed"]


@pytest.mark.parametrize("refusal", [REFUSED, FAILED])
def test_what_cannot_be_written_fails_the_binding_with_the_words_of_the_server(
    refusal: Outcome,
) -> None:
    server = SmallServer(claim("c", finalizers=[FINALIZER]))
    server.answers = [refusal]
    desk = Desk(server)
    desk.begin(binding(gpu=devices("gpu-1")), pod(gpu="c"))
    desk.run()
    assert desk.failed == [f"{PLUGIN}resource claim team/c: {refusal.message}"]


def test_a_binding_that_fails_gives_back_what_it_took_and_nothing_of_others() -> None:
    server = SmallServer(claim("mine"), held("ours", "other"))
    desk = Desk(server)
    asked = binding(one=devices("gpu-1"), two=devices("gpu-0"))
    desk.begin(asked, pod(one="mine", two="ours"))
    desk.run()
    desk.take_back(asked)
    desk.run()
    assert (server.given("mine"), server.users("mine")) == ([], [])
    assert (server.given("ours"), server.users("ours")) == (["gpu-0"], ["other"])
    assert len(desk.giver) == 0


def test_devices_that_were_there_before_stay_when_the_last_user_goes() -> None:
    server = SmallServer(held("c"))
    desk = Desk(server)
    asked = binding(gpu=devices("gpu-0"))
    desk.begin(asked, pod(gpu="c"))
    desk.run()
    desk.take_back(asked)
    desk.run()
    assert (server.given("c"), server.users("c")) == (["gpu-0"], [])


def test_what_was_on_its_way_when_the_binding_failed_is_given_back_too() -> None:
    server = SmallServer(claim("c", finalizers=[FINALIZER]))
    desk = Desk(server)
    asked = binding(gpu=devices("gpu-1"))
    desk.begin(asked, pod(gpu="c"))
    while not any(isinstance(each, Write) for each in desk.work):
        desk.step()
    desk.take_back(asked)
    desk.run()
    assert (server.given("c"), server.users("c"), len(desk.giver)) == ([], [], 0)


def test_what_cannot_be_given_back_now_is_given_back_later() -> None:
    server = SmallServer(claim("c", finalizers=[FINALIZER]))
    desk = Desk(server)
    asked = binding(gpu=devices("gpu-1"))
    desk.begin(asked, pod(gpu="c"))
    desk.run()
    server.answers = [FAILED]
    desk.take_back(asked)
    desk.run()
    assert server.users("c") == ["p"]
    assert desk.giver.next_tick() == 1.0
    desk.now = 1.0
    desk.take(desk.giver.tick(1.0))
    desk.run()
    assert (server.users("c"), len(desk.giver)) == ([], 0)


def test_a_new_binding_waits_until_the_one_before_is_undone() -> None:
    server = SmallServer(claim("c", finalizers=[FINALIZER]))
    desk = Desk(server)
    first, second = binding(gpu=devices("gpu-1")), binding(gpu=devices("gpu-2"))
    desk.begin(first, pod(gpu="c"))
    desk.run()
    desk.take_back(first)
    desk.begin(second, pod(gpu="c"))
    desk.run()
    assert desk.ready == ["team/p", "team/p"]
    assert (server.given("c"), server.users("c")) == (["gpu-2"], ["p"])


def test_a_process_that_does_not_lead_any_more_gives_nothing_back() -> None:
    """The current leader may have bound the pod with these devices."""
    server = SmallServer(claim("c", finalizers=[FINALIZER]))
    desk = Desk(server)
    asked = binding(gpu=devices("gpu-1"))
    desk.begin(asked, pod(gpu="c"))
    desk.run()
    server.answers = [
        Outcome(Result.FAILED, 0, NOT_LEADING, "this process no longer holds the lease")
    ]
    desk.take_back(asked)
    desk.run()
    assert (server.users("c"), len(desk.giver), desk.giver.next_tick()) == (["p"], 0, None)


def test_a_pod_that_is_bound_keeps_what_it_has() -> None:
    server = SmallServer(claim("c"))
    desk = Desk(server)
    asked = binding(gpu=devices("gpu-1"))
    desk.begin(asked, pod(gpu="c"))
    desk.run()
    desk.giver.keep(asked)
    desk.take_back(asked)
    assert (desk.work, server.users("c"), len(desk.giver)) == ([], ["p"], 0)


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
    desk = Desk(server)
    desk.begin(extended(), pod())
    desk.run()
    assert desk.ready == ["team/p"]
    made = server.claim(MADE)
    assert made["metadata"]["annotations"] == {
        "resource.kubernetes.io/extended-resource-claim": "true"
    }
    assert [each["uid"] for each in made["metadata"]["ownerReferences"]] == ["uid-p"]
    assert made["spec"]["devices"]["requests"] == [REQUEST]
    assert (server.given(MADE), server.users(MADE)) == (["gpu-3"], ["p"])
    named = server.get("Pod", "p")
    assert named is not None
    assert named["status"]["extendedResourceClaimStatus"] == {
        "resourceClaimName": MADE,
        "requestMappings": [MAPPING],
    }


@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize("is_done", [False, True])
def test_a_process_that_ends_anywhere_leaves_what_the_next_one_goes_on_with(
    at: int, is_done: bool
) -> None:
    server = SmallServer(pod())
    desk = Desk(server)
    desk.begin(extended(), pod())
    while len(server.did) < at:
        desk.step()
    while not isinstance(desk.work[0], Write):
        desk.step()
    if is_done:
        server.write(desk.work[0])
    following = Desk(server)
    found = server.get("Pod", "p")
    assert found is not None
    following.begin(extended(), found)
    following.run()
    assert following.ready == ["team/p"]
    claims = [name for kind, name in server.objects if kind == "ResourceClaim"]
    assert (claims, server.users(MADE)) == ([MADE], ["p"])


@pytest.mark.parametrize("steps", range(8))
def test_whatever_was_made_goes_when_the_binding_fails(steps: int) -> None:
    server = SmallServer(pod())
    desk = Desk(server)
    desk.begin(extended(), pod())
    for _ in range(steps):
        if desk.work:
            desk.step()
    desk.take_back(extended())
    desk.run()
    assert server.get("ResourceClaim", MADE) is None
    left = server.get("Pod", "p")
    assert left is not None
    assert "extendedResourceClaimStatus" not in left["status"]
    assert len(desk.giver) == 0


def test_a_claim_of_that_name_that_is_of_another_pod_is_not_used() -> None:
    server = SmallServer(pod(), claim(MADE))
    desk = Desk(server)
    desk.begin(extended(), pod())
    desk.run()
    assert desk.failed == [f"{PLUGIN}resource claim team/{MADE} was not made for this pod"]
    desk.take_back(extended())
    desk.run()
    assert server.users(MADE) == []


def test_long_names_of_pods_make_names_of_claims() -> None:
    name = made_name("a" * 225 + "-" + "b" * 27, "uid")
    assert len(name) <= 253
    assert "--" not in name
    assert made_name("p", "uid-1") != made_name("p", "uid-2")
