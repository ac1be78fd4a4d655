"""`kai run all` while its token expires and a new one is available."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from testcluster import Cluster, Match, Scene, play

PLUGIN = """\
import json, pathlib, sys
token = pathlib.Path(sys.argv[1]).read_text()
status = {"token": token}
print(json.dumps({
    "kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1", "status": status,
}))
"""


def by_file(token: Path) -> dict[str, Any]:
    return {"tokenFile": str(token)}


def by_plugin(token: Path) -> dict[str, Any]:
    program = token.with_name("plugin.py")
    program.write_text(PLUGIN)
    return {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": [str(program), str(token)],
            "interactiveMode": "Never",
        }
    }


@pytest.mark.parametrize("user", [by_file, pytest.param(by_plugin, marks=pytest.mark.cluster_slow)])
def test_a_token_expires_in_the_middle_of_the_fill(
    cluster: Cluster, namespace: str, tmp_path: Path, user: Any
) -> None:
    """The old token gets 401 from some time on, and the watches that it opened are cut."""
    token = tmp_path / "token"
    token.write_text(cluster.token("admin"))

    def with_token_of(scene: Scene) -> Path:
        config = json.loads(cluster.kubeconfig_of(server=scene.proxy.url).read_text())
        config["users"][0]["user"] = user(token)
        path = tmp_path / "kubeconfig"
        path.write_text(json.dumps(config))
        return path

    async def story(scene: Scene) -> None:
        await scene.nodes(20)
        await scene.start(kubeconfig=with_token_of(scene))
        await scene.pods(60)
        await scene.bound(20)
        old = Match(headers={"Authorization": cluster.token("admin")})
        expired = scene.proxy.answer(old, 401, "the token has expired")
        await expired.hit()
        await asyncio.sleep(1)  # the next token is late
        token.write_text(await scene.api.service_account_token(namespace))
        scene.proxy.cut_open()
        await scene.pods(100, "next")
        await scene.is_well(bound=160)

    allow(cluster, namespace)
    try:
        asyncio.run(play(cluster, namespace, tmp_path, story))
    finally:
        cluster.kubectl("delete", "clusterrolebinding", namespace)


def allow(cluster: Cluster, namespace: str) -> None:
    """The namespace's default service account gets all rights."""
    account = f"--serviceaccount={namespace}:default"
    role = "--clusterrole=cluster-admin"
    cluster.kubectl("create", "clusterrolebinding", namespace, role, account)
