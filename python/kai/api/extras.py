"""Packages that only some features need, and the sentence if one is missing.

kai-sched is not on PyPI, so the sentence names the packages themselves, and the pip of the Python
that runs kai. `make demo` installs the extras `cluster` and `sim`, into .venv.
"""

from __future__ import annotations

import importlib.util
import os
import sys

from kai.errors import InvalidInputError

EXTRAS = {
    "admission": ("cryptography",),
    "cluster": ("aiohttp", "croniter", "prometheus-client"),
    "numa": ("grpcio", "protobuf"),
    "arrow": ("numpy", "pyarrow"),
    "ray": ("numpy", "ray"),
    "sim": ("numpy",),
    "notebook": ("ipykernel", "matplotlib", "nbclient", "numpy", "pandas"),
}
"""The packages of each extra of pyproject.toml."""

_MODULES = {"grpcio": "grpc", "protobuf": "google.protobuf"}


def is_installed(package: str) -> bool:
    try:
        return (
            importlib.util.find_spec(_MODULES.get(package, package.replace("-", "_"))) is not None
        )
    except ModuleNotFoundError:  # of google.protobuf: no package named google at all
        return False
    except ValueError:  # it is imported, and has no specification
        return True


def missing(*packages: str) -> list[str]:
    """The packages that are not installed."""
    return [each for each in packages if not is_installed(each)]


def needed(what: str, *packages: str) -> str:
    """ "reading zones needs grpcio: pip install grpcio"."""
    names = missing(*packages) or list(packages)
    return f"{what} needs {' and '.join(names)}: {_pip()} install {' '.join(names)}"


def need_cluster_extra() -> None:
    """Raises InvalidInputError if the libraries for talking to a cluster are not installed."""
    if absent := missing("aiohttp", "prometheus-client"):
        raise InvalidInputError(needed("a live cluster", *absent))


def _pip() -> str:
    """The pip of this Python, as a user can type it in the current directory."""
    from shutil import which  # a command that needs nothing should not wait for this import

    pip = os.path.join(os.path.dirname(sys.executable), "pip")
    if not os.path.exists(pip) or which("pip") == pip:
        return "pip"
    try:
        short = os.path.relpath(pip)
    except (OSError, ValueError):  # the current directory is gone, or on another drive
        return pip
    return pip if short.startswith(os.pardir) else short
