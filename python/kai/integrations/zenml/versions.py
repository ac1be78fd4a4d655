"""What differs between versions of ZenML; each boundary was read from its wheels."""

from __future__ import annotations

import re

from kai.api import rules

Version = tuple[int, int, int]
_NUMBERS = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")

FIRST: Version = (0, 82, 0)
"""Before it there is no scheduler_name."""
STEP_JOBS: Version = (0, 84, 0)
"""From here on a step is a Job; before, a pod without an owner."""
NO_START_TIMEOUT: Version = (0, 84, 2)
"""From here on nothing gives up on a pod that waits to start."""
OWNERS_CAN_BE_SKIPPED: Version = (0, 91, 1)
"""skip_owner_references, container_security_context and DockerSettings.runtime_environment."""
CURRENT: Version = (0, 98, 0)
"""The version that is assumed if none is given."""


def read(version: str | None) -> Version:
    """Raises InvalidRequestError for a version that is too old or malformed."""
    if version is None:
        return CURRENT
    found = _numbers(version)
    if found is None:
        raise rules.refuse(f"zenml_version is {version!r}: write it as in 0.98.0")
    if found < FIRST:
        raise rules.refuse(
            f"ZenML {version} cannot name a scheduler: write zenml_version= 0.82.0 or newer, and"
            " install that"
        )
    return found


def is_older(there: str) -> bool:
    """Than what settings without a version are for."""
    found = _numbers(there)
    return found is not None and found < NO_START_TIMEOUT


def _numbers(version: object) -> Version | None:
    found = _NUMBERS.match(version) if isinstance(version, str) else None
    if found is None:
        return None
    major, minor, patch = (int(part or 0) for part in found.groups())
    return major, minor, patch


def text(version: Version) -> str:
    return ".".join(str(part) for part in version)
