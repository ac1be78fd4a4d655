"""The container image: bytes that depend on the files only, and the list of its packages."""

import io
import json
import os
import re
import shlex
import tarfile
from pathlib import Path
from typing import Any

import image_layout
import image_packages
import pytest
from image_layout import Image, write_layout

DOCKERFILE = Path(__file__).parents[2] / "Dockerfile"
LABEL = "org.opencontainers.image"
IMAGE = Image(
    name="registry.test:5000/kai-sched:1.2",
    architecture="arm64",
    created="2026-01-02T03:04:05Z",
    process={"User": "10000"},
    labels={f"{LABEL}.licenses": "Apache-2.0"},
)


def layer(folder: Path, *, mask: int = 0o022, reverse: bool = False) -> Path:
    """Files with the modes of this umask, created in the opposite order if `reverse`."""
    before = os.umask(mask)
    for name in sorted(("a/one", "a/two", "b"), reverse=reverse):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (folder / "a/two").chmod(0o777 & ~mask)
    (folder / "tmp").mkdir()
    (folder / "tmp").chmod(0o1777)
    os.umask(before)
    return folder


def members(layers: list[Path], tmp_path: Path) -> list[list[tarfile.TarInfo]]:
    write_layout(IMAGE, layers, tmp_path / "oci", tmp_path / "image.tar")
    [manifest] = json.loads((tmp_path / "oci/manifest.json").read_text())
    found = []
    for name in manifest["Layers"]:
        with tarfile.open(tmp_path / "oci" / name) as archive:
            found.append(archive.getmembers())
    return found


def test_files_of_another_time_umask_and_order_give_the_same_digest(tmp_path: Path) -> None:
    one, other = layer(tmp_path / "1"), layer(tmp_path / "2", mask=0o077, reverse=True)
    os.utime(other / "b", (1, 1))
    archives = tmp_path / "1.tar", tmp_path / "2.tar"
    digests = [
        write_layout(IMAGE, [files], tmp_path / f"oci-{files.name}", archive)
        for files, archive in zip((one, other), archives, strict=True)
    ]
    assert digests[0] == digests[1]
    assert archives[0].read_bytes() == archives[1].read_bytes()


def test_all_users_can_read_the_files_and_all_belong_to_root(tmp_path: Path) -> None:
    [found] = members([layer(tmp_path / "files", mask=0o077)], tmp_path)
    assert {each.name: oct(each.mode) for each in found} == {
        "a": "0o755",
        "a/one": "0o644",
        "a/two": "0o755",
        "b": "0o644",
        "tmp": "0o1777",
    }
    assert {(each.uid, each.gid, each.mtime) for each in found} == {(0, 0, 0)}


def test_containerd_and_docker_find_the_name_of_the_image(tmp_path: Path) -> None:
    archive = tmp_path / "image.tar"
    digest = write_layout(IMAGE, [layer(tmp_path / "files")], tmp_path / "oci", archive)
    with tarfile.open(archive) as packed:

        def read(name: str) -> Any:
            content = packed.extractfile(name)
            assert content is not None
            return json.load(io.BytesIO(content.read()))

        [entry], [docker] = read("index.json")["manifests"], read("manifest.json")
        assert entry["digest"] == digest
        assert entry["annotations"]["io.containerd.image.name"] == IMAGE.name
        assert entry["annotations"][f"{LABEL}.ref.name"] == "1.2"
        assert entry["platform"] == {"architecture": "arm64", "os": "linux"}
        assert docker["RepoTags"] == [IMAGE.name]
        config = read(docker["Config"])
        assert config["created"] == IMAGE.created
        assert config["config"] == {**IMAGE.process, "Labels": IMAGE.labels}


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("kai-sched:1", "docker.io/library/kai-sched:1"),
        ("team/kai-sched:1", "docker.io/team/kai-sched:1"),
        ("localhost/kai-sched:1", "localhost/kai-sched:1"),
        ("registry.test/kai-sched:1", "registry.test/kai-sched:1"),
    ],
)
def test_a_kubelet_finds_an_image_whose_name_has_no_registry(name: str, full: str) -> None:
    assert image_layout.full_name(name) == full


