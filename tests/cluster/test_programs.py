"""Programs come from KUBEBUILDER_ASSETS, from the cache, or from one build."""

import shutil
import threading
from pathlib import Path

import pytest
from testcluster import ClusterError, UnavailableError, programs

FAKE_GO = """\
#!/bin/sh
case "$1" in
version) echo go9.9 ;;
list) {list} ;;
build)
  echo built >>"{folder}/builds"
  sleep 0.3
  while [ "$1" != -o ]; do shift; done
  {build} >"$2" ;;
esac
"""


def executable(path: Path, text: str = "#!/bin/sh\n") -> None:
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture(autouse=True)
def empty_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No programs, no Go, and an empty cache."""
    (tmp_path / "bin").mkdir()
    for tool in ("sh", "sleep"):
        (tmp_path / "bin" / tool).symlink_to(str(shutil.which(tool)))
    monkeypatch.setenv("PATH", f"{tmp_path}/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)


def install_go(folder: Path, *, list_: str = "echo v1.36.3", build: str = "echo x") -> None:
    executable(folder / "bin" / "go", FAKE_GO.format(folder=folder, list=list_, build=build))


def test_without_programs_and_go_the_reason_is_one_line() -> None:
    with pytest.raises(UnavailableError, match="install Go") as raised:
        programs.find()
    assert "\n" not in str(raised.value)


def test_a_complete_folder_of_programs_needs_no_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in programs.NAMES:
        executable(tmp_path / name)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    assert programs.find() == {name: tmp_path / name for name in programs.NAMES}


def test_missing_programs_are_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_go(tmp_path)
    executable(tmp_path / "etcd")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    found = programs.find()
    assert found["etcd"] == tmp_path / "etcd"
    assert found["kwok"].is_relative_to(tmp_path / "cache")
    assert found["kwok"].read_text() == "x\n"


def test_two_sessions_at_once_build_once(tmp_path: Path) -> None:
    install_go(tmp_path)
    sessions = [threading.Thread(target=programs.find) for _ in range(3)]
    for each in sessions:
        each.start()
    for each in sessions:
        each.join()
    programs.find()
    assert (tmp_path / "builds").read_text() == "built\n"


def test_modules_that_cannot_be_downloaded_are_a_reason_to_skip(tmp_path: Path) -> None:
    install_go(tmp_path, list_="printf 'go: x\\nproxy: no such host\\n' >&2; exit 1")
    with pytest.raises(UnavailableError, match=r"built here: proxy: no such host$"):
        programs.find()


def test_a_build_that_fails_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    install_go(tmp_path, build="echo 'undefined: app'; exit 1; :")
    with pytest.raises(ClusterError, match="failed"):
        programs.find()
    left = (tmp_path / "cache" / "kai-sched" / "cluster").iterdir()
    assert {each.suffix for each in left} == {".lock", ".log"}
