"""kai verify on the command line: its output and its exit status."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kai.cli import main

SCENARIO = """
name: one pod starts
cluster: {{queues: {{vision: {{}}}}, nodes: {{n1: {{gpu: 1}}}}}}
pending: {{vision/train: {{gpu: 1}}}}
expect: {{vision/train: {{placed: {placed}}}}}
"""


@dataclass
class Ran:
    exit_code: int
    output: str
    error: str


@pytest.fixture
def verify(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    def run(*arguments: object) -> Ran:
        status = main(["verify", *map(str, arguments)])
        output = capsys.readouterr()
        return Ran(status, output.out, output.err)

    return run


@pytest.fixture
def good(tmp_path: Path) -> Path:
    (tmp_path / "good.yaml").write_text(SCENARIO.format(placed=1))
    return tmp_path / "good.yaml"


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    text = SCENARIO.format(placed=0).replace("one pod starts", "no pod starts")
    (tmp_path / "bad.yaml").write_text(text)
    return tmp_path / "bad.yaml"


def test_agreement_is_status_0(verify: Callable[..., Ran], good: Path) -> None:
    result = verify(good)
    assert result.exit_code == 0, result.output
    assert "scenarios" in result.output
    assert "All judged cases agree" in result.output


def test_scenarios_are_named_and_empty_columns_left_out(
    verify: Callable[..., Ran], good: Path
) -> None:
    lines = verify(good).output.splitlines()
    assert lines[0] == "1 scenario"
    assert lines[3].split() == ["area", "agree", "%"]
    assert verify(good, "--as-kai").output.startswith("1 scenario, decided as KAI does\n")


def test_a_difference_is_printed_and_exits_with_1(
    verify: Callable[..., Ran], good: Path, bad: Path
) -> None:
    result = verify(good, bad)
    assert result.exit_code == 1
    assert "no pod starts: differ" in result.output
    assert "group vision/train: 1 pod placed, should be 0: vision/train-0" in result.output
    assert "1 of 2 cases fail" in result.output


def test_the_number_of_differences_can_be_limited(verify: Callable[..., Ran], bad: Path) -> None:
    assert "vision/train-0" not in verify(bad, "--limit-differences", 0).output


def test_json_is_one_object(verify: Callable[..., Ran], good: Path, bad: Path) -> None:
    result = verify("--json", "--as-kai", good, bad)
    assert result.exit_code == 1
    report = json.loads(result.output)
    assert report["mode"] == "as-kai"
    assert report["areas"]["scenarios"]["judged"] == 2
    assert [each["case"] for each in report["differences"]] == ["no pod starts"]


CASE = {
    "snapshot": {
        "config": {"actions": "allocate"},
        "rawObjects": {
            "nodes": [
                {
                    "metadata": {"name": name},
                    "status": {
                        "allocatable": {"pods": "10"},
                        "conditions": [{"type": "Ready", "status": "True"}],
                    },
                }
                for name in ("n1", "n2")
            ],
            "podGroups": [{"metadata": {"name": "a", "namespace": "ns"}, "spec": {"queue": "q"}}],
            "pods": [
                {
                    "metadata": {
                        "name": "a-0",
                        "namespace": "ns",
                        "annotations": {"pod-group-name": "a"},
                    },
                    "spec": {"schedulerName": "kai-scheduler"},
                    "status": {"phase": "Pending"},
                }
            ],
        },
    },
    "expect": {"bind": {"ns/a-0": {"node": "n1"}}, "queues": {}},
}


class Engine:
    """Binds the only pod to n2, and to n1 like KAI with the switches of its class turned off."""

    as_kai = False
    turned_off: tuple[str, ...] = ()

    def __init__(self, *, as_kai: bool) -> None:
        assert not as_kai

    def __call__(self, snapshot: Any, *, now: str) -> Any:
        compat = snapshot["config"].get("compat") or {}
        node = "n1" if set(self.turned_off) <= set(compat) else "n2"
        placed = SimpleNamespace(
            kind="bind", pod="ns/a-0", node=node, gpus=0, devices=None, portion=None, gpu_groups=()
        )
        return SimpleNamespace(decisions=[placed], pod_groups={}, queues={})

    def switches(self) -> list[str]:
        return ["queue_depth", "same_cycle_eviction", "slow_job", "victim_shares"]


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("kai.verify.Engine", Engine)
    file = tmp_path / "random" / "reclaim" / "reclaim-7.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(CASE))
    return file


def test_a_switch_that_explains_a_case_is_listed(
    verify: Callable[..., Ran], recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Engine, "turned_off", ("slow_job",))
    result = verify(recorded)
    assert result.exit_code == 0, result.output
    assert "1  slow_job: kai      reclaim-7" in result.output
    report = json.loads(verify(recorded, "--json").output)
    assert (report["mode"], report["agree"]) == ("default", True)
    assert report["explained_by"] == {"slow_job": ["random/reclaim/reclaim-7"]}
    assert report["explained_together"] == []


def test_several_switches_that_explain_a_case_are_listed_with_the_reason(
    verify: Callable[..., Ran], recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Engine, "turned_off", ("same_cycle_eviction", "victim_shares"))
    result = verify(recorded)
    assert result.exit_code == 0, result.output
    text = " ".join(result.output.split())
    assert "explained by several switches same_cycle_eviction and victim_shares: reclaim-7" in text
    assert "same_cycle_eviction and victim_shares: the order of victims decides" in text


@pytest.mark.parametrize(
    ("turned_off", "text"),
    [
        (
            ("queue_depth", "slow_job"),
            "differ; only queue_depth and slow_job together explain it, and their interaction is"
            " unknown",
        ),
        (("nothing",), "differ; no switch explains it"),
    ],
)
def test_an_unexplained_difference_exits_with_1(
    verify: Callable[..., Ran],
    recorded: Path,
    monkeypatch: pytest.MonkeyPatch,
    turned_off: tuple[str, ...],
    text: str,
) -> None:
    monkeypatch.setattr(Engine, "turned_off", turned_off)
    result = verify(recorded)
    assert result.exit_code == 1
    assert f"random/reclaim reclaim-7: {text} " in " ".join(result.output.split())
    (difference,) = json.loads(verify(recorded, "--json").output)["differences"]
    together = [] if turned_off == ("nothing",) else list(turned_off)
    assert difference["explained_only_together_by"] == together


def test_a_reported_case_shows_whether_kai_decided_so(
    verify: Callable[..., Ran], recorded: Path
) -> None:
    recorded.write_text(json.dumps({**CASE, "varies": ["/bind"], "alternatives": []}))
    rows = [line.split() for line in verify(recorded).output.splitlines()]
    assert ["area", "agree", "%", "reported", "seen"] in rows
    assert ["reclaim", "1", "1"] in rows


def test_an_unreadable_file_exits_with_2_and_one_sentence(
    verify: Callable[..., Ran], tmp_path: Path
) -> None:
    (tmp_path / "it.yaml").write_text("name: x\nexpects: {}\n")
    result = verify(tmp_path / "it.yaml")
    assert result.exit_code == 2
    problem = "there is no member 'expects'; did you mean 'expect'?"
    assert result.error == f"kai: {tmp_path / 'it.yaml'}:2: expects: {problem}\n"


def test_an_invalid_scenario_exits_with_2(verify: Callable[..., Ran], tmp_path: Path) -> None:
    text = SCENARIO.format(placed=1).replace("{gpu: 1}}\nexpect", "{gpu: 1, pods: -1}}\nexpect")
    (tmp_path / "it.yaml").write_text(text)
    result = verify(tmp_path / "it.yaml")
    assert result.exit_code == 2
    assert "pending.vision/train: pods is -1" in result.error
    assert result.error.count("\n") == 1


def test_a_broken_file_does_not_stop_the_others(
    verify: Callable[..., Ran], good: Path, tmp_path: Path, written: Any
) -> None:
    broken = written("broken.yaml", "name: [")
    result = verify(broken, tmp_path / "missing.yaml", good)
    assert result.exit_code == 2
    assert f"kai: {broken}:1: not valid YAML: " in result.error
    assert f"kai: {tmp_path / 'missing.yaml'}: no such file or directory\n" in result.error
    assert "1/1" in result.output
    report = json.loads(verify(broken, good, "--json").output)
    assert len(report["broken"]) == 1
    assert report["areas"]["scenarios"]["agree"] == 1


def test_an_invalid_scenario_does_not_stop_the_others_of_its_file(
    verify: Callable[..., Ran], written: Any
) -> None:
    path = written("it.yaml", f"name: x\nexpects: {{}}\n---\n{SCENARIO.format(placed=1)}")
    result = verify(path)
    assert result.exit_code == 2
    assert "1/1" in result.output


def test_an_unknown_area_lists_the_areas(verify: Callable[..., Ran], good: Path) -> None:
    result = verify(good, "--area", "reclaim")
    assert result.exit_code == 2
    assert result.error == "kai: no case is in reclaim; the areas are: scenarios\n"


def test_an_area_can_be_chosen(verify: Callable[..., Ran], good: Path) -> None:
    assert verify(good, "--area", "scenarios").exit_code == 0


def test_every_line_of_the_table_fits_80_columns(
    verify: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KAI_CONFORMANCE", raising=False)
    result = verify("--as-kai", "--limit-differences", 0)
    table = result.output.partition("not built")[0]
    assert "integration-allocate-fractional" in table
    assert max(map(len, table.splitlines())) <= 80


def test_a_broken_recorded_file_does_not_stop_the_others(
    verify: Callable[..., Ran], recorded: Path
) -> None:
    recorded.with_name("broken.json").write_text("{")
    result = verify(recorded.parent)
    assert result.exit_code == 2
    assert "broken.json: not JSON" in " ".join(result.output.split()) + result.error
    assert "1/1" in result.output
