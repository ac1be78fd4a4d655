"""Policies written as functions: their input, their effect, and their failures."""

import gc
import pickle
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import kai
from kai.cli import main
from kai.policy.running import Runner

np = pytest.importorskip("numpy")

NOW = "2026-01-01T00:00:00Z"
Function = Callable[..., Any]


def small_cluster() -> kai.Cluster:
    cluster = kai.Cluster(now=NOW).queue("a").nodes("n", 3, gpus=4)
    return cluster.running("a/busy", gpus=2, cpus=8, node="n2").pending("a/x", gpus=1)


def nodes_with(*policies: kai.policy.Policy, cluster: kai.Cluster | None = None) -> dict[str, str]:
    plan = kai.Scheduler(policies=policies).plan(cluster or small_cluster())
    return {each.pod: each.node for each in plan.decisions if isinstance(each, kai.Bind)}


@kai.policy.score
def prefers_n3(pod: Any, nodes: Any) -> Any:
    return np.array([100.0 if name == "n3" else 0.0 for name in nodes.name])


@kai.policy.filter
def only_empty(pod: Any, nodes: Any) -> Any:
    return (nodes.gpu_idle_milli == 1000).sum(1) == nodes.gpus


# ---- what policies decide ------------------------------------------------------------------------


def test_the_highest_score_wins() -> None:
    assert nodes_with() == {"a/x-0": "n2"}
    assert nodes_with(prefers_n3) == {"a/x-0": "n3"}


def test_among_equal_scores_the_first_name_wins() -> None:
    @kai.policy.score
    def equal(pod: Any, nodes: Any) -> Any:
        return np.zeros(len(nodes))

    assert nodes_with(equal) == {"a/x-0": "n1"}


def test_scores_of_several_functions_are_added() -> None:
    @kai.policy.score
    def against_n3(pod: Any, nodes: Any) -> Any:
        return np.array([{"n1": 1, "n2": 2, "n3": -200}[name] for name in nodes.name])

    assert nodes_with(prefers_n3, against_n3) == {"a/x-0": "n2"}


def test_a_filter_keeps_pods_away() -> None:
    assert nodes_with(only_empty) == {"a/x-0": "n1"}


def test_a_group_that_waits_for_a_filter_has_the_reason() -> None:
    @kai.policy.filter
    def nowhere(pod: Any, nodes: Any) -> Any:
        return np.zeros(len(nodes), dtype=bool)

    plan = kai.Scheduler(policies=[nowhere]).plan(small_cluster())
    assert plan.decisions == ()
    assert "3 nodes refused by your policy" in plan.why("a/x")


def test_a_policy_chooses_the_device() -> None:
    cluster = kai.Cluster(now=NOW).queue("a").node("n1", gpus=4)
    cluster.running("a/half", gpu_fraction=0.5, node="n1", gpu_groups=["one"])
    cluster.running("a/third", gpu_fraction=0.3, node="n1", gpu_groups=["two"])
    cluster.pending("a/x", gpu_fraction=0.2)
    seen = []

    @kai.policy.score
    def emptiest(pod: Any, nodes: Any) -> Any:
        seen.append(nodes.gpu_idle_milli.tolist())
        shared = np.where(nodes.gpu_idle_milli < 1000, nodes.gpu_idle_milli, -1)
        return np.zeros(len(nodes)), shared.argmax(1)

    plan = kai.Scheduler(policies=[emptiest]).plan(cluster)
    assert seen[0] == [[500, 700, 1000, 1000]]
    assert plan.decisions[0].gpu_groups == ("two",)  # type: ignore[union-attr]
    packed = kai.Scheduler().plan(cluster)
    assert packed.decisions[0].gpu_groups == ("one",)  # type: ignore[union-attr]


