"""Snapshots in every kind of archive, whole and broken."""

import gzip
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

import kai
from kai.api import files
from kai.snapshot import archive


def small() -> kai.Cluster:
    return kai.Cluster().queue("a").node("n1", gpus=2).pending("a/job", gpus=1)


def as_json(**more: Any) -> bytes:
    return json.dumps({**more, **small().to_snapshot()}).encode()


def as_zip(data: bytes, name: str = "snapshot.json") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        # Dated 1980: the bytes are in the names of tests.
        file.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        as_json(),
        as_zip(as_json()),
        as_zip(as_json(), "folder/snapshot.json"),
        as_zip(as_json(), "other.json"),
        gzip.compress(as_json()),
        b"\xef\xbb\xbf" + as_json(),
        as_json(config={"actions": "allocate"}, discovery={"resources": [{"a": [1, 2]}]}),
    ],
)
def test_a_snapshot_is_found_in_any_archive_format(data: bytes) -> None:
    assert len(kai.load(data).objects["pods"]) == 1


def test_a_snapshot_without_an_archive_is_not_copied() -> None:
    data = as_json()
    found = archive.find_snapshot(data)
    assert found is not None
    assert found.data is data


def test_a_recorded_case_has_a_snapshot_and_a_time() -> None:
    case = {
        "id": "x",
        "about": "a",
        "now": "2024-01-01T00:00:00Z",
        "snapshot": small().to_snapshot(),
    }
    cluster = kai.load(json.dumps(case).encode())
    assert len(cluster.objects["pods"]) == 1
    assert cluster.now is not None
    assert cluster.now.year == 2024
    assert kai.load(json.dumps(case).encode(), now="2030-01-01T00:00:00Z").now.year == 2030  # type: ignore[union-attr]


def test_a_recorded_case_needs_no_time_and_a_snapshot() -> None:
    snapshot = {"rawObjects": {"nodes": [{"metadata": {"name": "n\u00e9"}}]}}
    loaded = kai.load(json.dumps({"snapshot": snapshot, "id": "x"}).encode())
    assert loaded.now is None
    assert loaded.to_snapshot() == snapshot
    with pytest.raises(kai.InvalidInputError, match="JSON"):
        kai.load(b'{"snapshot": {"rawObjects": {"nodes": [}}}')
    assert archive.find_snapshot(json.dumps({"other": snapshot}).encode()) is None
    assert archive.find_snapshot(json.dumps({"snapshot": [snapshot]}).encode()) is None


@pytest.mark.parametrize(
    "value",
    [
        {"kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"rawObjects": "no"}},
        {"kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"x": '{"rawObjects": {}}'}},
    ],
)
def test_manifests_with_the_word_snapshot_are_manifests(value: dict[str, Any]) -> None:
    assert archive.find_snapshot(json.dumps(value).encode()) is None


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (as_zip(as_json())[:-30], "not a complete zip archive"),
        (as_zip(as_json())[:60], "not a complete zip archive"),
        (b"PK\x03\x04", "not a complete zip archive"),
        (as_zip(b"x", "readme.txt"), "has no snapshot.json"),
        (gzip.compress(as_json())[:-20], "not a complete gzip file"),
        (as_json()[:-10], "not valid JSON|cut short|ends"),
        (as_json()[:200], "not valid JSON|cut short|ends"),
        (b"", "is neither a Kubernetes object nor a KAI snapshot"),
        (b"just words", "is neither a Kubernetes object nor a KAI snapshot"),
        (b"\x89PNG\r\n\x1a\n", "not text"),
        (b'{"rawObjects": ' + b"[" * 100_000, "nested|deep|JSON"),
    ],
)
def test_an_unreadable_file_raises_one_sentence(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "input"
    path.write_bytes(data)
    with pytest.raises(kai.InvalidInputError, match=message) as caught:
        kai.load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_a_damaged_archive_is_refused(tmp_path: Path) -> None:
    data = bytearray(as_zip(as_json()))
    data[len(data) // 3] ^= 0xFF
    with pytest.raises(kai.InvalidInputError, match="cut short or damaged"):
        kai.load(bytes(data))


def test_an_archive_that_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LARGEST", 100)
    with pytest.raises(kai.InvalidInputError, match="kai reads at most 100"):
        kai.load(as_zip(as_json()))
    with pytest.raises(kai.InvalidInputError, match="unpacks to more than the 100 bytes"):
        kai.load(gzip.compress(as_json()))
