"""A real Kubernetes API with simulated nodes, for tests.

    with temporary_cluster() as cluster:
        async with cluster.client() as api:
            await api.create(node("n1"), pod("p1", "default"))

etcd, kube-apiserver, kube-controller-manager and kwok run as processes of this user, listen on
127.0.0.1 only, and keep everything in one directory. There is no scheduler: a pod waits until it is
bound, and kwok then runs it as stages.yaml describes.

A cluster needs 2 to 4 s to start and about 600 MB. All methods wait until their work is done, so
call them through asyncio.to_thread() beside other coroutines. Methods of one cluster are not called
from two threads at once.
"""

import base64
import json
import os
import secrets
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from . import arguments, programs
from .arguments import HOST, Options
from .client import Client
from .errors import ClusterError
from .kubeconfig import kubeconfig
from .pki import make_certificates
from .ports import free_ports
from .processes import Process, Usage

PROCESSES = ("etcd", "kube-apiserver", "kube-controller-manager", "kwok")
"""In the order of their start; they are stopped in reverse."""
PORTS = ("etcd", "etcd-peer", "api", "controllers", "kwok")
READY_S = 60.0

USERS = {
    "admin": ("admin", "system:masters"),
    "controllers": ("system:kube-controller-manager", "system:masters"),
    "kwok": ("kwok", "system:masters"),
    # Without rights: a test binds the roles that it needs to them.
    "scheduler": ("scheduler-under-test", "schedulers-under-test"),
    "other": ("other-under-test", "others-under-test"),
}
"""Static bearer tokens: the name in the cluster and the group of each user."""


