"""Findings in the formats of other programs: annotations of GitHub, and SARIF."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from kai.linting.codes import CODES

if TYPE_CHECKING:
    from kai.linting.text import Located

Found = Mapping[str, Sequence["Located"]]
"""Findings by file."""


def github(found: Found) -> str:
    """One workflow command of GitHub Actions per finding, which annotates a pull request."""
    lines = []
    for name, findings in found.items():
        for each in findings:
            finding = each.finding
            where = ", ".join(part for part in (finding.object, finding.path) if part)
            text = "\n".join(part for part in (finding.message, where, finding.fix) if part)
            about = f"file={_property(name)},line={each.line},title={_property(finding.code)}"
            lines.append(f"::{finding.severity} {about}::{_data(text)}\n")
    return "".join(lines)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def sarif(found: Found, version: str) -> dict[str, Any]:
    """All findings as one SARIF 2.1.0 log; `version` is the version of kai."""
    codes = sorted({each.finding.code for findings in found.values() for each in findings})
    results = [
        {
            "ruleId": each.finding.code,
            "ruleIndex": codes.index(each.finding.code),
            "level": each.finding.severity,
            "message": {"text": f"{each.finding.message}; {each.finding.fix}"},
            "locations": [_location(name, each)],
        }
        for name, findings in found.items()
        for each in findings
    ]
    rules = [{"id": code, "shortDescription": {"text": CODES[code]}} for code in codes]
    driver = {"name": "kai lint", "version": version, "rules": rules}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
        ],
    }


def _location(name: str, each: Located) -> dict[str, Any]:
    place: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": quote(name.replace("\\", "/"))},
            "region": {"startLine": each.line},
        }
    }
    logical = [part for part in (each.finding.object, each.finding.path) if part]
    if logical:
        place["logicalLocations"] = [{"fullyQualifiedName": ", ".join(logical)}]
    return place
