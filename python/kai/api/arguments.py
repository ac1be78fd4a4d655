"""Checks arguments against their declared types, with error messages for users.

The declaration is a function's annotations, or a TypedDict. There is no second table of types.

>>> def node(name: str, *, taints: Iterable[str] = ()) -> None: ...
>>> check({"taints": "a=b:NoSchedule"}, node)
Traceback (most recent call last):
kai.errors.InvalidClusterError: taints is 'a=b:NoSchedule': write a list, such as ['a=b:NoSchedule']
"""

from __future__ import annotations

import builtins
import functools
import inspect
import os
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, Union

from kai.api.nearest import did_you_mean
from kai.api.rules import shown
from kai.errors import InvalidClusterError, InvalidInputError, KaiError

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


class WrongTypeError(InvalidInputError, TypeError):
    """An argument has another type than the one that its declaration names.

    `is_of_call`: the sentence names the function that was called, and is made by its declaration.
    """

    is_of_call = False


class WrongTypeInClusterError(InvalidClusterError, TypeError):
    """The same in a method of `kai.Cluster`."""

    is_of_call = False


def wrong_type(sentence: str) -> TypeError:
    """The error for a call that checks a type itself."""
    return WrongTypeError(sentence)


_FROM_INSIDE = (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError)
_GENERATED = "<string>"  # the file of a method that a dataclass makes
_Class = TypeVar("_Class", bound=type)


