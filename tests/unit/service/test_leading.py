"""What a process reads again: all pods when it starts leading, and a pod with an unclear
binding."""

import asyncio
import io

import pytest
from made import request

from fakes.clock import QuickClock, until
from fakes.http_server import FakeApi, ok
from fakes.scenarios import in_a_loop
from kai.api.writes import Lane, Read, Result
from kai.controllers.courses import Find
from kai.controllers.planning.turns import Turn
from kai.controllers.pods.bind_requests import Request, Target
from kai.controllers.pods.decisions import Binding
from kai.controllers.verdicts import Event
from kai.service.log import Log
from kai.service.options import Options
from kai.service.service import Service


def starts_leading(service: Service) -> None:
    election = service._election
    assert election is not None
    election._leads = True
    for lease in election._leases:
        lease.held_from = service._clock.monotonic()


@in_a_loop
async def test_a_new_leader_plans_after_it_has_listed_pods_and_not_before() -> None:
    async with FakeApi() as api, api.client(QuickClock()) as client:
        service = Service(client, Options(), Log(stream=io.StringIO()))
        service._watch("Pod")
        starts_leading(service)
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


@in_a_loop
async def test_events_that_were_not_sent_are_sent_in_the_next_term() -> None:
    async with FakeApi() as api, api.client(QuickClock()) as client:
        service = Service(client, Options(), Log(stream=io.StringIO()))
        bound = Event("Pod", "team", "a", "u", "Normal", "Scheduled", "it is on n1")
        service._emit(bound)
        await until(lambda: service._writer.results)
        assert service._writer.results == {(Lane.EVENT, Result.FAILED): 1}
        starts_leading(service)
        service._started_leading()
        assert service._writer.put_in[Lane.EVENT] == 2
        listing = service._listing
        assert listing is not None
        listing.cancel()
        await asyncio.gather(listing, return_exceptions=True)


@pytest.mark.parametrize("leads", [False, True])
@in_a_loop
async def test_only_the_leader_counts_pods_that_a_binder_has_bound(*, leads: bool) -> None:
    """A process that waited logged them, and counted their waits in its metrics."""
    async with FakeApi() as api, api.client(QuickClock()) as client:
        options = Options(roles=("scheduler",), binding="bind-requests")
        service = Service(client, options, Log(stream=io.StringIO()))
        if leads:
            starts_leading(service)
        for status in ({}, {"version": "2", "phase": "Succeeded"}):
            service._acts._request_changed("BindRequest", None, Request.of(request(**status)))
        bound = ["team/a-0"] if leads else []
        assert [each.pod for each in service._inputs().bound] == bound


@in_a_loop
async def test_open_bind_requests_do_not_wake_a_process_that_waits_for_its_lease() -> None:
    """It looked at them again and again, though only the leader may carry them out."""
    async with FakeApi() as api, api.client(QuickClock()) as client:
        options = Options(roles=("binder",))
        service = Service(client, options, Log(stream=io.StringIO()))
        service._acts._request_changed("BindRequest", None, Request.of(request()))
        assert not service._changed.is_set()
        starts_leading(service)
        service._acts._go_on()  # as after a turn
        assert service._changed.is_set()


@in_a_loop
async def test_a_bind_request_that_is_checked_again_waits_for_the_next_term() -> None:
    """Its time had come, so a process without the lease did not sleep."""
    async with FakeApi() as api, api.client(QuickClock()) as client:
        options = Options(roles=("scheduler",), binding="bind-requests")
        service = Service(client, options, Log(stream=io.StringIO()))
        acts, found = service._acts, Request.of(request())
        acts._request_changed("BindRequest", None, found)
        acts.take(may_act=True)
        acts.pods.requests.checked(found, Target())  # its pod may arrive later
        due = acts.next_tick()
        assert due is not None
        await client.clock.sleep(due - client.clock.monotonic())
        acts._go_on()
        acts.take(may_act=False)
        assert acts.next_tick() is None
        assert acts.take(may_act=True)["requests"] == (found,)


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
