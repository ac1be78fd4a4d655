"""The machine of the test cluster: programs of real pods run as its processes."""

import asyncio
import base64
import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from machine_play import OURS, Place, Scene, place_of, play, program, scenario, stored, workload
from testcluster import ApiError, Object, install_all, node, path_of, pod, queue
from testcluster.machine import MachineError
from testcluster.pki import make_server
from testcluster.processes import start_time
from testcluster.services import registration, webhook

from kai.api.keys import RESERVATION
from kai.controllers.pods.sharing import Reservations, reservation_pod
from kai.install import access, manifests, running


@pytest.fixture(scope="module")
def place(programs: Mapping[str, Path]) -> Iterator[Place]:
    with place_of(programs) as found:
        yield found


# ---- our own programs ----------------------------------------------------------------------------


@scenario
async def test_installed_programs_schedule_pods_before_and_after_a_restart(scene: Scene) -> None:
    kubectl, space = scene.cluster.kubectl, manifests.NAMESPACE
    await asyncio.to_thread(install_all, scene.cluster)
    of_all = ("Deployment", "kai")
    [deployment] = [
        each
        for each in manifests.everything()
        if (each["kind"], each["metadata"]["name"]) == of_all
    ]
    await scene.create(deployment)
    await scene.api.create(node("simulated", 2))
    first = await scene.machine.runs(space, "app.kubernetes.io/name=kai-sched", count=2)
    available = ("wait", "--for=condition=Available", "deployment/kai", "-n", space)
    await asyncio.to_thread(kubectl, *available)
    await scene.api.create(queue("dept"), queue("team", "dept"))
    await scene.create(pod("before", "", queue="team"))
    await scene.phase("before", "Running")
    await asyncio.to_thread(kubectl, "rollout", "restart", "deployment/kai", "-n", space)

    async def are_gone() -> bool:
        paths = [path_of("Pod", space, each["metadata"]["name"]) for each in first]
        return all([await scene.api.is_gone(each)() for each in paths])

    await scene.machine.until("the old pods are gone", are_gone)
    second = await scene.machine.runs(space, "app.kubernetes.io/name=kai-sched", count=2)
    assert len({each["status"]["podIP"] for each in first + second}) == 4
    await scene.create(pod("after", "", queue="team"))
    await scene.phase("after", "Running")
    assert (await scene.get("after"))["spec"]["nodeName"] == "simulated"
    assert "Traceback" not in scene.machine.log("kai-")
    await scene.api.delete(path_of("Deployment", space), propagationPolicy="Foreground")
    await scene.machine.until(
        "all are gone", scene.api.is_gone(path_of("Deployment", space, "kai"))
    )


@scenario
async def test_a_reservation_pod_writes_its_device_with_its_own_rights(scene: Scene) -> None:
    for each in (running.namespace(RESERVATION), *access.reservation_account()):
        await scene.api.status_of(scene.api.create_one(each))  # 409: another test has created it
    common = Reservations(image=OURS, fake=True)
    made = reservation_pod("machine", "g1", [], common)
    path = path_of("Pod", RESERVATION, made["metadata"]["name"])
    await scene.api.create(made)

    async def device() -> Any:
        found = await scene.api.get(path)
        return found["metadata"].get("annotations", {}).get("run.ai/reserve_for_gpu_index")

    assert await scene.machine.until("it has a device", device)
    await scene.api.delete(path)
    await scene.machine.until("it is gone", scene.api.is_gone(path))


# ---- the course of a pod -------------------------------------------------------------------------


@scenario
async def test_a_job_succeeds_and_another_fails_with_the_end_of_its_output(scene: Scene) -> None:
    good = program("", "print('done')")
    bad = program(
        *("", "print('first', flush=True); raise SystemExit('no such queue')"),
        container={"terminationMessagePolicy": "FallbackToLogsOnError"},
    )
    await scene.create(workload("Job", "good", good), workload("Job", "bad", bad, backoffLimit=0))

    async def ended() -> bool:
        jobs = [await scene.get(name, "Job") for name in ("good", "bad")]
        return [set(each["status"]) & {"succeeded", "failed"} for each in jobs] == [
            {"succeeded"},
            {"failed"},
        ]

    await scene.machine.until("both have ended", ended)
    [failed] = await scene.api.items(path_of("Pod", scene.namespace), labelSelector="app=bad")
    [container] = failed["status"]["containerStatuses"]
    assert container["state"]["terminated"]["exitCode"] == 1
    assert container["state"]["terminated"]["message"] == "first\nno such queue\n"
    assert "done" in scene.machine.log("good-")


