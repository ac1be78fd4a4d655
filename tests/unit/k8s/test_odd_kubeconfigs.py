"""Kubeconfig files with values of wrong types: one sentence each, never a traceback."""

import asyncio
import base64
import copy
import datetime
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import kai
from fakes.http_server import FakeApi, ok
from kai.errors import KaiError
from kai.k8s.client import Client
from kai.k8s.credentials import run_plugin
from kai.k8s.kubeconfig import Access, Plugin, find_access

ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 5, -1.5, 1e400, 10**30, "", " ", "a\nb", "a\x01b", "ä", "x" * 70_000),
    *([], [5], ["a"], [None], [{}], [[]], {}, {"a": 5}, {5: ["b"]}, {"a b\n": ["c"]}, {"": [""]}),
    *({"name": "x"}, [{"name": "x"}], [{"name": ""}], datetime.date(2026, 1, 1), b"\x00\xff"),
    *("http://", "http://a b", "https://[::1", "http://a:99999", "http://.", "http://" + "a" * 300),
)
PEM = base64.b64encode(b"-----BEGIN CERTIFICATE-----\n").decode()
PLUGIN = {
    "apiVersion": "client.authentication.k8s.io/v1",
    "command": sys.executable,
    "args": ["-c", "print(1)"],
    "env": [{"name": "A", "value": "b"}],
    "installHint": "see the wiki",
    "interactiveMode": "Never",
    "provideClusterInfo": True,
}
USERS: tuple[dict[str, Any], ...] = (
    {"token": "t", "as": "bo", "as-uid": "7", "as-groups": ["g"], "as-user-extra": {"s": ["v"]}},
    {"username": "ann", "password": "p", "tokenFile": "token", "as-user-extra": {"s": ["v"]}},
    {"client-certificate-data": PEM, "client-key-data": PEM},
    {"client-certificate": "a", "client-key": "b"},
    {"exec": PLUGIN},
)


def config(user: Any) -> dict[str, Any]:
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "a"}}
    cluster = {
        "server": "http://127.0.0.1:1",
        "certificate-authority-data": PEM,
        "certificate-authority": "ca.crt",
        "tls-server-name": "kubernetes.test",
        "insecure-skip-tls-verify": True,
        "proxy-url": "http://127.0.0.1:1",
        "extensions": [extension],
    }
    context = {"cluster": "c", "user": "u", "namespace": "n"}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "a",
        "contexts": [{"name": "a", "context": context}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
    }


def places(value: Any) -> Iterator[list[Any]]:
    """The path of every value."""
    inner = value.items() if isinstance(value, dict) else ()
    for key, each in enumerate(value) if isinstance(value, list) else inner:
        yield [key]
        yield from ([key, *rest] for rest in places(each))


def changed(value: Any, path: list[Any], odd: Any) -> Any:
    value = copy.deepcopy(value)
    at = value
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = odd
    return value


def problem_of(file: Path, value: Any) -> str:
    """The message for this kubeconfig, which is used as far as the first request; "": none."""
    file.write_text(yaml.safe_dump(value, allow_unicode=True), encoding="utf-8")

    async def used() -> None:
        client = Client(find_access(file, environ={}))
        try:
            await client._credentials.refresh()
            await client._options("", False)
            client._session("write")
        finally:
            await client.close()

    try:
        asyncio.run(used())
    except KaiError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("user", USERS, ids=lambda user: next(iter(user)))
def test_each_field_with_a_value_of_another_type_is_one_sentence(tmp_path: Path, user: Any) -> None:
    value = config(user)
    dice = random.Random(38)
    for path in places(value):
        for odd in dice.sample(ODD, 3):
            problem = problem_of(tmp_path / "config", changed(value, path, odd))
            assert "\n" not in problem, (path, odd, problem)


@pytest.mark.parametrize(
    ("user", "problem"),
    [
        ({"token": "t", "as-user-extra": 5}, "user.as-user-extra: is not a mapping"),
        ({"token": "t", "as-user-extra": ["scopes"]}, "user.as-user-extra: is not a mapping"),
        ({"token": "t", "as-user-extra": "scopes"}, "user.as-user-extra: is not a mapping"),
        ({"token": "t", "as-user-extra": {"s": "a"}}, "user.as-user-extra.s: is not a list"),
        ({"token": "t", "as-groups": [5]}, "user.as-groups[0]: is not a string"),
        ({"token": "a\nb"}, "user.token: has a character that a header must not have"),
        ({"token": "t", "as": "a\rb"}, "user.as: has a character that a header must not have"),
        ({"token": "t", "client-certificate": "a\0b"}, "user.client-certificate: is not a path"),
        ({"exec": {**PLUGIN, "args": ["a\0b"]}}, "user.exec.args[0]: has a NUL character"),
        ({"exec": {**PLUGIN, "env": [{"name": "A=B"}]}}, "env[0].name: is not the name of a"),
        ({"exec": {**PLUGIN, "provideClusterInfo": 1}}, "is neither true nor false"),
    ],
)
def test_the_message_names_the_field(tmp_path: Path, user: Any, problem: str) -> None:
    assert problem in problem_of(tmp_path / "config", config(user))


def test_any_key_of_as_user_extra_becomes_a_header(tmp_path: Path) -> None:
    """As client-go: other characters than those of a header's name are percent-encoded."""
    user = {"token": "t", "as-user-extra": {"example.com/Scopes%": ["a"], "ä b": ["c"]}}
    (tmp_path / "config").write_text(yaml.safe_dump(config(user)))
    assert find_access(tmp_path / "config", environ={}).user.impersonate == {
        "Impersonate-Extra-example.com%2fScopes%25": ("a",),
        "Impersonate-Extra-%c3%a4%20b": ("c",),
    }


@pytest.mark.parametrize(
    "status",
    [
        *('{"token": 5}', '{"token": ["a"]}', '{"clientCertificateData": 5, "clientKeyData": 5}'),
        *('{"token": "a", "expirationTimestamp": 5}', '{"token": "a", "expirationTimestamp": "x"}'),
        *('{"token": "a\\nb"}', '{"token": "a", "clientKeyData": {}}', '{"token": "ä\\u0000"}'),
    ],
)
def test_a_plugin_that_prints_values_of_another_type_is_named(status: str) -> None:
    text = f'{{"apiVersion": "{PLUGIN["apiVersion"]}", "status": {status}}}'
    plugin = Plugin(sys.executable, ("-c", f"print({text!r})"))
    with pytest.raises(kai.UnreachableError, match=r"the log-in plug-in .* printed"):
        run_plugin(plugin, Access(server="http://10.0.0.1", source="test"))


def test_fake_api_is_reached_with_a_percent_encoded_key() -> None:
    """aiohttp accepts the names of such headers."""
    from kai.k8s.kubeconfig import User

    seen: list[str] = []

    async def main() -> None:
        async with FakeApi() as api:
            api.on("GET", "/api/v1/namespaces/team/pods/a", ok({}))
            user = User(token="t", impersonate={"Impersonate-Extra-example.com%2fa": ("b",)})
            async with Client(Access(server=api.url, source="test", user=user)) as client:
                await client.get("Pod", "team", "a")
            seen.extend(name for each in api.seen for name in each.headers)

    asyncio.run(main())
    assert "Impersonate-Extra-example.com%2fa" in seen
