"""The Secret and the registrations of the webhooks, kept by several replicas."""

import base64
import ssl
from collections.abc import Awaitable, Callable
from io import StringIO
from typing import Any

import pytest

pytest.importorskip("cryptography")

from kept_objects import KeptObjects

from fakes.clock import QuickClock
from fakes.http_server import FakeApi
from fakes.scenarios import in_a_loop, scenarios
from kai.api.webhooks import WEBHOOKS
from kai.api.writes import Write
from kai.controllers.admission.rotation import SETTLE_S
from kai.service.admission.keeping import Keeping
from kai.service.admission.options import AdmissionOptions
from kai.service.admission.pems import ServerPems
from kai.service.log import Log

DAY = 86400.0
COMPLETE = "the certificate and the registrations are complete"


class Replicas:
    """`made[0].look()` is a turn of the first one; all share a clock."""

    def __init__(self, api: FakeApi, number: int = 2, **more: Any) -> None:
        self.clock, self.log = QuickClock(), StringIO()
        self.kept = KeptObjects(api)
        options = AdmissionOptions(lifetime_s=30 * DAY, **more)
        pems = ServerPems(options.host, self.clock.wall, 30 * DAY)
        self.clients = [api.client(self.clock) for _ in range(number)]
        self.made = [
            Keeping(each, options, context(), pems, Log(stream=self.log)) for each in self.clients
        ]

    async def all_look(self, after: float = 0.0) -> None:
        self.clock.now += after
        for each in self.made:
            await each.look()


def context() -> ssl.SSLContext:
    return ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)


async def story(work: Callable[[Replicas], Awaitable[None]], **more: Any) -> None:
    async with FakeApi() as api:
        replicas = Replicas(api, **more)
        try:
            await work(replicas)
        finally:
            for each in replicas.clients:
                await each.close()


scenario = scenarios(story)


@scenario
async def test_the_first_replica_makes_a_pair_and_the_others_use_it(replicas: Replicas) -> None:
    replicas.kept.register()
    assert replicas.made[0].why_unready() != ""
    await replicas.all_look()
    assert replicas.log.getvalue().count(COMPLETE) == 2
    assert [each.why_unready() for each in replicas.made] == ["", ""]
    assert replicas.made[0].ends == replicas.made[1].ends > 0
    (bundle,) = replicas.kept.bundles
    assert bundle.startswith(b"-----BEGIN CERTIFICATE-----")
    assert replicas.kept.policies == {"Fail"}
    writes = list(replicas.kept.writes)
    await replicas.all_look(after=DAY)
    assert replicas.kept.writes == writes


@scenario
async def test_two_replicas_that_start_at_once_agree(replicas: Replicas) -> None:
    replicas.kept.register()
    first, second = replicas.made

    def meanwhile(write: Write) -> None:
        replicas.kept.fault = lambda write: None
        metadata = {"name": write.name, "namespace": write.namespace}
        replicas.kept.put({"kind": "Secret", "metadata": metadata, "data": {}})

    replicas.kept.fault = meanwhile
    await first.look()
    await second.look()
    assert first.ends == second.ends > 0
    patches = [each for each in replicas.kept.writes if each.verb == "patch"]
    assert len([each for each in patches if each.kind == "Secret"]) == 1


@scenario
async def test_a_registration_that_comes_later_or_is_reset_is_completed(replicas: Replicas) -> None:
    for _ in range(2):
        await replicas.all_look()
    assert replicas.log.getvalue().count("no registration calls the webhooks") == 2  # replicas
    assert COMPLETE not in replicas.log.getvalue()
    replicas.kept.register()
    await replicas.all_look()
    assert replicas.log.getvalue().count(COMPLETE) == 2
    (bundle,) = replicas.kept.bundles
    replicas.kept.register()  # an upgrade of the chart
    assert replicas.kept.policies == {"Ignore"}
    await replicas.all_look()
    assert replicas.kept.bundles == {bundle}
    assert replicas.kept.policies == {"Fail"}


