"""A role of `kai run` with its own service account, from which a test takes rights.

async with Account(cluster, namespace, "scheduler", tmp_path) as it:
    async with it.without(("create", "pods/binding", "")):
        ...                       # use the right: one sentence in the log must follow
    await it.recovers()
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from testcluster import SHORT_LEASE, Cluster, FaultProxy, Kai, Match, Object, path_of

from kai.api import keys
from kai.install import access
from kai.install.access import Rule

Right = tuple[str, str, str]
"""Verb, resource and API group."""
MISSING = re.compile(r" warning kai: may not (\S+) (\S+)(?: group=(\S+))?(?: namespace=\S+)? user=")
BACK = re.compile(r" info kai: may (\S+) (\S+) again(?: group=(\S+))?$", re.MULTILINE)
LISTS = Match("GET", query="sendInitialEvents")
"""Answered with 400, so that the process lists and watches as with an older server."""


def rights_of(rules: Iterable[Rule]) -> set[Right]:
    return {(verb, rule.resource, rule.group) for rule in rules for verb in rule.verbs}


def found(pattern: re.Pattern[str], log: str) -> Counter[Right]:
    """The rights that the lines of a log name."""
    return Counter((each[1], each[2], each[3] or "") for each in pattern.finditer(log))


def _key(made: Object) -> tuple[str, str]:
    return made["kind"], made["metadata"].get("namespace", "")


class Account:
    """It has the required rights; `scheduler_name`: keeps its pods separate from others."""

    def __init__(
        self,
        cluster: Cluster,
        namespace: str,
        role: str,
        folder: Path,
        *arguments: str,
        name: str = "",
    ) -> None:
        self.role, self.name = role, name or f"kai-{role}"
        self.namespace, self.scheduler_name = namespace, self.name
        self.rules = access.USED[role]
        self.taken: set[Right] = set()
        self.tested: set[Right] = set()
        self._cluster, self._folder = cluster, folder
        self._arguments = ("--scheduler-name", self.scheduler_name, *SHORT_LEASE, *arguments)
        self._seen = 0  # of the log, before the last rights were taken away

    async def __aenter__(self) -> Account:
        self.proxy = await FaultProxy(self._cluster).__aenter__()
        self.api = await self._cluster.client().__aenter__()
        await self.api.status_of(self.api.create_namespace(keys.RESERVATION))  # 409: it exists
        for each in access.objects(self.role, self.name, self.namespace, self.rules):
            await self.api.create(each)
        token = await self.api.service_account_token(self.namespace, self.name)
        config = self._cluster.kubeconfig_of(token=token, server=self.proxy.url)
        self.kai = Kai(
            self._cluster,
            self.namespace,
            self._folder / f"{self.name}.log",
            *self._arguments,
            roles=(self.role,),
            kubeconfig=config,
        )
        self.kai.start()
        await self.until("it leads", lambda: ": leading " in self.kai.log)
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        status = await asyncio.to_thread(self.kai.stop)
        made = access.objects(self.role, self.name, self.namespace, self.rules)
        for each in made:
            metadata = each["metadata"]
            if metadata.get("namespace", "") != self.namespace:
                where = metadata.get("namespace", ""), metadata["name"]
                await self.api.delete(path_of(each["kind"], *where))
        await self.api.__aexit__(None, None, None)
        await self.proxy.__aexit__(None, None, None)
        assert kind is not None or status == 0, self.kai.log
        assert kind is not None or found(MISSING, self.kai.log).keys() <= self.tested, self.kai.log

    async def until(self, what: str, is_so: object, seconds: float = 25) -> None:
        ends = asyncio.get_running_loop().time() + seconds
        while not is_so():  # type: ignore[operator]
            if asyncio.get_running_loop().time() > ends or not self.kai.is_running():
                raise AssertionError(f"{self.name}: {what}\n{self.kai.log}")
            await asyncio.sleep(0.05)

    # ---- rights ----------------------------------------------------------------------------------

    @asynccontextmanager
    async def without(self, *rights: Right) -> AsyncIterator[None]:
        """Inside, these rights are missing; at the end, each must have been logged once."""
        self.taken, self._seen = set(rights), len(self.kai.log)
        self.tested |= self.taken
        await self._grant(rights_of(self.rules) - self.taken)
        for right in rights:
            await self.api.until(f"{right} is gone", lambda right=right: self._lacks(right))
        yield
        await self.logs_missing_rights()
        await self._grant(rights_of(self.rules))

    async def logs_missing_rights(self) -> None:
        def logged() -> Counter[Right]:
            return found(MISSING, self.kai.log[self._seen :])

        await self.until(f"complains about {self.taken}", lambda: logged().keys() >= self.taken)
        assert logged() == Counter(self.taken), self.kai.log
        # No other message: no text of the server besides it.
        assert not re.search(r" cannot \w+ resource ", self.kai.log[self._seen :]), self.kai.log

    async def recovers(self, *but: Right) -> None:
        """All rights that were ever taken are used again."""
        wanted = self.tested - {*but}
        await self.until("recovers", lambda: found(BACK, self.kai.log).keys() >= wanted, 60)

    async def _grant(self, rights: set[Right]) -> None:
        kept = (
            replace(rule, verbs=(verb,))
            for rule in self.rules
            for verb in rule.verbs
            if (verb, rule.resource, rule.group) in rights
        )
        left = {_key(each): each for each in self._roles(list(kept))}
        for each in self._roles(self.rules):
            metadata = each["metadata"]
            where = path_of(each["kind"], metadata.get("namespace", ""), metadata["name"])
            await self.api.request("PUT", where, left.get(_key(each), {**each, "rules": []}))

    def _roles(self, rules: Iterable[Rule]) -> list[Object]:
        made = access.objects(self.role, self.name, self.namespace, list(rules))
        return [each for each in made if "rules" in each]

    async def _lacks(self, right: Right) -> bool:
        places = {
            keys.RESERVATION if rule.reserving else self.namespace
            for rule in self.rules
            if right in rights_of([rule])
        }
        account = f"{self.namespace}:{self.name}"
        return not any([await self.api.may(account, *right, where) for where in sorted(places)])

    # ---- what takes them -------------------------------------------------------------------------

    async def reads(self) -> None:
        """Uses all lists and watches, and the lease."""
        kinds = {(each.resource, each.group) for each in self.rules if "list" in each.verbs}
        self.proxy.answer(LISTS, 400)
        async with self.without(*(("watch", *kind) for kind in kinds)):
            self.proxy.cut_open()
        await self.until("watches", lambda: self._is_back("watch", len(kinds)))
        async with self.without(*(("list", *kind) for kind in kinds)):
            self.proxy.expire(times=len(kinds))
            self.proxy.cut_open()
        lease = ("leases", "coordination.k8s.io")
        async with self.without(("get", *lease), ("update", *lease)):
            pass
        await self.until("leads again", lambda: self._is_back("update", 1))
        async with self.without(("create", *lease)):
            await self._delete_lease()

    def _is_back(self, verb: str, count: int) -> bool:
        return sum(right[0] == verb for right in found(BACK, self.kai.log)) >= count

    async def _delete_lease(self) -> None:
        path = path_of("Lease", self.namespace)
        for each in await self.api.items(path):
            holder = each["spec"].get("holderIdentity", "")
            if holder and each["metadata"]["name"] in self.kai.log:
                await self.api.delete(f"{path}/{each['metadata']['name']}")
