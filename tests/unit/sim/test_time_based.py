"""The input and the output of KAI's time-based simulator (spec 1 F126-F128)."""

from __future__ import annotations

import io

import pytest

from kai import _core
from kai.engine.usage import Rows
from kai.errors import InvalidInputError
from kai.sim.time_based import (
    Input,
    Jobs,
    Nodes,
    Queue,
    Row,
    Shares,
    read_input,
    run_cycles,
    write_csv,
)

CONFIG = """
cycles: 1024
WINDOWSIZE: 256
halflifeperiod: 128
kvalue: 4
Nodes:
- gpus: 16
  COUNT: 2
Queues:
- {name: org, priority: 90, deservedgpus: 0}
- {Name: a, Parent: org, Weight: 3}
- {Name: b, Parent: org, Priority: null}
Jobs:
  a: {GPUs: 1, NumPods: 4, numjobs: 100}
  b: null
"""


def test_names_are_read_whatever_their_case() -> None:
    assert read_input(CONFIG) == Input(
        cycles=1024,
        window_size=256,
        half_life=128,
        k_value=4,
        nodes=(Nodes(gpus=16, count=2),),
        queues=(
            Queue(name="org", priority=90),
            Queue(name="a", parent="org", weight=3),
            Queue(name="b", parent="org"),
        ),
        jobs={"a": Jobs(gpus=1, num_pods=4, num_jobs=100), "b": Jobs()},
    )
    assert read_input(CONFIG).nodes[0].name == "test-node-16"


@pytest.mark.parametrize("text", ["", "{}", "cycles: null", "Queues: null", "jobs: null"])
def test_what_is_left_out_is_the_default(text: str) -> None:
    """KAI ends where HalfLifePeriod is missing."""
    assert read_input(text) == Input(cycles=100, window_size=5, half_life=0, k_value=1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("7", "the input: is no mapping: 7"),
        ("cycle: 7", "the input: there is no member 'cycle'; did you mean 'Cycles'?"),
        ("Cycles: many", "Cycles: has to be a whole number from 0 on, not 'many'"),
        ("Cycles: 1.5", "Cycles: has to be a whole number from 0 on, not 1.5"),
        ("WindowSize: 0", "WindowSize: has to be a whole number from 1 on, not 0"),
        ("HalfLifePeriod: -1", "HalfLifePeriod: has to be a number from 0 on, not -1"),
        ("KValue: .nan", "KValue: has to be a number from 0 on, not "),
        ("Nodes: 7", "Nodes: is no list: 7"),
        ("Nodes: [{GPU: 7}]", "Nodes[0]: there is no member 'GPU'; did you mean 'GPUs'?"),
        ("Nodes: [{GPUs: true}]", "Nodes[0]: GPUs: has to be a whole number from 0 on, not True"),
        ("Queues: [{}]", "Queues[0]: Name: is missing"),
        ("Queues: [{Name: 7}]", "Queues[0]: Name: is no text: 7"),
        ("Queues: [{Name: a}, {Name: a}]", "Queues: there are two of the name 'a'"),
        ("Queues: [{Name: a, Parent: b}]", "Queues: a: there is no parent 'b'"),
        ("Jobs: [a]", "Jobs: is no mapping of queues: ['a']"),
        ("Jobs: {a: {}}", "Jobs: there is no queue 'a'"),
        ("a: [", "not valid YAML: "),
    ],
)
def test_inputs_that_are_none(text: str, said: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        read_input(text)
    assert said in str(error.value)


def test_the_csv_is_that_of_kai() -> None:
    """Spec 1 F128: six decimals; a fair share from 1 on is cut to a whole number."""
    out = io.StringIO()
    write_csv([Row(0, "a", 12, 12.9), Row(0, "b", 0.5, 0.25), Row(7, "a", 0, 1)], out)
    assert out.getvalue() == (
        "Time,QueueID,Allocation,FairShare\n"
        "0,a,12.000000,12.000000\n"
        "0,b,0.500000,0.250000\n"
        "7,a,0.000000,1.000000\n"
    )


def test_each_cycle_sees_what_the_cycles_before_have_left() -> None:
    seen: list[Rows] = []

    def step(cycle: int, used: Rows) -> Shares:
        seen.append(used)
        return Shares({"a": float(cycle)}, {"b": 1.0, "a": 2.0})

    rows = list(run_cycles(Input(cycles=4, window_size=2, nodes=(Nodes(gpus=4),)), step))
    assert seen == [
        *({}, {"a": (0.0, 0.0, 0.0)}, {"a": (0.125, 0.0, 0.0)}),
        {"a": (0.375, 0.0, 0.0)},
    ]
    assert rows[:2] == [Row(0, "a", 0, 2), Row(0, "b", 0, 1)]
    assert len(rows) == 8


def test_two_queues_that_want_everything_end_at_their_weights() -> None:
    given = read_input("{Cycles: 300, WindowSize: 100, KValue: 1, Nodes: [{GPUs: 16}]}")

    def step(_: int, used: Rows) -> Shares:
        siblings = [
            (name, 100, 0, 0.0, -1.0, weight, 100.0, used.get(name, (0.0,))[0])
            for name, weight in (("a", 3.0), ("b", 1.0))
        ]
        shares = _core.divide(16.0, siblings, k_value=given.k_value)
        held = dict(zip(("a", "b"), shares, strict=True))
        return Shares(held, held)

    last = [row.allocated for row in run_cycles(given, step) if row.queue == "a"][-100:]
    assert sum(last) / 1600 == pytest.approx(0.75, abs=0.02)
