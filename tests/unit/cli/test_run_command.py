"""kai run: its options, as passed to the service. Its behaviour: tests/cluster."""

from collections.abc import Callable
from typing import Any

import pytest

import kai.service
import kai.service.programs.reservation
from kai.controllers.gpu_audit import AuditRules
from kai.runtime import nvml
from kai.service.options import Options
from kai.service.programs.gpu_auditor import AuditorOptions
from kai.service.programs.numa_exporter import ExporterOptions
from kai.service.programs.reservation import PodName, fake_device

Run = Callable[..., Any]


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[Options]:
    """The options with which the service would have run."""
    seen: list[Options] = []
    monkeypatch.setattr(kai.service, "serve", lambda options, **_: seen.append(options))
    return seen


def test_queue_labels_become_metric_labels(run: Run, given: list[Options]) -> None:
    labels = ("--queue-label-to-metric-label", "example/team=team,cost=cost")
    defaults = ("--queue-label-to-default-metric-value", "cost=")
    assert run("run", "queue-controller", *labels, *defaults).status == 0
    [options] = given
    assert options.queue_metric_labels() == [("example/team", "team", ""), ("cost", "cost", "")]


def test_the_numa_exporter_has_options_of_its_own(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("grpc", reason="needs the extra numa")
    seen: list[ExporterOptions] = []
    monkeypatch.setattr(kai.service, "export_numa", lambda options, **_: seen.append(options))
    assert run("run", "numa-exporter", "--node-name", "n1").status == 0
    intervals = ("--poll-interval", "0.5", "--drift-resync-interval", "0")
    places = ("--podresources-socket", "/run/k.sock", "--sysfs-root", "/host/sys")
    assert run("run", "numa-exporter", "--node-name", "n1", *places, *intervals).status == 0
    assert seen == [
        ExporterOptions("n1"),
        ExporterOptions("n1", "/run/k.sock", "/host/sys", poll_s=0.5, resync_s=0),
    ]
    done = run("run", "numa-exporter", "--help")
    assert "kai run numa-exporter [OPTIONS]" in done.out


def test_the_gpu_auditor_has_options_of_its_own(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("grpc", reason="needs the extra numa")
    seen: list[tuple[AuditorOptions, Any]] = []

    def keep(options: AuditorOptions, measure: Any, **_: Any) -> None:
        seen.append((options, measure.keywords))

    monkeypatch.setattr(kai.service, "audit_gpus", keep)
    assert run("run", "gpu-auditor", "--node-name", "n1").status == 0
    more = (
        *("--interval", "1m", "--tolerance", "1Gi", "--ignored-namespaces", "gpu-operator, mps"),
        *("--pods-folder=", "--podresources-socket", "/run/k.sock", "--listen-address", ":8080"),
        *("--resource-reservation-namespace", "holders", "--metrics-namespace", "gpus"),
    )
    assert run("run", "gpu-auditor", "--node-name", "n1", *more).status == 0
    rules = AuditRules(tolerance=1 << 30, ignored=frozenset({"gpu-operator", "mps"}), node="n1")
    assert seen == [
        (AuditorOptions("n1", rules=AuditRules(node="n1")), {"pods": "/var/lib/kubelet/pods"}),
        (
            AuditorOptions("n1", 60.0, rules, "/run/k.sock", "holders", ":8080", "gpus"),
            {"pods": ""},
        ),
    ]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["gpu-auditor"], "--node-name is missing"),
        (["gpu-auditor", "--node-name", ""], "--node-name is empty: write the name"),
        (["gpu-auditor", "--node-name", "n", "--tolerance", "much"], "--tolerance"),
        (["gpu-auditor", "--node-name", "n", "--tolerance", "-1"], "-1 is negative"),
        (
            ["gpu-auditor", "--node-name", "n", "--interval", "1e-9"],
            "--interval: 1e-09 is not in the range x>=0.1",
        ),
        (
            ["gpu-auditor", "--node-name", "n", "--metrics-namespace", "a b"],
            "--metrics-namespace: 'a b' is not a metrics namespace",
        ),
        (["all", "gpu-auditor"], "gpu-auditor is not a role: run it alone"),
    ],
)
def test_options_that_the_gpu_auditor_refuses(run: Run, arguments: list[str], why: str) -> None:
    done = run("run", *arguments)
    assert (done.status, done.out) == (2, "")
    assert why in done.err


def test_a_mistyped_role_gets_a_suggestion(run: Run) -> None:
    done = run("run", "reservaton")
    assert done.status == 2
    assert done.err == "kai: there is no role 'reservaton'; did you mean 'reservation'?\n"


def test_every_role_beside_all_has_to_exist(run: Run) -> None:
    assert run("run", "all", "reservaton").err.startswith("kai: there is no role 'reservaton'")


def test_a_value_that_does_not_follow_its_option_with_an_equals_sign_is_no_role(run: Run) -> None:
    done = run("run", "all", "--leader-elect", "false")
    assert done.status == 2
    assert done.err == (
        "kai: there is no role 'false'; the value of an option follows =, as in"
        " --leader-elect=false\n"
    )


