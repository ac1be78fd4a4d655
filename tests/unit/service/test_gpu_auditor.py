"""The GPU auditor between a driver, a kubelet and an API server."""

import asyncio
import io
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from fakes.scenarios import scenarios

pytest.importorskip("grpc", reason="needs the extra numa")
from fakes.clock import until
from fakes.http_server import FakeApi, ok, status
from fakes.kubelet import FakeKubelet, answer, container
from kai.api import keys
from kai.api.gpu_use import GpuProcess, MeasuredDevice, Measurement
from kai.controllers.gpu_audit import AuditRules
from kai.errors import InvalidInputError
from kai.k8s.clock import Clock
from kai.service.log import Log
from kai.service.programs import gpu_auditor
from kai.service.programs.gpu_auditor import Auditor, AuditorOptions, uses_on
from kai.service.programs.gpu_metrics import MOST_PROCESSES, AuditorMetrics

GIB = 1 << 30
CARD = "GPU-1"
PODS = "/api/v1/pods"
EVENTS = "/api/v1/namespaces/team/events"


def pod(name: str, fraction: str = "", **limits: str) -> dict[str, Any]:
    """Its UID is its name."""
    labels = {keys.GPU_GROUP_LABEL: "g1"} if fraction else {}
    annotations = {keys.GPU_FRACTION_ANNOTATION: fraction} if fraction else {}
    return {
        "metadata": {
            "namespace": "team",
            "name": name,
            "uid": name,
            "labels": labels,
            "annotations": annotations,
        },
        "spec": {"containers": [{"resources": {"limits": limits}}]},
        "status": {"phase": "Running"},
    }


def holder() -> dict[str, Any]:
    made = pod("holder", "1")
    made["metadata"]["namespace"] = keys.RESERVATION
    made["metadata"]["annotations"] = {keys.RESERVED_DEVICE_ANNOTATION: CARD}
    return made


def listed(*pods: dict[str, Any]) -> Any:
    return ok({"items": [*pods]})


class World:
    def __init__(self, api: FakeApi, kubelet: FakeKubelet) -> None:
        self.api, self.kubelet, self._stream = api, kubelet, io.StringIO()
        self.log = Log(stream=self._stream)
        self.processes: Sequence[GpuProcess] = ()
        self.failure, self.measured = "", 0
        self.auditor: Auditor

    def measure(self) -> Measurement:
        self.measured += 1
        if self.failure:
            raise InvalidInputError(self.failure)
        used = sum(each.used or 0 for each in self.processes)
        return Measurement((MeasuredDevice(CARD, 80 * GIB, used, tuple(self.processes)),))

    async def measures(self, count: int = 3) -> None:
        """Waits for this many further measurements."""
        wanted = self.measured + count
        await until(lambda: self.measured >= wanted)

    @property
    def lines(self) -> list[str]:
        return [each.partition("Z ")[2] for each in self._stream.getvalue().splitlines()]

    @property
    def events(self) -> list[Any]:
        return [each.body for each in self.api.seen if each.method == "POST"]

    async def page(self) -> dict[str, str]:
        """The metrics of GPUs by name and labels."""
        lines = (await self.auditor.metrics.page()).decode().splitlines()
        return dict(line.rsplit(" ", 1) for line in lines if line.startswith("kai_gpu"))


async def play(tmp_path: Path, story: Callable[[World], Awaitable[None]], **more: Any) -> World:
    socket = tmp_path / "kubelet.sock"
    options = AuditorOptions("n1", 0.01, AuditRules(node="n1"), str(socket), **more)
    async with FakeApi() as api, FakeKubelet(socket) as kubelet, api.client(Clock()) as client:
        world, stop = World(api, kubelet), asyncio.Event()
        api.on("GET", PODS, listed(pod("half", "0.5"), holder()))
        api.on("POST", EVENTS, ok({}))
        api.on("POST", "/api/v1/namespaces/default/events", ok({}))
        world.auditor = Auditor(client, options, world.measure, world.log)
        task = asyncio.create_task(world.auditor.run(stop))
        await story(world)
        assert not task.done()
        stop.set()
        await task
        return world


scenario = scenarios(play, "tmp_path")


