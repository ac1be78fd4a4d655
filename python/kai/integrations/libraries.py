"""Finds the installed version of an orchestrator's library without importing it."""

from __future__ import annotations

from importlib.machinery import PathFinder


def installed_version(module: str, distribution: str) -> str | None:
    """The version, or None if it is not installed. `module`: its top-level module."""
    if PathFinder.find_spec(module) is None:
        return None
    from importlib import metadata  # this import takes as long as the rest of `kai settings`

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
