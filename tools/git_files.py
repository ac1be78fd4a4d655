"""The text files that Git knows, for checks that read the whole tree."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path


def texts(root: Path, paths: Iterable[str] = ()) -> dict[str, str]:
    """The texts by path below `root`, tracked or not ignored; with `paths`, only of these files and
    folders."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *paths]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    found = {}
    for path in filter(None, listed.split("\0")):
        try:
            found[path] = (root / path).read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            continue  # not a text, deleted, or a link to a folder
    return found
