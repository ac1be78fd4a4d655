"""The common base of the values of a plan."""

from __future__ import annotations

import dataclasses


class Brief:
    """A repr without the members that do not apply."""

    __slots__ = ()

    def __repr__(self) -> str:
        given = ", ".join(
            f"{field.name}={value!r}"
            for field in dataclasses.fields(self)  # type: ignore[arg-type]
            if (value := getattr(self, field.name)) not in (None, ())
        )
        return f"{type(self).__name__}({given})"