@scenario
async def test_a_pod_beyond_its_share_gets_one_event(world: World) -> None:
    world.processes = [GpuProcess(812, 70 * GIB, "python", "half", 1)]
    await until(lambda: world.events)
    await world.measures(5)
    [event] = world.events
    assert event["reason"] == "GpuShareExceeded"
    assert event["type"] == "Warning"
    assert event["involvedObject"] == {
        "kind": "Pod",
        "namespace": "team",
        "name": "half",
        "uid": "half",
        "apiVersion": "v1",
    }
    assert event["source"] == {"component": "gpu-auditor"}
    assert event["reportingInstance"] == "n1"
    assert "uses 70 GiB of GPU-1 (80 GiB), its share is 40 GiB" in event["message"]
    page = await world.page()
    pod = 'gpu="GPU-1",namespace="team",pod="half"'
    assert page[f"kai_gpu_pod_is_over_share{{{pod}}}"] == "1"
    assert page['kai_gpu_audit_events_total{reason="GpuShareExceeded"}'] == "1"
    [line] = [each for each in world.lines if "GpuShareExceeded" in each]
    assert line.startswith('warning kai: GpuShareExceeded about="Pod team/half" why="uses 70 GiB')
    # Back below the share: the metric shows it at once, and an event says so.
    world.processes = []
    await until(lambda: len(world.events) == 2)
    assert world.events[1]["reason"] == "GpuShareKept"
    page = await world.page()
    assert page[f"kai_gpu_pod_is_over_share{{{pod}}}"] == "0"
    assert not [each for each in page if each.startswith("kai_gpu_process")]


@scenario
async def test_whole_gpus_are_known_from_the_kubelet(world: World) -> None:
    whole = pod("whole", **{"nvidia.com/gpu": "1"})
    world.api.on("GET", PODS, listed(whole))
    world.kubelet.data = answer(("team/whole", [container([("nvidia.com/gpu", [CARD], [0])])]))
    world.processes = [GpuProcess(812, 79 * GIB, "python", "whole", 1)]
    await world.measures(4)
    assert world.events == []
    page = await world.page()
    labels = 'gpu="GPU-1",namespace="team",pod="whole"'
    assert page[f"kai_gpu_pod_share_bytes{{{labels}}}"] == str(80 * GIB)


def test_without_the_kubelet_pods_with_whole_gpus_are_not_judged(tmp_path: Path) -> None:
    import grpc

    async def story(world: World) -> None:
        world.kubelet.code = grpc.StatusCode.UNAVAILABLE
        world.api.on("GET", PODS, listed(pod("whole", **{"nvidia.com/gpu": "1"})))
        world.processes = [GpuProcess(812, 79 * GIB, "python", "whole", 1)]
        await world.measures(4)
        page = await world.page()
        assert not [each for each in page if each.startswith("kai_gpu_pod_share")]

    world = asyncio.run(play(tmp_path, story))
    assert world.events == []
    assert any('effect="pods with whole GPUs are not judged"' in each for each in world.lines)


@scenario
async def test_pods_are_read_again_only_when_one_is_new(world: World) -> None:
    world.processes = [GpuProcess(812, GIB, "python", "half", 1)]
    await world.measures(5)
    assert len(world.api.paths("GET")) == world.api.paths("GET").count("/version") + 1
    [query] = [each.query for each in world.api.seen if each.path == PODS]
    assert query == {"fieldSelector": "spec.nodeName=n1", "resourceVersion": "0"}
    world.api.on("GET", PODS, listed(pod("half", "0.5"), pod("new", "0.5"), holder()))
    world.processes = [GpuProcess(900, GIB, "python", "new", 1)]
    await world.measures(5)
    assert world.api.paths("GET").count(PODS) == 2
    page = await world.page()
    labels = 'gpu="GPU-1",namespace="team",pod="new"'
    assert page[f"kai_gpu_pod_share_bytes{{{labels}}}"] == str(40 * GIB)


@scenario
async def test_a_process_of_no_pod_is_an_event_of_the_node(world: World) -> None:
    world.processes = [GpuProcess(812, GIB, "Xorg", "", 812)]
    await until(lambda: world.events)
    [event] = world.events
    assert event["involvedObject"]["kind"] == "Node"
    assert event["metadata"]["namespace"] == "default"
    assert event["message"] == "Xorg (process 812) of no pod uses 1 GiB of GPU-1"


