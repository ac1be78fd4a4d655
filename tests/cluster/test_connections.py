"""A real API server's answers to wrong credentials and addresses, in one sentence each; cases
without an API server are in tests/unit/service/test_connections.py."""

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from testcluster import Cluster, install, temporary_cluster

from kai.cli import main

Given = Callable[[Cluster, Path], Path]


def changed(cluster: Cluster, folder: Path, user: Mapping[str, str] | None, server: str) -> Path:
    config = json.loads(cluster.kubeconfig.read_text())
    if user is not None:
        config["users"][0]["user"] = dict(user)
    config["clusters"][0]["cluster"]["server"] = server
    path = folder / "config"
    path.write_text(json.dumps(config))
    return path


def expired(cluster: Cluster, folder: Path) -> Path:
    """A client certificate, signed by the cluster's own authority, that expired yesterday."""
    key, request, certificate = (str(folder / name) for name in ("key", "csr", "crt"))
    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key)
    authority = ("-CA", str(cluster.pki / "ca.crt"), "-CAkey", str(cluster.pki / "ca.key"))
    for command in (
        ("req", "-new", *new, "-subj", "/O=system:masters/CN=old", "-out", request),
        ("x509", "-req", "-in", request, *authority, "-days", "-1", "-out", certificate),
    ):
        subprocess.run(["openssl", *command], check=True, capture_output=True)
    user = {"client-certificate": certificate, "client-key": key}
    return changed(cluster, folder, user, cluster.server)


WRONG: dict[str, tuple[Given, str]] = {
    "plain": (
        lambda c, folder: changed(c, folder, None, c.server.replace("https", "http")),
        "Client sent an HTTP request to an HTTPS server",
    ),
    "token": (
        lambda c, folder: changed(c, folder, {"token": "wrong"}, c.server),
        "refuses the credentials of user (context test of ",
    ),
    "expired": (expired, "refuses the credentials of user (context test of "),
    "no rights": (
        lambda c, folder: c.kubeconfig_of("other"),
        ": user other-under-test may not list nodes, pods, podgroups, queues, priorityclasses",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_the_response_of_the_server_is_one_sentence(
    cluster: Cluster, tmp_path: Path, capfd: pytest.CaptureFixture[str], wrong: str
) -> None:
    install(cluster)
    given, sentence = WRONG[wrong]
    status = main(["plan", "--live", "--kubeconfig", str(given(cluster, tmp_path))])
    out, err = capfd.readouterr()
    assert out == ""
    assert sentence in err
    assert err.count("\n") == 1
    assert status == (3 if wrong == "plain" else 2)


def test_missing_kinds_name_the_command_that_installs_them(
    programs: Mapping[str, Path], capfd: pytest.CaptureFixture[str]
) -> None:
    with temporary_cluster(found=programs) as bare:
        given = ["plan", "--live", "--kubeconfig", str(bare.kubeconfig)]
        assert main(given) == 2
        _, err = capfd.readouterr()
        assert "no podgroups.scheduling.run.ai; to add them: kai install --crds-only |" in err
        install(bare)
        assert main(given) == 0
