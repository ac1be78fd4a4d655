"""Keys and certificates of a cluster, made by openssl in about 0.2 s.

`ca.crt` signs all others. `server.crt` is valid for 127.0.0.1 and localhost: the API server,
webhooks under test and the fault proxy use it. `admin.crt` is a client certificate of the group
system:masters. `service-accounts.key` signs the tokens of service accounts.
"""

import subprocess
import tempfile
from pathlib import Path

from .errors import ClusterError

NAMES = (
    "IP:127.0.0.1,IP:10.96.0.1,DNS:localhost,DNS:kubernetes,"
    "DNS:kubernetes.default,DNS:kubernetes.default.svc"
)
NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


def make_certificates(folder: Path) -> None:
    """Fills a folder, which must not exist.

    Raises:
        ClusterError: openssl is missing or fails.
    """
    folder.mkdir(mode=0o700, parents=True)
    _openssl(
        folder,
        *("req", "-x509", *NEW_KEY, "-days", "3650", "-subj", "/CN=test-cluster-ca"),
        *("-addext", "keyUsage=critical,keyCertSign,cRLSign,digitalSignature"),
        *("-keyout", "ca.key", "-out", "ca.crt"),
    )
    server = f"extendedKeyUsage=serverAuth\nsubjectAltName={NAMES}\n"
    _sign(folder, "server", "/CN=test-cluster", server)
    _sign(folder, "admin", "/O=system:masters/CN=admin", "extendedKeyUsage=clientAuth\n")
    key = "service-accounts.key"
    _openssl(folder, "genrsa", "-out", key, "2048")
    _openssl(folder, "rsa", "-in", key, "-pubout", "-out", "service-accounts.pub")


def make_server(folder: Path, name: str, host: str) -> tuple[Path, Path]:
    """The certificate of a server of this name and its key, signed by `ca.crt`."""
    certificate, key = folder / f"{name}.crt", folder / f"{name}.key"
    if not certificate.exists():
        names = f"extendedKeyUsage=serverAuth\nsubjectAltName=DNS:{host}\n"
        _sign(folder, name, f"/CN={host}", names)
    return certificate, key


def _sign(folder: Path, name: str, subject: str, extensions: str) -> None:
    request, key = f"{name}.csr", f"{name}.key"
    _openssl(folder, "req", "-new", *NEW_KEY, "-subj", subject, "-keyout", key, "-out", request)
    _openssl(
        folder,
        *("x509", "-req", "-in", request, "-days", "3650", "-CA", "ca.crt", "-CAkey", "ca.key"),
        *("-CAcreateserial", "-extfile", "/dev/stdin", "-out", f"{name}.crt"),
        stdin=extensions,
    )


def _openssl(folder: Path, *arguments: str, stdin: str = "") -> None:
    try:
        done = subprocess.run(
            ["openssl", *arguments], input=stdin, cwd=folder, text=True, capture_output=True
        )
    except FileNotFoundError:
        raise ClusterError("the openssl command is missing") from None
    if done.returncode:
        raise ClusterError(f"openssl {arguments[0]}: {done.stderr.strip()}")


def self_signed(host: str) -> tuple[bytes, bytes]:
    """The certificate of a server of this name, signed by itself, and its key."""
    with tempfile.TemporaryDirectory() as folder:
        _openssl(
            Path(folder),
            *("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "3650"),
            *("-subj", f"/CN={host}", "-addext", f"subjectAltName=DNS:{host}"),
            *("-keyout", "key", "-out", "certificate"),
        )
        return Path(folder, "certificate").read_bytes(), Path(folder, "key").read_bytes()
