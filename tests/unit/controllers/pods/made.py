"""BindRequests for tests."""

from typing import Any


def request(name: str = "a-0", node: str = "n1", **status: Any) -> dict[str, Any]:
    """A BindRequest as on the API server."""
    uid, labels, limit = (status.pop(each, "") for each in ("uid", "labels", "limit"))
    owner = status.pop("owner", f"uid-{name}")
    reference = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": owner}
    metadata = {
        "namespace": "team",
        "name": name,
        "uid": uid or f"request-{name}",
        "resourceVersion": status.pop("version", "1"),
        "ownerReferences": [reference] if owner else [],
        "labels": labels or {"selected-node": node},
    }
    spec: dict[str, Any] = {"podName": name, "selectedNode": node}
    if limit != "":
        spec["backoffLimit"] = limit
    return {"metadata": metadata, "spec": spec, "status": status}
