"""Finds the resources that an API server serves, for kinds and versions outside the table.

discovery = Discovery(fetch, clock)
await discovery.find("Widget", "example.test/v1")   # Resource, or None
await discovery.served("ResourceClaim")             # at the version that this server has
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from kai.api.resources import RESOURCES, Resource
from kai.k8s.clock import Clock

Fetch = Callable[[str], Awaitable[tuple[int, bytes]]]
REREAD_S = 60.0  # definitions are added and removed


class Discovery:
    """Answers of /apis, cached for a minute. `fetch` raises the errors of reading an API server."""

    def __init__(self, fetch: Fetch, clock: Clock) -> None:
        self._fetch, self._clock = fetch, clock
        self._kept: dict[str, tuple[float, Any]] = {}

    async def find(self, kind: str, api_version: str) -> Resource | None:
        """The resource of a kind at one version; None if the server does not have it."""
        group, _, version = api_version.rpartition("/")
        listed = await self._read(f"/apis/{api_version}" if group else f"/api/{api_version}")
        for each in (listed or {}).get("resources") or ():
            if each.get("kind") == kind and "/" not in each.get("name", "/"):
                return Resource(kind, group, version, each["name"], bool(each.get("namespaced")))
        return None

    async def served(self, kind: str, group: str | None = None) -> Resource | None:
        """The resource of a kind at our table's version, if the server has it, otherwise at the
        server's preferred version; None if the kind is not served.

        `group`: for kinds outside our table; None: any group with this kind.
        """
        row = RESOURCES.get(kind)
        if row is not None and group in (None, row.group):
            for version in await self._versions(row.group, row.version):
                found = await self.find(kind, replace(row, version=version).api_version)
                if found is not None:
                    return found
            return None
        groups = [group] if group is not None else ["", *await self._groups()]
        for each in groups:
            for version in await self._versions(each, ""):
                found = await self.find(kind, f"{each}/{version}" if each else version)
                if found is not None:
                    return found
        return None

    async def _groups(self) -> list[str]:
        listed = await self._read("/apis")
        return [each["name"] for each in (listed or {}).get("groups") or ()]

    async def _versions(self, group: str, first: str) -> list[str]:
        """The versions of a group, best first."""
        if not group:
            return ["v1"]
        listed = await self._read(f"/apis/{group}") or {}
        versions = [each["version"] for each in listed.get("versions") or ()]
        preferred = (listed.get("preferredVersion") or {}).get("version", "")
        return sorted(versions, key=lambda each: (each != first, each != preferred))

    async def _read(self, path: str) -> Any:
        now = self._clock.monotonic()
        kept = self._kept.get(path)
        if kept is None or now - kept[0] > REREAD_S:
            status, body = await self._fetch(path)
            value = json.loads(body) if status == 200 else None
            kept = self._kept[path] = (now, value)
        return kept[1]
