"""Fetches a snapshot from a running scheduler, kai or KAI.

data = fetch("http://localhost:8080")       # the bytes of a snapshot.zip
"""

from __future__ import annotations

import socket
import urllib.error
import urllib.request
from http.client import HTTPException
from urllib.parse import urlsplit, urlunsplit

from kai.api.naming import naming
from kai.errors import InvalidInputError, UnreachableError
from kai.snapshot import archive

PATH = "/get-snapshot"
PATIENCE_S = 300.0
"""Long, because the scheduler lists all objects of the cluster before it answers."""
_SHOWN = 200


def fetch(url: str) -> bytes:
    """The snapshot that a scheduler returns at this URL; a URL without a path is completed.

    Raises UnreachableError if there is no answer, and InvalidInputError if the answer is not a
    snapshot.
    """
    address = _address(url)
    # Ports that are forwarded to this machine cannot be reached through a proxy.
    local = urlsplit(address).hostname in ("localhost", "127.0.0.1", "::1")
    opener = urllib.request.build_opener(*([urllib.request.ProxyHandler({})] if local else []))
    try:
        with opener.open(address, timeout=PATIENCE_S) as answer:
            data: bytes = answer.read()
    except urllib.error.HTTPError as error:
        message = error.read(_SHOWN).decode(errors="replace").strip()
        raise InvalidInputError(f"{address}: {error.code}: {message or error.reason}") from None
    except (OSError, HTTPException) as error:
        raise UnreachableError(f"{address}: {_why(error)}") from None
    with naming(f"{address}: the answer"):
        found = archive.find_snapshot(archive.unpack(data).data)
    if found is None:
        raise InvalidInputError(f"{address}: the answer is not a snapshot")
    return data


def _address(url: str) -> str:
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port
    except ValueError as error:
        raise InvalidInputError(f"{url!r} is not an address: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise InvalidInputError(f"{url!r} is not an address such as http://localhost:8080")
    return urlunsplit(parts._replace(path=PATH)) if parts.path in ("", "/") else urlunsplit(parts)


def _why(error: Exception) -> str:
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, (TimeoutError, socket.timeout)):
        return "no answer in time"
    if isinstance(cause, socket.gaierror):
        return "no address is known for this name"
    text = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
    return text[:1].lower() + text[1:]
