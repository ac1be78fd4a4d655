"""Kubeconfigs for the API server of a test cluster."""

import json
from collections.abc import Mapping


def kubeconfig(
    server: str,
    authority: Mapping[str, str],
    user: Mapping[str, str],
    namespace: str = "default",
) -> str:
    """The content of the file. `authority`: the member of a cluster with its certificate authority,
    `user`: credentials."""
    config = {  # JSON, which every reader of YAML accepts
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": {"server": server, **authority}}],
        "users": [{"name": "user", "user": dict(user)}],
        "contexts": [
            {"name": "test", "context": {"cluster": "test", "user": "user", "namespace": namespace}}
        ],
        "current-context": "test",
    }
    return json.dumps(config, indent=1) + "\n"
