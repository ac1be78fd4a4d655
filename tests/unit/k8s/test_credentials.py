"""Plug-ins that print credentials, and connections with certificates."""

import asyncio
import json
import ssl
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import kai
from fakes.clock import QuickClock
from fakes.http_server import FakeApi, ok, status
from fakes.scenarios import in_a_loop
from kai.api.times import to_text
from kai.k8s.certificates import use_certificate
from kai.k8s.client import Client
from kai.k8s.credentials import Credentials, run_plugin
from kai.k8s.kubeconfig import Access, Material, Plugin, User

V1 = "client.authentication.k8s.io/v1"
PROGRAM = """
import json, os, sys
asked = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
calls = open(sys.argv[1], "a")
calls.write(json.dumps(asked) + os.environ.get("EXTRA", "") + chr(10))
calls.close()
number = len(open(sys.argv[1]).readlines())
status = json.loads(sys.argv[2])
status = {key: str(value).replace("NUMBER", str(number)) for key, value in status.items()}
print(json.dumps({"kind": "ExecCredential", "apiVersion": asked["apiVersion"], "status": status}))
"""


def plugin(tmp_path: Path, status: dict[str, Any], **more: Any) -> Plugin:
    program = tmp_path / "login.py"
    program.write_text(PROGRAM)
    args = (str(program), str(tmp_path / "calls"), json.dumps(status))
    return Plugin(sys.executable, args, api_version=V1, **more)


def access(plugin: Plugin | None = None, **more: Any) -> Access:
    user = User(name="ann", plugin=plugin)
    return Access(server="http://10.0.0.1", source="test", user=user, **more)


def calls(tmp_path: Path) -> list[str]:
    return (tmp_path / "calls").read_text().splitlines()


def test_a_plugin_gets_its_variables_and_cluster(tmp_path: Path) -> None:
    wanted = plugin(tmp_path, {"token": "t"}, wants_cluster=True, env={"EXTRA": "extra"})
    cluster = {"server": "https://10.0.0.1", "tls-server-name": "name"}
    settings = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "a"}}
    known = {**cluster, "extensions": [{"name": "other"}, settings]}
    authority = Material(data=b"pem")
    assert run_plugin(wanted, access(cluster=known, authority=authority)) == {"token": "t"}
    assert calls(tmp_path)[0].endswith("extra")
    received = json.loads(calls(tmp_path)[0].removesuffix("extra"))
    assert received["kind"] == "ExecCredential"
    assert received["spec"]["cluster"] == {
        **cluster,
        "certificate-authority-data": "cGVt",
        "config": {"audience": "a"},
    }
    assert received["spec"]["interactive"] is False


@in_a_loop
async def test_a_token_is_used_until_it_expires(*, tmp_path: Path) -> None:
    clock = QuickClock()
    until = to_text(int(clock.wall() + 600) * 1_000_000_000)
    wanted = plugin(tmp_path, {"token": "tNUMBER", "expirationTimestamp": until})
    credentials = Credentials(access(wanted), clock)
    tokens = []
    for later in (0, 590, 20):
        clock.now += later
        if credentials.due:
            await credentials.refresh()
        tokens.append(dict(credentials.headers)["Authorization"])
    assert tokens == ["Bearer t1", "Bearer t1", "Bearer t2"]


@in_a_loop
async def test_many_refusals_at_once_run_the_plugin_once(*, tmp_path: Path) -> None:
    wanted = plugin(tmp_path, {"token": "tNUMBER"})
    async with FakeApi() as api:

        async def check(request: Any) -> Any:
            known = request.headers["Authorization"] == "Bearer t2"
            return await (ok() if known else status(401))(request)

        api.on("GET", "/api/v1/namespaces/team/pods/a", check)
        async with api.client(plugin=wanted) as client:
            await asyncio.gather(*(client.get("Pod", "team", "a") for _ in range(10)))
    assert len(calls(tmp_path)) == 2


def printing(text: str, code: int = 0) -> tuple[str, ...]:
    return (
        "-c",
        f"import sys; print({text!r}); sys.stderr.write('no log-in\\n'); sys.exit({code})",
    )


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        (Plugin("no-such-program", install_hint="see the wiki"), "No such file .*see the wiki"),
        (Plugin(sys.executable, printing("", 3)), "exit status 3: no log-in"),
        (Plugin(sys.executable, printing("hello")), "printed no ExecCredential"),
        (
            Plugin(sys.executable, printing(json.dumps({"apiVersion": "v2", "status": {}}))),
            "printed no ExecCredential of client.authentication.k8s.io/v1 with",
        ),
        (
            Plugin(sys.executable, printing(json.dumps({"apiVersion": V1, "status": {}}))),
            "printed neither a token nor a certificate",
        ),
        (Plugin("any", interactive="Always"), "must run in a terminal"),
    ],
)
def test_a_failing_plugin_is_named(wanted: Plugin, problem: str) -> None:
    with pytest.raises(kai.UnreachableError, match=problem) as raised:
        run_plugin(wanted, access())
    assert str(raised.value).startswith(f"the log-in plug-in {wanted.command}")


# ---- certificates --------------------------------------------------------------------------------