@scenario
async def test_init_containers_run_first_and_a_failing_one_ends_the_pod(scene: Scene) -> None:
    share = {"volumeMounts": [{"name": "share", "mountPath": "/share"}]}
    write, read = ("open('/share/x', 'w').write('text')", "print(open('/share/x').read())")
    volume = {"name": "share", "emptyDir": {}}
    for name, first in (("good", write), ("bad", "raise SystemExit(3)")):
        made = program(name, read, container=share, volumes=[volume])
        init = program("", first, container=share)["spec"]["containers"][0]
        made["spec"]["initContainers"] = [{**init, "name": "first"}]
        await scene.create(made)
    await scene.phase("good", "Succeeded")
    await scene.phase("bad", "Failed")
    assert scene.machine.log("good").endswith("text\n")
    [never] = (await scene.get("bad"))["status"]["containerStatuses"]
    assert "waiting" in never["state"]


SHOW = """
import json, os, sys
mounted = "/var/run/secrets/kubernetes.io/serviceaccount"
names = ("FROM_MAP", "FROM_SECRET", "ALL_PLACE", "NAME", "IP", "JOINED", "FILE")
print(json.dumps({
    "variables": {name: os.environ.get(name) for name in names},
    "file": open(sys.argv[1]).read(),
    "argument": sys.argv[2],
    "token": open(mounted + "/token").read(),
}), flush=True)
"""


@scenario
async def test_a_pod_gets_its_maps_secrets_fields_and_token(scene: Scene) -> None:
    env = [
        {"name": "FROM_MAP", "valueFrom": {"configMapKeyRef": {"name": "map", "key": "place"}}},
        {"name": "FROM_SECRET", "valueFrom": {"secretKeyRef": {"name": "secret", "key": "word"}}},
        {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "JOINED", "value": "$(NAME)/$(FROM_MAP)/$(UNKNOWN)"},
        {"name": "FILE", "value": "/etc/map/place"},
    ]
    container = {
        "env": env,
        "envFrom": [{"prefix": "ALL_", "configMapRef": {"name": "upper"}}],
        "volumeMounts": [{"name": "map", "mountPath": "/etc/map"}],
    }

    await scene.create(
        stored("ConfigMap", "map", place="here"),
        stored("ConfigMap", "upper", PLACE="up"),
        stored("Secret", "secret", word="w"),
        program(
            *("shown", SHOW, "/etc/map/place", "--name=$(NAME)"),
            container=container,
            volumes=[{"name": "map", "configMap": {"name": "map"}}],
        ),
    )
    await scene.phase("shown", "Succeeded")
    shown = json.loads(scene.machine.log("shown").splitlines()[-1])
    variables = shown["variables"]
    ip = (await scene.get("shown"))["status"]["podIP"]
    assert Path(variables.pop("FILE")).parts[-2:] == ("map", "place")
    assert variables == {
        "FROM_MAP": "here",
        "FROM_SECRET": "w",
        "ALL_PLACE": "up",
        "NAME": "shown",
        "IP": ip,
        "JOINED": "shown/here/$(UNKNOWN)",
    }
    assert (shown["file"], shown["argument"]) == ("here", "--name=shown")
    review = await scene.api.post(
        "/apis/authentication.k8s.io/v1/tokenreviews",
        {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": {"token": shown["token"]},
        },
    )
    user = review["status"]["user"]["username"]
    assert user == f"system:serviceaccount:{scene.namespace}:default"


@scenario
async def test_a_pod_waits_for_its_config_map(scene: Scene) -> None:
    reference = {"configMapKeyRef": {"name": "late", "key": "word"}}
    env = [{"name": "WORD", "valueFrom": reference}]
    await scene.create(
        program("waits", "import os; print(os.environ['WORD'])", container={"env": env})
    )
    waiting = await scene.until_pod("waits", "it gives the reason", reason_of_waiting)
    assert waiting == {
        "reason": "CreateContainerConfigError",
        "message": 'configmap "late" not found',
    }
    await scene.create(stored("ConfigMap", "late", word="now"))
    await scene.phase("waits", "Succeeded")
    assert "now" in scene.machine.log("waits")


def reason_of_waiting(found: Object) -> Any:
    for each in found["status"].get("containerStatuses", ()):
        waiting = each["state"].get("waiting", {})
        if waiting.get("message"):
            return waiting
    return None


HEALTH = """
import os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(500 if os.path.exists("ill" + self.path.replace("/", "-")) else 200)
        self.end_headers()
host, port = sys.argv[1].split(":")
print("started", flush=True)
HTTPServer((host, int(port)), Handler).serve_forever()
"""


