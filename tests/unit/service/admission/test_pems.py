"""Certificates of a Service, as TLS uses them."""

import ssl
import time
from pathlib import Path

import pytest

pytest.importorskip("cryptography")

from kai.controllers.admission.rotation import Pair
from kai.service.admission.pems import ServerPems

DAY = 86400.0


def made(namespace: str = "kai-scheduler", *, now: float | None = None) -> ServerPems:
    return named(f"admission.{namespace}.svc", now=now)


def named(name: str, *, now: float | None = None) -> ServerPems:
    moment = time.time() if now is None else now
    return ServerPems(name, lambda: moment, lifetime=30 * DAY)


def test_a_client_that_trusts_the_authority_accepts_the_certificate(tmp_path: Path) -> None:
    pair = made().issue()
    server_tls, client_tls = contexts(pair, tmp_path)
    assert shake_hands(server_tls, client_tls, "admission.kai-scheduler.svc")
    with pytest.raises(ssl.SSLCertVerificationError, match="ostname"):
        shake_hands(server_tls, client_tls, "admission.other.svc")
    others = ssl.create_default_context(cadata=made().issue().authority.decode())
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(server_tls, others, "admission.kai-scheduler.svc")


def contexts(pair: Pair, folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Of a server with the pair, and of a client that trusts its authority."""
    for name, content in (("crt", pair.certificate), ("key", pair.key)):
        (folder / name).write_bytes(content)
    server_tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server_tls.load_cert_chain(folder / "crt", folder / "key")
    client_tls = ssl.create_default_context(cadata=pair.authority.decode())
    client_tls.verify_flags |= ssl.VERIFY_X509_STRICT  # as newer versions of Python
    return server_tls, client_tls


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


@pytest.mark.parametrize(("name", "other"), [("192.0.2.7", "192.0.2.8"), ("::1", "::2")])
def test_a_certificate_for_an_address(tmp_path: Path, name: str, other: str) -> None:
    pair = named(name).issue()
    assert named(name).lifetime(pair.certificate, pair.key) is not None
    assert named(other).lifetime(pair.certificate, pair.key) is None
    server_tls, client_tls = contexts(pair, tmp_path)
    assert shake_hands(server_tls, client_tls, name)
    with pytest.raises(ssl.SSLCertVerificationError, match="IP address mismatch"):
        shake_hands(server_tls, client_tls, other)
