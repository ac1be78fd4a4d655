"""For every connection error, each command prints one sentence, and exits with 3 if no API server
answers, and with 2 if its input cannot be used."""

import http.server
import json
import shutil
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kai.cli import main
from kai.k8s import client, credentials

Config = dict[str, Any]
COMMANDS = {
    "run": ("run", "all"),
    "plan": ("plan", "--live"),
    "queues": ("queues", "--live"),
    "nodes": ("nodes", "--live"),
    "groups": ("groups", "--live"),
    "snapshot": ("snapshot", "--out", "never-written.zip"),
}
VERSION = {"gitVersion": "v1.36.3"}
EXEC = "client.authentication.k8s.io/v1"
PAGE = "<html>\n<head><title>404 Not Found</title></head>\n<body><p>nginx</p></body></html>"


class Servers:
    """Addresses of servers in threads, and certificates."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._certificates()
        self._open: list[http.server.ThreadingHTTPServer] = []
        self.plain = f"http://{self._start(200, VERSION)}"
        self.tls = f"https://{self._start(200, VERSION, tls=True)}"
        self.strict = f"https://{self._start(200, VERSION, tls=True, wants_certificate=True)}"
        self.unauthorized = f"http://{self._start(401, _status(401, 'Unauthorized'))}"
        self.page = f"http://{self._start(404, PAGE)}"
        self.other = f"http://{self._start(200, {'hello': 'world'})}"
        self.redirect = f"http://{self._start(302, '')}"
        self._sockets = socket.socket(), socket.socket()
        for each in self._sockets:
            each.bind(("127.0.0.1", 0))
        self._sockets[0].listen(100)  # accepts connections, and never answers
        self.silent, self.closed = (f"127.0.0.1:{e.getsockname()[1]}" for e in self._sockets)

    def close(self) -> None:
        for each in self._open:
            each.shutdown()
            each.server_close()
        for other in self._sockets:
            other.close()

    def file(self, name: str) -> str:
        return str(self.folder / name)

    def _start(
        self, status: int, answer: Any, *, tls: bool = False, wants_certificate: bool = False
    ) -> str:
        text = answer if isinstance(answer, str) else json.dumps(answer)

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None: ...

            def do_GET(self) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, *_: Any) -> None:
                """These tests are about connections that clients break."""

        server = Server(("127.0.0.1", 0), Handler)
        if tls:
            context = ssl.create_default_context(
                ssl.Purpose.CLIENT_AUTH, cafile=self.file("ca.crt")
            )
            context.load_cert_chain(self.file("server.crt"), self.file("server.key"))
            if wants_certificate:
                context.verify_mode = ssl.CERT_REQUIRED
            server.socket = context.wrap_socket(
                server.socket, server_side=True, do_handshake_on_connect=False
            )
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self._open.append(server)
        return f"127.0.0.1:{server.server_address[1]}"

    def _certificates(self) -> None:
        new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
        for name in ("ca", "other"):
            self._openssl(
                *("req", "-x509", *new, "-days", "1", "-subj", f"/CN={name}"),
                *("-addext", "keyUsage=critical,keyCertSign"),
                *("-keyout", f"{name}.key", "-out", f"{name}.crt"),
            )
        (self.folder / "names").write_text("subjectAltName=IP:127.0.0.1")
        for name, days in (("server", "1"), ("expired", "-1")):
            self._openssl(
                *("req", *new, "-subj", f"/CN={name}", "-keyout", f"{name}.key"),
                *("-out", f"{name}.csr"),
            )
            self._openssl(
                *("x509", "-req", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial"),
                *("-extfile", "names", "-days", days, "-in", f"{name}.csr", "-out", f"{name}.crt"),
            )

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True)


def _status(code: int, message: str) -> Config:
    return {"kind": "Status", "code": code, "message": message}


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    if shutil.which("openssl") is None:
        pytest.skip("certificates are made with the program openssl")
    made = Servers(tmp_path_factory.mktemp("servers"))
    yield made
    made.close()


def config(server: str, user: Config | None = None, **cluster: Any) -> Config:
    return {
        "clusters": [{"name": "c", "cluster": {"server": server, **cluster}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "ann"}}],
        "users": [{"name": "ann", "user": user or {"token": "t"}}],
        "current-context": "x",
    }


def plugin(code: str, command: str = sys.executable, **more: Any) -> Config:
    how = {"apiVersion": EXEC, "command": command, "interactiveMode": "Never", **more}
    return {"exec": {"args": ["-c", code], **how}}


def certified(name: str) -> Config:
    return {"client-certificate": f"{name}.crt", "client-key": f"{name}.key"}


CA = {"certificate-authority": "ca.crt"}
Given = Callable[[Servers], Any]
# The kubeconfig, the exit status, and a part of the message.
WRONG: dict[str, tuple[Given, int, str]] = {
    "no such host": (
        lambda s: config("https://no-such-host.invalid:6443"),
        *(3, "https://no-such-host.invalid:6443: no address is known for this name"),
    ),
    "refused": (lambda s: config(f"http://{s.closed}"), 3, ": connection refused (context x of /"),
    "silent": (lambda s: config(f"http://{s.silent}"), 3, ": no answer in time (context x of"),
    "silent TLS": (lambda s: config(f"https://{s.silent}"), 3, ": no answer in time (context"),
    "TLS to a plain port": (
        lambda s: config(s.plain.replace("http", "https")),
        *(3, ": it does not use TLS: its address may need to begin with http://"),
    ),
    "plain to a TLS port": (lambda s: config(s.tls.replace("https", "http")), 3, "connection"),
    "unknown authority": (
        lambda s: config(s.tls),
        *(3, ": its certificate is not trusted: self"),
    ),
    "another authority": (
        lambda s: config(s.tls, **{"certificate-authority": "other.crt"}),
        *(3, ": its certificate is not trusted: self"),
    ),
    "expired certificate": (lambda s: config(s.strict, certified("expired"), **CA), 3, "https://"),
    "no certificate": (lambda s: config(s.strict, **CA), 3, "https://"),
    "wrong token": (
        lambda s: config(s.unauthorized),
        *(2, ": refuses the credentials of ann (context x of /"),
    ),
    "web page": (
        lambda s: config(s.page),
        *(
            3,
            "is not a Kubernetes API server: it answers /version with status 404, a web page: 404",
        ),
    ),
    "other service": (
        lambda s: config(s.other),
        *(3, "is not a Kubernetes API server: it answers /version with status 200"),
    ),
    "redirect": (lambda s: config(s.redirect), 3, "is not a Kubernetes API server: it answers"),
    "dead proxy": (
        lambda s: config(s.tls, **CA, **{"proxy-url": f"http://ann:secret@{s.closed}"}),
        *(3, ": the proxy http://127.0.0.1:"),
    ),
    "silent proxy": (
        lambda s: config(s.tls, **CA, **{"proxy-url": f"http://{s.silent}"}),
        *(3, ": no answer in time, through the proxy http://127.0.0.1:"),
    ),
    "proxy that is none": (
        lambda s: config(s.tls, **CA, **{"proxy-url": s.page}),
        *(3, ": refused with 501 Unsupported method ('CONNECT'), through the proxy"),
    ),
    "proxy without host": (
        lambda s: config(s.tls, **{"proxy-url": "http://"}),
        *(2, "clusters[name=c].cluster.proxy-url: is not an http:// or https:// address"),
    ),
    "port beyond reason": (
        lambda s: config("https://127.0.0.1:99999"),
        *(2, "clusters[name=c].cluster.server: is not an address such as"),
    ),
    "no scheme": (
        lambda s: config("127.0.0.1:6443"),
        2,
        "cluster.server: is not an address such as",
    ),
    "no kubeconfig": (lambda s: None, 2, "config: No such file or directory"),
    "malformed": (lambda s: "a: [", 2, "config: not valid YAML"),
    "empty": (lambda s: "", 2, "current-context: is not set, and no context was given"),
    "a list": (lambda s: "[]", 2, "config: is not a kubeconfig"),
    "no such context": (
        lambda s: {**config(s.plain), "current-context": "y"},
        *(2, "config: contexts: 'y' is not among them: x"),
    ),
    "no certificate file": (
        lambda s: config(s.tls, certified("nowhere"), **CA),
        *(2, "client-certificate: /"),
    ),
    "no authority file": (
        lambda s: config(s.tls, **{"certificate-authority": "nowhere.crt"}),
        *(2, "certificate-authority: /"),
    ),
    "no token file": (lambda s: config(s.plain, {"tokenFile": "nowhere"}), 2, "tokenFile: /"),
    "plug-in fails": (
        lambda s: config(s.plain, plugin("import sys; sys.exit('log in first')")),
        *(3, ": exit status 1: log in first (context x of /"),
    ),
    "plug-in is not there": (
        lambda s: config(s.plain, plugin("", "no-such-plug-in", installHint="see\nthe wiki")),
        *(3, "log-in plug-in no-such-plug-in: No such file or directory (see the wiki)"),
    ),
    "plug-in prints rubbish": (
        lambda s: config(s.plain, plugin("print('hello')")),
        *(3, "printed no ExecCredential of client.authentication.k8s.io/v1"),
    ),
    "plug-in hangs": (
        lambda s: config(s.plain, plugin("import time; time.sleep(60)")),
        *(3, ": did not end within 0 s (context x of /"),
    ),
}


@pytest.fixture
def given(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> Callable[[Given], Path]:
    """Writes a kubeconfig; shortens waits of seconds."""
    monkeypatch.setattr(client, "CONNECT_TIMEOUT_S", 0.3)
    monkeypatch.setattr(credentials, "PLUGIN_TIMEOUT_S", 0.4)
    monkeypatch.chdir(servers.folder)

    def write(given: Given) -> Path:
        path, value = servers.folder / "config", given(servers)
        path.unlink(missing_ok=True)
        if value is not None:
            path.write_text(value if isinstance(value, str) else json.dumps(value))
        return path

    return write


# Starting a program is slow, and all commands connect in one way.
CASES = [
    (wrong, command)
    for wrong in WRONG
    for command in COMMANDS
    if command in ("run", "plan") or not wrong.startswith("plug-in")
]


@pytest.mark.parametrize(("wrong", "command"), CASES)
def test_each_connection_error_prints_one_sentence(
    given: Callable[[Given], Path], capfd: pytest.CaptureFixture[str], wrong: str, command: str
) -> None:
    what, status, sentence = WRONG[wrong]
    assert main([*COMMANDS[command], "--kubeconfig", str(given(what))]) == status
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("kai: ")
    assert err.count("\n") == 1
    assert sentence in err
    assert "secret" not in err
    assert not Path("never-written.zip").exists()
