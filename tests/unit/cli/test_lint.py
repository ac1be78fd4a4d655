"""kai lint: findings with their lines, and fixes where they are certain."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

Run = Callable[..., Any]

RIGHT = """\
apiVersion: v1
kind: Pod
metadata:
  name: p
  labels: {kai.scheduler/queue: test}
  annotations:
    gpu-fraction: "0.5"
spec:
  schedulerName: kai-scheduler
  containers:
  - name: main
"""

WRONG = """\
# The first document is fine.
kind: ConfigMap
metadata: {name: c}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  labels:
    kai.scheduler/queue: test
  annotations:
    kai.scheduler/min-member: "2"   # examples write it so
spec:
  template:
    metadata:
      annotations: {gpu-memory: 5Gi, team: 1e3}
    spec:
      schedulerName: kai-scheduler
      containers:
      - name: main
        resources:
          limits:
            nvidia.com/gpu: 0
"""

WORKFLOW = """\
kind: Workflow
metadata:
  name: w
  labels: {kai.scheduler/queue: test}
spec:
  schedulerName: kai-scheduler
  templates:
  - name: a
    metadata:
      annotations:
        gpu-fraction: "0.5" # half
        other: x
    container: {image: i}
  - name: b
    metadata: {annotations: {gpu-fraction: "0.5", other: x}}
    container: {image: i}
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / f"f{len(list(tmp_path.iterdir()))}.yaml"
        path.write_text(text)
        return path

    return write


def test_a_valid_file_has_no_findings(run: Run, write: Callable[[str], Path]) -> None:
    done = run("lint", write(RIGHT))
    assert (done.status, done.out, done.err) == (0, "All checks passed!\n", "")


def test_findings_have_lines(run: Run, write: Callable[[str], Path]) -> None:
    path = write(WRONG)
    done = run("lint", path)
    assert done.status == 1
    *heads, summary = [line for line in done.out.splitlines() if not line.startswith(" ")]
    assert summary == "Found 3 errors and 1 warning."
    assert [line.removeprefix(f"{path}:").split(": ")[:2] for line in heads] == [
        ["12", "warning min-member-key"],
        ["16", "error gpu-memory-refused"],
        ["16", "error not-text"],
        ["23", "error whole-gpu-beside-fraction"],
    ]
    assert "Job train, metadata.annotations[kai.scheduler/min-member]" in done.out
    assert done.err == "kai: --fix corrects 3 of these\n"


def test_json_has_the_members_of_a_finding(run: Run, write: Callable[[str], Path]) -> None:
    path = write(WRONG)
    found = [json.loads(line) for line in run("lint", path, "--json").out.splitlines()]
    assert found[0] == {
        "file": str(path),
        "line": 12,
        "code": "min-member-key",
        "severity": "warning",
        "object": "Job train",
        "path": "metadata.annotations[kai.scheduler/min-member]",
        "message": "KAI does not read kai.scheduler/min-member, although its examples have it",
        "fix": "write kai.scheduler/batch-min-member, on a Job or JobSet",
        "fixable": True,
    }
    assert [each["line"] for each in found] == [12, 16, 16, 23]


def test_certain_findings_are_fixed(run: Run, write: Callable[[str], Path]) -> None:
    path = write(WRONG)
    done = run("lint", path, "--fix")
    assert done.status == 1
    assert "3 corrected" in done.err
    assert "whole-gpu-beside-fraction" in done.out
    assert "gpu-memory-refused" not in done.out
    changed = [
        (before, after)
        for before, after in zip(WRONG.splitlines(), path.read_text().splitlines(), strict=True)
        if before != after
    ]
    assert changed == [
        (
            '    kai.scheduler/min-member: "2"   # examples write it so',
            '    kai.scheduler/batch-min-member: "2"   # examples write it so',
        ),
        (
            "      annotations: {gpu-memory: 5Gi, team: 1e3}",
            '      annotations: {gpu-memory: "5120", team: "1e3"}',
        ),
    ]


