"""Objects that no plan can use: each is reported once, until it is corrected."""

from kai.controllers.planning.misfits import LOOK_S, STRANDED_S, Misfits

NAN = ("Pod", "team/a", 'metadata.annotations["gpu-fraction"]', '"NaN" is not a number')
LESS = ("PodGroup", "team/g", "spec.minMember", "-2 is negative")
ORPHAN = ("Queue", "orphan", "spec.parentQueue", 'parent queue "gone" does not exist')


def test_a_problem_is_new_once_for_each_message() -> None:
    misfits = Misfits()
    assert misfits.new([NAN, LESS]) == [NAN, LESS]
    assert misfits.new([NAN]) == []
    assert misfits.new([(*NAN[:3], '"half" is not a number')]) != []
    misfits.look(0.0, [], list)  # it was corrected
    assert misfits.new([NAN]) == [NAN]
    misfits.gone("Pod", "team/a")
    assert misfits.new([NAN]) == [NAN]


def test_a_line_without_an_object_is_always_new() -> None:
    misfits = Misfits()
    nothing = ("Pod", "", "", "no JSON")
    for _ in range(2):
        assert misfits.new([nothing]) == [nothing]


def test_pods_and_groups_get_conditions_and_queues_an_event() -> None:
    misfits = Misfits()
    misfits.look(0.0, [NAN, LESS, ORPHAN], list)
    assert misfits.pods == {"team/a": 'metadata.annotations["gpu-fraction"]: "NaN" is not a number'}
    assert misfits.groups == {"team/g": "spec.minMember: -2 is negative"}
    [event] = misfits.events()
    assert (event.kind, event.namespace, event.name) == ("Queue", "", "orphan")
    assert (event.type, event.reason) == ("Warning", "Invalid")
    assert event.message == 'spec.parentQueue: parent queue "gone" does not exist'
    assert misfits.events() == []


def test_an_event_is_repeated_for_a_new_fault_or_a_new_leader() -> None:
    misfits = Misfits()
    misfits.look(0.0, [ORPHAN], list)
    assert len(misfits.events()) == 1
    misfits.look(1.0, [], list)
    assert misfits.events() == []
    misfits.look(2.0, [ORPHAN], list)
    assert len(misfits.events()) == 1
    misfits.begin()
    assert len(misfits.events()) == 1


def test_a_pod_without_its_group_is_reported_after_some_seconds() -> None:
    misfits = Misfits()
    misfits.look(0.0, [], lambda: [("team/a", "team/gone")])
    assert misfits.pods == {}
    assert misfits.wake() == STRANDED_S
    assert not misfits.is_due(STRANDED_S - 0.1)
    assert misfits.is_due(STRANDED_S)
    misfits.look(STRANDED_S, [], lambda: [("team/a", "team/gone")])
    assert misfits.pods == {"team/a": "PodGroup team/gone does not exist"}
    assert misfits.wake() is None
    misfits.look(STRANDED_S + LOOK_S, [], list)  # the group arrived
    assert misfits.pods == {}


def test_pods_of_an_invalid_group_are_reported_at_once() -> None:
    misfits = Misfits()
    misfits.look(0.0, [LESS], lambda: [("team/a", "team/g")])
    assert misfits.pods == {"team/a": "PodGroup team/g is ignored: spec.minMember: -2 is negative"}


def test_stranded_pods_are_searched_once_a_second() -> None:
    misfits, looks = Misfits(), list[float]()
    for now in (0.0, 0.2, 0.4, 1.0, 1.2, 2.5):

        def stranded(now: float = now) -> list[tuple[str, str]]:
            looks.append(now)
            return []

        misfits.look(now, [], stranded)
        if now == 0.4:
            # Otherwise a pod that arrived meanwhile would be forgotten
            assert misfits.wake() == LOOK_S
    assert looks == [0.0, 1.0, 2.5]
    assert misfits.wake() is None
