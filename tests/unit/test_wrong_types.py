"""A wrong type in any public call ends in one sentence, not in a traceback from inside.

The test walks all public functions, and all public methods of the classes that users hold. It
replaces one argument after the other by a value of another type.
"""

from __future__ import annotations

import inspect
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import kai
from kai.api.arguments import in_a_sentence
from kai.integrations import builder_for
from kai.integrations.registry import ORCHESTRATORS
from kai.sim.traces import read

NOW = "2026-01-01T00:00:00Z"
NODE = b"{kind: Node, metadata: {name: n1}}"
NONSENSE = (
    *(object(), 5, -1, 0, 10**30, True, None, 3.5, float("nan"), float("inf"), "zzz", "", "\0"),
    *(b"x", [], ["a", 1], [None], (), set(), {}, {1: object()}, {"a": None}),
)
WORKLOAD = "nodes: {n: {gpu: 8}}\njobs: {a: {duration: 1h}}\n"


def cluster() -> kai.Cluster:
    return (
        kai.Cluster(now=NOW)
        .queue("a", deserved_gpus=2)
        .queue("b")
        .node("n1", gpus=4)
        .running("a/r", gpus=1, node="n1")
        .pending("a/x", pods=2, gpus=4)
        .pending("b/y", gpus=1)
    )


def plan() -> kai.Plan:
    return kai.Scheduler().plan(cluster())


@pytest.fixture(scope="module")
def workload(tmp_path_factory: pytest.TempPathFactory) -> Any:
    file = tmp_path_factory.mktemp("w") / "w.yaml"
    file.write_text(WORKLOAD)
    return read(file)


HELD: dict[str, Callable[[], Any]] = {
    "Cluster": cluster,
    "Scheduler": kai.Scheduler,
    "Plan": plan,
    "Queues": lambda: plan().queues,
    "Nodes": lambda: plan().nodes,
    "Order": lambda: plan().order,
    "Scores": lambda: plan().scores("b/y-0"),
    "Config": kai.Config,
    "Fragmentation": lambda: cluster().fragmentation(),
    "PlanDiff": lambda: plan().diff(plan()),
    "PodRequest": lambda: kai.PodRequest(queue="a", gpus=1),
}
MADE_BY_USERS = ("Cluster", "Scheduler", "Config", "PodRequest", "TypicalPod", "Side")
FUNCTIONS = ("compare", "connect", "default_config", "lint", "load", "load_all", "pod_settings")

GIVEN: dict[str, Callable[[], tuple[list[Any], dict[str, Any]]]] = {
    "Cluster.queue": lambda: (["c"], {}),
    "Cluster.node": lambda: (["n9"], {}),
    "Cluster.nodes": lambda: (["m", 2], {}),
    "Cluster.pending": lambda: (["a/z"], {}),
    "Cluster.running": lambda: (["a/z"], {"node": "n1"}),
    "Cluster.releasing": lambda: (["a/z"], {"node": "n1"}),
    "Cluster.scale": lambda: (["a/x", 3], {}),
    "Cluster.add_nodes": lambda: ([1], {"like": "n1"}),
    "Cluster.update_queue": lambda: (["a"], {}),
    "Cluster.remove": lambda: (["a/x"], {}),
    "Cluster.priority_class": lambda: (["p", 5], {}),
    "Cluster.topology": lambda: (["t", "l"], {}),
    "Cluster.add": lambda: (["Node", {"metadata": {"name": "n8"}}], {}),
    "Cluster.upsert": lambda: ([{"kind": "Node", "metadata": {"name": "k"}}], {}),
    "Cluster.delete": lambda: (["Pod", "a/x-0"], {}),
    "Cluster.set_usage": lambda: ([{"a": {"gpu": 0.5}}], {}),
    "Cluster.from_snapshot": lambda: ([{"rawObjects": {}}], {}),
    "Scheduler.plan": lambda: ([cluster()], {}),
    "Scheduler.next_wake": lambda: ([cluster()], {}),
    "Scheduler.assume_bound": lambda: ([cluster(), {}], {}),
    "Scheduler.assume_evicted": lambda: ([cluster(), "a/r-0"], {}),
    "Scheduler.forget": lambda: ([cluster(), 1], {}),
    "Scheduler.export_memory": lambda: ([cluster()], {}),
    "Scheduler.import_memory": lambda: ([cluster(), "{}"], {}),
    "Plan.scores": lambda: (["b/y-0"], {}),
    "Plan.diff": lambda: ([plan()], {}),
    "Plan.why": lambda: (["b/y"], {}),
    "Plan.find_group": lambda: (["b/y"], {}),
    "load": lambda: ([NODE], {}),
    "load_all": lambda: ([NODE], {}),
    "lint": lambda: ([NODE], {}),
    "pod_settings": lambda: ([], {"queue": "a"}),
    "connect": lambda: ([], {"kubeconfig": "/nonexistent"}),
}


