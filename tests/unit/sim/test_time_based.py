"""The input and the output of KAI's time-based simulator (spec 1 F126-F128)."""

import io

import pytest

from kai import _core
from kai.engine.windows import Samples, Window, usage_of
from kai.errors import InvalidInputError
from kai.sim.time_based import (
    Input,
    Jobs,
    Nodes,
    Queue,
    Row,
    answer_of,
    read_input,
    rows_of,
    run,
    workload_of,
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


def test_names_are_read_in_any_case() -> None:
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


def test_the_count_of_nodes_is_used() -> None:
    """KAI creates one node for each entry; two entries with equal GPUs have one name, which is an
    error."""
    nodes = read_input("Nodes: [{GPUs: 16, Count: 2}, {GPUs: 8}, {GPUs: 16}, {GPUs: 4, Count: 0}]")
    made = workload_of(nodes)
    assert made.gpus == 3 * 16 + 8
    assert [name for pool in made.nodes for name in pool.names()] == [
        *("test-node-16-0", "test-node-16-1", "test-node-16-2"),
        "test-node-8",
    ]


@pytest.mark.parametrize("text", ["", "{}", "cycles: null", "Queues: null", "jobs: null"])
def test_missing_members_have_defaults(text: str) -> None:
    """KAI stops if HalfLifePeriod is missing."""
    assert read_input(text) == Input(cycles=100, window_size=5, half_life=0, k_value=1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("7", "the input: is not a mapping: 7"),
        ("cycle: 7", "the input: there is no member 'cycle'; did you mean 'Cycles'?"),
        ("Cycles: many", "Cycles: must be a whole number of at least 0, not 'many'"),
        ("Cycles: 1.5", "Cycles: must be a whole number of at least 0, not 1.5"),
        ("WindowSize: 0", "WindowSize: must be a whole number of at least 1, not 0"),
        ("HalfLifePeriod: -1", "HalfLifePeriod: must be a number of at least 0, not -1"),
        ("KValue: .nan", "KValue: must be a number of at least 0, not "),
        ("Nodes: 7", "Nodes: is not a list: 7"),
        ("Nodes: [{GPU: 7}]", "Nodes[0]: there is no member 'GPU'; did you mean 'GPUs'?"),
        ("Nodes: [{GPUs: true}]", "Nodes[0]: GPUs: must be a whole number of at least 0, not True"),
        ("Queues: [{}]", "Queues[0]: Name: is missing"),
        ("Queues: [{Name: 7}]", "Queues[0]: Name: is not a string: 7"),
        ("Queues: [{Name: a}, {Name: a}]", "Queues: two queues have the name 'a'"),
        ("Queues: [{Name: a, Parent: b}]", "Queues: a: there is no parent 'b'"),
        ("Jobs: [a]", "Jobs: is not a mapping of queues: ['a']"),
        ("Jobs: {a: {}}", "Jobs: there is no queue 'a'"),
        (
            "{Queues: [{Name: o}, {Name: a, Parent: o}], Jobs: {o: {NumPods: 1, NumJobs: 1}}}",
            "Jobs: o: it has child queues, so it cannot run jobs",
        ),
        (
            "Queues: [{Name: a, Parent: b}, {Name: b, Parent: a}]",
            "Queues: a: it is its own ancestor",
        ),
        ("a: [", "not valid YAML: "),
    ],
)
def test_invalid_inputs_are_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        read_input(text)
    assert message in str(error.value)


def test_the_csv_equals_kais() -> None:
    """Spec 1 F128: six decimals; fair shares of one and more are cut to whole numbers."""
    out = io.StringIO()
    write_csv([Row(0, "a", 12, 12.9), Row(0, "b", 0.5, 0.25), Row(7, "a", 0, 1)], out)
    assert out.getvalue() == (
        "Time,QueueID,Allocation,FairShare\n"
        "0,a,12.000000,12.000000\n"
        "0,b,0.500000,0.250000\n"
        "7,a,0.000000,1.000000\n"
    )


# --- cycles --------------------------------------------------------------------------------------

TWO = """
Cycles: {cycles}
WindowSize: {window}
HalfLifePeriod: {half_life}
KValue: {k}
Nodes: [{{GPUs: 16}}]
Queues:
- {{Name: org}}
- {{Name: a, Parent: org, Weight: {weight}}}
- {{Name: b, Parent: org}}
Jobs:
  a: {{GPUs: {gpus}, NumPods: 1, NumJobs: 100}}
  b: {{GPUs: {gpus}, NumPods: 1, NumJobs: 100}}
"""