def test_a_container_name_is_added_in_block_and_flow_style(
    run: Run, write: Callable[[str], Path]
) -> None:
    path = write(WORKFLOW)
    assert run("lint", path).status == 1
    assert run("lint", path, "--fix").status == 0
    first, second = yaml.safe_load(path.read_text())["spec"]["templates"]
    expected = {"gpu-fraction": "0.5", "gpu-fraction-container-name": "main", "other": "x"}
    assert first["metadata"]["annotations"] == second["metadata"]["annotations"] == expected


def test_json_is_fixed_as_json(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "pod.json"
    pod = yaml.safe_load(RIGHT)
    pod["metadata"]["annotations"] = {"gpu-memory": "5Gi", "own": 0.5}
    for indent in (None, 2):
        path.write_text(json.dumps(pod, indent=indent))
        assert run("lint", path, "--fix").status == 0
        annotations = json.loads(path.read_text())["metadata"]["annotations"]
        assert annotations == {"gpu-memory": "5120", "own": "0.5"}


def test_windows_line_ends_are_kept(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "pod.yaml"
    text = RIGHT.replace('"0.5"', "0.5").replace("\n", "\r\n")
    path.write_bytes(text.encode())
    assert run("lint", path, "--fix").status == 0
    assert path.read_bytes() == text.replace("0.5", '"0.5"').encode()


def test_findings_in_an_anchor_are_reported(run: Run, write: Callable[[str], Path]) -> None:
    text = RIGHT.replace("annotations:\n    gpu", "annotations: &a\n    gpu").replace(
        '"0.5"', '"1.5"'
    )
    other = text.replace('&a\n    gpu-fraction: "1.5"', "*a").replace("name: p", "name: q")
    both = "kind: List\nitems:\n" + "".join(
        "- " + each.replace("\n", "\n  ").rstrip() + "\n" for each in (text, other)
    )
    done = run("lint", write(both))
    assert done.status == 1
    assert done.out.count("fraction-refused") == 2


def test_strict_counts_warnings(run: Run, write: Callable[[str], Path]) -> None:
    path = write(RIGHT.replace("0.5", "0.125"))
    assert run("lint", path).status == 0
    assert run("lint", path, "--strict").status == 1


def test_queues_are_read_from_all_files(run: Run, write: Callable[[str], Path]) -> None:
    from kai.queues import unlimited

    pod = write(RIGHT)
    queues = write(yaml.safe_dump_all(unlimited("test")))
    others = write(yaml.safe_dump_all(unlimited("other")))
    assert run("lint", pod, queues, "--strict").status == 0
    done = run("lint", pod, others)
    assert (done.status, "warning queue-unknown" in done.out) == (0, True)
    done = run("lint", pod, "--queues", others)
    assert (done.status, "error queue-unknown" in done.out) == (1, True)


def test_other_scheduler_names_and_queue_labels(run: Run, write: Callable[[str], Path]) -> None:
    old = RIGHT.replace("kai.scheduler/queue", "runai/queue").replace("kai-scheduler", "mine")
    path = write(old)
    names = ("--scheduler-name", "mine", "--queue-label-key", "runai/queue")
    assert run("lint", path, "--strict").status == 1
    assert run("lint", path, *names, "--strict").status == 0


def test_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(WRONG.encode()))
    monkeypatch.setattr(sys, "stdin", stdin)
    done = run("lint", "-")
    assert (done.status, done.out.startswith("-:12: ")) == (1, True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: [Pod", "not valid YAML"),
        ("", "contains no object that can be checked"),
        ("a: b\n", "give a Kubernetes manifest"),
        ("- 5\n", "cannot be checked"),
    ],
)
def test_bad_input_is_a_sentence(
    run: Run, write: Callable[[str], Path], text: str, message: str
) -> None:
    good = write(WRONG)
    done = run("lint", write(text), good)
    assert done.status == 2
    assert message in done.err
    assert "min-member-key" in done.out  # the others are checked too


def test_a_missing_file(run: Run, tmp_path: Path) -> None:
    done = run("lint", tmp_path / "nowhere.yaml")
    assert (done.status, "no such file" in done.err) == (2, True)


def test_a_duplicate_key(run: Run, write: Callable[[str], Path]) -> None:
    done = run("lint", write(RIGHT.replace("  name: p\n", "  name: p\n  name: q\n")))
    assert (done.status, "document-unreadable" in done.out) == (1, True)


# ---- directories ---------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "jobs" / "old").mkdir(parents=True)
    (tmp_path / "jobs" / "right.yml").write_text(RIGHT)
    (tmp_path / "jobs" / "old" / "wrong.yaml").write_text(WRONG)
    (tmp_path / "values.yaml").write_text("replicas: 3\n")
    (tmp_path / "package.json").write_text('{"name": "x"}')
    (tmp_path / "notes.txt").write_text("kind: [Pod")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "broken.yaml").write_text("kind: [Pod")
    return tmp_path


