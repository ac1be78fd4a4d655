"""Which version of an orchestrator's library is there, without importing it."""

from __future__ import annotations

from importlib.machinery import PathFinder


def installed_version(module: str, distribution: str) -> str | None:
    """None: it is not there. `module`: its top-level one."""
    if PathFinder.find_spec(module) is None:
        return None
    from importlib import metadata  # it costs as much as the rest of `kai settings`

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
