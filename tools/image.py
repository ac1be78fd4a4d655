"""Makes the container image of kai-sched, without a container daemon: `make image`.

    tools/image.py                   an OCI layout in build/image/oci, the same as one file in
                                     dist/, and the list of its packages (SPDX) beside that file
    tools/image.py --layers FOLDER   only the files of its layers, FOLDER/base and FOLDER/kai; the
                                     Dockerfile copies them

The layer "base" has what kai needs: files of Debian packages, and Python packages at the versions
of tools/requirements-dev.txt. The layer "kai" has the wheel of dist/. There is no shell and no
package manager in them. No script of a package runs, so root is not needed.

The same commit, Debian packages and Python packages give the same bytes: names are sorted, and
times are those of the commit (or SOURCE_DATE_EPOCH). Needs Debian 12, whose Python and glibc are in
the image; elsewhere use the Dockerfile. apt's package lists and the packages are kept in
~/.cache/kai-sched/image, Python packages in pip's cache.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import NoReturn

from image_files import PYTHON, base_layer, kai_layer
from image_layout import Image, write_layout
from image_packages import spdx

from kai import __version__
from kai.install.manifests import default_image

ROOT = Path(__file__).resolve().parents[1]
LAYOUT = ROOT / "build" / "image" / "oci"
DIST = ROOT / "dist"
PROCESS = {
    "User": "10000",
    "Env": ["PATH=/usr/local/bin:/usr/bin"],
    "Entrypoint": ["/usr/local/bin/kai"],
    "Cmd": ["--help"],
}
"""How the image is started; the Dockerfile has the same."""


def fail(message: str) -> NoReturn:
    sys.exit(f"image: {message}")


def check_machine() -> None:
    release = Path("/etc/os-release")
    lines = release.read_text().splitlines() if release.exists() else []
    if not {"ID=debian", 'VERSION_ID="12"'}.issubset(lines):
        fail("this is not Debian 12, whose Python and glibc are in the image; run: docker build .")
    if not (found := platform.python_version()).startswith(f"{PYTHON}."):
        fail(
            f"the image has Python {PYTHON}, but .venv has {found};"
            " run: make image PYTHON=/usr/bin/python3"
        )


def the_wheel() -> Path:
    tag = f"cp{PYTHON.replace('.', '')}"
    found = sorted(DIST.glob(f"kai_sched-{__version__}-{tag}-*.whl"))
    if len(found) != 1:
        fail(f"dist/ has {len(found)} wheels of kai-sched {__version__} for {tag}; run: make wheel")
    return found[0]


def git(*command: str) -> str:
    done = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip()  # "" without Git


def labels(source: str) -> dict[str, str]:
    known = {
        "title": "kai-sched",
        "version": __version__,
        "licenses": "Apache-2.0",
        "revision": git("describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"),
        "source": source,
    }
    return {f"org.opencontainers.image.{name}": value for name, value in known.items() if value}


def created() -> str:
    """The time of the commit, as RFC 3339."""
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct") or 0)
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def make_layers(folder: Path) -> list[Path]:
    """The folders of the layers, the lowest one first."""
    base, kai = folder / "base", folder / "kai"
    for each in (base, kai):
        if each.exists():
            fail(f"{each} exists; choose an empty folder")
    wheel = the_wheel()
    base_layer(base)
    kai_layer(kai, wheel, base)
    return [base, kai]


def make_image(source: str) -> None:
    architecture = subprocess.check_output(["dpkg", "--print-architecture"], text=True).strip()
    shutil.rmtree(LAYOUT, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        layers = make_layers(Path(folder))
        image = Image(default_image(), architecture, created(), PROCESS, labels(source))
        archive = DIST / f"kai-sched-{__version__}-{architecture}.oci.tar"
        digest = write_layout(image, layers, LAYOUT, archive)
        listed = spdx(image, layers, digest)
    packages = archive.with_name(archive.name.replace(".oci.tar", ".spdx.json"))
    packages.write_text(json.dumps(listed, indent=1) + "\n")
    print(f"{image.name} {digest}")
    print(f"{archive.relative_to(ROOT)}: {archive.stat().st_size / 1e6:.1f} MB")
    print(f"{packages.relative_to(ROOT)}: {len(listed['packages']) - 1} packages")


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description="Makes the container image of kai-sched.")
    parser.add_argument("--layers", type=Path, metavar="FOLDER", help="make only the layers there")
    parser.add_argument("--source", metavar="URL", default="", help="where the source code is")
    options = parser.parse_args(arguments)
    check_machine()
    try:
        if options.layers:
            make_layers(options.layers)
        else:
            make_image(options.source)
    except subprocess.CalledProcessError as error:
        fail(f"this command failed: {shlex.join(map(str, error.cmd))}")


if __name__ == "__main__":
    main(sys.argv[1:])
