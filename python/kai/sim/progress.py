"""The progress of simulations: a bar on a terminal and in notebooks.

    with bar() as moved:                        # None outside both
        moved(0.4, "2017-10-12, 310 of 800 jobs ended")

A bar appears after a second and disappears at the end, so a short simulation shows none.
"""

from __future__ import annotations

import html
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kai.sim.workload import Workload

__all__ = ["Moved", "bar", "moment"]

Moved = Callable[[float, str], None]
"""Takes the finished fraction, 0 to 1, and a text."""

APPEARS_AFTER_S = 1.0


@contextmanager
def bar() -> Iterator[Moved | None]:
    """A bar in a notebook, or on the terminal of standard error; None elsewhere."""
    shown: Any = None
    if _in_notebook():
        shown = _NotebookBar()
    elif sys.stderr.isatty():
        shown = _TerminalBar()
    since = time.perf_counter()

    def moved(part: float, words: str) -> None:
        if time.perf_counter() - since >= APPEARS_AFTER_S:
            shown.update(min(max(part, 0.0), 1.0), words)

    try:
        yield None if shown is None else moved
    finally:
        if shown is not None:
            shown.close()


def moment(workload: Workload, now_s: float) -> str:
    """The virtual date; days since the start if the workload has no date."""
    if not workload.start:
        return f"day {now_s / 86_400:.1f}"
    start = datetime.fromisoformat(workload.start.replace("Z", "+00:00"))
    return f"{start + timedelta(seconds=now_s):%Y-%m-%d %H:%M}"


def _in_notebook() -> bool:
    """Whether this runs in a kernel whose front end shows HTML."""
    if "IPython" not in sys.modules:
        return False
    kernel: Any = import_module("IPython").get_ipython()
    return type(kernel).__name__ == "ZMQInteractiveShell"


class _NotebookBar:
    """One output that is replaced at each step, and empty at the end."""

    def __init__(self) -> None:
        self._handle: Any = None

    def update(self, part: float, words: str) -> None:
        display: Any = import_module("IPython.display").display
        percent = f"{part:.0%}"
        bundle = {
            "text/plain": f"{percent} {words}",
            "text/html": f'<progress value="{part:.3f}" style="width: 20em"></progress> '
            f"{percent} {html.escape(words)}",
        }
        if self._handle is None:
            self._handle = display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)

    def close(self) -> None:
        if self._handle is not None:
            self._handle.update({"text/plain": "", "text/html": ""}, raw=True)


class _TerminalBar:
    """A line of standard error, which is cleared at the end."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._task: Any = None

    def update(self, part: float, words: str) -> None:
        if self._bar is None:
            self._start()
        self._bar.update(self._task, description=words, completed=part)

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        console = Console(stderr=True, color_system=None if os.environ.get("NO_COLOR") else "auto")
        self._bar = Progress(*columns, console=console, transient=True)
        self._task = self._bar.add_task("", total=1.0)
        self._bar.start()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
