"""The cluster of a command, its credentials, and the messages for mistakes."""

import base64
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

import kai
from kai.k8s.kubeconfig import Access, Material, find_access, in_cluster, proxy_of

PEM = b"-----BEGIN CERTIFICATE-----\n"
DATA = base64.b64encode(PEM).decode()


def config(user: Any = None, cluster: Any = None, **more: Any) -> dict[str, Any]:
    return {
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "ann", "namespace": "t"}}],
        "clusters": [
            {"name": "c", "cluster": {"server": "https://10.0.0.1:6443/", **(cluster or {})}}
        ],
        "users": [{"name": "ann", "user": user or {"token": "secret"}}],
        **more,
    }


def written(path: Path, value: Any) -> Path:
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(value if isinstance(value, str) else yaml.safe_dump(value))
    return path


def read(tmp_path: Path, value: Any, context: str | None = None) -> Access:
    return find_access(written(tmp_path / "config", value), context)


def test_the_current_context_is_the_default(tmp_path: Path) -> None:
    access = read(tmp_path, config())
    assert (access.server, access.namespace) == ("https://10.0.0.1:6443", "t")
    assert (access.user.name, access.user.token) == ("ann", "secret")
    assert access.source == f"context x of {tmp_path / 'config'}"


def test_a_context_may_be_named(tmp_path: Path) -> None:
    other = {"name": "y", "context": {"cluster": "d"}}
    clusters = [*config()["clusters"], {"name": "d", "cluster": {"server": "http://[::1]:8080"}}]
    value = config(contexts=[*config()["contexts"], other], clusters=clusters)
    access = read(tmp_path, value, "y")
    assert (access.server, access.namespace, access.user.name) == (
        "http://[::1]:8080",
        "default",
        "",
    )


def test_all_of_a_cluster_and_a_user_is_read(tmp_path: Path) -> None:
    cluster = {
        "certificate-authority": "ca.crt",
        "tls-server-name": "kubernetes.test",
        "insecure-skip-tls-verify": True,
        "proxy-url": "http://proxy:3128",
    }
    user = {
        "client-certificate-data": DATA,
        "client-key": "keys/ann.key",
        "tokenFile": "/run/token",
        "username": "ann",
        "password": "p",
        "as": "bo",
        "as-groups": ["g"],
        "as-user-extra": {"scopes": ["s"]},
    }
    access = read(tmp_path, config(user, cluster))
    assert access.authority == Material(file=tmp_path / "ca.crt")
    assert (access.server_name, access.insecure) == ("kubernetes.test", True)
    assert access.proxy == "http://proxy:3128"
    assert access.user.certificate.read() == PEM
    assert access.user.key == Material(file=tmp_path / "keys/ann.key")
    assert access.user.token_file == Path("/run/token")
    assert (access.user.username, access.user.password) == ("ann", "p")
    assert access.user.impersonate == {
        "Impersonate-User": ("bo",),
        "Impersonate-Group": ("g",),
        "Impersonate-Extra-scopes": ("s",),
    }


def test_a_plugin_is_read(tmp_path: Path) -> None:
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "./bin/login",
        "args": ["--cluster", "a"],
        "env": [{"name": "A", "value": "b"}],
        "installHint": "see the wiki",
        "interactiveMode": "Never",
        "provideClusterInfo": True,
    }
    found = read(tmp_path, config({"exec": plugin})).user.plugin
    assert found is not None
    assert found.command == str(tmp_path / "bin/login")
    assert (found.args, found.env) == (("--cluster", "a"), {"A": "b"})
    assert (found.install_hint, found.interactive) == ("see the wiki", "Never")
    assert found.wants_cluster


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("[]", "config: is not a kubeconfig"),
        ("a: [", "config: "),
        (
            config(**{"current-context": None}),
            "config: current-context: is not set, and no context",
        ),
        (config(**{"current-context": "z"}), "config: contexts: 'z' is not among them: x"),
        (config(contexts={}), "config: contexts: is not a list"),
        (
            config(clusters=[]),
            "contexts[name=x].context.cluster: names 'c', but clusters has nothing",
        ),
        (config(users=[]), "contexts[name=x].context.user: names 'ann', but users has nothing"),
        (
            config(cluster={"server": "10.0.0.1"}),
            "clusters[name=c].cluster.server: is not an address",
        ),
        (config(cluster={"server": 5}), "clusters[name=c].cluster.server: is not a string"),
        (config(cluster={"proxy-url": "socks5://a"}), "cluster.proxy-url: is not an http://"),
        (
            config(cluster={"insecure-skip-tls-verify": "no"}),
            "insecure-skip-tls-verify: is neither true nor false",
        ),
        (
            config(cluster={"certificate-authority-data": "%%"}),
            "clusters[name=c].cluster.certificate-authority-data: is not base64",
        ),
        (config({"client-key-data": DATA}), "users[name=ann].user.client-certificate: is missing"),
        (config({"client-certificate": "a"}), "users[name=ann].user.client-key: is missing"),
        (
            config({"auth-provider": {"name": "gcp"}}),
            "auth-provider: Kubernetes no longer supports such",
        ),
        (config({"exec": {"command": "a"}}), "users[name=ann].user.exec.apiVersion: is ''"),
        (
            config({"exec": {"apiVersion": "client.authentication.k8s.io/v1"}}),
            "users[name=ann].user.exec.command: is missing",
        ),
        (config({"exec": "login"}), "users[name=ann].user.exec: is not a mapping"),
    ],
)
def test_an_error_has_the_file_and_the_field(tmp_path: Path, value: Any, problem: str) -> None:
    with pytest.raises(kai.InvalidInputError) as raised:
        read(tmp_path, value)
    assert str(raised.value).startswith(str(tmp_path / "config"))
    assert problem in str(raised.value)
    assert "\n" not in str(raised.value)


