"""Checks arguments against their declared types, with error messages for users.

The declaration is a function's annotations, or a TypedDict. There is no second table of types.

>>> def node(name: str, *, taints: Iterable[str] = ()) -> None: ...
>>> check({"taints": "a=b:NoSchedule"}, node)
Traceback (most recent call last):
kai.errors.InvalidClusterError: taints is 'a=b:NoSchedule': write a list, such as ['a=b:NoSchedule']
"""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, ParamSpec, TypeVar, Union

from kai.api.nearest import did_you_mean
from kai.api.rules import shown
from kai.errors import InvalidClusterError

_ADVICE = {
    bool: "write True or False",
    int: "write a whole number",
    float: "write a number",
    str: "write a string",
}


Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def suggesting(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Adds the nearest argument name to the TypeError for an unknown argument.

    >>> @suggesting
    ... def node(name: str, *, gpus: int = 0) -> None: ...
    >>> node("n", gpu=8)
    Traceback (most recent call last):
    TypeError: node() has no argument 'gpu'; did you mean 'gpus'?
    """

    @functools.wraps(function)
    def called(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except TypeError:
            known = [name for name in inspect.signature(function).parameters if name != "self"]
            for name in kwargs:
                if name not in known:
                    message = f"{function.__name__}() has no argument {name!r}"
                    raise TypeError(message + did_you_mean(name, known)) from None
            raise

    return called


def check(given: Mapping[str, Any], declared: Callable[..., object] | type) -> None:
    """Raises InvalidClusterError for the first argument that has not its declared type; checks the
    items of lists and mappings too."""
    hints = _hints(declared)
    for name, value in given.items():
        if name in hints:
            _check(name, value, hints[name])


def _check(name: str, value: object, hints: tuple[Any, ...]) -> None:
    fitting = [each for each in hints if _is(value, typing.get_origin(each) or each)]
    if not fitting:
        wanted = tuple(typing.get_origin(each) or each for each in hints)
        raise InvalidClusterError(f"{name} is {shown(value)}: {_advice(value, wanted)}")
    inner = tuple(map(tuple, map(_alternatives, typing.get_args(fitting[0]))))
    if isinstance(value, Mapping) and len(inner) == 2:
        for key, each in value.items():
            if not any(_is(key, wanted) for wanted in inner[0]):
                raise InvalidClusterError(f"{name} has the key {shown(key)}: write a string")
            _check(f"{name}[{key!r}]", each, inner[1])
    elif isinstance(value, (list, tuple)) and len(inner) == 1:
        for index, each in enumerate(value):
            _check(f"{name}[{index}]", each, inner[0])


@cache
def _hints(declared: Callable[..., object] | type) -> dict[str, tuple[Any, ...]]:
    """The allowed types of each argument."""
    hints = typing.get_type_hints(declared)
    return {name: tuple(_alternatives(hint)) for name, hint in hints.items()}


def _alternatives(hint: Any) -> Iterable[Any]:
    if typing.get_origin(hint) in (Union, types.UnionType):
        for each in typing.get_args(hint):
            yield from _alternatives(each)
    else:
        yield hint


def _is(value: object, wanted: Any) -> bool:
    if wanted is Any:
        return True
    if wanted is int:  # also NumPy's
        return not isinstance(value, bool) and hasattr(value, "__index__")
    if wanted is float:
        return not isinstance(value, (bool, str)) and hasattr(value, "__float__")
    if wanted in _ADVICE or wanted is Mapping or not issubclass(wanted, Iterable):
        return isinstance(value, wanted)
    return isinstance(value, wanted) and not isinstance(value, (str, bytes, Mapping))


def _advice(value: object, wanted: tuple[Any, ...]) -> str:
    if Mapping in wanted:
        return "write a mapping, such as {'team': 'vision'}"
    if any(each not in _ADVICE and each is not type(None) for each in wanted):
        return "write a list" + (f", such as [{value!r}]" if isinstance(value, str) else "")
    if {int, str} <= set(wanted):
        return "write a number or a string"
    return _ADVICE[next(each for each in wanted if each in _ADVICE)]
