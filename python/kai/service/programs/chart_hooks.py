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
from kai.api.writes import Read
from kai.errors import KaiError, NotFoundError
from kai.install import definitions, manifests
from kai.service.log import Log
from kai.service.options import Options

if TYPE_CHECKING:
    from kai.k8s.client import Client
    from kai.service.admission import AdmissionOptions

ESTABLISHED_WITHIN_S = 30.0
RUNS_WITHIN_S = 30.0
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


async def check_release(
    client: Client,
    namespace: str,
    programs: Mapping[str, Options | AdmissionOptions],
    log: Log,
) -> None:
    """Raises NotFoundError if a kind is not served, and if a program does not run, or its leases
    are not renewed, within 30 s and two lease durations. `programs`: by Deployment."""
    for each in OURS:
        if await client.discovery.find(each.kind, each.api_version) is None:
            raise NotFoundError(
                f"the cluster does not serve {each.plural}.{each.group}: install the definitions "
                "with helm upgrade, or with kai install --crds-only | kubectl apply --server-side "
                "-f -"
            )
    checked = [_Program(client, namespace, *each) for each in programs.items()]
    longest_s = max((each.lease_seconds for each in checked), default=0.0)
    ends = client.clock.monotonic() + RUNS_WITHIN_S + 2 * longest_s
    while whys := [why for each in checked if (why := await each.why_unwell())]:
        if client.clock.monotonic() > ends:
            raise NotFoundError(whys[0])
        await client.clock.sleep(2.0)
    for program in checked:
        log.info("the program runs", deployment=program.name, leases=",".join(program.leases))


class _Program:
    """A Deployment and the leases of its roles. The webhooks have none."""

    def __init__(
        self, client: Client, namespace: str, name: str, options: Options | AdmissionOptions
    ) -> None:
        self._client, self._namespace, self.name = client, namespace, name
        self.leases: tuple[str, ...] = ()
        self.lease_seconds = 0.0
        if isinstance(options, Options) and options.leader_elect and not options.shadow:
            options = options.with_config()
            self.leases, self.lease_seconds = options.leases(), options.lease_seconds
        self._first: dict[str, str] = {}  # when a lease was renewed as it was first read

    async def why_unwell(self) -> str:
        """Nothing if all replicas run, and all leases have been renewed since the first call."""
        found = await self._client.find(Read("Deployment", self._namespace, self.name))
        where = f"in namespace {self._namespace}"
        whys = []
        if why := why_incomplete(found):
            whys.append(f"Deployment {self.name} {where} {why}")
        for lease in self.leases:
            if not await self._is_renewed(lease):
                whys.append(f"Deployment {self.name} {where} does not renew the lease {lease}")
        if not whys:
            return ""
        return f"{whys[0]}: kubectl logs deployment/{self.name} -n {self._namespace} may show why"

    async def _is_renewed(self, lease: str) -> bool:
        """A holder that is gone renews nothing, and clocks may differ: so only changes count."""
        found = await self._client.find(Read("Lease", self._namespace, lease))
        holder, renewed = (text(at(found, "spec", e)) for e in ("holderIdentity", "renewTime"))
        first = self._first.setdefault(lease, renewed)
        return bool(holder) and renewed != first


def why_incomplete(deployment: Mapping[str, Any] | None) -> str:
    """Why not all replicas of a Deployment run with its current template; "": they do."""
    if deployment is None:
        return "does not exist"
    wanted = at(deployment, "spec", "replicas")
    if not wanted:
        return "has no replicas"
    status = at(deployment, "status") or {}
    seen = status.get("observedGeneration", 0) >= deployment["metadata"].get("generation", 0)
    updated, available, all_pods = (
        status.get(each, 0) for each in ("updatedReplicas", "availableReplicas", "replicas")
    )
    if seen and updated == available == all_pods == wanted:
        return ""
    counts = f"{updated} replicas of its current version and {available} available ones"
    return f"has {counts}, not {wanted}"


def _check(client: Client, status: int, body: bytes) -> None:
    if status >= 300:
        raise client.refused(status, body)
