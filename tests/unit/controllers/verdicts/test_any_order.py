"""Plans, outcomes and time in any order: the guarantees about writes hold, and the end state is
right."""

from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from world import LAST_START, STALE, World

from kai.api.writes import Result, Write
from kai.controllers.verdicts import Condition, Verdict
from kai.controllers.verdicts.pace import COUNTS_S, OTHER_S, shape

PODS = ("team/a", "team/b", "team/c")
GROUPS = ("team/g", "team/h")
TEXTS = [f"{count} node(s) {what}" for count in (1, 2) for what in ("lack GPUs", "are cordoned")]
STAMPS = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:07Z")


@st.composite
def verdicts(draw: Any, name: str) -> Verdict:
    kind = draw(st.sampled_from(["unschedulable", "placed", "running", "not_ready", "pipelined"]))
    text = draw(st.sampled_from(TEXTS)) if kind in ("unschedulable", "not_ready") else ""
    return Verdict(
        name,
        kind,
        text,
        last_start=draw(st.sampled_from([None, *STAMPS])),
        stale_since=draw(st.sampled_from([None, "", *STAMPS])),
    )


@st.composite
def plans(draw: Any) -> dict[str, Any]:
    fate = {pod: draw(st.sampled_from(["waits", "promised", "bound", "nothing"])) for pod in PODS}
    return {
        "waiting": {
            pod: draw(st.sampled_from(TEXTS)) for pod, what in fate.items() if what == "waits"
        },
        "promised": {
            pod: draw(st.sampled_from(["n1", "n2"]))
            for pod, what in fate.items()
            if what == "promised"
        },
        "bound": [pod for pod, what in fate.items() if what == "bound"],
        "groups": [draw(verdicts(name)) for name in GROUPS],
    }


WAITING = st.fixed_dictionaries(
    {"waiting": st.dictionaries(st.sampled_from(PODS), st.sampled_from(TEXTS))}
)
TIME = st.tuples(st.just("wait"), st.sampled_from([0.1, 1.0, 5.0, 30.0, 70.0]))
OUTCOME = st.tuples(
    st.just("send"),
    st.sampled_from(
        [
            *[(Result.DONE, None)] * 3,
            *((Result.LOST, True), (Result.LOST, False), (Result.FAILED, False)),
        ]
    ),
)
FAILURE = st.tuples(st.just("fails"), st.sampled_from(PODS))
DECIDE = st.tuples(st.just("decide"), plans())
SHOW = st.tuples(st.just("show"), st.none())


def world() -> World:
    made = World()
    for pod in PODS:
        made.add_pod(pod)
    for group in GROUPS:
        made.add_group(group)
    return made


def run(made: World, steps: list[tuple[str, Any]]) -> None:
    for step, value in steps:
        if step == "decide":
            made.decide(**value)
            for pod in value.get("bound", ()):
                made.bind(pod)
        elif step == "fails":
            made.take(made.verdicts.binding_failed(made.now, value, "n1", "refused", made))
        elif step == "send":
            made.send(value[0], done=value[1])
        elif step == "show":
            made.show()
        else:
            made.wait(value)


@given(st.lists(st.one_of(DECIDE, OUTCOME, TIME, FAILURE, SHOW), max_size=25), plans())
@settings(max_examples=300, deadline=None)
def test_the_objects_end_with_the_last_verdicts(
    steps: list[tuple[str, Any]], last: dict[str, Any]
) -> None:
    made = world()
    run(made, steps)
    made.shown = None
    made.wait(15)  # memory of an old watch expires
    for _ in range(4):  # every plan has the same verdicts
        made.decide(**last)
        made.send()
        made.wait(70)
    for pod, text in last["waiting"].items():
        assert made.condition(pod) == Condition("False", "Unschedulable", text)
        assert made.condition(pod, "PodBound") is None
    for pod in PODS:
        if pod not in last["bound"]:
            assert made.pods[pod]["nominated"] == last["promised"].get(pod, "")
    for verdict in last["groups"]:
        group = made.groups[verdict.name]
        if verdict.verdict == "unschedulable":
            assert group["conditions"][-1]["message"] == verdict.message
            assert len(group["conditions"]) == 1
        elif verdict.verdict in ("placed", "running"):
            assert group["conditions"] == []
        if verdict.last_start is not None:
            assert group["stamps"][LAST_START] == verdict.last_start
        if verdict.stale_since == "":
            assert STALE not in group["stamps"]
        elif verdict.stale_since is not None:
            assert group["stamps"][STALE] in STAMPS


@given(
    st.lists(st.tuples(st.one_of(DECIDE, FAILURE), st.sampled_from([0.1, 1.0, 5.0])), max_size=25)
)
@settings(max_examples=300, deadline=None)
def test_a_write_always_changes_its_object(steps: list[tuple[tuple[str, Any], float]]) -> None:
    made = world()
    for step, seconds in steps:
        run(made, [step])
        made.send()
        made.wait(seconds)
    assert made.wasted == []


def text_of(write: Write) -> str:
    [condition] = write.body["status"]["conditions"]  # type: ignore[index,call-overload]
    text: str = condition["message"]
    return text


@given(st.lists(st.tuples(WAITING, st.sampled_from([0.5, 1.0, 7.0, 20.0])), max_size=40))
@settings(max_examples=300, deadline=None)
def test_rewrites_keep_the_rate_limits(steps: list[tuple[dict[str, Any], float]]) -> None:
    made = world()
    for facts, seconds in steps:
        made.decide(**facts)
        made.send()
        made.wait(seconds)
    for pod in PODS:
        own = [(at, text_of(write)) for at, write in made.sent if f"team/{write.name}" == pod]
        for (before, old), (after, new) in pairwise(own):
            apart = COUNTS_S if shape(old) == shape(new) else OTHER_S
            assert after - before >= apart - 1e-6


@given(st.lists(st.one_of(DECIDE, OUTCOME, TIME, FAILURE), max_size=25))
@settings(max_examples=100, deadline=None)
def test_no_state_remains_when_nothing_waits(steps: list[tuple[str, Any]]) -> None:
    made = world()
    run(made, steps)
    made.decide(groups=[Verdict(name, "running", stale_since="") for name in GROUPS])
    made.send()
    made.wait(300)
    assert len(made.verdicts) == 0
    assert made.queue == []


@given(st.lists(st.one_of(DECIDE, OUTCOME, TIME), max_size=20))
@settings(max_examples=200, deadline=None)
def test_no_time_stamp_is_lost(steps: list[tuple[str, Any]]) -> None:
    made = world()
    wished: dict[str, str] = {}
    for step in steps:
        if step[0] == "decide":
            for verdict in step[1]["groups"]:
                if verdict.last_start is not None:
                    wished[verdict.name] = verdict.last_start
        run(made, [step])
    made.send()
    made.wait(100)
    for name, at in wished.items():
        assert made.groups[name]["stamps"][LAST_START] == at
