"""/metrics, /healthz and /readyz of two processes with the options of `kai install`."""

import asyncio
import urllib.request
from pathlib import Path
from urllib.error import HTTPError, URLError

from prometheus_client.parser import text_string_to_metric_families
from testcluster import Cluster, Match, Scene, play
from testcluster.ports import free_ports

from kai.install import running


class Page:
    """The pages of one process. `arguments`: those in the Deployment, with a free port."""

    def __init__(self) -> None:
        [port] = free_ports(1)
        [container] = running.deployment("all", "kai", "kai-scheduler", "image")["spec"][
            "template"
        ]["spec"]["containers"]
        given = container["args"]
        self._url = f"http://127.0.0.1:{port}"
        at = given.index("--listen-address") + 1
        self.arguments = ("--listen-address", given[at].replace(str(running.PORT), str(port)))
        self.liveness, self.readiness = (
            container[each]["httpGet"]["path"] for each in ("livenessProbe", "readinessProbe")
        )

    async def get(self, path: str) -> tuple[int, str]:
        """Status 0: nothing listens."""

        def ask() -> tuple[int, str]:
            try:
                with urllib.request.urlopen(self._url + path, timeout=5) as answer:
                    return answer.status, answer.read().decode()
            except HTTPError as error:
                with error:
                    return error.code, error.read().decode()
            except URLError:
                return 0, ""

        return await asyncio.to_thread(ask)

    async def until(self, path: str, *wanted: int | str) -> None:
        for _ in range(600):
            if (found := await self.get(path)) == wanted:
                return
            await asyncio.sleep(0.05)
        raise AssertionError(f"{path} answers {found} and not {wanted}")

    async def value(self, name: str, **labels: str) -> float:
        """The sum of the samples with these labels; 0 without any."""
        _, text = await self.get("/metrics")
        return sum(
            sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )


async def comes_to(page: Page, wanted: float, name: str, **labels: str) -> None:
    for _ in range(200):
        if (found := await page.value(name, **labels)) == wanted:
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"{name} {labels} is {found} and not {wanted}")


def test_processes_are_alive_at_once_and_ready_after_their_lists(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    one, other = Page(), Page()

    async def story(scene: Scene) -> None:
        lists = scene.proxy.drop(Match("GET", "/podgroups$"))
        await scene.nodes(2)
        first = await scene.start(*one.arguments)
        await one.until(one.readiness, 503, "not listed yet: PodGroup\n")
        assert lists.hits
        assert await one.get(one.liveness) == (200, "ok\n")
        assert await one.value("kai_is_leading") in (0, 1)  # /metrics works too
        lists.end()
        await one.until(one.readiness, 200, "ok\n")

        await scene.until("the first one leads", lambda: "leading" in first.log)
        second = await scene.start(*other.arguments)
        await scene.until("the other one waits", lambda: "waiting to lead" in second.log)
        await other.until(other.readiness, 200, "ok\n")
        assert await other.get(other.liveness) == (200, "ok\n")

        await scene.pods(5)
        await scene.is_well(bound=5)
        await numbers_are_those_of_the_cluster(scene)
        await asyncio.to_thread(first.stop)
        await comes_to(other, 1, "kai_is_leading")
        await comes_to(other, 5, "kai_queue_allocated_gpus", queue_name="default-queue")
        assert await other.get(other.readiness) == (200, "ok\n")

    async def numbers_are_those_of_the_cluster(scene: Scene) -> None:
        done = {"kind": "Pod", "verb": "binding", "result": "done"}
        assert await one.value("kai_writes_total", **done) == 5
        assert await one.value("kai_task_bind_latency_milliseconds_count") == 5
        assert await one.value("kai_task_scheduling_latency_milliseconds_count") == 5
        assert await one.value("kai_task_scheduling_latency_milliseconds_sum") < 5 * 30_000
        await comes_to(one, 5, "kai_queue_allocated_gpus", queue_name="default-queue")
        await comes_to(one, 5, "kai_queue_allocated_gpus", queue_name="default-parent-queue")
        await comes_to(one, 5, "kai_queue_fair_share_gpu", queue_name="default-queue")
        assert [await each.value("kai_is_leading") for each in (one, other)] == [1, 0]
        assert await other.value("kai_queue_info") == 0, "queues are shown once"
        assert await other.value("kai_writes_total") == 0
        for page in (one, other):
            assert 0 <= await page.value("kai_watch_age_seconds", kind="Pod") < 70
            assert await page.value("kai_watch_lists_total", kind="Node") >= 1
            assert await page.value("kai_loop_lag_seconds_count") > 0

    log = asyncio.run(play(cluster, namespace, tmp_path, story))
    assert "info kai: pods were bound or evicted cycle=" in log
    bound = [int(each.split()[0]) for each in log.split(" bound=")[1:]]
    assert sum(bound) == 5, "each pod is in one line"
