"""Errors that name what they are about: an option, a file, a member of a configuration.

with naming("--now"):
    times.to_ns(text)          # InvalidInputError: --now: 'noon' is not a time ...
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kai.api.files import why_unreadable
from kai.errors import InvalidInputError, KaiError


@contextmanager
def naming(what: str, kind: type[KaiError] = InvalidInputError) -> Iterator[None]:
    """Puts `what` before the message of an InvalidInputError, an OSError or an error of this kind
    from the block, and raises it as one of this kind."""
    try:
        yield
    except OSError as error:
        raise kind(f"{what}: {why_unreadable(error)}") from None
    except (InvalidInputError, kind) as error:
        raise kind(f"{what}: {error}") from error.__cause__
