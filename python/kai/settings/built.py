"""Built: the result of a builder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kai.api.reading import mapping
from kai.errors import InvalidRequestError
from kai.settings import page

if TYPE_CHECKING:
    from kai.settings.request import PodRequest


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A setting of the request that the orchestrator cannot express."""

    setting: str  # argument of PodRequest
    reason: str
    workaround: str

    def __str__(self) -> str:
        return f"{self.setting}: {self.reason}; {self.workaround}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Built(Mapping[str, Any]):
    """The settings for one orchestrator, with warnings and unsupported settings (spec 7 B4, B8).

    It is a mapping, equal to `settings`, so ``**built`` and ``built["pod_settings"]`` work. Its
    text has the settings as YAML, the unsupported settings and the warnings. `native` is the
    orchestrator's own object if its library is installed and `as_native` is not False; otherwise it
    is `settings`.
    """

    orchestrator: str
    settings: Mapping[str, Any]  # JSON-serialisable
    native: Any
    pod: Mapping[str, Any]  # the resulting pod, with `cluster_objects` applied
    placement: Mapping[str, str]  # the object of each key or field
    unsupported: tuple[Unsupported, ...] = ()
    warnings: tuple[str, ...] = ()
    cluster_objects: tuple[Mapping[str, Any], ...] = field(
        default=()
    )  # an administrator applies them once

    def __getitem__(self, key: str) -> Any:
        return self.settings[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.settings)

    def __len__(self) -> int:
        return len(self.settings)

    def __eq__(self, other: object) -> bool:
        return dict(self.settings) == (dict(other.settings) if isinstance(other, Built) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        parts = [f"{len(self.unsupported)} not supported"] if self.unsupported else []
        if self.warnings:
            parts.append(f"{len(self.warnings)} warning{'s' if len(self.warnings) > 1 else ''}")
        named = ", ".join(map(str, self.settings)) or "nothing"
        return f"<settings for {self.orchestrator}: {'; '.join([named, *parts])}>"

    def __str__(self) -> str:
        sections = [
            (f"Settings for {self.orchestrator}", list(page.lines(self.settings))),
            ("Not supported", [f"- {each}" for each in self.unsupported]),
            ("Warnings", [f"- {each}" for each in self.warnings]),
            (
                "An administrator must apply once",
                [
                    f"- {each.get('kind')} {mapping(each.get('metadata')).get('name')}"
                    for each in self.cluster_objects
                ],
            ),
        ]
        return "\n\n".join(
            "\n".join([f"{title}:", *(f"  {line}" for line in lines)])
            for title, lines in sections
            if lines
        )

    def to_pod_spec(self) -> Mapping[str, Any]:
        """The resulting pod: metadata and spec."""
        return self.pod

    def strict_if(self, strict: bool) -> Built:
        """Itself; with `strict` it raises InvalidRequestError as `strict()` does."""
        return self.strict() if strict else self

    def strict(self) -> Built:
        """Returns itself; raises InvalidRequestError if a setting is unsupported."""
        if self.unsupported:
            raise InvalidRequestError(
                f"{self.orchestrator} cannot express "
                + "; ".join(str(each) for each in self.unsupported)
            )
        return self


def unsupported_in(
    request: PodRequest, hints: Mapping[str, tuple[str, str]]
) -> Iterator[Unsupported]:
    """The settings of a request that an orchestrator lacks; `hints`: by setting, why, and what to
    do instead."""
    for setting, hint in hints.items():
        if getattr(request, setting) not in (None, False):
            yield Unsupported(setting, *hint)


def native_or(values: Any, make: Any, *, as_native: bool | None, library: str) -> Any:
    """`make()` if the library is installed, otherwise the values (spec 7 B2).

    as_native: None: native if it can be imported; True: raises InvalidRequestError if it cannot;
    False: never.
    """
    if as_native is False:
        return values
    try:
        return make()
    except ImportError as error:
        if as_native:
            raise InvalidRequestError(
                f"as_native=True needs {library}, which cannot be imported ({error}): install it,"
                " or omit as_native for plain values"
            ) from None
        return values
