"""`kai run` as a process with a test cluster, and a user's view of the cluster.

    install(cluster)                                    # kinds, priority classes, default queues
    with Kai(cluster, namespace, tmp_path / "kai.log") as kai:
        ...
        kai.kill()                                      # as if its machine failed
        kai.start()

At its end, the `with` block stops it with SIGTERM and requires exit status 0.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kai.api.resources import resource
from kai.controllers.planning.kinds import WATCHED
from kai.install import manifests

from .cluster import Cluster
from .errors import ClusterError
from .processes import Process

PATIENCE_S = 30.0


def install(cluster: Cluster, *, validates: bool = True) -> None:
    """Applies the output of `kai install`, without the programs. The default queues are deleted
    after each test with all others, so each test needs it. Unless it `validates`, the API server
    accepts everything as a queue, pod group or topology."""
    definitions = list(manifests.crds())
    if not validates:
        anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        for version in (each for crd in definitions for each in crd["spec"]["versions"]):
            version["schema"] = {"openAPIV3Schema": anything}
    kinds = manifests.to_yaml(definitions)
    cluster.kubectl("apply", "--server-side", "-f", "-", stdin=kinds)
    wait_for_kinds(cluster)
    others = manifests.to_yaml([*manifests.priority_classes(), *manifests.queues()])
    cluster.kubectl("apply", "--server-side", "-f", "-", stdin=others)


def wait_for_kinds(cluster: Cluster, which: str = "--all") -> None:
    """Returns when the kinds are established. Right after the creation of a kind its status may be
    empty, and `kubectl wait` then fails at once."""
    end_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            cluster.kubectl("wait", "--for=condition=Established", "crd", which)
            return
        except ClusterError as error:
            if "accessor error" not in str(error) or time.monotonic() > end_s:
                raise
            time.sleep(0.2)


NAMESPACE = manifests.NAMESPACE
"""The namespace of `install_all`'s service account and leases."""


def install_all(cluster: Cluster) -> Path:
    """Applies all that `kai install --without-programs` prints; returns the kubeconfig of its
    service account."""
    install(cluster)
    text = manifests.to_yaml(manifests.everything(programs=False))
    cluster.kubectl("apply", "--server-side", "-f", "-", stdin=text)
    token = cluster.kubectl("create", "token", "kai", "-n", NAMESPACE, "--duration=24h").strip()
    return cluster.kubeconfig_of(token=token, name="kai.kubeconfig")


def apply(cluster: Cluster, *objects: dict[str, Any]) -> None:
    """Applies objects as the administrator."""
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
    cluster.kubectl("apply", "--server-side", "-f", "-", stdin=text)


@contextmanager
def reader(cluster: Cluster, *verbs: str, more: Iterable[str] = ()) -> Iterator[Path]:
    """The kubeconfig of a user with these verbs for the kinds that decisions depend on, and for the
    core resources `more`, and with no other right."""
    rows = [(each.group, each.plural) for each in map(resource, WATCHED)]
    rows += [("", each) for each in more]
    rules = [
        {"apiGroups": [group], "resources": [name], "verbs": list(verbs)} for group, name in rows
    ]
    api = "rbac.authorization.k8s.io/v1"
    role = {"apiVersion": api, "kind": "ClusterRole", "metadata": {"name": "reads"}, "rules": rules}
    apply(cluster, role)  # kubectl's own `create` rejects kinds that the cluster lacks
    subject = ("--clusterrole=reads", "--user=other-under-test")
    cluster.kubectl("create", "clusterrolebinding", "reads", *subject)
    try:
        yield cluster.kubeconfig_of("other")
    finally:
        cluster.kubectl("delete", "clusterrolebinding/reads", "clusterrole/reads")


class Kai:
    """`kubeconfig`: replaces the admin's, for example with that of a fault proxy. `namespace`
    contains the leases. `arguments` are for `kai run`."""

    def __init__(
        self,
        cluster: Cluster,
        namespace: str,
        log: Path,
        *arguments: str,
        roles: tuple[str, ...] = ("all",),
        kubeconfig: Path | None = None,
    ) -> None:
        chosen = kubeconfig or cluster.kubeconfig_of("admin")
        where = ("--kubeconfig", str(chosen), "--namespace", namespace)
        self._command = [sys.executable, "-m", "kai", "run", *roles, *where, *arguments]
        self._path = log
        self.process: Process | None = None
        """For freezing, thawing and killing it, and for its usage."""

    def __enter__(self) -> Kai:
        self.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        status = self.stop()
        if kind is None and status != 0:
            raise ClusterError(f"kai ended with status {status}:\n{self.log}")

    def start(self) -> None:
        self.process = Process.start("kai", self._command, log=self._path)

    @property
    def log(self) -> str:
        return self._path.read_text() if self._path.exists() else ""

    def is_running(self) -> bool:
        return self.process is not None and self.process.is_running()

    def stop(self) -> int | None:
        """Stops it as Kubernetes does, and returns its exit status; 0 if it was killed before."""
        process, self.process = self.process, None
        if process is None:
            return 0
        process.stop(PATIENCE_S)
        return process.exit_status

    def kill(self) -> None:
        """Kills it without time to finish anything."""
        process, self.process = self.process, None
        if process is not None:
            process.kill()


class Kubectl:
    """A user's view of one namespace."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._cluster, self._namespace = cluster, namespace

    def apply(self, *objects: dict[str, Any]) -> None:
        apply(self._cluster, *objects)

    def delete(self, *what: str) -> None:
        self._cluster.kubectl("-n", self._namespace, "delete", *what)

    def all(self, kind: str) -> dict[str, dict[str, Any]]:
        text = self._cluster.kubectl("-n", self._namespace, "get", kind, "-o", "json")
        return {each["metadata"]["name"]: each for each in json.loads(text)["items"]}

    def bound(self) -> dict[str, str]:
        """The nodes of the pods that have one."""
        found = {name: pod["spec"].get("nodeName", "") for name, pod in self.all("pods").items()}
        return {name: node for name, node in found.items() if node}

    def events(self, name: str) -> dict[str, str]:
        """The messages about an object by reason."""
        found = self.all("events").values()
        return {e["reason"]: e["message"] for e in found if e["involvedObject"]["name"] == name}

    def condition(self, name: str, type: str) -> dict[str, Any]:
        """A condition of a pod; {} if it has none of that type."""
        conditions = self.all("pods")[name]["status"].get("conditions", [])
        return next((each for each in conditions if each["type"] == type), {})


def until(what: str, is_so: Callable[[], Any], patience_s: float = PATIENCE_S) -> Any:
    """Waits for something true, and returns it.

    Raises:
        ClusterError: it did not happen in time.
    """
    ends = time.monotonic() + patience_s
    while not (found := is_so()):
        if time.monotonic() >= ends:
            raise ClusterError(f"it did not come about: {what}")
        time.sleep(0.2)
    return found