def test_a_driver_that_does_not_answer_is_logged_once_and_not_ready(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.measures()
        assert world.auditor.why_unready() == ""
        world.failure = "nvmlInit_v2: Driver Not Loaded"
        await world.measures(4)
        assert world.auditor.why_unready() == world.failure
        world.failure = ""
        await until(lambda: "again" in world.lines[-1])

    world = asyncio.run(play(tmp_path, story))
    _, lost, back = world.lines
    assert lost == ('warning kai: cannot measure the GPUs why="nvmlInit_v2: Driver Not Loaded"')
    assert back == "info kai: can measure the GPUs again"


def test_without_pods_nothing_is_judged(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        text = 'pods is forbidden: User "x" cannot list resource "pods"'
        world.api.on("GET", PODS, status(403, reason="Forbidden", message=text))
        world.processes = [GpuProcess(812, 70 * GIB, "python", "half", 1)]
        await world.measures(4)
        assert world.auditor.why_unready() == "the pods were not read yet"
        page = await world.page()
        assert page['kai_gpu_memory_used_bytes{gpu="GPU-1"}'] == str(70 * GIB)
        assert not [each for each in page if "_pod_" in each]

    world = asyncio.run(play(tmp_path, story))
    assert world.events == []
    assert sum("cannot read the pods of the node" in each for each in world.lines) == 1


def test_a_node_without_pods_is_named_and_its_processes_are_not_judged(tmp_path: Path) -> None:
    """Before, with a wrong name of the node, all processes were those of no pod."""

    async def story(world: World) -> None:
        world.api.on("GET", PODS, listed())
        world.processes = [GpuProcess(812, 70 * GIB, "python", "half", 1)]
        await world.measures(4)
        assert not [each for each in await world.page() if "process" in each or "pod" in each]
        assert world.auditor.why_unready() == "the pods were not read yet"

    world = asyncio.run(play(tmp_path, story))
    assert world.events == []
    [line] = [each for each in world.lines if "cannot read the pods of the node" in each]
    assert (
        'why="node n1 does not exist or has no pods: write the name of this node, as kubectl get'
        ' nodes prints it"'
    ) in line


@pytest.mark.parametrize(
    ("pod_there", "problems"),
    [
        ("half", []),
        ("other", ["the pods that use GPUs here are not on node n1: write the name of this node"]),
    ],
)
def test_pods_of_another_node_are_a_problem(
    tmp_path: Path, pod_there: str, problems: list[str]
) -> None:
    process = GpuProcess(812, GIB, "python", pod_there, 1)
    measurement = Measurement((MeasuredDevice(CARD, 80 * GIB, GIB, (process,)),))

    async def found() -> list[str]:
        socket = tmp_path / "kubelet.sock"
        async with FakeApi() as api, FakeKubelet(socket), api.client(Clock()) as client:
            api.on("GET", PODS, listed(pod("half", "0.5"), holder()))
            options = AuditorOptions("n1", socket=str(socket))
            return (await uses_on(client, options, measurement))[1]

    assert asyncio.run(found()) == problems


def test_a_new_pod_is_not_judged_while_the_api_server_is_away(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.measures()
        world.api.on("GET", PODS, status(403, reason="Forbidden", message="not now"))
        world.processes = [GpuProcess(900, 9 * GIB, "python", "new", 1)]
        await world.measures(5)
        assert not [each for each in await world.page() if '"new"' in each]

    assert asyncio.run(play(tmp_path, story)).events == []


def test_a_missing_right_to_write_events_is_logged(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        text = 'events is forbidden: User "x" cannot create resource "events"'
        world.api.on("POST", EVENTS, status(403, reason="Forbidden", message=text))
        world.processes = [GpuProcess(812, 70 * GIB, "python", "half", 1)]
        await until(lambda: any("cannot write events" in each for each in world.lines))

    world = asyncio.run(play(tmp_path, story))
    assert any("cannot create resource" in each for each in world.lines)


def test_a_call_that_never_returns_is_unhealthy(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.measures()
        auditor = world.auditor
        assert auditor.why_unhealthy() == ""
        auditor._measuring_since = (
            auditor._clock.monotonic() - gpu_auditor.LONGEST_MEASUREMENT_S - 1
        )
        assert auditor.why_unhealthy() == "the driver has not answered for 120 s"

    asyncio.run(play(tmp_path, story))


def test_metrics_are_served(tmp_path: Path) -> None:
    import aiohttp

    async def story(world: World) -> None:
        await world.measures()
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{world.auditor.pages.port}/metrics") as got,
        ):
            assert f'kai_gpu_memory_bytes{{gpu="GPU-1"}} {80 * GIB}' in await got.text()

    asyncio.run(play(tmp_path, story, listen="127.0.0.1:0"))


# ---- metrics -------------------------------------------------------------------------------------


def test_a_device_has_a_bounded_number_of_series() -> None:
    from kai.controllers.gpu_audit import uses_of

    many = tuple(GpuProcess(pid, pid, "fork", "bomb", 1) for pid in range(1, 1001))
    device = MeasuredDevice(CARD, 80 * GIB, 5, many)
    measurement = Measurement((device,))
    metrics = AuditorMetrics()
    metrics.show(measurement, uses_of(measurement, {}, AuditRules()), ())
    page = asyncio.run(metrics.page()).decode()
    lines = [each for each in page.splitlines() if each.startswith("kai_gpu_process_used_bytes")]
    assert len(lines) == MOST_PROCESSES + 1
    rest = sum(range(1, 1001 - MOST_PROCESSES))
    assert lines[-1] == (
        'kai_gpu_process_used_bytes{gpu="GPU-1",namespace="",pod="",pid="",process="others"}'
        f" {rest}"
    )
