"""Renders the chart with Helm, without a cluster.

made = chart.render({"topology": "split"})
made.one("Deployment", "binder")["spec"]["replicas"]
"""

from __future__ import annotations

import copy
import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

CHART = Path(__file__).parents[2] / "charts/kai-sched"
NAMESPACE, RELEASE = "gpu", "mine"
Object = dict[str, Any]
_NOTES = '{{ toYaml (dict "kind" "Notes" "text" (include "kai.notes" .)) }}\n'
_OF_HELM = ("helm.sh/chart", "app.kubernetes.io/instance", "app.kubernetes.io/managed-by")


class RenderError(Exception):
    """Helm refuses the values; the text is what it prints."""


@dataclass(frozen=True)
class Rendered:
    """The objects of a release, and the text that Helm prints afterwards."""

    objects: list[Object]
    notes: str

    def of_kind(self, kind: str) -> list[Object]:
        return [each for each in self.objects if each["kind"] == kind]

    def one(self, kind: str, name: str) -> Object:
        [found] = [each for each in self.of_kind(kind) if each["metadata"]["name"] == name]
        return found

    def pods(self) -> Iterator[Object]:
        """The specification of each pod, those of hooks too."""
        for each in self.objects:
            if each["kind"] in ("Deployment", "DaemonSet", "Job"):
                yield each["spec"]["template"]["spec"]
            elif each["kind"] == "Pod":
                yield each["spec"]

    def container(self, kind: str, name: str) -> Object:
        [found] = self.one(kind, name)["spec"]["template"]["spec"]["containers"]
        return found

    def installed(self) -> list[Object]:
        """The objects that stay: all but the pods of hooks and their rights."""
        queues = [without_hook(each) for each in self.of_kind("Queue")]
        return [*(each for each in self.objects if not is_hook(each)), *queues]


def expanded(args: Iterable[str]) -> list[str]:
    """The arguments as the container gets them."""
    return [each.replace("$(NAMESPACE)", NAMESPACE).replace("$$", "$") for each in args]


def is_hook(manifest: Object) -> bool:
    return "helm.sh/hook" in manifest["metadata"].get("annotations", {})


def without_hook(manifest: Object) -> Object:
    found = copy.deepcopy(manifest)
    for name in ("helm.sh/hook", "helm.sh/hook-weight"):
        found["metadata"]["annotations"].pop(name, None)
    return found


def key(manifest: Object) -> tuple[str, str, str]:
    metadata = manifest["metadata"]
    return manifest["kind"], metadata.get("namespace", ""), metadata["name"]


def without_labels_of_helm(manifest: Object) -> Object:
    found = copy.deepcopy(manifest)
    labels = found["metadata"].get("labels", {})
    for name in _OF_HELM:
        labels.pop(name, None)
    if not labels:
        found["metadata"].pop("labels", None)
    return found


@dataclass(frozen=True)
class Chart:
    """The chart in a folder of its own, with one more template: the notes as an object."""

    helm: Path
    folder: Path

    @classmethod
    def copied(cls, helm: Path, folder: Path) -> Chart:
        copied = folder / "kai-sched"
        shutil.copytree(CHART, copied)  # a link to the definitions becomes a folder
        (copied / "templates/notes-as-object.yaml").write_text(_NOTES)
        return cls(helm, copied)

    def of_older_values(self, folder: Path, values: Mapping[str, Any]) -> Chart:
        """The chart as `helm upgrade --reuse-values` sees it: values of the older chart, in a file
        in `folder`, take the place of values.yaml."""
        copied = self.copied_to(folder)
        (copied.folder / "values.yaml").write_text(yaml.safe_dump(dict(values)))
        return copied

    def copied_to(self, folder: Path) -> Chart:
        """A copy in `folder`, for a test that changes files of it."""
        copied = folder / "kai-sched"
        shutil.copytree(self.folder, copied)
        return Chart(self.helm, copied)

    def run(self, *arguments: str, stdin: str = "") -> str:
        """What Helm prints. Raises RenderError if it fails."""
        done = subprocess.run(
            [str(self.helm), *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            env={**os.environ, "HELM_CACHE_HOME": str(self.folder.parent / "cache")},
        )
        if done.returncode:
            raise RenderError(done.stderr)
        return done.stdout

    def render(
        self,
        values: Mapping[str, Any] | None = None,
        *arguments: str,
        release: str = RELEASE,
        namespace: str = NAMESPACE,
    ) -> Rendered:
        text = self.run(
            *("template", release, str(self.folder), "--namespace", namespace),
            *("--values", "-", *arguments),
            stdin=json.dumps(values or {}),
        )
        objects, notes = [], ""
        for each in yaml.safe_load_all(text):
            if each and each["kind"] == "Notes":
                notes = each["text"]
            elif each:
                objects.append(each)
        return Rendered(objects, notes)
