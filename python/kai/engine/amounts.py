"""Amounts of resources in words, each with its unit.

>>> amount("gpu", 1), amount("cpu", 1.5), amount("memory", 5 * 2**29), amount("rdma/ib", 2)
('1 GPU', '1.5 CPUs', '2.5 GiB of memory', '2 of rdma/ib')
"""

from __future__ import annotations

from kai.engine import text

RESOURCE_NAMES = {"gpu": "GPUs", "cpu": "CPUs", "memory": "memory", "ephemeral-storage": "storage"}
_NOUNS = {"gpu": "GPU", "cpu": "CPU", "pods": "pod"}
SIZES = frozenset(("memory", "ephemeral-storage"))
"""Resources in bytes."""


def _is_size(resource: str) -> bool:
    return resource in SIZES or resource.startswith("hugepages-")


def amount(resource: str, value: float | None) -> str:
    """Cores, devices, bytes or pods; None is unlimited.

    >>> amount("gpu", None), amount("pods", 110), amount("hugepages-2Mi", 2**30)
    ('unlimited GPUs', '110 pods', '1 GiB of hugepages-2Mi')
    """
    if value is None:
        return f"unlimited {RESOURCE_NAMES.get(resource, resource)}"
    if noun := _NOUNS.get(resource):
        return text.count(value, noun)
    if _is_size(resource):
        return f"{text.size(value)} of {RESOURCE_NAMES.get(resource, resource)}"
    return f"{text.number(value)} of {resource}"


def part(resource: str, value: float | None) -> str:
    """The same in a sentence that names the resource already: sizes keep their unit.

    >>> part("gpu", 3), part("memory", 3 * 2**20)
    ('3', '3 MiB')
    """
    return text.size(value) if _is_size(resource) else text.number(value)
