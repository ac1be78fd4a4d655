"""kai plan --fix and --what-if: answers that were planned, and an exit status for a pipeline."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kai

NOW = "2026-01-01T00:00:00Z"
Run = Callable[..., Any]


@pytest.fixture
def racks(tmp_path: Path) -> Path:
    """Two racks with two nodes; speech runs on three nodes, and a gang of vision waits."""
    cluster = kai.Cluster(now=NOW).queue("vision", deserved_gpus=8).queue("speech", deserved_gpus=8)
    for number in range(1, 5):
        cluster.node(f"gpu-{number}", gpus=4, labels={"rack": f"r{(number + 1) // 2}"})
    cluster.running("speech/big", pods=3, gpus=4, node=["gpu-1", "gpu-2", "gpu-3"])
    cluster.pending("vision/train", pods=4, gpus=4, min_member=4)
    cluster.save(tmp_path / "racks.json")
    return tmp_path / "racks.json"


_OTHER = "spec:\n      schedulerName: default-scheduler\n      "


def manifests_of(cluster: kai.Cluster) -> list[dict[str, Any]]:
    """Its nodes and queues."""
    kinds = {"nodes": "Node", "queues": "Queue"}
    return [
        {**each, "kind": kind} for part, kind in kinds.items() for each in cluster.objects[part]
    ]


def job(folder: Path, gpus: int, queue: str = "vision") -> Path:
    file = folder / "job.yaml"
    file.write_text(
        f"""
apiVersion: batch/v1
kind: Job
metadata: {{name: new, namespace: vision, labels: {{kai.scheduler/queue: {queue}}}}}
spec:
  template:
    spec:
      containers: [{{name: main, image: x, resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}}}]