def test_readiness_follows_its_probe_and_a_failing_liveness_starts_the_container_again(
    place: Place, tmp_path: Path
) -> None:
    def probe(path: str) -> Object:
        call = {"path": path, "port": "health"}
        return {"httpGet": call, "periodSeconds": 1, "failureThreshold": 1}

    container = {
        "ports": [{"name": "health", "containerPort": 8080}],
        "startupProbe": probe("/live"),
        "livenessProbe": probe("/live"),
        "readinessProbe": probe("/ready"),
        "volumeMounts": [{"name": "host", "mountPath": "/host"}],
    }
    volume = {"name": "host", "hostPath": {"path": str(tmp_path)}}

    async def story(scene: Scene) -> None:
        code = f"import os; os.chdir('/host')\n{HEALTH}"
        await scene.create(
            program(
                *("p", code, ":8080"), container=container, volumes=[volume], restartPolicy="Always"
            )
        )
        await scene.machine.runs(scene.namespace)
        (tmp_path / "ill-ready").touch()
        await scene.until_pod("p", "it is not ready", lambda found: not ready(found))
        (tmp_path / "ill-ready").unlink()
        await scene.machine.runs(scene.namespace)
        (tmp_path / "ill-live").touch()
        await scene.until_log("p", "Liveness probe failed: HTTP status 500")
        (tmp_path / "ill-live").unlink()
        await scene.until_pod("p", "it has started again", lambda found: restarts(found) == 1)
        await scene.machine.runs(scene.namespace)
        assert scene.machine.log("p").count("started") == 2

    asyncio.run(play(place, story))


def ready(found: Object) -> bool:
    return all(each["ready"] for each in found["status"].get("containerStatuses", ()))


def restarts(found: Object) -> int:
    return sum(each["restartCount"] for each in found["status"].get("containerStatuses", ()))


LAST_WORDS = """
import signal, sys, time
def end(*_):
    print("last words", flush=True)
    if sys.argv[1] == "ends":
        sys.exit(0)
signal.signal(signal.SIGTERM, end)
print("runs", flush=True)
while True:
    time.sleep(0.1)
"""


@scenario
async def test_a_deleted_pod_ends_within_its_grace_period(scene: Scene) -> None:
    for name in ("ends", "stays"):
        await scene.create(program(name, LAST_WORDS, name))
    for name, grace in (("ends", 30), ("stays", 1)):
        await scene.until_log(name, "runs")
        path = path_of("Pod", scene.namespace, name)
        await scene.api.delete(path, gracePeriodSeconds=grace)
        await scene.machine.until(f"{name} is gone", scene.api.is_gone(path))
        assert "last words" in scene.machine.log(name)


@scenario(labels={"zone": "a"}, gpus=2)
async def test_a_pod_waits_for_a_node_that_its_selector_allows(scene: Scene) -> None:
    for zone in ("b", "a"):
        await scene.create(program(f"in-{zone}", "", nodeSelector={"zone": zone}))
    await scene.phase("in-a", "Succeeded")
    assert "nodeName" not in (await scene.get("in-b"))["spec"]
    machine = await scene.api.get(path_of("Node", name="machine"))
    assert machine["status"]["allocatable"]["nvidia.com/gpu"] == "2"


# ---- services ------------------------------------------------------------------------------------

WEBHOOK = """
import json, os, ssl, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
folder, address = sys.argv[1:]
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer({})
    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status = {"message": "refused by " + os.environ["HOSTNAME"]}
        response = {"uid": review["request"]["uid"], "allowed": False, "status": status}
        kind = {name: review[name] for name in ("apiVersion", "kind")}
        self.answer({**kind, "response": response})
    def answer(self, body):
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
host, port = address.split(":")
server = ThreadingHTTPServer((host, int(port)), Handler)
tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
tls.load_cert_chain(folder + "/tls.crt", folder + "/tls.key")
server.socket = tls.wrap_socket(server.socket, server_side=True)
server.serve_forever()
"""