def test_a_directory_is_searched_for_files_to_check(run: Run, folder: Path) -> None:
    done = run("lint", folder)
    assert done.status == 1
    assert f"{folder / 'jobs' / 'old' / 'wrong.yaml'}:12: " in done.out
    assert done.err == "kai: --fix corrects 3 of these\n"
    assert run("lint", folder / "values.yaml").status == 2  # a file that is named must be valid


def test_the_current_directory_is_the_default(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert "jobs/old/wrong.yaml:12: " in run("lint").out


@pytest.mark.parametrize("glob", ["old", "wrong.yaml", "jobs/old/*", "*wrong*"])
def test_files_of_directories_can_be_excluded(run: Run, folder: Path, glob: str) -> None:
    done = run("lint", folder, "--exclude", glob)
    assert (done.status, done.out) == (0, "All checks passed!\n")


def test_a_directory_without_files_to_check(run: Run, tmp_path: Path) -> None:
    done = run("lint", tmp_path)
    assert done.status == 0
    assert "contains no files that end in .yaml, .yml, .json" in done.err


def test_an_invalid_file_in_a_directory_is_bad_input(run: Run, folder: Path) -> None:
    (folder / "broken.yaml").write_text("kind: [Pod")
    done = run("lint", folder)
    assert (done.status, "broken.yaml: " in done.err) == (2, True)
    assert "min-member-key" in done.out


# ---- choosing, ignoring --------------------------------------------------------------------------


def codes(out: str) -> list[str]:
    return [json.loads(line)["code"] for line in out.splitlines()]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--select", "not-text"], ["not-text"]),
        (["--select", "not-text,min-member"], ["min-member-key", "not-text"]),
        (["--select", "not", "--select", "min"], ["min-member-key", "not-text"]),
        (["--ignore", "whole-gpu-beside-fraction, not"], ["min-member-key", "gpu-memory-refused"]),
        (["--select", "min-member,not-text", "--ignore", "min-member-key"], ["not-text"]),
    ],
)
def test_codes_can_be_selected_and_ignored(
    run: Run, write: Callable[[str], Path], options: list[str], expected: list[str]
) -> None:
    assert codes(run("lint", write(WRONG), "--json", *options).out) == expected


def test_only_selected_codes_are_fixed(run: Run, write: Callable[[str], Path]) -> None:
    path = write(WRONG)
    run("lint", path, "--fix", "--select", "not-text")
    assert 'team: "1e3"' in path.read_text()
    assert "gpu-memory: 5Gi" in path.read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--select", "queue-cylce"], "--select: there is no code 'queue-cylce'; did you mean"),
        (["--ignore", "que"], "--ignore: there is no code 'que'"),
        (["--fix", "--diff"], "--fix and --diff exclude each other"),
        (["--json", "-o", "sarif"], "--output and --json exclude each other"),
        (["--output-format", "xml"], "'xml' is not one of"),
    ],
)
def test_invalid_options_are_refused(
    run: Run, write: Callable[[str], Path], options: list[str], message: str
) -> None:
    done = run("lint", write(WRONG), *options)
    assert (done.status, done.out) == (2, "")
    assert message in done.err


def marked(line: int, comment: str) -> str:
    lines = WRONG.splitlines()
    lines[line - 1] += f"  # {comment}"
    return "\n".join(lines) + "\n"


