"""The command ``kai`` as a process of its own, and ``python -m kai``."""

import contextlib
import gc
import os
import sys
from typing import NoReturn


def run() -> NoReturn:
    """Runs the command and ends the process with its exit status.

    Garbage collection while modules load and the interpreter's teardown took a sixth of the time of
    a small plan; both are avoided here.
    """
    gc.set_threshold(50_000)
    try:
        from kai.cli import main

        status = main()
    except KeyboardInterrupt:  # while modules load
        with contextlib.suppress(OSError, AttributeError):
            sys.stderr.write("kai: interrupted\n")
        os._exit(130)
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        sys.exit(status)  # the interpreter reports what is wrong with the stream
    os._exit(status)


if __name__ == "__main__":
    run()