@scenario
async def test_a_webhook_reaches_the_ready_pods_of_its_service(scene: Scene) -> None:
    space = scene.namespace
    pair = make_server(scene.cluster.pki, f"hook.{space}", f"hook.{space}.svc")
    texts = dict(zip(("tls.crt", "tls.key"), (each.read_text() for each in pair), strict=True))
    container = {
        "ports": [{"name": "https", "containerPort": 8443}],
        "readinessProbe": {"httpGet": {"path": "/", "port": "https", "scheme": "HTTPS"}},
        "volumeMounts": [{"name": "pair", "mountPath": "/pair"}],
    }
    volume = {"name": "pair", "secret": {"secretName": "pair"}}
    made = program("", WEBHOOK, "/pair", ":8443", container=container, volumes=[volume])
    await scene.create(
        stored("Secret", "pair", **texts),
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "hook"},
            "spec": {"selector": {"app": "hook"}, "ports": [{"port": 443, "targetPort": "https"}]},
        },
        workload("Deployment", "hook", made, replicas=2),
    )
    pods = await scene.machine.runs(space, "app=hook", count=2)
    authority = base64.b64encode((scene.cluster.pki / "ca.crt").read_bytes()).decode()
    service = {"namespace": space, "name": "hook", "path": "/"}
    only_here = {"matchLabels": {"kubernetes.io/metadata.name": space}}
    hook = webhook(
        *("hook.kai.test", {"service": service, "caBundle": authority}, "configmaps"),
        namespaceSelector=only_here,
    )
    await scene.api.create(registration("Validating", space, hook))
    try:
        answers = await scene.machine.until("both answer", lambda: both_answer(scene))
        assert answers == {each["metadata"]["name"] for each in pods}
        await scene.api.patch(path_of("Deployment", space, "hook"), {"spec": {"replicas": 0}})
        await scene.machine.until("it is refused", lambda: is_refused(scene))
    finally:
        path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
        await scene.api.delete(f"{path}/{space}")


async def refusal(scene: Scene) -> str:
    try:
        await scene.create(stored("ConfigMap", f"m-{uuid4().hex[:8]}"))
    except ApiError as error:
        return error.message
    return ""


async def both_answer(scene: Scene) -> set[str]:
    found = {(await refusal(scene)).rpartition("refused by ")[2] for _ in range(8)}
    return found if len(found) == 2 and "" not in found else set()


async def is_refused(scene: Scene) -> bool:
    return "failed calling webhook" in await refusal(scene)


# ---- what goes wrong -----------------------------------------------------------------------------


def test_a_program_that_dies_shows_its_output(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    async def story(scene: Scene) -> None:
        code = "raise SystemExit('the disk is full')"
        await scene.create(program("dies", code, restartPolicy="Always"))
        await scene.until_pod("dies", "it has started again", lambda found: restarts(found) >= 1)
        await scene.machine.runs(scene.namespace, seconds=0)

    with pytest.raises(AssertionError, match="not within 0 s: 1 pods"):
        asyncio.run(play(place, story))
    assert "--- dies, container main:\nthe disk is full\n" in capsys.readouterr().err


def test_a_field_that_the_machine_lacks_ends_the_test(place: Place) -> None:
    async def story(scene: Scene) -> None:
        probe = {"livenessProbe": {"exec": {"command": ["true"]}}}
        await scene.create(program("odd", "import time; time.sleep(60)", container=probe))
        await scene.machine.runs(scene.namespace, "app=never")

    with pytest.raises(MachineError, match="livenessProbe does not use httpGet"):
        asyncio.run(play(place, story))


def test_no_process_is_left_when_a_test_fails(place: Place) -> None:
    pids: list[int] = []

    async def story(scene: Scene) -> None:
        code = "import os, time; print('pid', os.getpid(), flush=True); time.sleep(600)"
        await scene.create(program("long", code))
        await scene.until_log("long", "pid")
        pids.append(int(scene.machine.log("long").split()[-1]))
        raise KeyError("wrong")

    with pytest.raises(KeyError, match="wrong"):
        asyncio.run(play(place, story))
    assert [start_time(each) for each in pids] == [None]


SESSION = """\
import asyncio, os, signal
from pathlib import Path
from testcluster.machine.containers import Process
from testcluster.machine.images import OURS


async def main():
    where = {"folder": Path("."), "log": Path("log")}
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
    await Process.start(["python", "-c", code], OURS, environment=OURS.environment, **where)
    while not Path("log").read_text():
        await asyncio.sleep(0.02)
    os.kill(os.getpid(), signal.SIGKILL)


asyncio.run(main())
"""


def test_a_process_ends_when_the_session_of_its_test_is_killed(tmp_path: Path) -> None:
    here = {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", SESSION], cwd=tmp_path, env=here)
    assert done.returncode == -signal.SIGKILL
    pid = int((tmp_path / "log").read_text())

    async def ended() -> None:
        while start_time(pid) is not None:
            await asyncio.sleep(0.02)

    asyncio.run(asyncio.wait_for(ended(), 10))
