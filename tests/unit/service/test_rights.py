"""A missing right is one line, however many requests are rejected for it, and one when it is
granted."""

import asyncio
import io
from types import SimpleNamespace
from typing import Any

import pytest

from fakes.clock import QuickClock
from fakes.http_server import FakeApi, status
from fakes.scenarios import in_a_loop
from kai.api.writes import Lane, Outcome, Result, Write
from kai.controllers.grouper import Reference
from kai.controllers.planning.kinds import needed_by, watched_by
from kai.controllers.planning.lines import Line
from kai.controllers.planning.options import ROLES
from kai.controllers.planning.statuses import Statuses
from kai.controllers.pods.decisions import Binding
from kai.controllers.unshown import READ_AFTER_S
from kai.install import access
from kai.k8s.answers import Denial, denial
from kai.service.log import Log
from kai.service.options import Options
from kai.service.reports import Reports
from kai.service.rights import Rights, fix
from kai.service.service import Service

USER = "system:serviceaccount:kai-scheduler:kai"


def forbidden(verb: str, resource: str, group: str = "", where: str = "team") -> str:
    scope = f'in the namespace "{where}"' if where else "at the cluster scope"
    return (
        f'{resource} "a" is forbidden: User "{USER}" cannot {verb} resource "{resource}"'
        f' in API group "{group}" {scope}'
    )


DENIED = Outcome(
    Result.FAILED, 403, "Forbidden", forbidden("create", "pods/binding"), b"the body of the answer"
)
BINDING = Write(Lane.BINDING, "create", "Pod", "team", "a", {}, "binding")
FIX = 'fix="apply what kai install prints"'


class Logged:
    def __init__(self) -> None:
        self.clock = QuickClock()
        self._stream = io.StringIO()
        self.log = Log(stream=self._stream)
        self.reports = Reports(self.log, self.clock)
        self.rights = self.reports.rights

    def lines(self) -> list[str]:
        lines = [line.partition("Z ")[2] for line in self._stream.getvalue().splitlines()]
        self._stream.truncate(0)
        self._stream.seek(0)
        return lines


# ---- answers of the API server -------------------------------------------------------------------


@pytest.fixture
def it() -> Logged:
    return Logged()


def test_the_missing_right_is_read_from_the_message() -> None:
    assert denial(forbidden("patch", "podgroups/status", "scheduling.run.ai")) == Denial(
        "patch", "podgroups/status", "scheduling.run.ai", USER, "team"
    )
    assert denial(f"http://x: {forbidden('list', 'nodes', where='')}") == Denial(
        "list", "nodes", "", USER
    )


@pytest.mark.parametrize(
    "message",
    [
        'pods "a" is forbidden: exceeded quota: q, requested: pods=1',
        'pods "a" is forbidden: violates PodSecurity "restricted:latest"',
        "",
    ],
)
def test_a_refusal_by_admission_is_not_a_missing_right(message: str) -> None:
    assert denial(message) is None


# ---- lines ---------------------------------------------------------------------------------------


def test_a_thousand_refused_writes_are_one_line_per_five_minutes(it: Logged) -> None:
    line = f"warning kai: may not create pods/binding namespace=team user={USER} {FIX}"
    for _ in range(1000):
        it.reports.answered(BINDING, DENIED)
        it.reports.not_bound(Binding("team/a", "u", "n1", 1, "g"), DENIED.message)
        it.reports.lines([Line("warning", "a pod was not evicted", {"why": DENIED.message})])
    assert it.lines() == [line]
    it.clock.now += 299
    it.reports.answered(BINDING, DENIED)
    assert it.lines() == []
    it.clock.now += 1
    it.reports.answered(BINDING, DENIED)
    assert it.lines() == [line]


@pytest.mark.parametrize("result", [Result.DONE, Result.CONFLICT, Result.GONE])
def test_the_first_allowed_write_is_logged(it: Logged, result: Result) -> None:
    it.reports.answered(BINDING, DENIED)
    it.lines()
    it.reports.answered(BINDING, Outcome(result, 201))
    it.reports.answered(BINDING, Outcome(result, 201))
    assert it.lines() == ["info kai: may create pods/binding again"]


