"""`kai run` accepts the command lines of KAI's programs that KAI's operator writes."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kai.api.kai_flags import FLAGS, PARAMETERS, truth_of
from kai.cli import cli
from kai.errors import InvalidConfigError
from kai.service.options import Options

ZAP, QPS = ["--zap-devel=false"], ["--qps", "20", "--burst", "100"]
CONTEXT = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
PLUGINS = {
    "volumebinding": {
        "enabled": True,
        "priority": 300,
        "arguments": {"bindTimeoutSeconds": "90"},
    },
    "dynamicresources": {"enabled": True, "priority": 200},
    "gpusharing": {"enabled": True, "priority": 100, "arguments": {"cdiEnabled": "true"}},
    "hamicore": {"enabled": True, "priority": 50},
}
OPERATORS = {
    # The flags in the order in which the operator writes them, each program with everything set.
    "scheduler": [
        *("--scheduler-conf=CONFIG", "--scheduler-name=kai-scheduler", "--namespace=kai"),
        *("--nodepool-label-key=kai.scheduler/node-pool", "--partition-label-value=blue"),
        "--resource-reservation-app-label=kai-resource-reservation",
        *("--queue-label-key=kai.scheduler/queue", "--listen-address=:8080"),
        *("--metrics-namespace=kai", "--allow-consolidating-reclaim=false", "--burst=300"),
        *("--cpu-worker-node-label-key=node-role.kubernetes.io/cpu-worker",),
        *("--default-staleness-grace-period=-1s", "--detailed-fit-errors=true"),
        *("--enable-profiler=false", "--full-hierarchy-fairness=false"),
        *("--max-consolidation-preemptees=4", "--num-of-status-recording-workers=5"),
        *("--plugin-server-port=8081", "--profiler-port=8182", "--pyroscope-address="),
        *("--pyroscope-block-profiler-rate=5", "--pyroscope-mutex-profiler-rate=5", "--qps=50"),
        *("--restrict-node-scheduling=true", "--schedule-csi-storage=true"),
        *("--schedule-period=1s", "--stuck-in-releasing-threshold=1m30s"),
        *("--update-pod-eviction-condition=false", "--use-scheduling-signatures=false", "--v=3"),
        *("--version=true", "--leader-elect=true", "--log-json"),
    ],
    "binder": [
        *("--scheduler-name", "kai-scheduler"),
        *("--resource-reservation-namespace", "gpus"),
        *("--resource-reservation-service-account", "reader"),
        *("--resource-reservation-app-label", "kai-resource-reservation"),
        *("--resource-reservation-pod-image", "registry/reservation:1"),
        *("--scale-adjust-namespace", "kai-scale-adjust"),
        *("--health-probe-bind-address", ":8081", "--metrics-bind-address", ":8080"),
        *("--max-concurrent-reconciles=10", "--resource-reservation-allocation-timeout=40"),
        *("--plugins", json.dumps(PLUGINS), "--fake-gpu-nodes", "--leader-elect", *QPS, *ZAP),
        "--runtime-class-name=nvidia",
        *("--resource-reservation-pod-resources", json.dumps({"requests": {"cpu": "1m"}})),
        *("--resource-reservation-pod-security-context", json.dumps(CONTEXT)),
        *("--resource-reservation-container-security-context", json.dumps(CONTEXT)),
    ],
    "pod-grouper": [
        *("--scheduler-name", "kai-scheduler", "--queue-label-key", "kai.scheduler/queue"),
        *("--nodepool-label-key", "kai.scheduler/node-pool", "--knative-gang-schedule=true"),
        *("--generic-karta-fallback=true", *QPS, "--max-concurrent-reconciles", "10"),
        *("--leader-elect", "--default-priorities-configmap-name", "defaults"),
        *("--default-priorities-configmap-namespace", "kai"),
        *("--namespace-label-selector", "a=b", "--pod-label-selector", "c=d", *ZAP),
    ],
    "pod-group-controller": [
        *("--scheduler-name", "kai-scheduler", *QPS, "--max-concurrent-reconciles", "10"),
        *("--leader-elect", *ZAP),
    ],
    "queue-controller": [
        *("--metrics-listen-address", ":8080", "--leader-elect", "--metrics-namespace", "kai"),
        *("--queue-label-to-metric-label", "priority=queue_priority"),
        *("--queue-label-to-default-metric-value", "priority=normal", *QPS, *ZAP),
    ],
}


class Ran:
    """The result of a command line: its options, and the lines of its log."""

    def __init__(self, result: Result, options: Any) -> None:
        self.result, self.options = result, options

    @property
    def notes(self) -> set[str]:
        return set(re.findall(r"a flag of KAI has no effect here.*?--([\w-]+)", self.result.stderr))


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs `kai run` up to the point where it would connect."""

    def it(*args: str) -> Ran:
        got: list[Any] = []

        def keep(options: Any, **_: Any) -> None:
            got.append(options)

        monkeypatch.setattr("kai.service.serve", keep)
        monkeypatch.setattr("kai.service.export_numa", keep)
        monkeypatch.setattr("kai.api.extras.need_cluster_extra", lambda: None)
        monkeypatch.setattr("kai.k8s.kubelet.need_numa_extra", lambda: None)
        result = CliRunner().invoke(cli, ["run", *args])
        return Ran(result, got[0] if got else None)

    return it


