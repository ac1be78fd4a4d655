"""Recordings of KAI's control plane, played again: `kai run` must end with the same objects,
conditions and events, except for the differences in replay_tables."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from recordings import Recording, recordings
from replay_tables import ACCEPTED, DIRECT, FAST, RULES, Accepted, unexplained, why_not
from testcluster import Cluster, Kai, Options, install, temporary_cluster, until
from testcluster.compared import differences, end_of, interchangeable
from testcluster.replays import Script, Stage, definitions, runtime_classes
from testcluster.scene import wrong_lines

MODES = ("bind-requests", "direct")
ROLES = ("scheduler", "pod-grouper", "pod-group-controller", "queue-controller")
RESERVATIONS = ("--resource-reservation-pod-image", "kai/resourcereservation:0")
LONGEST_S = 280
MORE_CHANGES = 1
"""The number of further changes, compared with KAI, that are due to chance."""


class Processes:
    """`kai run` in one process, or with the binder in a separate one, as a recording needs."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster, self._folder = cluster, folder
        self._stack, self._started = ExitStack(), ("", False)
        self._binder: Kai | None = None
        self._kais: list[Kai] = []

    def ensure_started(self, binding: str, *, apart: bool) -> None:
        """Starts what is missing, and waits until it is ready."""
        if self._started == (binding, apart):
            return
        self.end()
        for roles in (ROLES, ("binder",)) if apart else (("all",),):
            log = self._folder / f"{binding}-{apart}-{roles[0]}.log"
            log.unlink(missing_ok=True)
            options = ("--binding", binding, "--no-leader-elect", *RESERVATIONS)
            kai = self._stack.enter_context(Kai(self.cluster, "kai", log, *options, roles=roles))
            self._binder = kai if roles == ("binder",) else None
            self._kais.append(kai)
        for kai in self._kais:
            until("kai is ready", partial(is_ready, kai))
        self._started = (binding, apart)

    def hold(self) -> None:
        if self._binder is not None and self._binder.process is not None:
            self._binder.process.freeze()

    def release(self) -> None:
        if self._binder is not None and self._binder.process is not None:
            self._binder.process.thaw()

    def wrong_lines(self) -> list[str]:
        return [line for kai in self._kais for line in wrong_lines(kai.log)]

    def end(self) -> None:
        self._started = ("", False)
        self._stack.close()
        self._kais.clear()


def is_ready(kai: Kai) -> bool:
    return "kai: ready" in kai.log


@pytest.fixture(scope="module")
def processes(
    programs: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Processes]:
    with temporary_cluster(Options(), programs) as cluster:
        install(cluster)
        asyncio.run(prepare(cluster))
        # Its garbage collector discovers new kinds every 30 s, and when it starts.
        cluster.restart("kube-controller-manager")
        made = Processes(cluster, tmp_path_factory.mktemp("replays"))
        yield made
        made.end()


async def prepare(cluster: Cluster) -> None:
    manifests = [each for recording in recordings() for each in recording.content["manifests"]]
    async with cluster.client() as api:
        await api.create(*definitions(manifests))
        await api.create(*runtime_classes(each.content for each in recordings()))
        await api.create_namespace("kai")


def replay(
    processes: Processes, recording: Recording, binding: str
) -> tuple[list[str], set[Accepted], Counter[str]]:
    """Unexpected differences, the allowed ones that occurred, and how often objects changed."""
    apart = binding != "direct" and Script(recording.content).needs_a_binder_apart
    processes.ensure_started(binding, apart=apart)
    accepted = [*RULES, *ACCEPTED, *(DIRECT if binding == "direct" else ())]
    kais, alike = end_of(recording.content), interchangeable(recording.content)

    def rest(state: Mapping[str, Any]) -> tuple[list[str], set[Accepted]]:
        found = differences(state, kais, alike)
        others, used = unexplained(recording.name, found, accepted)
        return [str(each) for each in others], used

    async def scene() -> tuple[list[str], set[Accepted], Counter[str]]:
        async with processes.cluster.client() as api:
            stage = Stage(api, processes.hold, processes.release)
            playing = stage.play(recording.content, lambda state: not rest(state)[0])
            return *rest(await asyncio.wait_for(playing, LONGEST_S)), stage.changes

    return asyncio.run(scene())


def chosen() -> Iterator[Any]:
    """Recordings that use the same processes are neighbours."""
    for binding in MODES:
        for recording in sorted(recordings(), key=lambda each: is_apart(each, binding)):
            name = recording.name
            why = why_not(recording.content, binding)
            marks = [pytest.mark.skip(reason=why)] if why else []
            if name not in FAST or (binding == "direct" and name != FAST[0]):
                marks.append(pytest.mark.cluster_slow)
            yield pytest.param(recording, binding, id=f"{name}-{binding}", marks=marks)


def is_apart(recording: Recording, binding: str) -> bool:
    return binding != "direct" and Script(recording.content).needs_a_binder_apart


used = Counter[Accepted]()
played = set[tuple[str, str]]()


@pytest.mark.parametrize(("recording", "binding"), list(chosen()))
def test_a_replay_ends_as_with_kai(
    processes: Processes, recording: Recording, binding: str
) -> None:
    found, accepted, changes = replay(processes, recording, binding)
    used.update(accepted)
    played.add((recording.name, binding))
    assert not found, "\n".join(found)
    assert processes.wrong_lines() == []
    kais = Counter(e["kind"] for e in recording.timeline if e.get("event") == "MODIFIED")
    for kind in ("PodGroup", "Queue"):
        assert changes[kind] <= kais[kind] + MORE_CHANGES, kind


@pytest.mark.cluster_slow
def test_each_accepted_difference_occurs() -> None:
    """Allowed differences of one recording that its replay does not need must be removed; runs
    after all replays."""
    everything = {
        (each.name, "bind-requests")
        for each in recordings()
        if not why_not(each.content, "bind-requests")
    }
    if everything <= played:
        assert [f"{each.recordings}: {each.why}" for each in ACCEPTED if not used[each]] == []