def two(**given: float) -> Input:
    """Two queues of one department that request everything."""
    usual = {"cycles": 300, "window": 50, "half_life": 0, "k": 1, "weight": 3, "gpus": 1}
    return read_input(TWO.format(**{**usual, **given}))


def by_queue(rows: list[Row], column: str) -> dict[str, list[float]]:
    return {q: [getattr(row, column) for row in rows if row.queue == q] for q in ("org", "a", "b")}


@pytest.mark.parametrize("half_life", [0, 10])
@pytest.mark.parametrize(("gpus", "k"), [(1, 1), (3, 2), (12, 100), (16, 100)])
def test_each_cycle_uses_the_samples_of_earlier_cycles(gpus: int, k: float, half_life: int) -> None:
    """The fair shares of the rows follow from the allocations in the rows before (spec 1 F127)."""
    given = two(gpus=gpus, k=k, half_life=half_life, cycles=150)
    rows = list(rows_of(given, run(given)))
    held, shares = by_queue(rows, "allocated"), by_queue(rows, "fair_share")
    window = Window(kind="samples", size=50, half_life=half_life)
    for cycle in range(given.cycles):
        samples = Samples.of_rows(
            [float(each) for each in range(cycle)],
            [{q: (held[q][each], 0.0, 0.0) for q in held} for each in range(cycle)],
            [(16.0, 0.0, 0.0)] * cycle,
        )
        used = usage_of(samples, window)
        siblings = [
            (q, 100, 0, 0.0, -1.0, weight, 100.0 * gpus, used.get(q, (0.0,))[0])
            for q, weight in (("a", 3.0), ("b", 1.0))
        ]
        expected = _core.divide(16.0, siblings, k_value=k)
        assert [shares["a"][cycle], shares["b"][cycle]] == expected, cycle


def test_rows_are_sorted_by_cycle_and_name() -> None:
    given = two(cycles=3, gpus=4)
    rows = list(rows_of(given, run(given)))
    assert [(row.time, row.queue) for row in rows] == [
        (cycle, queue) for cycle in range(3) for queue in ("a", "b", "org")
    ]
    assert rows[:3] == [Row(0, "a", 12, 12), Row(0, "b", 4, 4), Row(0, "org", 16, 16)]
    assert list(rows_of(given, run(given))) == rows


@pytest.mark.parametrize("text", ["Cycles: 3", "{Cycles: 0, Nodes: [{GPUs: 1}]}"])
def test_without_jobs_or_cycles_there_are_no_rows(text: str) -> None:
    given = read_input(text)
    assert list(rows_of(given, run(given))) == []


@pytest.mark.parametrize(("gpus", "k"), [(1, 1), (4, 1), (16, 30), (16, 100)])
@pytest.mark.parametrize(("window", "half_life"), [(256, 0), (256, 128), (1000, 0)])
def test_two_saturated_queues_converge_to_their_weights(
    gpus: int, k: float, window: int, half_life: int
) -> None:
    """Within 2 % over the last 1,000 samples, also if only one job at a time fits."""
    given = two(cycles=4000, gpus=gpus, k=k, window=window, half_life=half_life)
    queues = answer_of(given, run(given))["queues"]
    a, b = (sum(queues[queue]["usage"][-1000:]) for queue in "ab")
    assert a / (a + b) == pytest.approx(0.75, abs=0.02)
    if not half_life:  # else a second without a job at each of many turns counts
        assert a / b == pytest.approx(3, rel=0.02)


def test_jobs_of_the_whole_cluster_alternate() -> None:
    """KAI's own example: jobs of 16 GPUs on 16, weights 1 and 1."""
    given = two(cycles=1024, window=256, half_life=128, gpus=16, weight=1)
    held = by_queue(list(rows_of(given, run(given))), "allocated")
    turns = sum(x != y for x, y in zip(held["a"][1:], held["a"], strict=False))
    assert turns >= 4
    assert sum(held["a"]) / (1024 * 16) == pytest.approx(0.5, abs=0.1)


def test_the_json_result_has_past_usage() -> None:
    given = two(cycles=4, gpus=4)
    answer = answer_of(given, run(given))
    assert (answer["cycles"], answer["gpus"]) == (4, 16)
    assert answer["queues"]["a"]["allocated_gpus"] == [12, 12, 12, 12]
    assert answer["queues"]["a"]["usage"] == [None, 0.75, 0.75, 0.75]
    assert answer["queues"]["org"]["fair_share_gpus"] == [16] * 4
