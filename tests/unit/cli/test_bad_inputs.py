"""Bad inputs: each row has files, a command line, its exit status, and a part of the message.

The first table contains cases that people found. Further rows are generated from the tables of
accepted names: members of scenarios, of the configuration, of queues and workloads, and kinds of
objects.
"""

import copy
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import kai
from kai.api import files, kinds
from kai.grouping.replicas import MOST_PODS
from kai.verify.scenario import (
    CLUSTER_MEMBERS,
    EXPECTED,
    GROUP_MEMBERS,
    MEMBERS,
    NODE_MEMBERS,
    QUEUE_MEMBERS,
)

Run = Callable[..., Any]
Row = tuple[str, list[str], int, str]
"""The content of the file FILE, a command line, the exit status, and a part of the message."""

NODE = "kind: Node\nmetadata: {name: n}\nstatus: {capacity: {nvidia.com/gpu: 8}}\n"
BOMB = "- &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"- &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)
)
POD = {
    "metadata": {"labels": {"kai.scheduler/queue": "default-queue"}},
    "spec": {"containers": [{"name": "x"}]},
}


def lines(manifest: dict[str, Any]) -> str:
    return yaml.safe_dump(manifest)


# ---- found by trying -----------------------------------------------------------------------------

PLAN, LINT, VERIFY = ["plan", "FILE"], ["lint", "FILE"], ["verify", "FILE"]
CONFIG = ["config", "show", "--config", "FILE"]
TRIED: dict[str, Row] = {
    "an empty file": ("", PLAN, 2, "FILE: is neither a Kubernetes object nor a KAI snapshot"),
    "an empty file linted": ("", LINT, 2, "FILE: contains no object that can be checked"),
    "an empty scenario": ("", VERIFY, 2, "FILE: the file has no scenario"),
    "a list for a configuration": ("[a]", CONFIG, 2, "FILE: is a list, not a mapping"),
    "deep JSON": ('{"a":' + "[" * 5000 + "]" * 5000 + "}", PLAN, 2, "nested too deeply"),
    "deep YAML": ("a: " + "[" * 900 + "]" * 900, PLAN, 2, "nested more than 200 levels deep"),
    "deep scenario": ("a: " + "[" * 900 + "]" * 900, VERIFY, 2, "FILE:1: nested more than 200"),
    "deep configuration": ("[" * 5000 + "]" * 5000, CONFIG, 2, "nested too deeply"),
    "digits": ('{"a": ' + "1" * 5000 + "}", PLAN, 2, "a number has thousands of digits"),
    "digits linted": ('{"a": ' + "1" * 5000 + "}", LINT, 2, "a number has thousands of digits"),
    "digits of a configuration": (
        '{"a": ' + "1" * 5000 + "}",
        CONFIG,
        2,
        "FILE: not readable: a number has thousands of digits",
    ),
    "aliases": (BOMB, PLAN, 2, "its aliases expand to, more than 20,000,000 values, on line 8"),
    "aliases in a scenario": (BOMB, VERIFY, 2, "FILE:6: it has, or its aliases expand to"),
    "an alias of itself": (
        "a: &a [*a]",
        VERIFY,
        2,
        "FILE:1: the alias *a on line 1 is not defined",
    ),
    "a key twice": ("name: a\nname: b", VERIFY, 2, "FILE:2: the key 'name' is given twice"),
    "many pods": (
        "name: a\npending: {a/x: {pods: 1000000000}}\nexpect: {a/x: {placed: 1}}",
        VERIFY,
        2,
        "FILE:2: 'a': pending.a/x.pods: a scenario has at most 100,000 pods and nodes in all",
    ),
    "many nodes": (
        "name: a\ncluster: {nodes: {n: {count: 1000000000}}}\nexpect: {a/x: {placed: 1}}",
        VERIFY,
        2,
        "cluster.nodes.n.count: a scenario has at most 100,000 pods and nodes in all",
    ),
    "many cycles": (
        "name: a\ncycles: 1000000000\nexpect: {a/x: {placed: 1}}",
        VERIFY,
        2,
        "FILE:2: 'a': cycles: a scenario has at most 1,000 cycles",
    ),
    "a large workload": ("", ["bench", "fill-1000000000"], 2, "kai generates at most fill-200000"),
    "a name with an escape": ("", ["plan", "\x1b[31mred"], 2, "kai: \\x1b[31mred: no such file"),
    "a name with a line break": ("", ["plan", "a\nb"], 2, "kai: a\\nb: no such file"),
    "a name that turns around": ("", ["lint", "a\u202eb"], 2, "kai: a\\u202eb: no such file"),
    "a NUL in a name": ("", ["plan", "a\0b"], 2, "no file can have this name"),
    "a long name": ("", ["plan", "a" * 300], 2, "ile name too long"),
    "a long name verified": ("", ["verify", "a" * 300], 2, "no such file"),
    "a directory for a configuration": (
        "",
        ["config", "show", "--config", "/"],
        2,
        "kai: /: is a directory",
    ),
    "an endless file": ("", ["plan", "/dev/zero"], 2, "/dev/zero: not text (byte 0 is 0)"),
    "an endless file linted": ("", ["lint", "/dev/zero"], 2, "not text (byte 0 is 0)"),
    "an endless scenario": ("", ["verify", "/dev/zero"], 2, "not text (byte 0 is 0)"),
    "an endless configuration": (
        "",
        ["config", "show", "--config", "/dev/zero"],
        2,
        "/dev/zero: not text (byte 0 is 0)",
    ),
    "a full disk for a trace": (
        NODE,
        ["plan", "FILE", "--trace", "/dev/full"],
        2,
        "--trace: /dev/full: no space left on device",
    ),
    "a full disk for the demo": (
        "",
        ["demo", "--save", "/dev/full"],
        2,
        "--save: /dev/full: no space left on device",
    ),
    "a configuration without a name": (
        NODE,
        ["plan", "FILE", "--config", ""],
        2,
        "kai: --config: the name of the file is empty",
    ),
    "a node of endless memory": (
        "kind: Node\nmetadata: {name: n}\nstatus: {capacity: {memory: 7Ei, cpu: 1e30}}\n",
        [*PLAN, "--strict"],
        2,
        "left out: Node n: status.capacity.cpu: cpu is 1e30, which is more than the largest",
    ),
    "a request for endless memory": (
        "",
        ["settings", "--orchestrator", "kubernetes", "--queue", "a", "--memory", "8Ei"],
        2,
        "memory is '8Ei', which is more than the largest amount of Kubernetes, 2^63 - 1",
    ),
    "a request for endless memory of a GPU": (
        "",
        ["settings", "--orchestrator", "kubernetes", "--queue", "a", "--gpu-memory", "99999999Ei"],
        2,
        "--gpu-memory is '99999999Ei', which is more than the largest amount of Kubernetes, 2^63 -"
        " 1 bytes",
    ),
    "a request for endless GPUs": (
        "",
        [
            "settings",
            "--orchestrator",
            "kubernetes",
            "--queue",
            "a",
            "--gpus",
            "99999999999999999999",
        ],
        2,
        "gpus is larger than 2,147,483,647: write a smaller number",
    ),
    "a limit without an end": (
        "kind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: x, resources: {limits:"
        " {memory: 1e30}}}]}\n",
        [*PLAN, "--strict"],
        2,
        "left out: Pod default/p: spec.containers[0].resources.limits.memory: limit of memory is",
    ),
    "an unknown field": (
        NODE + "spec: {unschedulabel: true}\n",
        ["queues", "FILE", "--strict"],
        2,
        "a Node has no field unschedulabel: the API server drops it; did you mean",
    ),
    "a queue that is left out": (
        "kind: Queue\nmetadata: {name: a}\nspec: {}\n",
        ["queues", "FILE", "--strict"],
        2,
        "left out: Queue a: spec.resources: is missing, and KAI refuses the Queue",
    ),
}

