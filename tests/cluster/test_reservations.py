"""The program in GPU reservation pods, as played by tests."""

from collections.abc import Awaitable, Callable
from typing import Any

from testcluster import Client, Cluster, Reservations, node, path_of, reservation
from testcluster.reservations import ANSWER, NAMESPACE

from fakes.scenarios import scenarios


async def play(cluster: Cluster, story: Callable[[Client, Reservations], Awaitable[None]]) -> None:
    async with cluster.client() as api, Reservations(api) as fake:
        await api.create(node("a", 2), node("b", 2))
        await api.ready_nodes(2)
        await story(api, fake)
        await api.delete(path_of("Pod", NAMESPACE), gracePeriodSeconds=0)


scenario = scenarios(play, "cluster")


async def answer(api: Client, name: str) -> str:
    """The GPU that a pod's annotation names."""

    async def answered() -> Any:
        pod = await api.get(path_of("Pod", NAMESPACE, name))
        return pod["metadata"].get("annotations", {}).get(ANSWER)

    return str(await api.until(f"{name} says which GPU it has", answered))


@scenario
async def test_reservation_pods_on_a_node_get_its_lowest_free_gpu(
    api: Client, fake: Reservations, *, namespace: str
) -> None:
    for name, at in (("one", "a"), ("two", "a"), ("three", "b")):
        await api.create(reservation(name, at, f"group-{name}"))
        await answer(api, name)
    assert fake.answers == {
        "group-one": "GPU-a-0",
        "group-two": "GPU-a-1",
        "group-three": "GPU-b-0",
    }
    first = path_of("Pod", NAMESPACE, "one")
    await api.delete(first, gracePeriodSeconds=0)
    await api.until("one is gone", api.is_gone(first))
    assert fake.held() == {"GPU-a-1", "GPU-b-0"}
    await api.create(reservation("four", "a", "group-four"))
    assert await answer(api, "four") == "GPU-a-0"


@scenario
async def test_some_reservations_are_slow_and_some_never_answer(
    api: Client, fake: Reservations, *, namespace: str
) -> None:
    fake.silent |= {"b", "mute"}
    fake.slow["late"] = 0.3
    await api.create(
        reservation("on-b", "b", "any"),
        reservation("mute", "a", "mute"),
        reservation("late", "a", "late"),
        reservation("soon", "a", "soon"),
    )
    assert await answer(api, "soon") == "GPU-a-0"
    assert await answer(api, "late") == "GPU-a-1"
    for name in ("on-b", "mute"):
        pod = await api.get(path_of("Pod", NAMESPACE, name))
        assert pod["status"]["phase"] == "Running"
    assert fake.answers.keys() == {"soon", "late"}


@scenario
async def test_earlier_answers_count(api: Client, fake: Reservations, *, namespace: str) -> None:
    await api.create(reservation("one", "a", "one"))
    await answer(api, "one")
    async with Reservations(api) as next_one:
        await api.until("it has seen the pod", lambda: is_true(next_one.held()))
        assert next_one.held() == {"GPU-a-0"}


async def is_true(value: object) -> bool:
    return bool(value)