@pytest.fixture
def config(tmp_path: Path) -> str:
    (tmp_path / "config.yaml").write_text("actions: allocate\n")
    return str(tmp_path / "config.yaml")


@pytest.mark.parametrize("role", OPERATORS)
def test_the_command_line_of_the_operator_is_accepted(run: Any, config: str, role: str) -> None:
    ran = run(role, *(each.replace("CONFIG", config) for each in OPERATORS[role]))
    assert ran.result.exit_code == 0, ran.result.output
    assert ran.options.roles == (role,)
    assert ran.options.leader_elect is True
    assert "burst" in ran.notes


@pytest.mark.parametrize("role", OPERATORS)
def test_every_flag_in_these_command_lines_is_in_the_table(role: str) -> None:
    flags = [each.lstrip("-").partition("=")[0] for each in OPERATORS[role] if each[:1] == "-"]
    assert [each for each in flags if role not in FLAGS[each].programs] == []


def test_flags_of_the_scheduler_become_parameters(run: Any, config: str) -> None:
    ran = run("scheduler", *(each.replace("CONFIG", config) for each in OPERATORS["scheduler"]))
    params = ran.options.scheduler_params()
    assert params == {
        **Options().scheduler_params(),
        "partitionParams": {
            "NodePoolLabelKey": "kai.scheduler/node-pool",
            "NodePoolLabelValue": "blue",
        },
        "restrictSchedulingNodes": True,
        "fullHierarchyFairness": False,
        "maxNumberConsolidationPreemptees": 4,
        "useSchedulingSignatures": False,
        "allowConsolidatingReclaim": False,
        "globalDefaultStalenessGracePeriod": -1_000_000_000,
        "stuckInReleasingThreshold": 90_000_000_000,
        "scheduleCSIStorage": True,
        "detailedFitErrors": True,
        "updatePodEvictionCondition": False,
    }
    assert (ran.options.min_period, ran.options.config, ran.options.listen) == (
        1.0,
        config,
        ":8080",
    )


def test_the_binder_reads_its_plugins_and_both_addresses(run: Any) -> None:
    options = run("binder", *OPERATORS["binder"]).options
    assert (options.volume_seconds, options.cdi, options.hami_core) == (90.0, True, True)
    assert options.listen == ":8081,:8080"
    assert options.resource_reservation_pod_resources == {"requests": {"cpu": "1m"}}
    assert options.resource_reservation_pod_security_context == CONTEXT
    assert options.resource_reservation_container_security_context == CONTEXT
    assert run("binder", "--cdi-enabled=true").options.cdi
    assert run("binder", "--metrics-bind-address", "0").options.listen is None


def test_the_numa_exporter_accepts_go_durations(run: Any) -> None:
    given = ["--podresources-socket=/k/kubelet.sock", "--sysfs-root=/host-sys", "--qps=50"]
    ran = run(
        "numa-exporter",
        "--node-name=n1",
        *given,
        "--poll-interval=1m30s",
        "-drift-resync-interval=0s",
    )
    assert (ran.options.poll_s, ran.options.resync_s, ran.notes) == (90.0, 0.0, {"qps"})
    assert (ran.options.socket, ran.options.sysfs) == ("/k/kubelet.sock", "/host-sys")


