"""The certificates of the webhooks: made once, adopted, and replaced before they end."""

import base64
from dataclasses import dataclass, field

import pytest

from kai.controllers.admission.rotation import SETTLE_S, Kept, Lifetime, Pair, step

YEAR = 365 * 86400.0


@dataclass
class Numbered:
    """Certificates as texts: "cert 1 0..100 a1" is signed by the authority "a1"."""

    now: float = 0.0
    made: int = 0
    lifetimes: dict[bytes, Lifetime] = field(default_factory=dict)

    def issue(self) -> Pair:
        self.made += 1
        certificate = f"cert{self.made}".encode()
        self.lifetimes[certificate] = Lifetime(self.now, self.now + YEAR)
        return Pair(certificate, f"key{self.made}".encode(), f"authority{self.made}".encode())

    def lifetime(self, certificate: bytes, key: bytes) -> Lifetime | None:
        fits = certificate.removeprefix(b"cert") == key.removeprefix(b"key")
        return self.lifetimes.get(certificate) if fits else None

    def authority_of(self, certificate: bytes, authorities: bytes) -> bytes:
        wanted = b"authority" + certificate.removeprefix(b"cert")
        return wanted if wanted in authorities.split() else b""


class Shared:
    """The Secret, and replicas that make the steps that are due."""

    def __init__(self) -> None:
        self.pems, self.kept = Numbered(), None
        self.registered = b""

    kept: Kept | None
    pems: Numbered

    def turn(self, after: float = 0.0, *, registers: bool = True) -> Kept:
        self.pems.now += after
        is_registered = self.kept is not None and self.registered == self.kept.authorities
        found = step(self.kept, self.pems, now=self.pems.now, is_registered=is_registered)
        self.kept = found or self.kept
        assert self.kept is not None
        if registers:
            self.registered = self.kept.authorities
        return self.kept

    def trusted(self) -> bool:
        """Whether an API server with the registrations trusts the certificate in use."""
        assert self.kept is not None
        return bool(self.pems.authority_of(self.kept.certificate, self.registered))


def test_a_first_pair_is_made_and_kept() -> None:
    shared = Shared()
    first = shared.turn()
    assert (first.certificate, first.authorities) == (b"cert1", b"authority1")
    assert shared.turn(after=YEAR / 2) is first


def test_a_rotation_trusts_the_new_authority_before_it_is_used() -> None:
    shared = Shared()
    shared.turn()
    both = shared.turn(after=YEAR * 0.7)
    assert both.certificate == b"cert1"
    assert both.authorities.split() == [b"authority1", b"authority2"]
    assert shared.turn(after=SETTLE_S - 1).certificate == b"cert1"
    used = shared.turn(after=1)
    assert (used.certificate, used.next_certificate) == (b"cert2", b"")
    assert used.authorities.split() == [b"authority1", b"authority2"]
    assert shared.turn(after=SETTLE_S - 1) is used
    alone = shared.turn(after=1)
    assert (alone.certificate, alone.authorities) == (b"cert2", b"authority2")
    assert shared.pems.made == 2


def test_nothing_is_replaced_while_a_registration_lacks_the_new_authority() -> None:
    shared = Shared()
    shared.turn()
    shared.turn(after=YEAR * 0.7, registers=False)
    for _ in range(5):
        assert shared.turn(after=SETTLE_S, registers=False).certificate == b"cert1"
        assert shared.trusted()
    shared.turn()
    assert shared.turn(after=SETTLE_S).certificate == b"cert2"


def test_the_certificate_in_use_is_trusted_at_every_moment_of_ten_years() -> None:
    shared = Shared()
    shared.turn()
    for hour in range(0, 10 * 365 * 24, 7):
        shared.turn(after=7 * 3600.0, registers=hour % 21 != 0)
        assert shared.trusted()
    assert shared.pems.made >= 14


def test_kais_secret_is_adopted() -> None:
    pems = Numbered()
    pems.lifetimes[b"authority1"] = Lifetime(0, 10 * YEAR)
    encoded = {"tls.crt": b"authority1", "tls.key": b"authority1"}
    secret = {"data": {key: base64.b64encode(each).decode() for key, each in encoded.items()}}
    kept = Kept.read(secret)
    assert kept.authorities == b"authority1"

    class SignedByItself(Numbered):
        def authority_of(self, certificate: bytes, authorities: bytes) -> bytes:
            return certificate if certificate in authorities.split() else b""

    own = SignedByItself(lifetimes=pems.lifetimes)
    assert step(kept, own, now=YEAR, is_registered=True) is None


@pytest.mark.parametrize(
    "broken",
    [
        Kept(b"", b"", b""),
        Kept(b"cert1", b"key9", b"authority1"),
        Kept(b"cert1", b"key1", b"authority9"),
        Kept(b"other", b"key1", b"authority1"),
    ],
)
def test_a_pair_that_cannot_be_used_is_replaced_at_once(broken: Kept) -> None:
    pems = Numbered()
    pems.issue()
    found = step(broken, pems, now=0, is_registered=False)
    assert found is not None
    assert (found.certificate, found.authorities) == (b"cert2", b"authority2")


def test_an_ended_pair_is_replaced_at_once() -> None:
    shared = Shared()
    shared.turn()
    assert shared.turn(after=2 * YEAR).certificate == b"cert2"
    assert shared.trusted()


def test_a_broken_next_pair_is_made_again() -> None:
    pems = Numbered()
    pair = pems.issue()
    kept = Kept(pair.certificate, pair.key, pair.authority, b"cert7", b"key7", since=0)
    dropped = step(kept, pems, now=0.7 * YEAR, is_registered=True)
    assert dropped is not None
    assert dropped.next_certificate == b""
    again = step(dropped, pems, now=0.7 * YEAR, is_registered=True)
    assert again is not None
    assert again.next_certificate == b"cert2"


def test_the_secret_is_read_as_it_was_written() -> None:
    kept = Kept(b"cert1", b"key1", b"authority1", b"cert2", b"key2", since=12.0)
    assert Kept.read({"data": kept.data()}) == kept
    assert Kept(b"c", b"k", b"a").data()["next.crt"] is None
    assert Kept.read({"data": {"tls.crt": "not base64!", "since": 3}}) == Kept(b"", b"", b"")
