"""Any command line and any file content give a meaningful exit status and a message.

Command lines are drawn from the options of each command; files are broken ones of every kind that
kai reads. KAI_FUZZ_EXAMPLES runs more examples than the usual few hundred.
"""

import contextlib
import copy
import io
import json
import os
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kai
from kai.cli import COMMANDS, cli, main
from kai.sim import workloads

EXAMPLES = int(os.environ.get("KAI_FUZZ_EXAMPLES", "100"))
FUZZED = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    derandomize=EXAMPLES == 100,
    suppress_health_check=list(HealthCheck),
)
NOW = "2026-01-01T00:00:00Z"
SCENARIO: dict[str, Any] = {
    "name": "a group of two waits whole",
    "rules": ["G13"],
    "cluster": {
        "queues": {"all": {}, "vision": {"deserved": {"gpu": 2}, "parent": "all", "weight": 2}},
        "nodes": {"n": {"gpu": 2, "count": 2, "taints": ["a=b:NoSchedule"]}, "m": {"cpu": 4}},
        "priority_classes": {"high": 90},
        "objects": {"ConfigMap": [{"metadata": {"name": "c", "namespace": "vision"}}]},
    },
    "running": {"vision/now": {"gpu": 1, "node": "n1", "priority": "high"}},
    "pending": {"vision/train": [{"pods": 2, "gpu": 1, "min_member": 2}, {"selector": {"a": "b"}}]},
    "placement": {"gpu": "spread"},
    "config": {"actions": "allocate", "queueDepthPerAction": {"allocate": 5}},
    "params": {"fullHierarchyFairness": True},
    "cycles": 2,
    "now": NOW,
    "expect": {"vision/train": {"placed": 2, "nodes": ["n1"]}, "queues": {"vision": {"gpu": {}}}},
}
CONFIG: dict[str, Any] = {
    "actions": "allocate, reclaim",
    "plugins": {"nodeplacement": {"gpu": "spread"}, "numa": True},
    "queueDepthPerAction": {"allocate": 3},
    "scenarioSearchBudgets": {"reclaim": {"maxScenarios": 3}},
    "extras": {"topology_spread": True},
    "compat": {"unrelated_blockers": "kai"},
}
POD = {
    "metadata": {"labels": {"kai.scheduler/queue": "a"}, "annotations": {"gpu-fraction": "0.5"}},
    "spec": {
        "containers": [{"name": "x", "resources": {"limits": {"memory": "1Gi"}}}],
        "tolerations": [{"key": "a", "operator": "Exists"}],
    },
}
MANIFESTS: list[dict[str, Any]] = [
    {
        "kind": "Node",
        "metadata": {"name": "n", "labels": {"zone": "z"}},
        "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]},
        "status": {"capacity": {"nvidia.com/gpu": 4, "cpu": "8"}},
    },
    {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": "a"},
        "spec": {
            "parentQueue": "p",
            "resources": {"gpu": {"quota": 1, "limit": -1}, "cpu": {"limit": -1}, "memory": {}},
        },
    },
    {"kind": "Pod", **copy.deepcopy(POD)},
    {"apiVersion": "batch/v1", "kind": "Job", "spec": {"parallelism": 2, "template": POD}},
    {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 2, "template": POD}},
    {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "spec": {"replicas": 1, "leaderWorkerTemplate": {"size": 2, "workerTemplate": POD}},
    },
    {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": POD}}},
    },
    {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "x"},
        "spec": {"minMember": 1, "queue": "a", "subGroups": [{"name": "s", "minMember": 1}]},
    },
    {"kind": "List", "items": [{"kind": "ConfigMap", "metadata": {"name": "c"}}]},
]
for number, each in enumerate(MANIFESTS):
    each.setdefault("metadata", {}).setdefault("name", f"m{number}")
