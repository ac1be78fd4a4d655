"""An API server, used through kubectl."""

import json
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Manifest = Mapping[str, Any]


class RefusedError(Exception):
    """A rejection, with the API server's message."""


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
        """The objects as the server stores them. The server rejects unknown fields; with `dry_run`
        it checks everything and stores nothing."""
        how = ["--validate=strict", *(["--dry-run=server"] if dry_run else [])]
        return documents(self._send(manifests, "create", *how, "--output=json"))

    def apply(self, *manifests: Manifest) -> None:
        self._send(manifests, "apply", "--server-side", "--force-conflicts")

    def delete(self, manifests: Iterable[Manifest]) -> None:
        self._send(manifests, "delete", "--wait=false", "--ignore-not-found")

    def _send(self, manifests: Iterable[Manifest], *command: str) -> str:
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [*map(plain, manifests)]})
        return self.run(*command, "--filename=-", text=text)


def documents(text: str) -> list[dict[str, Any]]:
    """Objects in JSON, one after the other."""
    found = []
    while text := text.strip():
        value, end = json.JSONDecoder().raw_decode(text)
        found.append(value)
        text = text[end:]
    return found


def plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, (list, tuple)) else value


def eventually(is_so: Callable[[], bool], seconds: float = 30) -> None:
    """Waits for an effect that follows shortly after a request."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.2)
