"""The packages in the image's layers, as an SPDX 2.3 document.

Debian's packages are read from their metadata in the layers, Python's from their dist-info folders,
and libraries inside Python packages, such as Abseil in kai, from the CycloneDX lists there.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from email import message_from_string
from pathlib import Path
from typing import Any
from urllib.parse import quote

from image_files import CONTROL, SITE
from image_layout import Image

UNKNOWN = "NOASSERTION"
COPYRIGHT_LICENSE = re.compile(r"^License: *(\S.*)$", re.MULTILINE)


@dataclass(frozen=True, order=True)
class Package:
    url: str
    """Its package URL (purl), which is unique."""
    name: str
    version: str
    license: str = UNKNOWN
    """An SPDX expression."""
    comment: str = ""
    """The licences as the package names them, if that is not an SPDX expression."""


def spdx(image: Image, layers: Sequence[Path], digest: str) -> dict[str, Any]:
    name, _, version = image.name.rpartition(":")
    url = f"pkg:oci/{name}@{quote(digest)}?arch={image.architecture}"
    whole = Package(url, name, version, image.labels["org.opencontainers.image.licenses"])
    inside = sorted({package for layer in layers for package in packages_of(layer)})
    parts = [describe(package) for package in inside]
    top = {**describe(whole), "primaryPackagePurpose": "CONTAINER"}
    ids = [part["SPDXID"] for part in parts]
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": image.name,
        "documentNamespace": uuid.uuid5(uuid.NAMESPACE_URL, url).urn,
        "creationInfo": {"created": image.created, "creators": ["Tool: kai-sched-make-image"]},
        "packages": [top, *parts],
        "relationships": [
            relationship("SPDXRef-DOCUMENT", "DESCRIBES", top["SPDXID"]),
            *(relationship(top["SPDXID"], "CONTAINS", part) for part in ids),
        ],
    }


def packages_of(layer: Path) -> Iterator[Package]:
    for control in layer.glob(f"{CONTROL}/*"):
        yield debian_package(control, layer)
    for folder in layer.glob(f"{SITE}/*.dist-info"):
        yield python_package(folder / "METADATA")
        for listed in folder.glob("sboms/*.json"):
            for part in json.loads(listed.read_text())["components"]:
                if not part["purl"].startswith("pkg:pypi/"):  # the package itself
                    yield library(part)


def debian_package(control: Path, layer: Path) -> Package:
    fields = message_from_string(control.read_text())
    name, version, architecture = fields["Package"], fields["Version"], fields["Architecture"]
    url = f"pkg:deb/debian/{quote(name)}@{quote(version)}?arch={architecture}&distro=debian-12"
    text = (layer / f"usr/share/doc/{name}/copyright").read_text(errors="replace")
    licenses = COPYRIGHT_LICENSE.findall(text) if text.startswith("Format:") else ()
    return Package(url, name, version, comment="; ".join(sorted(set(licenses))))


def python_package(metadata: Path) -> Package:
    fields = message_from_string(metadata.read_text())
    name, version = re.sub(r"[-_.]+", "-", fields["Name"]).lower(), fields["Version"]
    classifiers = [
        each.rpartition(" :: ")[2]
        for each in fields.get_all("Classifier", ())
        if each.startswith("License :: ")
    ]
    written = (fields["License"] or "").partition("\n")[0]  # some have the whole text there
    return Package(
        f"pkg:pypi/{name}@{quote(version)}",
        name,
        version,
        fields["License-Expression"] or UNKNOWN,
        "" if fields["License-Expression"] else "; ".join(classifiers) or written,
    )


def library(component: Mapping[str, Any]) -> Package:
    """From a component of a CycloneDX list."""
    licenses = [
        each["expression"] for each in component.get("licenses", ()) if "expression" in each
    ]
    of = (component["purl"], component["name"], component["version"])
    return Package(*of, *licenses[:1])


def describe(package: Package) -> dict[str, Any]:
    identity = uuid.uuid5(uuid.NAMESPACE_URL, package.url).hex[:12]
    described = {
        "SPDXID": f"SPDXRef-{re.sub('[^A-Za-z0-9.-]', '-', package.name)}-{identity}",
        "name": package.name,
        "versionInfo": package.version,
        "downloadLocation": UNKNOWN,
        "filesAnalyzed": False,
        "licenseConcluded": UNKNOWN,
        "licenseDeclared": package.license,
        "copyrightText": UNKNOWN,
        "externalRefs": [
            {
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": package.url,
            }
        ],
    }
    return {**described, "licenseComments": package.comment} if package.comment else described


def relationship(of: str, kind: str, to: str) -> dict[str, str]:
    return {"spdxElementId": of, "relationshipType": kind, "relatedSpdxElement": to}
