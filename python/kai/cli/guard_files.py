"""``kai run guard-files``: the program in the init container of pods with a guarded share."""

from __future__ import annotations

from pathlib import Path

import click

from kai.cli.adding import flag
from kai.cli.failures import print_error
from kai.errors import InvalidInputError


@click.command(
    "guard-files",
    epilog="""\b
Examples:
  kai run guard-files /run/kai-guard
""",
)
@click.argument("folder", type=click.Path(path_type=Path))
@flag("--optional", help="Exit with status 0 if this installation of kai has no library.")
def command(folder: Path, *, optional: bool) -> None:
    """Write libkaiguard.so, and the file in which a pod counts, into a folder.

    The webhook adds this program to pods that share a GPU (--guard-image). The
    containers of the pod mount the folder. Without the library the pod waits, or
    with --optional it starts and its share is no limit; a line says so.
    """
    from kai.runtime.guard_files import LIBRARY, put

    if optional and not LIBRARY.exists():
        print_error(f"this installation of kai has no {LIBRARY.name}: the share is no limit")
        return
    try:
        click.echo(f"wrote {put(folder, LIBRARY)}")
    except OSError as error:
        reason = f": {error.strerror}" if error.strerror else ""
        raise InvalidInputError(f"{folder}{reason}" if error.errno else str(error)) from None
