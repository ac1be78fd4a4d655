"""kai demo: the same output every time, and its next steps work."""

import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kai

Run = Callable[..., Any]


def test_the_demo_shows_each_step(run: Run) -> None:
    done = run("demo")
    assert done.status == 0
    assert done.err == ""
    for part in (
        "bind  speech/sweep       8     8",  # one team borrows the whole cluster
        "bind  default/report     1     0  cpu-1",
        "evict     speech/sweep     4        reclaim for vision/train",  # only as many as needed
        "pipeline  vision/train     4     4  gpu-2",
        "Pod speech/sweep-7 was preempted by workload vision/train.",
        "with a quota of <GPU: 4,",
        "bind  vision/train     4     4  gpu-2",  # its place is free now
        "speech/sweep  It needs 1 GPU on one node; no GPU is free",
        "Why does vision/big wait?",
        "Queues, GPUs",
        "Try next",
    ):
        assert part in done.out, part
    assert max(len(line) for line in done.out.splitlines()) <= 80


def test_the_demo_prints_the_same_text_every_time(run: Run) -> None:
    assert run("demo").out == run("demo").out


def test_the_suggested_next_commands_work(run: Run, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    for step in range(2):
        out = run("demo").out if step == 0 else run("demo", "--save", "demo.zip").out
        commands = out[out.index("Try next") :].splitlines()[2:]
        assert commands
        for command in commands:
            kai, *arguments = shlex.split(command, comments=True)
            assert kai == "kai"
            done = run(*arguments)
            assert done.status == 0, command
            assert done.out
    assert "vision/big waits in queue vision." in run("plan", "demo.zip", "--explain", "big").out


def test_a_saved_cluster_has_the_time_of_its_last_cycle(run: Run, tmp_path: Path) -> None:
    assert run("demo", "--save", tmp_path / "demo.zip").status == 0
    cluster = kai.load(tmp_path / "demo.zip")
    assert cluster.now is not None
    assert cluster.now.isoformat() == "2026-01-01T00:00:03+00:00"
    assert "  0s\n" in run("groups", tmp_path / "demo.zip").out  # the age of the youngest group


def test_without_kai_on_the_path_another_command_is_suggested(
    run: Run, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    scripts = tmp_path / "environment" / "bin"
    monkeypatch.setattr(sys, "executable", str(scripts / "python"))
    assert "\n  python -m kai plan demo.zip --explain vision/big\n" in run("demo").out
    scripts.mkdir(parents=True)
    (scripts / "kai").touch()
    assert "\n  environment/bin/kai plan demo.zip" in run("demo").out
    monkeypatch.chdir(scripts)
    assert "\n  ./kai plan demo.zip" in run("demo").out
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert f"\n  {scripts}/kai plan demo.zip" in run("demo").out
