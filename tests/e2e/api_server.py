"""An API server, spoken to through kubectl."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Manifest = Mapping[str, Any]


class RefusedError(Exception):
    """The API server's own words."""


class ApiServer:
    def __init__(self, kubeconfig: str) -> None:
        self._command = ["kubectl", "--kubeconfig", kubeconfig]

    def run(self, *arguments: str, text: str | None = None) -> str:
        done = subprocess.run(
            [*self._command, *arguments], input=text, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RefusedError(done.stderr)
        return done.stdout

    def create(self, *manifests: Manifest, dry_run: bool = False) -> list[dict[str, Any]]:
        """The objects as the server keeps them. A field that it does not know is refused; with
        `dry_run` the server goes through all of it and keeps nothing."""
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [*map(plain, manifests)]})
        how = ["--validate=strict", *(["--dry-run=server"] if dry_run else [])]
        said = self.run("create", *how, "--output=json", "--filename=-", text=text)
        made = json.loads(said)
        return list(made["items"]) if made["kind"] == "List" else [made]

    def apply(self, *manifests: Manifest) -> None:
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [*map(plain, manifests)]})
        self.run("apply", "--server-side", "--filename=-", text=text)

    def delete(self, manifests: Iterable[Manifest]) -> None:
        for each in manifests:
            kind = f"{each['kind']}.{each['apiVersion'].replace('/', '.')}"
            self.run("delete", "--wait=false", "--ignore-not-found", kind, each["metadata"]["name"])


def plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, (list, tuple)) else value


def eventually(is_so: Callable[[], bool], seconds: float = 30) -> None:
    """What takes effect soon after the server has heard of it."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.2)
