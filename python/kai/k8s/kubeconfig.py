"""Finds the cluster to use: kubeconfig files as kubectl reads them, or a pod's service account.

    access = find_access()                  # KUBECONFIG, ~/.kube/config, else in-cluster
    access = find_access("other.yaml", context="staging")

Files are read and checked here without a connection; kai.k8s.credentials uses the result.
"""

from __future__ import annotations

import base64
import binascii
import os
import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kai.api.documents import decode, read_value
from kai.api.visible import visible
from kai.errors import InvalidInputError

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
EXEC_VERSIONS = (
    "client.authentication.k8s.io/v1",
    "client.authentication.k8s.io/v1beta1",
)

MOST_OF_HEADER = 65536
"""The length of a header's value; servers accept fewer characters."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """A program that prints credentials (`users[].user.exec`)."""

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    api_version: str = EXEC_VERSIONS[0]
    install_hint: str = ""
    wants_cluster: bool = False
    interactive: str = "IfAvailable"  # Never, IfAvailable, Always


@dataclass(frozen=True, slots=True)
class Material:
    """A certificate or key, inside the file or in a file of its own."""

    data: bytes = b""
    file: Path | None = None

    def __bool__(self) -> bool:
        return bool(self.data or self.file)

    def read(self) -> bytes:
        """The PEM text. Raises InvalidInputError if the file cannot be read."""
        if self.data or self.file is None:
            return self.data
        return read_file(self.file)


@dataclass(frozen=True, slots=True)
class User:
    """The credentials of a user; the first one that is set is used."""

    name: str = ""
    token: str = ""
    token_file: Path | None = None
    username: str = ""
    password: str = ""
    plugin: Plugin | None = None
    certificate: Material = Material()
    key: Material = Material()
    impersonate: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # headers


@dataclass(frozen=True, slots=True)
class Access:
    """One API server, and its credentials. `source` is where this was found, `context` is the name
    of its context there."""

    server: str
    source: str
    context: str = ""
    user: User = User()
    namespace: str = "default"
    authority: Material = Material()  # empty: use the certificate authorities of this machine
    insecure: bool = False
    server_name: str = ""  # in the certificate, if it differs from the address
    proxy: str = ""
    cluster: Mapping[str, Any] = field(default_factory=dict)  # as written, for plug-ins


def find_access(
    kubeconfig: str | os.PathLike[str] | None = None,
    context: str | None = None,
    *,
    environ: Mapping[str, str] = os.environ,
    service_account: Path = SERVICE_ACCOUNT,
) -> Access:
    """The cluster for a command: from this file, otherwise from the files in KUBECONFIG, otherwise
    from ~/.kube/config, otherwise the cluster that this pod runs in.

    Raises InvalidInputError, with file and field, for unusable settings.
    """
    if kubeconfig is not None:
        return _of_files([Path(kubeconfig)], context)
    listed = [Path(each) for each in environ.get("KUBECONFIG", "").split(os.pathsep) if each]
    if not listed and environ.get("HOME"):
        listed = [Path(environ["HOME"], ".kube", "config")]
    there = [file for file in listed if file.exists()]
    if there:
        return _of_files(there, context)
    if context is None and environ.get("KUBERNETES_SERVICE_HOST"):
        return in_cluster(environ, service_account)
    looked = ", ".join(map(str, listed)) or "KUBECONFIG"
    raise InvalidInputError(
        f"no kubeconfig: {looked} does not exist, and kai does not run in a pod"
    )


def in_cluster(environ: Mapping[str, str], folder: Path = SERVICE_ACCOUNT) -> Access:
    """The API server of the cluster that this process runs in.

    Raises InvalidInputError outside a cluster.
    """
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise InvalidInputError("KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set")
    token, namespace = folder / "token", folder / "namespace"
    if not token.exists():
        raise InvalidInputError(f"{token}: does not exist: the pod has no service account token")
    return Access(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        source=str(folder),
        user=User(name="service account", token_file=token),
        namespace=decode(read_file(namespace)).strip() if namespace.exists() else "default",
        authority=Material(file=folder / "ca.crt"),
        proxy=proxy_of(f"https://{host}:{port}", environ),
    )


def read_file(path: Path) -> bytes:
    """Raises InvalidInputError if the file cannot be read."""
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL character
        why = error.strerror if isinstance(error, OSError) else None
        raise InvalidInputError(visible(f"{path}: {why or error}")) from None


# ---- files ---------------------------------------------------------------------------------------


class Field:
    """A value of a file, with its place for error messages."""

    def __init__(self, file: Path, place: str, value: Any) -> None:
        self.file, self.place, self.value = file, place, value

    def wrong(self, problem: str) -> InvalidInputError:
        where = f"{self.file}: {self.place}" if self.place else str(self.file)
        return InvalidInputError(visible(f"{where}: {problem}"))

    def get(self, name: str) -> Field:
        if self.value is not None and not isinstance(self.value, Mapping):
            raise self.wrong("is not a mapping")
        place = f"{self.place}.{name}" if self.place else name
        return Field(self.file, place, (self.value or {}).get(name))

    def text(self) -> str:
        if self.value is None:
            return ""
        if not isinstance(self.value, str):
            raise self.wrong("is not a string")
        return self.value

    def header(self) -> str:
        """A text for a header of HTTP."""
        text = self.text()
        if not is_header(text):
            raise self.wrong("has a character that a header must not have, such as a line break")
        return text

    def word(self) -> str:
        """An argument of a program, or a value of its environment."""
        text = self.text()
        if "\0" in text:
            raise self.wrong("has a NUL character")
        return text

    def flag(self) -> bool:
        if self.value is not None and not isinstance(self.value, bool):
            raise self.wrong("is neither true nor false")
        return bool(self.value)

    def path(self) -> Path | None:
        """A path; relative paths start at the folder of the file that contains them."""
        text = self.text()
        if "\0" in text:
            raise self.wrong("is not a path: it has a NUL character")
        return self.file.absolute().parent / text if text else None

    def members(self) -> Iterator[tuple[str, Field]]:
        """The fields of a mapping with keys of the user's choice."""
        if self.value is not None and not isinstance(self.value, Mapping):
            raise self.wrong("is not a mapping")
        for key in self.value or ():
            yield str(key), self.get(key)

    def items(self) -> Iterator[Field]:
        if self.value is not None and not isinstance(self.value, list):
            raise self.wrong("is not a list")
        for index, item in enumerate(self.value or ()):
            yield Field(self.file, f"{self.place}[{index}]", item)

    def material(self, name: str) -> Material:
        data = self.get(f"{name}-data")
        if not data.text():
            return Material(file=self.get(name).path())
        try:
            return Material(data=base64.b64decode(data.text(), validate=True))
        except (binascii.Error, ValueError):
            raise data.wrong("is not base64") from None