def test_groups_are_ordered_by_their_keys() -> None:
    cluster = kai.Cluster(now=NOW).queue("a").node("n1", gpus=4)
    cluster.pending("a/old", gpus=4, created="2025-12-31T22:00:00Z")
    cluster.pending("a/new", gpus=1, pods=2, created="2025-12-31T23:00:00Z", priority=75)
    seen = []

    @kai.policy.pod_group_order
    def smallest_first(groups: Any) -> Any:
        seen.append(groups)
        assert groups.name == ["a/old", "a/new"]
        assert [groups.queue_names[each] for each in groups.queue] == ["a", "a"]
        assert groups.waited_s.tolist() == [7200, 3600]
        assert groups.pods.tolist() == [1, 2]
        assert groups.running.tolist() == [0, 0]
        assert np.isnan(groups.evicted_s).all()
        assert np.isnan(groups.estimate_s).all()
        assert groups.attained_s.tolist() == groups.attained_gpu_s.tolist() == [0, 0]
        assert groups.evictions.tolist() == [0, 0]
        return groups.gpus

    @kai.policy.pod_group_order
    def longest_waiting(groups: Any) -> Any:
        return -groups.waited_s

    assert set(nodes_with(smallest_first, cluster=cluster)) == {"a/new-0", "a/new-1"}
    assert set(nodes_with(longest_waiting, cluster=cluster)) == {"a/old-0"}
    assert len(seen) == 1


def test_equal_keys_keep_kais_order() -> None:
    @kai.policy.pod_group_order
    def equal(groups: Any) -> Any:
        return np.zeros(len(groups))

    cluster = kai.Cluster(now=NOW).queue("a").node("n1", gpus=4)
    cluster.pending("a/x", gpus=4, created="2025-12-31T22:00:00Z")
    cluster.pending("a/y", gpus=4, created="2025-12-31T23:00:00Z", priority=75)
    assert nodes_with(equal, cluster=cluster) == nodes_with(cluster=cluster) == {"a/y-0": "n1"}


# ---- what they get -------------------------------------------------------------------------------


def test_tables_have_idle_resources_and_the_pod_its_request() -> None:
    seen: list[Any] = []

    @kai.policy.score
    def look(pod: Any, nodes: Any) -> Any:
        seen.append((pod, nodes.name, nodes.gpus.tolist(), nodes.gpu_idle_milli.tolist()))
        seen.append((nodes.cpu_milli - nodes.cpu_idle_milli).tolist())
        seen.append(nodes.typical_pods)
        return np.zeros(len(nodes))

    nodes_with(look)
    pod, names, gpus, idle = seen[0]
    assert (pod.gpus, pod.gpu_milli, pod.shares) == (1, 1000, False)
    assert names == ["n1", "n2", "n3"]
    assert gpus == [4, 4, 4]
    assert idle == [[1000] * 4, [1000, 1000, 0, 0], [1000] * 4]
    assert seen[1] == [0, 8000, 0]
    mix = seen[2]
    assert mix.weight.tolist() == [1, 1]
    assert sorted(mix.gpus.tolist()) == [1, 2]
    assert mix.allowed.all()


@pytest.mark.parametrize("gpus", [0, 1, 2])
def test_there_is_a_column_for_each_device(gpus: int) -> None:
    seen: list[Any] = []

    @kai.policy.score
    def look(pod: Any, nodes: Any) -> Any:
        seen.append(nodes.gpu_idle_milli.shape)
        return nodes.gpu_idle_milli.sum(1)

    cluster = kai.Cluster(now=NOW).queue("a").nodes("n", 3, gpus=gpus).pending("a/x", cpus=1)
    assert nodes_with(look, cluster=cluster) == {"a/x-0": "n1"}
    assert seen == [(3, gpus)]


def test_row_wise_policies_get_the_changed_rows() -> None:
    cluster = kai.Cluster(now=NOW).queue("a").nodes("n", 5, gpus=2).pending("a/x", gpus=1, pods=3)
    rows: list[list[str]] = []

    def note(pod: Any, nodes: Any) -> Any:
        rows.append(list(nodes.name))
        return np.zeros(len(nodes))

    nodes_with(kai.policy.score(note), cluster=cluster)
    assert rows == [["n1", "n2", "n3", "n4", "n5"], ["n1"]]  # a full node is not scored
    rows.clear()
    nodes_with(kai.policy.score(whole_table=True)(note), cluster=cluster)
    everywhere = [f"n{i}" for i in range(1, 6)]
    assert rows == [everywhere, everywhere, everywhere[1:]]


