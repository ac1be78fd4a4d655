"""Recognises files that Helm or Jinja renders to YAML.

>>> engine_of("replicas: {{ .Values.replicas }}"), engine_of("{% if gpu %}"), engine_of("a: b")
('Helm', 'Jinja', '')
"""

from __future__ import annotations

import re

from kai.api import documents
from kai.errors import InvalidInputError

_ACTION = (
    r"\{\{-?\s*(?:[.$\"(]|/\*|(?:if|else|end|range|with|define"
    r"|include|template|block|toYaml|tpl|default|required|printf|quote|fail|lookup|int)\b)"
)
# Where YAML reads no text: at the beginning of a line, a value or an item.
_GO = re.compile(rf"(?:^\s*(?:-\s+)*|:\s+|[\[{{,]\s*){_ACTION}", re.MULTILINE)
_IN_TEXT = re.compile(_ACTION)
_JINJA = re.compile(r"^\s*(?:-\s+)*(?:[\w./-]+:\s+)?\{%[-+]?\s*\w+", re.MULTILINE)


class UnrenderedError(InvalidInputError):
    """A file that is a template, and no YAML before it is rendered. Raised by `read_rendered`."""


def engine_of(content: str) -> str:
    """The program that renders a text: "Helm", "Jinja" or ""."""
    if _GO.search(content):
        return "Helm"
    return "Jinja" if _JINJA.search(content) else ""


def read_rendered(content: str, command: str) -> list[documents.Document]:
    """The documents of a text. `command`: what reads the rendered text, such as "kai lint".

    Raises InvalidInputError if the text cannot be read, and UnrenderedError if it is a template.
    """
    try:
        read = list(documents.read_documents(content))
    except InvalidInputError:
        if engine := engine_of(content):
            raise _unrendered(engine, command) from None
        raise
    if any(each.problem for each in read) and (engine := engine_of(content)):
        raise _unrendered(engine, command)
    return read


def check_name(name: str, command: str) -> None:
    """Raises UnrenderedError if Helm writes the name of an object, whose file is valid YAML.

    >>> check_name("train-{{ .Release.Name }}", "kai plan")
    Traceback (most recent call last):
    kai.api.templates.UnrenderedError: this is a Helm template; render it first: helm template \
CHART | kai plan -
    """
    if _IN_TEXT.search(name):
        raise _unrendered("Helm", command)


def _unrendered(engine: str, command: str) -> UnrenderedError:
    how = f"helm template CHART | {command} -"
    if engine != "Helm":
        how = f"with its own program, then {command} -"
    return UnrenderedError(f"this is a {engine} template; render it first: {how}")
