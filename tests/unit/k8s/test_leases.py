"""Leader election: which process leads, until when, and the state of a stopped or cut-off
leader."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web
from fake_api import FakeApi, ManualClock, settle

from kai.k8s.leases import LeaderElection, Times

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kai/leases"


class Leases:
    """The leases of a namespace, with resource versions, on a fake API server."""

    def __init__(self, api: FakeApi) -> None:
        self.kept: dict[str, dict[str, Any]] = {}
        self.writes = list[tuple[str, str]]()
        # "before": requests get no answer; "after": they are applied without an answer
        self.broken = ""
        self._version, self._api = 0, api
        api.on("POST", LEASES, self._create)
        for name in ("a", "b"):
            api.on("GET", f"{LEASES}/{name}", self._get)
            api.on("PUT", f"{LEASES}/{name}", self._update)

    def holder(self, name: str = "a") -> str:
        return str(self.kept[name]["spec"]["holderIdentity"]) if name in self.kept else "-"

    def hold(self, name: str, holder: str, renewed: str = "2020-01-01T00:00:00.000000Z") -> None:
        self._version += 1
        spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed}
        metadata = {"name": name, "namespace": "kai", "uid": f"uid-{name}"}
        metadata["resourceVersion"] = str(self._version)
        self.kept[name] = {"kind": "Lease", "metadata": metadata, "spec": spec}

    async def _get(self, request: web.Request) -> web.StreamResponse:
        self._lose(request, "before")
        found = self.kept.get(request.path.rpartition("/")[2])
        return self._answer(found, 200 if found else 404)

    async def _create(self, request: web.Request) -> web.StreamResponse:
        self._lose(request, "before")
        record = await request.json()
        name = record["metadata"]["name"]
        if name in self.kept:
            return self._answer(None, 409)
        return self._keep(request, name, record, 201)

    async def _update(self, request: web.Request) -> web.StreamResponse:
        self._lose(request, "before")
        record = await request.json()
        name = record["metadata"]["name"]
        known = self.kept.get(name)
        if known is None:
            return self._answer(None, 404)
        if known["metadata"]["resourceVersion"] != record["metadata"]["resourceVersion"]:
            return self._answer(None, 409)
        return self._keep(request, name, record, 200)

    def _keep(
        self, request: web.Request, name: str, record: dict[str, Any], code: int
    ) -> web.StreamResponse:
        self._version += 1
        record["metadata"] |= {"uid": f"uid-{name}", "resourceVersion": str(self._version)}
        self.kept[name] = record
        self.writes.append((name, record["spec"]["holderIdentity"]))
        self._lose(request, "after")
        return self._answer(record, code)

    def _lose(self, request: web.Request, when: str) -> None:
        if self.broken == when:
            assert request.transport is not None
            request.transport.abort()

    def _answer(self, value: Any, code: int) -> web.StreamResponse:
        body = json.dumps(value or {"kind": "Status", "code": code}).encode()
        return web.Response(status=code, body=body)


class Candidate:
    """A running election, and its reports."""

    def __init__(
        self,
        api: FakeApi,
        clock: ManualClock,
        name: str,
        *leases: str,
        times: Times | None = None,
    ) -> None:
        self.calls = list[str]()
        self.client = api.client(clock)
        self.election = LeaderElection(
            self.client,
            "kai",
            leases or ("a",),
            name,
            times=times,
            on_started=lambda: self.calls.append("started"),
            on_lost=lambda: self.calls.append("lost"),
        )
        self.task = asyncio.create_task(self.election.run())

    @property
    def leads(self) -> bool:
        return self.election.is_leading()

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
        await self.client.close()


def run(scenario: Callable[[FakeApi, Leases, ManualClock], Awaitable[Any]]) -> None:
    async def main() -> None:
        async with FakeApi() as api:
            await scenario(api, Leases(api), ManualClock())

    asyncio.run(main())


async def pass_time(clock: ManualClock, seconds: float) -> None:
    """Moves the clock in small steps, with time for the resulting requests."""
    for _ in range(int(seconds * 2)):
        await clock.advance(0.5)
        await settle()


def test_the_first_candidate_leads_and_the_second_waits() -> None:
    async def scenario(api: FakeApi, leases: Leases, clock: ManualClock) -> None:
        one = Candidate(api, clock, "one")
        await pass_time(clock, 1)
        two = Candidate(api, clock, "two")
        await pass_time(clock, 60)
        assert (one.leads, two.leads) == (True, False)
        assert leases.holder() == "one"
        assert one.calls == ["started"]
        assert one.election.renewals >= 10
        assert two.election.problem == "a is held by one"
        record = leases.kept["a"]["spec"]
        assert record["leaseDurationSeconds"] == 15
        assert record["leaseTransitions"] == 0
        assert record["renewTime"] > record["acquireTime"]
        assert len(record["renewTime"]) == len("2026-01-01T00:00:00.000000Z")
        await one.stop()
        await two.stop()

    run(scenario)


def test_a_lease_is_released_at_the_end() -> None:
    async def scenario(api: FakeApi, leases: Leases, clock: ManualClock) -> None:
        one = Candidate(api, clock, "one")
        two = Candidate(api, clock, "two")
        await pass_time(clock, 1)
        first, second = (one, two) if one.leads else (two, one)
        await first.stop()
        assert leases.holder() == ""
        assert not first.leads
        await pass_time(clock, 7)
        assert second.leads
        assert leases.kept["a"]["spec"]["leaseTransitions"] == 1
        await second.stop()

    run(scenario)


def test_a_lease_with_a_write_under_way_is_left_to_expire() -> None:
    async def scenario(api: FakeApi, leases: Leases, clock: ManualClock) -> None:
        one = Candidate(api, clock, "one")
        await pass_time(clock, 1)
        two = Candidate(api, clock, "two")
        await pass_time(clock, 1)
        one.election.let_run_out()
        await one.stop()
        assert not one.leads
        assert leases.holder() == "one"
        await pass_time(clock, 9)
        assert not two.leads
        await pass_time(clock, 16)
        assert two.leads
        await two.stop()

    run(scenario)


def test_the_written_duration_is_rounded_up_to_seconds() -> None:
    async def scenario(api: FakeApi, leases: Leases, clock: ManualClock) -> None:
        one = Candidate(api, clock, "one", times=Times(2.5, 1.5, 0.5))
        await pass_time(clock, 1)
        assert leases.kept["a"]["spec"]["leaseDurationSeconds"] == 3
        await one.stop()

    run(scenario)


def test_a_leader_without_answers_stops_before_another_starts() -> None:
    async def scenario(api: FakeApi, leases: Leases, clock: ManualClock) -> None:
        one = Candidate(api, clock, "one")
        await pass_time(clock, 1)
        two = Candidate(api, clock, "two")
        await pass_time(clock, 6)
        cut = one.client._base
        one.client._origin = one.client._origin.with_port(1)  # nothing listens there
        ended = started = None
        for _ in range(80):
            await clock.advance(0.5)
            await settle()
            assert not (one.leads and two.leads)
            if ended is None and not one.leads:
                ended = clock.now
            if started is None and two.leads:
                started = clock.now
        assert cut
        assert ended is not None
        assert started is not None
        assert started - ended >= one.election.write_timeout - 0.5
        assert one.calls == ["started", "lost"]
        assert one.election.failures > 0
        assert leases.kept["a"]["spec"]["leaseTransitions"] == 1
        await one.stop()
        await two.stop()

    run(scenario)


def test_a_paused_process_does_not_lead_after_its_lease_expired() -> None:
    async def scenario(api: FakeApi, leases: Leases, clock: ManualClock) -> None:
        one = Candidate(api, clock, "one")
        await pass_time(clock, 1)
        assert one.leads
        clock.now += 20  # nothing of it has run meanwhile
        assert not one.leads
        assert one.election.leading_for() == 0
        await one.stop()

    run(scenario)


def test_a_lease_is_held_from_before_its_renewal_was_sent() -> None:
    async def scenario(api: FakeApi, leases: Leases, clock: ManualClock) -> None:
        one = Candidate(api, clock, "one")
        await pass_time(clock, 1)
        for lease in one.election._leases:
            assert lease.held_from <= clock.now
        left = one.election.leading_for()
        slow = api._answers["PUT", f"{LEASES}/a"][0]

        async def late(request: web.Request) -> web.StreamResponse:
            clock.now += 4  # the duration of the answer
            return await slow(request)

        api.on("PUT", f"{LEASES}/a", late)
        await clock.advance(5.0)
        await settle()
        assert left <= 10
        assert one.election.leading_for() <= 6.01
        await one.stop()

    run(scenario)


def test_a_renewal_without_an_answer_keeps_the_lease() -> None:
    async def scenario(api: FakeApi, leases: Leases, clock: ManualClock) -> None:
        one = Candidate(api, clock, "one")
        await pass_time(clock, 1)
        leases.broken = "after"
        await pass_time(clock, 5)
        leases.broken = ""
        await pass_time(clock, 10)
        assert one.leads
        assert one.calls == ["started"]
        await one.stop()

    run(scenario)


def test_wall_clocks_are_not_compared() -> None:
    async def scenario(api: FakeApi, leases: Leases, clock: ManualClock) -> None:
        leases.hold("a", "other", renewed="2020-01-01T00:00:00.000000Z")  # years ago, it seems
        one = Candidate(api, clock, "one")
        for second in range(40):  # renewed every 5 s, by a clock in the past
            if second % 5 == 0:
                leases.hold("a", "other", renewed=f"2020-01-01T00:00:{second:02}.000000Z")
            await pass_time(clock, 1)
            assert not one.leads
        await pass_time(clock, 10)
        assert not one.leads  # 15 s have not passed since its last change
        await pass_time(clock, 14)
        assert one.leads
        await one.stop()

    run(scenario)


def test_several_leases_are_acquired_together_or_not_at_all() -> None:
    async def scenario(api: FakeApi, leases: Leases, clock: ManualClock) -> None:
        other = Candidate(api, clock, "other", "b")
        await pass_time(clock, 1)
        both = Candidate(api, clock, "both", "b", "a")
        await pass_time(clock, 20)
        assert leases.holder("a") == "-"
        assert not both.leads
        assert both.election.holders() == {"a": "", "b": "other"}
        await other.stop()
        await pass_time(clock, 7)
        assert both.leads
        assert (leases.holder("a"), leases.holder("b")) == ("both", "both")
        await both.stop()
        assert (leases.holder("a"), leases.holder("b")) == ("", "")
        assert leases.writes[-2:] == [("b", ""), ("a", "")]

    run(scenario)


def test_losing_one_lease_releases_the_others() -> None:
    async def scenario(api: FakeApi, leases: Leases, clock: ManualClock) -> None:
        create = api._answers["POST", LEASES][0]

        async def too_late(request: web.Request) -> web.StreamResponse:
            if (await request.json())["metadata"]["name"] == "b":
                leases.hold("b", "other")
            return await create(request)

        api.on("POST", LEASES, too_late)
        both = Candidate(api, clock, "both", "a", "b")
        await pass_time(clock, 1)
        assert not both.leads
        assert leases.writes == [("a", "both"), ("a", "")]
        await both.stop()

    run(scenario)


def test_one_lost_lease_ends_leadership() -> None:
    async def scenario(api: FakeApi, leases: Leases, clock: ManualClock) -> None:
        both = Candidate(api, clock, "both", "a", "b")
        await pass_time(clock, 1)
        assert both.leads
        leases.hold("b", "other")
        await pass_time(clock, 6)
        assert not both.leads
        assert both.calls == ["started", "lost"]
        await both.stop()

    run(scenario)


def test_a_missing_right_is_reported() -> None:
    async def scenario(api: FakeApi, leases: Leases, clock: ManualClock) -> None:
        async def forbid(request: web.Request) -> web.StreamResponse:
            status = {"kind": "Status", "message": "leases is forbidden: User x cannot create"}
            return web.Response(status=403, body=json.dumps(status).encode())

        api.on("POST", LEASES, forbid)
        one = Candidate(api, clock, "one")
        await pass_time(clock, 1)
        assert one.election.problem.endswith("leases is forbidden: User x cannot create")
        assert not one.leads
        await one.stop()

    run(scenario)
