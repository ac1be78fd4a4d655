"""``kai gpus --node``: what the pods of this node use of its GPUs, measured from outside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from kai.cli.output import Answer

if TYPE_CHECKING:
    from kai.api.gpu_use import Measurement
    from kai.controllers.gpu_audit import PodUse, ProcessUse
    from kai.engine.text import Table

_COLUMNS = (
    "node", "device", "total", "namespace", "pod", "uid", "share", "used", "over",
    "guard_limit", "guard_used", "guard_peak", "refusals",
    "pid", "process", "process_used", "process_guard_used", "process_guard_peak",
)  # fmt: skip
_NO_PROCESS = dict.fromkeys(_COLUMNS[13:], "")


def answer_of(
    node: str, measurement: Measurement, uses: Sequence[PodUse], problems: Sequence[str]
) -> Answer:
    def data() -> dict[str, Any]:
        devices = []
        for device in measurement.devices:
            pods = [_pod_data(each) for each in uses if each.device == device.uuid]
            of_device = {"uuid": device.uuid, "total": device.total, "used": device.used}
            devices.append({**of_device, "pods": pods})
        return {"node": node, "devices": devices, "problems": list(problems)}

    def heading() -> str:
        from kai.engine import text

        return f"{node}: {text.count(len(measurement.devices), 'GPU')}"

    return Answer(
        heading=heading,
        tables=lambda: _tables(measurement, uses),
        data=data,
        rows=lambda: _rows(node, uses),
        columns=_COLUMNS,
        notes=lambda: [*_over(uses), *problems],
    )


def _pod_data(use: PodUse) -> dict[str, Any]:
    made = asdict(use)
    del made["device"], made["total"]
    made["over"] = made.pop("is_over")
    made["guard"] = made.pop("counted")
    if made["guard"] is not None:
        made["guard"] = {
            name: made["guard"][name] for name in ("limit", "used", "peak", "refusals")
        }
    for process in made["processes"]:
        counted = process.pop("counted")
        process["guard"] = counted and {name: counted[name] for name in ("used", "peak")}
    return made


def _rows(node: str, uses: Sequence[PodUse]) -> Iterator[dict[str, Any]]:
    for use in uses:
        counted = use.counted
        row = {
            "node": node,
            "device": use.device,
            "total": use.total,
            "namespace": use.namespace,
            "pod": use.name,
            "uid": use.uid,
            "share": use.share,
            "used": use.used,
            "over": use.is_over,
            "guard_limit": counted and counted.limit,
            "guard_used": counted and counted.used,
            "guard_peak": counted and counted.peak,
            "refusals": counted and counted.refusals,
        }
        for process in [_process_row(each) for each in use.processes] or [_NO_PROCESS]:
            yield {name: "" if value is None else value for name, value in (row | process).items()}


def _process_row(process: ProcessUse) -> dict[str, Any]:
    counted = process.counted
    return {
        "pid": process.pid,
        "process": process.name,
        "process_used": process.used,
        "process_guard_used": counted and counted.used,
        "process_guard_peak": counted and counted.peak,
    }


def _tables(measurement: Measurement, uses: Sequence[PodUse]) -> Iterator[Table]:
    from kai.engine.text import Table, number, size

    yield Table(
        "GPUs",
        ("GPU", "memory", "in use"),
        [(each.uuid, size(each.total), size(each.used)) for each in measurement.devices],
        right=frozenset({1, 2}),
    )
    if not uses:
        return
    yield Table(
        "Pods",
        ("pod", "GPU", "share", "in use", "guard counts", "peak", "refused"),
        [
            (
                _pod_text(use),
                use.device[:12],
                "unknown" if use.share is None else size(use.share) if use.share else "none",
                "unknown" if use.used is None else size(use.used),
                *(
                    (size(use.counted.used), size(use.counted.peak))
                    if use.counted
                    else ("no guard", "-")
                ),
                number(use.counted.refusals) if use.counted else "-",
            )
            for use in uses
        ],
        right=frozenset({2, 3, 4, 5, 6}),
        spare=(6, 5),
    )
    processes = [(use, process) for use in uses for process in use.processes]
    if processes:
        yield Table(
            "Processes",
            ("pod", "GPU", "pid", "process", "in use", "guard counts", "peak"),
            [
                (
                    _pod_text(use),
                    use.device[:12],
                    str(process.pid),
                    process.name,
                    "unknown" if process.used is None else size(process.used),
                    size(process.counted.used) if process.counted else "-",
                    size(process.counted.peak) if process.counted else "-",
                )
                for use, process in processes
            ],
            right=frozenset({2, 4, 5, 6}),
            spare=(6,),
        )


def _pod_text(use: PodUse) -> str:
    return use.pod or "(no pod)"


def _over(uses: Sequence[PodUse]) -> Iterator[str]:
    from kai.engine.text import size

    for use in uses:
        if not use.is_over:
            continue
        who = f"{_pod_text(use)} uses {size(use.used or 0)} of {use.device}"
        if use.share:
            yield f"{who}, and its share is {size(use.share)}."
        else:
            yield f"{who}, and was given nothing of it."
