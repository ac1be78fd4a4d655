"""The files of the guard for one pod: the library, and the file in which its processes count.

put("/run/kai-guard")     # in an init container
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

LIBRARY = Path(__file__).with_name("libkaiguard.so")
"""Of this installation; builds without CUDA's headers have none."""


def put(folder: str | os.PathLike[str], library: Path = LIBRARY) -> Path:
    """Writes them into an existing folder; the result is the library's path there.

    The containers of a pod may have different users, so all of them may write to the file.
    Processes that run already keep theirs.

    Raises FileNotFoundError if this installation has no library, and OSError.
    """
    if not library.exists():
        raise FileNotFoundError(f"this installation of kai has no {library.name}")
    target = Path(folder)
    region = target / "region"
    if not region.exists():
        region.touch()
        region.chmod(0o666)
    temporary = target / f".{library.name}"
    shutil.copyfile(library, temporary)
    temporary.chmod(0o755)
    temporary.replace(target / library.name)
    return target / library.name
