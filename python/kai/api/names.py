"""Names of objects and values of labels that are built from other names, and must not be too long.

The API server refuses an object whose name has more than 253 characters, and a label whose value
has more than 63. A name that does not fit is cut, and a part of its hash makes it unique. A name
that fits is not changed.

>>> fitting("gpu-node-1", LONGEST_LABEL)
'gpu-node-1'
>>> fitting("n" * 70, 30)
'nnnnnnnnnnnnnnnnnnn-85069ddf41'
>>> dns_label("GPU_workers"), object_name("kai-scheduler-Pool_A")
('gpu-workers-a73cf1729b', 'kai-scheduler-pool-a-1cbdad81df')
"""

from __future__ import annotations

import re

LONGEST_NAME = 253
"""Characters in the name of an object."""
LONGEST_LABEL = 63
"""Characters in the value of a label, and in the name of a part of an object."""

_HASH = 10
_METRICS_NAMESPACE = re.compile("[a-zA-Z][a-zA-Z0-9_]*")
_DNS_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_DNS_NAME = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")


def problem_of_name(name: str) -> str:
    """Why the API server refuses an object of this name; "" for a valid name (RFC 1123 subdomain).

    >>> problem_of_name("gpu-node.1"), problem_of_name("n" * 254)
    ('', 'has 254 characters, more than 253')
    """
    if len(name) > LONGEST_NAME:
        return f"has {len(name)} characters, more than {LONGEST_NAME}"
    return "" if _DNS_NAME.fullmatch(name) else _no_name(name, ", '-' and '.'")


def problem_of_label(name: str) -> str:
    """Why it cannot name a namespace or a part of an object; "" if it can (RFC 1123 label)."""
    if len(name) > LONGEST_LABEL:
        return f"has {len(name)} characters, more than {LONGEST_LABEL}"
    return "" if _DNS_LABEL.fullmatch(name) else _no_name(name, " and '-'")


def problem_of_metrics_namespace(name: str) -> str:
    """Why metrics cannot have this prefix; "" if they can."""
    if _METRICS_NAMESPACE.fullmatch(name):
        return ""
    return (
        f"{name!r} is not a metrics namespace: use letters, digits and underscores, beginning with"
        " a letter"
    )


def problem_of_image(name: str) -> str:
    """Why it cannot be the name of a container image; "" if it can. Registries check the rest.

    >>> problem_of_image("example/kai:1"), problem_of_image("a b")
    ('', "'a b' is not the name of an image")
    """
    is_one = bool(name) and not any(each.isspace() for each in name)
    return "" if is_one else f"{name!r} is not the name of an image"


def _no_name(name: str, signs: str) -> str:
    return (
        f'"{name}" is not a name of lower-case letters, digits{signs} that begins and ends with a'
        " letter or digit"
    )


def fitting(name: str, most: int = LONGEST_NAME) -> str:
    """The name, cut to `most` characters; the same for equal names. `most` must be over 11."""
    return name if len(name) <= most else _with_hash(name, name, most)


def dns_label(name: str) -> str:
    """The name as a DNS label: up to 63 lower-case letters, digits and hyphens."""
    if _DNS_LABEL.fullmatch(name):
        return fitting(name, LONGEST_LABEL)
    return _with_hash(_plain(name), name, LONGEST_LABEL)


def object_name(name: str) -> str:
    """The name as the name of an object: up to 253 lower-case letters, digits, hyphens and dots."""
    if _DNS_NAME.fullmatch(name):
        return fitting(name)
    return _with_hash(_plain(name), name, LONGEST_NAME)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "x"


def _with_hash(start: str, name: str, most: int) -> str:
    import hashlib  # importing it takes longer than grouping a small cluster

    digest = hashlib.sha256(name.encode()).hexdigest()[:_HASH]
    return f"{start[: most - _HASH - 1].rstrip('-._')}-{digest}"
