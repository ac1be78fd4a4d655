"""What the user of a connection may do, by the API server (SelfSubjectAccessReview).

await allowed(client, [Right("patch", "Queue", "vision")])
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kai.api.reading import mapping
from kai.api.resources import RESOURCES
from kai.engine.fixing.changes import Right

if TYPE_CHECKING:
    from kai.k8s.client import Client

_PATH = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


async def allowed(client: Client, rights: Iterable[Right]) -> frozenset[Right]:
    """Those that this user has. A right to a kind that kai does not know counts as one; so does a
    right without an answer, as only what is refused is worth a remark."""
    return frozenset([each for each in set(rights) if await _has(client, each)])


async def _has(client: Client, right: Right) -> bool:
    row = RESOURCES.get(right.kind)
    if row is None:
        return True
    wanted = {
        "verb": right.verb,
        "group": row.group,
        "resource": row.plural,
        "namespace": right.namespace,
        "name": right.name,
    }
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {name: value for name, value in wanted.items() if value}},
    }
    status, body = await client.request("POST", _PATH, body=json.dumps(review).encode())
    if status >= 300:
        return True
    try:
        answer = mapping(mapping(json.loads(body)).get("status"))
    except ValueError:
        return True
    return answer.get("allowed") is not False
