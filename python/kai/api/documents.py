"""Reads YAML and JSON text into plain objects. The input is untrusted.

    for document in read_documents(text):
        document.value, document.line, document.problem

YAML goes through libyaml's events and a small builder of our own, for three reasons. Events come
one after the other, so deep nesting reaches a limit and not the end of the stack. An alias counts
as many values as it expands to, so a few lines cannot expand to billions of values. Scalars get the
types that `kubectl` gives them (times stay text, `yes` is true, `1e3` is a number).
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kai.errors import InvalidInputError

MAX_DEPTH = 200
MAX_VALUES = 20_000_000  # the manifests of 200,000 pods hold about as many


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a file: its value, its first line, and its problem, if any."""

    value: Any
    line: int
    problem: str | None = None
    problem_line: int | None = None


class UnreadableError(InvalidInputError):
    """A text that cannot be read, with the line of the problem.

    Raised by `read_documents` and the functions that call it.
    """

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


def decode(data: bytes) -> str:
    """Decodes a file by its byte order mark; UTF-8 without one."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    elif data.startswith(b"\xef\xbb\xbf"):
        encoding = "utf-8-sig"
    else:
        encoding = "utf-8"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"not text (byte {error.start} is not {encoding})") from None


def read_documents(text: str) -> Iterator[Document]:
    """The documents of a text: JSON (one value after the other) or YAML.

    Raises InvalidInputError if the text cannot be read at all.
    """
    if text.lstrip()[:1] in ("{", "["):
        try:
            yield from list(_read_json(text))
            return
        except json.JSONDecodeError as error:
            # A brace can also start YAML. If the text ends too early, it is JSON that was cut
            # short.
            if _ends_early(error):
                raise InvalidInputError(f"not valid JSON: {where(error)}") from None
            try:
                yield from list(read_yaml(text))
            except InvalidInputError:
                raise InvalidInputError(f"not valid JSON: {where(error)}") from None
            return
        except RecursionError:
            raise InvalidInputError("not readable: nested too deeply") from None
        except InvalidInputError:
            raise
        except ValueError:  # from int()
            raise InvalidInputError("not readable: a number has thousands of digits") from None
    yield from read_yaml(text)


def read_value(text: str) -> Any:
    """The only document of a text. Raises InvalidInputError if there are more."""
    documents = list(read_documents(text))
    if len(documents) > 1:
        raise InvalidInputError(f"contains {len(documents)} documents instead of one")
    if documents and documents[0].problem:
        raise InvalidInputError(documents[0].problem)
    return documents[0].value if documents else None


# ---- JSON ----------------------------------------------------------------------------------------


def _read_json(text: str) -> Iterator[Document]:
    decoder = json.JSONDecoder(parse_constant=_refuse_constant)
    position, line = 0, 1
    blank = re.compile(r"\s*")
    while True:
        start = _end(blank.match(text, position))
        line += text.count("\n", position, start)
        if start == len(text):
            return
        value, position = decoder.raw_decode(text, start)
        yield Document(value, line)
        line += text.count("\n", start, position)


def _end(match: re.Match[str] | None) -> int:
    assert match is not None
    return match.end()


def _refuse_constant(name: str) -> Any:
    raise InvalidInputError(f"not valid JSON: {name} is not a JSON number")


def where(error: json.JSONDecodeError) -> str:
    """The fault of a JSON text, with its line and column."""
    if _ends_early(error):
        return f"it ends in the middle of a value, on line {error.lineno} (cut short?)"
    return f"{error.msg[0].lower()}{error.msg[1:]} on line {error.lineno}, column {error.colno}"


def _ends_early(error: json.JSONDecodeError) -> bool:
    return error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string")


# ---- YAML ----------------------------------------------------------------------------------------


def read_yaml(text: str, most_values: int = MAX_VALUES) -> Iterator[Document]:
    """The documents of a YAML text (JSON is a subset). Raises UnreadableError."""
    import yaml

    loader_class: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        loader = loader_class(text)
        try:
            builder = _Builder(yaml, most_values)
            while loader.check_event():
                document = builder.take(loader.get_event())
                if document is not None:
                    yield document
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        if mark is None:
            raise UnreadableError(f"not valid YAML: {error.problem}") from None
        line = min(mark.line, text.count("\n")) + 1  # libyaml reports the line after the end
        message = f"not valid YAML: {error.problem} on line {line}, column {mark.column + 1}"
        raise UnreadableError(message, line) from None
    except yaml.YAMLError as error:
        first_line = str(error).partition("\n")[0]
        raise UnreadableError(f"not valid YAML: {first_line}") from None


class _Open:
    """A sequence or mapping that is not closed yet."""

    __slots__ = ("anchor", "key", "merged", "own_keys", "start", "value")

    def __init__(self, value: Any, anchor: str | None, start: int) -> None:
        self.value = value
        self.anchor = anchor
        self.start = start  # number of values before it
        self.key: Any = _NO_KEY
        self.own_keys: set[str] = set()
        self.merged: list[dict[str, Any]] = []


_NO_KEY = object()
_MERGE = object()


def _scalar_size(text: str) -> int:
    return 1 + len(text) // 64  # a long text counts more, because aliases repeat it


class _Builder:
    """Builds documents from parser events."""

    def __init__(self, yaml: Any, most_values: int) -> None:
        self._yaml = yaml
        self._most_values = most_values
        self._event: Any = None  # the current event
        self._values = 0
        self._start_document(1)

    def _start_document(self, line: int) -> None:
        self._line = line
        self._root: Any = None
        self._problem: str | None = None
        self._problem_line: int | None = None
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int]] = {}  # value, and the number of values in it

    def take(self, event: Any) -> Document | None:
        """Processes an event and returns the document that it completes, if any."""
        yaml = self._yaml
        self._event = event
        kind = type(event)
        if kind is yaml.ScalarEvent:
            value = event.value
            # implicit[0]: neither quoted nor tagged
            if event.implicit[0]:
                is_key = bool(self._open) and self._expects_key(self._open[-1])
                value = _MERGE if is_key and value == "<<" else plain_scalar(value)
            elif event.tag is not None and event.tag != "!":
                value = self._tagged(event.tag, value)
            if event.anchor:
                self._anchors[event.anchor] = (value, _scalar_size(event.value))
            self._add(value, _scalar_size(event.value))
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            if len(self._open) >= MAX_DEPTH:
                raise self._unreadable(f"nested more than {MAX_DEPTH} levels deep on line {{line}}")
            value = {} if kind is yaml.MappingStartEvent else []
            self._open.append(_Open(value, event.anchor, self._values))
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            done = self._open.pop()
            for mapping in done.merged:
                for key, value in mapping.items():
                    done.value.setdefault(key, value)
            if done.anchor:
                self._anchors[done.anchor] = (done.value, self._values - done.start + 1)
            self._add(done.value, 1)
        elif kind is yaml.AliasEvent:
            if event.anchor not in self._anchors:
                raise self._unreadable(
                    f"the alias *{event.anchor} on line {{line}} "
                    "is not defined before this place in its document"
                )
            self._add(*self._anchors[event.anchor])
        elif kind is yaml.DocumentStartEvent:
            self._start_document(event.start_mark.line + 1)
        elif kind is yaml.DocumentEndEvent:
            return Document(self._root, self._line, self._problem, self._problem_line)
        return None

    def _unreadable(self, problem: str) -> UnreadableError:
        line = self._event.start_mark.line + 1
        return UnreadableError(problem.replace("{line}", str(line)), line)

    def _note(self, problem: str) -> None:
        """Keeps only the first problem of a document."""
        if self._problem is None:
            self._problem, self._problem_line = problem, self._event.start_mark.line + 1

    @staticmethod
    def _expects_key(container: _Open) -> bool:
        return isinstance(container.value, dict) and container.key is _NO_KEY

    def _add(self, value: Any, size: int) -> None:
        self._values += size
        if self._values > self._most_values:
            message = f"it has, or its aliases expand to, more than {self._most_values:,} values"
            raise self._unreadable(f"{message}, on line {{line}}")
        if not self._open:
            self._root = value
            return
        container = self._open[-1]
        if isinstance(container.value, list):
            container.value.append(value)
        elif container.key is _NO_KEY:
            container.key = value if value is _MERGE else self._key(container, value)
        else:
            key, container.key = container.key, _NO_KEY
            if key is _MERGE:
                self._merge(container, value)
            else:
                container.value[key] = value

    def _key(self, container: _Open, value: Any) -> str:
        if isinstance(value, (dict, list)):
            self._note(_not_in_quotes(value) or "a mapping has a key that is not a string")
            return "?"
        if value is None or isinstance(value, bool):
            value = {None: "null", True: "true", False: "false"}[value]
        key = str(value)
        if key in container.own_keys:
            self._note(f"the key {key!r} is given twice")
        container.own_keys.add(key)
        return key

    def _merge(self, container: _Open, value: Any) -> None:
        for mapping in value if isinstance(value, list) else [value]:
            if isinstance(mapping, dict):
                container.merged.append(mapping)
            else:
                self._note("<< merges a value that is not a mapping")

    def _tagged(self, tag: str, text: str) -> Any:
        name = tag.removeprefix("tag:yaml.org,2002:")
        if name in ("str", "binary", "timestamp"):
            return text
        if name in ("int", "float", "bool", "null"):
            return plain_scalar(text)
        self._note(f"Kubernetes does not support the tag {tag}")
        return text


def _not_in_quotes(key: object) -> str:
    """The problem of {{ name }} without quotes, which YAML reads as a mapping in a mapping."""
    if not isinstance(key, dict) or len(key) != 1 or any(key.values()):
        return ""
    return f"{{{{ {next(iter(key))} }}}} is not in quotes, so YAML reads a mapping"


_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_BOOLEANS = {
    spelling: value
    for value, words in ((True, ("true", "yes", "on")), (False, ("false", "no", "off")))
    for word in words
    for spelling in (word, word.capitalize(), word.upper())
}
_INTEGER = re.compile(r"[-+]?(0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|[1-9][0-9_]*|0)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


def plain_scalar(text: str) -> Any:
    """The value that Kubernetes reads from an unquoted YAML scalar.

    >>> [plain_scalar(text) for text in ("8", "0.5", "1e3", "on", "~", "10Gi", "2026-01-01")]
    [8, 0.5, 1000.0, True, None, '10Gi', '2026-01-01']
    """
    if text in _NULLS:
        return None
    if text[0] in "+-.0123456789":
        if _INTEGER.fullmatch(text):
            return _integer(text)
        # A longer number is in no valid manifest. It stays text, and the check of its field rejects
        # it.
        if len(text) < 64 and _FLOAT.fullmatch(text):
            value = float(text)
            return value if abs(value) != float("inf") else text
        return text
    return _BOOLEANS.get(text, text)


def _integer(text: str) -> int | str:
    if len(text) >= 64:
        return text
    digits = text.replace("_", "").lstrip("+-")
    sign = -1 if text[0] == "-" else 1
    try:
        if len(digits) > 1 and digits[0] == "0" and digits[1] not in "xob":
            return sign * int(digits, 8)
        return sign * int(digits, 0)
    except ValueError:  # only underscores
        return text