# ---- which files ---------------------------------------------------------------------------------


def test_the_first_of_several_files_with_a_name_counts(tmp_path: Path) -> None:
    first = config({"token": "of first"})
    del first["current-context"], first["clusters"]
    second = config({"token": "of second", "client-key": "k", "client-certificate": "c"})
    second["clusters"][0]["cluster"]["certificate-authority"] = "ca.crt"
    one, two = written(tmp_path / "one/config", first), written(tmp_path / "two/config", second)
    listed = os.pathsep.join(map(str, [tmp_path / "missing", one, two]))
    access = find_access(environ={"KUBECONFIG": listed})
    assert access.user.token == "of first"
    assert not access.user.certificate
    assert access.authority == Material(file=tmp_path / "two/ca.crt")


def test_the_file_in_the_home_folder_is_the_default(tmp_path: Path) -> None:
    written(tmp_path / ".kube/config", config())
    environ = {"HOME": str(tmp_path), "KUBERNETES_SERVICE_HOST": "10.0.0.2"}
    assert find_access(environ=environ).server == "https://10.0.0.1:6443"


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(kai.InvalidInputError, match=r"nowhere: No such file or directory$"):
        find_access(tmp_path / "nowhere")


def test_the_message_lists_the_searched_places(tmp_path: Path) -> None:
    with pytest.raises(
        kai.InvalidInputError, match=r"no kubeconfig: .*/\.kube/config does not exist"
    ):
        find_access(environ={"HOME": str(tmp_path)})


@pytest.mark.parametrize(
    ("host", "server"), [("10.0.0.1", "https://10.0.0.1:443"), ("fd00::1", "https://[fd00::1]:443")]
)
def test_a_pod_uses_its_service_account(tmp_path: Path, host: str, server: str) -> None:
    (tmp_path / "token").write_text("t")
    (tmp_path / "namespace").write_text("kai\n")
    environ = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": "443"}
    access = find_access(environ=environ, service_account=tmp_path)
    assert (access.server, access.namespace) == (server, "kai")
    assert access.user.token_file == tmp_path / "token"
    assert access.authority == Material(file=tmp_path / "ca.crt")


def test_a_pod_without_a_token_is_an_error(tmp_path: Path) -> None:
    environ = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    with pytest.raises(kai.InvalidInputError, match="the pod has no service account token"):
        in_cluster(environ, tmp_path)
    with pytest.raises(kai.InvalidInputError, match="are not set"):
        in_cluster({})


# ---- proxies -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("server", "excepted", "proxied"),
    [
        ("https://api.example.test", "", True),
        ("https://api.example.test", "example.test", False),
        ("https://api.example.test", ".example.test", False),
        ("https://api.example.test", "*.example.test", False),
        ("https://example.test", ".example.test", True),
        ("https://anexample.test", "example.test", True),
        ("https://api.example.test", "other, API.example.test", False),
        ("https://api.example.test:6443", "api.example.test:443", True),
        ("https://api.example.test:6443", "api.example.test:6443", False),
        ("https://10.1.2.3:6443", "10.0.0.0/8", False),
        ("https://10.1.2.3:6443", "10.1.2.3", False),
        ("https://10.1.2.3:6443", "10.1.2.3:6443", False),
        ("https://11.1.2.3:6443", "10.0.0.0/8", True),
        ("https://[fd00::1]:6443", "fd00::/8", False),
        ("https://api.example.test", "*", False),
        ("https://127.0.0.1:6443", "", False),
        ("https://localhost:6443", "", False),
        ("http://api.example.test", "", False),
    ],
)
def test_proxies_and_their_exceptions_are_read(server: str, excepted: str, proxied: bool) -> None:
    environ = {"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": excepted}
    assert proxy_of(server, environ) == ("http://proxy:3128" if proxied else "")


def test_a_proxy_may_have_no_scheme_and_lower_case_variables() -> None:
    assert proxy_of("https://api.test", {"https_proxy": "proxy:3128"}) == "http://proxy:3128"
    assert proxy_of("http://api.test", {"http_proxy": "http://p"}) == "http://p"
