"""The caller of a page and what that user may do: the API server decides, errors allow nothing."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import kai
from fakes.clock import QuickClock
from fakes.http_server import FakeApi, disconnect, ok, status
from kai.service import callers
from kai.service.callers import Caller, Callers, token_in

TOKENS = "/apis/authentication.k8s.io/v1/tokenreviews"
ACCESS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
ANN = Caller("ann", "u1", ("ml", "system:authenticated"), (("scope", ("a", "b")),))
OF_ANN = {
    "authenticated": True,
    "user": {
        "username": "ann",
        "uid": "u1",
        "groups": ["ml", "system:authenticated"],
        "extra": {"scope": ["a", "b"]},
    },
}

Scene = Callable[[FakeApi, Callers, QuickClock], Awaitable[Any]]


def play(scene: Scene) -> Any:
    async def main() -> Any:
        clock = QuickClock()
        async with FakeApi() as api, api.client(clock) as client:
            return await scene(api, Callers(client), clock)

    return asyncio.run(main())


def review(kind: str, **value: Any) -> Any:
    return ok({"kind": kind, "status": value}, 201)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_a_token_is_known_by_the_api_server() -> None:
    async def scene(api: FakeApi, callers: Callers, _: QuickClock) -> None:
        api.on("POST", TOKENS, review("TokenReview", **OF_ANN))
        assert await callers.of(bearer("secret")) == ANN
        [seen] = [each for each in api.seen if each.path == TOKENS]
        assert seen.body["spec"] == {"token": "secret"}
        assert "Authorization" not in seen.headers  # our own credentials, and this client has none

    play(scene)


@pytest.mark.parametrize(
    "answer",
    [
        {"authenticated": False},
        {"error": "expired"},
        {"authenticated": True},  # without a user
        {"authenticated": "true", "user": {"username": "ann"}},
    ],
)
def test_a_token_that_is_not_valid_has_no_caller(answer: dict[str, Any]) -> None:
    async def scene(api: FakeApi, callers: Callers, _: QuickClock) -> None:
        api.on("POST", TOKENS, review("TokenReview", **answer))
        assert await callers.of(bearer("secret")) is None

    play(scene)


def test_a_request_without_a_token_costs_the_api_server_nothing() -> None:
    async def scene(api: FakeApi, callers: Callers, _: QuickClock) -> None:
        for headers in ({}, {"Authorization": "Basic YTpi"}, bearer(""), bearer("  ")):
            assert await callers.of(headers) is None
        assert TOKENS not in api.paths()

    play(scene)


def test_the_token_of_a_proxied_request_is_in_a_header_of_its_own() -> None:
    both = {**bearer("of the proxy"), callers.TOKEN_HEADER: "bearer mine"}
    assert token_in(both) == "mine"


def test_a_right_is_checked_with_everything_that_is_known_of_the_caller() -> None:
    async def scene(api: FakeApi, callers: Callers, _: QuickClock) -> None:
        api.on("POST", ACCESS, review("SubjectAccessReview", allowed=True))
        assert await callers.may(ANN, "get", "PodGroup", "team", "train")
        [seen] = [each for each in api.seen if each.path == ACCESS]
        assert seen.body["spec"] == {
            "user": "ann",
            "uid": "u1",
            "groups": ["ml", "system:authenticated"],
            "extra": {"scope": ["a", "b"]},
            "resourceAttributes": {
                "verb": "get",
                "group": "scheduling.run.ai",
                "resource": "podgroups",
                "namespace": "team",
                "name": "train",
            },
        }

    play(scene)


@pytest.mark.parametrize(
    "answer",
    [
        {"allowed": False},
        {"allowed": True, "denied": True},
        {"allowed": False, "evaluationError": "no webhook"},
        {"allowed": "yes"},
        {},
    ],
)
def test_only_a_clear_yes_allows(answer: dict[str, Any]) -> None:
    async def scene(api: FakeApi, callers: Callers, _: QuickClock) -> None:
        api.on("POST", ACCESS, review("SubjectAccessReview", **answer))
        assert not await callers.may(ANN, "get", "Pod", "team", "a")

    play(scene)


@pytest.mark.parametrize("failure", [status(500), status(403), disconnect, ok({"kind": "Pod"})])
def test_without_an_answer_nothing_is_allowed_and_the_error_is_not_kept(failure: Any) -> None:
    async def scene(api: FakeApi, callers: Callers, _: QuickClock) -> None:
        api.on("POST", TOKENS, failure, review("TokenReview", **OF_ANN))
        api.on("POST", ACCESS, failure, review("SubjectAccessReview", allowed=True))
        for ask in (
            lambda: callers.of(bearer("secret")),
            lambda: callers.may(ANN, "get", "Pod", "team", "a"),
        ):
            with pytest.raises((kai.RefusedError, kai.UnreachableError)):
                await ask()
            assert await ask()

    play(scene)


def test_answers_are_kept_for_a_moment() -> None:
    async def scene(api: FakeApi, of: Callers, clock: QuickClock) -> None:
        api.on("POST", TOKENS, review("TokenReview", **OF_ANN), review("TokenReview"))
        allowed = review("SubjectAccessReview", allowed=True)
        api.on("POST", ACCESS, allowed, review("SubjectAccessReview", allowed=False))
        for _ in range(3):
            assert await of.of(bearer("secret")) == ANN
            assert await of.may(ANN, "list", "Pod", "team")
        assert (api.paths().count(TOKENS), api.paths().count(ACCESS)) == (1, 1)
        await clock.sleep(callers.KEPT_S + 0.1)
        assert await of.of(bearer("secret")) is None  # the token was revoked
        assert not await of.may(ANN, "list", "Pod", "team")  # the right was taken away

    play(scene)


def test_answers_differ_by_caller_and_by_object() -> None:
    async def scene(api: FakeApi, callers: Callers, _: QuickClock) -> None:
        yes, no = (review("SubjectAccessReview", allowed=each) for each in (True, False))
        api.on("POST", ACCESS, yes, no, no, no, yes)
        assert await callers.may(ANN, "get", "Pod", "team", "a")
        assert not await callers.may(ANN, "get", "Pod", "team", "b")
        assert not await callers.may(ANN, "get", "Pod", "other", "a")
        assert not await callers.may(ANN, "list", "Pod", "team", "a")
        assert await callers.may(Caller("ben"), "get", "Pod", "team", "b")

    play(scene)


def test_the_number_of_kept_answers_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callers, "MOST_KEPT", 2)

    async def scene(api: FakeApi, of: Callers, _: QuickClock) -> None:
        api.on("POST", ACCESS, review("SubjectAccessReview", allowed=True))
        for name in ("a", "b", "c", "a"):
            assert await of.may(ANN, "get", "Pod", "team", name)
        assert api.paths().count(ACCESS) == 4

    play(scene)