def test_a_table_that_is_kept_keeps_its_values() -> None:
    """The memory of a table used to be freed at the end of its cycle."""
    kept: list[Any] = []
    values: list[dict[str, list[Any]]] = []

    def keep(table: Any) -> None:
        columns = [each.name for each in fields(table) if not each.name.startswith("_")]
        kept.append(table)
        values.append({name: getattr(table, name).tolist() for name in columns})

    @kai.policy.score
    def keeps(pod: Any, nodes: Any) -> Any:
        keep(nodes)
        return np.zeros(len(nodes))

    @kai.policy.filter
    def keeps_too(pod: Any, nodes: Any) -> Any:
        keep(nodes)
        return np.ones(len(nodes), dtype=bool)

    @kai.policy.pod_group_order
    def keeps_groups(groups: Any) -> Any:
        keep(groups)
        return np.zeros(len(groups))

    for _ in range(20):
        nodes_with(keeps, keeps_too, keeps_groups)
    gc.collect()
    assert len({type(each) for each in kept}) == 2
    for table, at_the_call in zip(kept, values, strict=True):
        for name, expected in at_the_call.items():
            np.testing.assert_array_equal(getattr(table, name), expected, err_msg=name)
            with pytest.raises(ValueError, match="read-only"):
                getattr(table, name)[:] = 0


def test_a_table_is_invalid_after_its_cycle() -> None:
    kept: list[Any] = []

    @kai.policy.score
    def keeps(pod: Any, nodes: Any) -> Any:
        kept.append(nodes)
        return np.zeros(len(nodes))

    nodes_with(keeps)
    with pytest.raises(ValueError, match="cycle that has ended"):
        _ = kept[0].name


# ---- what goes wrong -----------------------------------------------------------------------------


def writes(pod: Any, nodes: Any) -> Any:
    nodes.cpu_idle_milli[0] = 0
    return np.zeros(len(nodes))


def makes_writable(pod: Any, nodes: Any) -> Any:
    nodes.gpu_idle_milli.setflags(write=True)
    return np.zeros(len(nodes))


def nan(pod: Any, nodes: Any) -> Any:
    return np.where(nodes.gpus > 0, np.nan, 0.0)


def fails(pod: Any, nodes: Any) -> Any:
    raise LookupError("no such thing")


BROKEN: list[tuple[Function, str]] = [
    (lambda pod, nodes: None, r"returned nothing instead of a NumPy array of 3 numbers"),
    (lambda pod, nodes: [0, 0, 0], "returned a list"),
    (lambda pod, nodes: np.zeros(2), r"of shape \(2,\) instead of \(3,\)"),
    (lambda pod, nodes: np.zeros((3, 1)), r"of shape \(3, 1\)"),
    (lambda pod, nodes: np.zeros(3, dtype=bool), "an array of bool instead of numbers"),
    (lambda pod, nodes: np.array(["a", "b", "c"]), "an array of <U1"),
    (lambda pod, nodes: np.array([1, 2, 3], dtype=object), "an array of object"),
    (lambda pod, nodes: np.array([0, np.inf, 0]), "the score of node n2 is inf"),
    (lambda pod, nodes: (np.zeros(3), np.zeros(3)), "GPUs of float64 instead of integers"),
    (lambda pod, nodes: (np.zeros(3), np.full(3, 4)), "chose GPU 4 of node n1, but GPUs are 0"),
    (lambda pod, nodes: (np.zeros(3), np.zeros(2, int)), r"of shape \(2,\)"),
    (nan, "the score of node n1 is nan"),
    (fails, r"corrected \(.*test_policies.py, line \d+\): LookupError: no such thing"),
    (writes, "read-only"),
    (makes_writable, "WRITEABLE"),
]


