"""0 success, 1 the answer is no, 2 bad input, 130 interrupted; never a traceback."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kai

Run = Callable[..., Any]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["plan", "missing.zip"], "kai: missing.zip: no such file or directory"),
        (["queues", "missing.zip"], "kai: missing.zip: no such file or directory"),
        (["plan", "SNAPSHOT", "--now", "soon"], "kai: --now: 'soon' is not an RFC 3339 time"),
        (
            ["plan", "SNAPSHOT", "--config", "missing.yaml"],
            "kai: missing.yaml: no such file",
        ),
        (["plan"], "INPUT... is missing"),
        (["plan", "--nonsense"], "there is no option"),
        (["nonsense"], "there is no command 'nonsense'"),
        (["plam"], "there is no command 'plam'; did you mean 'plan'?"),
        (["config", "shwo"], "there is no command 'shwo'; did you mean 'show'?"),
        (["plan", ""], "kai: the name of an input is empty: name a file, a directory or -"),
        (["queues", "", "SNAPSHOT"], "kai: the name of an input is empty"),
        (["verify", ""], "kai: the name of a file or directory is empty"),
        (["lint", ""], "kai: "),
        (["demo", "--save", "/no/such/folder/x.zip"], "kai: --save: /no/such/folder/x.zip"),
    ],
)
def test_bad_input_prints_one_sentence_and_exits_with_2(
    run: Run, snapshot: Path, arguments: list[str], message: str
) -> None:
    done = run(*(snapshot if each == "SNAPSHOT" else each for each in arguments))
    assert done.status == 2
    assert message in done.err
    assert "Traceback" not in done.err


def test_a_file_in_place_of_a_command_suggests_kai_plan(run: Run) -> None:
    assert "try 'kai plan cluster.zip'" in run("cluster.zip").err


def test_an_unknown_name_exits_with_1(run: Run, snapshot: Path) -> None:
    done = run("plan", snapshot, "--explain", "visoin/big")
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("kai: there is no pod group 'visoin/big'; did you mean 'vision/big'")


def test_an_unreadable_input_does_not_stop_the_next(run: Run, snapshot: Path) -> None:
    done = run("plan", "missing.zip", snapshot, "--json")
    assert done.status == 2
    assert json.loads(done.out)["input"] == str(snapshot)


def test_strict_exits_with_2_if_an_object_was_left_out(
    run: Run, tmp_path: Path, snapshot: Path
) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("kind: Job\nmetadata: {name: j}\n---\nkind: Node\nmetadata: {name: n}\n")
    done = run("plan", path, "--strict", "--json")
    assert done.status == 2
    assert "kai: left out: Job default/j: spec: is missing\n" in done.err
    assert json.loads(done.out)
    assert run("plan", snapshot, "--strict").status == 0


def test_strict_exits_with_2_for_an_unknown_member(
    run: Run, tmp_path: Path, snapshot: Path
) -> None:
    (tmp_path / "config.yaml").write_text("actons: allocate\n")
    arguments = ("plan", snapshot, "--config", tmp_path / "config.yaml")
    assert run(*arguments).status == 0
    done = run(*arguments, "--strict")
    assert done.status == 2
    assert done.err == (
        'kai: configuration member "actons" is not known and is skipped; did you mean "actions"?\n'
    )


def test_a_closed_pipe_is_not_an_error(start: Any, snapshot: Path) -> None:
    with start("plan", *[snapshot] * 50, "--json") as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(60) == 0
        assert process.stderr.read() == ""


def test_a_dash_reads_standard_input(start: Any) -> None:
    process = start("plan", "-", "--json")
    out, err = process.communicate("kind: Node\nmetadata: {name: n}\n", timeout=60)
    assert process.returncode == 0, err
    assert json.loads(out)["input"] == "-"


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_ctrl_c_interrupts_a_plan() -> None:
    code = f"""
        import sys, time
        sys.path.insert(0, {str(Path(kai.__file__).parents[1])!r})
        import kai.cli, kai.snapshot
        def endless(*arguments, **options):
            print("started", flush=True)
            time.sleep(60)
        kai.snapshot.read = lambda *arguments, **options: iter(endless, None)
        sys.exit(kai.cli.main(["plan", "x"]))
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    with process:
        try:
            assert process.stdout.readline() == "started\n"
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=30)
        finally:
            process.kill()  # a leftover process causes warnings in later tests
    assert process.returncode == 130
    assert err.strip() == "kai: interrupted"
