"""kai run chart-hook check: what a program would refuse ends the hook with the same sentence."""

import json
from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., Any]
HOOK = ("run", "chart-hook", "check", "--namespace", "gpu", "--release", "mine")


def check(run: Run, **programs: list[str]) -> Any:
    lines = [f"--program={name}={json.dumps(args)}" for name, args in programs.items()]
    return run(*HOOK, *lines)


def test_programs_with_valid_options_are_named(run: Run) -> None:
    done = check(
        run,
        kai=["run", "all", "--namespace", "gpu", "--listen-address", ":8080", "--config", SHARD],
        webhooks=["run", "admission", "--namespace", "gpu", "--gpu-sharing-enabled"],
    )
    assert (done.status, done.out) == (0, "")
    lines = done.err.splitlines()
    assert [line.rpartition("=")[2] for line in lines] == ["kai", "webhooks"]


SHARD = "kind: SchedulingShard\nspec:\n  placementStrategy: {gpu: spread}\n"


@pytest.mark.parametrize(
    "wrong",
    [
        ["run", "all", "--foo=bar"],
        ["run", "scheduler", "--node-pol=x"],
        ["run", "all", "--qps=fifty"],
        ["run", "schedular"],
        ["run", "--namespace", "gpu"],
        ["run", "all", "--leader-elect-lease-duration=1s"],
        ["run", "admission", "--foo"],
        ["run", "admission", "--webhook-addr=:99999"],
        ["run", "admission", "--refuse=nonsense"],
    ],
    ids=lambda wrong: wrong[-1],
)
def test_the_sentence_is_the_one_of_the_program(run: Run, wrong: list[str]) -> None:
    done = check(run, right=["run", "binder"], wrong=wrong)
    alone = run(*wrong)
    assert done.status == alone.status == 2
    assert done.err.startswith(alone.err.strip())
    assert "chart-hook" not in done.err


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ["--config", "kind: SchedulingShard\nspec: {extras: {foo: 1}}"],
            "the configuration: extras.foo must be true or false",
        ),
        (["--config", "spec: ["], "the configuration: not valid YAML"),
        (
            ["--config", "schedulerParams: {foo: 1}"],
            "schedulerParams: there is no parameter 'foo'",
        ),
        (["--listen-address", ":99999"], "--listen-address: port 99999 is larger than 65535"),
        (
            ["--config", "usageDBConfig: {clientType: foo}"],
            "usageDBConfig: unknown client type: foo",
        ),
    ],
    ids=lambda each: each[-1] if isinstance(each, list) else "",
)
def test_what_a_program_refuses_later_is_refused_too(
    run: Run, options: list[str], sentence: str
) -> None:
    done = check(run, kai=["run", "all", *options])
    assert done.status == 2
    assert sentence in done.err


@pytest.mark.parametrize("text", ["kai", "kai=[", "kai=5", "kai=[]"])
def test_a_program_is_a_name_and_a_list(run: Run, text: str) -> None:
    done = run(*HOOK, "--program", text)
    assert done.status == 2
    assert done.err.startswith("kai: --program: not ")
