"""Programs that only read need the rights for the kinds without which no plan is possible. Other
kinds that may not be read, or that the cluster lacks, cost a note."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

import kai
from fakes.cluster import FakeCluster
from fakes.objects import pod, small
from kai.cli import main
from kai.controllers.planning.kinds import NECESSARY, OPTIONAL, WATCHED
from kai.live import view

OTHERS = [kind for kind in WATCHED if kind not in NECESSARY]
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(cluster: FakeCluster, capfd: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: object) -> tuple[int, str, str]:
        where = ("--kubeconfig", cluster.kubeconfig)
        status = main([str(argument) for argument in (*arguments, *where)])
        return (status, *capfd.readouterr())

    return run


def with_a_claim(name: str) -> dict[str, Any]:
    made = pod(name)
    made["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    return made


@pytest.mark.parametrize("kind", OTHERS)
def test_a_kind_that_may_not_be_listed_costs_a_note(
    cluster: FakeCluster, run: Run, kind: str
) -> None:
    cluster.put(*small())
    cluster.api.forbidden = {f"list {kind}"}
    status, out, err = run("plan", "--live", "--json")
    assert status == 0
    assert [each["node"] for each in json.loads(out)["decisions"]] == ["n1"]
    assert err.startswith("kai: user ann may not list ")
    assert "plans are made as if there were none" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("kind", sorted(OPTIONAL))
def test_a_kind_that_the_cluster_lacks_costs_nothing(
    cluster: FakeCluster, run: Run, kind: str
) -> None:
    cluster.put(*small())
    cluster.api.lacks = {kind}
    status, out, err = run("plan", "--live", "--json")
    assert (status, err) == (0, "")
    assert json.loads(out)["decisions"]


@pytest.mark.parametrize("kind", sorted(NECESSARY))
def test_a_necessary_kind_is_named(cluster: FakeCluster, run: Run, kind: str) -> None:
    cluster.put(*small())
    cluster.api.forbidden = {f"list {each}" for each in (kind, *OTHERS)}
    status, out, err = run("plan", "--live")
    assert (status, out) == (2, "")
    assert "user ann may not list " in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("verb", ["list", "watch"])
def test_a_connection_does_without_all_other_kinds(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    monkeypatch.setattr(view, "PATIENCE_S", 1.0)
    cluster.put(*small())
    cluster.api.forbidden = {f"{verb} {kind}" for kind in OTHERS}
    with kai.connect(kubeconfig=cluster.kubeconfig) as live:
        assert [each.pod for each in live.plan().decisions] == ["team/p1"]
        [note] = live.plan().warnings
        assert note.startswith(f"user ann may not {verb} ")
        cluster.put(pod("p2"))
        live.refresh()
        assert len(live.plan().decisions) == 2


def test_config_maps_that_may_not_be_read_count_as_existing(cluster: FakeCluster, run: Run) -> None:
    needs = pod("needs")
    container = needs["spec"]["containers"][0]
    container["envFrom"] = [{"configMapRef": {"name": "settings"}}]
    cluster.put(*small(), needs)
    _, out, _ = run("explain", "team/needs", "--json")
    assert json.loads(out)["waits_for"] == "config_map"
    cluster.api.forbidden = {"list ConfigMap"}
    _, out, _ = run("explain", "team/needs", "--json")
    assert json.loads(out)["waits_for"] == "scheduler"
    _, out, _ = run("plan", "--live", "--json")
    assert {each["pod"] for each in json.loads(out)["decisions"]} == {"team/p1", "team/needs"}


def test_an_explanation_that_needs_an_unread_kind_says_so(cluster: FakeCluster, run: Run) -> None:
    cluster.put(*small(), with_a_claim("needs"))
    status, out, _ = run("explain", "team/needs", "--json")
    assert json.loads(out)["waits_for"] == "volume"
    cluster.api.forbidden = {"list PersistentVolumeClaim", "list ResourceSlice"}
    status, out, _ = run("explain", "team/needs", "--json")
    found = json.loads(out)
    assert (status, found["waits_for"]) == (0, "volume")
    assert found["explanation"].startswith(
        "kai cannot tell whether it waits for its volumes, because this user may not list them"
    )
    assert found["notes"] == [
        "user ann may not list persistentvolumeclaims, resourceslices: plans are made as if there"
        " were none"
    ]
    _, page, _ = run("explain", "team/p1")
    assert "It waits" in page or "kai would bind it to n1 now" in page
    assert "Note: user ann may not list persistentvolumeclaims" in " ".join(page.split())


def test_a_snapshot_does_not_say_that_unread_config_maps_are_missing(
    cluster: FakeCluster, run: Run, tmp_path: Any
) -> None:
    needs = pod("needs")
    needs["spec"]["containers"][0]["envFrom"] = [{"configMapRef": {"name": "settings"}}]
    cluster.put(*small(), needs)
    cluster.api.forbidden = {"list ConfigMap"}
    out = tmp_path / "s.zip"
    status, _, err = run("snapshot", "--out", out)
    assert (status, err.startswith("kai: user ann may not list configmaps")) == (0, True)
    plan = kai.Scheduler().plan(kai.load(out))
    assert {each.pod for each in plan.decisions} == {"team/p1", "team/needs"}


def test_a_shadow_does_without_other_kinds(cluster: FakeCluster) -> None:
    import io

    from kai.k8s.client import Client
    from kai.service.log import Log
    from kai.service.options import Options
    from kai.service.shadow import Shadow

    cluster.put(*small())
    cluster.api.forbidden = {"list ResourceClaim", "list Topology"}
    stream = io.StringIO()

    async def scene() -> str:
        async with await Client.connect(cluster.kubeconfig) as client:
            shadow = Shadow(client, Options(roles=("scheduler",), shadow=True), Log(stream=stream))
            stop = asyncio.Event()
            running = asyncio.ensure_future(shadow.run(stop))
            for _ in range(200):
                await asyncio.sleep(0.05)
                if not shadow.why_unready():
                    break
            why = shadow.why_unready()
            stop.set()
            await running
            return why

    assert asyncio.run(scene()) == ""
    assert "warning kai: some kinds are left out why=" in stream.getvalue()
    assert "resourceclaims, topologies" in stream.getvalue()
