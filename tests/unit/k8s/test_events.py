"""Events: which are written, which are only counted, and the limit for one object."""

from typing import Any

import pytest

from fakes.clock import QuickClock
from kai.api.writes import NOT_LEADING, Lane, Outcome, Result, Write
from kai.k8s.events import About, Events

POD = About("Pod", "team", "train-0", "u1")


class Puts:
    def __init__(self) -> None:
        self.writes = list[Write]()
        self._waiting = list[tuple[Write, Any]]()

    def put(self, write: Write, done: Any = None, /) -> None:
        self.writes.append(write)
        self._waiting.append((write, done))

    def answer(self, result: Result = Result.DONE, reason: str = "") -> None:
        """Answers all writes since the last call."""
        waiting, self._waiting = self._waiting, []
        for write, done in waiting:
            done(write, Outcome(result, 0, reason))


class Recorded:
    def __init__(self, **options: Any) -> None:
        self.puts, self.clock = Puts(), QuickClock()
        self.events = Events(
            self.puts, "kai-scheduler", clock=self.clock, instance="host", **options
        )

    def emit(self, reason: str = "Scheduled", message: str = "bound", about: About = POD) -> None:
        self.events.emit(about, "Normal", reason, message)


@pytest.fixture
def it() -> Recorded:
    return Recorded()


def test_an_event_has_the_fields_that_kubectl_shows(it: Recorded) -> None:
    it.events.emit(POD, "Warning", "Unschedulable", "100%s full %d", {"a": "b"})
    (write,) = it.puts.writes
    assert (write.lane, write.verb, write.kind) == (Lane.EVENT, "create", "Event")
    body: Any = write.body
    assert write.name == body["metadata"]["name"]
    head, _, number = write.name.rpartition(".")
    assert head == "train-0"
    assert int(number, 16) == int(it.clock.wall() * 1e9)
    assert body["metadata"] == {"name": write.name, "namespace": "team", "annotations": {"a": "b"}}
    assert body["involvedObject"] == {
        "kind": "Pod",
        "namespace": "team",
        "name": "train-0",
        "uid": "u1",
        "apiVersion": "v1",
    }
    assert (body["type"], body["reason"]) == ("Warning", "Unschedulable")
    assert body["message"] == "100%s full %d"
    assert body["source"] == {"component": "kai-scheduler"}
    assert body["count"] == 1
    assert body["firstTimestamp"] == body["lastTimestamp"] == "2027-01-15T08:16:40Z"


def test_a_repeated_event_is_counted(it: Recorded) -> None:
    it.emit()
    it.puts.answer()
    it.clock.now += 60
    it.emit()
    create, patch = it.puts.writes
    assert (patch.verb, patch.name) == ("patch", create.name)
    assert patch.body == {"count": 2, "lastTimestamp": "2027-01-15T08:17:40Z"}
    assert patch.key == f"event/{create.name}"


def test_events_during_the_first_write_are_counted_together(it: Recorded) -> None:
    for _ in range(5):
        it.emit()
    assert len(it.puts.writes) == 1
    it.puts.answer()
    assert [each.verb for each in it.puts.writes] == ["create", "patch"]
    assert it.puts.writes[1].body["count"] == 5  # type: ignore[call-overload,index]


def test_other_messages_reasons_and_objects_are_other_events(it: Recorded) -> None:
    it.emit()
    it.emit(message="other")
    it.emit(reason="Bound")
    it.emit(about=About("Pod", "team", "train-0", "u2"))
    assert [each.verb for each in it.puts.writes] == ["create"] * 4
    assert len({each.name for each in it.puts.writes}) == 4


def test_an_event_that_the_server_deleted_is_created_again(it: Recorded) -> None:
    it.emit()
    it.puts.answer()
    it.emit()
    it.puts.answer(Result.GONE)
    it.emit()
    assert [each.verb for each in it.puts.writes] == ["create", "patch", "create"]
    assert it.puts.writes[2].body["count"] == 1  # type: ignore[call-overload,index]


def test_a_failed_event_write_is_repeated(it: Recorded) -> None:
    it.emit()
    it.puts.answer(Result.FAILED)
    it.emit()
    assert [each.verb for each in it.puts.writes] == ["create", "create"]


def test_an_object_cannot_flood_the_server(it: Recorded) -> None:
    for number in range(100):
        it.emit(message=f"text {number}")
    assert len(it.puts.writes) == 25
    assert (it.events.emitted, it.events.dropped) == (100, 75)
    it.emit(about=About("Pod", "team", "other"))
    assert len(it.puts.writes) == 26
    it.clock.now += 300
    it.emit(message="later")
    it.emit(message="too soon")
    assert len(it.puts.writes) == 27


def test_repeated_events_leave_room_for_new_ones(it: Recorded) -> None:
    for _ in range(100):
        it.emit("Unschedulable", "no room")
        it.puts.answer()
    assert len(it.puts.writes) == 20
    it.emit("Scheduled", "bound")
    assert it.puts.writes[-1].body["reason"] == "Scheduled"  # type: ignore[call-overload,index]
    it.clock.now += 600
    it.emit("Unschedulable", "no room")
    assert it.puts.writes[-1].body["count"] == 101  # type: ignore[call-overload,index]


def test_the_memory_is_bounded() -> None:
    it = Recorded(most_known=10)
    for number in range(50):
        it.emit(about=About("Pod", "team", f"p{number}"))
        it.puts.answer()
    assert len(it.events._known) == len(it.events._budgets) == 10
    it.emit(about=About("Pod", "team", "p49"))
    it.emit(about=About("Pod", "team", "p0"))
    assert [each.verb for each in it.puts.writes[-2:]] == ["patch", "create"]


def test_events_of_objects_without_a_namespace(it: Recorded) -> None:
    it.emit(about=About("Node", "", "n1"))
    (write,) = it.puts.writes
    body: Any = write.body
    assert write.namespace == body["metadata"]["namespace"] == "default"
    assert "namespace" not in body["involvedObject"]


def test_times_use_the_servers_clock_if_given() -> None:
    it = Recorded(wall=lambda: 1_800_000_000.5)
    it.emit()
    (write,) = it.puts.writes
    body: Any = write.body
    assert body["firstTimestamp"] == body["lastTimestamp"] == "2027-01-15T08:00:00Z"


def test_names_are_unique_and_short_enough(it: Recorded) -> None:
    it.emit(about=About("Pod", "team", "x" * 253))
    it.emit(about=About("Pod", "team", "x" * 253), message="other")
    names = [each.name for each in it.puts.writes]
    assert [len(each) for each in names] == [253, 253]
    assert names[0] != names[1]


# ---- the lease -----------------------------------------------------------------------------------


def test_an_event_that_was_not_sent_without_the_lease_is_sent_in_the_next_term(
    it: Recorded,
) -> None:
    it.emit()
    it.puts.answer(Result.FAILED, NOT_LEADING)
    it.emit()  # the same: counted, and not a second event
    it.events.lead_again()
    first, again = it.puts.writes
    assert again == first
    it.puts.answer()
    assert [(each.verb, each.name) for each in it.puts.writes[2:]] == [("patch", first.name)]
    it.events.lead_again()
    assert len(it.puts.writes) == 3


def test_the_memory_for_events_that_were_not_sent_is_limited() -> None:
    it = Recorded(most_known=2)
    for message in ("one", "two", "three"):
        it.emit(message=message)
    it.puts.answer(Result.FAILED, NOT_LEADING)
    it.events.lead_again()
    assert it.puts.writes[3:] == it.puts.writes[:2]
