"""Whether the guard is in force in a container, and files that are none of the guard's."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kai.runtime import NotGuarded, detect, guard, guarded, limit


@pytest.fixture
def container(tmp_path: Path) -> dict[str, str]:
    """The variables of a container as the webhook creates it, after its init container has run."""
    library, region = tmp_path / "libkaiguard.so", tmp_path / "region"
    library.touch()
    region.touch()
    return {
        "LD_PRELOAD": f"/lib/other.so:{library}",
        "KAI_GUARD_REGION": str(region),
        "KAI_GUARD_LIMIT": "0.5",
    }


def test_before_a_program_uses_a_gpu_the_file_is_empty_and_the_guard_in_force(
    container: dict[str, str],
) -> None:
    found = guard(environ=container)
    assert (found.in_force, found.why_not, found.isolation) == (True, "", "guard")
    assert (found.limit, found.devices) == ("0.5", ())
    assert bool(found)


def test_a_container_without_the_guard(container: dict[str, str]) -> None:
    del container["KAI_GUARD_REGION"]
    found = guard(environ=container)
    assert "KAI_GUARD_REGION is not set" in found.why_not
    assert (found.isolation, found.devices) == ("none", None)
    assert guard(environ={"CUDA_DEVICE_MEMORY_LIMIT": "4g"}).isolation == "hamicore"
    assert guard(environ={"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": "0=4G"}).isolation == "mps"


def test_a_library_that_was_not_copied_is_not_in_force(container: dict[str, str]) -> None:
    library = container["LD_PRELOAD"].partition(":")[2]
    os.unlink(library)
    found = guard(environ=container)
    assert (found.in_force, found.isolation) == (False, "none")
    assert found.why_not.startswith(f"{library} does not exist")
    # So a framework is limited to half of the device, not to all of what CUDA reports.
    with pytest.warns(RuntimeWarning):
        done = limit("nothing", environ={**container, "GPU_PORTION": "0.5"}, totals_mib=[10000])
    assert (done.isolation, done.budgets_mib) == ("none", (5000,))


def test_a_library_that_is_there_and_not_loaded_is_not_in_force(
    container: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in container.items():
        monkeypatch.setenv(name, value)
    found = guard()
    assert "is not loaded into this process" in found.why_not


def no_file(path: Path) -> None:
    path.unlink()


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def other_text(path: Path) -> None:
    path.write_text("hello")


@pytest.mark.parametrize("change", [folder, pipe, other_text])
def test_a_file_that_is_none_of_the_guards_keeps_programs_from_starting(
    container: dict[str, str], change: Callable[[Path], None]
) -> None:
    region = Path(container["KAI_GUARD_REGION"])
    change(region)
    with pytest.raises(NotGuarded, match="not a file of the guard"):
        guarded(region)
    found = guard(environ=container)
    assert (found.in_force, found.isolation, found.devices) == (False, "guard", None)
    assert found.why_not.startswith(f"{region}: not a file of the guard")
    assert found.why_not.endswith(", so programs that use a GPU do not start")
    [said] = [
        each.detail
        for each in detect(environ=container, libraries=(), nvidia_smi=None).evidence
        if each.source == "guard"
    ]
    assert said == f"not in force: {found.why_not}"


def test_no_process_makes_a_missing_file(container: dict[str, str]) -> None:
    region = Path(container["KAI_GUARD_REGION"])
    no_file(region)
    found = guard(environ=container)
    assert (found.in_force, found.isolation, found.devices) == (False, "guard", None)
    assert found.why_not == f"{region} does not exist, so programs that use a GPU do not start"


@pytest.mark.parametrize(
    "limit", ["banana", "1.5", "nan", "-1", ".5", "50%", "16GB", " 0.5", "0x1"]
)
def test_a_limit_that_is_none_keeps_programs_from_starting(
    container: dict[str, str], limit: str
) -> None:
    found = guard(environ={**container, "KAI_GUARD_LIMIT": limit})
    assert (found.in_force, found.isolation) == (False, "guard")
    assert found.why_not.startswith(f"KAI_GUARD_LIMIT is {limit!r}, no limit such as")
    assert found.why_not.endswith(", so programs that use a GPU do not start")


@pytest.mark.parametrize("limit", ["0.25", "0.333333333", "1.0", "0.", "1", "16Gi", "4096Mi"])
def test_a_limit_as_the_library_reads_it(container: dict[str, str], limit: str) -> None:
    found = guard(environ={**container, "KAI_GUARD_LIMIT": limit})
    assert (found.in_force, found.limit) == (True, limit)


@pytest.mark.parametrize("limit", [None, ""])
def test_a_guard_without_a_limit_refuses_nothing(
    container: dict[str, str], limit: str | None
) -> None:
    del container["KAI_GUARD_LIMIT"]
    found = guard(environ=container if limit is None else {**container, "KAI_GUARD_LIMIT": limit})
    assert (found.in_force, found.limit) == (False, None)
    assert "KAI_GUARD_LIMIT is not set" in found.why_not
    assert guard(environ={**container, "KAI_GUARD_LIMITS": "GPU-8216274a=0.5"})


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write every file")
def test_a_file_of_another_user_cannot_count(container: dict[str, str]) -> None:
    os.chmod(container["KAI_GUARD_REGION"], 0o444)
    assert "cannot be written by this user" in guard(environ=container).why_not