def test_an_answer_to_an_earlier_request_does_not_restore_a_right(it: Logged) -> None:
    it.reports.answered(BINDING, DENIED)
    it.lines()
    it.clock.now += 0.1
    it.reports.answered(BINDING, Outcome(Result.DONE, 201), took=0.2)
    assert it.lines() == []
    it.reports.answered(BINDING, Outcome(Result.DONE, 201), took=0.05)
    assert it.lines() == ["info kai: may create pods/binding again"]


def test_a_right_that_exists_in_some_namespaces_is_logged_once(it: Logged) -> None:
    it.reports.answered(BINDING, DENIED)
    it.lines()
    elsewhere = Write(Lane.BINDING, "create", "Pod", "other", "a", {}, "binding")
    for _ in range(3):
        it.reports.answered(elsewhere, Outcome(Result.DONE, 201))
        it.reports.answered(BINDING, DENIED)
    assert it.lines() == []


def test_missing_rights_of_watches_and_leases(it: Logged) -> None:
    pods: Any = SimpleNamespace(problem="", absent=False, synced=True)
    election: Any = SimpleNamespace(problem="", is_leading=lambda: True, namespace="gpu")
    pods.problem = forbidden("watch", "pods", where="")
    election.problem = forbidden("update", "leases", "coordination.k8s.io", "gpu")
    for _ in range(10):
        it.reports.look({"Pod": pods}, election)
    assert it.lines() == [
        f"warning kai: may not update leases group=coordination.k8s.io namespace=gpu user={USER}"
        ' fix="apply what kai install --namespace gpu prints"',
        f"warning kai: may not watch pods user={USER} {FIX}",
    ]
    it.reports.lost(election.problem)
    assert it.lines() == ['warning kai: no longer leading why="may not update leases"']
    pods.problem = election.problem = ""
    for _ in range(10):
        it.reports.look({"Pod": pods}, election)
    assert it.lines() == [
        "info kai: may watch pods again",
        "info kai: may update leases again group=coordination.k8s.io",
    ]


def test_a_restarted_watch_does_not_restore_a_right(it: Logged) -> None:
    pods: Any = SimpleNamespace(problem=forbidden("watch", "pods"), absent=False, synced=True)
    for _ in range(2):
        it.reports.look({"Pod": pods}, None)
    it.lines()
    it.reports.look({"Pod": SimpleNamespace(problem="", absent=False, synced=False)}, None)  # type: ignore[dict-item]
    assert it.lines() == []


@pytest.mark.parametrize(
    ("missing", "how"),
    [
        (Denial("get", "jobs", "batch", USER, "team"), "apply what kai install prints"),
        (
            Denial("get", "widgets", "example.com", USER, "team"),
            "a ClusterRole with the label kai.scheduler/pod-owners=true that allows it",
        ),
        (
            Denial("get", "leases", "coordination.k8s.io", USER, "kai-scheduler"),
            "apply what kai install prints",
        ),
        (Denial("delete", "nodes", "", USER), "a ClusterRole that allows it"),
    ],
)
def test_advice_names_the_role_that_gives_the_right(missing: Denial, how: str) -> None:
    assert fix(missing) == how


# ---- what follows --------------------------------------------------------------------------------


def test_waits_grow_with_the_time_the_right_is_missing(it: Logged) -> None:
    missing = denial(DENIED.message)
    assert missing is not None
    waits = []
    for age in (0, 1, 3, 7, 100):
        it.rights.is_missing(missing)
        it.clock.now = 1000 + age
        waits.append(it.rights.wait(missing))
    assert waits == [1, 1, 3, 7, 30]


@in_a_loop
async def test_the_answer_to_a_refused_write_is_delayed() -> None:
    async with FakeApi() as api, api.client(clock := QuickClock()) as client:
        service = Service(client, Options(leader_elect=False), Log(stream=io.StringIO()))
        service._observe(BINDING, DENIED, 0, 0)
        clock.now += 5
        service._acts._answered(None, BINDING, DENIED)
        assert service._inputs().answers == ()
        await asyncio.gather(*service._life._tasks)
        assert clock.slept == [5]
        assert service._inputs().answers == ((BINDING, DENIED),)
        refused = Outcome(Result.REFUSED, 422, "Invalid", "no")
        service._acts._answered(None, BINDING, refused)
        assert service._inputs().answers == ((BINDING, refused),)


