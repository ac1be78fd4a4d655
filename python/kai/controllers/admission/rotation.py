"""The certificates of the webhooks: when new ones are made, and in which order they replace the old
ones (spec 6 C12).

    kept = Kept.read(secret)                  # the Secret that all replicas share; None: no Secret
    after = step(kept, pems, now=now, is_registered=True)
    if after is not None:
        ...                                   # write after.data(), if the Secret is still the same

A rotation never breaks a connection: the API server trusts the new authority before a replica shows
a certificate of it, and the old authority until no replica shows an old certificate:

1. the next pair is made, and its authority is added to those in all registrations
2. when all registrations have it for a while, the next pair is used
3. after another while, the old authority is removed

Each step is one change of the Secret, so any replica may make it. No I/O.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from kai.api.reading import at, mapping, text

SETTLE_S = 60.0
"""By then every API server uses a new registration, and every replica a new certificate."""
_SHARE_LEFT = 1 / 3
"""A certificate is replaced when less of its lifetime is left. It is the rule of cert-manager."""

_CERTIFICATE, _KEY, _AUTHORITIES = "tls.crt", "tls.key", "ca.crt"
_NEXT_CERTIFICATE, _NEXT_KEY, _SINCE = "next.crt", "next.key", "since"


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate with its key, and the authority that signed it; PEM."""

    certificate: bytes
    key: bytes
    authority: bytes


@dataclass(frozen=True, slots=True)
class Lifetime:
    """In seconds since 1970."""

    starts: float
    ends: float

    def has_little_left(self, now: float) -> bool:
        return self.ends - now < (self.ends - self.starts) * _SHARE_LEFT


class Pems(Protocol):
    """What needs cryptography."""

    def issue(self) -> Pair:
        """A new pair, valid for the Service, with an authority of its own."""

    def lifetime(self, certificate: bytes, key: bytes) -> Lifetime | None:
        """None: the pair is not valid for the Service, now or at any time."""

    def authority_of(self, certificate: bytes, authorities: bytes) -> bytes:
        """The one that signed the certificate; b"": none of them."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The contents of the Secret. `authorities`: those that the registrations have. `next`: pair
    that will be used; its authority is among them. `since`: when the last step was made."""

    certificate: bytes
    key: bytes
    authorities: bytes
    next_certificate: bytes = b""
    next_key: bytes = b""
    since: float = 0.0

    @staticmethod
    def read(secret: Mapping[str, Any]) -> Kept:
        """KAI's Secret has no authorities: its certificate is signed by itself."""
        data = {key: _decoded(each) for key, each in mapping(at(secret, "data")).items()}
        certificate = data.get(_CERTIFICATE, b"")
        try:
            since = float(data.get(_SINCE, b"0"))
        except ValueError:
            since = 0.0
        return Kept(
            certificate,
            data.get(_KEY, b""),
            data.get(_AUTHORITIES) or certificate,
            data.get(_NEXT_CERTIFICATE, b""),
            data.get(_NEXT_KEY, b""),
            since,
        )

    def data(self) -> dict[str, str | None]:
        """`data` of the Secret, for a merge patch: None removes a key."""
        data = {
            _CERTIFICATE: self.certificate,
            _KEY: self.key,
            _AUTHORITIES: self.authorities,
            _NEXT_CERTIFICATE: self.next_certificate,
            _NEXT_KEY: self.next_key,
            _SINCE: f"{self.since:.0f}".encode(),
        }
        return {key: base64.b64encode(each).decode() or None for key, each in data.items()}


def step(kept: Kept | None, pems: Pems, *, now: float, is_registered: bool) -> Kept | None:
    """The contents after the step that is due; None: none is due.

    is_registered: all registrations have the authorities of `kept`.
    """
    lifetime = None if kept is None else pems.lifetime(kept.certificate, kept.key)
    own = b"" if kept is None else pems.authority_of(kept.certificate, kept.authorities)
    if kept is None or lifetime is None or lifetime.ends <= now or not own:
        new = pems.issue()
        return Kept(new.certificate, new.key, new.authority, since=now)
    has_settled = is_registered and now - kept.since >= SETTLE_S
    if kept.next_certificate:
        following = pems.lifetime(kept.next_certificate, kept.next_key)
        if following is None or not pems.authority_of(kept.next_certificate, kept.authorities):
            return replace(kept, next_certificate=b"", next_key=b"", since=now)
        if not has_settled:
            return None
        return Kept(kept.next_certificate, kept.next_key, kept.authorities, since=now)
    if kept.authorities != own:
        return replace(kept, authorities=own, since=now) if has_settled else None
    if lifetime.has_little_left(now):
        new = pems.issue()
        return replace(
            kept,
            authorities=kept.authorities.rstrip() + b"\n" + new.authority,
            next_certificate=new.certificate,
            next_key=new.key,
            since=now,
        )
    return None


def _decoded(value: object) -> bytes:
    try:
        return base64.b64decode(text(value), validate=True)
    except ValueError:
        return b""
