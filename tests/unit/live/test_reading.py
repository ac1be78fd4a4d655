"""What a process has read of each kind."""

from types import SimpleNamespace
from typing import Any

from kai.k8s.clock import Clock
from kai.k8s.sinks import DictSink
from kai.k8s.versions import Versions
from kai.live.reading import Reading, Traffic
from kai.service.options import Options


def test_traffic_of_earlier_watches_is_added() -> None:
    """A process that starts leading lists pods again with a new watch; counters only increase."""
    client: Any = SimpleNamespace(clock=Clock(), versions=Versions())
    reading = Reading(client, DictSink(), Options(), lambda: None)
    for number in range(1, 4):
        watch = reading.watch("Pod")
        watch.relists, watch.reconnects, watch.bytes = 1, number, 100
    assert reading.traffic("Pod") == Traffic(lists=3, reconnects=6, bytes=300)
    reading.watch("Node")
    assert reading.traffic("Node") == Traffic(0, 0, 0)
