"""Workloads written by hand in YAML, and by `write_yaml`."""

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kai.errors import InvalidInputError
from kai.sim import traces
from kai.sim.traces.page import KEYS
from kai.sim.workload import Autoscale, Job, Jobs, Maintenance, NodePool, Queue, Resize, Workload

WHOLE = """
name: two teams
start: 2026-01-05T08:00:00
queues:
  research: {deserved: {gpu: 16}}
  vision: {parent: research, priority: 200, deserved: {gpu: 12, cpu: 500m, memory: 1Gi}, weight: 2}
  speech: {parent: research, limit: {gpu: 8}, preempt_min_runtime: 10m, reclaim_min_runtime: 1h}
nodes:
  a100: {count: 2, gpu: 8, cpu: 96, memory: 512Gi, model: A100, gpu_memory: 80Gi, pods: 50,
         labels: {zone: east}}
  bare: {gpu: 0}
jobs:
  train:
    queue: vision
    arrival: 2h
    duration: 90m
    pods: 4
    min_member: 2
    gpu: 2
    cpu: 1500m
    memory: 3Gi
    priority: build
    preemptible: true
    estimate: 2h30m
    models: [A100]
    speeds: {A100: 2, V100: 0.5}
    checkpoint: 30m
    restart: 90s
    user: ann
    application: ResNet-18 (batch size 16)
  sweep: {queue: speech, duration: 1d, gpu: 0.5, repeat: {count: 10, every: 30m}}
"""


def read(tmp_path: Path, text: str, **options: object) -> Workload:
    (tmp_path / "w.yaml").write_text(text, encoding="utf-8")
    return traces.read(tmp_path / "w.yaml", **options)  # type: ignore[arg-type]


def refused(tmp_path: Path, text: str) -> str:
    with pytest.raises(InvalidInputError) as error:
        read(tmp_path, text)
    return str(error.value)


def test_every_member_is_read(tmp_path: Path) -> None:
    workload = read(tmp_path, WHOLE)
    assert (workload.name, workload.start) == ("two teams", "2026-01-05T08:00:00")
    assert workload.queues == (
        Queue("research", deserved_gpus=16),
        Queue(
            "vision",
            parent="research",
            priority=200,
            deserved_gpus=12,
            deserved_cpu=0.5,
            deserved_memory_mib=1024,
            weight=2,
        ),
        Queue(
            "speech",
            parent="research",
            limit_gpus=8,
            preempt_min_runtime_s=600,
            reclaim_min_runtime_s=3600,
        ),
    )
    assert workload.nodes == (
        NodePool("a100", 2, 8, 96, 512 * 1024, "A100", 80 * 1024, (("zone", "east"),), 50),
        NodePool("bare", gpus=0),
    )
    train = workload.jobs.job(workload.jobs.name.index("train"))
    assert train == Job(
        "train",
        queue="vision",
        arrival_s=7200,
        duration_s=5400,
        pods=4,
        gpus=2,
        min_pods=2,
        cpu=1.5,
        memory_mib=3072,
        priority_class="build",
        preemptible=True,
        estimate_s=9000,
        models=("A100",),
        speeds=(("A100", 2), ("V100", 0.5)),
        checkpoint_s=1800,
        restart_s=90,
        user="ann",
        application="ResNet-18 (batch size 16)",
    )


def test_a_series_has_jobs_that_arrive_one_after_the_other(tmp_path: Path) -> None:
    jobs = read(tmp_path, WHOLE).jobs
    sweep = {
        name: at for name, at in zip(jobs.name, jobs.arrival_s, strict=True) if name != "train"
    }
    assert sweep == {f"sweep-{i + 1:02}": i * 1800 for i in range(10)}
    assert list(jobs.arrival_s) == sorted(jobs.arrival_s)


def test_a_minimal_workload_is_read(tmp_path: Path) -> None:
    workload = read(tmp_path, "nodes: {n: {}}\njobs: {train: {duration: 1h}}\n")
    assert workload.queues == (Queue("default", deserved_gpus=8),)
    assert workload.jobs.job(0) == Job("train", "default", 0, 3600, min_pods=1)


