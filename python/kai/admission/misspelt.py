"""Misspelt keys of KAI: with another prefix, in another style, or with wrong letters.

>>> meant("gpu_fraction"), meant("nvidia.com/gpu.memory"), meant("kueue.x-k8s.io/queue-name")
('gpu-fraction', 'gpu-memory', '')

KAI's most used keys have no prefix, so people guess one, and the API server accepts every key. Keys
of other projects are not reported: a key about GPUs counts with any prefix, another key only with a
prefix that resembles KAI's, and without a prefix only if its name is unusual.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache

from kai.api import keys, quantities
from kai.api.nearest import is_typo
from kai.api.rules import MIB

OF_GPUS = (
    keys.GPU_FRACTION_ANNOTATION,
    keys.GPU_MEMORY_ANNOTATION,
    keys.GPU_DEVICES_ANNOTATION,
    keys.GPU_CONTAINER_ANNOTATION,
)
"""The annotations with which a pod requests a part of a GPU."""

_UNUSUAL = (  # names that other projects hardly use
    keys.POD_GROUP_ANNOTATION,
    keys.PRIORITY_CLASS_LABEL,
    keys.PREEMPTIBILITY_LABEL,
    keys.SUBGROUP_LABEL,
    keys.TASK_PRIORITY_LABEL,
    keys.SKIP_GROUPER_ANNOTATION,
    keys.COMPUTE_SHARING_ANNOTATION,
    keys.GUARD_ANNOTATION,
    keys.BATCH_MIN_MEMBER_ANNOTATION,
    keys.PREEMPTION_DELAY_ANNOTATION,
    keys.STALENESS_ANNOTATION,
    keys.TOPOLOGY_REQUIRED_ANNOTATION,
    keys.TOPOLOGY_PREFERRED_ANNOTATION,
    *keys.SEGMENTS,
    keys.MIN_DOMAINS_ANNOTATION,
    keys.MAX_DOMAINS_ANNOTATION,
    keys.BALANCED_DOMAINS_ANNOTATION,
    keys.RUN_TIME_ESTIMATE_ANNOTATION,
)
_USUAL = (keys.QUEUE_LABEL, keys.NODE_POOL_LABEL, keys.TOPOLOGY_ANNOTATION, keys.MPS_ANNOTATION)
_OF_RAY = (keys.RAY_PRIORITY_CLASS_LABEL,)

# What people write instead, without separators; the letters alone would not lead to KAI's key.
_GPU_WORDS = {
    "gpuportion": keys.GPU_FRACTION_ANNOTATION,
    "gpufrac": keys.GPU_FRACTION_ANNOTATION,
    "fractionalgpu": keys.GPU_FRACTION_ANNOTATION,
    "gpumem": keys.GPU_MEMORY_ANNOTATION,
    "vgpumem": keys.GPU_MEMORY_ANNOTATION,
    "vgpumemory": keys.GPU_MEMORY_ANNOTATION,
    "gpumemorymib": keys.GPU_MEMORY_ANNOTATION,
    "gpumemorymb": keys.GPU_MEMORY_ANNOTATION,
    "gpumib": keys.GPU_MEMORY_ANNOTATION,
    "gpuvram": keys.GPU_MEMORY_ANNOTATION,
    "gpumemlimit": keys.GPU_MEMORY_ANNOTATION,
    "gpumemorylimit": keys.GPU_MEMORY_ANNOTATION,
    "gpumemrequest": keys.GPU_MEMORY_ANNOTATION,
    "gpumemoryrequest": keys.GPU_MEMORY_ANNOTATION,
    "gpumempercentage": keys.GPU_FRACTION_ANNOTATION,
    "gpunumdevices": keys.GPU_DEVICES_ANNOTATION,
    "gpufractiondevices": keys.GPU_DEVICES_ANNOTATION,
    "gpufractioncontainer": keys.GPU_CONTAINER_ANNOTATION,
}
_KAI_WORDS = {
    "queuename": keys.QUEUE_LABEL,
    "podgroup": keys.POD_GROUP_ANNOTATION,
    "priority": keys.PRIORITY_CLASS_LABEL,
    "priorityclass": keys.PRIORITY_CLASS_LABEL,
    "preemptible": keys.PREEMPTIBILITY_LABEL,
    "preemptable": keys.PREEMPTIBILITY_LABEL,
    "subgroup": keys.SUBGROUP_LABEL,
    "minmember": keys.BATCH_MIN_MEMBER_ANNOTATION,
    "minavailable": keys.BATCH_MIN_MEMBER_ANNOTATION,
    "fraction": keys.GPU_FRACTION_ANNOTATION,
}
_OF_OTHERS = frozenset(  # keys of Run:ai that resemble KAI's
    ("runai/node-pool", "run.ai/node-pool", "run.ai/top-owner-metadata")
)
_NVFRACTIONS = re.compile(r"(nvidia\.com/)?containers?\.(?P<name>.+)\.(v?gpu)?[-_.]?mem(ory)?\b.*")


@lru_cache(maxsize=4096)  # all pods of a workload have the same keys
def meant(key: str) -> str:
    """The key of KAI that a misspelt one stands for; "" for keys of other projects."""
    if key in _OF_OTHERS:
        return ""
    if found := _NVFRACTIONS.fullmatch(key):
        limit = keys.NVFRACTIONS_LIMIT_ANNOTATION, keys.NVFRACTIONS_REQUEST_ANNOTATION
        return limit["limit" not in key].format(container=found["name"])
    prefix, name = split(key)
    name = squeezed(key if prefix.lower() == "gpu" else name)
    if found_key := _of_gpus(name):
        return found_key
    if prefix == "ray.io":
        return _nearest(name.removesuffix("name") + "name", _OF_RAY)
    if not prefix:
        return _nearest(name, _UNUSUAL, most=1)
    return _KAI_WORDS.get(name) or _nearest(name, (*_UNUSUAL, *_USUAL)) if is_kais(prefix) else ""


_JOINED = (
    re.compile(r"(?P<prefix>kai[._-]?scheduler|kai)[._-](?P<name>[^/]+)", re.IGNORECASE),
    re.compile(r"(?P<name>[^/]+)[._-](?P<prefix>kai[._-]?scheduler)", re.IGNORECASE),
)


def split(key: str) -> tuple[str, str]:
    """The prefix and the name of a key, also of one without a slash.

    >>> split("kai.scheduler/queue"), split("kai.scheduler.queue"), split("gpu-fraction")
    (('kai.scheduler', 'queue'), ('kai.scheduler', 'queue'), ('', 'gpu-fraction'))
    """
    for joined in _JOINED:
        if found := joined.fullmatch(key):
            return found["prefix"], found["name"]
    prefix, _, name = key.rpartition("/")
    return prefix, name


def _of_gpus(name: str) -> str:
    """`name` without separators. One letter of gpu may be wrong, but a CPU is no GPU."""
    if "cpu" in name or not ("gpu" in name or "fraction" in name):
        return ""
    singular = name.replace("gpus", "gpu").removesuffix("s")
    words = _GPU_WORDS.get(name) or _GPU_WORDS.get(singular)
    return words or _nearest(singular, OF_GPUS) or _nearest(name, OF_GPUS)


def _nearest(name: str, known: Iterable[str], most: int = 2) -> str:
    for key in known:
        wanted = squeezed(key.rpartition("/")[2])
        if name == wanted or is_typo(name, wanted, min(most, len(wanted) // 5)):
            return key
    return ""


def squeezed(name: str) -> str:
    """ "gpufraction" of gpu_fraction, gpuFraction and GPU-fraction."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


