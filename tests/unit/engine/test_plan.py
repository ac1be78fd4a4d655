"""Plans are plain values: comparable, readable, and equal to their JSON."""

import json
from datetime import datetime, timezone
from typing import Any

import pytest

import kai
from kai.engine.plan import Plan
from kai.engine.values import PodPlan, Writes, group_plan_of

NOW = "2026-01-01T00:00:00Z"


OVER_LIMIT = {"queue": "b", "resource": "gpu", "limit": 2.0, "allocated": 2.0, "requested": 1.0}


class FakeCompiled:
    """A compiled plan with one decision of each kind, all members filled."""

    warnings: tuple[str, ...] = ()

    def claims(self) -> dict[str, list[Any]]:
        return {}

    def topology_ranks(self) -> dict[str, tuple[int, str | None]]:
        return {}

    decision_count = 4

    def decisions(self, start: int, stop: int, types: tuple[Any, ...]) -> list[Any]:
        bind, pipeline, evict, _ = types
        groups = ("new:n1:0", "new:n1:1")
        return [
            evict("a/old", "reclaim", "b/new", "make room"),
            bind("a/shares", "n1", 1, 2, 0.5, 4096, groups),
            bind("a/cpu", "n1", 0),
            pipeline("b/new", "n2", 8),
        ][start:stop]

    def pod_groups(self) -> dict[str, tuple[Any, ...]]:
        writes = (1_767_225_600_500_000_000, None, None)
        reasons = [
            ("over_limit", "too much", None, OVER_LIMIT),
            ("not_enough_gpus", "none", "b/z-0", {"refusals": []}),
        ]
        return {
            "b/z": ("b", "unschedulable", ["OverLimit: too much."], reasons, (None,) * 3),
            "a/y": ("a", "placed", [], [], writes),
        }

    def places(self, names: list[str]) -> list[list[Any]]:
        return [[] for _ in names]

    def domains(self, names: list[str]) -> list[None]:
        return [None for _ in names]

    def holders(self, names: list[str]) -> list[list[Any]]:
        return [([], [], []) for _ in names]

    def protection(self, names: list[str]) -> list[Any]:
        return [(False, True, False, False, 100, 0, 0, 0, []) for _ in names]

    def pods(self) -> dict[str, str]:
        return {"b/z-0": "no nodes"}

    def queues(self) -> dict[str, dict[str, tuple[Any, ...]]]:
        row = (4.0, 2.5, None, 0.0, 0.0, 2.5, 1.0)
        return {name: dict.fromkeys(("gpu", "cpu", "memory"), row) for name in ("b", "a")}

    def queue_parents(self) -> dict[str, str | None]:
        return {"a": None, "b": None}

    def counts(self) -> dict[str, int]:
        return {"bind": 2, "pipeline": 1, "evict": 1, "pod_groups": 2, "waiting": 1}

    def decision_rows(self, most: int) -> tuple[list[tuple[Any, ...]], int, int]:
        rows = [
            ("evict", "a/old", 1, 1, 0.0, "reclaim", "b/new", [], 0),
            ("bind", "a/shares", 2, 2, 1.0, "", None, [("n1", 2)], 1),
            ("pipeline", "b/new", 1, 1, 8.0, "", None, [("n2", 1)], 1),
        ]
        return rows[:most], 0, 0

    def waiting(self) -> list[tuple[list[str], bool]]:
        return [(["b/z"], False)]

    def account(self) -> tuple[Any, ...]:
        return [(8.0, 2)], [(0.0, 2)], {"a": 10**9}, 1, 0, [], [], 0.0

    def groups(self, names: list[str], *, evictions: bool) -> list[tuple[Any, Any]]:
        story = (1, [(1.0, 1)], [(1.0, 1)], None, 0, [], [], [], 0, 0, [], False)
        return [(self.pod_groups()[name], story) for name in names]

    def spent_searches(self) -> dict[str, int]:
        return {"reclaim b/z": 3}

    def score_keys(self) -> int:
        return 7

    def timing_ns(self) -> dict[str, int]:
        return {"load": 1_200_000, "fair_share": 10_000, "allocate": 0, "total": 1_210_000}


def fake_plan(name: str = "cluster.zip", compiled: Any = None) -> Plan:
    rejected = (kai.Rejected("Queue", "x", "spec.parentQueue", "does not exist"),)
    compiled = compiled or FakeCompiled()
    return Plan(compiled, input=name, now_ns=1_767_225_600_000_000_000, rejected=rejected)