def test_the_dockerfile_starts_the_image_as_make_image_does() -> None:
    import image

    text = DOCKERFILE.read_text().replace("\\\n", " ")
    final = text.rpartition("\nFROM ")[2]
    lines = dict(re.findall(r"^(USER|ENV|ENTRYPOINT|CMD|LABEL) +(.*)$", final, re.MULTILINE))
    assert {
        "User": lines["USER"],
        "Env": [lines["ENV"]],
        "Entrypoint": json.loads(lines["ENTRYPOINT"]),
        "Cmd": json.loads(lines["CMD"]),
    } == image.PROCESS
    written = dict(each.split("=", 1) for each in shlex.split(lines["LABEL"]))
    known = image.labels(source="https://example.com/kai")
    assert written.keys() == known.keys()
    assert {name: known[name] for name, text in written.items() if "$" not in text} == {
        name: text for name, text in written.items() if "$" not in text
    }


CONTROL = """\
Package: libdemo1
Version: 1:2.0-3
Architecture: arm64
"""
COPYRIGHT = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/

Files: *
License: Expat

License: GPL-2+
 text
"""
METADATA = """\
Metadata-Version: 2.4
Name: Demo_Tool
Version: 4.5
"""
INSIDE = {
    "components": [
        {"name": "demo_tool", "version": "4.5", "purl": "pkg:pypi/demo_tool@4.5"},
        {"name": "inner", "version": "7", "purl": "pkg:deb/debian/inner@7"},
        {
            "name": "crate",
            "version": "8",
            "purl": "pkg:cargo/crate@8",
            "licenses": [{"expression": "MIT OR Apache-2.0"}],
        },
    ]
}


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    files = {
        "var/lib/dpkg/status.d/libdemo1": CONTROL,
        "usr/share/doc/libdemo1/copyright": COPYRIGHT,
        f"{image_packages.SITE}/Demo_Tool-4.5.dist-info/METADATA": METADATA
        + "License-Expression: MIT\n",
        f"{image_packages.SITE}/Demo_Tool-4.5.dist-info/sboms/auditwheel.cdx.json": json.dumps(
            INSIDE
        ),
        f"{image_packages.SITE}/old-1.dist-info/METADATA": METADATA.replace("Demo_Tool", "old")
        + "Classifier: License :: OSI Approved :: BSD License\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_the_list_has_packages_of_debian_of_python_and_libraries_in_them(packages: Path) -> None:
    document = image_packages.spdx(IMAGE, [packages], image_layout.digest_of(b""))
    whole, *parts = document["packages"]
    assert whole["licenseDeclared"] == "Apache-2.0"
    assert {
        part["externalRefs"][0]["referenceLocator"]: (
            part["licenseDeclared"],
            part.get("licenseComments", ""),
        )
        for part in parts
    } == {
        "pkg:deb/debian/inner@7": ("NOASSERTION", ""),
        "pkg:deb/debian/libdemo1@1%3A2.0-3?arch=arm64&distro=debian-12": (
            "NOASSERTION",
            "Expat; GPL-2+",
        ),
        "pkg:cargo/crate@8": ("MIT OR Apache-2.0", ""),
        "pkg:pypi/demo-tool@4.5": ("MIT", ""),
        "pkg:pypi/old@4.5": ("NOASSERTION", "BSD License"),
    }
    contained = {each["relatedSpdxElement"] for each in document["relationships"]}
    assert contained == {each["SPDXID"] for each in document["packages"]}


def test_the_list_of_the_same_image_is_the_same(packages: Path) -> None:
    once, twice = (image_packages.spdx(IMAGE, [packages], "sha256:1") for _ in range(2))
    assert once == twice
    other = image_packages.spdx(IMAGE, [packages], "sha256:2")
    assert once["documentNamespace"] != other["documentNamespace"]