@lru_cache(maxsize=1024)
def is_kais(prefix: str) -> bool:
    """Whether a prefix is KAI's or resembles it: kai.scheduler.io, run.ai, kia.scheduler."""
    plain = squeezed(prefix)
    words = re.split(r"[^a-z0-9]", prefix.lower())
    return "kai" in words or "runai" in plain or is_typo(plain, squeezed(keys.KAI_GROUP))


# ---- resources -----------------------------------------------------------------------------------

_SLICE = re.compile(r"nvidia\.com/mig-([0-9]+c\.)?[0-9]+g\.[0-9]+gb(\.[a-z]+)*")
_SIZES = re.compile(r"mig([0-9]+c)?([0-9]+g)([0-9]+)(?:gi?b?)?(me)?")
_GPUS = frozenset(
    (
        "gpu",
        "gpus",
        "nvidiagpu",
        "nvidiagpus",
        "gpunvidiacom",
        "gpunvidiacomgpu",
        "kaischedulergpu",
        "kaischedulergpus",
        "runaigpu",
        "runaigpus",
    )
)
_OTHER_DEVICES = frozenset(("cgpu", "pgpu", "vgpu"))  # names after the prefix


def gpu_resource(name: str) -> str:
    """The resource of GPUs or slices that a misspelt one stands for; "" for other resources.

    >>> gpu_resource("nvidia.com/gpus"), gpu_resource("nvidia.com/vgpu")
    ('nvidia.com/gpu', '')
    """
    last, plain = squeezed(name.rpartition("/")[2]), squeezed(name)
    if last in _OTHER_DEVICES:
        return ""
    if last.startswith("mig") and name.startswith("nvidia.com/"):
        return "" if _SLICE.fullmatch(name) else _slice(name.lower(), last)
    if plain in _GPUS:
        return keys.NVIDIA_GPU
    for resource in keys.WHOLE_GPUS:
        wanted = squeezed(resource)
        if name != resource and is_typo(plain, wanted, len(wanted) // 5):
            return resource
    return ""


def _slice(name: str, plain: str) -> str:
    """The MIG slice that a misspelt one stands for; one that many GPUs have if it is not clear."""
    if _SLICE.fullmatch(name):
        return name
    if not (found := _SIZES.fullmatch(plain)):
        return f"{keys.MIG_PREFIX}1g.5gb"
    compute, slices, memory, engines = found.groups(default="")
    compute, engines = compute and f"{compute}.", engines and f".{engines}"
    return f"{keys.MIG_PREFIX}{compute}{slices}.{memory}gb{engines}"


# ---- values --------------------------------------------------------------------------------------

_WORDS_OF_A_SHARE = frozenset(
    {
        "amount",
        "count",
        "fraction",
        "fractional",
        "limit",
        "nvidia",
        "num",
        "number",
        "part",
        "partial",
        "percent",
        "percentage",
        "portion",
        "quota",
        "ratio",
        "request",
        "share",
        "size",
        "slice",
    }
)


def is_share(key: str, value: str) -> bool:
    """Whether a key and its value describe a part of a GPU, such as gpu-share: "0.5"."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", key.rpartition("/")[2]).lower()
    name = re.sub(r"^v?gpu", "gpu-", name)
    words = {word.removesuffix("s") for word in re.split(r"[^a-z0-9]+", name)} - {""}
    return "gpu" in words and words - {"gpu"} <= _WORDS_OF_A_SHARE and part_of(value) is not None


_PARTS = {"half": Fraction(1, 2), "third": Fraction(1, 3), "quarter": Fraction(1, 4)}
_RATIO = re.compile(r"([0-9]{1,9})\s*/\s*([0-9]{1,9})")
_COMMA = re.compile(r"[0-9]*,[0-9]+")
_NOUN = re.compile(r"(?<=[0-9.%])\s*(gpus?|f)$")


def part_of(value: str) -> Fraction | None:
    """The part of a GPU that a text describes; None if it is none.

    >>> [str(part_of(each)) for each in ("0.5", "50%", "0,5", "1/2", "half", "2")]
    ['1/2', '1/2', '1/2', '1/2', '1/2', 'None']
    """
    plain = _NOUN.sub("", value.strip().lower())
    part = _PARTS.get(plain.removeprefix("a ")) or _number(plain)
    return part if part is not None and 0 < part < 1 else None


def _number(plain: str) -> Fraction | None:
    if found := _RATIO.fullmatch(plain):
        return Fraction(int(found[1]), int(found[2])) if int(found[2]) else None
    digits = plain.removesuffix("%").rstrip()
    try:
        exact = quantities.parse(digits.replace(",", ".") if _COMMA.fullmatch(digits) else digits)
    except ValueError:
        return None
    return exact / 100 if plain.endswith("%") else exact


_SIZE = re.compile(r"(?P<number>[0-9]+(\.[0-9]+)?)\s*(?P<unit>[kmgt]?)(?P<binary>i?)b?", re.I)


def mib_of(value: str) -> Fraction | None:
    """The MiB that a text describes, such as "8 GB" or "5Gi"; a plain number is in MiB.

    >>> [str(mib_of(each)) for each in ("5Gi", "512 MiB", "1024", "lots")]
    ['5120', '512', '1024', 'None']
    """
    found = _SIZE.fullmatch(value.strip())
    if found is None or len(value) > _LONGEST_SIZE:
        return None
    number = Fraction(found["number"])
    if not found["unit"]:
        return number if value.strip()[-1].isdecimal() and number >= 1 else None
    power = "kmgt".index(found["unit"].lower()) + 1
    size = number * (1024 if found["binary"] else 1000) ** power / MIB
    return size or None


_LONGEST_SIZE = 20