@pytest.mark.parametrize(
    ("args", "elects"),
    [
        (["--leader-elect=false"], False),
        (["-leader-elect=F"], False),
        (["--leader-elect=0"], False),
        (["--no-leader-elect"], False),
        (["--leader-elect"], True),
        (["-leader-elect"], True),
        (["--leader-elect=true"], True),
        (["--leader-elect=1", "--scheduler-name", "x"], True),
    ],
)
@pytest.mark.parametrize("role", [*OPERATORS, "all"])
def test_booleans_are_read_as_go_reads_them(
    run: Any, role: str, args: list[str], elects: bool
) -> None:
    assert run(role, *args).options.leader_elect is elects


@pytest.mark.parametrize(
    ("args", "member", "value"),
    [
        (["--fake-gpu-nodes=false"], "fake_gpu_nodes", False),
        (["--shadow=false"], "shadow", False),
        (["--as-kai=true"], "as_kai", True),
        (["-scheduler-name", "mine"], "scheduler_name", "mine"),
        (["-scheduler-name=mine"], "scheduler_name", "mine"),
        (["--schedule-period=250ms"], "min_period", 0.25),
        (["--schedule-period", "0.25"], "min_period", 0.25),
        (["--leader-elect-lease-duration=1m0s"], "lease_seconds", 60.0),
        (["--volume-binding-timeout-seconds=90"], "volume_seconds", 90.0),
        (["--full-hierarchy-fairness"], "params", {"fullHierarchyFairness": True}),
        (["--no-full-hierarchy-fairness"], "params", {"fullHierarchyFairness": False}),
        ([], "params", {}),
    ],
)
def test_own_options_are_read_in_the_same_way(
    run: Any, args: list[str], member: str, value: Any
) -> None:
    assert getattr(run("all", *args).options, member) == value


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["--leader-elect=maybe"], "--leader-elect: 'maybe' is neither true nor false"),
        (["--max-consolidation-preemptees=many"], "'many' is not a whole number"),
        (["--stuck-in-releasing-threshold=90"], "'90' is not a duration like 1m30s"),
        (["--node-name=n1"], "there is no option '--node-name' here"),
        (["--plugins", "[]"], "not a JSON object of objects"),
        (["--burst"], "--burst"),
        (["--no-such-flag=1"], "--no-such-flag"),
    ],
)
def test_a_wrong_value_is_a_usage_error(run: Any, args: list[str], problem: str) -> None:
    ran = run("all", *args)
    assert (ran.options, ran.result.exit_code) == (None, 2)
    assert problem in ran.result.output


def test_a_flag_without_effect_is_one_line(run: Any) -> None:
    ran = run("scheduler", "--enable-profiler", "--v=5", "-v", "--qps", "20")
    assert ran.notes == {"enable-profiler", "v", "qps"}
    [line] = [each for each in ran.result.stderr.splitlines() if "--qps" in each]
    assert 'why="the number of requests at a time limits the load"' in line
    assert run("scheduler", "--log-json").notes == set()


def test_two_flags_select_json_logs(run: Any) -> None:
    assert run("binder", "--zap-devel=false", "--qps=1").result.stderr.startswith("{")
    assert not run("binder", "--zap-devel=true", "--qps=1").result.stderr.startswith("{")


# ---- schedulerParams in the configuration --------------------------------------------------------


def test_the_configuration_may_have_scheduler_params() -> None:
    params = {
        "schedulerName": "mine",
        "partitionParams": {"NodePoolLabelKey": "pool", "NodePoolLabelValue": "blue"},
        "queueLabelKey": "q",
        "schedulePeriod": "500ms",
        "restrictSchedulingNodes": True,
        "maxNumberConsolidationPreemptees": 2,
        "globalDefaultStalenessGracePeriod": 30_000_000_000,
        "countMigAsParts": True,
    }
    options = Options(config={"actions": "allocate", "schedulerParams": params}).with_config()
    assert (options.scheduler_name, options.node_pool_key, options.node_pool) == (
        "mine",
        "pool",
        "blue",
    )
    assert (options.queue_label_key, options.min_period) == ("q", 0.5)
    assert options.config == {"actions": "allocate"}
    assert options.params == {
        "restrictSchedulingNodes": True,
        "maxNumberConsolidationPreemptees": 2,
        "globalDefaultStalenessGracePeriod": 30_000_000_000,
        "countMigAsParts": True,
    }


