"""``kai run guard-files``: the program in the init container of pods with a guarded share."""

from __future__ import annotations

from pathlib import Path

import click

from kai.errors import InvalidInputError


@click.command(
    "guard-files",
    epilog="""\b
Examples:
  kai run guard-files /run/kai-guard
""",
)
@click.argument("folder", type=click.Path(path_type=Path))
def command(folder: Path) -> None:
    """Write libkaiguard.so, and the file in which a pod counts, into a folder.

    The webhook adds this program to pods that share a GPU (--guard-image). The
    containers of the pod mount the folder.
    """
    from kai.runtime.guard_files import put

    try:
        click.echo(f"wrote {put(folder)}")
    except OSError as error:
        reason = f": {error.strerror}" if error.strerror else ""
        raise InvalidInputError(f"{folder}{reason}" if error.errno else str(error)) from None
