"""Tests on a real API server, for behaviour that only it can show. Opt-in: KAI_E2E_KUBECONFIG names
the kubeconfig of a cluster that may be written to, from Kubernetes 1.36 on; kubectl is required."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "properties")]

from api_server import ApiServer, Manifest  # noqa: E402


@pytest.fixture(scope="session")
def api_server() -> ApiServer:
    kubeconfig = os.environ.get("KAI_E2E_KUBECONFIG")
    if kubeconfig is None:
        pytest.skip("KAI_E2E_KUBECONFIG names no kubeconfig of a cluster to test with")
    if shutil.which("kubectl") is None:
        pytest.skip("there is no kubectl")
    return ApiServer(kubeconfig)


@pytest.fixture
def namespace(api_server: ApiServer) -> Iterator[Callable[..., str]]:
    """Creates namespaces with the given labels."""
    made: list[Manifest] = []

    def make(**labels: str) -> str:
        name = f"e2e-{uuid4().hex[:8]}"
        metadata = {"name": name, "labels": labels}
        made.append({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        api_server.create(made[-1])
        return name

    yield make
    api_server.delete(made)
