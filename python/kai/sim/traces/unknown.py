"""What to do with a file that is no workload: one sentence, whatever it is."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from kai.api.nearest import did_you_mean
from kai.sim.traces import sacct
from kai.sim.traces.columns import separator_of
from kai.sim.traces.page import KEYS

__all__ = ["NODES_OF_KUBERNETES", "is_no_workload", "is_of_kubernetes", "may_be_yaml", "sentence"]

_HOW = "docs/howto/workloads.md"
NODES_OF_KUBERNETES = (
    "is a file of Kubernetes objects; write nodes and queues as in a workload file, such as"
    " nodes: {a100: {count: 4, gpu: 8}} (docs/reference/workloads.md)"
)
_KEY = re.compile(r"""\s*(?:[-?]\s+)?["']?[A-Za-z_][^:,|;]*["']?\s*:(\s|$)""")
_OF_A_WORKLOAD = re.compile(
    rf"(?m)^[\"']?(?:{'|'.join((*KEYS['workload'], 'apiVersion', 'kind'))})[\"']?\s*:"
)
_OF_KUBERNETES = re.compile(r"""(?m)(^|[{,])\s*["']?(apiVersion|kind)["']?\s*:""")


def may_be_yaml(text: str) -> bool:
    """Whether a text starts like a mapping, and a line of it like a workload or an object: all
    other texts are no YAML workload, so the errors of the YAML reader do not help."""
    if not text.lstrip().startswith("{") and not _OF_A_WORKLOAD.search(text):
        return _is_small_mapping(text)
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith(("#", "---", "%")):
            return line.lstrip().startswith("{") or _KEY.match(line) is not None
    return True


def _is_small_mapping(text: str) -> bool:
    """Whether each line is empty, a comment, or a key with a value: a key may be misspelt."""
    lines = [line for line in text[:10_000].splitlines() if line.strip() and line[0] != "#"]
    return all(_KEY.match(line) and line.count(": ") <= 1 for line in lines)


def is_no_workload(value: Any) -> bool:
    """Whether a value is no workload at all, and not one with mistakes in it: it has none of its
    keys and none that is close, or a list of jobs, as Slurm prints it."""
    if not isinstance(value, dict) or isinstance(value.get("jobs"), list):
        return True
    known = KEYS["workload"]
    return not any(key in known or did_you_mean(str(key), known) for key in value)


def sentence(text: str, formats: Sequence[str]) -> str:
    """What the text looks like, and what to do instead."""
    lines = [line for line in text[:200_000].splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith("#")]
    first = lines[0] if lines else ""
    if is_of_kubernetes(text):
        return (
            "is a file of Kubernetes objects: plan it with kai plan, or simulate it from its"
            " present state with kai simulate --remaining 8h (the run time of its pod groups)"
        )
    if looks := sacct.looks_like(lines):
        return f"{looks}: run {sacct.COMMAND} ({_HOW})"
    read = f"kai reads {', '.join(formats[:-1])} and {formats[-1]}"
    separator = separator_of(first)
    if first.lstrip().startswith("["):
        return f"is a JSON list, and {read}; write its jobs as a table with --columns ({_HOW})"
    if first.count(separator) >= 1 and not set("{[") & set(first):
        return (
            f"its columns match no known format ({', '.join(formats)}): {first[:100]}; name them"
            f" with --columns arrival=COLUMN,duration=COLUMN,gpus=COLUMN ({_HOW})"
        )
    return f"is in no known format: {read} ({_HOW})"


def is_of_kubernetes(text: str) -> bool:
    """Whether a text has manifests, or a List of them."""
    if text.lstrip().startswith("{"):
        try:
            value = json.loads(text)
        except ValueError:
            value = None
        if isinstance(value, dict):
            return "kind" in value and ("apiVersion" in value or "items" in value)
    found = _OF_KUBERNETES.findall(text[:100_000])
    return {"apiVersion", "kind"} <= {name for _, name in found}
