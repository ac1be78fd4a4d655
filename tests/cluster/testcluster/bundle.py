"""An image unpacked on this machine, and its programs as processes without a container runtime.

    bundle = Bundle.unpack(Path("build/image/oci"), tmp_path / "bundle")
    subprocess.run(bundle.command("run", "all", mounts={"/etc/kai": folder}, env={"A": "b"}))

A program's root is the image's file system, read-only as in `kai install`'s Deployments, with /dev
and /proc of this machine. It has the network and the process ids of this machine. With root it runs
as the image's user or as another one; otherwise as the caller, in a user namespace.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import UnavailableError

_MOUNTS = """\
set -e
root=$1; shift
mount --bind "$root" "$root"
mount --rbind /dev "$root/dev"
mount --rbind /proc "$root/proc"
while [ "$1" != -- ]; do mount --bind "$1" "$root$2"; shift 2; done; shift
mount -o remount,bind,ro "$root"
exec "$@"
"""


@dataclass(frozen=True)
class Bundle:
    root: Path
    """The root file system. Mount points are created in it, as a runtime does."""
    entrypoint: Sequence[str]
    env: Mapping[str, str]
    user: str
    labels: Mapping[str, str] = field(repr=False)

    @classmethod
    def unpack(cls, layout: Path, folder: Path) -> Bundle:
        """Unpacks the only image of an OCI layout into the new folder, with umoci.

        Raises:
            UnavailableError: umoci is missing, or this user may not mount.
            CalledProcessError: umoci rejects the layout.
        """
        if shutil.which("umoci") is None:
            raise UnavailableError("umoci is not installed: run tools/setup.sh image")
        namespace = subprocess.run([*_unshared(), "true"], capture_output=True, text=True)
        if namespace.returncode:
            raise UnavailableError(f"this user may not mount: {namespace.stderr.strip()}")
        index = json.loads((layout / "index.json").read_text())
        [entry] = index["manifests"]
        tag = entry["annotations"]["org.opencontainers.image.ref.name"]
        rootless = [] if os.geteuid() == 0 else ["--rootless"]
        command = ["umoci", "unpack", *rootless, "--image", f"{layout}:{tag}", str(folder)]
        subprocess.run(command, check=True)
        manifest = _blob(layout, entry["digest"])
        config = _blob(layout, manifest["config"]["digest"])["config"]
        return cls(
            folder / "rootfs",
            config["Entrypoint"],
            dict(each.split("=", 1) for each in config["Env"]),
            config["User"],
            config["Labels"],
        )

    def command(
        self,
        *arguments: str,
        mounts: Mapping[str, Path] | None = None,
        env: Mapping[str, str] | None = None,
        user: str = "",
    ) -> list[str]:
        """A command line that replaces itself with the image's program, so signals arrive there.

        `mounts`: folders of this machine by their path in the image. `user`: "UID:GID".
        """
        pairs = []
        for inside, outside in (mounts or {}).items():
            (self.root / inside.lstrip("/")).mkdir(parents=True, exist_ok=True)
            pairs += [str(outside), inside]
        variables = [f"{name}={value}" for name, value in {**self.env, **(env or {})}.items()]
        chroot = [shutil.which("chroot") or "/usr/sbin/chroot"]  # `env` has the PATH of the image
        if os.geteuid() == 0:
            chroot += [f"--userspec={user or f'{self.user}:{self.user}'}", "--groups="]
        program = ["env", "-i", *variables, *chroot, str(self.root), *self.entrypoint, *arguments]
        return [*_unshared(), "sh", "-c", _MOUNTS, "sh", str(self.root), *pairs, "--", *program]


def _unshared() -> list[str]:
    own = [] if os.geteuid() == 0 else ["--map-root-user"]
    return ["unshare", *own, "--mount"]


def _blob(layout: Path, digest: str) -> Any:
    return json.loads((layout / "blobs" / digest.replace(":", "/")).read_text())
