"""What a running scheduler says: lines of one form, and not the same one a thousand times."""

from __future__ import annotations

import io
import logging

from kai.service.log import Bridge, Calm, Log


class Said:
    def __init__(self) -> None:
        self.now = 100.0
        self._stream = io.StringIO()
        self.log = Log(stream=self._stream, clock=lambda: 0.0)
        self.calm = Calm(self.log, lambda: self.now)

    @property
    def lines(self) -> list[str]:
        return self._stream.getvalue().splitlines()


def test_a_warning_that_repeats_is_said_once_in_ten_seconds_and_counted() -> None:
    it = Said()
    for number in range(1000):
        it.calm.warning("a pod cannot be bound", name=f"p{number}")
    it.calm.warning("another one")
    it.now += 10
    it.calm.warning("a pod cannot be bound", name="last")
    start = "1970-01-01T00:00:00.000Z warning kai: "
    assert it.lines == [
        f"{start}a pod cannot be bound name=p0",
        f"{start}another one",
        f"{start}a pod cannot be bound name=last times=1000",
    ]


def test_lines_of_python_logging_have_the_same_form() -> None:
    it = Said()
    logger = logging.Logger("kai.k8s.leases")
    logger.addHandler(Bridge(it.log))
    logger.info("left out")
    logger.warning("lease %s was not released", "a")
    try:
        raise ValueError("no")
    except ValueError:
        logger.exception("a mistake")
    first, second = it.lines
    assert first == "1970-01-01T00:00:00.000Z warning kai: lease a was not released"
    assert second.startswith('1970-01-01T00:00:00.000Z error kai: a mistake why="Traceback')
