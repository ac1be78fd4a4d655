"""Converts settings of all forms to plain values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kai.api import rules
from kai.settings.native import to_plain


def plain(settings: Any) -> dict[str, Any]:
    """A copy as a dict: of a mapping, of a model of ZenML as far as it was set, or of None."""
    if settings is None:
        return {}
    dump = getattr(settings, "model_dump", None)
    if callable(dump):
        settings = dump(exclude_unset=True)
    copied = to_plain(settings)
    if not isinstance(copied, Mapping):
        raise rules.refuse(
            f"the settings are {settings!r}: write a mapping, or an object of ZenML's settings"
        )
    return dict(copied)
