"""The callers of an HTTP page, and what they may do in the cluster. The API server answers both.

    callers = Callers(client)
    caller = await callers.of(request.headers)                   # None: no valid token
    await callers.may(caller, "get", "Pod", "team", "train-0")
    await callers.may(caller, "list", "Pod")                     # in all namespaces

A page that shows objects asks for each request. Answers are kept for some seconds, so that a page
that is loaded often costs the API server little; a right that was taken away ends after that time.
Without an answer nothing is allowed: an error of the API server is raised, and is not kept.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kai.api.reading import mapping, text
from kai.api.resources import resource
from kai.errors import UnreachableError
from kai.live.asking import TOKEN_HEADER

if TYPE_CHECKING:
    from kai.k8s.client import Client
    from kai.k8s.clock import Clock

KEPT_S = 10.0
MOST_KEPT = 1000
MOST_AT_ONCE = 8
"""Requests with invalid tokens must not flood the API server."""
TIMEOUT_S = 10.0
_BEARER = "bearer "
_TOKENS = "/apis/authentication.k8s.io/v1/tokenreviews"
_ACCESS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Caller:
    """A user, as the API server knows it from a token. `extra`: further facts, by name."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


class Callers:
    """Lives on the event loop of `client`, whose account needs the rights to create TokenReviews
    and SubjectAccessReviews."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._few = asyncio.Semaphore(MOST_AT_ONCE)
        self._callers: _Kept[bytes, Caller | None] = _Kept(client.clock)
        self._rights: _Kept[tuple[Hashable, ...], bool] = _Kept(client.clock)

    async def of(self, headers: Mapping[str, str]) -> Caller | None:
        """The user of the bearer token in these headers; None: there is no token, or it is invalid.

        Raises RefusedError and UnreachableError if the API server does not answer.
        """
        token = token_in(headers)
        if not token:
            return None
        key = hashlib.sha256(token.encode()).digest()  # the token itself is not kept
        if key not in self._callers:
            status = await self._review(_TOKENS, "TokenReview", {"token": token})
            user = mapping(status.get("user"))
            is_known = status.get("authenticated") is True and bool(user.get("username"))
            self._callers.put(key, _caller(user) if is_known else None)
        return self._callers.get(key)

    async def may(
        self, caller: Caller, verb: str, kind: str, namespace: str = "", name: str = ""
    ) -> bool:
        """Whether the caller has this right; without a namespace, in all of them, and without a
        name, for all objects.

        Raises RefusedError and UnreachableError if the API server does not answer.
        """
        key = (caller, verb, kind, namespace, name)
        if key not in self._rights:
            row = resource(kind)
            wanted = {
                "verb": verb,
                "group": row.group,
                "resource": row.plural,
                "namespace": namespace,
                "name": name,
            }
            spec = {
                "user": caller.name,
                "uid": caller.uid,
                "groups": list(caller.groups),
                "extra": {each: list(values) for each, values in caller.extra},
                "resourceAttributes": {each: value for each, value in wanted.items() if value},
            }
            status = await self._review(_ACCESS, "SubjectAccessReview", spec)
            self._rights.put(key, status.get("allowed") is True and not status.get("denied"))
        return self._rights.get(key)

    async def _review(self, path: str, kind: str, spec: Mapping[str, Any]) -> Mapping[str, Any]:
        """The status of a review that the API server makes at once."""
        version = path.removeprefix("/apis/").rpartition("/")[0]
        review = {"apiVersion": version, "kind": kind, "spec": spec}
        async with self._few:
            status, body = await self._client.request(
                "POST",
                path,
                body=json.dumps(review).encode(),
                timeout=TIMEOUT_S,
                lane="callers",  # writes of the scheduler do not wait for these
            )
        if status >= 300:
            raise self._client.refused(status, body)
        found = _parsed(body)
        if found.get("kind") != kind:  # as from a proxy; a review has no name that could be checked
            raise UnreachableError(f"{self._client.access.server}: the answer is no {kind}")
        return mapping(found.get("status"))


def token_in(headers: Mapping[str, str]) -> str:
    """The bearer token of a request; "" if it has none."""
    for name in (TOKEN_HEADER, "Authorization"):
        value = headers.get(name, "")
        if value[: len(_BEARER)].lower() == _BEARER:
            return value[len(_BEARER) :].strip()
    return ""


def _parsed(body: bytes) -> Mapping[str, Any]:
    try:
        return mapping(json.loads(body))
    except ValueError:
        return {}


def _caller(user: Mapping[str, Any]) -> Caller:
    extra = mapping(user.get("extra"))
    return Caller(
        text(user.get("username")),
        text(user.get("uid")),
        tuple(map(str, user.get("groups") or ())),
        tuple(sorted((str(name), tuple(map(str, values))) for name, values in extra.items())),
    )


class _Kept(Generic[Key, Value]):
    """The latest answers, each for KEPT_S seconds."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._found: dict[Key, tuple[float, Value]] = {}

    def __contains__(self, key: Key) -> bool:
        known = self._found.get(key)
        return known is not None and self._clock.monotonic() < known[0]

    def get(self, key: Key) -> Value:
        return self._found[key][1]

    def put(self, key: Key, value: Value) -> None:
        self._found.pop(key, None)
        self._found[key] = (self._clock.monotonic() + KEPT_S, value)
        if len(self._found) > MOST_KEPT:
            del self._found[next(iter(self._found))]
