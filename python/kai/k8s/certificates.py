"""Certificates that are not in a file."""

from __future__ import annotations

import os
import ssl


def use_certificate(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Makes the context use a certificate and its key, both as PEM.

    `ssl` reads them from a file only. The file is in memory, because the file system of a pod may
    be read-only.

    Raises ssl.SSLError or OSError if they are not a certificate and its key.
    """
    with open(os.memfd_create("certificate"), "wb") as file:
        file.write(certificate + b"\n" + key)
        file.flush()
        context.load_cert_chain(f"/proc/self/fd/{file.fileno()}")
