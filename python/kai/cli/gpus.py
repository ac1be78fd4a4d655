"""``kai gpus``: the shares of GPUs, and who uses them: in a container, or on a node."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kai.api import keys
from kai.cli.connecting import cluster_options
from kai.cli.output import Answer, Answers, output_options
from kai.errors import InvalidInputError

if TYPE_CHECKING:
    from kai.engine.text import Table
    from kai.runtime.guarded import GuardedDevice

_COLUMNS = (
    "file", "device", "limit", "total", "used", "peak", "refusals",
    "pid", "process", "process_used", "process_peak",
)  # fmt: skip


@click.command(
    "gpus",
    epilog="""\b
Examples:
  kai gpus                              in a container with a guarded share
  kai gpus --node n1                    on the node n1, for all its pods
  kai gpus FILE                         the file of one pod
  kai gpus --json | jq '.devices[].refusals'
\b
Two processes that share half of a GPU:
  device                  share    in use    peak  refused  processes
  GPU-8216274a (80 GiB)  40 GiB  31.2 GiB  40 GiB       12          2
\b
  pid  process    in use      peak
   17  python   30.7 GiB  39.5 GiB
   93  python    512 MiB   512 MiB
""",
)
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--node",
    metavar="NAME",
    help="Show all pods of this machine, the node NAME, as NVML measures them.",
)
@cluster_options
@output_options
def command(
    files: tuple[Path, ...],
    node: str | None,
    kubeconfig: str | None,
    context: str | None,
    form: str,
) -> None:
    """Show the memory of each share of a GPU: limit, use, peak, refused requests.

    The guard (libkaiguard.so) keeps a pod to its share of a GPU's memory. It counts
    in a file of the pod; FILE is that file, else KAI_GUARD_REGION of this container.

    With --node it measures all processes on the GPUs of the node that it runs on,
    guarded or not. It needs the node's processes and files, as the pods of `kai run
    gpu-auditor` have them, and reads the pods from the API server.
    """
    from kai.runtime.guarded import NotGuarded, guarded

    if node is not None:
        if files:
            raise click.UsageError("--node and FILE exclude each other")
        if not node:
            raise click.UsageError("--node is empty: write the name of this node")
        _show_node(node, kubeconfig, context, form)
        return
    if Path() in files:  # of an empty argument
        raise click.UsageError("FILE is empty: write the path of a pod's file")
    given = os.environ.get(keys.GUARD_REGION_ENV)
    paths = files or ((Path(given),) if given else ())
    if not paths:
        raise InvalidInputError(
            f"the guard does not run here: {keys.GUARD_REGION_ENV} is not set; on a node, give "
            "--node NAME"
        )
    answers = Answers(form)
    for path in paths:
        try:
            devices = guarded(path) or ()
        except NotGuarded as error:
            raise InvalidInputError(str(error)) from None
        answers.write(_answer(path, devices))


def _show_node(node: str, kubeconfig: str | None, context: str | None, form: str) -> None:
    from kai.api.extras import need_cluster_extra
    from kai.cli.gpus_of_node import answer_of
    from kai.k8s.kubelet import need_numa_extra
    from kai.runtime.measuring import measure
    from kai.service import gpu_uses

    need_cluster_extra()
    need_numa_extra()
    from kai.service.programs.gpu_auditor import AuditorOptions

    measurement = measure()
    uses, problems = gpu_uses(
        AuditorOptions(node), measurement, kubeconfig=kubeconfig, context=context
    )
    Answers(form).write(answer_of(node, measurement, uses, problems))


def _answer(path: Path, devices: tuple[GuardedDevice, ...]) -> Answer:
    def data() -> dict[str, Any]:
        from dataclasses import asdict

        return {"file": str(path), "devices": [asdict(each) for each in devices]}

    def rows() -> Iterator[dict[str, Any]]:
        for each in devices:
            row = {
                "file": str(path),
                "device": each.uuid,
                "limit": "" if each.limit is None else each.limit,
                "total": each.total,
                "used": each.used,
                "peak": each.peak,
                "refusals": each.refusals,
            }
            held: list[dict[str, Any]] = [
                {
                    "pid": process.pid,
                    "process": process.name,
                    "process_used": process.used,
                    "process_peak": process.peak,
                }
                for process in each.processes
            ]
            for process_row in held or [dict.fromkeys(_COLUMNS[7:], "")]:
                yield row | process_row

    def heading() -> str:
        from kai.engine import text

        if not devices:
            return f"{path}: no process has used a GPU yet"
        return f"{path}: {text.count(len(devices), 'GPU')}"

    return Answer(
        heading=heading,
        tables=lambda: _tables(devices),
        data=data,
        rows=rows,
        columns=_COLUMNS,
    )


def _tables(devices: tuple[GuardedDevice, ...]) -> Iterator[Table]:
    from kai.engine.text import Table, number, size

    if devices:
        yield Table(
            "Shares",
            ("device", "share", "in use", "peak", "refused", "processes"),
            [
                (
                    f"{each.uuid[:12]} ({size(each.total)})",
                    "no limit" if each.limit is None else size(each.limit),
                    size(each.used),
                    size(each.peak),
                    number(each.refusals),
                    str(len(each.processes)),
                )
                for each in devices
            ],
            right=frozenset({1, 2, 3, 4, 5}),
        )
    for each in devices:
        if each.processes:
            yield Table(
                each.uuid,
                ("pid", "process", "in use", "peak"),
                [
                    (
                        str(process.pid),
                        process.name,
                        size(process.used),
                        size(process.peak),
                    )
                    for process in sorted(each.processes, key=lambda one: (-one.used, one.pid))
                ],
                right=frozenset({0, 2, 3}),
            )