@scenario(number=1, service="nope")
async def test_registrations_that_call_another_service_are_named(replicas: Replicas) -> None:
    replicas.kept.register()
    for _ in range(2):
        await replicas.all_look()
    log = replicas.log.getvalue()
    assert log.count("no registration calls this program") == 1
    assert "kai-scheduler/nope" in log
    assert "kai-scheduler/admission" in log
    assert COMPLETE not in log
    assert replicas.made[0].why_unready() == ""
    assert replicas.kept.policies == {"Ignore"}


@scenario
async def test_a_rotation_keeps_the_used_certificate_trusted(replicas: Replicas) -> None:
    kept = replicas.kept
    kept.register()
    await replicas.all_look()
    ends = replicas.made[0].ends
    for _ in range(6):
        await replicas.all_look(after=SETTLE_S)
    assert replicas.made[0].ends == ends
    await replicas.all_look(after=21 * DAY)
    (both,) = kept.bundles
    assert both.count(b"BEGIN CERTIFICATE") == 2
    for _ in range(4):
        await replicas.all_look(after=SETTLE_S)
    assert replicas.made[0].ends == replicas.made[1].ends > ends
    (alone,) = kept.bundles
    assert alone.count(b"BEGIN CERTIFICATE") == 1
    assert alone.strip() in both


@in_a_loop
async def test_a_secret_that_may_not_be_read_is_named_once_and_a_later_turn_succeeds() -> None:
    async with FakeApi() as api:
        replicas = Replicas(api, 1)
        replicas.kept.register()
        api.forbidden.add("get Secret")
        await replicas.all_look()
        await replicas.all_look()
        assert "secrets is forbidden" in replicas.made[0].why_unready()
        lines = replicas.log.getvalue().splitlines()
        assert [line for line in lines if "forbidden" in line] == lines[:1]
        api.forbidden.clear()
        await replicas.all_look()
        assert replicas.made[0].why_unready() == ""
        await replicas.clients[0].close()


@scenario
async def test_the_secret_has_no_key_of_an_authority(replicas: Replicas) -> None:
    await replicas.all_look()
    [secret] = replicas.kept.list("Secret")
    data = secret["data"]
    assert set(data) == {"tls.crt", "tls.key", "ca.crt", "since"}
    keys = [each for each in data.values() if b"PRIVATE" in base64.b64decode(each)]
    assert len(keys) == 1


# ---- outside the cluster -------------------------------------------------------------------------

OURS = "https://192.0.2.7:9443"
TRIAL = {"number": 1, "url": OURS, "policies": {each.kind: "Ignore" for each in WEBHOOKS}}


@scenario(**TRIAL)
async def test_with_a_url_it_makes_the_registrations_and_removes_them(replicas: Replicas) -> None:
    (only,), kept = replicas.made, replicas.kept
    await only.look()
    assert only.why_unready() == ""
    assert sorted(each["url"] for each in kept.calls) == sorted(
        f"{OURS}{each.path}" for each in WEBHOOKS
    )
    (bundle,) = kept.bundles
    assert bundle.startswith(b"-----BEGIN CERTIFICATE-----")
    assert kept.policies == {"Ignore"}
    assert kept.list("Secret") == []  # it may be KAI's
    writes = list(kept.writes)
    await replicas.all_look(after=DAY)
    assert kept.writes == writes
    await only.end()
    assert [*kept.all()] == []


@scenario(**TRIAL)
async def test_the_registrations_of_a_process_that_was_killed_are_taken_over(
    replicas: Replicas,
) -> None:
    (only,), kept = replicas.made, replicas.kept
    kept.register(url="https://192.0.2.1:1")
    await only.look()
    assert {each["url"].rpartition("/")[0] for each in kept.calls} == {OURS}
    assert len(kept.bundles) == 1
    kept.register(url="https://192.0.2.1:1")  # a third one has taken them over
    await only.end()
    assert len([*kept.all()]) == 4


@scenario(**TRIAL)
async def test_installed_webhooks_are_left_alone_and_named(replicas: Replicas) -> None:
    (only,), kept = replicas.made, replicas.kept
    kept.register()
    await only.look()
    await only.end()
    assert kept.writes == []
    why = "calls the Service kai-scheduler/admission: webhooks are installed already"
    assert replicas.log.getvalue().count(why) == 1