# ---- made from tables ----------------------------------------------------------------------------

SCENARIO: dict[str, Any] = {
    "name": "it",
    "cluster": {
        "queues": {"a": {}},
        "nodes": {"n": {"gpu": 2}},
        "priority_classes": {"p": 60},
        "objects": {"ConfigMap": [{"metadata": {"name": "c", "namespace": "a"}}]},
    },
    "running": {"a/r": {"node": "n"}},
    "pending": {"a/x": {"pods": 2}},
    "expect": {"a/x": {"placed": 2}},
}
PLACES: dict[tuple[str, ...], tuple[str, ...]] = {
    (): MEMBERS,
    ("cluster",): CLUSTER_MEMBERS,
    ("cluster", "queues", "a"): QUEUE_MEMBERS,
    ("cluster", "nodes", "n"): tuple(NODE_MEMBERS),
    ("pending", "a/x"): tuple(GROUP_MEMBERS),
    ("expect", "a/x"): EXPECTED,
}


def with_member(path: tuple[str, ...], member: str, value: Any) -> str:
    made = copy.deepcopy(SCENARIO)
    holder = made
    for step in path:
        holder = holder[step]
    holder[member] = value
    return yaml.safe_dump(made, sort_keys=False)


def of_scenarios() -> Iterator[tuple[str, Row]]:
    for path, members in PLACES.items():
        for member in members:
            at = ".".join((*path, member))
            wrong = member[0] + member[2:] if len(member) > 2 else member + "x"
            if wrong not in members:
                row = with_member(path, wrong, 1), VERIFY, 2, f"there is no member {wrong!r}"
                yield f"{at} mistyped", row
            for value in ([[]], {"x": {"y": 1}}):
                yield f"{at} is {value}", (with_member(path, member, value), VERIFY, 2, "FILE:")


