"""The log of a running scheduler: lines of one format, without endless repetition."""

import io
import json
import logging

from kai.controllers.planning.lines import Line
from kai.service.log import Bridge, Calm, Log


class Logged:
    def __init__(self) -> None:
        self.now = 100.0
        self._stream = io.StringIO()
        self.log = Log(stream=self._stream, clock=lambda: 0.0)
        self.calm = Calm(self.log, lambda: self.now)

    @property
    def lines(self) -> list[str]:
        return self._stream.getvalue().splitlines()


def test_a_repeated_warning_is_logged_every_ten_seconds_with_a_count() -> None:
    it = Logged()
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
    it = Logged()
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


def test_some_lines_of_one_kind_are_logged_before_they_are_counted() -> None:
    it = Logged()
    calm = Calm(it.log, lambda: it.now, at_once=2)
    for number in range(5):
        calm.write(Line("info", "an object cannot be used", {"name": f"o{number}", "field": ""}))
    it.now += 10
    calm.write(Line("info", "an object cannot be used", {"name": "last", "field": "spec"}))
    assert [line.partition("used ")[2] for line in it.lines] == [
        "name=o0",
        "name=o1",
        "name=last field=spec times=4",
    ]


def test_json_has_the_same_fields_as_text() -> None:
    text, data = io.StringIO(), io.StringIO()
    for stream, as_json in ((text, False), (data, True)):
        log = Log(as_json=as_json, stream=stream, clock=lambda: 1.25)
        log.info("leading", cycle=3, leases="a,b", why='it is "free"')
        log.debug("left out")
    assert text.getvalue() == (
        '1970-01-01T00:00:01.250Z info kai: leading cycle=3 leases=a,b why="it is \\"free\\""\n'
    )
    assert json.loads(data.getvalue()) == {
        "time": "1970-01-01T00:00:01.250Z",
        "level": "info",
        "role": "kai",
        "message": "leading",
        "cycle": 3,
        "leases": "a,b",
        "why": 'it is "free"',
    }