JOB = Reference("batch/v1", "Job", "team", "j", "u")
GROUP = Reference("scheduling.run.ai/v2alpha2", "PodGroup", "team", "g", "")


@pytest.mark.parametrize(
    ("reference", "path", "answers"),
    [
        (JOB, "/apis/batch/v1/namespaces/team/jobs/j", 1),
        # The API server is unreachable for a while, or the token has expired: no pod loses its
        # owner.
        (JOB, "/apis/batch/v1/namespaces/team/jobs/j", 0),
        (GROUP, "/apis/scheduling.run.ai/v2alpha2/namespaces/team/podgroups/g", 0),
    ],
)
@in_a_loop
async def test_an_owner_is_unreadable_only_if_the_right_is_missing(
    *, reference: Reference, path: str, answers: int
) -> None:
    no_right = status(403, message=forbidden("get", "jobs", "batch"))
    first = no_right if answers or reference is GROUP else status(401, message="Unauthorized")
    async with FakeApi() as api, api.client(QuickClock()) as client:
        service = Service(client, Options(leader_elect=False), Log(stream=io.StringIO()))
        gone = status(404, reason="NotFound", message="not found")
        api.on("GET", path, first, *(status(503) for _ in range(5)), gone)
        service._owners.need([reference])
        owners = []
        while not owners:
            await asyncio.sleep(0)
            owners = service._inputs().owners
        service._owners.forget([reference])
        assert owners == [(reference, False if answers else None)]


def test_a_status_that_was_not_written_is_computed_again() -> None:
    class Feed:
        def group_facts(self, names: list[str]) -> Any:
            return [("u", "", "", "", "", "") for _ in names]

        def group_status(self, names: list[str]) -> Any:
            return [({"cpu": "1"}, {}, {}) for _ in names]

        def queue_status(self) -> Any:
            return {"q": ([], {"cpu": "1"}, {}, {}, "")}

    statuses = Statuses(Feed(), groups=True, queues=True)  # type: ignore[arg-type]
    statuses.touch(0, ["team/g"], ["q"])
    first = statuses.due(1)
    assert [write.kind for write in first] == ["PodGroup", "Queue"]
    for write in first:
        statuses.answered(1, write, DENIED)
    assert statuses.wake() == 2
    assert statuses.due(2) == first
    for write in first:
        statuses.answered(2, write, Outcome(Result.DONE, 200))
        statuses.answered(2, BINDING, DENIED)
    # No watch shows them, although they were accepted: they are computed again.
    assert statuses.wake() == 2 + READ_AFTER_S
    assert statuses.due(2 + READ_AFTER_S) == []
    assert statuses.due(3 + READ_AFTER_S) == first
    assert statuses.wake() is None


# ---- what a role reads ---------------------------------------------------------------------------


@pytest.mark.parametrize("role", ROLES)
def test_a_role_uses_exactly_its_rights_to_list_and_watch(role: str) -> None:
    from kai.api.resources import resource

    read = {(resource(kind).plural, resource(kind).group) for kind in watched_by([role])}
    for verb in ("list", "watch"):
        granted = {(r.resource, r.group) for r in access.USED[role] if verb in r.verbs}
        assert granted == read


def test_all_watched_kinds_are_needed_first() -> None:
    assert needed_by(["queue-controller"]) == {"PodGroup", "Queue"}
    assert watched_by(ROLES) == watched_by(["scheduler"])
    assert needed_by(ROLES) == set(watched_by(ROLES))


def test_used_rights_are_not_listed_as_later_rights() -> None:
    for role in access.ROLES:
        used, later = (
            {(verb, rule.resource, rule.group) for rule in rules for verb in rule.verbs}
            for rules in (access.USED[role], access.LATER[role])
        )
        assert used & later == set()


def test_missing_rights_are_counted(it: Logged) -> None:
    rights = Rights(it.log, it.clock.monotonic)
    assert not rights
    missing = denial(DENIED.message)
    assert missing is not None
    rights.is_missing(missing)
    assert len(rights) == 1
    rights.is_there("create", "pods/binding", "", "team")
    assert not rights
