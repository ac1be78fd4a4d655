"""kai plan: pages for people, lines for programs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kai

NOW = "2026-01-01T00:00:00Z"
Run = Callable[..., Any]


def test_a_page_shows_decisions_waiting_groups_and_queues(run: Run, snapshot: Path) -> None:
    done = run("plan", snapshot, "--now", NOW)
    assert done.status == 0
    assert done.err == ""
    for part in (
        f"{NOW}: 1 pod bound; 1 of 2 pod",
        "bind  vision/fits",
        "Waiting",
        "It can never start here",
        "Queues, GPUs",
        "vision",
    ):
        assert part in done.out
    shown = [line for line in done.out.splitlines() if str(snapshot) not in line]
    assert max(map(len, shown)) <= 80
    assert "\x1b" not in done.out  # colour is for terminals


def test_json_has_one_line_per_input(run: Run, snapshot: Path, tmp_path: Path) -> None:
    manifests = tmp_path / "m"
    manifests.mkdir()
    (manifests / "a.yaml").write_text("kind: Node\nmetadata: {name: n1}\n")
    (manifests / "b.yaml").write_text("kind: Pod\nmetadata: {name: p}\nspec: {containers: []}\n")
    done = run("plan", snapshot, manifests, "--json", "--now", NOW)
    first, second = (json.loads(line) for line in done.out.splitlines())
    assert (first["input"], second["input"]) == (str(snapshot), str(manifests))
    assert first["decisions"] == [{"kind": "bind", "pod": "vision/fits-0", "node": "n1", "gpus": 1}]
    assert second["pod_groups"]["default/pg-p"]["verdict"] == "placed"


def test_json_is_the_same_every_time(run: Run, snapshot: Path) -> None:
    def without_timing() -> str:
        plan = json.loads(run("plan", snapshot, "--json", "--now", NOW).out)
        del plan["timing_ms"]
        return json.dumps(plan)

    assert without_timing() == without_timing()


def test_json_equals_the_python_values(run: Run, snapshot: Path) -> None:
    plan = json.loads(run("plan", snapshot, "--json", "--now", NOW).out)
    same = kai.Scheduler().plan(kai.load(snapshot), now=NOW).to_dict()
    assert {**plan, "timing_ms": 0} == {**json.loads(json.dumps(same)), "timing_ms": 0}


def test_fragmentation_is_shown_before_and_after_the_plan(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "cluster.zip"
    cluster = kai.Cluster(now=NOW).queue("a").node("n1", gpus=8)
    cluster.running("a/old", gpus=1, node="n1").pending("a/large", pods=3, gpus=3).save(file)
    before = cluster.fragmentation()
    after = kai.Scheduler().plan(cluster).fragmentation
    assert before.mix == after.mix
    done = run("plan", file, "--fragmentation", "--now", NOW)
    table = done.out[done.out.index("Idle GPUs that the typical pod cannot use") :].splitlines()
    assert [line.split() for line in table[1:4]] == [
        ["idle", "not", "usable", "share"],
        ["before", "7", "0", "0.0%"],
        ["after", "1", "0.75", "75.0%"],
    ]
    assert "Idle GPUs" in run("plan", file, "--fragmentation", "-o", "markdown").out
    plain = json.loads(run("plan", file, "--json", "--now", NOW).out)
    asked = json.loads(run("plan", file, "--fragmentation", "--json", "--now", NOW).out)
    assert asked.pop("fragmentation") == {"before": before.to_dict(), "after": after.to_dict()}
    assert {**asked, "timing_ms": 0} == {**plain, "timing_ms": 0}


@pytest.mark.parametrize("options", [("-o", "csv"), ("--explain", "big")])
def test_fragmentation_has_no_place_in_a_csv_or_an_explanation(
    run: Run, snapshot: Path, options: tuple[str, str]
) -> None:
    done = run("plan", snapshot, "--fragmentation", *options)
    assert done.status == 2
    assert f"{' '.join(options[:1])}" in done.err
    assert "and --fragmentation exclude each other" in done.err


@pytest.mark.parametrize("name", ["vision/big", "big", "big-0"])
def test_explain_prints_only_the_explanation(run: Run, snapshot: Path, name: str) -> None:
    done = run("plan", snapshot, "--explain", name)
    assert done.status == 0
    assert " ".join(done.out.split()) == (
        "vision/big waits in queue vision. "
        "It can never start here: one pod requests 8 GPUs, but the largest node has 2."
    )


def test_explain_prints_json(run: Run, snapshot: Path) -> None:
    data = json.loads(run("plan", snapshot, "--explain", "big", "--json", "--now", NOW).out)
    assert list(data)[:5] == ["input", "now", "pod_group", "queue", "verdict"]
    assert data["pod_group"] == "vision/big"
    assert data["explanation"][0] == "vision/big waits in queue vision."


def test_explain_searches_all_inputs(run: Run, snapshot: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    kai.Cluster().configure({"actions": "allocate"}).save(other)
    assert run("plan", other, snapshot, "--explain", "vision/big").status == 0
    missing = run("plan", other, snapshot, "--explain", "vision/bib")
    assert missing.status == 1
    assert missing.out == ""


def test_a_configuration_replaces_the_snapshots(run: Run, snapshot: Path, written: Any) -> None:
    config = written("config.yaml", "actions: allocate\ntiers: [{plugins: [{name: predicates}]}]\n")
    plan = json.loads(run("plan", snapshot, "--json", "--config", config).out)
    assert plan["queues"] == {}


def test_as_kai_is_an_option(run: Run, snapshot: Path) -> None:
    assert run("plan", snapshot, "--as-kai").status == 0


def test_left_out_objects_are_shown(run: Run, written: Any) -> None:
    path = written(
        "x.yaml", "kind: Job\nmetadata: {name: j}\n---\nkind: Node\nmetadata: {name: n}\n"
    )
    done = run("plan", path)
    assert done.status == 0
    assert "no pod groups; 1 object left out" in " ".join(done.out.split("\n\n")[0].split())
    assert "Left out" in done.out
    assert "Job default/j" in done.out
    assert json.loads(run("plan", path, "--json").out)["rejected"] == [
        {"kind": "Job", "name": "default/j", "field": "spec", "message": "is missing"}
    ]


def test_warnings_are_printed_once_on_stderr(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    config = {"actions": "allocate", "tiers": [{"plugins": [{"name": "no-such-plugin"}]}]}
    kai.Cluster().configure(config).save(path)
    done = run("plan", path, path, "--json")
    assert done.err.count("no-such-plugin") == 1
    assert len(done.out.splitlines()) == 2


def test_an_unknown_configuration_member_is_reported_once(
    run: Run, snapshot: Path, written: Any
) -> None:
    config = written("config.yaml", 'actions: "allocate"\naction: "reclaim"\n')
    message = 'configuration member "action" is not known and is skipped; did you mean "actions"?'
    done = run("plan", snapshot, snapshot, "--json", "--config", config)
    assert done.err == f"kai: {message}\n"
    assert [json.loads(line)["warnings"] for line in done.out.splitlines()] == [
        [message],
        [message],
    ]
    page = run("plan", snapshot, "--config", config)
    assert page.err == ""
    lines = page.out.splitlines()
    assert lines[lines.index("Warnings") + 1].startswith('  configuration member "action" is not')


def test_explain_of_a_rejected_object_exits_with_1(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(
        "kind: Pod\nmetadata: {name: p, labels: {kai.scheduler/queue: 5}}\nspec: {containers: []}\n"
    )
    for name in ("p", "default/p"):
        done = run("plan", path, "--explain", name)
        assert done.status == 1
        assert done.out.splitlines()[0] == "Pod default/p was left out of the plan."
        assert "kai.scheduler/queue" in done.out
    explained = json.loads(run("plan", path, "--explain", "p", "--json").out)
    assert explained["rejected"][0]["name"] == "default/p"


def test_the_trace_option_writes_a_trace(run: Run, snapshot: Path, tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    done = run("plan", snapshot, "--json", "--trace", file, "--now", NOW)
    timing = json.loads(done.out)["timing_ms"]
    events = [each for each in json.loads(file.read_text())["traceEvents"] if each["ph"] == "X"]
    took = {each["name"]: each["dur"] / 1e3 for each in events}
    assert took == pytest.approx({"plan": timing.pop("total"), **timing}, abs=0.001)
    [whole] = [each for each in events if each["name"] == "plan"]
    assert whole["args"]["bound"] == 1


def test_an_unwritable_trace_prints_one_sentence(run: Run, snapshot: Path) -> None:
    done = run("plan", snapshot, "--trace", "/nowhere/out.json")
    assert done.status == 2
    assert done.err.startswith("kai: --trace: /nowhere/out.json: no such file or directory")


# ---- scores --------------------------------------------------------------------------------------


def test_scores_explain_only_the_chosen_node(run: Run, snapshot: Path) -> None:
    done = run("plan", snapshot, "--scores", "fits-0", "--now", NOW)
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines()[0] == (
        "vision/fits-0 goes to n1; when it is placed, 1 of 1 node can run it"
    )
    assert "n1 (chosen)" in done.out
    assert "Queues" not in done.out


def test_scores_have_json_and_csv(run: Run, snapshot: Path) -> None:
    document = json.loads(run("plan", snapshot, "--scores", "fits-0", "--json", "--now", NOW).out)
    scores = kai.Scheduler().plan(kai.load(snapshot), now=NOW).scores("fits-0")
    assert document == {"input": str(snapshot), "now": NOW, **scores.to_dict()}
    head, *rows = run("plan", snapshot, "--scores", "fits-0", "-o", "csv").out.splitlines()
    assert head == "input,pod,node,chosen,now,sum,plugin,score"
    assert len(rows) == len(scores.plugins)
    assert f"{snapshot},vision/fits-0,n1,True,True,1009,nodeplacement,9" in rows


def test_wide_scores_have_all_plugins(run: Run, snapshot: Path) -> None:
    assert "nominatednode" not in run("plan", snapshot, "--scores", "fits-0").out
    assert "nominatednode" in run("plan", snapshot, "--scores", "fits-0", "--wide").out


def test_scores_of_a_pod_without_a_node_refer_to_its_reasons(run: Run, snapshot: Path) -> None:
    done = run("plan", snapshot, "--scores", "vision/big")
    assert done.status == 0
    assert "no node that was searched can run it" in " ".join(done.out.split())
    assert done.out.endswith("--explain vision/big-0 gives the reasons.\n")


def test_scores_before_the_plan(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "two.json"
    kai.Cluster().queue("a").nodes("n", 2, gpus=1).pending("a/x", pods=2, gpus=1).save(path)
    second = json.loads(run("plan", path, "--scores", "a/x-1", "--json").out)
    assert (second["chosen"], [each["node"] for each in second["nodes"]]) == ("n2", ["n2"])
    first = json.loads(run("plan", path, "--scores", "a/x-1", "--at-start", "--json").out)
    assert (first["moment"], [each["node"] for each in first["nodes"]]) == ("start", ["n1", "n2"])


def test_scores_looks_through_all_inputs(run: Run, snapshot: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    kai.Cluster().configure({"actions": "allocate"}).save(other)
    assert run("plan", other, snapshot, "--scores", "vision/fits-0").status == 0
    missing = run("plan", other, snapshot, "--scores", "vision/fist-0")
    assert missing.status == 1
    assert missing.err == "kai: there is no pod 'vision/fist-0'\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--scores", "a", "--explain", "b"), "--explain and --scores exclude each other"),
        (("--at-start",), "--at-start needs --scores POD"),
    ],
)
def test_scores_with_options_that_do_not_fit(
    run: Run, snapshot: Path, options: tuple[str, ...], message: str
) -> None:
    done = run("plan", snapshot, *options)
    assert done.status == 2
    assert message in done.err
