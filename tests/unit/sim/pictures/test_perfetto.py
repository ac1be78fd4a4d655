"""Traces for Perfetto, read by an independent decoder of protocol buffers."""

import struct
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from conftest import HOUR

from kai.errors import InvalidInputError
from kai.sim import perfetto
from kai.sim.timeline import Timeline


def fields(raw: bytes) -> dict[int, list[Any]]:
    """A message: by field number, the values in order."""
    found: dict[int, list[Any]] = defaultdict(list)
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = raw[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(raw):
        key = varint()
        number, wire = key >> 3, key & 7
        if wire == 0:
            found[number].append(varint())
        elif wire == 1:
            found[number].append(struct.unpack_from("<d", raw, at)[0])
            at += 8
        else:
            assert wire == 2
            length = varint()
            found[number].append(raw[at : at + length])
            at += length
    assert at == len(raw)
    return dict(found)


class Trace:
    """Tracks and events, by the field numbers of Perfetto's own definitions."""

    def __init__(self, raw: bytes) -> None:
        self.names: dict[int, str] = {}
        self.parents: dict[int, int] = {}
        self.counters: set[int] = set()
        self.events: list[tuple[int, dict[int, list[Any]]]] = []
        for packet in map(fields, fields(raw)[1]):
            assert packet[10] == [1]  # one sequence
            for track in map(fields, packet.get(60, [])):
                self.names[track[1][0]] = track[2][0].decode()
                if 5 in track:
                    self.parents[track[1][0]] = track[5][0]
                if 8 in track:
                    assert fields(track[8][0])[6] == [b"GPUs"]
                    self.counters.add(track[1][0])
            for event in map(fields, packet.get(11, [])):
                self.events.append((packet[8][0], event))

    def slices(self) -> list[tuple[str, str, int, int]]:
        """Track, name, start and end; a slice ends at the next end of its track."""
        open_on: dict[int, tuple[str, int]] = {}
        found = []
        for at_ns, event in self.events:
            track = event[11][0]
            if event[9] == [1]:
                assert track not in open_on  # slices of one lane do not overlap
                open_on[track] = (event[23][0].decode(), at_ns)
            elif event[9] == [2]:
                name, from_ns = open_on.pop(track)
                found.append((self.names[track], name, from_ns, at_ns))
        assert not open_on
        return found


@pytest.fixture(scope="module")
def trace(morning: Timeline) -> Trace:
    return Trace(perfetto.trace(morning))


def test_each_pod_is_a_slice_on_the_track_of_its_node(morning: Timeline, trace: Trace) -> None:
    stays, names = morning.stays, morning.workload.jobs.name
    expected = [
        (
            morning.node_names[stays["node"][row]],
            f"{names[stays['job'][row]]}-{stays['pod'][row]}",
            round(stays["from_s"][row] * 1e9),
            round(stays["to_s"][row] * 1e9),
        )
        for row in range(len(stays["job"]))
    ]
    assert sorted(trace.slices()) == sorted(expected)


def test_tracks_of_nodes_and_queues_are_grouped_by_kind(trace: Trace) -> None:
    below = {trace.names[child]: trace.names[parent] for child, parent in trace.parents.items()}
    assert {name: below[name] for name in ("n-0", "n-1", "n-2")} == {
        **dict.fromkeys(("n-0", "n-1", "n-2"), "nodes")
    }
    assert {trace.names[track] for track in trace.counters} == {
        f"{queue}: {what}"
        for queue in ("all", "vision", "speech", "research")
        for what in ("held", "fair share")
    }
    assert all(below[trace.names[track]] == "queues" for track in trace.counters)


def test_counters_equal_the_gpus_of_queues(morning: Timeline, trace: Trace) -> None:
    counted = [
        (trace.names[event[11][0]], at_ns, event[44][0])
        for at_ns, event in trace.events
        if event[9] == [4]
    ]
    queues = morning.queues
    for row in range(len(queues["at_s"])):
        name = morning.queue_names[queues["queue"][row]]
        at_ns = round(queues["at_s"][row] * 1e9)
        assert (f"{name}: held", at_ns, queues["allocated_gpus"][row]) in counted
        assert (f"{name}: fair share", at_ns, queues["fair_share_gpus"][row]) in counted
    assert len(counted) == 2 * len(queues["at_s"])


def test_evictions_are_instant_events_with_a_cause(trace: Trace) -> None:
    found = [
        (event[23][0].decode(), at_ns / 1e9 / HOUR)
        for at_ns, event in trace.events
        if event[9] == [3]
    ]
    assert any(name.startswith("reclaimed: borrows") for name, _ in found)
    assert all(at_h == 5 for name, at_h in found if name.startswith("node_gone: "))
    assert any(name.startswith("node_gone: ") for name, _ in found)


def test_events_are_in_the_order_of_time(trace: Trace) -> None:
    times = [at_ns for at_ns, _ in trace.events]
    assert times == sorted(times)


def test_a_slice_has_queue_gpus_and_end(trace: Trace) -> None:
    event = next(each for _, each in trace.events if each.get(23) == [b"half-0"])
    message = {}
    for note in map(fields, event[4]):
        message[note[10][0].decode()] = note[6][0].decode() if 6 in note else note[5][0]
    assert message == {"queue": "speech", "gpus": 0.5, "ends": "finished"}


def test_the_same_timeline_gives_the_same_bytes(morning: Timeline, tmp_path: Path) -> None:
    morning.to_perfetto(tmp_path / "trace.pftrace")
    assert (tmp_path / "trace.pftrace").read_bytes() == perfetto.trace(morning)
    with pytest.raises(InvalidInputError, match="no such file or directory"):
        morning.to_perfetto(tmp_path / "no" / "trace")