def test_a_comment_ignores_findings_of_its_line(run: Run, write: Callable[[str], Path]) -> None:
    whole = ["min-member-key", "gpu-memory-refused", "not-text", "whole-gpu-beside-fraction"]

    def found(text: str) -> list[str]:
        return codes(run("lint", write(text), "--json").out)

    assert found(marked(16, "kai: ignore[not-text]")) == [whole[0], whole[1], whole[3]]
    assert found(marked(16, "kai: ignore[not-text, gpu-memory]")) == [whole[0], whole[3]]
    assert found(marked(16, "kai: ignore")) == [whole[0], whole[3]]
    assert found(marked(16, "meant so; kai: ignore")) == whole  # no comment of ours
    above = WRONG.replace("      annotations: {", "      # kai: ignore[not]\n      annotations: {")
    assert found(above) == [whole[0], whole[1], whole[3]]


def test_a_comment_without_effect_is_a_finding(run: Run, write: Callable[[str], Path]) -> None:
    for line, comment, text in (
        (5, "kai: ignore", "this comment ignores nothing: the line has no findings"),
        (16, "kai: ignore[not-text,queue-cycle]", "ignores queue-cycle, but the line has no"),
        (16, "kai: ignore[not-txt]", "there is no code 'not-txt'; did you mean 'not-text'?"),
    ):
        done = run("lint", write(marked(line, comment)))
        assert f":{line}: warning ignore-unused: " in done.out
        assert text in done.out


def test_ignored_findings_are_not_fixed(run: Run, write: Callable[[str], Path]) -> None:
    path = write(marked(16, "kai: ignore[not-text]"))
    run("lint", path, "--fix")
    assert "team: 1e3}" in path.read_text()


# ---- forms ---------------------------------------------------------------------------------------


def test_a_diff_shows_the_fixes(run: Run, write: Callable[[str], Path]) -> None:
    path = write(WRONG)
    done = run("lint", path, "--diff")
    assert done.status == 1
    lines = done.out.splitlines()
    assert lines[:2] == [f"--- {path}", f"+++ {path}"]
    assert '-    kai.scheduler/min-member: "2"   # examples write it so' in lines
    assert '+    kai.scheduler/batch-min-member: "2"   # examples write it so' in lines
    assert path.read_text() == WRONG
    assert done.err == "kai: --fix corrects 3\n"
    run("lint", path, "--fix")
    assert (run("lint", path, "--diff").status, run("lint", path, "--diff").out) == (0, "")


def test_a_diff_applies(run: Run, write: Callable[[str], Path], tmp_path: Path) -> None:
    import shutil
    import subprocess

    if shutil.which("patch") is None:
        pytest.skip("needs patch")
    for text in (WRONG, WRONG.rstrip("\n"), RIGHT.replace('"0.5"', "0.5")):
        path = write(text)
        done = run("lint", path, "--diff")
        subprocess.run(["patch", str(path)], input=done.out, text=True, check=True)
        patched = path.read_text()
        path.write_text(text)
        run("lint", path, "--fix")
        assert path.read_text() == patched


def test_github_annotates_lines(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a,b:c%.yaml"
    path.write_text(WRONG)
    done = run("lint", path, "--output-format", "github")
    assert done.status == 1
    first = done.out.splitlines()[0]
    name = str(path).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
    assert first == (
        f"::warning file={name},line=12,title=min-member-key::"
        "KAI does not read kai.scheduler/min-member, although its examples have it"
        "%0AJob train, metadata.annotations[kai.scheduler/min-member]"
        "%0Awrite kai.scheduler/batch-min-member, on a Job or JobSet"
    )
    assert len(done.out.splitlines()) == 4


def test_sarif_is_one_log_of_all_files(run: Run, folder: Path) -> None:
    (folder / "again.yaml").write_text(WRONG)
    done = run("lint", folder, "--output-format", "sarif")
    assert done.status == 1
    log = json.loads(done.out)
    assert log["version"] == "2.1.0"
    [ran] = log["runs"]
    rules = ran["tool"]["driver"]["rules"]
    assert len(ran["results"]) == 8
    for result in ran["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning")
        assert result["message"]["text"]
    place = ran["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"].endswith("/again.yaml")
    assert place["region"] == {"startLine": 12}
    empty = json.loads(run("lint", folder / "jobs" / "right.yml", "--output-format", "sarif").out)
    assert empty["runs"][0]["results"] == []
