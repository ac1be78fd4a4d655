"""Finding cases: by folder, by content, in an archive; a clear message for all other input."""

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from kai.verify.cases import Case, CaseError, default_cases, in_area, read_cases

SNAPSHOT: dict[str, Any] = {"snapshot": {"rawObjects": {}}}
CASE = {"id": "a-1", **SNAPSHOT, "expect": {"kind": "cycle"}}
RANDOM = {"id": "r-1", **SNAPSHOT, "expect": {"bind": {}}}
LARGE = {"id": "l-1", **SNAPSHOT, "observed": {}}
TABLE = {"about": "?", "cases": [{"id": "t-1"}, {"id": "t-2"}]}


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    for path, content in {
        "cases/reclaim/a-1.json": CASE,
        "random/fairness/r-1.json": RANDOM,
        "large/l-1.json": LARGE,
        "tables/queue-order.json": TABLE,
        "example.json": {},
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(json.dumps(content))
    return tmp_path


FOUND = [
    ("cases/reclaim", "case", "a-1"),
    ("random/fairness", "random", "r-1"),
    ("large", "large", "l-1"),
]


def test_the_folders_of_a_collection_are_read(collection: Path) -> None:
    found = read_cases([collection])
    assert [(case.area, case.kind, case.id) for case in found] == FOUND
    assert [case.data["id"] for case in found] == [each[2] for each in FOUND]


def test_an_archive_has_the_same_cases(collection: Path) -> None:
    archive = collection / "copy.tar.xz"
    with tarfile.open(archive, "w:xz") as packed:
        for folder in ("cases", "random", "large", "tables"):
            packed.add(collection / folder, folder)
    assert [(case.area, case.kind, case.id) for case in read_cases([archive])] == FOUND


def test_single_files_are_recognized_by_their_folder(collection: Path) -> None:
    (found,) = read_cases([collection / "cases" / "reclaim" / "a-1.json"])
    assert found.area == "cases/reclaim"


@pytest.mark.parametrize(
    ("content", "kind"), [(CASE, "case"), (RANDOM, "random"), (LARGE, "large")]
)
def test_a_file_elsewhere_is_recognized_by_its_content(
    tmp_path: Path, content: dict[str, Any], kind: str
) -> None:
    (tmp_path / "mine.json").write_text(json.dumps(content))
    (found,) = read_cases([tmp_path])
    assert found.kind == kind


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (json.dumps(TABLE), "not a recorded case: it has no snapshot with rawObjects"),
        ("{", "not JSON: "),
        ("[1]", "not a recorded case but a list"),
        ("{}", "not a recorded case: it has no snapshot with rawObjects"),
        (json.dumps(SNAPSHOT), "not a recorded case: it has neither 'expect' nor 'observed'"),
        ("[" * 100_000, "not JSON: "),
    ],
)
def test_other_files_are_refused_in_one_sentence(
    tmp_path: Path, content: str, sentence: str
) -> None:
    path = tmp_path / "mine.json"
    path.write_text(content)
    with pytest.raises(CaseError) as caught:
        read_cases([path])
    assert str(caught.value).startswith(f"{path}: {sentence}")


def test_an_unreadable_file_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="no such file or directory"):
        read_cases([tmp_path / "none"])
    with pytest.raises(CaseError, match="the directory has no cases"):
        read_cases([tmp_path])
    (tmp_path / "cut.tar.xz").write_bytes(b"\xfd7zXZ\x00\x00")
    with pytest.raises(CaseError, match="this archive cannot be read"):
        read_cases([tmp_path / "cut.tar.xz"])


def test_an_environment_variable_sets_the_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KAI_CONFORMANCE", str(tmp_path))
    assert default_cases() == tmp_path


def test_the_default_is_the_copy_of_the_checkout(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("KAI_CONFORMANCE", raising=False)
    assert len(read_cases([default_cases()])) == 985


@pytest.mark.parametrize("wanted", ["cases/reclaim", "reclaim", "cases"])
def test_an_area_may_be_named_by_any_part_of_its_path(wanted: str) -> None:
    assert in_area(Case("x", "cases/reclaim", "case", "x.json", dict), wanted)
    assert not in_area(Case("x", "random/fairness", "random", "x.json", dict), wanted)
