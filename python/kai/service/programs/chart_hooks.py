"""The steps of the Helm chart's hooks: what Helm itself cannot do, or not in time.

    await apply_definitions(client, "1.2.0", log)

Each step raises UnreachableError or RefusedError with the sentence that ends the Job.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from kai.api import keys, webhooks
from kai.api.reading import annotations_of, at, objects, text
from kai.api.resources import OURS, resource
from kai.api.times import SECOND_NS, to_ns
from kai.api.writes import Read
from kai.errors import KaiError, NotFoundError
from kai.install import definitions, manifests
from kai.service.log import Log

if TYPE_CHECKING:
    from kai.k8s.client import Client

ESTABLISHED_WITHIN_S = 30.0
_DEFINITION = resource("CustomResourceDefinition")


class Release(NamedTuple):
    """A Helm release."""

    name: str
    namespace: str

    def owns(self, manifest: Mapping[str, Any]) -> bool:
        annotations = annotations_of(manifest)
        names = [annotations.get(f"meta.helm.sh/release-{each}") for each in ("name", "namespace")]
        return names == [*self]


async def apply_definitions(client: Client, version: str, log: Log) -> None:
    """Applies our CustomResourceDefinitions, except over newer ones and over those of KAI that are
    not older (kai.install.definitions). Raises KaiError if one is not served within 30 s."""
    for each in manifests.crds():
        ours = definitions.with_version(each, version)
        name = ours["metadata"]["name"]
        found = await client.find(Read(_DEFINITION.kind, "", name))
        if found is not None and (why := definitions.why_it_stays(found, ours)):
            log.info("the definition stays as it is", name=name, why=why)
            continue
        await _apply(client, ours)
        log.info("applied the definition", name=name, version=version)
        await _until_served(client, name)


async def _apply(client: Client, definition: Mapping[str, Any]) -> None:
    answer = await client.request(
        "PATCH",
        _DEFINITION.path(name=definition["metadata"]["name"]),
        parameters={"fieldManager": keys.FIELD_MANAGER, "force": "true"},
        body=json.dumps(definition).encode(),
        content="application/apply-patch+yaml",
    )
    _check(client, *answer)


async def _until_served(client: Client, name: str) -> None:
    ends = client.clock.monotonic() + ESTABLISHED_WITHIN_S
    while not _is_established(await client.find(Read(_DEFINITION.kind, "", name))):
        if client.clock.monotonic() > ends:
            raise KaiError(
                f"CustomResourceDefinition {name} is not served after {ESTABLISHED_WITHIN_S:g} s: "
                f"kubectl describe customresourcedefinition {name} shows why"
            )
        await client.clock.sleep(0.2)


def _is_established(definition: Mapping[str, Any] | None) -> bool:
    conditions = objects(at(definition, "status", "conditions"))
    return any(
        each.get("type") == "Established" and each.get("status") == "True" for each in conditions
    )


async def remove_registrations(client: Client, release: Release, log: Log) -> None:
    """Deletes the registrations of webhooks that belong to the release.

    Helm deletes registrations after their program; until then the API server would refuse all
    objects that they cover.
    """
    for name, kind in webhooks.CONFIGURATIONS.items():
        found = await client.find(Read(kind, "", name))
        if found is None or not release.owns(found):
            continue
        status, body = await client.request("DELETE", resource(kind).path(name=name))
        if status != 404:
            _check(client, status, body)
        log.info("deleted the registration", kind=kind, name=name)


async def check_release(client: Client, namespace: str, log: Log) -> None:
    """Raises NotFoundError if a kind is not served, or if no program of the namespace leads."""
    for each in OURS:
        if await client.discovery.find(each.kind, each.api_version) is None:
            raise NotFoundError(
                f"the cluster does not serve {each.plural}.{each.group}: install the definitions "
                "with helm upgrade, or with kai install --crds-only | kubectl apply --server-side "
                "-f -"
            )
    leases, now = await client.find(Read("Lease", namespace)), client.server_time()
    held = [each for each in objects(leases) if _is_held(each, now)]
    if not held:
        raise NotFoundError(
            f"no program in namespace {namespace} holds a lease: kubectl get pods -n {namespace} "
            "shows whether they run"
        )
    for lease in held:
        log.info("a program leads", lease=lease["metadata"]["name"], holder=_holder(lease))


def _holder(lease: Mapping[str, Any]) -> str:
    return text(at(lease, "spec", "holderIdentity"))


def _is_held(lease: Mapping[str, Any], now: float) -> bool:
    """Whether a program holds the lease and renews it."""
    renewed, seconds = (at(lease, "spec", each) for each in ("renewTime", "leaseDurationSeconds"))
    if not _holder(lease) or not isinstance(renewed, str) or not isinstance(seconds, int):
        return False
    return now - to_ns(renewed) / SECOND_NS < 2 * seconds


def _check(client: Client, status: int, body: bytes) -> None:
    if status >= 300:
        raise client.refused(status, body)
