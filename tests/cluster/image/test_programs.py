"""Each program of the image starts in its root file system, which is read-only, with the arguments,
the user and the files that its pod has in a cluster."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit

import pytest
from testcluster import NAMESPACE, Cluster, Kubectl, free_ports, install_all, node, pod, until
from testcluster.bundle import Bundle
from testcluster.processes import Process
from testcluster.running import PATIENCE_S, apply

from kai.api import keys
from kai.api.keys import RESERVATION
from kai.controllers.pods.sharing import Reservations, reservation_pod
from kai.install import access, admission, manifests, running

LOG_LINE = re.compile(r"^\S+Z info \S+: ")
SECRETS = "/var/run/secrets/kubernetes.io/serviceaccount"


@pytest.fixture(scope="module")
def installed(cluster: Cluster) -> Cluster:
    """A cluster in which each role has its own account."""
    install_all(cluster)
    separate = manifests.everything(separate=True, programs=False)
    cluster.kubectl("apply", "--server-side", "-f", "-", stdin=manifests.to_yaml(separate))
    # The API server cannot reach the Service that the registrations name, and ignores that.
    account = manifests.account_of(admission.ADMISSION)
    objects = access.objects(admission.ADMISSION, account, NAMESPACE)
    apply(cluster, *objects, *admission.registrations(NAMESPACE))
    return cluster


class Pod:
    """The container of a pod as a process, with the token of its account and the variables that
    the kubelet sets. `values`: of the fields that variables and arguments refer to."""

    def __init__(
        self,
        bundle: Bundle,
        cluster: Cluster,
        container: Mapping[str, Any],
        folder: Path,
        *,
        account: str,
        namespace: str = NAMESPACE,
        values: Mapping[str, str],
        mounts: Mapping[str, Path] | None = None,
    ) -> None:
        secrets = folder / "serviceaccount"
        secrets.mkdir()
        token = cluster.kubectl("create", "token", account, "-n", namespace)
        for name, text in {"token": token, "namespace": namespace}.items():
            (secrets / name).write_text(text)
        (secrets / "ca.crt").write_bytes((cluster.pki / "ca.crt").read_bytes())
        server = urlsplit(cluster.server)
        env = {"KUBERNETES_SERVICE_HOST": str(server.hostname)}
        env["KUBERNETES_SERVICE_PORT"] = str(server.port)
        for variable in container["env"]:
            env[variable["name"]] = values[variable["valueFrom"]["fieldRef"]["fieldPath"]]
        arguments = list(container["args"])
        for name, value in env.items():
            arguments = [each.replace(f"$({name})", value) for each in arguments]
        user = container.get("securityContext", {}).get("runAsUser")
        command = bundle.command(
            *arguments,
            mounts={SECRETS: secrets, **(mounts or {})},
            env=env,
            user="" if user is None else f"{user}:{user}",
        )
        self._log = folder / "program.log"
        self.process = Process.start(arguments[1], command, log=self._log)

    def __enter__(self) -> Pod:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.stop(PATIENCE_S)

    def ends_well(self) -> None:
        """Stops it as a kubelet does, and checks that it wrote only its log."""
        self.process.stop(PATIENCE_S)
        assert self.process.exit_status == 0, self.log
        assert not [line for line in self.log.splitlines() if not LOG_LINE.match(line)]

    @property
    def log(self) -> str:
        return self._log.read_text()

    def until(self, what: str, is_so: Any) -> None:
        def ended_or_so() -> bool:
            assert self.process.is_running(), self.log
            return bool(is_so())

        until(what, ended_or_so)


def is_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
            return answer.status == 200
    except URLError:
        return False


DEPLOYMENTS = {
    role: running.deployment(role, manifests.account_of(role), NAMESPACE, "image")
    for role in (access.ALL, *access.ROLES)
} | {
    admission.ADMISSION: admission.deployment(
        manifests.account_of(admission.ADMISSION), NAMESPACE, "image"
    )
}
"""As `kai install` prints them, by program."""


@pytest.mark.parametrize("program", DEPLOYMENTS)
def test_a_deployments_program_becomes_ready(
    program: str, bundle: Bundle, installed: Cluster, tmp_path: Path
) -> None:
    spec = DEPLOYMENTS[program]["spec"]["template"]["spec"]
    [container], account = spec["containers"], spec["serviceAccountName"]
    [port] = free_ports(1)
    listens = [each.replace(f":{running.PORT}", f":{port}") for each in container["args"]]
    values = {"metadata.name": f"{account}-1", "metadata.namespace": NAMESPACE}
    of = {**container, "args": listens}
    with Pod(bundle, installed, of, tmp_path, account=account, values=values) as started:
        started.until(f"{program} is ready", lambda: is_ready(port))
        started.ends_well()


@pytest.fixture
def reserve(
    bundle: Bundle, installed: Cluster, namespace: str, tmp_path: Path
) -> Iterator[Callable[[bool], tuple[Pod, str]]]:
    """Creates a reservation pod on a simulated node, and starts its program; returns it and the
    name of the pod."""
    apply(installed, node("n1", 1))
    with ExitStack() as stack:

        def start(fake: bool) -> tuple[Pod, str]:
            created = reservation_pod("n1", "g1", [], Reservations(image="none", fake=fake))
            apply(installed, created)
            name = created["metadata"]["name"]
            stack.callback(Kubectl(installed, RESERVATION).delete, "pod", name, "--force")
            started = Pod(
                bundle,
                installed,
                created["spec"]["containers"][0],
                tmp_path,
                account=RESERVATION,
                namespace=RESERVATION,
                values={"metadata.name": name, "metadata.namespace": RESERVATION},
            )
            return stack.enter_context(started), name

        yield start


def test_a_reservation_pod_writes_its_device(
    reserve: Callable[[bool], tuple[Pod, str]], installed: Cluster
) -> None:
    program, name = reserve(True)

    def has_device() -> bool:
        metadata = Kubectl(installed, RESERVATION).all("pods")[name]["metadata"]
        return "run.ai/reserve_for_gpu_index" in metadata.get("annotations", {})

    program.until("the pod has a device", has_device)
    program.ends_well()


def test_a_reservation_pod_without_a_driver_ends_with_one_sentence(
    reserve: Callable[[bool], tuple[Pod, str]],
) -> None:
    """So NVML's Python package is in the image; the driver comes from the node."""
    program, _ = reserve(False)
    until("it ends", lambda: not program.process.is_running())
    assert program.process.exit_status == 2
    assert "the container needs NVIDIA's driver" in program.log


