"""Coroutines that run beside each other."""

import asyncio
from collections.abc import Coroutine
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")


async def first_of(*work: Coroutine[Any, Any, T]) -> T:
    """Returns the first result, or raises the first error. The others are cancelled, and have ended
    when this returns."""
    tasks = [asyncio.create_task(each) for each in work]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return next(task for task in tasks if task.done()).result()
    finally:
        await end(tasks)


async def all_of(*work: Coroutine[Any, Any, None]) -> None:
    """Waits for all. After the first error, which it raises, the others are cancelled and have
    ended."""
    tasks = [asyncio.create_task(each) for each in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        await end(tasks)


async def end(tasks: list[asyncio.Task[T]]) -> None:
    """Cancels tasks, and waits until they have ended."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def for_ever() -> NoReturn:
    await asyncio.Event().wait()
    raise AssertionError("nothing sets this event")