def in_a_sentence(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Replaces an error from inside a function by a sentence, if an argument has a wrong type.

    Nothing is checked before the call, so a correct call costs nothing.

    >>> @in_a_sentence
    ... def first(names: list[str]) -> str:
    ...     return names[0]
    >>> first(5)
    Traceback (most recent call last):
    kai.api.arguments.WrongTypeError: first(): names is 5: write a list
    """

    @functools.wraps(function)
    def called(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except _FROM_INSIDE as error:
            # A function that this one calls, with the same argument, has named itself.
            is_sentence = isinstance(error, KaiError) and not getattr(error, "is_of_call", False)
            if is_sentence or not (wrong := _wrong_type(function, args, kwargs)):
                raise
            raise wrong from None

    return called


def all_in_sentences(declared: _Class) -> _Class:
    """The same for all public methods that a class declares."""
    for name, member in list(vars(declared).items()):
        if name.startswith("_") and name not in ("__init__", "__getitem__"):
            continue
        if isinstance(member, (classmethod, staticmethod)):
            setattr(declared, name, type(member)(in_a_sentence(member.__func__)))
        elif inspect.isfunction(member) and member.__code__.co_filename != _GENERATED:
            setattr(declared, name, in_a_sentence(member))
    return declared


def _wrong_type(
    function: Callable[..., object], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Exception | None:
    """The error for the first argument of a wrong type; None if all fit, as far as is known."""
    try:
        signature = inspect.signature(function)
        bound = signature.bind(*args, **kwargs)
    except (TypeError, ValueError):
        return None  # a wrong number of arguments: Python's message names them
    plain = inspect.unwrap(function)
    for name, value in bound.arguments.items():
        parameter = signature.parameters[name]
        if name in ("self", "cls") or parameter.kind is parameter.VAR_KEYWORD:
            continue
        hints = tuple(_alternatives(_hint_of(plain, parameter)))
        is_many = parameter.kind is parameter.VAR_POSITIONAL
        for each in value if is_many else (value,):
            if not any(_fits(each, hint) for hint in hints):
                in_cluster = plain.__qualname__.startswith("Cluster.")
                error = WrongTypeInClusterError if in_cluster else WrongTypeError
                where, wrong, wanted = _innermost(name, each, hints)
                advice = _advice_of(wrong, wanted)
                made = error(f"{plain.__name__}(): {where} is {_briefly(wrong)}: {advice}")
                made.is_of_call = True
                return made
    return None


def _hint_of(function: Any, parameter: inspect.Parameter) -> Any:
    """The declared type; Any if its names are not known here."""
    hint = parameter.annotation
    if hint is parameter.empty:
        return Any
    if not isinstance(hint, str):
        return hint
    import kai

    known = {**_NAMES, **{name: getattr(kai, name) for name in kai.__all__ if name in hint}}
    known |= {name: each for name, each in function.__globals__.items() if name in hint}
    known |= {
        each: _Unknown
        for each in _NAME.findall(hint)
        if each not in known and not hasattr(builtins, each)
    }
    try:
        return eval(hint, known)  # an annotation of our own code, as typing.get_type_hints does
    except (NameError, AttributeError, TypeError):
        return Any


class _UnknownType(type):
    """The class of a type that is not known here: every value fits, with any parameters."""

    def __getitem__(cls, item: object) -> Any:
        return Any

    def __or__(cls, other: object) -> Any:
        return Any

    def __ror__(cls, other: object) -> Any:
        return Any


class _Unknown(metaclass=_UnknownType):
    pass


_NAMES = {"Any": Any, "datetime": datetime, "Path": Path, "os": os}
_NAME = re.compile(r"(?<![\w.'\"])[A-Za-z_]\w*")


def _fits(value: object, hint: Any) -> bool:
    """Whether a value has a declared type, and the items of a sequence or mapping theirs."""
    if hint is None or hint is type(None):
        return value is None
    wanted = typing.get_origin(hint) or hint
    if wanted is typing.Literal:
        return value in typing.get_args(hint)
    if hint is Any or hint is object or wanted is _Unknown or not isinstance(wanted, type):
        return True
    if issubclass(wanted, os.PathLike):
        return isinstance(value, os.PathLike)
    if getattr(wanted, "_is_protocol", False):  # isinstance may raise for it
        members = (*vars(wanted), *vars(wanted).get("__annotations__", ()))
        return all(hasattr(value, each) for each in members if not each.startswith("_"))
    if not _is(value, wanted):
        return False
    return all(_fits_any(each, of) for _, each, of in _items(value, typing.get_args(hint)))


def _fits_any(value: object, hint: Any) -> bool:
    return any(_fits(value, each) for each in _alternatives(hint))


def _innermost(
    name: str, value: object, hints: tuple[Any, ...]
) -> tuple[str, object, tuple[Any, ...]]:
    """The part of a value that has a wrong type: how it is named, and its declared types. A value
    that is no list or mapping of a declared type itself is that part."""
    outer = [hint for hint in hints if typing.get_args(hint) and _is_outside(value, hint)]
    if len(outer) != 1:
        return name, value, hints
    for where, each, of in _items(value, typing.get_args(outer[0])):
        if where and not _fits_any(each, of):
            return _innermost(where.format(name), each, tuple(_alternatives(of)))
    return name, value, hints


def _is_outside(value: object, hint: Any) -> bool:
    """Whether a value has a declared type, whatever its items are."""
    wanted = typing.get_origin(hint)
    return isinstance(wanted, type) and _is(value, wanted)


def _items(value: object, inner: tuple[Any, ...]) -> Iterable[tuple[str, object, Any]]:
    """The items of a value, each with a pattern for its name and its declared type."""
    if isinstance(value, Mapping) and len(inner) == 2:
        return [
            row
            for key, each in value.items()
            for row in (("a key of {}", key, inner[0]), (f"{{}}[{_escaped(key)}]", each, inner[1]))
        ]
    if isinstance(value, tuple) and len(inner) > 1 and ... not in inner:
        if len(value) != len(inner):
            return [("", value, type(None))]  # which it is not
        return [
            (f"{{}}[{index}]", each, of)
            for index, (each, of) in enumerate(zip(value, inner, strict=True))
        ]
    if isinstance(value, (list, tuple, set, frozenset)) and len(set(inner) - {...}) == 1:
        is_ordered = isinstance(value, (list, tuple))
        return [
            (f"{{}}[{index}]" if is_ordered else "an item of {}", each, inner[0])
            for index, each in enumerate(value)
        ]
    return ()


def _escaped(key: object) -> str:
    """A key in a pattern."""
    return _briefly(key).replace("{", "{{").replace("}", "}}")


def _briefly(value: object) -> str:
    is_plain = value is None or isinstance(value, (bool, int, float, str, bytes, list, tuple, dict))
    return shown(value) if is_plain else f"of type {type(value).__name__}"


def _advice_of(value: object, hints: tuple[Any, ...]) -> str:
    """What to write instead."""
    found: dict[str, None] = {}
    for hint in hints:
        wanted = typing.get_origin(hint) or hint
        if wanted is None or wanted is type(None) or not isinstance(wanted, type):
            continue
        if wanted in _WORDS:
            found[_WORDS[wanted]] = None
        elif issubclass(wanted, Mapping):
            found["a mapping"] = None
        elif issubclass(wanted, Iterable) and not wanted.__module__.startswith("kai"):
            found["a list"] = None
        else:
            in_kai = wanted.__module__.startswith("kai.")
            name = wanted.__name__
            found[f"a {'kai.' if in_kai and _is_public(name) else ''}{name}"] = None
    words = list(found) or ["another value"]
    last = f" or {words[-1]}" if len(words) > 1 else words[-1]
    return f"write {', '.join(words[:-1])}{last}"


def _is_public(name: str) -> bool:
    import kai

    return name in kai.__all__


_WORDS: Mapping[Any, str] = {
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "a string",
    bytes: "bytes",
    os.PathLike: "a path",
    Path: "a path",
    datetime: "a datetime",
}


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
