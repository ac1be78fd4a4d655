"""Past usage of queues: its sources, and its effect (spec 1 F44, F115)."""

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import kai
from kai.engine import usage as usages
from kai.engine.windows import Samples, Window, usage_of
from kai.errors import InvalidInputError

NOW = "2026-01-01T12:00:00Z"


def two_queues(gpus: int = 8, **weights: float) -> kai.Cluster:
    cluster = kai.Cluster(now=NOW).node("n", gpus=gpus)
    for name in ("a", "b"):
        cluster.queue(name, weight=weights.get(name, 1))
    for name in ("a", "b"):
        cluster.pending(f"{name}/x", pods=gpus, gpus=1)
    return cluster


def shares(cluster: kai.Cluster, **config: Any) -> list[float | None]:
    queues = kai.Scheduler(config or None).plan(cluster).queues
    return [queues[name].gpu.fair_share for name in ("a", "b")]


def test_a_queue_that_used_more_gets_less() -> None:
    """Spec 1 F52: 16 GPUs, past usage 0.5 and 0.1."""
    cluster = two_queues(16).set_usage({"a": {"gpu": 0.5}, "b": {"gpu": 0.1}})
    assert shares(cluster) == [6, 10]
    plugins = {"proportion": {"kValue": "5"}}
    assert shares(cluster, plugins=plugins) == [3, 13]
    assert shares(cluster, plugins={"proportion": {"kValue": "0"}}) == [8, 8]


def test_a_plan_has_the_past_usage() -> None:
    plan = kai.Scheduler().plan(two_queues().set_usage({"a": {"gpu": 0.5, "cpu": 0.25}}))
    queue = plan.queues["a"]
    assert (queue.gpu.usage, queue.cpu.usage, queue.memory.usage) == (0.5, 0.25, 0)
    assert plan.to_dict()["queues"]["b"]["gpu"]["usage"] == 0


def test_new_usage_replaces_all_earlier_usage() -> None:
    cluster = two_queues().set_usage({"a": {"gpu": 0.5}})
    assert shares(cluster) == [3, 5]
    assert cluster.usage == {"a": {"gpu": 0.5, "cpu": 0.0, "memory": 0.0}}
    assert shares(cluster.set_usage({"b": {"gpu": 0.5}})) == [5, 3]
    assert shares(cluster.set_usage({})) == [4, 4]


def test_an_earlier_plan_keeps_its_usage() -> None:
    cluster = two_queues().set_usage({"a": {"gpu": 0.5}})
    before = kai.Scheduler().plan(cluster)
    kai.Scheduler().plan(cluster.set_usage({"b": {"gpu": 0.5}}))
    assert [before.queues[name].gpu.fair_share for name in ("a", "b")] == [3, 5]


def test_usage_is_a_part_of_a_snapshot(tmp_path: Path) -> None:
    cluster = two_queues().set_usage({"a": {"gpu": 0.5}})
    text = json.dumps(kai.Scheduler().plan(cluster).to_dict()["queues"])
    for form in ("cluster.json", "cluster.zip"):
        cluster.save(tmp_path / form)
        [again] = [kai.load(tmp_path / form, now=NOW)]
        assert json.dumps(kai.Scheduler().plan(again).to_dict()["queues"]) == text
    for twin in (cluster.copy(), pickle.loads(pickle.dumps(cluster)), copy.deepcopy(cluster)):
        assert shares(twin) == [3, 5]
        assert shares(twin.set_usage({})) == [4, 4]
    assert shares(cluster) == [3, 5]


def test_usage_of_a_snapshot_can_be_replaced() -> None:
    text = json.dumps(two_queues().set_usage({"a": {"gpu": 0.5}}).to_snapshot()).encode()
    for _ in range(2):
        cluster = kai.Cluster.from_snapshot(text + b" \n")
        assert cluster.usage["a"]["gpu"] == 0.5
        cluster.set_usage({"b": {"gpu": 0.5}})
        assert shares(cluster) == [5, 3]
        assert cluster.to_snapshot()["usage"] == {"b": {"gpu": 0.5, "cpu": 0.0, "memory": 0.0}}
    assert shares(cluster.queue("c").set_usage({"a": {"gpu": 0.5}})) == [3, 5]


def test_queues_may_be_added_after_their_usage() -> None:
    cluster = two_queues()
    queue = next(each for each in cluster.objects["queues"] if each["metadata"]["name"] == "a")
    kai.Scheduler().plan(cluster)
    cluster.delete("Queue", "a").set_usage({"a": {"gpu": 0.5}})
    assert cluster.usage == {}
    assert shares(cluster.upsert({**queue, "kind": "Queue"})) == [3, 5]


def test_usage_is_kept_in_a_file_with_a_duplicate_object() -> None:
    snapshot = two_queues().set_usage({"a": {"gpu": 0.5}}).to_snapshot()
    snapshot["rawObjects"]["queues"] += [{"metadata": {"name": "c"}}] * 2
    cluster = kai.Cluster.from_snapshot(json.dumps(snapshot).encode(), now=NOW)
    assert shares(cluster) == [3, 5]
    assert shares(cluster.set_usage({"b": {"gpu": 0.5}})) == [5, 3]


