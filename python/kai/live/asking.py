"""Asks a running scheduler what a pod waits for: for users who may not list what plans depend on.

    data = await ask(client, "team", "train-0")            # through the API server
    data = await ask(client, "team", "train-0", url="http://kai-explain.kai-scheduler")

The scheduler checks the rights of the user by the token of `client`, which is sent in a header of
its own: the API server removes the usual one from what it passes on.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from kai.api.naming import naming
from kai.errors import InvalidInputError, NotFoundError, RefusedError, UnreachableError
from kai.install.explaining import SERVICE
from kai.install.manifests import NAMESPACE
from kai.k8s.answers import status_of

if TYPE_CHECKING:
    from kai.k8s.client import Client

TOKEN_HEADER = "X-Kai-Authorization"
"""Instead of Authorization, which the API server removes from the requests that it passes on."""
TRIES = 8
"""Each request reaches one of the replicas, and only the leader answers."""
PAUSE_S = 0.25
PATIENCE_S = 20.0
NO_TOKEN = (
    "the scheduler knows users by their tokens, and this kubeconfig has none: use one with a token,"
    " as that of kubectl create token"
)


async def ask(
    client: Client,
    namespace: str,
    name: str,
    *,
    url: str = "",
    scheduler_namespace: str = NAMESPACE,
) -> dict[str, Any]:
    """The explanation of a pod or a pod group, as `PodReport.to_dict`.

    `url`: of the scheduler; "": through the API server. Raises NotFoundError for an object that
    does not exist, RefusedError without a token or the right to see it, and UnreachableError if no
    scheduler answers.
    """
    authorization = await client.authorization()
    if not authorization.lower().startswith("bearer "):
        raise RefusedError(NO_TOKEN, 401)
    path = f"/explain/{quote(namespace, safe='')}/{quote(name, safe='')}"
    where = url.rstrip("/") or (
        f"/api/v1/namespaces/{scheduler_namespace}/services/{SERVICE}/proxy"
    )
    status, body = 0, b""
    for left in reversed(range(TRIES)):
        if url:
            status, body = await _get(f"{where}{path}?format=json", authorization)
        else:
            status, body = await client.request(
                "GET",
                where + path,
                parameters={"format": "json"},
                headers={TOKEN_HEADER: authorization},
                timeout=PATIENCE_S,
                lane="explain",
            )
        if status != 503 or not left:
            break
        await client.clock.sleep(PAUSE_S)
    if status != 200:
        raise _error(f"the scheduler at {url}" if url else "the scheduler", status, body)
    with naming("the answer of the scheduler"):
        return _parsed(body)


def _error(who: str, status: int, body: bytes) -> Exception:
    answer = status_of(body)
    if answer:  # the API server does not pass the request on
        message = str(answer.get("message") or f"HTTP status {status}")
        if status == 403:
            return RefusedError(message, status)
        return UnreachableError(f"{who} cannot be reached through the API server: {message}")
    message = body[:500].decode(errors="replace").strip() or f"HTTP status {status}"
    if status == 404:
        return NotFoundError(message)
    if status in (401, 403):
        return RefusedError(message, status)
    return UnreachableError(f"{who}: {message}")


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not {"layers", "explanation", "now"} <= found.keys():
        raise InvalidInputError("this is no explanation of a pod")
    return found


async def _get(address: str, authorization: str) -> tuple[int, bytes]:
    """Raises InvalidInputError for what is no address, and UnreachableError."""
    import asyncio

    import aiohttp

    from kai.k8s.answers import explain

    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidInputError(
            f"--scheduler-url: {address.partition('/explain/')[0]!r} is not an address such as"
            " http://localhost:8082"
        )
    limits = aiohttp.ClientTimeout(total=PATIENCE_S)
    headers = {TOKEN_HEADER: authorization, "Accept-Encoding": "identity"}
    try:
        # A new connection for each try: another replica may answer.
        async with (
            aiohttp.ClientSession(timeout=limits) as session,
            session.get(address, headers=headers, allow_redirects=False) as answer,
        ):
            return answer.status, await answer.read()
    except (aiohttp.ClientError, asyncio.TimeoutError, OSError) as error:
        raise UnreachableError(f"{parts.scheme}://{parts.netloc}: {explain(error)}") from None
