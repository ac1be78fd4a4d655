"""kai run admission: mistakes in its arguments, each named in one sentence before it connects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--webhook-addr", "x:y"], "--webhook-addr: 'x:y' is not of the form HOST:PORT"),
        (["--webhook-addr", "99999999"], "--webhook-addr: port 99999999 is larger than 65535"),
        (["--listen-address", ":99999"], "--listen-address: port 99999 is larger than 65535"),
        (["--failure-policy", "Pods=Fail"], "'Pods=Fail' is not of the form KIND=Fail"),
        (["--refuse", "queue-cykle"], "did you mean 'queue-cycle'?"),
        (["--refuse", "queue-cycle", "--warn", "queue"], "--refuse and --warn both have"),
    ],
)
def test_a_wrong_argument_is_one_sentence(run: Run, arguments: list[str], message: str) -> None:
    pytest.importorskip("cryptography")
    done = run("run", "admission", *arguments, "--kubeconfig", "missing.yaml")
    assert done.status == 2
    assert message in done.err
    assert len(done.err.strip().splitlines()) == 1