def calls(name: str, function: Any) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    """Arguments for a call; one of them has another type."""
    parameters = list(inspect.signature(function).parameters.values())
    given = GIVEN.get(name)
    needed = [each for each in parameters if each.default is each.empty]
    positional = [each for each in needed if each.kind is each.POSITIONAL_OR_KEYWORD]
    for nonsense in NONSENSE:
        if given is None:
            named = {each.name: nonsense for each in needed if each.kind is each.KEYWORD_ONLY}
            yield [nonsense] * len(positional), named
        else:
            for place in range(len(given()[0])):
                args, options = given()
                args[place] = nonsense
                yield args, options
        for each in parameters:
            args, options = ([nonsense] * len(positional), {}) if given is None else given()
            if each.kind is each.VAR_POSITIONAL:
                yield [*args, nonsense], options
            elif each.kind is each.KEYWORD_ONLY and each.name != "executor":  # it starts processes
                yield args, {**options, each.name: nonsense}


def leaks(name: str, make: Callable[[], Any]) -> list[str]:
    """The calls that end in an error from inside kai."""
    return [
        each for args, options in calls(name, make()) for each in _leak(name, make(), args, options)
    ]


def _leak(name: str, function: Any, args: list[Any], options: dict[str, Any]) -> list[str]:
    call = f"{name}(*{args}, **{options})"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about many open figures
            function(*args, **options)
    except kai.KaiError as error:
        return [f"{call}: more than a sentence: {error}"] if "\n" in str(error) else []
    except FileNotFoundError:
        return []  # an empty name, for a method that writes
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        # A missing or unknown argument: Python's own message names it.
        by_python = isinstance(error, TypeError) and "argument" in str(error)
        if place.filename != __file__ and not (by_python and place.line in _CALLS):
            return [f"{call}: {error!r} in {place.filename}"]
    return []


_CALLS = ("return function(*args, **kwargs)",)
"""The lines of kai.api.arguments that call a public function."""


@pytest.mark.parametrize("name", sorted({*FUNCTIONS, *MADE_BY_USERS}))
def test_a_public_function_answers_a_wrong_type_with_a_sentence(name: str, workload: Any) -> None:
    if name == "compare":
        GIVEN[name] = lambda: ([None, None], {"workload": workload, "seeds": 2, "until_s": 1.0})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert leaks(name, lambda: getattr(kai, name)) == []


