"""Ray as a `concurrent.futures.Executor`: ``pip install ray``.

    with RayExecutor(address="auto") as executor:
        kai.sweep(grid, workload, executor=executor)

Workers need kai and the same workload files as this process; the workload itself is sent once.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, TypeVar

from kai.api import extras
from kai.errors import InvalidInputError

__all__ = ["RayExecutor"]

Result = TypeVar("Result")


class RayExecutor(Executor):
    """Runs functions as Ray tasks.

    It uses this process's connection to Ray if there is one. Otherwise it connects with
    ``options``, those of ``ray.init``, and disconnects at the end.

    Raises InvalidInputError if Ray is not installed.
    """

    def __init__(self, **options: Any) -> None:
        try:
            import ray
        except ImportError:
            raise InvalidInputError(extras.needed("the executor 'ray'", "ray")) from None
        self._ray: Any = ray
        self._opened = not ray.is_initialized()
        if self._opened:
            quiet = {"log_to_driver": False, "logging_level": "ERROR", "include_dashboard": False}
            ray.init(**{**quiet, **options})
        self._sent: tuple[object, Any] | None = None

    def submit(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Future[Result]:
        """Submits a task. If its first argument is that of the previous task too, it is sent only
        once."""
        if args:
            if self._sent is None or self._sent[0] is not args[0]:
                self._sent = (args[0], self._ray.put(args[0]))
            args = (self._sent[1], *args[1:])
        made: Future[Result] = Future()
        made.set_running_or_notify_cancel()
        theirs = self._ray.remote(fn).remote(*args, **kwargs).future()
        theirs.add_done_callback(lambda done: _pass_on(done, made))
        return made

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Disconnects if this object connected."""
        self._sent = None
        if self._opened:
            self._opened = False
            self._ray.shutdown()


def _pass_on(done: Future[Any], made: Future[Any]) -> None:
    """Passes on the outcome: the exception that a function raised, not Ray's wrapper."""
    error = done.exception()
    if error is None:
        made.set_result(done.result())
    else:
        cause = getattr(error, "cause", None)
        made.set_exception(cause if isinstance(cause, Exception) else error)
