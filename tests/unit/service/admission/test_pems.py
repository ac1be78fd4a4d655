"""Certificates of a Service, as TLS uses them."""

from __future__ import annotations

import ssl
import time
from pathlib import Path

import pytest

pytest.importorskip("cryptography")

from kai.service.admission.pems import ServicePems

DAY = 86400.0


def made(namespace: str = "kai-scheduler", *, now: float | None = None) -> ServicePems:
    moment = time.time() if now is None else now
    return ServicePems("admission", namespace, lambda: moment, lifetime=30 * DAY)


def test_a_client_that_trusts_the_authority_accepts_the_certificate(tmp_path: Path) -> None:
    pair = made().issue()
    for name, content in (("crt", pair.certificate), ("key", pair.key)):
        (tmp_path / name).write_bytes(content)
    server_tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server_tls.load_cert_chain(tmp_path / "crt", tmp_path / "key")
    client_tls = ssl.create_default_context(cadata=pair.authority.decode())
    client_tls.verify_flags |= ssl.VERIFY_X509_STRICT  # as newer versions of Python
    assert shake_hands(server_tls, client_tls, "admission.kai-scheduler.svc")
    with pytest.raises(ssl.SSLCertVerificationError, match="ostname"):
        shake_hands(server_tls, client_tls, "admission.other.svc")
    others = ssl.create_default_context(cadata=made().issue().authority.decode())
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(server_tls, others, "admission.kai-scheduler.svc")


def shake_hands(server_tls: ssl.SSLContext, client_tls: ssl.SSLContext, name: str) -> bool:
    """A handshake in memory."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_tls.wrap_bio(back, there, server_hostname=name)
    server = server_tls.wrap_bio(there, back, server_side=True)
    for _ in range(10):
        done = 0
        for side in (client, server):
            try:
                side.do_handshake()
                done += 1
            except ssl.SSLWantReadError:
                pass
        if done == 2:
            return True
    return False


def test_a_pair_is_valid_for_its_service_and_its_time_only() -> None:
    pair = made(now=1_000_000_000).issue()
    found = made(now=1_000_000_000).lifetime(pair.certificate, pair.key)
    assert found is not None
    assert found.starts < 1_000_000_000 < found.ends
    assert found.ends - 1_000_000_000 == 30 * DAY
    assert made("other").lifetime(pair.certificate, pair.key) is None
    assert made(now=900_000_000).lifetime(pair.certificate, pair.key) is None
    assert made().lifetime(pair.certificate, made().issue().key) is None
    assert made().lifetime(b"", b"") is None
    assert made().lifetime(b"-----BEGIN CERTIFICATE-----\n!\n", pair.key) is None


def test_the_authority_of_a_certificate_is_found_among_others() -> None:
    first, second = made().issue(), made().issue()
    both = first.authority + second.authority
    assert made().authority_of(second.certificate, both).strip() == second.authority.strip()
    assert made().authority_of(second.certificate, first.authority) == b""
    assert made().authority_of(second.certificate, b"") == b""


def test_a_long_namespace_has_a_certificate() -> None:
    long = made("n" * 63)
    pair = long.issue()
    assert long.lifetime(pair.certificate, pair.key) is not None
