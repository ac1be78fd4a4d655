"""Leader election: which process leads, until when, and the state of a stopped or cut-off
leader."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from fakes.api_server import ApiServer, Fault, unanswered
from fakes.clock import VirtualClock, settle
from fakes.http_server import FakeApi
from fakes.scenarios import scenarios
from kai.api.writes import Outcome, Result, Write
from kai.k8s.leases import LeaderElection, Times


class Leases:
    """The leases of a namespace. Other processes hold them as "other"."""

    def __init__(self, server: ApiServer, api: FakeApi) -> None:
        self.server, self.api, self.clock = server, api, VirtualClock()
        self._events = server.watch("Lease")

    @property
    def writes(self) -> list[tuple[str, str]]:
        """Lease and holder of each change by a candidate."""
        found = [(each.item["metadata"]["name"], each.item["spec"]) for each in self._events]
        holders = [(name, str(spec["holderIdentity"])) for name, spec in found]
        return [each for each in holders if each[1] != "other"]

    def spec(self, name: str = "a") -> dict[str, Any]:
        found = self.server.get("Lease", "kai", name)
        return {"holderIdentity": "-"} if found is None else found["spec"]

    def holder(self, name: str = "a") -> str:
        return str(self.spec(name)["holderIdentity"])

    def hold(self, name: str, renewed: str = "2020-01-01T00:00:00.000000Z") -> None:
        spec = {"holderIdentity": "other", "leaseDurationSeconds": 15, "renewTime": renewed}
        metadata = {"name": name, "namespace": "kai"}
        self.server.put({"kind": "Lease", "metadata": metadata, "spec": spec})

    async def passes(self, seconds: float) -> None:
        """Moves the clock in small steps, with time for the resulting requests."""
        for _ in range(int(seconds * 2)):
            await self.clock.advance(0.5)
            await settle()


class Candidate:
    """A running election, and its reports."""

    def __init__(self, leases: Leases, name: str, *names: str, times: Times | None = None) -> None:
        self.calls = list[str]()
        self.client = leases.api.client(leases.clock)
        self.election = LeaderElection(
            self.client,
            "kai",
            names or ("a",),
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


async def run(story: Callable[[Leases], Awaitable[Any]]) -> None:
    server = ApiServer()
    async with FakeApi(server) as api:
        await story(Leases(server, api))


scenario = scenarios(run)


@scenario
async def test_the_first_candidate_leads_and_the_second_waits(leases: Leases) -> None:
    one = Candidate(leases, "one")
    await leases.passes(1)
    two = Candidate(leases, "two")
    await leases.passes(60)
    assert (one.leads, two.leads) == (True, False)
    assert leases.holder() == "one"
    assert one.calls == ["started"]
    assert one.election.renewals >= 10
    assert two.election.problem == "a is held by one"
    record = leases.spec()
    assert record["leaseDurationSeconds"] == 15
    assert record["leaseTransitions"] == 0
    assert record["renewTime"] > record["acquireTime"]
    assert len(record["renewTime"]) == len("2026-01-01T00:00:00.000000Z")
    await one.stop()
    await two.stop()


@scenario
async def test_a_lease_is_released_at_the_end(leases: Leases) -> None:
    one = Candidate(leases, "one")
    two = Candidate(leases, "two")
    await leases.passes(1)
    first, second = (one, two) if one.leads else (two, one)
    await first.stop()
    assert leases.holder() == ""
    assert not first.leads
    await leases.passes(7)
    assert second.leads
    assert leases.spec()["leaseTransitions"] == 1
    await second.stop()


@scenario
async def test_a_lease_with_a_write_under_way_is_left_to_expire(leases: Leases) -> None:
    one = Candidate(leases, "one")
    await leases.passes(1)
    two = Candidate(leases, "two")
    await leases.passes(1)
    one.election.let_run_out()
    await one.stop()
    assert not one.leads
    assert leases.holder() == "one"
    await leases.passes(9)
    assert not two.leads
    await leases.passes(16)
    assert two.leads
    await two.stop()


@scenario
async def test_the_written_duration_is_rounded_up_to_seconds(leases: Leases) -> None:
    one = Candidate(leases, "one", times=Times(2.5, 1.5, 0.5))
    await leases.passes(1)
    assert leases.spec()["leaseDurationSeconds"] == 3
    await one.stop()


@scenario
async def test_a_leader_without_answers_stops_before_another_starts(leases: Leases) -> None:
    one = Candidate(leases, "one")
    await leases.passes(1)
    two = Candidate(leases, "two")
    await leases.passes(6)
    cut = one.client._base
    one.client._origin = one.client._origin.with_port(1)  # nothing listens there
    ended = started = None
    for _ in range(80):
        await leases.clock.advance(0.5)
        await settle()
        assert not (one.leads and two.leads)
        if ended is None and not one.leads:
            ended = leases.clock.now
        if started is None and two.leads:
            started = leases.clock.now
    assert cut
    assert ended is not None
    assert started is not None
    assert started - ended >= one.election.write_timeout - 0.5
    assert one.calls == ["started", "lost"]
    assert one.election.failures > 0
    assert leases.spec()["leaseTransitions"] == 1
    await one.stop()
    await two.stop()


@scenario
async def test_a_paused_process_does_not_lead_after_its_lease_expired(leases: Leases) -> None:
    one = Candidate(leases, "one")
    await leases.passes(1)
    assert one.leads
    leases.clock.now += 20  # nothing of it has run meanwhile
    assert not one.leads
    assert one.election.leading_for() == 0
    await one.stop()


@scenario
async def test_a_lease_is_held_from_before_its_renewal_was_sent(leases: Leases) -> None:
    one = Candidate(leases, "one")
    await leases.passes(1)
    for lease in one.election._leases:
        assert lease.held_from <= leases.clock.now
    left = one.election.leading_for()

    def late(write: Write) -> None:
        leases.clock.now += 4  # the duration of the answer

    leases.server.fault = late
    await leases.clock.advance(5.0)
    await settle()
    assert left <= 10
    assert one.election.leading_for() <= 6.01
    await one.stop()


@scenario
async def test_a_renewal_without_an_answer_keeps_the_lease(leases: Leases) -> None:
    one = Candidate(leases, "one")
    await leases.passes(1)
    leases.server.fault = lambda write: Fault(unanswered(write), applied=True)
    await leases.passes(5)
    leases.server.fault = lambda write: None
    await leases.passes(10)
    assert one.leads
    assert one.calls == ["started"]
    await one.stop()


@scenario
async def test_wall_clocks_are_not_compared(leases: Leases) -> None:
    leases.hold("a", renewed="2020-01-01T00:00:00.000000Z")  # years ago, it seems
    one = Candidate(leases, "one")
    for second in range(40):  # renewed every 5 s, by a clock in the past
        if second % 5 == 0:
            leases.hold("a", renewed=f"2020-01-01T00:00:{second:02}.000000Z")
        await leases.passes(1)
        assert not one.leads
    await leases.passes(10)
    assert not one.leads  # 15 s have not passed since its last change
    await leases.passes(14)
    assert one.leads
    await one.stop()


@scenario
async def test_several_leases_are_acquired_together_or_not_at_all(leases: Leases) -> None:
    other = Candidate(leases, "other", "b")
    await leases.passes(1)
    both = Candidate(leases, "both", "b", "a")
    await leases.passes(20)
    assert leases.holder("a") == "-"
    assert not both.leads
    assert both.election.holders() == {"a": "", "b": "other"}
    await other.stop()
    await leases.passes(7)
    assert both.leads
    assert (leases.holder("a"), leases.holder("b")) == ("both", "both")
    await both.stop()
    assert (leases.holder("a"), leases.holder("b")) == ("", "")
    assert leases.writes[-2:] == [("b", ""), ("a", "")]


@scenario
async def test_losing_one_lease_releases_the_others(leases: Leases) -> None:
    def too_late(write: Write) -> None:
        if write.name == "b":
            leases.hold("b")

    leases.server.fault = too_late
    both = Candidate(leases, "both", "a", "b")
    await leases.passes(1)
    assert not both.leads
    assert leases.writes == [("a", "both"), ("a", "")]
    await both.stop()


@scenario
async def test_one_lost_lease_ends_leadership(leases: Leases) -> None:
    both = Candidate(leases, "both", "a", "b")
    await leases.passes(1)
    assert both.leads
    leases.hold("b")
    await leases.passes(6)
    assert not both.leads
    assert both.calls == ["started", "lost"]
    await both.stop()


@scenario
async def test_a_missing_right_is_reported(leases: Leases) -> None:
    why = "leases is forbidden: User x cannot create"
    refused = Outcome(Result.REFUSED, 403, "Forbidden", why)
    leases.server.fault = lambda write: Fault(refused)
    one = Candidate(leases, "one")
    await leases.passes(1)
    assert one.election.problem.endswith(why)
    assert not one.leads
    await one.stop()
