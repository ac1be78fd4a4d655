"""Makes and reads the certificates of the webhooks, with the library cryptography.

    pems = ServerPems("admission.kai-scheduler.svc", clock.wall)
    pair = pems.issue()

Each pair has an authority of its own, whose key is not kept: nothing else can be signed with it.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from datetime import datetime, timezone

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kai.controllers.admission.rotation import Lifetime, Pair

LIFETIME_S = 365 * 24 * 3600.0
EARLIER_S = 3600.0
"""Certificates are valid from then, for API servers whose clock is behind."""


class ServerPems:
    """Certificates for the name or the IP address at which API servers call the webhooks. `clock`:
    seconds since 1970. `lifetime`: in seconds."""

    def __init__(self, name: str, clock: Callable[[], float], lifetime: float = LIFETIME_S) -> None:
        self._name, self._alternative = name, _alternative(name)
        self._clock, self._lifetime = clock, lifetime

    def issue(self) -> Pair:
        authority_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
        authority_name = _named(f"{self._name} authority")
        authority = self._signed(
            authority_name,
            authority_name,
            authority_key.public_key(),
            authority_key,
            (x509.BasicConstraints(ca=True, path_length=0), True),
            (_SIGNS, True),
        )
        certificate = self._signed(
            _named(self._name),
            authority_name,
            key.public_key(),
            authority_key,
            (x509.BasicConstraints(ca=False, path_length=None), True),
            (x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False),
            (x509.SubjectAlternativeName([self._alternative]), False),
        )
        return Pair(
            certificate.public_bytes(serialization.Encoding.PEM),
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            ),
            authority.public_bytes(serialization.Encoding.PEM),
        )

    def lifetime(self, certificate: bytes, key: bytes) -> Lifetime | None:
        try:
            found = x509.load_pem_x509_certificate(certificate)
            private = serialization.load_pem_private_key(key, password=None)
            names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        except (ValueError, TypeError, x509.ExtensionNotFound):
            return None
        if private.public_key() != found.public_key():
            return None
        if self._alternative not in list(names):
            return None
        starts, ends = (
            each.timestamp() for each in (found.not_valid_before_utc, found.not_valid_after_utc)
        )
        return Lifetime(starts, ends) if starts <= self._clock() + EARLIER_S else None

    def authority_of(self, certificate: bytes, authorities: bytes) -> bytes:
        try:
            found = x509.load_pem_x509_certificate(certificate)
            known = x509.load_pem_x509_certificates(authorities)
        except ValueError:
            return b""
        for each in known:
            try:
                found.verify_directly_issued_by(each)
            except (ValueError, TypeError, InvalidSignature):
                continue
            return each.public_bytes(serialization.Encoding.PEM)
        return b""

    def _signed(
        self,
        subject: x509.Name,
        issuer: x509.Name,
        public: ec.EllipticCurvePublicKey,
        signer: ec.EllipticCurvePrivateKey,
        *extensions: tuple[x509.ExtensionType, bool],
    ) -> x509.Certificate:
        now = self._clock()
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(_moment(now - EARLIER_S))
            .not_valid_after(_moment(now + self._lifetime))
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), False
            )
        )
        for extension, is_critical in extensions:
            builder = builder.add_extension(extension, is_critical)
        return builder.sign(signer, hashes.SHA256())


_SIGNS = x509.KeyUsage(
    key_cert_sign=True,
    crl_sign=True,
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    encipher_only=False,
    decipher_only=False,
)


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _named(name: str) -> x509.Name:
    # A common name has 64 characters at most; the names that count are the alternative ones.
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(int(seconds), timezone.utc)