def test_a_slice_is_its_part_of_a_gpu(tmp_path: Path) -> None:
    jobs = "jobs: {a: {duration: 1h, mig: 3g.20gb}, b: {duration: 1h, mig: nvidia.com/mig-2g.12gb}}"
    workload = read(tmp_path, f"nodes: {{a100: {{gpu: 8}}}}\n{jobs}")
    assert [workload.jobs.job(row).gpus for row in range(2)] == [pytest.approx(3 / 7), 0.5]


@pytest.mark.parametrize(
    ("job", "problem"),
    [
        ("mig: small", "jobs.a.mig: is 'small', not a profile such as 3g.20gb"),
        ("mig: 1g.5gb, gpu: 1", "jobs.a.mig: is beside gpu: a pod has one of them"),
    ],
)
def test_a_slice_has_a_profile_and_is_alone(tmp_path: Path, job: str, problem: str) -> None:
    text = f"nodes: {{a100: {{gpu: 8}}}}\njobs: {{a: {{duration: 1h, {job}}}}}"
    assert problem in refused(tmp_path, text)


def test_nodes_may_be_in_another_file(tmp_path: Path) -> None:
    text = "jobs: {train: {duration: 1h}}\n"
    assert refused(tmp_path, text) == (
        "w.yaml:1: has no nodes; write `nodes`, or name a file with nodes (--cluster, or nodes=)"
    )
    (tmp_path / "cluster.yaml").write_text("nodes: {n: {count: 3}}\nqueues: {a: {}}\n")
    assert read(tmp_path, text, nodes=tmp_path / "cluster.yaml").gpus == 24
    nodes, queues = traces.read_cluster(tmp_path / "cluster.yaml")
    assert (nodes, queues) == ((NodePool("n", 3),), (Queue("a"),))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("duration: 90m", "duraton: 90m"), "jobs.train.duraton: `train` has no key 'duraton'; "
         "did you mean 'duration'?"),
        (("queues:", "quues:"), "quues: a workload has no key 'quues'; did you mean 'queues'?"),
        (("weight: 2", "wieght: 2"), "queues.vision.wieght: `vision` has no key 'wieght'; "
         "did you mean 'weight'?"),
        (("{gpu: 8}, pre", "{gpus: 8}, pre"),
         "queues.speech.limit.gpus: `limit` has no key 'gpus'; "
         "did you mean 'gpu'?"),
        (("count: 2,", "cuont: 2,"), "nodes.a100.cuont: `a100` has no key 'cuont'; "
         "did you mean 'count'?"),
        (("every: 30m", "evry: 30m"), "jobs.sweep.repeat.evry: `repeat` has no key 'evry'; "
         "did you mean 'every'?"),
        (("queue: vision", "queue: visoin"), "jobs.train.queue: there is no queue 'visoin' to run "
         "jobs; did you mean 'vision'?"),
        (("queue: vision", "queue: research"), "jobs.train.queue: there is no queue 'research' to "
         "run jobs"),
        (("    queue: vision\n", ""), "jobs.train: has no queue"),
        (("parent: research, l", "parent: reserch, l"), "queues.speech.parent: there is no queue "
         "'reserch'; did you mean 'research'?"),
        (("research: {", "research: {parent: vision, "), "queues.research.parent: the queue is "
         "its own ancestor"),
        (("duration: 90m", "duration: soon"),
         "jobs.train.duration: is 'soon' instead of a duration "
         "such as 90m or 2h"),
        (("arrival: 2h", "arrival: -5"), "jobs.train.arrival: is -5 instead of a duration such as "
         "90m or 2h"),
        (("arrival: 2h", "arrival: 1000000d"), "jobs.train.arrival: '1000000d' is longer than the "
         "longest time, 106,751 days"),
        (("memory: 3Gi", "memory: 1e999"), "jobs.train.memory: is '1e999' instead of an amount "
         "such as 2 or 16Gi"),
        (("    duration: 90m\n", ""), "jobs.train: has no duration"),
        (("gpu: 2\n", "gpu: 1.5\n"),
         "jobs.train.gpu: is 1.5: write a whole number or a part of one GPU"),
        (("pods: 4\n", "pods: four\n"), "jobs.train.pods: is 'four' instead of a number"),
        (("pods: 4\n", "pods: 0\n"), "jobs.train.pods: is 0, which is less than 1"),
        (("pods: 4\n", "pods: 2.5\n"), "jobs.train.pods: is 2.5 instead of a whole number"),
        (("min_member: 2", "min_member: 5"), "jobs.train.min_member: is 5, but there are only 4 "
         "pods"),
        (("memory: 3Gi", "memory: much"), "jobs.train.memory: is 'much' instead of an amount such "
         "as 2 or 16Gi"),
        (("priority: build", "priority: biuld"), "jobs.train.priority: there is no priority class "
         "'biuld'; did you mean 'build'?"),
        (("preemptible: true", "preemptible: 1"), "jobs.train.preemptible: is 1 instead of true or "
         "false"),
        (("models: [A100]", "models: A100"), "jobs.train.models: is 'A100' instead of a list of "
         "strings"),
        (("{count: 10, every: 30m}", "{count: 10}"), "jobs.sweep.repeat: needs a count and every, "
         "such as {count: 3, every: 1h}"),
        (("{count: 10,", "{count: 100000000,"),
         "jobs.sweep.repeat: makes more than 5,000,000 jobs"),
        (("sweep: {queue", "sweep: 7 #"), "jobs.sweep: is 7 instead of a mapping"),
        (("start: 2026-01-05T08:00:00", "start: Monday"),
         "start: is 'Monday' instead of a date and "
         "time such as 2026-01-31T08:00:00"),
    ],
)  # fmt: skip
def test_an_error_is_one_sentence_with_its_line(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    assert change[0] in WHOLE
    text = WHOLE.replace(*change, 1)
    answer = refused(tmp_path, text)
    match = re.fullmatch(r"w\.yaml:(\d+): (.*)", answer)
    assert match is not None, answer
    assert match[2] == message
    line = text.split("\n")[int(match[1]) - 1]
    last = message.split(":")[0].split(".")[-1]
    assert f"{last}:" in line


def test_a_file_that_begins_with_comments_is_recognized(tmp_path: Path) -> None:
    text = "# queues, nodes\n\n# and jobs\nnodes: {n: {}}\njobs: {train: {duration: 1h}}\n"
    assert len(read(tmp_path, text).jobs) == 1


def test_a_duplicate_key_is_an_error(tmp_path: Path) -> None:
    text = "nodes: {n: {}}\njobs:\n  a: {duration: 1h}\n  a: {duration: 2h}\n"
    assert refused(tmp_path, text).startswith("w.yaml:4: ")


def test_an_unknown_key_without_a_similar_key_is_named(tmp_path: Path) -> None:
    text = "nodes: {n: {}}\njobs: {a: {duration: 1h, zzz: 1}}\n"
    assert refused(tmp_path, text) == "w.yaml:2: jobs.a.zzz: `a` has no key 'zzz'"


def test_duplicate_job_names_raise_one_sentence(tmp_path: Path) -> None:
    text = """nodes: {n: {}}
jobs: {a-1: {duration: 1h}, a: {duration: 1h, repeat: {count: 2, every: 1m}}}"""
    assert refused(tmp_path, text) == "w.yaml: job a-1: two jobs have this name"


@pytest.mark.parametrize("text", ["7", "[1]", "a: 1\n---\na: 2", "jobs: 5\nnodes: {n: {}}"])
def test_a_file_that_is_not_a_workload_raises_one_sentence(tmp_path: Path, text: str) -> None:
    assert refused(tmp_path, text).startswith("w.yaml:")


def test_a_written_workload_is_read_unchanged(tmp_path: Path) -> None:
    workload = read(tmp_path, WHOLE)
    again = read(tmp_path, traces.write_yaml(workload, tmp_path / "again.yaml"))
    assert traces.write_yaml(again) == (tmp_path / "again.yaml").read_text()
    assert again.queues == workload.queues
    assert again.nodes == workload.nodes
    assert (again.name, again.start) == (workload.name, workload.start)
    for row in range(len(workload.jobs)):
        assert again.jobs.job(row) == workload.jobs.job(row)


def random_job(random: np.random.Generator, place: int) -> Job:
    def maybe(value: float) -> float | None:
        return None if random.random() < 0.5 else value

    pods = int(random.integers(1, 5))
    name = ["yes", "12", "6214e9", "a: b", "é", '"', "a" * 200, "plain", "~", "1_0", "0x1f"]
    return Job(
        f"{name[random.integers(len(name))]}-{place}" if random.random() < 0.5 else f"{place}",
        queue="6214e9",
        arrival_s=place + round(random.random(), int(random.integers(17))),
        duration_s=float(random.choice([0.0, 0.1, 60.0, 86400.0, 1e-7, 1 / 3])),
        pods=pods,
        gpus=float(random.choice([0, 0.1, 1 / 3, 1, 8])),
        min_pods=int(random.integers(1, pods + 1)),
        cpu=round(random.random() * 100, 3),
        memory_mib=int(random.integers(10**6)),
        priority_class=str(random.choice(["train", "null"])),
        preemptible=[None, True, False][random.integers(3)],
        estimate_s=maybe(12.5),
        models=(("A100", "1e3"), ())[random.integers(2)],
        speeds=((("yes", 0.25),), ())[random.integers(2)],
        checkpoint_s=maybe(0.0),
        restart_s=maybe(60.0),
        user=name[random.integers(len(name))],
        application=name[random.integers(len(name))],
        resizes=((Resize(0.5, 3, 2), Resize(7200.0, 1, 1)), ())[random.integers(2)],
    )


@pytest.mark.parametrize("seed", range(20))
def test_random_written_workloads_are_read_unchanged(tmp_path: Path, seed: int) -> None:
    random = np.random.Generator(np.random.PCG64(seed))
    jobs = Jobs.of(random_job(random, place) for place in range(20))
    workload = Workload(
        jobs,
        (Queue("true", deserved_gpus=1 / 3), Queue("6214e9", parent="true", limit_cpu=0.001)),
        (
            NodePool("007", labels=(("on", "off"),), gpu_memory_mib=3),
            NodePool("b", 1, cpu=0.3, price=0.1, autoscale=Autoscale(7, 1, 0.25, 1e-3)),
        ),
        maintenance=(Maintenance("null", 0.0, 0.5, ("b",), (("on", "off"),), 2, True, 1e6),),
        name="no",
        source="line\nbreak: # and more",
        priority_classes={"train": 50, "null": -3},
    )
    again = read(tmp_path, traces.write_yaml(workload))
    assert replace(again, jobs=jobs) == workload
    for row in range(len(jobs)):
        assert again.jobs.job(row) == jobs.job(row)


def test_a_job_may_have_no_checkpoints(tmp_path: Path) -> None:
    job = "jobs: {train: {duration: 2h30m, checkpoint: never, restart: '90'}}\n"
    text = "nodes: {n: {gpu: 1}}\n" + job
    workload = read(tmp_path, text)
    assert workload.jobs.job(0).duration_s == 9000
    assert workload.jobs.job(0).checkpoint_s == math.inf
    assert workload.jobs.job(0).restart_s == 90
    assert read(tmp_path, traces.write_yaml(workload)).jobs.job(0) == workload.jobs.job(0)
    with pytest.raises(InvalidInputError, match=r"jobs.train.restart: is 'never' instead of a dur"):
        read(tmp_path, text.replace("'90'", "never"))


PAGE = Path(__file__).parents[3] / "docs" / "reference" / "workloads.md"


def test_the_example_of_the_reference_page(tmp_path: Path) -> None:
    example = PAGE.read_text(encoding="utf-8").split("```yaml\n")[1].split("```")[0]
    workload = read(tmp_path, example)
    assert len(workload.jobs) == 43
    assert {"sweep-01", "sweep-40"} <= set(workload.jobs.name)


def test_the_reference_page_has_every_key() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for kind in KEYS.keys() - {"amounts"}:
        for key, meaning in KEYS[kind].items():
            assert f"| `{key}` | {meaning} |" in text, (kind, key)