def test_the_command_line_counts_more_than_the_configuration() -> None:
    params = {"schedulerName": "theirs", "fullHierarchyFairness": False}
    options = Options(
        config={"schedulerParams": params},
        scheduler_name="mine",
        params={"fullHierarchyFairness": True},
    ).with_config()
    assert (options.scheduler_name, options.params) == ("mine", {"fullHierarchyFairness": True})


@pytest.mark.parametrize(
    ("params", "problem"),
    [
        (5, "schedulerParams: 5 is not a mapping"),
        ({"fullHierarchyFairnes": True}, "did you mean 'fullHierarchyFairness'?"),
        ({"fullHierarchyFairness": "maybe"}, "fullHierarchyFairness: 'maybe' is not true or false"),
        ({"schedulePeriod": "soon"}, "schedulePeriod: 'soon' is not a duration like 1m30s"),
        ({"maxNumberConsolidationPreemptees": 1.5}, "1.5 is not a whole number"),
        ({"partitionParams": "x"}, "there is no parameter 'partitionParams'"),
        ({"partitionParams": {"Pool": "x"}}, "there is no parameter 'partitionParams.Pool'"),
    ],
)
def test_a_wrong_parameter_is_one_sentence(params: Any, problem: str) -> None:
    with pytest.raises(InvalidConfigError) as error:
        Options(config={"schedulerParams": params}).with_config()
    assert problem in str(error.value)


# ---- the table -----------------------------------------------------------------------------------


def test_a_flag_has_an_effect_or_a_note() -> None:
    for name, row in FLAGS.items():
        assert name == row.name
        assert bool(row.option or row.parameter) or row.note, name


def test_every_parameter_of_the_scheduler_has_a_flag() -> None:
    assert {each.partition(".")[0] for each in PARAMETERS} >= Options().scheduler_params().keys()


def test_the_page_has_the_same_table() -> None:
    page = Path(__file__, "../../../../docs/reference/cli.md").resolve().read_text()
    table = page.partition("### Flags of KAI's programs")[2].partition("\n### ")[0]
    rows = dict(re.findall(r"^\| `--([\w-]+)` \| (.*?) \|$", table, re.MULTILINE))
    assert rows == {name: _cell(row) for name, row in FLAGS.items()}


def _cell(row: Any) -> str:
    parts = []
    if row.option:
        parts.append(
            f"`--{row.option.removeprefix('!')}`"
            + (" (the opposite)" if row.option[:1] == "!" else "")
        )
    if row.parameter:
        parts.append(f"`{row.parameter}`")
    if row.note:
        parts.append(f"no effect: {row.note}")
    return "; ".join(parts)


def test_words_for_true_and_false_are_those_of_go() -> None:
    assert [truth_of(each) for each in ("1", "t", "TRUE", "tRUE", "0", "f", "False", "")] == [
        *(True, True, True, None),
        *(False, False, False, None),
    ]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--qps", "fifty"], "--qps: 'fifty' is not a number"),
        (["-qps", "1e3"], "--qps: '1e3' is not a number"),
        (["--burst=1.5"], "--burst: '1.5' is not a whole number"),
        (["--v=--5"], "--v: '--5' is not a whole number"),
        (["--plugin-server-port=٣"], "--plugin-server-port: '٣' is not a whole number"),
        (["--rate-limiter-max-delay=1m"], "--rate-limiter-max-delay: '1m' is not a whole number"),
        (["--num-of-status-recording-workers=many"], "'many' is not a whole number"),
        (["--resource-reservation-pod-security-context={"], "not valid JSON"),
        (["--enable-profiler=maybe"], "--enable-profiler: 'maybe' is neither true nor false"),
        (["--schedule-period=abc"], "'abc' is not a number of seconds or a duration such as"),
        (["--schedule-period=nan"], "'nan' is not a number of seconds or a duration such as"),
        (["--schedule-period=inf"], "'inf' is longer than the longest time, 106,751 days"),
        (
            ["--leader-elect-lease-duration=1e30"],
            "'1e30' is longer than the longest time, 106,751 days",
        ),
    ],
)
def test_a_value_of_a_wrong_type_is_refused_also_if_it_has_no_effect(
    run: Any, flags: list[str], message: str
) -> None:
    ran = run("scheduler", *flags)
    assert ran.result.exit_code == 2
    assert message in ran.result.stderr


def test_an_empty_security_context_is_none(run: Any) -> None:
    assert run("binder", "--resource-reservation-pod-security-context=").options is not None