@pytest.mark.parametrize(
    ("function", "message"), BROKEN, ids=[message[:30] for _, message in BROKEN]
)
@pytest.mark.parametrize("whole_table", [False, True])
def test_a_broken_policy_is_one_error_and_keeps_the_cluster(
    function: Function, message: str, whole_table: bool
) -> None:
    cluster = small_cluster()
    before = cluster.to_snapshot()
    broken = {"is": True}

    @kai.policy.score(whole_table=whole_table)
    def corrected(pod: Any, nodes: Any) -> Any:
        return function(pod, nodes) if broken["is"] else prefers_n3.function(pod, nodes)

    scheduler = kai.Scheduler(policies=[corrected])
    with pytest.raises(kai.PolicyError, match=message) as raised:
        scheduler.plan(cluster)
    assert "policy corrected (" in str(raised.value)
    assert "\n" not in str(raised.value)
    assert cluster.to_snapshot() == before
    # The cluster and the scheduler stay usable.
    assert (
        kai.Scheduler().plan(cluster).decisions == kai.Scheduler().plan(small_cluster()).decisions
    )
    broken["is"] = False
    assert [each.node for each in scheduler.plan(cluster).decisions] == ["n3"]
    cluster.node("n4", gpus=4)
    broken["is"] = True
    with pytest.raises(kai.PolicyError):
        scheduler.plan(cluster)
    broken["is"] = False
    assert [each.node for each in scheduler.plan(cluster).decisions] == ["n3"]


def test_the_exception_of_a_policy_is_the_cause() -> None:
    with pytest.raises(kai.PolicyError) as raised:
        nodes_with(kai.policy.score(fails))
    assert isinstance(raised.value.__cause__, LookupError)


def test_ctrl_c_in_a_policy_is_a_keyboard_interrupt() -> None:
    @kai.policy.score
    def interrupted(pod: Any, nodes: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        nodes_with(interrupted)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.zeros(3), "float64 instead of booleans"),
        (np.ones(3, int), "int64 instead of booleans"),
        (np.ones(2, bool), r"of shape \(2,\)"),
        (None, "returned nothing"),
    ],
)
def test_a_broken_filter_is_one_error(answer: Any, message: str) -> None:
    with pytest.raises(kai.PolicyError, match=message):
        nodes_with(kai.policy.filter(lambda pod, nodes: answer))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.array([np.nan]), "the key of a/x is nan"),
        (np.zeros(2), r"of shape \(2,\)"),
        (None, "returned nothing"),
        (np.array([True]), "an array of bool"),
    ],
)
def test_a_broken_order_is_one_error(answer: Any, message: str) -> None:
    with pytest.raises(kai.PolicyError, match=message):
        nodes_with(kai.policy.pod_group_order(lambda groups: answer))


def test_an_object_that_is_not_a_policy_is_refused() -> None:
    with pytest.raises(
        kai.InvalidConfigError, match=r"'writes' is not a policy; write @kai\.policy"
    ):
        kai.Scheduler(policies=[writes])  # type: ignore[list-item]
    with pytest.raises(kai.InvalidConfigError, match="expects a function, not a int"):
        kai.policy.score(3)  # type: ignore[call-overload]
    order = kai.policy.pod_group_order(lambda groups: groups.gpus)
    with pytest.raises(kai.InvalidConfigError, match="both order pod groups"):
        kai.Scheduler(policies=[order, order])


def test_without_numpy_the_error_names_the_package_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "numpy", None)
    with pytest.raises(kai.InvalidConfigError, match="pip install numpy"):
        Runner([prefers_n3])


# ---- where policies are used ---------------------------------------------------------------------


def test_a_scheduler_with_policies_can_be_pickled() -> None:
    again = pickle.loads(pickle.dumps(kai.Scheduler(policies=[prefers_n3])))
    assert [each.node for each in again.plan(small_cluster()).decisions] == ["n3"]


def test_policies_of_a_file_can_be_pickled(written: Any) -> None:
    file = written("mine.py", FILE)
    again = pickle.loads(pickle.dumps(kai.policy.load(file)))
    assert nodes_with(*again) == {"a/x-0": "n3"}


