"""Finds the five programs of a cluster, and builds them at their first use.

Programs in the folder KUBEBUILDER_ASSETS are used first. The others are built from the pinned Go
module in tests/cluster/programs, as one executable with five names, and stored in
~/.cache/kai-sched/cluster (XDG_CACHE_HOME is respected), under a hash of all inputs of the build.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from .errors import ClusterError, UnavailableError

NAMES = ("etcd", "kube-apiserver", "kube-controller-manager", "kubectl", "kwok")
SERVER_NAMES = ("kube-apiserver", "kube-controller-manager")
HERE = Path(__file__).resolve().parents[1]
MODULE = HERE / "programs"
OLDER_MODULE = HERE / "programs-1.34"  # kube-apiserver and kube-controller-manager only
PROGRESS = HERE.parents[1] / "tools" / "progress.py"
FLAGS = ("-mod=readonly", "-buildvcs=false", "-trimpath")
USUAL_S = 360


def find(*, older: bool = False) -> Mapping[str, Path]:
    """The path of each program; with `older`, the server and its controllers are those of 1.34.

    Raises:
        UnavailableError: some are missing, and there is no Go or it cannot download modules.
        ClusterError: the build fails.
    """
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    found = _in_folder(Path(assets)) if assets else {}
    if older:
        found |= built(OLDER_MODULE, SERVER_NAMES)
    if set(NAMES) - found.keys():
        found = built(MODULE, NAMES) | found
    return found


def _in_folder(folder: Path) -> dict[str, Path]:
    found = {name: shutil.which(name, path=str(folder)) for name in NAMES}
    return {name: Path(path).absolute() for name, path in found.items() if path}


def built(module: Path, names: tuple[str, ...]) -> dict[str, Path]:
    """Programs of a Go module, from the cache or built now.

    Raises:
        UnavailableError: there is no Go, or it cannot download modules.
        ClusterError: the build fails.
    """
    if shutil.which("go") is None:
        raise UnavailableError(
            "the programs of the test cluster are missing: install Go 1.26 or newer, which builds"
            " them, or name their folder in KUBEBUILDER_ASSETS"
        )
    folder = cache() / _key(module)
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _locked(folder.with_suffix(".lock")):
            if not folder.exists():  # no other process built it meanwhile
                _build(module, names, folder)
    return {name: folder / name for name in names}


def cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "kai-sched" / "cluster"


def _key(module: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted([*module.glob("*.go"), module / "go.mod", module / "go.sum"]):
        digest.update(file.read_bytes())
    digest.update(_go(module, "version").encode())
    digest.update(" ".join(FLAGS).encode())
    return digest.hexdigest()[:16]


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Only one process at a time builds; the lock is released when its process ends."""
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build(module: Path, names: tuple[str, ...], folder: Path) -> None:
    _go(module, "list", "-deps", ".")  # downloads what is missing
    version = _go(module, "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes").strip()
    scratch = folder.with_suffix(f".{os.getpid()}")
    scratch.mkdir()
    try:
        command = ["go", "build", *FLAGS, "-ldflags", f"-s -w {_stamp(version)}"]
        log = folder.with_suffix(".log")
        label = f"building the programs of the test cluster, {version}"
        done = subprocess.run(
            [
                *(sys.executable, str(PROGRESS), "--usually", str(USUAL_S), "--log", str(log)),
                *(label, "--", *command, "-o", str(scratch / "programs"), "."),
            ],
            cwd=module,
            env=_go_environment(),
        )
        if done.returncode:
            raise ClusterError(f"{label} failed:\n{log.read_text()[-2000:]}")
        for name in names:
            (scratch / name).symlink_to("programs")
        scratch.rename(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _stamp(version: str) -> str:
    """Linker options that put the version into the programs; without them the server calls itself
    v0.0.0-master."""
    base = "k8s.io/component-base/version"
    minor = version.split(".")[1]
    values = {
        f"{base}.gitVersion": version,
        f"{base}.gitMajor": "1",
        f"{base}.gitMinor": minor,
        f"{base}.gitTreeState": "clean",
    }
    return " ".join(f"-X {name}={value}" for name, value in values.items())


def _go(module: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["go", *arguments], cwd=module, env=_go_environment(), capture_output=True, text=True
    )
    if done.returncode:
        *_, reason = (done.stderr or done.stdout or "no reason given").strip().splitlines()
        raise UnavailableError(f"the programs of the test cluster cannot be built here: {reason}")
    return done.stdout


def _go_environment() -> dict[str, str]:
    # Static programs: the same on every machine, and no C compiler is needed.
    return {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"}
