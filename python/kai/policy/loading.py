"""Policies from a Python file, for the command line."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
from pathlib import Path

from kai.api import files
from kai.api.arguments import in_a_sentence
from kai.errors import InvalidConfigError
from kai.policy.declaring import Policy


@in_a_sentence
def load(file: str | os.PathLike[str]) -> tuple[Policy, ...]:
    """The policies in a Python file, in the order of its lines. The file is executed.

    Raises InvalidConfigError for a file that cannot be read or executed, and for one without a
    policy.
    """
    path = Path(file)
    try:
        source = path.read_bytes()
    except FileNotFoundError:
        raise InvalidConfigError(f"{path}: there is no such file") from None
    except OSError as error:
        raise InvalidConfigError(f"{path}: {files.why_unreadable(error)}") from None
    return _policies(path, source)


@functools.cache
def policy_in(file: str, source: bytes, name: str) -> Policy:
    """The policy of that name in a file with that content: what pickle calls.

    The file may have changed since, or be on another machine. Raises as `load` does.
    """
    for each in _policies(Path(file), source):
        if each.name == name:
            return each
    raise InvalidConfigError(f"{file}: declares no policy {name}")


def _policies(path: Path, source: bytes) -> tuple[Policy, ...]:
    name = f"kai_policy_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InvalidConfigError(f"{path}: is not a Python file (.py)")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        exec(compile(source, str(path), "exec"), vars(module))
    except Exception as error:
        del sys.modules[name]
        raise InvalidConfigError(f"{path}: {type(error).__name__}: {error}") from error
    found = tuple(each for each in vars(module).values() if isinstance(each, Policy))
    if not found:
        raise InvalidConfigError(
            f"{path}: contains no policy; write @kai.policy.score, @kai.policy.filter or "
            "@kai.policy.pod_group_order above a function"
        )
    for each in found:
        each.found_by = (policy_in, (str(path.resolve()), source, each.name))
    return found