def test_the_numa_exporter_names_its_missing_extra(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "grpc" else name)
    done = run("run", "numa-exporter", "--node-name", "n1")
    assert (done.status, done.out) == (2, "")
    assert "pip install grpcio" in done.err


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["numa-exporter"], "--node-name is missing"),
        (["numa-exporter", "--node-name", "n", "--poll-interval", "0"], "--poll-interval"),
        (
            ["all", "numa-exporter"],
            "numa-exporter is not a role: run it alone, as 'kai run numa-exporter'",
        ),
    ],
)
def test_options_that_the_numa_exporter_refuses(run: Run, arguments: list[str], why: str) -> None:
    done = run("run", *arguments)
    assert (done.status, done.out) == (2, "")
    assert why in done.err


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--queue-label-to-metric-label", "team"], "'team' is not of the form LABEL=NAME"),
        (["--queue-label-to-metric-label", "=x"], "'=x' is not of the form LABEL=NAME"),
        (["--queue-label-to-default-metric-value", "a=b"], "'a', which is not a metric label"),
        (["--metrics-namespace", ""], "--metrics-namespace: '' is not a metrics namespace"),
    ],
)
def test_invalid_metric_options_print_one_sentence(
    run: Run, given: list[Options], arguments: list[str], why: str
) -> None:
    done = run("run", "all", *arguments)
    assert (done.status, done.out, given) == (2, "", [])
    assert why in done.err
    assert "Traceback" not in done.err


def test_options_about_shared_gpus_have_the_names_of_kais_binder(
    run: Run, given: list[Options]
) -> None:
    arguments = [
        *("--resource-reservation-namespace", "gpus", "--runtime-class-name", "nvidia"),
        *("--resource-reservation-app-label", "kai-resource-reservation"),
        *("--resource-reservation-service-account", "reader"),
        *("--resource-reservation-pod-image", "registry/kai:1"),
        *("--resource-reservation-pod-resources", '{"requests": {"cpu": "1m"}}'),
        *("--resource-reservation-allocation-timeout", "7", "--fake-gpu-nodes"),
        *("--cdi", "--hami-core-enabled"),
    ]
    assert run("run", "binder", *arguments).status == 0
    [options] = given
    pods = options.reservations()
    assert (pods.namespace, pods.account, pods.image) == ("gpus", "reader", "registry/kai:1")
    assert (pods.runtime_class, pods.timeout, pods.fake) == ("nvidia", 7.0, True)
    assert pods.resources == {"requests": {"cpu": "1m"}}
    assert (options.cdi, options.hami_core) == (True, True)


@pytest.mark.parametrize(("text", "why"), [("{", "not valid JSON"), ("[]", "not a JSON object")])
def test_resources_of_reservation_pods_must_be_a_json_object(
    run: Run, given: list[Options], text: str, why: str
) -> None:
    done = run("run", "all", "--resource-reservation-pod-resources", text)
    assert (done.status, done.out, given) == (2, "", [])
    assert why in done.err


# ---- kai run reservation -------------------------------------------------------------------------


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> list[tuple[PodName, list[str], str | None]]:
    """The pods that would have been held, their devices, and the kubeconfig."""
    seen: list[tuple[PodName, list[str], str | None]] = []

    async def hold(pod: PodName, devices: Any, *_: Any, kubeconfig: str | None, **__: Any) -> None:
        seen.append((pod, list(devices()), kubeconfig))

    monkeypatch.setattr(kai.service.programs.reservation, "hold", hold)
    monkeypatch.setattr(nvml, "uuids", lambda: ["GPU-nvml"])
    monkeypatch.setenv("POD_NAME", "p")
    monkeypatch.setenv("POD_NAMESPACE", "ns")
    return seen


@pytest.mark.parametrize(
    ("arguments", "devices"),
    [
        ([], ["GPU-nvml"]),
        (["--device", "GPU-1"], ["GPU-1"]),
        (["--device", "GPU-1", "--device", "GPU-2"], ["GPU-1", "GPU-2"]),
        (["--fake"], [fake_device(PodName("ns", "p"))]),
    ],
)
def test_a_reservation_pod_holds_its_visible_device(
    run: Run,
    held: list[tuple[PodName, list[str], str | None]],
    arguments: list[str],
    devices: list[str],
) -> None:
    assert run("run", "reservation", "--kubeconfig", "f", *arguments).status == 0
    assert held == [(PodName("ns", "p"), devices, "f")]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["reservation", "--fake", "--device", "GPU-1"], "exclude each other"),
        (
            ["all", "reservation"],
            "reservation is not a role: run it alone, as 'kai run reservation'",
        ),
        (["reservation", "all"], "unexpected extra argument (all)"),
        (["reservation", "--binding", "direct"], "there is no option"),
    ],
)
def test_the_reservation_program_is_not_a_role(
    run: Run,
    held: list[tuple[PodName, list[str], str | None]],
    given: list[Options],
    arguments: list[str],
    why: str,
) -> None:
    done = run("run", *arguments)
    assert (done.status, held, given) == (2, [], [])
    assert why in done.err


def test_the_reservation_program_needs_the_name_of_its_pod(
    run: Run,
    held: list[tuple[PodName, list[str], str | None]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("POD_NAME")
    done = run("run", "reservation")
    assert (done.status, held) == (2, [])
    assert "--pod (env var: POD_NAME) is missing" in done.err