@pytest.mark.parametrize("held", sorted(HELD))
def test_a_method_answers_a_wrong_type_with_a_sentence(
    held: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = HELD[held]
    names = [name for name in dir(getattr(kai, held)) if not name.startswith("_")]
    for name in names:
        if callable(getattr(made(), name)) and (held, name) != ("Order", "index"):  # a sequence's
            assert leaks(f"{held}.{name}", lambda name=name: getattr(made(), name)) == []  # type: ignore[misc]


def test_a_timeline_answers_a_wrong_type_with_a_sentence(
    workload: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    timeline = kai.simulate(workload)
    for name in ("metrics", "fragmentation", "diff", "save", "load", "to_html", "to_perfetto"):
        assert leaks(f"Timeline.{name}", lambda name=name: getattr(timeline, name)) == []  # type: ignore[misc]


@pytest.mark.parametrize("orchestrator", sorted(ORCHESTRATORS))
def test_a_builder_answers_a_wrong_type_with_a_sentence(orchestrator: str) -> None:
    build = builder_for(orchestrator)
    request = kai.PodRequest(queue="a", gpu_fraction="0.5")
    GIVEN[orchestrator] = lambda: ([request], {"as_native": False})
    assert leaks(orchestrator, lambda: build) == []


def test_a_sweep_answers_a_wrong_type_with_a_sentence(workload: Any) -> None:
    GIVEN["sweep"] = lambda: ([{"config.actions": ["allocate"]}, workload], {"until_s": 1.0})
    assert leaks("sweep", lambda: kai.sweep) == []


@pytest.mark.parametrize(
    "name",
    [
        *("config", "config.actions", "config.plugins.numa", "zzz"),
        *("queues.default.deserved_gpus", "nodes.n.count", "nodes.n.labels"),
    ],
)
def test_a_grid_of_a_sweep_with_wrong_values_ends_in_a_sentence(workload: Any, name: str) -> None:
    for values in (*NONSENSE, *([each] for each in NONSENSE)):
        assert _leak("sweep", kai.sweep, [{name: values}, workload], {"until_s": 1.0}) == []


def test_a_simulation_answers_a_wrong_type_with_a_sentence(workload: Any) -> None:
    GIVEN["simulate"] = lambda: ([workload], {})
    assert leaks("simulate", lambda: kai.simulate) == []


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: kai.load(5), "load(): source is 5: write a string, a path, bytes or a list"),
        (lambda: plan().diff(5), "diff(): other is 5: write a kai.Plan"),
        (lambda: plan().why(5), "why(): name is 5: write a string"),
        (
            lambda: kai.simulate(5),
            "simulate(): workload is 5: write a Workload, a string or a path",
        ),
        (lambda: cluster().scale("a/x", "3"), "scale(): pods is '3': write a whole number"),
        (lambda: cluster().cordon(["n1"]), "cordon(): nodes is ['n1']: write a string"),
    ],
)
def test_the_sentence_says_what_to_write(call: Callable[[], object], sentence: str) -> None:
    with pytest.raises(TypeError) as caught:
        call()
    assert sentence in str(caught.value)
    assert isinstance(caught.value, kai.InvalidInputError)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"actions": 5}, "actions is 5: write a list"),
        ({"actions": [5]}, "actions has 5: write names of actions"),
        ({"plugins": 5}, "plugins is 5: write a mapping"),
    ],
)
def test_a_wrong_member_of_a_configuration_is_named(given: Any, sentence: str) -> None:
    with pytest.raises(kai.InvalidConfigError) as caught:
        kai.Config(**given)
    assert sentence in str(caught.value)


def test_an_error_of_a_users_function_is_not_replaced() -> None:
    @in_a_sentence
    def called(function: Callable[[int], None], number: int) -> None:
        function(number)

    def fails(_: object) -> None:
        raise AttributeError("mine")

    with pytest.raises(AttributeError, match="mine"):
        called(fails, 5)
    with pytest.raises(kai.InvalidInputError, match="number is 'x': write a whole number"):
        called(fails, "x")  # type: ignore[arg-type]


def test_a_simulation_reads_a_file(tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_text(WORKLOAD)
    for path in (tmp_path / "w.yaml", str(tmp_path / "w.yaml")):
        assert kai.simulate(path).jobs["end_s"].tolist() == [3600.0]


@pytest.mark.parametrize(
    ("costs", "sentence"),
    [
        ({"nodes": "x"}, "fix(): costs['nodes'] is 'x': write a number"),
        ({"end": 1.0, "nodes": None}, "fix(): costs['nodes'] is None: write a number"),
        (5, "fix(): costs is 5: write a mapping"),
    ],
)
def test_the_item_that_is_wrong_is_named(costs: Any, sentence: str) -> None:
    with pytest.raises(kai.InvalidInputError) as caught:
        plan().fix("a/x", costs=costs)
    assert str(caught.value) == sentence
