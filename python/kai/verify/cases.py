"""Cases with known answers: recorded ones, and the project's or a user's own scenarios.

``read_cases(paths)`` takes files and directories:

- a recorded case (``cases/<area>/*.json``, ``random/<family>/*.json``, ``large/*.json``),
- an archive of those (``.tar.xz``), such as the project's own copy,
- scenario files (``*.yaml``), see `kai.verify.scenario`.

A recorded case is read from its file only when it is run. Its folder is its area. Tables of inputs
and results of single functions (``tables/*.json``) are not cases: the project's own tests read
them.
"""

from __future__ import annotations

import io
import json
import os
import tarfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, Literal, TypeVar

from kai.api import files, keys
from kai.errors import InvalidInputError
from kai.snapshot.packed import DAMAGED
from kai.verify.objects import Json

__all__ = ["Case", "CaseError", "default_cases", "find_cases", "in_area", "read_cases"]

Value = TypeVar("Value")
Kind = Literal["case", "random", "large", "scenario"]

FOLDERS: dict[str, Kind] = {"cases": "case", "random": "random", "large": "large"}
TABLES = "tables"  # a folder beside the cases that contains no cases
ARCHIVE = "cases.tar.xz"


class CaseError(InvalidInputError):
    """A file cannot be read, or contains no case.

    Raised by `read_cases` and by reading `Case.data`.
    """


@dataclass(frozen=True)
class Case:
    """One input with a known answer."""

    id: str
    area: str  # "cases/reclaim", "random/fairness", "large", "scenarios"
    kind: Kind
    source: str  # the file or archive member, for messages
    read: Callable[[], Any] = field(repr=False, compare=False)

    @cached_property
    def data(self) -> Any:
        """The content of the case's file; a `Scenario` for a scenario."""
        return self.read()


def read_cases(paths: Iterable[str | os.PathLike[str]]) -> list[Case]:
    """All cases of these files, directories and archives, sorted by area and name.

    Raises CaseError for a path that does not exist and for a file without cases, and
    InvalidInputError for an invalid scenario.
    """
    found, broken = find_cases(paths)
    if broken:
        raise broken[0]
    return found


def find_cases(
    paths: Iterable[str | os.PathLike[str]],
) -> tuple[list[Case], list[InvalidInputError]]:
    """The cases that `read_cases` returns, and the errors of files that cannot be read."""
    found: list[Case] = []
    broken: list[InvalidInputError] = []
    for path in paths:
        for each in _read(path):
            if isinstance(each, Case):
                found.append(each)
            else:
                broken.append(each)
    return sorted(found, key=lambda case: (_rank(case.area), case.area, case.id)), broken


def default_cases() -> Path:
    """The default place of the cases: $KAI_CONFORMANCE, or else the copy in the checkout.

    Raises CaseError if there is neither.
    """
    elsewhere = os.environ.get(keys.CONFORMANCE_ENV)
    if elsewhere:
        return Path(elsewhere)
    checkout = Path(__file__).resolve().parents[3]
    copy = checkout / "tests" / "conformance" / ARCHIVE
    if not copy.exists():
        raise CaseError(
            f"this installation carries no recorded cases: name a file or a directory, or set "
            f"{keys.CONFORMANCE_ENV}"
        )
    return copy


def in_area(case: Case, wanted: str) -> bool:
    """Whether a case is in ``cases/reclaim``, ``reclaim`` or ``cases``."""
    return (
        case.area == wanted
        or case.area.startswith(f"{wanted}/")
        or case.area.rpartition("/")[2] == wanted
    )


def _rank(area: str) -> int:
    order = ("cases", "random", "large", "scenarios")
    first = area.partition("/")[0]
    return order.index(first) if first in order else len(order)


# --- files ---------------------------------------------------------------------------------------


def _read(path: str | os.PathLike[str]) -> Iterator[Case | InvalidInputError]:
    if not os.fspath(path):  # Path("") would be the current directory
        yield CaseError("the name of a file or directory is empty")
    elif os.path.isdir(path):
        yield from _read_directory(Path(path))
    elif not os.path.lexists(path):
        yield CaseError(f"{path}: no such file or directory")
    else:
        yield from _read_file(Path(path))


def _read_directory(root: Path) -> Iterator[Case | InvalidInputError]:
    """The cases in the known folders of a collection, or in any other directory."""
    folders = [root / name for name in FOLDERS if (root / name).is_dir()]
    found = sorted(
        file
        for folder in folders or [root]
        for file in folder.rglob("*")
        if file.suffix in (".json", ".yaml", ".yml") and file.is_file()
    )
    if not found:
        yield CaseError(f"{root}: the directory has no cases")
    for file in found:
        yield from _read_file(file)


