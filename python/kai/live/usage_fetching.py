"""Fetches the past usage of queues from Prometheus.

usage = UsageReading(db, clock)
rows = await usage.read(now_s)       # None: the last one is still valid
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from kai.engine.usage import Rows
from kai.errors import InvalidInputError
from kai.live.usage_db import UsageDb, usage_from, vector_of

if TYPE_CHECKING:
    import aiohttp

    from kai.k8s.clock import Clock

LARGEST = 64 * 2**20
"""Most bytes of an answer: 200 for each of 300,000 queues."""
LOCAL = ("localhost", "127.0.0.1", "::1")


async def fetch(db: UsageDb, session: aiohttp.ClientSession, now_s: float) -> Rows:
    """Sends all queries at once, within one time limit. Raises InvalidInputError with the cause."""
    import aiohttp

    if not db.address:
        raise InvalidInputError("the connection string is empty")
    queries = db.queries(now_s)

    async def query_one(query: str) -> bytes:
        url = f"{db.address}/api/v1/query"
        form = {"query": query, "time": repr(now_s), "timeout": f"{max(1, round(db.timeout))}s"}
        async with session.post(url, data=form) as response:
            body = await response.content.read(LARGEST + 1)
            while not response.content.at_eof() and len(body) <= LARGEST:
                body += await response.content.read(LARGEST + 1 - len(body))
            if len(body) > LARGEST:
                raise InvalidInputError(f"the answer to {query} is larger than {LARGEST:,} bytes")
            if response.status != 200 and b'"errorType"' not in body:
                raise InvalidInputError(f"{query}: HTTP status {response.status}")
            return body

    requests = [asyncio.ensure_future(query_one(query)) for query in queries.values()]
    try:
        bodies = await asyncio.wait_for(asyncio.gather(*requests), db.timeout)
    except asyncio.TimeoutError:
        raise InvalidInputError(f"no answer within {db.timeout:g} s") from None
    except (aiohttp.ClientError, OSError, ValueError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(f"{type(error).__name__}: {error}") from None
    finally:
        for each in requests:  # the others, after one has failed
            each.cancel()
    answers = {}
    for (key, query), body in zip(queries.items(), bodies, strict=True):
        try:
            answers[key] = vector_of(body)
        except InvalidInputError as error:
            raise InvalidInputError(f"{query}: {error}") from None
    return usage_from(db, answers)


def session_for(db: UsageDb) -> aiohttp.ClientSession:
    """Proxies in the environment are used, except for servers on this machine."""
    import aiohttp

    return aiohttp.ClientSession(
        trust_env=urlsplit(db.address).hostname not in LOCAL,
        cookie_jar=aiohttp.DummyCookieJar(),
    )


class UsageReading:
    """For occasional plans: fetches if the last usage is too old.

    `rows`: None until a fetch succeeds. A failed fetch keeps the last usage; `warnings` contain the
    cause.
    """

    def __init__(self, db: UsageDb, clock: Clock) -> None:
        self._db, self._clock = db, clock
        self._tried_at: float | None = None
        self._problem = ""
        self.rows: Rows | None = None

    async def read(self, now_s: float) -> Rows | None:
        """The usage that this call fetched; None: the last one is still valid."""
        at, interval = self._clock.monotonic(), self._db.fetch_interval
        if self._tried_at is not None and at - self._tried_at < interval:
            return None
        self._tried_at = at
        async with session_for(self._db) as session:
            try:
                self.rows = await fetch(self._db, session, now_s)
            except InvalidInputError as error:
                server = shown(self._db.address) or "the usage database"
                used = "no past usage" if self.rows is None else "the last known usage"
                self._problem = (
                    f"usageDBConfig: the usage of queues cannot be fetched from {server}, so kai"
                    " uses"
                    f" {used}: {error}"
                )
                return None
        self._problem = ""
        return self.rows

    @property
    def warnings(self) -> list[str]:
        return [*self._db.warnings, *([self._problem] if self._problem else [])]


def shown(address: str) -> str:
    """The address without a password."""
    parts = urlsplit(address)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