def of_queues() -> Iterator[tuple[str, Row]]:
    for resource in ("gpu", "cpu", "memory"):
        for member in ("quota", "limit", "overQuotaWeight"):
            field = f"left out: Queue a: spec.resources.{resource}.{member}: "
            for value, problem in (
                ("1e308", "is more than the largest amount of Kubernetes"),
                ("-1e19", "is more than the largest amount of Kubernetes"),
                ("'2'", "expected a number"),
                ("[]", "expected a number"),
            ):
                text = f"kind: Queue\nmetadata: {{name: a}}\nspec: {{resources: {{{resource}: "
                yield (
                    f"{resource} {member} {value}",
                    (f"{text}{{{member}: {value}}}}}}}\n", [*PLAN, "--strict"], 2, field + problem),
                )


def of_kinds() -> Iterator[tuple[str, Row]]:
    for kind in kinds.LISTS:
        for metadata, problem in (
            ("", f"{kind}: metadata: is missing"),
            ("metadata: []", f"{kind}: metadata: is missing"),
            ("metadata: {labels: {a: b}}", f"{kind}: metadata.name: is missing"),
            ("metadata: {name: 5}", "metadata.name: is not a text"),
        ):
            text = f"kind: {kind}\n{metadata}\n---\n{NODE}"
            yield f"{kind} with {metadata or 'nothing'}", (text, [*PLAN, "--strict"], 2, problem)


WORKLOADS = {
    "Job": ("batch/v1", ("parallelism",)),
    "Deployment": ("apps/v1", ("replicas",)),
    "StatefulSet": ("apps/v1", ("replicas",)),
    "ReplicaSet": ("apps/v1", ("replicas",)),
    "ReplicationController": ("v1", ("replicas",)),
    "LeaderWorkerSet": ("leaderworkerset.x-k8s.io/v1", ("leaderWorkerTemplate", "size")),
    "PyTorchJob": ("kubeflow.org/v1", ("pytorchReplicaSpecs", "Worker", "replicas")),
}


def of_workloads() -> Iterator[tuple[str, Row]]:
    for kind, (version, path) in WORKLOADS.items():
        for value, problem in (
            (-1, "is -1, not a number of pods"),
            (10**9, f"is {10**9}, but kai creates at most {MOST_PODS} pods per workload"),
            ("2", "is '2', not a number of pods"),
            (1.5, "is 1.5, not a number of pods"),
        ):
            spec: dict[str, Any] = {"template": POD}
            holder = spec
            for step in path[:-1]:
                holder = holder.setdefault(step, {"template": POD, "workerTemplate": POD})
            holder[path[-1]] = value
            manifest = {
                "apiVersion": version, "kind": kind, "metadata": {"name": "w"}, "spec": spec,
            }  # fmt: skip
            named = f"left out: {kind} default/w: spec.{'.'.join(path)}: {problem}"
            row = lines(manifest) + "---\n" + NODE, [*PLAN, "--strict"], 2, named
            yield f"{kind} of {value!r} pods", row