def test_a_pickled_policy_keeps_its_source(written: Any) -> None:
    file = written("mine.py", FILE)
    pickled = pickle.dumps(kai.policy.load(file))
    file.write_text(FILE.replace('"n3" else', '"n1" else'))
    changed = pickle.dumps(kai.policy.load(file))
    file.unlink()
    assert nodes_with(*pickle.loads(pickled)) == {"a/x-0": "n3"}
    assert nodes_with(*pickle.loads(changed)) == {"a/x-0": "n1"}


def test_the_page_shows_the_fgd_policy_file() -> None:
    root = Path(__file__).parents[3]
    page = (root / "docs" / "howto" / "write-a-policy.md").read_text()
    assert (root / "examples" / "policies" / "fgd.py").read_text() in page


def test_a_plan_with_policies_can_be_read_after_events() -> None:
    cluster = small_cluster().node("n4", gpus=4)
    scheduler = kai.Scheduler(policies=[prefers_n3, only_empty])
    scheduler.plan(cluster)
    plan = scheduler.plan(cluster.cordon("n1"))
    cluster.remove("a/x")
    scheduler.plan(cluster)
    assert [each.node for each in plan.decisions] == ["n3"]
    assert plan.nodes["n3"].free_gpus == 3


FILE = """\
import numpy as np

import kai


@kai.policy.score
def prefers_n3(pod, nodes):
    return np.array([100.0 if name == "n3" else 0.0 for name in nodes.name])
"""


