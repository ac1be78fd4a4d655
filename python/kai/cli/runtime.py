"""``kai runtime``: whether the guard is in force in this container."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from kai.cli.failures import ANSWER_IS_NO, DONE
from kai.cli.output import Answer, Answers, output_options

if TYPE_CHECKING:
    from kai.runtime.state import GuardState

_COLUMNS = ("in_force", "why_not", "isolation", "limit", "region", "library")


@click.command(
    "runtime",
    epilog="""\b
Examples:
  kubectl exec train -- kai runtime        whether this pod's share is a limit
  kai runtime && python train.py           start only if it is
  kai runtime --json | jq -r .why_not
\b
In a pod with half of a GPU:
  The guard is in force: the memory of this container is limited to 0.5 of
  each GPU.
\b
Without it:
  The guard is not in force: LD_PRELOAD does not name libkaiguard.so. Nothing
  limits the memory of this container.
\b
Exit status: 0 the guard is in force; 1 it is not.
""",
)
@output_options
def command(form: str) -> int:
    """Say whether the memory of this container's share is a limit, and why not.

    It runs inside a container and needs neither a GPU nor a cluster. The guard
    is in force if the loader has put libkaiguard.so into this process, its file,
    KAI_GUARD_REGION, can be used, and KAI_GUARD_LIMIT is a limit. Otherwise the
    last sentence says what else limits the memory: HAMi-core, MPS, or nothing.
    """
    from kai.runtime.state import guard

    found = guard()
    Answers(form).write(_answer(found))
    return DONE if found else ANSWER_IS_NO


def _answer(found: GuardState) -> Answer:
    def data() -> dict[str, Any]:
        from dataclasses import asdict

        return asdict(found)

    def rows() -> Iterator[dict[str, Any]]:
        yield {name: getattr(found, name) for name in _COLUMNS}

    return Answer(
        heading=lambda: "Guard",
        tables=tuple,
        data=data,
        rows=rows,
        columns=_COLUMNS,
        first=lambda: [_sentence(found)],
        notes=lambda: ["`kai gpus` shows who uses how much."] if found.devices else [],
    )


def _sentence(found: GuardState) -> str:
    if found:
        limit = found.limit or "the amounts in KAI_GUARD_LIMITS"
        if limit.isdigit():
            limit += " bytes"
        part = f"{limit} of each GPU" if found.limit else limit
        return f"The guard is in force: the memory of this container is limited to {part}."
    instead = {
        "guard": "",
        "hamicore": " HAMi-core limits the memory of this container, if its library is loaded.",
        "mps": " MPS limits the memory of each process of this container.",
    }
    rest = instead.get(found.isolation, " Nothing limits the memory of this container.")
    return f"The guard is not in force: {found.why_not}.{rest}"