def over_tls(pki: Path, **how: Any) -> Any:
    """The result of a request over TLS; `user` and others as in Access."""

    async def main() -> Any:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=pki / "ca.crt")
        context.load_cert_chain(pki / "server.crt", pki / "server.key")
        context.verify_mode = ssl.CERT_OPTIONAL
        async with FakeApi(tls=context) as api:

            async def name(request: Any) -> Any:
                assert request.transport is not None
                return await ok(request.transport.get_extra_info("peercert"))(request)

            api.on("GET", "/api/v1/nodes/n", name)
            known: dict[str, Any] = {
                "authority": Material(file=pki / "ca.crt"),
                "server_name": "kubernetes.test",
                **how,
            }
            access = Access(server=api.url, source="test", **known)
            async with Client(access, clock=QuickClock()) as client:
                return json.loads(await client.get("Node", "", "n") or b"")

    return asyncio.run(main())


def test_a_client_certificate_is_sent(pki: Path) -> None:
    certificate, key = pki / "client.crt", pki / "client.key"
    of_files = User(certificate=Material(file=certificate), key=Material(file=key))
    of_data = User(certificate=Material(certificate.read_bytes()), key=Material(key.read_bytes()))
    for user in (of_files, of_data):
        assert over_tls(pki, user=user)["subject"] == [[["commonName", "client"]]]


def test_a_client_certificate_needs_no_folder_that_can_be_written(
    pki: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file system of a pod may be read-only."""

    def no_folder(*_: object, **__: object) -> None:
        raise FileNotFoundError("no usable temporary directory")

    monkeypatch.setattr(tempfile, "gettempdir", no_folder)
    monkeypatch.setattr(tempfile, "mkdtemp", no_folder)
    context = ssl.create_default_context()
    pair = [(pki / f"client.{end}").read_bytes() for end in ("crt", "key")]
    use_certificate(context, pair[0], pair[1])
    with pytest.raises(ssl.SSLError, match="KEY_VALUES_MISMATCH"):
        use_certificate(context, pair[0], (pki / "server.key").read_bytes())


def test_a_certificate_of_a_plugin_is_sent(pki: Path, tmp_path: Path) -> None:
    pair = {
        "clientCertificateData": (pki / "client.crt").read_text(),
        "clientKeyData": (pki / "client.key").read_text(),
    }
    user = User(plugin=plugin(tmp_path, pair))
    assert over_tls(pki, user=user)["subject"] == [[["commonName", "client"]]]


def test_the_name_in_the_servers_certificate_is_checked(pki: Path) -> None:
    with pytest.raises(kai.UnreachableError, match=r"is not trusted: .*127\.0\.0\.1"):
        over_tls(pki, server_name="")
    over_tls(pki, server_name="", insecure=True)


def test_a_certificate_of_another_authority_is_refused(pki: Path) -> None:
    other = Material(file=pki / "other.crt")
    with pytest.raises(kai.UnreachableError, match="its certificate is not trusted"):
        over_tls(pki, authority=other)
    over_tls(pki, authority=other, insecure=True)


@in_a_loop
async def test_encrypted_connections_go_through_a_proxy(*, pki: Path) -> None:
    received = list[bytes]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        received.append(head)
        host, _, port = head.split()[1].decode().rpartition(":")
        there = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await asyncio.gather(copy(reader, there[1]), copy(there[0], writer))

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1 << 16):
            writer.write(data)
        writer.close()

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pki / "server.crt", pki / "server.key")
    proxy = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = proxy.sockets[0].getsockname()[1]
    async with FakeApi(tls=context) as api:
        api.on("GET", "/api/v1/nodes/n", ok())
        access = Access(
            server=api.url,
            source="test",
            authority=Material(file=pki / "ca.crt"),
            server_name="kubernetes.test",
            proxy=f"http://ann:secret@127.0.0.1:{port}",
        )
        async with Client(access) as client:
            assert await client.get("Node", "", "n") is not None
    proxy.close()
    await proxy.wait_closed()
    assert received[0].startswith(f"CONNECT 127.0.0.1:{api.port} ".encode())
    assert b"Proxy-Authorization: Basic YW5uOnNlY3JldA==" in received[0]


def test_invalid_certificates_are_named(pki: Path) -> None:
    async def refresh(access: Access) -> None:
        await Credentials(access, QuickClock()).refresh()

    good = Access(server="https://10.0.0.1", source="context x of config")
    wrong = User(
        certificate=Material(file=pki / "client.crt"), key=Material(file=pki / "server.key")
    )
    with pytest.raises(kai.InvalidInputError, match=r"^context x of config: client-cert"):
        asyncio.run(refresh(replace(good, user=wrong)))
    with pytest.raises(
        kai.InvalidInputError, match=r"^context x of config: certificate-authority:"
    ):
        asyncio.run(refresh(replace(good, authority=Material(data=b"no certificate"))))
    missing = Material(file=pki / "missing.crt")
    with pytest.raises(
        kai.InvalidInputError,
        match=r"^context x of config: certificate-authority: .*missing\.crt: No such file",
    ):
        asyncio.run(refresh(replace(good, authority=missing)))