"""
    )
    return file


def test_no_fix_of_what_was_left_out_but_its_cause(run: Run, racks: Path, tmp_path: Path) -> None:
    file = job(tmp_path, gpus=-1)
    text = file.read_text()
    cluster = tmp_path / "nodes.yaml"
    cluster.write_text("{apiVersion: v1, kind: Node, metadata: {name: n1}}")
    done = run("plan", cluster, file, "--fix", "vision/new")
    assert done.status == 1
    assert done.out.splitlines()[0] == "Job vision/new was left out of the plan."
    file.write_text(text.replace(": -1", ": 1").replace("spec:\n      ", _OTHER))
    done = run("plan", cluster, file, "--fix", "vision/new")
    assert done.status == 1
    assert done.out.startswith("vision/new-0 is not planned: schedulerName is default-scheduler")
    assert done.err == ""


def test_without_a_fix_the_reason_is_printed(run: Run, tmp_path: Path) -> None:
    cluster = (
        kai.Cluster(now=NOW).queue("a").node("n1", gpus=1).pending("a/new", resources={"x/y": 1})
    )
    cluster.save(tmp_path / "a.json")
    done = run("plan", tmp_path / "a.json", "--fix", "a/new")
    assert done.status == 1
    first, *rest = done.out.splitlines()
    assert first == "None of the changes that kai can try starts a/new, alone or together."
    assert rest[0].startswith("  It can never start here: one pod requests 1 of x/y")


def test_the_reasons_and_the_fixes_of_a_group_are_one_page(
    run: Run, racks: Path, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    done = run("plan", racks, "--fix", "train", "--html", page)
    assert done.status == 0
    html = page.read_text()
    for sentence in ("vision/train waits in queue vision.", "What would start it"):
        assert f">{sentence}</h" in html
    changes = [line[3:] for line in done.out.splitlines() if line[0].isdigit()][1:]
    assert changes
    assert all(f"<b>{change}</b>" in html for change in changes)


def test_fixes_and_reasons_in_markdown(run: Run, racks: Path) -> None:
    done = run("plan", racks, "--fix", "train", "-o", "markdown")
    first, _, second, *_ = done.out.splitlines()
    assert first.endswith("proven by a plan of the changed cluster:")
    assert second.startswith("1. ")
    assert "\n\n   - Then it is placed: 4 pods" in done.out
    assert done.out.count("   ```\n") % 2 == 0
    done = run("plan", racks, "--explain", "train", "-o", "markdown")
    assert done.out.startswith("vision/train waits in queue vision.\n\n- ")


def test_only_the_page_of_one_group_has_fixes(run: Run, racks: Path, tmp_path: Path) -> None:
    done = run("plan", racks, "--html", tmp_path / "page.html")
    assert done.status == 2
    assert "--html needs --fix GROUP" in done.err


@pytest.mark.parametrize("cost", ["nan", "inf"])
def test_a_cost_is_a_number(run: Run, racks: Path, cost: str) -> None:
    done = run("plan", racks, "--fix", "train", "--cost", f"nodes={cost}")
    assert done.status == 2
    assert f"--cost nodes={cost}: give a kind and a number" in done.err


def test_what_a_change_starts_comes_first(run: Run, racks: Path) -> None:
    done = run("plan", racks, "--what-if", "--add-nodes", "3", "--like", "gpu-1")
    assert done.status == 0
    assert (
        "\n\n1 pod group gets more places: vision/train.\n"
        "No pod group waits or loses pods because of the change.\n"
    ) in done.out


def test_who_loses_pods_to_what_is_submitted_is_in_the_answer(
    run: Run, racks: Path, tmp_path: Path
) -> None:
    file = job(tmp_path, gpus=4)
    file.write_text(
        file.read_text().replace("spec:\n  template", "spec:\n  parallelism: 2\n  template")
    )
    done = run("plan", racks, "--what-if", file)
    assert done.status == 1
    assert "is worse off: speech/big." in done.out


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--queue", "vision.quota=-5"], "'-5' is below 0; -1 is unlimited"),
        (["--queue", "vision.weight=-1"], "'-1' is not a weight"),
        (["--queue", "vision.weight=nan"], "'nan' is not a weight"),
        (["--drain", "gpu-11"], "did you mean 'gpu-1'?"),
    ],
)
def test_wrong_values_of_changes_are_refused(
    run: Run, racks: Path, option: list[str], message: str
) -> None:
    done = run("plan", racks, "--what-if", *option)
    assert done.status != 0
    assert message in done.err


def test_a_group_that_is_submitted_again_has_its_reason(
    run: Run, racks: Path, tmp_path: Path
) -> None:
    """It waits with and without the change, and the answer is about what is submitted."""
    nodes = tmp_path / "nodes.yaml"
    cluster = kai.Cluster(now=NOW).queue("vision").node("n1", gpus=1)
    nodes.write_text(json.dumps({"kind": "List", "items": manifests_of(cluster)}))
    first = tmp_path / "first.yaml"
    job(tmp_path, gpus=2).rename(first)
    done = run("plan", nodes, first, "--what-if", job(tmp_path, gpus=8))
    assert done.status == 1
    assert "one pod requests 8 GPUs, but the largest node has 1" in " ".join(done.out.split())


def test_a_pod_of_another_scheduler_that_is_submitted_is_not_planned(
    run: Run, racks: Path, tmp_path: Path
) -> None:
    file = job(tmp_path, gpus=1)
    file.write_text(file.read_text().replace("spec:\n      ", _OTHER))
    done = run("plan", racks, "--what-if", file)
    assert done.status == 1
    assert "1 pending pod is not planned" in done.out
    assert "Nothing changes" not in done.out


# ---- --fix ---------------------------------------------------------------------------------------


def test_fixes_are_printed_with_what_they_do(run: Run, racks: Path) -> None:
    done = run("plan", racks, "--fix", "train")
    assert done.status == 0
    first, *rest = done.out.splitlines()
    assert first.endswith("each start vision/train, proven by a plan of the changed cluster:")
    assert "4. Add 3 nodes like gpu-1." in rest
    assert "   Evicted for it: 1 pod of speech/big." in rest


def test_fixes_as_json_have_the_commands(run: Run, racks: Path) -> None:
    found = json.loads(run("plan", racks, "--fix", "vision/train", "--json").out)
    assert found["pod_group"] == "vision/train"
    kinds = [fix["kinds"] for fix in found["fixes"]]
    assert ["nodes"] in kinds
    assert all(fix["how"] for fix in found["fixes"])


def test_costs_change_the_order_of_fixes(run: Run, racks: Path) -> None:
    found = json.loads(run("plan", racks, "--fix", "train", "--cost", "nodes=1", "--json").out)
    assert found["fixes"][0]["kinds"] == ["nodes"]


def test_the_status_is_1_without_a_fix(run: Run, tmp_path: Path) -> None:
    cluster = kai.Cluster(now=NOW).queue("a").node("n1", cpus=1).pending("a/x", gpus=1)
    cluster.save(tmp_path / "none.json")
    done = run("plan", tmp_path / "none.json", "--fix", "a/x")
    assert done.status == 1
    assert "None of the changes that kai can try starts" in done.out


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--cost", "nodes=1"], "--cost needs --fix GROUP"),
        (["--fix", "train", "--cost", "node=1"], "give a kind and a number, such as nodes=3"),
        (["--fix", "train", "--cost", "nodes=many"], "give a kind and a number"),
        (["--fix", "train", "-o", "csv"], "-o csv and --fix exclude each other"),
        (["--fix", "train", "--explain", "train"], "--explain and --fix exclude each other"),
    ],
)
def test_wrong_options_of_fix(run: Run, racks: Path, given: list[str], message: str) -> None:
    done = run("plan", racks, *given)
    assert done.status == 2
    assert message in done.err


def test_an_unknown_group_has_no_fix(run: Run, racks: Path) -> None:
    done = run("plan", racks, "--fix", "vision/tain")
    assert done.status == 1
    assert "did you mean 'vision/train'?" in done.err


# ---- --what-if -----------------------------------------------------------------------------------


def test_a_manifest_that_would_start(run: Run, racks: Path, tmp_path: Path) -> None:
    done = run("plan", racks, "--what-if", job(tmp_path, gpus=1))
    assert done.status == 0
    assert "vision/pg-new is placed: 1 pod on gpu-4." in done.out


def test_a_manifest_that_would_wait(run: Run, racks: Path, tmp_path: Path) -> None:
    done = run("plan", racks, "--what-if", job(tmp_path, gpus=8))
    assert done.status == 1
    assert "It can never start here" in done.out


def test_a_manifest_that_is_left_out_does_not_start(run: Run, racks: Path, tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text("kind: Pod\nmetadata: {name: p}\nspec: {containers: 3}\n")
    done = run("plan", racks, "--what-if", file)
    assert done.status == 1
    assert "p was left out" in done.out


def test_more_nodes(run: Run, racks: Path) -> None:
    done = run("plan", racks, "--what-if", "--add-nodes", "3", "--like", "gpu-1")
    assert done.status == 0
    assert "vision/train  unschedulable  placed  4 -> 0" in done.out


def test_a_drained_rack_is_for_the_worse(run: Run, racks: Path) -> None:
    for rack in ("r2", "rack=r2"):
        done = run("plan", racks, "--drain", rack)
        assert done.status == 1
        assert "1 pod group is worse off: speech/big." in done.out


def test_another_queue(run: Run, racks: Path) -> None:
    done = run("plan", racks, "--queue", "vision.quota=16", "--json")
    assert done.status == 0
    changes = json.loads(done.out)["difference"]["queues"]
    assert {"gpu", "deserved", 16} <= {value for each in changes for value in each.values()}


def test_a_quota_above_the_limit_is_refused_as_by_the_webhook(run: Run, racks: Path) -> None:
    changes = ("--queue", "vision.quota=9", "--queue", "vision.limit=2")
    done = run("plan", racks, *changes)
    assert done.status == 2
    assert (
        "--queue vision.limit=2: spec.resources.gpu.quota of queue vision: the quota is 9, above "
        "the limit 2: the queue never gets its quota; write a quota of at most 2, or a larger limit"
    ) in done.err
    assert run("plan", racks, *changes[:3], "vision.limit=12").status == 0


def test_a_quota_that_is_above_the_limit_already_refuses_no_other_change(
    run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "cluster.json"
    kai.Cluster().queue("a", deserved_gpus=9, gpu_limit=2).node("n1", gpus=8).save(file)
    assert run("plan", file, "--queue", "a.weight=2").status == 0
    assert run("plan", file, "--queue", "a.quota=8").status == 2


def test_nodes_of_two_kinds(run: Run, racks: Path) -> None:
    added = ("--add-nodes", "2", "--like", "gpu-1", "--add-nodes", "1", "--like", "gpu-3")
    done = run("plan", racks, "--what-if", *added)
    assert done.status == 0
    assert "vision/train  unschedulable  placed  4 -> 0" in done.out


def test_manifests_of_two_files(run: Run, racks: Path, tmp_path: Path) -> None:
    first = job(tmp_path, gpus=4).rename(tmp_path / "first.yaml")
    first.write_text(first.read_text().replace("name: new", "name: first"))
    second = job(tmp_path, gpus=2)
    done = run("plan", racks, "--what-if", first, "--what-if", second)
    assert "pg-first" in done.out
    assert "pg-new" in done.out


@pytest.mark.parametrize(
    "given", [["--what-if", "a.yaml", "b.yaml"], ["--what-if=a.yaml", "b.yaml"]]
)
def test_a_second_file_after_what_if_is_no_part_of_the_cluster(
    run: Run, racks: Path, given: list[str]
) -> None:
    done = run("plan", racks, *given)
    assert done.status == 2
    assert done.err.startswith(
        "kai: --what-if takes one value: write --what-if a.yaml --what-if b.yaml; if b.yaml is part"
        " of the cluster, write it before --what-if"
    )


def test_the_cluster_may_come_after_what_if(run: Run, racks: Path, tmp_path: Path) -> None:
    done = run("plan", "--what-if", job(tmp_path, gpus=1), racks)
    assert "vision/pg-new is placed" in done.out
    assert run("plan", "--drain", "gpu-4", racks).status == 0


def test_a_second_node_after_drain_is_no_file(run: Run, racks: Path) -> None:
    done = run("plan", racks, "--drain", "gpu-1", "gpu-2")
    assert done.status == 2
    assert "--drain takes one value: write --drain gpu-1 --drain gpu-2" in done.err


@pytest.mark.parametrize(
    ("given", "status", "message"),
    [
        (
            ["--add-nodes", "3", "--like", "gpu-1", "--like", "gpu-2"],
            2,
            "--add-nodes is given once and --like 2 times: write one --like for each --add-nodes",
        ),
        (["--what-if"], 2, "--what-if needs a change"),
        (["--add-nodes", "3"], 2, "--add-nodes needs --like NODE"),
        (["--like", "gpu-1"], 2, "--like needs --add-nodes N"),
        (["--add-nodes", "3", "--like", "gpu"], 1, "there is no node 'gpu'"),
        (["--drain", "r9"], 1, "no node has the name 'r9'"),
        (["--queue", "vision.quotas=1"], 2, "give QUEUE.FIELD=VALUE"),
        (["--queue", "vison.quota=1"], 1, "did you mean 'vision'?"),
        (
            ["--queue", "vision.quota=9", "--queue", "vision.quota=2"],
            2,
            "vision.quota more than once",
        ),
        (["--queue", "vision.weight=much"], 2, "'much' is not a number"),
        (["--drain", "r1", "--fix", "train"], 2, "--fix and --what-if exclude each other"),
    ],
)
def test_wrong_changes(run: Run, racks: Path, given: list[str], status: int, message: str) -> None:
    done = run("plan", racks, *given)
    assert done.status == status
    assert message in done.err
