"""What a process reads again: all pods when it starts leading, and a pod with an unclear
binding."""

import asyncio
import io

import pytest

from fakes.clock import QuickClock
from fakes.http_server import FakeApi, ok
from fakes.scenarios import in_a_loop
from kai.api.writes import Read
from kai.controllers.courses import Find
from kai.controllers.planning.turns import Turn
from kai.controllers.pods.decisions import Binding
from kai.service.log import Log
from kai.service.options import Options
from kai.service.service import Service


@in_a_loop
async def test_a_new_leader_plans_after_it_has_listed_pods_and_not_before() -> None:
    async with FakeApi() as api, api.client(QuickClock()) as client:
        service = Service(client, Options(), Log(stream=io.StringIO()))
        service._watch("Pod")
        election = service._election
        assert election is not None
        election._leads = True
        for lease in election._leases:
            lease.held_from = client.clock.monotonic()
        assert service._may_plan()
        service._started_leading()
        assert not service._may_plan()  # already before the event loop has run
        listing, service._listing = service._listing, None
        assert listing is not None
        for task in (listing, *service._watching.values()):
            task.cancel()
        await asyncio.gather(listing, *service._watching.values(), return_exceptions=True)


@in_a_loop
async def test_a_plan_of_an_earlier_term_is_taken_back() -> None:
    async with FakeApi() as api, api.client(QuickClock()) as client:
        service = Service(client, Options(), Log(stream=io.StringIO()))
        turn = Turn(bindings=[Binding("team/a", "u", "n1", 7, "pg-a")])
        service._acts.not_begun(turn)
        assert turn.bindings == []
        assert service._inputs().forgotten == [7]


@in_a_loop
async def test_a_pod_that_waits_for_its_devices_does_not_wait_without_the_lease() -> None:
    """It would fail when its time is over, although the next leader has bound it meanwhile."""
    async with FakeApi() as api, api.client(QuickClock()) as client:
        service = Service(client, Options(), Log(stream=io.StringIO()))
        needs = {"receivedResourceType": "Fraction", "selectedGPUGroups": ["g"]}
        service._acts.pods.begin("", [Binding("team/a", "u", "n1", 7, "pg-a", spec=needs)], [])
        service._acts._go_on()
        assert service._acts.under_way == 1
        service._lost_leading()
        assert service._acts.under_way == 0
        assert service._inputs().forgotten == [7]


@pytest.mark.parametrize(("uid", "is_for_plans", "taken"), [
    ("u", True, True), ("another", True, False), ("u", False, False),
])  # fmt: skip
@in_a_loop
async def test_a_read_pod_updates_only_a_known_pod(
    *, uid: str, is_for_plans: bool, taken: bool
) -> None:
    """The grouper gets pods only from the watch, and a known pod is not news."""
    async with FakeApi() as api, api.client(QuickClock()) as client:
        service = Service(client, Options(), Log(stream=io.StringIO()))
        metadata = {"namespace": "team", "name": "a", "uid": uid}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {}}
        api.on("GET", "/api/v1/namespaces/team/pods/a", ok(body))
        find = Find(Read("Pod", "team", "a"), is_for_plans=is_for_plans, uid="u")
        await service._acts._find_for(find)
        assert bool(service._inputs().looked_at) == taken