def test_the_command_line_accepts_a_policy_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import json

    file, snapshot = tmp_path / "mine.py", tmp_path / "snapshot.json"
    file.write_text(FILE)
    snapshot.write_text(json.dumps(small_cluster().to_snapshot()))
    arguments = ["plan", str(snapshot), "--now", NOW, "--json"]
    assert main([*arguments, "--policy", str(file)]) == 0
    assert [each["node"] for each in json.loads(capsys.readouterr().out)["decisions"]] == ["n3"]
    file.write_text(FILE.replace("return", "0 / 0\n    return"))
    assert main([*arguments, "--policy", str(file)]) == 2
    output = capsys.readouterr().err
    assert "mine.py, line 8): ZeroDivisionError" in output
    assert output.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "there is no such file"),
        ("def f(", "SyntaxError"),
        ("import nonsense_kai", "ModuleNotFoundError"),
        ("def score(pod, nodes): return 0", "contains no policy; write @kai.policy.score"),
    ],
)
def test_an_invalid_policy_file_prints_one_sentence(
    text: str | None, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.py"
    if text is not None:
        file.write_text(text)
    assert main(["plan", str(tmp_path), "--policy", str(file)]) == 2
    errors = capsys.readouterr().err
    assert message in errors
    assert "--policy" in errors


def test_a_running_scheduler_accepts_policies_only_if_allowed(
    written: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("aiohttp")
    from kai.controllers.planning.core import read_config
    from kai.service.options import Options

    file = written("mine.py", FILE)
    assert main(["run", "scheduler", "--policy", str(file)]) == 2
    assert "--allow-python-policies" in capsys.readouterr().err
    with pytest.raises(kai.InvalidInputError, match=r"policies in Python \(prefers_n3\) run"):
        Options(policies=(prefers_n3,))
    read_config(Options(policies=(prefers_n3,), allow_python_policies=True))


def simulated(*policies: kai.policy.Policy) -> Any:
    from kai.sim.simulate import simulate
    from kai.sim.workload import Job, Jobs, NodePool, Queue, Workload

    jobs = [Job("long", "a", 0, 100, gpus=4), Job("x", "a", 1, 50, gpus=4)]
    jobs.append(Job("y", "a", 2, 10, gpus=2))
    queues = (Queue("root"), Queue("a", "root", deserved_gpus=4))
    workload = Workload(Jobs.of(jobs), queues, (NodePool("n", 1, gpus=4),), name="small")
    return simulate(workload, policies=policies)


def test_policies_apply_in_a_simulation() -> None:
    @kai.policy.pod_group_order
    def smallest(groups: Any) -> Any:
        return groups.gpus

    assert simulated().jobs["first_start_s"].tolist() == [0, 100, 150]
    assert simulated(smallest).jobs["first_start_s"].tolist() == [0, 110, 100]


def test_tables_of_groups_that_are_kept_keep_their_values_in_a_simulation() -> None:
    kept: list[tuple[Any, list[float]]] = []

    @kai.policy.pod_group_order
    def keeps(groups: Any) -> Any:
        kept.append((groups, groups.waited_s.tolist()))
        if len(kept) > 1:
            with pytest.raises(ValueError, match="cycle that has ended"):
                assert kept[-2][0].name
        return groups.gpus

    simulated(keeps)
    assert len({tuple(waited) for _, waited in kept}) > 2
    for groups, waited in kept:
        assert groups.waited_s.tolist() == waited


def with_evictions(order: str | None, *policies: kai.policy.Policy) -> Any:
    """Jobs of a take the node from those of b; one of them runs at a time."""
    from kai.sim.simulate import simulate
    from kai.sim.workload import Job, Jobs, NodePool, Queue, Workload

    jobs = [Job(f"a{i}", "a", 40.0 + 90 * i, 20, gpus=8) for i in range(6)]
    jobs += [Job(f"b{i}", "b", float(i), 60 + 25 * i, gpus=5 + i, estimate_s=99) for i in range(4)]
    queues = (Queue("root"), Queue("a", "root", deserved_gpus=8), Queue("b", "root"))
    workload = Workload(Jobs.of(jobs), queues, (NodePool("n", 1, gpus=8),), name="small")
    config: dict[str, Any] = {"actions": "allocate, reclaim"}
    if order is not None:
        arguments = {"policy": order, "preempts": "false", "thresholds": "30,60"}
        config["plugins"] = {"joborder": arguments}
    return simulate(workload, config=config, policies=policies)


def test_least_attained_service_in_python_runs_as_the_compiled_one() -> None:
    seen: list[tuple[float, float, int]] = []
    estimates: dict[str, set[str]] = {"a": set(), "b": set()}

    @kai.policy.pod_group_order
    def las(groups: Any) -> Any:
        columns = (groups.attained_s, groups.attained_gpu_s, groups.evictions)
        seen.extend(zip(*(each.tolist() for each in columns), strict=True))
        for queue, estimate in zip(groups.queue, groups.estimate_s, strict=True):
            estimates[groups.queue_names[queue]].add(str(estimate))
        return np.searchsorted([30, 60], groups.attained_s, side="right")

    mine, compiled, without = with_evictions(None, las), with_evictions("las"), with_evictions(None)
    starts = {"first_start_s", "end_s"}
    assert starts <= set(mine.jobs)
    for column in starts:
        assert mine.jobs[column].tolist() == compiled.jobs[column].tolist()
    assert mine.jobs["end_s"].tolist() != without.jobs["end_s"].tolist()
    assert estimates == {"a": {"nan"}, "b": {"99.0"}}
    assert max(evictions for _, _, evictions in seen) > 1
    # Each job of b asks for one size, and its GPU time is that times what it ran.
    assert {gpu / run for run, gpu, _ in seen if run} <= {5.0, 6.0, 7.0, 8.0}


def test_a_failing_policy_keeps_the_timeline_so_far() -> None:
    calls = []

    @kai.policy.score
    def fails_at_the_second(pod: Any, nodes: Any) -> Any:
        calls.append(pod)
        if len(calls) > 1:
            raise LookupError("enough")
        return np.zeros(len(nodes))

    with pytest.raises(kai.PolicyError, match="LookupError: enough") as raised:
        simulated(fails_at_the_second)
    assert isinstance(raised.value.__cause__, LookupError)
    timeline = raised.value.timeline  # type: ignore[attr-defined]
    assert timeline.jobs["first_start_s"][0] == 0
    assert timeline.end_s == 100