def _of_files(files: list[Path], context: str | None) -> Access:
    roots = [_read(file) for file in files]
    names = [name for root in roots if (name := root.get("current-context").text())]
    wanted = context or (names[0] if names else "")
    if not wanted:
        raise roots[0].get("current-context").wrong("is not set, and no context was given")
    chosen = _entry(roots, "contexts", "context", wanted)
    cluster_name = chosen.get("cluster").text()
    cluster = _entry(roots, "clusters", "cluster", cluster_name, chosen.get("cluster"))
    user_name = chosen.get("user").text()
    user = User()
    if user_name:
        user = _user(_entry(roots, "users", "user", user_name, chosen.get("user")), user_name)
    server = cluster.get("server").text().rstrip("/")
    if not _is_address(server):
        raise cluster.get("server").wrong("is not an address such as https://10.0.0.1:6443")
    return Access(
        server=server,
        source=f"context {wanted} of {chosen.file}",
        context=wanted,
        user=user,
        namespace=chosen.get("namespace").text() or "default",
        authority=cluster.material("certificate-authority"),
        insecure=cluster.get("insecure-skip-tls-verify").flag(),
        server_name=cluster.get("tls-server-name").text(),
        proxy=_proxy(cluster.get("proxy-url")) or proxy_of(server, os.environ),
        cluster=cluster.value,
    )


def _read(file: Path) -> Field:
    try:
        value = read_value(decode(read_file(file)))
    except InvalidInputError as error:
        if str(error).startswith(str(file)):
            raise
        raise InvalidInputError(f"{file}: {error}") from None
    root = Field(file, "", value)
    if value is not None and not isinstance(value, Mapping):
        raise root.wrong("is not a kubeconfig")
    return root


def _entry(
    roots: list[Field], section: str, inner: str, name: str, named_by: Field | None = None
) -> Field:
    """The entry with a name, from the first file that has one; later files add nothing to it."""
    known = []
    for root in roots:
        for item in root.get(section).items():
            known.append(item.get("name").text())
            if known[-1] == name:
                found = Field(item.file, f"{section}[name={name}].{inner}", item.get(inner).value)
                found.get("")  # checks that it is a mapping
                return found
    if named_by is not None:
        raise named_by.wrong(f"names {name!r}, but {section} has {_listed(known)}")
    raise roots[0].get(section).wrong(f"{name!r} is not among them: {_listed(known)}")


def _listed(names: list[str]) -> str:
    return ", ".join(sorted(set(names))) or "nothing"