class Cluster:
    def __init__(self, folder: Path, options: Options | None = None) -> None:
        self.folder = folder.absolute()
        self.options = options or Options()
        self.timings: dict[str, float] = {}  # seconds from start() until each step was done
        self.processes: dict[str, Process] = {}
        self._ports: dict[str, int] = {}
        self._tokens: dict[str, str] = {}
        self._programs: Mapping[str, Path] = {}
        self._guard: subprocess.Popen[bytes] | None = None
        self._load()

    # --- what clients need ------------------------------------------------------------------------

    @property
    def server(self) -> str:
        """Such as https://127.0.0.1:40001; the same after a restart."""
        return f"https://{HOST}:{self._ports['api']}"

    @property
    def pki(self) -> Path:
        """The folder of keys and certificates (pki.py)."""
        return self.folder / "pki"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's."""
        return self.folder / "admin.kubeconfig"

    def kubeconfig_of(
        self, user: str = "admin", *, token: str = "", server: str = "", name: str = ""
    ) -> Path:
        """Writes the kubeconfig of a user of USERS, or of a token; `server` may be the address of a
        fault proxy. `name` is the file's name."""
        path = self.folder / (name or f"{user}-{secrets.token_hex(4)}.kubeconfig")
        self._write_kubeconfig(path, {"token": token or self.token(user)}, server)
        return path

    def token(self, user: str = "admin") -> str:
        """The bearer token of a user of USERS."""
        return self._tokens[user]

    def tls(self) -> ssl.SSLContext:
        """Trusts this cluster's certificates only."""
        return ssl.create_default_context(cafile=str(self.pki / "ca.crt"))

    def client(self, user: str = "admin", *, token: str = "", server: str = "") -> Client:
        """For `async with`; `server` may be a fault proxy's address."""
        return Client(server or self.server, token or self.token(user), self.tls())

    def kubectl(self, *command: str, stdin: str = "", user: str = "admin") -> str:
        """Runs kubectl and returns what it printed.

        Raises:
            ClusterError: it failed; the message is what it printed to standard error.
        """
        program = self._programs.get("kubectl") or programs.find()["kubectl"]
        config = self.folder / f"{user}.kubeconfig"
        done = subprocess.run(
            [program, "--kubeconfig", config, *command], input=stdin, capture_output=True, text=True
        )
        if done.returncode:
            raise ClusterError(done.stderr.strip())
        return done.stdout

    # --- start and end ----------------------------------------------------------------------------

    def start(self, found: Mapping[str, Path] | None = None, *, guarded: bool = True) -> None:
        """Starts the cluster and waits until it is ready. A directory of an earlier cluster keeps
        its data, ports and tokens, so for its clients this is a restart. A guarded cluster ends
        with this process.

        Raises:
            UnavailableError: the programs are missing and cannot be built.
            ClusterError: it runs already, the directory holds other files, or a program does not
            become ready; then nothing is left running.
        """
        if self.running():
            raise ClusterError(f"a cluster runs already in {self.folder}")
        if not self.exists and self.folder.exists() and any(self.folder.iterdir()):
            raise ClusterError(f"{self.folder} holds something else; name an empty directory")
        self._programs = found or programs.find()
        self._began_s = time.monotonic()
        try:
            self._prepare()
            if guarded:
                self._start_guard()
            self._start_all()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stops all programs; the directory stays. Does nothing if none runs."""
        for name in reversed(PROCESSES):
            if name in self.processes:
                self.processes[name].stop()
        if self.processes:
            self.processes = {}
            self._save()
        if self._guard is not None:
            self._guard.communicate()  # closes its input: it has nothing to stop, and ends
            self._guard = None

    def restart(self, name: str, *, grace_s: float = 1, down_s: float = 0) -> None:
        """Stops one program and starts it again, with the same data and port. After `grace_s` it is
        killed, which the API server needs: it waits for its watchers.

        After a restart of "kube-apiserver" all connections are cut, clients are rejected for about
        2 s plus `down_s`, and a watch from an older version gets 410. The controllers and kwok are
        restarted after it: otherwise they would reconnect half a minute later.

        Raises:
            ClusterError: it does not become ready.
        """
        self.processes[name].stop(grace_s)
        time.sleep(down_s)
        self._start(name)
        if name == "kube-apiserver":
            for each in ("kube-controller-manager", "kwok"):
                self.processes[each].stop(grace_s)
                self._start(each)

    def freeze(self, name: str) -> None:
        """Suspends one program: its connections stay open without answers until thaw()."""
        self.processes[name].freeze()

    def thaw(self, name: str) -> None:
        self.processes[name].thaw()

    def save_storage(self, copy: Path) -> None:
        """Copies etcd's data, as a backup does."""
        self.freeze("etcd")
        try:
            shutil.copytree(self.folder / "etcd", copy)
        finally:
            self.thaw("etcd")

    def restore_storage(self, copy: Path) -> None:
        """Puts the data of `save_storage` back: all later changes are forgotten, and versions go
        back. As after `restart`, connections are cut.

        Raises:
            ClusterError: a program does not become ready.
        """
        for name in reversed(PROCESSES):
            self.processes[name].stop(1)
        shutil.rmtree(self.folder / "etcd")
        shutil.copytree(copy, self.folder / "etcd")
        for name in PROCESSES:
            self._start(name)

    def running(self) -> dict[str, Process]:
        return {name: each for name, each in self.processes.items() if each.is_running()}

    def usage(self) -> dict[str, Usage]:
        """CPU time and memory of each running program, for benchmarks. The CPU time of a program
        restarts at 0 when it is restarted."""
        return {name: each.usage() for name, each in self.running().items()}

    def log_tail(self, name: str, lines: int = 15) -> str:
        path = self.folder / "logs" / f"{name}.log"
        if not path.exists():
            return ""
        with open(path, "rb") as log:  # logs of a long test are large
            log.seek(max(0, path.stat().st_size - 400 * lines))
            end = log.read().decode(errors="replace").splitlines()[-lines:]
        return "\n".join(line[:300] for line in end)

    # --- inside -----------------------------------------------------------------------------------

    @property
    def exists(self) -> bool:
        """Whether the directory holds a cluster, running or not."""
        return self._state.exists()

    @property
    def _state(self) -> Path:
        return self.folder / "kai-cluster.json"

    def _load(self) -> None:
        if not self._state.exists():
            return
        state = json.loads(self._state.read_text())
        self._ports, self._tokens = state["ports"], state["tokens"]
        self.processes = {
            name: Process(name, each["pid"], each["started"])
            for name, each in state["processes"].items()
        }

    def _save(self) -> None:
        state = {
            "ports": self._ports,
            "tokens": self._tokens,
            "processes": {
                name: {"pid": each.pid, "started": each.started}
                for name, each in self.processes.items()
            },
        }
        scratch = self._state.with_suffix(".tmp")
        scratch.touch(mode=0o600)
        scratch.write_text(json.dumps(state, indent=1))
        scratch.replace(self._state)

    def _prepare(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (self.folder / "logs").mkdir(exist_ok=True)
        if not self.pki.exists():
            make_certificates(self.pki)
        if not self._ports:
            self._ports = dict(zip(PORTS, free_ports(len(PORTS)), strict=True))
        self._tokens = {user: self._tokens.get(user, secrets.token_hex(24)) for user in USERS}
        lines = [
            f'{self._tokens[user]},{name},{name},"{group}"\n'
            for user, (name, group) in USERS.items()
        ]
        _write_private(self.folder / "tokens.csv", "".join(lines))
        for user in USERS:
            self.kubeconfig_of(user, name=f"{user}.kubeconfig")
        files = {
            f"client-{what}": str(self.pki / f"admin.{end}")
            for what, end in (("certificate", "crt"), ("key", "key"))
        }
        self._write_kubeconfig(self.folder / "client-certificate.kubeconfig", files)
        self._save()

    def _write_kubeconfig(self, path: Path, user: Mapping[str, str], server: str = "") -> None:
        ca = base64.b64encode((self.pki / "ca.crt").read_bytes()).decode()
        authority = {"certificate-authority-data": ca}
        _write_private(path, kubeconfig(server or self.server, authority, user))

    def _start_guard(self) -> None:
        """A process that stops the cluster once the pipe from this process is closed."""
        self._guard = subprocess.Popen(
            [sys.executable, "-m", __package__, "guard", str(self.folder)],
            stdin=subprocess.PIPE,
            cwd=Path(__file__).parents[1],
            start_new_session=True,
        )

    def _start_all(self) -> None:
        self._done("prepared")
        for name in PROCESSES:
            # kwok starts beside the controllers; both need about 0.1 s.
            self._start(name, wait=name != "kube-controller-manager")
            self._done(name)
        self._wait_for("kube-controller-manager")
        self._done("ready")

    def _done(self, step: str) -> None:
        self.timings[step] = round(time.monotonic() - self._began_s, 2)

    def _start(self, name: str, *, wait: bool = True) -> None:
        env = {"PATH": os.environ.get("PATH", ""), "HOME": str(self.folder)}
        if name == "kube-apiserver":
            env["GOGC"] = "200"  # a fifth less CPU time for more memory
        log = self.folder / "logs" / f"{name}.log"
        self._programs = self._programs or programs.find()
        command = [str(self._programs[name]), *self._arguments(name)]
        self.processes[name] = Process.start(name, command, log=log, env=env)
        self._save()
        if wait:
            self._wait_for(name)

    def _arguments(self, name: str) -> list[str]:
        match name:
            case "etcd":
                return arguments.etcd(self.folder, self._ports)
            case "kube-apiserver":
                return arguments.kube_apiserver(self.folder, self._ports, self.options)
            case "kube-controller-manager":
                return arguments.kube_controller_manager(self.folder, self._ports, self.options)
            case _:
                return arguments.kwok(self.folder, self._ports)

    def _wait_for(self, name: str) -> None:
        probes = self._probes(name)
        end = time.monotonic() + READY_S
        while not all(map(self._answers, probes)):
            if not self.processes[name].is_running():
                raise ClusterError(f"{name} ended:\n{self.log_tail(name)}")
            if time.monotonic() > end:
                tail = self.log_tail(name)
                raise ClusterError(f"{name} is not ready after {READY_S:.0f} s:\n{tail}")
            time.sleep(0.05)

    def _probes(self, name: str) -> list[str]:
        """Addresses that all answer once a program is ready."""
        match name:
            case "etcd":
                return [f"http://{HOST}:{self._ports['etcd']}/readyz"]
            case "kube-apiserver":
                return [f"{self.server}/readyz"]
            case "kube-controller-manager":
                # Without its namespace's default service account no pod is admitted.
                account = "/api/v1/namespaces/default/serviceaccounts/default"
                own = f"https://{HOST}:{self._ports['controllers']}/healthz"
                return [own, self.server + account]
            case _:
                return [f"http://{HOST}:{self._ports['kwok']}/healthz"]

    def _answers(self, url: str) -> bool:
        handlers: list[urllib.request.BaseHandler] = [
            urllib.request.ProxyHandler({}),
            urllib.request.HTTPSHandler(context=self.tls()),
        ]
        headers = {"Authorization": f"Bearer {self.token()}"}
        try:
            opener = urllib.request.build_opener(*handlers)
            with opener.open(urllib.request.Request(url, headers=headers), timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError) as error:
            if isinstance(error, urllib.error.HTTPError):
                error.close()
            return False


@contextmanager
def temporary_cluster(
    options: Options | None = None, found: Mapping[str, Path] | None = None
) -> Iterator[Cluster]:
    """A cluster in a temporary directory. It ends with this process, however that ends.

    Raises:
        UnavailableError: the programs are missing and cannot be built.
        ClusterError: the cluster does not start.
    """
    found = found or programs.find()
    cluster = Cluster(Path(tempfile.mkdtemp(prefix="kai-cluster-")), options)
    try:
        cluster.start(found)
        yield cluster
    finally:
        cluster.stop()
        shutil.rmtree(cluster.folder, ignore_errors=True)


def _write_private(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.write_text(text)
