"""The role of `kai install --reader` is enough for what docs/howto/live.md and docs/howto/shadow.md
do, and the kinds that plans can do without are optional."""

import asyncio
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from testcluster import Cluster, Kubectl, install, node, pod, running, until

import kai
from kai.controllers.planning.kinds import NECESSARY
from kai.install import access
from kai.live import rights

PAGE = (Path(__file__).parents[2] / "docs/howto/live.md").read_text()
Object = dict[str, Any]


def role() -> Object:
    """The ClusterRole as it is printed."""
    command = [sys.executable, "-m", "kai", "install", "--reader"]
    return dict(yaml.safe_load(subprocess.run(command, capture_output=True, check=True).stdout))


def commands() -> list[str]:
    """The commands of the page that read a cluster, with the names of this test."""
    section = PAGE.partition("## From the command line")[2].partition("## Rights")[0]
    lines = re.findall(r"^\$ (kai [^#\n]*)", section, re.MULTILINE)
    lines += re.findall(r"^\$ (kai snapshot [^#\n]*--context[^#\n]*)", PAGE, re.MULTILINE)
    of_a_scheduler = ("--from", "plan s.zip")
    return [line.strip() for line in lines if not any(each in line for each in of_a_scheduler)]


@pytest.fixture
def kubectl(cluster: Cluster, namespace: str) -> Kubectl:
    install(cluster)
    made = Kubectl(cluster, namespace)
    made.apply(node("n1", 2), pod("a", namespace), pod("big", namespace, gpus=8))
    until("the node is ready", lambda: is_ready(cluster))
    return made


def is_ready(cluster: Cluster) -> bool:
    shown = json.loads(cluster.kubectl("get", "node", "n1", "-o", "json"))
    conditions = shown["status"].get("conditions", ())
    return any((each["type"], each["status"]) == ("Ready", "True") for each in conditions)


@pytest.fixture
def viewer(cluster: Cluster) -> Iterator[Path]:
    """The kubeconfig of a user with exactly the rights of the role."""
    running.apply(cluster, role())
    subject = ("--clusterrole=kai-reader", "--user=other-under-test")
    cluster.kubectl("create", "clusterrolebinding", "kai-reader", *subject)
    try:
        yield cluster.kubeconfig_of("other", name="viewer.kubeconfig")
    finally:
        cluster.kubectl("delete", "clusterrolebinding/kai-reader", "clusterrole/kai-reader")


def run(viewer: Path, folder: Path, line: str) -> tuple[int, str, str]:
    """A command of the page, as this user."""
    line = re.sub(r"--(context|kubeconfig) \S+", f"--kubeconfig {viewer}", line)
    arguments = shlex.split(line)[1:]
    if str(viewer) not in arguments:
        arguments += ["--kubeconfig", str(viewer)]
    command = [sys.executable, "-m", "kai", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    return done.returncode, done.stdout, done.stderr


def test_the_commands_of_the_page_work_with_its_rights(
    namespace: str, kubectl: Kubectl, viewer: Path, tmp_path: Path
) -> None:
    lines = commands()
    assert len(lines) >= 5
    assert any("snapshot" in each for each in lines)
    for line in (*lines, "kai explain --live vision/train-0"):
        line = line.replace("vision/train-0", f"{namespace}/big")
        line = line.replace("vision/train", f"{namespace}/big")
        status, _, err = run(viewer, tmp_path, line)
        assert (status, err) == (0, ""), line
    with kai.connect(kubeconfig=viewer) as live:
        plan = live.plan()
        assert plan.warnings == ()
        assert [each.pod for each in plan.decisions] == [f"{namespace}/a"]
        assert len(kai.Scheduler().plan(live.snapshot()).decisions) == 1


def test_a_shadow_works_with_these_rights(kubectl: Kubectl, viewer: Path, tmp_path: Path) -> None:
    assert shadow_log(viewer, tmp_path, "pod-grouper").count(" warning ") == 0


def shadow_log(viewer: Path, folder: Path, *roles: str) -> str:
    """The log of a shadow that became ready and was stopped."""

    async def scene() -> str:
        command = [sys.executable, "-m", "kai", "run", "scheduler", *roles, "--shadow"]
        program = await asyncio.create_subprocess_exec(
            *command,
            *("--kubeconfig", str(viewer), "--namespace", "default"),
            stderr=asyncio.subprocess.PIPE,
        )
        assert program.stderr is not None
        log = b""
        try:
            while b": ready" not in log:
                log += await asyncio.wait_for(program.stderr.readline(), 40)
            await asyncio.sleep(2.0)
        finally:
            program.terminate()
            log += await program.stderr.read()
            await program.wait()
        return log.decode()

    return asyncio.run(scene())


def test_the_optional_rights_are_optional(
    cluster: Cluster, namespace: str, kubectl: Kubectl, viewer: Path, tmp_path: Path
) -> None:
    """With only the rules for the kinds that every plan needs: notes and answers."""
    rules = access.in_kubernetes(rights.listed(kind) for kind in NECESSARY)
    necessary = {**role(), "rules": rules}
    cluster.kubectl("replace", "-f", "-", stdin=json.dumps(necessary))
    until("the rights are gone", lambda: not may(cluster, "list", "configmaps"))
    for line in commands():
        line = line.replace("vision/train", f"{namespace}/big")
        status, out, err = run(viewer, tmp_path, line)
        assert status == 0, err
        assert out or "snapshot" in line
        if "--explain" not in line:
            page = " ".join(f"{out} {err}".split())  # a plan has its notes on its page
            assert "user other-under-test may not list " in page
        assert "Traceback" not in err
    status, out, _ = run(viewer, tmp_path, f"kai explain --live {namespace}/big --json")
    data = json.loads(out)
    assert (status, data["waits_for"]) == (0, "node")
    assert len(data["notes"]) == 1
    assert data["layers"]["events"] == {"read": "no: this user may not list events"}
    with kai.connect(kubeconfig=viewer) as live:
        assert [each.pod for each in live.plan().decisions] == [f"{namespace}/a"]
    log = shadow_log(viewer, tmp_path)
    assert "some kinds are left out" in log
    assert "kai install --reader" in log


def may(cluster: Cluster, verb: str, resource: str) -> bool:
    who = ("--as=other-under-test", "--as-group=others-under-test")
    try:
        return cluster.kubectl("auth", "can-i", verb, resource, *who).strip() == "yes"
    except Exception:  # its exit status is 1 for "no"
        return False