def of_configurations() -> Iterator[tuple[str, Row]]:
    whole = kai.default_config().to_dict()
    for member in whole:
        wrong = member[0] + member[2:]
        sentence = f'configuration member "{wrong}" is not known'
        yield f"{wrong}: 1", (f"{wrong}: 1\n", [*CONFIG, "--strict"], 2, sentence)
        if member != "usageDBConfig":
            value = [[5]] if isinstance(whole[member], (str, dict)) else "x"
            yield f"{member}: {value}", (f"{member}: {value}\n", CONFIG, 2, "kai: FILE: ")


MADE = {
    name: row
    for rows in (of_scenarios(), of_queues(), of_kinds(), of_workloads(), of_configurations())
    for name, row in rows
}


@pytest.fixture(autouse=True)
def strictly(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KAI_DEBUG", "1")  # a bug of ours raises
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", [*TRIED, *MADE])
def test_a_bad_input_prints_one_sentence(run: Run, name: str) -> None:
    content, arguments, status, sentence = (TRIED | MADE)[name]
    Path("FILE").with_suffix(".yaml").write_text(content)
    given = [each.replace("FILE", "FILE.yaml") for each in arguments]
    done = run(*given)
    assert done.status == status, done.err
    first, *rest = done.err.splitlines()
    assert first.startswith("kai: ")
    assert sentence.replace("FILE", "FILE.yaml") in first
    assert rest == []


def test_the_tables_have_two_hundred_inputs() -> None:
    assert len(MADE) >= 200


# ---- archives ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method",
    [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA],
    ids=["stored", "deflated", "bzip2", "lzma"],
)
@pytest.mark.parametrize("place", [0.02, 0.3, 0.6])
def test_a_damaged_archive_of_any_method_is_refused(run: Run, method: int, place: float) -> None:
    data = json.dumps(
        {"rawObjects": {"nodes": [{"metadata": {"name": f"n{i}"}} for i in range(99)]}}
    )
    with zipfile.ZipFile("it.zip", "w", method) as archive:
        archive.writestr("snapshot.json", data)
    damaged = bytearray(Path("it.zip").read_bytes())
    start = 43  # after the header of the member
    at = start + int(place * (archive.start_dir - start))
    damaged[at : at + 4] = bytes(255 - each for each in damaged[at : at + 4])
    Path("it.zip").write_bytes(damaged)
    done = run("plan", "it.zip")
    assert done.status == 2
    assert done.err == "kai: it.zip: not a complete zip archive (cut short or damaged)\n"


def test_a_file_that_is_too_large_is_refused_before_it_is_read(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LARGEST", 10)
    Path("it.yaml").write_text(NODE)
    assert run("plan", "it.yaml").err == (
        f"kai: it.yaml: is {len(NODE)} bytes, and kai reads at most 10 bytes\n"
    )


def test_an_endless_input_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            buffer[:] = b"y" * len(buffer)
            return len(buffer)

    monkeypatch.setattr(files, "LARGEST_STREAM", 4 * 2**20)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(Endless())))
    assert run("plan", "-").err == (
        "kai: standard input: does not end after 4,194,304 bytes, the limit of kai for pipes\n"
    )


def test_circular_links_are_followed_once(run: Run) -> None:
    folder = Path("folder")
    folder.mkdir()
    (folder / "n.yaml").write_text(NODE)
    (folder / "self").symlink_to(".")
    (folder / "up").symlink_to("..")
    kai.Cluster().node("n1").save(folder / "it.zip")
    done = run("plan", "folder", "--json")
    assert [json.loads(line)["input"] for line in done.out.splitlines()] == [
        "folder/it.zip",
        "folder",
    ]
