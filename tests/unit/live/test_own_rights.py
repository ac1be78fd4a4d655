"""Which changes the user of a connection may make, by the API server."""

import asyncio
from typing import Any

from fakes.clock import QuickClock
from fakes.http_server import FakeApi, ok, status
from kai.engine.fixing.changes import Right
from kai.live.own_rights import allowed

PATH = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
PATCH_QUEUE = Right("patch", "Queue", "vision")
DELETE_PODS = Right("delete", "Pod", "", "team")


def asked(answers: Any, *rights: Right) -> tuple[frozenset[Right], list[Any]]:
    """The rights that are there, and the reviews that were sent."""

    async def main() -> tuple[frozenset[Right], list[Any]]:
        clock = QuickClock()
        async with FakeApi() as api, api.client(clock) as client:
            api.on("POST", PATH, answers)
            found = await allowed(client, rights)
            return found, [each.body for each in api.seen if each.path == PATH]

    return asyncio.run(main())


def review(*, is_allowed: bool) -> Any:
    return ok({"kind": "SelfSubjectAccessReview", "status": {"allowed": is_allowed}}, 201)


def test_the_api_server_decides() -> None:
    found, [sent] = asked(review(is_allowed=False), PATCH_QUEUE)
    assert not found
    assert sent["spec"]["resourceAttributes"] == {
        "verb": "patch",
        "group": "scheduling.run.ai",
        "resource": "queues",
        "name": "vision",
    }
    assert asked(review(is_allowed=True), DELETE_PODS)[0] == {DELETE_PODS}


def test_a_kind_without_a_table_is_not_remarked() -> None:
    found, sent = asked(review(is_allowed=False), Right("patch", "Workbench", "x", "team"))
    assert len(found) == 1
    assert not sent


def test_an_error_is_not_a_refusal() -> None:
    found, _ = asked(status(500), PATCH_QUEUE)
    assert found == {PATCH_QUEUE}
