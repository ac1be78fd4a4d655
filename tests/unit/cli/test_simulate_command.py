"""kai simulate --fair-share: KAI's request in, its answer out; and what is no request."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
REQUEST = {
    "totalResource": {"GPU": 100, "CPU": 16_000, "Memory": 32_000_000},
    "queues": [
        {
            "uid": name,
            "resourceShare": {"gpu": {"deserved": 10, "request": 100, "overQuotaWeight": weight}},
        }
        for name, weight in (("a", 3), ("b", 1))
    ],
}
ANSWER = (
    '{"a": {"gpu": 70, "cpu": 16000, "memory": 100000},'
    ' "b": {"gpu": 30, "cpu": 16000, "memory": 100000}}\n'
)


def test_the_example_of_kais_simulator(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "request.json"
    file.write_text(json.dumps(REQUEST))
    done = run("simulate", "--fair-share", file)
    assert (done.status, done.out, done.err) == (0, ANSWER, "")


def test_a_request_may_come_by_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(json.dumps(REQUEST).encode()))
    monkeypatch.setattr("sys.stdin", stdin)
    assert run("simulate", "--fair-share", "-").out == ANSWER


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not valid JSON: it ends in the middle of a value, on line 1 (cut short?)"),
        ('{"queues": 1}', "queues: is no list"),
        ("", "not valid JSON: "),
    ],
)
def test_what_is_no_request_is_a_sentence(run: Run, tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "request.json"
    file.write_text(text)
    done = run("simulate", "--fair-share", file)
    assert (done.status, done.out) == (2, "")
    assert f"{file}: {said}" in done.err
    assert len(done.err.splitlines()) == 1


def test_a_file_that_is_not_there(run: Run, tmp_path: Path) -> None:
    done = run("simulate", "--fair-share", tmp_path / "none.json")
    assert done.status == 2
    assert "none.json: " in done.err
    assert run("simulate", "--fair-share", "").status == 2


def test_it_says_what_it_can_work_out(run: Run) -> None:
    done = run("simulate")
    assert done.status == 2
    assert "--fair-share REQUEST" in done.err
