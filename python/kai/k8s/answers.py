"""Interprets answers of an API server: its Status object, and the cause if no answer came."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import aiohttp

from kai.api.refusals import refusal
from kai.api.writes import Outcome, Result, Write


class Answer(NamedTuple):
    status: int
    body: bytes
    headers: Mapping[str, str]


class Unanswered(Exception):
    """No answer came. `sent`: the request may have reached the server."""

    def __init__(self, why: str, sent: bool) -> None:
        super().__init__(why)
        self.sent = sent


class Denial(NamedTuple):
    """A missing right, reported by the API server. `resource` may include a subresource;
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
    """The missing right in a message of the API server; None for other messages.

    Admission plug-ins also answer "forbidden"; their messages report no missing right.
    """
    found = _DENIAL.search(text)
    if found is None:
        return None
    return Denial(**{name: value or "" for name, value in found.groupdict().items()})


_NEVER_CONNECTED = (
    aiohttp.ClientConnectorError,
    aiohttp.ClientHttpProxyError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.InvalidURL,
)


def explain(error: BaseException, sent: bool = True, proxy: str = "") -> Unanswered:
    """Why no answer came, in a few words. `proxy`: the address of the proxy, if any."""
    text, through = _why(error), without_password(proxy)
    if isinstance(error, aiohttp.ClientProxyConnectionError):
        text = f"the proxy {through}: {text}"
    elif through:
        text = f"{text}, through the proxy {through}"
    return Unanswered(text, sent and not isinstance(error, _NEVER_CONNECTED))


def _why(error: BaseException) -> str:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        inner = error.certificate_error
        problem = getattr(inner, "verify_message", "") or inner
        return f"its certificate is not trusted: {problem}"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "no address is known for this name"
    if isinstance(error, aiohttp.ClientConnectorSSLError):
        reason = getattr(error.os_error, "reason", "") or ""
        if reason in _NO_TLS:
            return "it does not use TLS: its address may need to begin with http://"
        return f"no TLS connection: {_words(reason) or error.os_error}"
    if isinstance(error, aiohttp.ClientConnectorError):
        text = error.os_error.strerror or str(error.os_error)
        return (
            "connection refused" if "Connect call failed" in text else text[:1].lower() + text[1:]
        )
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"refused with {error.status} {error.message}"
    if isinstance(error, (asyncio.TimeoutError, TimeoutError)):
        return "no answer in time"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "the connection was closed before the answer"
    reason = _reason(error)
    if "ALERT_CERTIFICATE" in reason or reason.endswith(_OF_CERTIFICATES):
        return f"it refuses the client certificate: {_words(reason.partition('ALERT_')[2])}"
    return f"the connection broke: {str(error) or type(error).__name__}"


_NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG")
_OF_CERTIFICATES = ("ALERT_UNKNOWN_CA", "ALERT_BAD_CERTIFICATE", "ALERT_UNSUPPORTED_CERTIFICATE")


def _reason(error: BaseException | None) -> str:
    """OpenSSL's reason of an error or of its cause."""
    while error is not None:
        for each in (error, getattr(error, "os_error", None)):
            if reason := getattr(each, "reason", None):
                return str(reason)
        error = error.__cause__ or error.__context__
    return ""


def _words(reason: str) -> str:
    return reason.lower().replace("_", " ")


def without_password(url: str) -> str:
    """The URL without its password, for messages."""
    scheme, colon, rest = url.partition("://")
    return f"{scheme}{colon}{rest.rpartition('@')[2]}"


def status_of(body: bytes) -> Mapping[str, Any]:
    """The Status object of an answer; empty for other answers, such as those of a proxy."""
    value = _parsed(body)
    return value if isinstance(value, dict) and value.get("kind") == "Status" else {}


