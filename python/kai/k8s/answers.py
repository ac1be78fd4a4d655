"""What an answer of an API server means: its Status object, and why no answer came."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import aiohttp

from kai.api.writes import Outcome, Result, Write


class Answer(NamedTuple):
    status: int
    body: bytes
    headers: Mapping[str, str]


class Unanswered(Exception):
    """No answer came; `sent`: the request may have reached the server."""

    def __init__(self, why: str, sent: bool) -> None:
        super().__init__(why)
        self.sent = sent


class Denial(NamedTuple):
    """A right that the API server finds missing. `resource` may have a subresource behind it, and
    `namespace` is "" for the whole cluster."""

    verb: str
    resource: str
    group: str
    user: str
    namespace: str = ""

    @property
    def right(self) -> tuple[str, str, str]:
        return self.verb, self.resource, self.group


_DENIAL = re.compile(
    r'User "(?P<user>[^"]*)" cannot (?P<verb>\S+) resource "(?P<resource>[^"]+)"'
    r' in API group "(?P<group>[^"]*)"(?: in the namespace "(?P<namespace>[^"]*)")?'
)


def denial(text: str) -> Denial | None:
    """The missing right that a message of the API server is about; None for other messages.

    Admission plug-ins forbid things as well: then it is not the right that is missing.
    """
    found = _DENIAL.search(text)
    if found is None:
        return None
    return Denial(**{name: said or "" for name, said in found.groupdict().items()})


_NEVER_CONNECTED = (
    aiohttp.ClientConnectorError,
    aiohttp.ClientHttpProxyError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.InvalidURL,
)


def explain(error: BaseException, sent: bool = True) -> Unanswered:
    """Why no answer came, in a few words."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        inner = error.certificate_error
        why = f"its certificate does not count: {getattr(inner, 'verify_message', '') or inner}"
    elif isinstance(error, aiohttp.ClientConnectorDNSError):
        why = "no address is known for this name"
    elif isinstance(error, aiohttp.ClientConnectorSSLError):
        why = f"no TLS connection: {error.os_error.strerror or error.os_error}"
    elif isinstance(error, aiohttp.ClientConnectorError):
        text = error.os_error.strerror or str(error.os_error)
        why = "connection refused" if "Connect call failed" in text else text[:1].lower() + text[1:]
    elif isinstance(error, aiohttp.ClientHttpProxyError):
        why = f"the proxy refuses: {error.status} {error.message}"
    elif isinstance(error, (asyncio.TimeoutError, TimeoutError)):
        why = "no answer in time"
    elif isinstance(error, aiohttp.ServerDisconnectedError):
        why = "the connection was closed before the answer"
    else:
        why = f"the connection broke: {str(error) or type(error).__name__}"
    return Unanswered(why, sent and not isinstance(error, _NEVER_CONNECTED))


def status_of(body: bytes) -> Mapping[str, Any]:
    """The Status object of an answer; empty for other answers, such as those of a proxy."""
    try:
        value = json.loads(body)
    except ValueError:
        return {}
    return value if isinstance(value, dict) and value.get("kind") == "Status" else {}


def said(body: bytes) -> tuple[str, str]:
    """The reason and message of an answer; the begin of its text where that is no Status."""
    status = status_of(body)
    if not status:
        return "", body[:200].decode(errors="replace").strip()
    return str(status.get("reason") or ""), str(status.get("message") or "")


def outcome_of(answer: Answer, write: Write) -> Outcome:
    """What an answer means for the controller that wanted the write."""
    code = answer.status
    if code < 300:
        return Outcome(Result.DONE, code, body=answer.body)
    status = status_of(answer.body)
    reason, message = said(answer.body)
    if code == 404 and status:
        result = Result.GONE
    elif code == 409:
        result = Result.CONFLICT
    elif code == 429 and _by_a_budget(status):
        result = Result.REFUSED  # a PodDisruptionBudget: it is not about load
    elif code == 403 and denial(message):
        result = Result.FAILED  # rights can be given
    elif code >= 500 or code in (401, 408, 429):
        result = Result.FAILED
    else:
        result = Result.REFUSED
    return Outcome(result, code, reason, message, answer.body)


def _by_a_budget(status: Mapping[str, Any]) -> bool:
    details = status.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    return any(
        isinstance(each, dict) and each.get("reason") == "DisruptionBudget" for each in causes or ()
    )


def retry_after(answer: Answer) -> float | None:
    """The seconds after which the server wants to be asked again; None where it says nothing."""
    text = answer.headers.get("Retry-After", "")
    return float(text) if text.isdigit() else None
