"""Finds the five programs of a cluster, and Helm, and builds them at their first use.

Programs in the folder KUBEBUILDER_ASSETS are used first. The others are built from the pinned Go
module in tests/cluster/programs, as one executable with five names, Helm from the one in
tests/chart/helm. They are stored in ~/.cache/kai-sched/cluster (XDG_CACHE_HOME is respected), under
a hash of all inputs of the build.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .errors import ClusterError, UnavailableError

NAMES = ("etcd", "kube-apiserver", "kube-controller-manager", "kubectl", "kwok")
SERVER_NAMES = ("kube-apiserver", "kube-controller-manager")
HERE = Path(__file__).resolve().parents[1]
PROGRESS = HERE.parents[1] / "tools" / "progress.py"
FLAGS = ("-mod=readonly", "-buildvcs=false", "-trimpath")


@dataclass(frozen=True)
class Module:
    """A Go module, and the programs that are built from one of its packages.

    `versioned`: the module whose version is theirs. `variables`: those that the linker sets, with
    {version}, {major} and {minor} of `kubernetes`. `usual_s`: how long the build takes.
    """

    folder: Path
    names: tuple[str, ...]
    variables: Mapping[str, str]
    package: str = "."
    versioned: str = "k8s.io/kubernetes"
    kubernetes: str = "k8s.io/kubernetes"
    usual_s: int = 360


_COMPONENT, _HELM = "k8s.io/component-base/version", "helm.sh/helm/v3"
_VERSION = {  # without them the server calls itself v0.0.0-master
    f"{_COMPONENT}.gitVersion": "{version}",
    f"{_COMPONENT}.gitMajor": "{major}",
    f"{_COMPONENT}.gitMinor": "{minor}",
    f"{_COMPONENT}.gitTreeState": "clean",
}
CLUSTER = Module(HERE / "programs", NAMES, _VERSION)
OLDER = Module(HERE / "programs-1.34", SERVER_NAMES, _VERSION)
HELM = Module(
    HERE.parent / "chart/helm",
    ("helm",),
    {  # the Kubernetes of `helm template` and `helm lint`, otherwise 1.20
        f"{_HELM}/internal/version.version": "{version}",
        **{
            f"{_HELM}/pkg/{where}.k8sVersion{part.title()}": f"{{{part}}}"
            for where in ("chartutil", "lint/rules")
            for part in ("major", "minor")
        },
    },
    package=f"{_HELM}/cmd/helm",
    versioned=_HELM,
    kubernetes="k8s.io/client-go",
    usual_s=60,
)


def find(*, older: bool = False) -> Mapping[str, Path]:
    """The path of each program; with `older`, the server and its controllers are those of 1.34.

    Raises:
        UnavailableError: some are missing, and there is no Go or it cannot download modules.
        ClusterError: the build fails.
    """
    found = _in_assets(NAMES)
    if older:
        found |= built(OLDER)
    if set(NAMES) - found.keys():
        found = built(CLUSTER) | found
    return found


def helm() -> Path:
    """The path of Helm. Raises as `built` does."""
    return (_in_assets(HELM.names) or built(HELM))["helm"]


def _in_assets(names: Iterable[str]) -> dict[str, Path]:
    folder = os.environ.get("KUBEBUILDER_ASSETS")
    found = {name: shutil.which(name, path=folder) if folder else None for name in names}
    return {name: Path(path).absolute() for name, path in found.items() if path}


def built(module: Module) -> dict[str, Path]:
    """The programs of a Go module, from the cache or built now.

    Raises:
        UnavailableError: there is no Go, or it cannot download modules.
        ClusterError: the build fails.
    """
    if shutil.which("go") is None:
        raise UnavailableError(
            "the programs of the test cluster are missing: install Go 1.26 or newer, which builds"
            " them, or name their folder in KUBEBUILDER_ASSETS"
        )
    folder = cache() / _key(module.folder)
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _locked(folder.with_suffix(".lock")):
            if not folder.exists():  # no other process built it meanwhile
                _build(module, folder)
    return {name: folder / name for name in module.names}


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


def _build(module: Module, folder: Path) -> None:
    _go(module.folder, "list", "-deps", module.package)  # downloads what is missing
    version = _version(module.folder, module.versioned)
    scratch = folder.with_suffix(f".{os.getpid()}")
    scratch.mkdir()
    try:
        command = ["go", "build", *FLAGS, "-ldflags", f"-s -w {_stamp(module, version)}"]
        log = folder.with_suffix(".log")
        what = "Helm" if module is HELM else "the programs of the test cluster"
        label = f"building {what}, {version}"
        done = subprocess.run(
            [
                *(sys.executable, str(PROGRESS), "--usually", str(module.usual_s)),
                *("--log", str(log), label, "--", *command),
                *("-o", str(scratch / "programs"), module.package),
            ],
            cwd=module.folder,
            env=_go_environment(),
        )
        if done.returncode:
            raise ClusterError(f"{label} failed:\n{log.read_text()[-2000:]}")
        for name in module.names:
            (scratch / name).symlink_to("programs")
        scratch.rename(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _stamp(module: Module, version: str) -> str:
    """Linker options that put the versions into the programs."""
    _, minor, *_ = _version(module.folder, module.kubernetes).split(".")
    known = {"version": version, "major": "1", "minor": minor}
    values = {name: value.format(**known) for name, value in module.variables.items()}
    return " ".join(f"-X {name}={value}" for name, value in values.items())


def _version(module: Path, name: str) -> str:
    return _go(module, "list", "-m", "-f", "{{.Version}}", name).strip()


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