def _parsed(body: bytes) -> Any:
    """The JSON of a body; None for anything else."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


_TITLE = re.compile(r"<(?:title|h1)[^>]*>([^<]{1,200})<", re.IGNORECASE)


def reason_and_message(body: bytes) -> tuple[str, str]:
    """The reason and message of an answer; without a Status, the start of its text, or the title of
    a web page."""
    status = status_of(body)
    if not status:
        text = " ".join(body[:4000].decode(errors="replace").split())
        if text.startswith("<"):
            title = _TITLE.search(text)
            return "", f"a web page: {title[1].strip()}" if title else "a web page"
        return "", text[:200]
    return str(status.get("reason") or ""), str(status.get("message") or "")


def kinds_of(write: Write) -> tuple[str, ...]:
    """The kinds of object that the API server answers a successful write with."""
    if write.subresource in ("binding", "eviction"):
        return ("Status",)
    return ("Status", write.kind) if write.verb == "delete" else (write.kind,)


def whole(body: bytes, kinds: Sequence[str]) -> dict[str, Any]:
    """The body of a successful answer: an object of one of these kinds, or a list of objects.

    Raises ValueError for other bodies. A proxy may answer 200 with a page of its own, and a server
    in trouble with half an object. Such an answer says nothing about the request.
    """
    value = _parsed(body)
    if isinstance(value, dict) and value.get("kind") in kinds and _is_whole(value):
        return value
    shown = reason_and_message(body)[1][:60] or "nothing"
    raise ValueError(f"the answer is no {kinds[-1]}: {shown} (is there a proxy in between?)")


def _is_whole(value: Mapping[str, Any]) -> bool:
    """Whether it has the parts that an API server always sends."""
    kind, metadata = value["kind"], value.get("metadata")
    if kind == "Status":
        return value.get("status") == "Success"
    if kind.startswith("API"):  # of discovery: no objects
        return True
    if not isinstance(metadata, dict):
        return False
    if not kind.endswith("List"):
        return bool(metadata.get("name") and metadata.get("uid"))
    items = value.get("items", "")
    is_list = items is None or isinstance(items, list)
    return is_list and bool(metadata.get("resourceVersion")) and all(map(_is_named, items or ()))


def _is_named(item: Any) -> bool:
    metadata = item.get("metadata") if isinstance(item, dict) else None
    return isinstance(metadata, dict) and bool(metadata.get("name"))


def looks_whole(body: bytes, kind: str) -> bool:
    """A cheap sign that it is a `whole` object: its first and last characters. For answers whose
    body is not used."""
    start = body[:200]
    begins = start.startswith(b"{") and b'"metadata":{' in start
    return begins and b'"kind":"%s"' % kind.encode() in start and body[-2:].rstrip().endswith(b"}")


def outcome_of(answer: Answer, write: Write) -> Outcome:
    """The outcome of a write for the controller that requested it."""
    code = answer.status
    if code < 300:
        return Outcome(Result.DONE, code, body=answer.body)
    status = status_of(answer.body)
    reason, message = reason_and_message(answer.body)
    # Rules and webhooks choose any code for a refusal, and nothing was stored whatever it is.
    refused = refusal(message) if status else None
    if refused is not None:
        result = Result.FAILED
    elif code == 404 and status:
        result = Result.GONE
    elif code == 409:
        result = Result.CONFLICT
    elif code == 429 and _by_a_budget(status):
        result = Result.REFUSED  # a PodDisruptionBudget, not the server's load
    elif code == 403 and denial(message):
        result = Result.FAILED  # rights can be granted later
    elif code >= 500 or code in (401, 408, 429):
        result = Result.FAILED
    else:
        result = Result.REFUSED
    return Outcome(result, code, reason, message, answer.body, refused)


def _by_a_budget(status: Mapping[str, Any]) -> bool:
    details = status.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    return any(
        isinstance(each, dict) and each.get("reason") == "DisruptionBudget" for each in causes or ()
    )


def retry_after(answer: Answer) -> float | None:
    """The seconds after which the server accepts the next request; None if it sends no value."""
    text = answer.headers.get("Retry-After", "")
    return float(text) if text.isdigit() else None