def _read_file(path: Path) -> Iterator[Case | InvalidInputError]:
    try:
        if path.name.endswith((".tar.xz", ".tar.gz", ".tar")):
            yield from _read_archive(path)
        elif path.suffix in (".yaml", ".yml"):
            yield from _read_scenarios(path)
        else:
            data = files.read(path)
            yield _recorded(PurePosixPath(path.resolve().as_posix()), str(path), _ready(data))
    except OSError as error:
        yield CaseError(f"{path}: {files.why_unreadable(error)}")
    except CaseError as error:
        yield error
    except InvalidInputError as error:
        yield CaseError(f"{path}: {error}")


def _read_scenarios(path: Path) -> Iterator[Case | InvalidInputError]:
    from kai.verify.scenario import Scenario, scenarios_in

    for each in scenarios_in(path):
        if isinstance(each, Scenario):
            yield Case(each.name, "scenarios", "scenario", str(path), _ready(each))
        else:
            yield each


def _read_archive(path: Path) -> Iterator[Case]:
    members: dict[str, bytes] = {}
    left = files.LARGEST
    try:
        with tarfile.open(fileobj=io.BytesIO(files.read(path))) as archive:
            for member in archive:
                left -= member.size
                if left < 0:
                    raise files.too_large("it unpacks to more", files.LARGEST)
                if member.isfile() and (content := archive.extractfile(member)) is not None:
                    members[member.name] = content.read()
    except InvalidInputError as error:
        raise CaseError(f"{path}: {error}") from None
    except (*DAMAGED, tarfile.TarError) as error:
        message = str(error).partition("\n")[0]
        raise CaseError(f"{path}: this archive cannot be read: {message}") from None
    for name in sorted(members):
        place = PurePosixPath(name)
        if place.suffix == ".json" and place.parent.name != TABLES:
            yield _recorded(place, f"{path}:{name}", _ready(members[name]))


def _ready(value: Value) -> Callable[[], Value]:
    return lambda: value


# --- recorded cases ------------------------------------------------------------------------------


def _recorded(path: PurePosixPath, source: str, text: Callable[[], bytes]) -> Case:
    """The case of one JSON file. Its kind follows from its folder, or else from its content."""
    folder, parent = path.parent.name, path.parent.parent.name
    if folder == "large" or parent in ("cases", "random"):
        kind = FOLDERS[parent] if parent in ("cases", "random") else "large"
        area = f"{parent}/{folder}" if kind != "large" else "large"
        return Case(path.stem, area, kind, source, lambda: _checked(text(), source, kind))
    value = _parse(text(), source)
    kind = _kind(value, source)
    give_owners(value)
    area = {"case": "cases/files", "random": "random/files"}.get(kind, kind)
    return Case(str(value.get("id") or path.stem), area, kind, source, _ready(value))


def _parse(text: bytes, source: str) -> Json:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CaseError(f"{source}: not JSON: {error}") from None
    if not isinstance(value, dict):
        raise CaseError(f"{source}: not a recorded case but a {type(value).__name__}")
    return value


def _checked(text: bytes, source: str, kind: Kind) -> Json:
    value = _parse(text, source)
    if _kind(value, source) != kind:
        raise CaseError(f"{source}: not a recorded case of this kind")
    give_owners(value)
    return value


def give_owners(case: Json) -> None:
    """Gives each pod without an owner a controller, so that consolidation may move it.

    The recorded cases have no owners, as KAI does not read them; most of their pods are members of
    gangs, which only controllers create.
    """
    for pod in case["snapshot"]["rawObjects"].get("pods") or ():
        if isinstance(pod, dict) and isinstance(metadata := pod.get("metadata"), dict):
            owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "recorded"}
            metadata.setdefault("ownerReferences", [{**owner, "controller": True}])


def _kind(value: Json, source: str) -> Kind:
    expect = value.get("expect")
    snapshot = value.get("snapshot")
    if not isinstance(snapshot, dict) or not isinstance(snapshot.get("rawObjects"), dict):
        raise CaseError(f"{source}: not a recorded case: it has no snapshot with rawObjects")
    if isinstance(expect, dict):
        return "case" if "kind" in expect else "random"
    if isinstance(value.get("observed"), dict):
        return "large"
    raise CaseError(f"{source}: not a recorded case: it has neither 'expect' nor 'observed'")
