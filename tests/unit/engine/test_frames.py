"""Decisions as data frames and Arrow tables: the same values as in the sequence."""

import math
import sys
from typing import Any

import pytest

import kai

pandas = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")

NOW = "2026-01-01T00:00:00Z"


def plan() -> kai.Plan:
    cluster = (
        kai.Cluster()
        .queue("a", deserved_gpus=8)
        .queue("b", deserved_gpus=0)
        .node("n1", gpus=2)
        .node("n2", gpus=2)
        .running("b/one", gpus=1, node="n2")
        .running("b/two", gpus=1, node="n2")
        .pending("a/half", gpu_fraction=0.5)
        .pending("a/memory", gpu_memory_mib=1024)
        .pending("a/whole", gpus=1)
        .pending("a/cpu", gpus=0)
        .pending("a/wide", gpus=1)
        .pending("a/wider", gpus=1)
    )
    made = kai.Scheduler().plan(cluster, now=NOW)
    assert {each.kind for each in made.decisions} == {"bind", "pipeline", "evict"}
    return made


def expected(plan: kai.Plan) -> list[dict[str, Any]]:
    names = ("kind", "pod", "node", "gpus", "devices", "portion", "gpu_memory_mib", "gpu_groups")
    names += ("action", "for_group", "message")
    rows = []
    for decision in plan.decisions:
        row = {name: getattr(decision, name, None) for name in names}
        row["gpu_groups"] = ",".join(row["gpu_groups"] or ()) or None
        rows.append(row)
    return rows


def plainly(value: Any) -> Any:
    missing = value is None or value is pandas.NA
    return None if missing or (isinstance(value, float) and math.isnan(value)) else value


def test_arrow_has_a_row_per_decision() -> None:
    made = plan()
    table = made.to_arrow()
    assert table.to_pylist() == expected(made)
    table.validate(full=True)
    assert pyarrow.types.is_dictionary(table.schema.field("node").type)


@pytest.mark.parametrize("with_arrow", [True, False])
def test_pandas_has_a_row_per_decision(with_arrow: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not with_arrow:
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    made = plan()
    frame = made.to_pandas()
    rows = [
        {name: plainly(value) for name, value in row.items()} for row in frame.to_dict("records")
    ]
    assert rows == expected(made)
    assert list(frame.groupby("kind", observed=True)["gpus"].sum()) == [
        sum(getattr(each, "gpus", 0) for each in made.decisions if each.kind == kind)
        for kind in ("bind", "pipeline", "evict")
    ]


def test_a_plan_without_decisions_has_the_same_columns() -> None:
    made = kai.Scheduler().plan(kai.Cluster().queue("a"), now=NOW)
    assert made.to_arrow().num_rows == len(made.to_pandas()) == 0
    assert made.to_arrow().column_names == list(made.to_pandas().columns)
    assert made.to_arrow().column_names == plan().to_arrow().column_names


def test_a_plan_has_frames_after_later_events() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=2).pending("a/x", pods=2, gpus=1)
    scheduler = kai.Scheduler()
    cluster.delete("Pod", "a/x-1")
    made = scheduler.plan(cluster, now=NOW)
    cluster.delete("Pod", "a/x-0")
    scheduler.plan(cluster, now=NOW)
    assert made.to_arrow()["pod"].to_pylist() == ["a/x-0"]


@pytest.mark.parametrize(("call", "module"), [("to_pandas", "pandas"), ("to_arrow", "pyarrow")])
def test_a_missing_library_is_named(
    call: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ModuleNotFoundError, match=f"{module}: .*pip install {module}"):
        getattr(plan(), call)()