GOOD = {"scenario": SCENARIO, "config": CONFIG, "manifests": MANIFESTS}

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(),
    st.floats(),
    st.sampled_from(
        [10**9, 10**30, -1, 1e308, -1e308, 2**31, 2**63, "", "a", "1e400", "1Gi", "vision/train"]
    ),
    st.text(max_size=8),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=6) | SCALARS, inner, max_size=3)
    ),
    max_leaves=6,
)


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    if isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from paths(inner, (*path, key))


@st.composite
def broken(draw: st.DrawFn, good: Any) -> Any:
    """A good value with one to three places changed, renamed or left out."""
    value = copy.deepcopy(good)
    for _ in range(draw(st.integers(1, 3))):
        known = list(paths(value))
        if not known:
            break
        *steps, last = draw(st.sampled_from(known))
        holder = value
        for step in steps:
            holder = holder[step]
        how = draw(st.integers(0, 9))
        if how == 0:
            del holder[last]
        elif how == 1 and isinstance(holder, dict):
            holder[draw(SCALARS)] = holder.pop(last)
        else:
            holder[last] = draw(VALUES)
    return value


@st.composite
def contents(draw: st.DrawFn, what: str) -> bytes:
    """The content of a file: a broken value as YAML or JSON, perhaps with some changed bytes."""
    value = draw(broken(GOOD[what]))
    try:
        if draw(st.booleans()):
            dumped = yaml.safe_dump_all(value if isinstance(value, list) else [value])
        else:
            listed = {"kind": "List", "items": value} if isinstance(value, list) else value
            dumped = json.dumps(listed, default=str)
    except (TypeError, ValueError, yaml.YAMLError):  # from keys of an unsupported type
        dumped = repr(value)
    data = bytearray(dumped.encode("utf-8", "surrogatepass"))
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        place = draw(st.integers(0, max(0, len(data) - 1)))
        data[place : place + draw(st.integers(0, 3))] = draw(st.binary(max_size=3))
    return bytes(data)


class Ran:
    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err


