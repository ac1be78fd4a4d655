"""What the images of containers mean on this machine."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import kai


@dataclass(frozen=True)
class Image:
    """`command`: its entry point. `environment`: its variables. `folder`: the working directory, ""
    for one that is empty at first. `root`: the folder of its files, "" for those of this machine;
    other roots and a `user`, a number, need a test that runs as root."""

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: str = ""
    root: str = ""
    user: str = ""


OURS = Image(
    command=(sys.executable, "-m", "kai"),
    environment={
        # `python` in a pod is this interpreter.
        "PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}",
        "PYTHONPATH": str(Path(kai.__file__).parents[1]),
    },
)
"""The programs of this checkout."""

IMAGES: Mapping[str, Image] = {"kai-sched": OURS}
"""By a part of the image's name."""


def image_of(name: str, images: Mapping[str, Image]) -> Image | None:
    """None for an unknown image: its container has no process."""
    return next((image for part, image in images.items() if part in name), None)
