"""The fault proxy causes the faults that it documents, and counts them."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import aiohttp
import pytest
from testcluster import ApiError, Client, Cluster, FaultProxy, Match, node, path_of, pod

from fakes.scenarios import in_a_loop, scenarios

PODS = Match("POST", r"/pods$")
BINDINGS = Match("POST", r"/binding$")
LOST = (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError)


@asynccontextmanager
async def proxied(cluster: Cluster) -> AsyncIterator[tuple[FaultProxy, Client, Client]]:
    """A proxy, a client behind it, and one connected directly to the server."""
    async with (
        FaultProxy(cluster) as proxy,
        cluster.client(server=proxy.url) as behind,
        cluster.client() as direct,
    ):
        yield proxy, behind, direct


Scene = Callable[[FaultProxy, Client, Client], Awaitable[None]]


async def play(cluster: Cluster, scene: Scene) -> None:
    async with proxied(cluster) as parts:
        await asyncio.wait_for(scene(*parts), 60)


scenario = scenarios(play, "cluster")


async def names(api: Client, namespace: str) -> list[str]:
    return [each["metadata"]["name"] for each in await api.items(path_of("Pod", namespace))]


@scenario
async def test_without_faults_requests_and_watches_pass(
    proxy: FaultProxy, api: Client, direct: Client, *, namespace: str
) -> None:
    pods = path_of("Pod", namespace)
    version = (await api.get(pods))["metadata"]["resourceVersion"]
    watch = api.watch(pods, resourceVersion=version)
    event = asyncio.ensure_future(anext(watch))
    await api.create(node("n0"), pod("p", namespace))
    assert (await asyncio.wait_for(event, 5))["object"]["metadata"]["name"] == "p"
    await watch.aclose()
    await api.bind(namespace, "p", "n0")
    assert proxy.count("create", "pods", "binding") == 1
    assert proxy.count("create", "pods") == 2
    assert proxy.count("watch", "pods") == proxy.count("list", "pods") == 1
    [binding] = [each for each in proxy.requests if each.subresource == "binding"]
    assert (binding.namespace, binding.name, binding.status) == (namespace, "p", 201)


@scenario
async def test_the_proxy_may_answer_for_the_server(
    proxy: FaultProxy, api: Client, direct: Client, *, namespace: str
) -> None:
    fault = proxy.answer(PODS, 429, retry_after="3", skip=1, times=1)
    await api.create(pod("a", namespace))
    with pytest.raises(ApiError) as refused:
        await api.create(pod("b", namespace))
    assert (refused.value.status, refused.value.retry_after) == (429, "3")
    assert refused.value.reason == "TooManyRequests"
    await api.create(pod("c", namespace))
    assert await names(direct, namespace) == ["a", "c"]
    assert fault.hits == 1


@scenario
async def test_a_dropped_answer_follows_a_done_write(
    proxy: FaultProxy, api: Client, direct: Client, *, namespace: str
) -> None:
    fault = proxy.swallow(PODS, times=1)
    with pytest.raises(LOST):
        await api.create(pod("a", namespace))
    await fault.hit()
    assert await names(direct, namespace) == ["a"]
    assert proxy.requests[-1].status == 0


@scenario
async def test_a_dropped_request_does_not_reach_the_server(
    proxy: FaultProxy, api: Client, direct: Client, *, namespace: str
) -> None:
    proxy.drop(PODS, times=1)
    with pytest.raises(LOST):
        await api.create(pod("a", namespace))
    assert await names(direct, namespace) == []
    await api.create(pod("b", namespace))


@scenario
async def test_a_delayed_answer_follows_the_write(
    proxy: FaultProxy, api: Client, direct: Client, *, namespace: str
) -> None:
    proxy.hold(PODS, 1, times=1)
    began_s = time.monotonic()
    write = asyncio.create_task(api.create(pod("a", namespace)))
    await direct.until("the pod", lambda: names(direct, namespace), 0.8)
    assert not write.done()
    await write
    assert time.monotonic() - began_s >= 1


@scenario
async def test_a_delayed_request_takes_effect_late(
    proxy: FaultProxy, api: Client, direct: Client, *, namespace: str
) -> None:
    proxy.delay(PODS, 0.5, times=1)
    write = asyncio.create_task(api.create(pod("a", namespace)))
    await asyncio.sleep(0.3)
    assert await names(direct, namespace) == []
    await write
    assert await names(direct, namespace) == ["a"]


@scenario
async def test_a_late_request_takes_effect_after_its_client_gave_up(
    proxy: FaultProxy, api: Client, direct: Client, *, namespace: str
) -> None:
    proxy.deliver_late(PODS, 0.5, times=1)
    with pytest.raises(LOST):
        await api.create(pod("a", namespace))
    assert await names(direct, namespace) == []
    await direct.until("it has come", lambda: names(direct, namespace))
    await direct.until("the answer was seen", lambda: seen(proxy.delivered == [201]))


@scenario
async def test_a_list_is_broken_inside(
    proxy: FaultProxy, api: Client, direct: Client, *, namespace: str
) -> None:
    await direct.create(pod("a", namespace))
    proxy.cut_inside(Match("GET", r"/pods$"), 100, times=1)
    with pytest.raises(LOST):
        await names(api, namespace)
    assert await names(api, namespace) == ["a"]


@scenario
async def test_open_watches_are_broken_and_a_later_one_expires(
    proxy: FaultProxy, api: Client, direct: Client, *, namespace: str
) -> None:
    pods = path_of("Pod", namespace)
    version = (await api.get(pods))["metadata"]["resourceVersion"]
    watch = api.watch(pods, resourceVersion=version)
    event = asyncio.ensure_future(anext(watch))
    await api.until("the watch is open", lambda: seen(proxy.count("watch") == 1))
    await asyncio.sleep(0.1)  # the server's headers have arrived
    assert proxy.cut_open(Match("GET", r"/pods$")) == 1
    with pytest.raises(LOST):
        await asyncio.wait_for(event, 5)
    proxy.expire(times=1)
    again = api.watch(pods, resourceVersion=version)
    assert (await anext(again))["object"]["code"] == 410
    await again.aclose()


async def seen(value: bool) -> bool:
    return value


@scenario
async def test_a_refusing_proxy_accepts_again(
    proxy: FaultProxy, api: Client, direct: Client, *, namespace: str
) -> None:
    assert await names(api, namespace) == []
    await proxy.refuse()
    with pytest.raises(LOST):
        await names(api, namespace)
    await proxy.accept()
    assert await names(api, namespace) == []


@scenario
async def test_a_paused_proxy_passes_nothing_and_loses_nothing(
    proxy: FaultProxy, api: Client, direct: Client, *, namespace: str
) -> None:
    pods = path_of("Pod", namespace)
    version = (await api.get(pods))["metadata"]["resourceVersion"]
    watch = api.watch(pods, resourceVersion=version)
    event = asyncio.ensure_future(anext(watch))
    await asyncio.sleep(0.2)
    proxy.pause()
    await direct.create(pod("a", namespace))
    write = asyncio.create_task(api.create(pod("b", namespace)))
    await asyncio.sleep(0.3)
    assert not event.done()
    assert not write.done()
    assert await names(direct, namespace) == ["a"]
    proxy.resume()
    await write
    assert (await event)["object"]["metadata"]["name"] == "a"
    await watch.aclose()


@pytest.mark.parametrize(("when", "bound"), [("before", False), ("after", True)])
@scenario
async def test_a_callback_runs_at_a_chosen_write(
    proxy: FaultProxy, api: Client, direct: Client, *, namespace: str, when: str, bound: bool
) -> None:
    await direct.create(node("n0"), pod("a", namespace))
    found: list[str] = []

    async def look() -> None:
        spec = (await direct.get(path_of("Pod", namespace, "a")))["spec"]
        found.append(spec.get("nodeName", ""))

    proxy.call(BINDINGS, look, when="after" if when == "after" else "before")
    assert (await api.bind(namespace, "a", "n0"))["status"] == "Success"
    assert found == ["n0" if bound else ""]


@scenario
async def test_only_the_requests_of_one_token_are_refused(
    proxy: FaultProxy, api: Client, direct: Client, *, cluster: Cluster, namespace: str
) -> None:
    token = cluster.token("scheduler")
    proxy.answer(Match(headers={"Authorization": f"^Bearer {token}$"}), 401)
    async with cluster.client("scheduler", server=proxy.url) as scheduler:
        assert await scheduler.status_of(scheduler.get("/version")) == 401
    assert await api.get("/version")


@scenario
async def test_kubectl_works_through_a_kubeconfig_of_the_proxy(
    proxy: FaultProxy, api: Client, direct: Client, *, cluster: Cluster, namespace: str
) -> None:
    config = cluster.kubeconfig_of("admin", server=proxy.url)
    listed = await asyncio.to_thread(
        cluster.kubectl, "--kubeconfig", str(config), "get", "namespace", namespace
    )
    assert namespace in listed
    assert proxy.count("get", "namespaces") == 1


@in_a_loop
async def test_a_plain_proxy_uses_http(*, cluster: Cluster, namespace: str) -> None:
    async with FaultProxy(cluster, plain=True) as proxy:
        assert proxy.url.startswith("http:")
        async with cluster.client(server=proxy.url) as api:
            assert await names(api, namespace) == []