def test_json_has_the_documented_members_in_order() -> None:
    expected = {
        "input": "cluster.zip",
        "now": NOW,
        "decisions": [
            {
                "kind": "evict",
                "pod": "a/old",
                "action": "reclaim",
                "for": "b/new",
                "message": "make room",
            },
            {
                "kind": "bind",
                "pod": "a/shares",
                "node": "n1",
                "gpus": 1,
                "devices": 2,
                "portion": 0.5,
                "gpu_memory_mib": 4096,
                "gpu_groups": ["new:n1:0", "new:n1:1"],
            },
            {"kind": "bind", "pod": "a/cpu", "node": "n1", "gpus": 0},
            {"kind": "pipeline", "pod": "b/new", "node": "n2", "gpus": 8},
        ],
        "pod_groups": {
            "a/y": {
                "queue": "a",
                "verdict": "placed",
                "messages": [],
                "reasons": [],
                "writes": {"last_start": NOW, "stale_since": None, "last_eviction": None},
            },
            "b/z": {
                "queue": "b",
                "verdict": "unschedulable",
                "messages": ["OverLimit: too much."],
                "reasons": [
                    {
                        "code": "over_limit",
                        "message": "too much",
                        "pod": None,
                        "facts": OVER_LIMIT,
                    },
                    {
                        "code": "not_enough_gpus",
                        "message": "none",
                        "pod": "b/z-0",
                        "facts": {"refusals": []},
                    },
                ],
                "writes": {"last_start": None, "stale_since": None, "last_eviction": None},
            },
        },
        "pods": {"b/z-0": {"message": "no nodes"}},
        "queues": {
            name: {
                resource: {
                    "deserved": 4,
                    "fair_share": 2.5,
                    "limit": None,
                    "allocated": 0,
                    "allocated_non_preemptible": 0,
                    "request": 2.5,
                    "over_quota_weight": 1,
                    "usage": 0,
                }
                for resource in ("gpu", "cpu", "memory")
            }
            for name in ("a", "b")
        },
        "warnings": [],
        "rejected": [
            {"kind": "Queue", "name": "x", "field": "spec.parentQueue", "message": "does not exist"}
        ],
        "spent_searches": {"reclaim b/z": 3},
        "score_keys": 7,
        "timing_ms": {"load": 1.2, "fair_share": 0.01, "allocate": 0.0, "total": 1.21},
    }
    assert json.dumps(fake_plan().to_dict()) == json.dumps(json.loads(json.dumps(expected)))


def test_a_removed_time_stamp_is_an_empty_string() -> None:
    gone = group_plan_of("a/x", "a", "running", [], [], (None, "", None, None)).to_dict()["writes"]
    assert gone == {"last_start": None, "stale_since": "", "last_eviction": None}
    at = 1_767_225_600_500_000_000
    written = group_plan_of("a/x", "a", "running", [], [], (None, at, at, None))
    assert written.writes.stale_since == written.writes.last_eviction
    assert written.to_dict()["writes"]["stale_since"] == NOW
    assert repr(written.writes).startswith("Writes(stale_since=datetime")


def test_whole_numbers_are_written_as_whole_numbers() -> None:
    assert '"gpus": 8}' in json.dumps(fake_plan().to_dict())
    assert '"deserved": 4,' in json.dumps(fake_plan().to_dict())


def test_json_is_the_dictionary_on_one_line() -> None:
    cluster = kai.Cluster(name='"n\u00e9"').queue("a").node("n1", gpus=2)
    cluster.pending("a/one", gpus=1).pending("a/half", gpu_fraction=0.5).pending("a/big", gpus=9)
    made = kai.Scheduler().plan(cluster, now="2026-01-01T00:00:00.5Z")
    assert made.to_json() == json.dumps(made.to_dict(), ensure_ascii=False, allow_nan=False)
    assert list(json.loads(made.to_json())) == list(fake_plan().to_dict())


def test_decisions_are_values() -> None:
    evict, shares, cpu, pipeline = fake_plan().decisions
    assert evict == kai.Evict("a/old", "reclaim", "b/new", "make room")
    assert cpu == kai.Bind("a/cpu", "n1")
    assert pipeline == kai.Pipeline("b/new", "n2", gpus=8)
    assert pipeline != kai.Bind("b/new", "n2", gpus=8)
    assert len({shares, *fake_plan().decisions}) == 4
    assert [each.kind for each in fake_plan().decisions] == ["evict", "bind", "bind", "pipeline"]
    assert all(isinstance(each, kai.Decision) for each in fake_plan().decisions)
    with pytest.raises(AttributeError):
        cpu.pod = "other"  # type: ignore[misc]