def run(arguments: list[str], stdin: bytes = b"") -> Ran:
    """Runs in this process; a bug of ours raises (KAI_DEBUG)."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace"), io.StringIO()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(arguments)
            out.flush()
        return Ran(status, out.buffer.getvalue().decode(), err.getvalue())


UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def check(ran: Ran) -> None:
    assert ran.status in (0, 1, 2), ran.err
    assert "Traceback" not in ran.err
    assert "a bug in kai" not in ran.err
    assert ran.status != 2 or ran.err
    assert not UNSEEN.search(ran.err), ascii(ran.err)


@pytest.fixture(scope="module", autouse=True)
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The current folder, with a file of each kind."""
    folder = tmp_path_factory.mktemp("fuzzed")
    cluster = kai.Cluster().queue("a").node("n", gpus=2).pending("a/x", gpus=1).pending("a/y")
    cluster.save(folder / "good.zip")
    cluster.save(folder / "good.json")
    (folder / "scenario.yaml").write_text(yaml.safe_dump(SCENARIO))
    (folder / "config.yaml").write_text(yaml.safe_dump(CONFIG))
    (folder / "manifests.yaml").write_text(yaml.safe_dump_all(MANIFESTS))
    (folder / "cut.zip").write_bytes((folder / "good.zip").read_bytes()[:-40])
    with zipfile.ZipFile(folder / "empty.zip", "w"):
        pass
    (folder / "latin.yaml").write_bytes("name: é".encode("latin-1"))
    (folder / "folder").mkdir()
    (folder / "folder" / "bom.yaml").write_bytes(
        b"\xef\xbb\xbf" + yaml.safe_dump(MANIFESTS[0]).encode()
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        patched.setenv("KAI_DEBUG", "1")
        patched.setenv("KAI_CONFORMANCE", "scenario.yaml")
        patched.setattr(workloads, "LADDER", ("fill-1",))
        patched.setattr(workloads, "LARGE", ("fill-2",))
        yield folder


# ---- command lines -------------------------------------------------------------------------------

FILES = [
    *("good.zip", "good.json", "scenario.yaml", "config.yaml", "manifests.yaml", "cut.zip", "-"),
    *("empty.zip", "latin.yaml", "folder", "missing.yaml", "", ".", "/dev/null", "/dev/zero"),
]
WORDS = [
    *("a/x", "x", "n", "0", "1", "-1", "0.5", "1e400", "5m", "key=value", "key", "=", ":", NOW),
    *("kubernetes", "zenml", "kfp", "json", "yaml", "python", "all", "pod", "fill-1", "fill-1e9"),
    *("fill-999999999999", "openb", "1.5", "16Gi", "true", "10" * 20),
]
WRITES = ("--trace", "--save")
TEXTS = st.text(st.characters(exclude_characters="\0"), max_size=10).filter(
    lambda text: not text.startswith(("--tr", "--sa", "/", ".."))
)
TOKENS = st.sampled_from(FILES) | st.sampled_from(WORDS) | TEXTS


def leaves(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            inner = command.get_command(click.Context(command), name)
            assert inner is not None
            yield from leaves(inner, (*path, name))
    else:
        yield path, command


LEAVES = list(leaves(cli, ()))


@st.composite
def command_lines(draw: st.DrawFn) -> list[str]:
    path, command = draw(st.sampled_from(LEAVES))
    line = [*path]
    options = [each for each in command.params if isinstance(each, click.Option)]
    for option in draw(st.lists(st.sampled_from(options), max_size=3)) if options else ():
        line.append(draw(st.sampled_from([*option.opts, *option.secondary_opts])))
        if not option.is_flag:
            line.append("out.json" if line[-1] in WRITES else draw(TOKENS))
    line += draw(st.lists(TOKENS, max_size=2))
    if draw(st.integers(0, 9)) == 0:
        line.insert(draw(st.integers(0, len(line))), draw(TOKENS))
    if any(each in WRITES for each in line) and "out.json" not in line:
        return list(path)
    return line


@FUZZED
@given(line=command_lines(), stdin=st.sampled_from([b"", b"kind: Node", b"\xff", b"{"]))
def test_a_random_command_line_ends_with_a_status_and_sentences(
    line: list[str], stdin: bytes
) -> None:
    check(run(line, stdin))


def test_every_command_is_drawn() -> None:
    assert {path[0] for path, _ in LEAVES} == set(COMMANDS)


# ---- files ---------------------------------------------------------------------------------------


@FUZZED
@given(data=contents("scenario"))
def test_a_broken_scenario_is_reported_with_its_line(data: bytes) -> None:
    Path("it.yaml").write_bytes(data)
    ran = run(["verify", "it.yaml", "--json"])
    check(ran)
    assert '"crashed": 0' in ran.out or ran.status == 2, ran.out


@FUZZED
@given(data=contents("config"), as_kai=st.booleans())
def test_a_broken_configuration_prints_one_sentence(data: bytes, as_kai: bool) -> None:
    Path("it.yaml").write_bytes(data)
    check(run(["config", "show", "--config", "it.yaml", *(["--as-kai"] if as_kai else [])]))
    check(run(["plan", "good.zip", "--config", "it.yaml", "--now", NOW]))


@FUZZED
@given(data=contents("manifests"), strict=st.booleans())
def test_broken_manifests_are_planned_or_reported(data: bytes, strict: bool) -> None:
    Path("it.yaml").write_bytes(data)
    more = ["--strict"] if strict else []
    for line in (["plan", "--now", NOW], ["plan", "--json", "--now", NOW], ["queues"], ["lint"]):
        check(run([*line, "it.yaml", *more]))


@FUZZED
@given(data=contents("manifests"), name=st.sampled_from(["it.zip", "it.json"]))
def test_a_broken_snapshot_is_planned_or_reported(data: bytes, name: str) -> None:
    Path("it.json").write_bytes(b'{"rawObjects": {"pods": ' + data + b"}}")
    if name == "it.zip":
        with zipfile.ZipFile("it.zip", "w") as archive:
            archive.write("it.json", "snapshot.json")
    check(run(["plan", name, "--now", NOW]))
