"""An API server in this process, and clocks, so that tests of the client do not wait."""

import shutil
import subprocess
from pathlib import Path

import pytest


def openssl(*args: str) -> None:
    subprocess.run(["openssl", *args], check=True, capture_output=True)


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An authority, a server called kubernetes.test, and a client."""
    if shutil.which("openssl") is None:
        pytest.skip("certificates are made with the program openssl")
    folder = tmp_path_factory.mktemp("pki")
    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1")
    ca = ("-CA", f"{folder}/ca.crt", "-CAkey", f"{folder}/ca.key")
    usage = ("-addext", "keyUsage=critical,keyCertSign")
    for name in ("ca", "other"):
        out = ("-keyout", f"{folder}/{name}.key", "-out", f"{folder}/{name}.crt")
        openssl("req", "-x509", *new, "-subj", f"/CN={name}", *usage, *out)
    (folder / "san").write_text("subjectAltName=DNS:kubernetes.test")
    for name in ("server", "client"):
        out = ("-keyout", f"{folder}/{name}.key", "-out", f"{folder}/{name}.csr")
        openssl("req", *new[:-2], "-subj", f"/CN={name}", *out)
        options = ("-in", f"{folder}/{name}.csr", "-out", f"{folder}/{name}.crt", "-days", "1")
        openssl("x509", "-req", *ca, "-CAcreateserial", "-extfile", f"{folder}/san", *options)
    return folder
