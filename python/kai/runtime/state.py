"""guard(): whether the guard is in force in this container, and if not, why.

>>> found = guard(environ={})
>>> found.in_force, found.why_not
(False, 'KAI_GUARD_REGION is not set: the pod was created without the guard')
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kai.api import isolations
from kai.runtime import variables
from kai.runtime.guarded import GuardedDevice, NotGuarded, guarded

_NO_START = "so programs that use a GPU do not start"
_LIMIT = re.compile(r"[0-9]+(Ki|Mi|Gi|Ti)?|0\.[0-9]*|1\.0*")
"""As guard/hooks/settings.cc reads it."""


@dataclass(frozen=True, kw_only=True)
class GuardState:
    """The result; it is true if the guard is in force.

    why_not: "" if it is. isolation: what limits the memory of this container: none, guard, hamicore
    or mps; also guard if only its file cannot be used, as then no program can use a GPU. limit: as
    the pod requests it, such as "0.5" or "4096Mi". region: the file in which the pod counts.
    devices: those that its processes have used; None if it cannot be read.
    """

    in_force: bool
    why_not: str
    isolation: str
    limit: str | None
    region: str | None
    library: str | None
    devices: tuple[GuardedDevice, ...] | None

    def __bool__(self) -> bool:
        return self.in_force


def guard(*, environ: Mapping[str, str] | None = None) -> GuardState:
    """Looks at the variables and the files of this container, and at this process unless `environ`
    is given; never raises. Nothing starts CUDA."""
    given = os.environ if environ is None else environ
    region = given.get(variables.GUARD_REGION)
    library = isolations.guard_library(given.get(variables.PRELOAD, ""))
    why_not = _why_not(region, library, is_this_process=environ is None)
    others = {name: value for name, value in given.items() if name != variables.GUARD_REGION}
    devices, problem = _devices(region) if region else (None, "")
    limit = given.get(variables.GUARD_LIMIT) or None
    if limit is not None and not _LIMIT.fullmatch(limit):
        problem = f"{variables.GUARD_LIMIT} is {limit!r}, no limit such as 0.5 or 16Gi, {_NO_START}"
    elif limit is None and not why_not and not given.get(variables.GUARD_LIMITS):
        why_not = f"{variables.GUARD_LIMIT} is not set: the guard counts, and refuses nothing"
    return GuardState(
        in_force=not (why_not or problem),
        why_not=why_not or problem,
        isolation=variables.isolation(others) if why_not else isolations.GUARD,
        limit=limit,
        region=region,
        library=library,
        devices=devices,
    )


def _why_not(region: str | None, library: str | None, *, is_this_process: bool) -> str:
    if not region:
        return f"{variables.GUARD_REGION} is not set: the pod was created without the guard"
    if library is None:
        return f"{variables.PRELOAD} does not name libkaiguard.so"
    if not os.path.exists(library):
        return f"{library} does not exist: the init container kai-guard had no library to copy"
    if is_this_process and not _is_loaded():
        return f"{library} is not loaded into this process: its log has a line of ld.so about it"
    return ""


def _devices(region: str) -> tuple[tuple[GuardedDevice, ...] | None, str]:
    """None, and why, if the file cannot be used."""
    if not os.path.exists(region):
        return None, f"{region} does not exist, {_NO_START}"
    if not os.access(region, os.W_OK):
        return None, f"{region} cannot be written by this user, {_NO_START}"
    try:
        return guarded(region) or (), ""
    except NotGuarded as error:
        return None, f"{error}, {_NO_START}"


def _is_loaded() -> bool:
    try:
        return "libkaiguard.so" in Path("/proc/self/maps").read_text(errors="replace")
    except OSError:
        return True  # not known