def test_the_repr_of_a_decision_has_only_its_fields() -> None:
    evict, shares, cpu, pipeline = fake_plan().decisions
    assert repr(pipeline) == "Pipeline(pod='b/new', node='n2', gpus=8)"
    assert repr(cpu) == "Bind(pod='a/cpu', node='n1', gpus=0)"
    assert "portion=0.5" in repr(shares)
    assert "for_group='b/new'" in repr(evict)


def test_pod_groups_have_reasons_and_written_time_stamps() -> None:
    groups = fake_plan().pod_groups
    assert groups["b/z"].reasons[0] == kai.Reason("over_limit", "too much", facts=OVER_LIMIT)
    started = datetime(2026, 1, 1, 0, 0, 0, 500_000, tzinfo=timezone.utc)
    assert groups["a/y"].writes == Writes(last_start=started)
    assert fake_plan().pods["b/z-0"] == PodPlan("no nodes")


def test_names_are_sorted_and_unknown_names_get_suggestions() -> None:
    plan = fake_plan()
    assert list(plan.pod_groups) == ["a/y", "b/z"]
    assert "a/y" in plan.pod_groups
    assert plan.pod_groups.get("a/x") is None
    with pytest.raises(kai.NotFoundError, match=r"no pod group 'y'; did you mean 'a/y'\?"):
        plan.pod_groups["y"]
    with pytest.raises(KeyError, match="there is no queue 'c'"):
        plan.queues["c"]


def test_queues_become_a_table_of_pandas() -> None:
    pytest.importorskip("pandas")
    table = fake_plan().queues.to_pandas()
    assert table.loc[("a", "gpu"), "fair_share"] == 2.5
    assert table.loc[("a", "gpu"), "limit"] == float("inf")
    assert next(iter(table.columns)) == "deserved"
    assert len(table) == 6


def test_without_pandas_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match="pip install pandas"):
        fake_plan().queues.to_pandas()


def test_plans_with_equal_content_are_equal() -> None:
    assert fake_plan() == fake_plan()
    assert fake_plan("elsewhere.zip") == fake_plan()
    assert fake_plan() != object()
    fewer = FakeCompiled()
    fewer.decision_count = 1
    assert fake_plan(compiled=fewer) != fake_plan()


def test_a_plan_prints_as_a_page() -> None:
    page = str(fake_plan())
    assert page.startswith(f"cluster.zip at {NOW}: 2 pods bound, 1 pipelined, 1 evicted; ")
    assert "evict" in page
    assert "reclaim for b/new" in page
    assert "a/shares and 1 more     2     1  n1" in page
    assert "b/z        Queue b has reached its limit of" in page
    assert "spec.parentQueue: does not exist" in page
    assert max(len(line) for line in page.splitlines()) <= 80
    assert repr(fake_plan()).startswith(f"<kai.Plan cluster.zip at {NOW}: 2 pods bound")
    assert "<table>" in fake_plan()._repr_html_()
    assert "fair share" in repr(fake_plan().queues)
    assert "<table>" in fake_plan().queues._repr_html_()


def test_a_plan_has_the_result_of_the_engine() -> None:
    cluster = (
        kai.Cluster()
        .queue("vision", deserved_gpus=2)
        .queue("speech", deserved_gpus=6)
        .node("n1", gpus=8)
        .running("speech/bulk", pods=7, gpus=1, node="n1")
        .pending("vision/train", pods=2, gpus=1, min_member=2)
        .pending("vision/one", gpus=1)
    )
    plan = kai.Scheduler({"actions": "allocate"}).plan(cluster, now=NOW)
    assert plan.decisions == (kai.Bind("vision/one-0", "n1", gpus=1),)
    assert {name: group.verdict for name, group in plan.pod_groups.items()} == {
        "speech/bulk": "running",
        "vision/one": "placed",
        "vision/train": "unschedulable",
    }
    assert plan.queues["speech"].gpu.allocated == 7
    assert plan.queues["vision"].gpu.limit is None
    assert set(plan.pods) == {"vision/train-0", "vision/train-1"}
    assert plan.pod_groups["vision/one"].writes.last_start == plan.now
    assert plan.timing_ms["total"] >= plan.timing_ms["load"] > 0


def test_attained_service_is_a_member_only_if_written() -> None:
    text = "run=60 gpu=120 evictions=1 until=2026-01-01T00:00:00Z"
    written = group_plan_of("a/x", "a", "running", [], [], (None, None, None, text))
    assert written.to_dict()["writes"] == {
        "last_start": None,
        "stale_since": None,
        "last_eviction": None,
        "attained_service": text,
    }