def _user(entry: Field, name: str) -> User:
    if entry.get("auth-provider").value is not None:
        raise entry.get("auth-provider").wrong(
            "Kubernetes no longer supports such plug-ins; use exec"
        )
    certificate = entry.material("client-certificate")
    key = entry.material("client-key")
    if bool(certificate) != bool(key):
        lacks = "client-key" if certificate else "client-certificate"
        raise entry.get(lacks).wrong("is missing")
    plugin = entry.get("exec")
    return User(
        name=name,
        token=entry.get("token").header(),
        token_file=entry.get("tokenFile").path(),
        username=entry.get("username").text(),
        password=entry.get("password").text(),
        plugin=_plugin(plugin) if plugin.value is not None else None,
        certificate=certificate,
        key=key,
        impersonate=_impersonation(entry),
    )


def _impersonation(entry: Field) -> dict[str, tuple[str, ...]]:
    headers = {
        "Impersonate-User": (entry.get("as").header(),),
        "Impersonate-Uid": (entry.get("as-uid").header(),),
        "Impersonate-Group": tuple(each.header() for each in entry.get("as-groups").items()),
    }
    for key, values in entry.get("as-user-extra").members():
        name = f"Impersonate-Extra-{_escaped(key)}"
        headers[name] = tuple(each.header() for each in values.items())
    return {name: values for name, values in headers.items() if any(values)}


def is_header(text: str) -> bool:
    """Whether a header of HTTP may have this value."""
    return all(each == "\t" or each.isprintable() for each in text) and len(text) <= MOST_OF_HEADER


_OF_HEADER_NAMES = frozenset(string.ascii_letters + string.digits + "!#$&'*+-.^_`|~")


def _escaped(key: str) -> str:
    """As client-go: characters that the name of a header must not have, and "%", as %xx."""
    return "".join(
        each if each in _OF_HEADER_NAMES else "".join(f"%{byte:02x}" for byte in each.encode())
        for each in key
    )


def _plugin(entry: Field) -> Plugin:
    version = entry.get("apiVersion").text()
    if version not in EXEC_VERSIONS:
        raise entry.get("apiVersion").wrong(f"is {version!r}, not {' or '.join(EXEC_VERSIONS)}")
    command = entry.get("command").word()
    if not command:
        raise entry.get("command").wrong("is missing")
    interactive = entry.get("interactiveMode").text() or "IfAvailable"
    if interactive not in ("Never", "IfAvailable", "Always"):
        raise entry.get("interactiveMode").wrong("is not Never, IfAvailable or Always")
    if os.sep in command:
        command = str(entry.get("command").path())
    variables = entry.get("env").items()
    return Plugin(
        command=command,
        args=tuple(each.word() for each in entry.get("args").items()),
        env={_variable(each.get("name")): each.get("value").word() for each in variables},
        api_version=version,
        install_hint=entry.get("installHint").text(),
        wants_cluster=entry.get("provideClusterInfo").flag(),
        interactive=interactive,
    )


def _variable(name: Field) -> str:
    text = name.word()
    if not text or "=" in text:
        raise name.wrong("is not the name of a variable")
    return text


# ---- proxies -------------------------------------------------------------------------------------


def _proxy(entry: Field) -> str:
    url = entry.text()
    if url and not _is_address(url):
        raise entry.wrong("is not an http:// or https:// address")
    return url


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # from the port
        return False


def proxy_of(server: str, environ: Mapping[str, str]) -> str:
    """The proxy in HTTPS_PROXY (HTTP_PROXY for http://), unless NO_PROXY excludes the server; ""
    for none. Loopback addresses use no proxy."""
    parts = urlsplit(server)
    name = f"{parts.scheme}_proxy"
    proxy = environ.get(name.upper()) or environ.get(name) or ""
    excepted = environ.get("NO_PROXY") or environ.get("no_proxy") or ""
    if not proxy or _needs_no_proxy(parts.hostname or "", parts.port, excepted):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _needs_no_proxy(host: str, port: int | None, excepted: str) -> bool:
    import ipaddress

    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        address = None
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    for item in (each.strip().lower() for each in excepted.split(",")):
        if item == "*" or (item and _excepts(item, host.lower(), address, port)):
            return True
    return False


def _excepts(item: str, host: str, address: Any, port: int | None) -> bool:
    """Whether an entry of NO_PROXY matches this host: an address, a network, a domain."""
    import ipaddress

    if address is not None:
        try:
            return address in ipaddress.ip_network(item, strict=False)
        except ValueError:
            pass
    name, colon, of_port = item.rpartition(":")
    if colon and of_port.isdigit():
        if int(of_port) != port:
            return False
        item = name.strip("[]")
    item = item.removeprefix("*")
    if item.startswith("."):
        return host.endswith(item)
    return host == item or host.endswith(f".{item}")
