"""The files of the image's layers: Debian packages, Python packages and kai."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PINS = ROOT / "tools" / "requirements-dev.txt"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "kai-sched" / "image"

PYTHON = "3.11"
"""The version of Debian 12."""
DEBIAN = (
    *(f"python{PYTHON}-minimal", f"libpython{PYTHON}-minimal", f"libpython{PYTHON}-stdlib"),
    *("libc6", "libgcc-s1", "gcc-12-base", "libstdc++6", "zlib1g"),
    *("libssl3", "libexpat1", "libffi8", "libbz2-1.0", "liblzma5", "libuuid1", "libcrypt1"),
    "ca-certificates",  # for servers outside the cluster: usage data, credential plug-ins
    "base-files",  # the folders, the release for scanners, texts of licences
)
"""Debian packages. What they depend on beyond these is for installing or configuring packages."""

EXTRAS = ("cluster", "numa", "admission")
"""Extras of pyproject.toml that programs in a cluster import."""

LIBRARY = f"usr/lib/python{PYTHON}"
SITE = f"usr/local/lib/python{PYTHON}/dist-packages"
REMOVED = (
    "etc/default", "etc/dpkg", "etc/issue*", "etc/profile.d", "etc/skel", "etc/update-motd.d",
    "etc/ca-certificates", "usr/sbin", "usr/share/base-files", "usr/share/binfmts",
    "usr/share/ca-certificates", "usr/share/doc/*/[!c]*", "usr/share/doc/*/changelog*",
    "usr/share/gcc", "usr/share/gdb", "usr/share/info", "usr/share/lintian", "usr/share/man",
    "usr/lib/binfmt.d", "var/cache/*", "var/lib/*",
    "usr/lib/*/gconv",  # iconv's tables; Python has its own
    # Parts of the standard library for development, and modules whose libraries are not here.
    f"etc/python{PYTHON}",
    *(
        f"{LIBRARY}/{name}"
        for name in ("sitecustomize.*", "curses", "pydoc_data", "sqlite3", "test")
    ),
    *(
        f"{LIBRARY}/lib-dynload/{name}.*.so"
        for name in ("_*test*", "_curses*", "_dbm", "_sqlite3", "nis", "readline", "xx*")
    ),
)  # fmt: skip
"""Files of Debian packages that no program in the image uses, as patterns."""

FILES = {
    "etc/passwd": "root:x:0:0:root:/root:\nkai:x:10000:10000:kai:/:\n",
    "etc/group": "root:x:0:\nkai:x:10000:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
LICENSES = "usr/share/doc/kai-sched"
"""The licence of kai, and those of the libraries in its compiled module, beside those of Debian's
packages."""
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"
SCRIPT = f"#!/usr/bin/python{PYTHON}\nfrom kai.__main__ import run\n\nrun()\n"
CONTROL = "var/lib/dpkg/status.d"
"""A file of metadata for each Debian package; scanners for vulnerabilities read them there."""


def base_layer(base: Path) -> None:
    """Writes Debian's and Python's packages into the new folder `base`."""
    base.mkdir(parents=True)
    archives = download()
    for archive in archives:
        subprocess.run(["dpkg-deb", "--extract", archive, base], check=True)
    certificates = sorted(base.glob("usr/share/ca-certificates/mozilla/*.crt"))
    trusted = "".join(each.read_text() for each in certificates)
    remove(base, REMOVED)
    for path, text in {**FILES, CERTIFICATES: trusted}.items():
        write(base / path, text)
    (base / "usr/lib/ssl").mkdir(parents=True)
    (base / "usr/lib/ssl/cert.pem").symlink_to(f"/{CERTIFICATES}")  # OpenSSL's default
    for archive in archives:
        fields = subprocess.check_output(["dpkg-deb", "--field", archive], text=True)
        write(base / CONTROL / archive.name.split("_")[0], fields)
    install(base, "--constraint", str(PINS), *requirements())
    compile_modules(base, base)


def kai_layer(folder: Path, wheel: Path, base: Path) -> None:
    """Writes kai into the new folder `folder`; `base` has the Python that compiles its modules."""
    install(folder, "--no-deps", str(wheel))
    [licenses] = (folder / SITE).glob("kai_sched-*.dist-info/licenses")
    shutil.copytree(licenses, folder / LICENSES)
    script = folder / "usr/local/bin/kai"
    write(script, SCRIPT)
    script.chmod(0o755)
    compile_modules(folder, base)


def download() -> list[Path]:
    """The Debian packages, as files in the cache. The sources are those of this machine's apt, but
    the lists are our own: they can be updated without root."""
    packages, lists = CACHE / "packages", CACHE / "lists"
    for folder in (packages, lists):
        folder.mkdir(parents=True, exist_ok=True)
    apt = ["apt-get", "-qq", "-o", f"Dir::State::Lists={lists}", "-o", f"Dir::Cache={CACHE}"]
    apt += ["-o", "APT::Sandbox::User=root"]  # the user _apt may not write into the cache
    if subprocess.run([*apt, "update"]).returncode:
        print("image: apt-get update failed; trying with the lists that are here", file=sys.stderr)
    get = ["download", *DEBIAN]
    # Not in the folder of the packages: those that are there would not be listed.
    listed = subprocess.check_output([*apt, "--print-uris", *get], cwd=lists, text=True)
    subprocess.run([*apt, *get], cwd=packages, check=True)
    return sorted(packages / line.split()[1] for line in listed.splitlines())


def requirements() -> list[str]:
    import tomllib  # since Python 3.11; here, so that an older one gets a sentence

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    return [*project["dependencies"], *(one for name in EXTRAS for one in extras[name])]


def install(root: Path, *wanted: str) -> None:
    """Installs Python packages into the root file system `root`, without compiling them."""
    site = root / SITE
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pip += ["--only-binary=:all:", "--no-compile", "--target", str(site)]
    subprocess.run([*pip, *wanted], check=True)
    # Scripts name this machine's Python, records the scripts, and URLs the folder of the wheel.
    remove(site, ("bin", *(f"*.dist-info/{n}" for n in ("RECORD", "direct_url.json", "REQUESTED"))))


def compile_modules(root: Path, base: Path) -> None:
    """Compiles all modules below `root` with the Python of `base`, whose loader is started by name:
    that needs no chroot. One process, as the bytes depend on what a process compiled before."""
    [loader] = base.glob("lib/*/ld-linux-*.so.*")
    libraries = f"{loader.parent}:{base}/usr/lib/{loader.parent.name}"
    python = [str(loader), "--library-path", libraries, str(base / f"usr/bin/python{PYTHON}")]
    folders = [path for name in (LIBRARY, SITE) if (path := root / name).exists()]
    # The compiled file is used without a look at the time of its source.
    options = ["-f", "-q", "-s", str(root), "-p", "/", "--invalidation-mode", "unchecked-hash"]
    home = {"PYTHONHOME": str(base / "usr"), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}
    subprocess.run([*python, "-m", "compileall", *options, *folders], env=home, check=True)


def remove(root: Path, patterns: Sequence[str]) -> None:
    for path in [path for pattern in patterns for path in root.glob(pattern)]:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
