"""What is in the image, and that making it again gives the same bytes."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from testcluster.bundle import Bundle

import kai

ROOT = Path(__file__).parents[3]
MOST_MB = 60.0


@pytest.fixture
def archive() -> Path:
    [found] = ROOT.glob(f"dist/kai-sched-{kai.__version__}-*.oci.tar")
    return found


def digest(layout: Path) -> str:
    [entry] = json.loads((layout / "index.json").read_text())["manifests"]
    return str(entry["digest"])


def files(bundle: Bundle) -> list[Path]:
    found = [path for path in bundle.root.rglob("*") if path.is_file() and not path.is_symlink()]
    assert len(found) > 1000
    return found


def test_the_image_is_small(archive: Path) -> None:
    assert archive.stat().st_size / 1e6 <= MOST_MB


@pytest.mark.parametrize("form", ["oci-archive", "docker-archive"])
def test_other_tools_read_the_archive(form: str, archive: Path, tmp_path: Path) -> None:
    if shutil.which("skopeo") is None:
        pytest.skip("skopeo is not installed: run tools/setup.sh image")
    command = ["skopeo", "--insecure-policy", "copy", "--quiet"]
    subprocess.run([*command, f"{form}:{archive}", f"oci:{tmp_path}/copy:1"], check=True)
    copied = ["skopeo", "inspect", f"oci:{tmp_path}/copy:1"]
    found = json.loads(subprocess.check_output(copied))
    assert found["Labels"]["org.opencontainers.image.version"] == kai.__version__
    assert len(found["Layers"]) == 2


def test_there_is_no_shell_and_no_program_with_more_rights_than_its_user(bundle: Bundle) -> None:
    executables = {
        str(path.relative_to(bundle.root))
        for path in files(bundle)
        if path.parent.name in {"bin", "sbin", "games"}
    }
    assert executables == {"usr/bin/python3.11", "usr/local/bin/kai"}
    assert not [
        path for path in files(bundle) if path.stat().st_mode & (stat.S_ISUID | stat.S_ISGID)
    ]


def test_every_library_that_a_program_needs_is_there(bundle: Bundle) -> None:
    names = {path.name for path in bundle.root.rglob("*.so*")}
    missing = {}
    for path in files(bundle):
        with path.open("rb") as file:
            if file.read(4) != b"\x7fELF":
                continue
            for section in ELFFile(file).iter_sections():
                if isinstance(section, DynamicSection):
                    tags = [tag for tag in section.iter_tags() if tag.entry.d_tag == "DT_NEEDED"]
                    if lacking := {tag.needed for tag in tags} - names:
                        missing[path.name] = lacking
    assert not missing


def test_every_module_is_compiled(bundle: Bundle) -> None:
    """A program cannot write to the file system, so it would compile them at each start."""
    sources = [path for path in files(bundle) if path.suffix == ".py"]
    assert not [
        path
        for path in sources
        if not (path.parent / "__pycache__" / f"{path.stem}.cpython-311.pyc").exists()
    ]


def python(bundle: Bundle, code: str) -> subprocess.CompletedProcess[str]:
    """Runs code with the Python of the image."""
    command = replace(bundle, entrypoint=["/usr/bin/python3.11", "-c"]).command(code)
    return subprocess.run(command, capture_output=True, text=True)


def test_programs_cannot_write_files(bundle: Bundle) -> None:
    """So the tests of the programs are as strict as a pod with a read-only root."""
    done = python(bundle, "open('/tmp/file', 'w')")
    assert "Read-only file system: '/tmp/file'" in done.stderr


def test_certificates_of_public_servers_are_trusted(bundle: Bundle) -> None:
    code = "import ssl; print(ssl.create_default_context().cert_store_stats()['x509_ca'])"
    assert int(python(bundle, code).stdout) > 100


def test_schedules_know_time_zones(bundle: Bundle) -> None:
    code = "import zoneinfo; print(zoneinfo.ZoneInfo('Europe/Berlin'))"
    assert python(bundle, code).stdout == "Europe/Berlin\n"


def test_no_file_names_a_folder_of_this_machine(bundle: Bundle) -> None:
    folders = [os.fsencode(each) for each in (ROOT, sys.prefix, Path.home() / ".cache")]
    assert not [path for path in files(bundle) if any(f in path.read_bytes() for f in folders)]


def test_the_list_of_packages_names_what_was_installed(archive: Path, bundle: Bundle) -> None:
    path = archive.with_name(archive.name.replace(".oci.tar", ".spdx.json"))
    document = json.loads(path.read_text())
    found = {each["name"]: each["versionInfo"] for each in document["packages"]}
    assert found["kai-sched"] == kai.__version__
    status = bundle.root / "var/lib/dpkg/status.d"
    assert {each.name for each in status.iterdir()} <= found.keys()
    modules = bundle.root.glob("usr/local/lib/python3.11/dist-packages/*.dist-info")
    assert {each.name.split("-")[0].lower().replace("_", "-") for each in modules} <= found.keys()
    assert any("absl" in name for name in found), "a library inside kai's wheel"


def test_every_package_has_its_licence(bundle: Bundle) -> None:
    """Debian's in usr/share/doc, also that of kai and of the libraries in its compiled module;
    Python's in their dist-info folders."""
    documents = bundle.root / "usr/share/doc"
    status = bundle.root / "var/lib/dpkg/status.d"
    lacking = [each.name for each in status.iterdir() if not has_text(documents / each.name)]
    sites = bundle.root / "usr/local/lib/python3.11/dist-packages"
    lacking += [each.name for each in sites.glob("*.dist-info") if not has_text(each)]
    assert lacking == []
    assert (bundle.root / "usr/share/common-licenses/Apache-2.0").exists()
    shipped = {each.name for each in (documents / "kai-sched/licenses").iterdir()}
    assert shipped == {each.name for each in (ROOT / "licenses").iterdir()}
    assert (documents / "kai-sched/LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def has_text(folder: Path) -> bool:
    """Of a licence; empty files are none."""
    names = ("copyright", "licen[cs]e*", "licenses/**/*", "LICEN[CS]E*", "COPYING*", "NOTICE*")
    found = [path for name in names for path in folder.glob(name)]
    return any(path.is_file() and path.stat().st_size > 100 for path in found)


@pytest.mark.timeout(1800)
def test_another_folder_gives_the_same_image(layout: Path, tmp_path: Path) -> None:
    """From the compiler to the archive. The clone has the changes that are not committed."""
    clone = tmp_path / "elsewhere"
    subprocess.run(["git", "clone", "--quiet", "--shared", str(ROOT), str(clone)], check=True)
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.check_output(listed, cwd=ROOT, text=True).split("\0")[:-1]:
        if (ROOT / name).is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, clone / name)
        else:
            (clone / name).unlink()
    (clone / ".venv").symlink_to(ROOT / ".venv")
    env = {**os.environ, "PYTHONPATH": str(clone / "python")}
    for command in (["tools/wheel.sh"], [".venv/bin/python", "tools/image.py"]):
        subprocess.run(command, cwd=clone, env=env, check=True)
    assert digest(clone / "build/image/oci") == digest(layout)
