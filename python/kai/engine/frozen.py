"""Dictionaries that cannot be changed, as members of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Frozen(dict[Key, Value]):
    """A read-only dict: it prints, compares, pickles and converts to JSON like any other.

    >>> amounts = Frozen({"cpu": 8})
    >>> amounts["cpu"], dict(amounts) | {"cpu": 9}
    (8, {'cpu': 9})
    >>> amounts["cpu"] = 9
    Traceback (most recent call last):
    TypeError: this is part of a plan and cannot be changed; dict(...) makes a copy
    """

    __slots__ = ()

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("this is part of a plan and cannot be changed; dict(...) makes a copy")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return Frozen, (dict(self),)

    def __copy__(self) -> Frozen[Key, Value]:
        return self

    def __deepcopy__(self, memo: Any) -> Frozen[Key, Value]:
        return self


def frozen(value: Any) -> Any:
    """The value with its dicts frozen, and its lists as tuples, at every depth.

    Most values in a plan are flat: members of other types cost no call.
    """
    if isinstance(value, Frozen):
        return value
    if isinstance(value, dict):
        if _NESTED.isdisjoint(map(type, value.values())):
            return Frozen(value)
        return Frozen({key: frozen(each) for key, each in value.items()})
    if isinstance(value, list):
        return tuple([frozen(each) for each in value])
    return value


_NESTED = frozenset((dict, list))


def thawed(value: Any) -> Any:
    """The value of `frozen` as plain dicts and lists for JSON."""
    if isinstance(value, Mapping):
        return {key: thawed(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [thawed(each) for each in value]
    return value