def test_the_numa_exporter_writes_the_zones_of_a_pod(
    bundle: Bundle, installed: Cluster, namespace: str, tmp_path: Path
) -> None:
    from fakes.kubelet import FakeKubelet, answer, container, sysfs

    name = manifests.account_of(running.NUMA_EXPORTER)
    apply(installed, *access.objects(running.NUMA_EXPORTER, name, NAMESPACE))
    kubectl = Kubectl(installed, namespace)
    kubectl.apply(node("n1", gpus=2), pod("a", namespace, nodeName="n1", scheduler="other"))
    spec = running.numa_exporter(name, NAMESPACE, "image")["spec"]["template"]["spec"]
    folders = {"sys": Path(sysfs(tmp_path / "sys", "0-3", "4-7")), "pod-resources": tmp_path / "s"}
    folders["pod-resources"].mkdir()
    [of] = spec["containers"]
    mounts = {each["mountPath"]: folders[each["name"]] for each in of["volumeMounts"]}

    def observed() -> Any:
        annotations = kubectl.all("pods")["a"]["metadata"].get("annotations", {})
        return json.loads(annotations.get(keys.NUMA_OBSERVED_ANNOTATION, "[]"))

    def story() -> None:
        values = {"spec.nodeName": "n1"}
        with Pod(
            bundle, installed, of, tmp_path, account=name, values=values, mounts=mounts
        ) as program:
            wanted = [{"zone": "node-1", "amount": {"nvidia.com/gpu": "1"}}]
            program.until("the zones are written", lambda: observed() == wanted)
            program.ends_well()

    async def scene() -> None:
        async with FakeKubelet(folders["pod-resources"] / "kubelet.sock") as kubelet:
            devices = container([("nvidia.com/gpu", ["g0"], [1])])
            kubelet.data = answer((f"{namespace}/a", [devices]))
            await asyncio.to_thread(story)

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--version"], "kai"),
        (["demo"], "vision"),
        (["plan", "/given/cluster.json"], "1 pod bound"),
        (["install"], "kind: Deployment"),
    ],
    ids=lambda given: given[0] if isinstance(given, list) else "",
)
@pytest.mark.parametrize("user", ["10000:10000", "1000660000:0", "0:0"])
def test_a_command_works_as_any_user(
    arguments: list[str], expected: str, user: str, bundle: Bundle, tmp_path: Path
) -> None:
    """1000660000 is a user as OpenShift chooses it: without a name."""
    given = tmp_path / "given"  # pytest's own folder is closed to other users
    given.mkdir()
    items = [node("n1", gpus=2), pod("a", "team", gpus=1)]
    (given / "cluster.json").write_text(json.dumps({"kind": "List", "items": items}))
    command = bundle.command(*arguments, mounts={"/given": given}, user=user)
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert expected in done.stdout