@pytest.mark.parametrize(
    ("usage", "message"),
    [
        ({"a": 0.5}, "usage: queue a: is not a mapping of gpu, cpu and memory: 0.5"),
        ({"a": {"gpus": 1}}, "usage: queue a: there is no member 'gpus'; did you mean 'gpu'?"),
        ({"a": {"gpu": -1}}, "usage: queue a: gpu: must be a number of at least 0, not -1"),
        (
            {"a": {"gpu": float("nan")}},
            "usage: queue a: gpu: must be a number of at least 0, not nan",
        ),
        (
            {"a": {"gpu": float("inf")}},
            "usage: queue a: gpu: must be a number of at least 0, not inf",
        ),
        ({"a": {"gpu": True}}, "usage: queue a: gpu: must be a number of at least 0, not True"),
    ],
)
def test_invalid_usage_is_refused(usage: Any, message: str) -> None:
    cluster = two_queues().set_usage({"a": {"gpu": 0.5}})
    with pytest.raises(InvalidInputError) as error:
        cluster.set_usage(usage)
    assert str(error.value) == message
    assert shares(cluster) == [3, 5]


# ---- files ---------------------------------------------------------------------------------------

SAMPLES = """
usageParams: {windowSize: 4h}
capacity: {gpu: 8, cpu: 64}
samples:
- {time: "2026-01-01T06:00:00Z", allocated: {a: {gpu: 8}}}
- {time: "2026-01-01T10:00:00Z", allocated: {a: {gpu: 8}, b: {gpu: 0, cpu: 16}}}
- {time: "2026-01-01T12:00:00Z", allocated: {b: {gpu: 4}}, capacity: {gpu: 16, cpu: 64}}
"""


def test_samples_are_summed_up_in_their_window(written: Any) -> None:
    file = written("usage.yaml", SAMPLES)
    used = usages.usage_in(usages.read(file), kai.api.times.to_ns(NOW))
    assert used == {
        "a": (pytest.approx(8 / 24), 0.0, 0.0),
        "b": (pytest.approx(4 / 24), pytest.approx(16 / 128), 0.0),
    }
    later = usages.usage_in(usages.read(file), kai.api.times.to_ns("2026-01-01T15:00:00Z"))
    assert later["a"] == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("7", "FILE: is a int, not a mapping of queues"),
        ("{", "FILE: not valid JSON"),
        ("samples: [7]", "FILE: samples[0]: is not a mapping with time and allocated"),
        ("samples: [{}]", "FILE: samples[0]: time: None is not an RFC 3339 time"),
        (
            "samples: [{time: '2026-01-01T00:00:00Z'}]",
            "FILE: samples[0]: the capacity is missing, here and for all samples",
        ),
        (
            "{samples: [], capcity: {}}",
            "FILE: there is no member 'capcity'; did you mean 'capacity'",
        ),
        ("{samples: [], usageParams: {windowSize: x}}", "FILE: usageParams: windowSize: 'x' is no"),
        (
            "{capacity: {}, samples: [{time: '2026-01-01T00:00:00Z', allocated: {a: 1}}]}",
            "FILE: samples[0]: allocated: queue a: is not a mapping of gpu, cpu and memory: 1",
        ),
        ("a: {gpu: much}", "FILE: queue a: gpu: must be a number of at least 0, not 'much'"),
    ],
)
def test_invalid_usage_files_are_refused(written: Any, text: str, message: str) -> None:
    file = written("usage.yaml", text)
    with pytest.raises(InvalidInputError) as error:
        usages.usage_in(usages.read(file), 0, str(file))
    assert str(error.value).startswith(message.replace("FILE", str(file)))


# ---- over time -----------------------------------------------------------------------------------


@pytest.mark.parametrize("k_value", ["0.5", "1", "4"])
def test_two_saturated_queues_converge_to_their_weights(k_value: str) -> None:
    """Spec 1 F44: u = n is the equilibrium. `b` used everything before, and gets less for a
    time."""
    scheduler = kai.Scheduler({"plugins": {"proportion": {"kValue": k_value}}})
    cluster, window = two_queues(16, a=3, b=1), Window(kind="samples", size=60)
    held = [{"a": (0.0, 0.0, 0.0), "b": (16.0, 0.0, 0.0)}] * 60
    given: list[float] = []
    for _ in range(240):
        last = held[-60:]
        samples = Samples.of_rows(range(len(last)), last, [(16.0, 0.0, 0.0)] * len(last))
        used = usage_of(samples, window)
        queues = scheduler.plan(cluster.set_usage(usages.to_mapping(used))).queues
        now = {name: (float(queues[name].gpu.fair_share or 0), 0.0, 0.0) for name in ("a", "b")}
        assert now["a"][0] + now["b"][0] == 16
        held.append(now)
        given.append(now["a"][0])
    assert given[0] > 12  # more than its weight, as it had nothing
    last_window = sum(row["a"][0] for row in held[-60:]) / (60 * 16)
    assert last_window == pytest.approx(0.75, abs=0.03)
    # Each window is nearer than the one before.
    off = [abs(sum(given[at : at + 60]) / 960 - 0.75) for at in (0, 60, 120, 180)]
    assert off[-1] <= off[0]


def test_only_past_usage_lowers_the_share_of_a_queue() -> None:
    cluster = two_queues(16, a=3, b=1)
    assert shares(cluster) == [12, 4]
    used = {"a": {"gpu": 0.0}, "b": {"gpu": 1.0}}
    assert shares(cluster.set_usage(used)) == [16, 0]
