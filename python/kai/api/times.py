"""Converts times at the edge: RFC 3339 texts and datetimes, to and from nanoseconds since the
epoch.

>>> to_ns("2026-01-01T00:00:00.5Z") - to_ns("2026-01-01T01:00:00+01:00")
500000000
>>> to_text(to_ns("2026-01-01T00:00:00Z"))
'2026-01-01T00:00:00Z'
"""

import re
from datetime import datetime, timedelta, timezone

from kai.errors import InvalidInputError

SECOND_NS = 1_000_000_000
_FURTHEST = 2**63 // SECOND_NS  # range of 64-bit nanoseconds, before and after 1970
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_RFC3339 = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9})\d*)?([Zz]|[+-]\d\d:\d\d)"
)


def to_ns(time: datetime | str) -> int:
    """Nanoseconds since the epoch. Raises InvalidInputError if the value is not a point in time."""
    if isinstance(time, datetime):
        if time.tzinfo is None:
            raise InvalidInputError(
                f"the time {time.isoformat()} has no time zone; "
                "write datetime(..., tzinfo=timezone.utc)"
            )
        return _whole_ns(time - _EPOCH)
    match = _RFC3339.fullmatch(str(time).strip())
    if match is None:
        raise _not_a_time(time)
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    try:
        moment = datetime(
            int(year),
            int(month),
            int(day),
            int(hour),
            int(minute),
            int(second),
            tzinfo=timezone.utc,
        )
        if zone not in "Zz":
            offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[4:6]))
            moment -= offset if zone[0] == "+" else -offset
    except (ValueError, OverflowError):
        raise _not_a_time(time) from None
    return _whole_ns(moment - _EPOCH) + int((fraction or "0").ljust(9, "0"))


def to_text(time_ns: int) -> str:
    """RFC 3339 in UTC, with as many fractional digits as needed."""
    seconds, fraction = divmod(time_ns, SECOND_NS)
    text = (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")
    return text + (f".{fraction:09d}".rstrip("0") if fraction else "") + "Z"


def to_datetime(time_ns: int) -> datetime:
    """A datetime in UTC, cut to microseconds."""
    return _EPOCH + timedelta(microseconds=time_ns // 1000)


def _whole_ns(since_epoch: timedelta) -> int:
    seconds = since_epoch.days * 86_400 + since_epoch.seconds
    if not -_FURTHEST < seconds < _FURTHEST:
        raise InvalidInputError("a time must be between the years 1678 and 2262")
    return seconds * SECOND_NS + since_epoch.microseconds * 1000


def _not_a_time(time: object) -> InvalidInputError:
    return InvalidInputError(f"{time!r} is not an RFC 3339 time such as 2026-01-01T00:00:00Z")
