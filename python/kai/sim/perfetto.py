"""A timeline as a trace for Perfetto (https://ui.perfetto.dev): ``timeline.to_perfetto(path)``.

Below the track "nodes" each node has a track with its pods as slices; pods that overlap are in
separate lanes. Below "queues" are counters: allocated GPUs and the fair share of each queue.
Evictions are instant events on the node.

The file is a ``perfetto.protos.Trace`` of TrackEvents. The few messages are encoded by hand: fields
as in protos/perfetto/trace of Perfetto v49, numbers below. Nanoseconds are since the start.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kai.api import files
from kai.api.naming import naming
from kai.sim import series
from kai.sim.stay_ends import EVICTED, STAY_ENDS

if TYPE_CHECKING:
    from kai.sim.timeline import Timeline

__all__ = ["trace", "write"]

# Trace
PACKET = 1
# TracePacket
TIMESTAMP, SEQUENCE_ID, TRACK_EVENT, SEQUENCE_FLAGS, TRACK_DESCRIPTOR = 8, 10, 11, 13, 60
# TrackDescriptor
UUID, NAME, PARENT_UUID, COUNTER = 1, 2, 5, 8
# CounterDescriptor
UNIT_NAME = 6
# TrackEvent
DEBUG_ANNOTATIONS, TYPE, TRACK_UUID, CATEGORIES, EVENT_NAME, DOUBLE_VALUE = 4, 9, 11, 22, 23, 44
SLICE_BEGIN, SLICE_END, INSTANT, COUNTER_VALUE = 1, 2, 3, 4
# DebugAnnotation
ANNOTATION_DOUBLE, ANNOTATION_TEXT, ANNOTATION_NAME = 5, 6, 10

SEQUENCE = 1
STATE_CLEARED = 1  # of SequenceFlags: nothing refers to earlier packets


def write(timeline: Timeline, path: str | Path) -> None:
    """Writes the trace. Raises InvalidInputError if the file cannot be written."""
    with naming(str(path)):
        files.check_name(path)
        Path(path).write_bytes(trace(timeline))


def trace(timeline: Timeline) -> bytes:
    """The bytes of the file. The same timeline gives the same bytes."""
    tracks = _Tracks()
    events: list[tuple[int, int, bytes]] = []  # time, order at one time, event
    nodes = tracks.add("nodes")
    lane, rows_of = _lanes(timeline)
    for node, name in enumerate(timeline.node_names):
        own = tracks.add(name, nodes)
        ids = [own]  # the first lane is the node itself
        rows = rows_of[node]
        while len(ids) <= max((lane[row] for row in rows), default=0):
            ids.append(tracks.add(name, nodes))
        for row in rows:
            events += _pod(timeline, row, ids[lane[row]], own)
    counters = tracks.add("queues")
    for queue, name in enumerate(timeline.queue_names):
        for column, what in (("allocated_gpus", "held"), ("fair_share_gpus", "fair share")):
            track = tracks.add(f"{name}: {what}", counters, unit="GPUs")
            at_s, values = series.queue_steps(timeline, queue, column)
            for at, value in zip(at_s, values, strict=True):
                events.append((_ns(at), 2, _counter(track, float(value))))
    events.sort(key=lambda each: each[:2])
    return b"".join((*tracks.packets, *(_event(at, event) for at, _, event in events)))


# --- what is in it -------------------------------------------------------------------------------


def _lanes(timeline: Timeline) -> tuple[dict[int, int], list[list[int]]]:
    """Assigns overlapping pods of a node to different lanes, so that slices of a lane nest: the
    lane of each stay, and the stays of each node."""
    stays = timeline.stays
    rows_of: list[list[int]] = [[] for _ in timeline.node_names]
    lane: dict[int, int] = {}
    ends: list[list[float]] = [[] for _ in timeline.node_names]
    for row in np.lexsort((stays["pod"], stays["job"], stays["from_s"])):
        node, row = int(stays["node"][row]), int(row)
        rows_of[node].append(row)
        free = [i for i, end in enumerate(ends[node]) if end <= stays["from_s"][row]]
        if not free:
            ends[node].append(0.0)
        lane[row] = free[0] if free else len(ends[node]) - 1
        ends[node][lane[row]] = float(stays["to_s"][row])
    return lane, rows_of


def _pod(timeline: Timeline, row: int, track: int, node: int) -> Iterator[tuple[int, int, bytes]]:
    stays, jobs = timeline.stays, timeline.workload.jobs
    job = int(stays["job"][row])
    end = STAY_ENDS[int(stays["end"][row])]
    name = f"{jobs.name[job]}-{int(stays['pod'][row])}"
    from_ns, to_ns = _ns(stays["from_s"][row]), _ns(stays["to_s"][row])
    annotations = (
        _annotation("queue", jobs.queue_names[jobs.queue[job]])
        + _annotation("gpus", float(jobs.gpus[job]))
        + _annotation("ends", end)
    )
    begin = (
        _number(TYPE, SLICE_BEGIN)
        + _number(TRACK_UUID, track)
        + _bytes(CATEGORIES, b"pod")
        + _bytes(EVENT_NAME, name.encode())
        + annotations
    )
    yield (from_ns, 1, begin)
    # A slice of length 0 begins before it ends; otherwise ends come before begins.
    yield (
        to_ns,
        0 if to_ns > from_ns else 1,
        _number(TYPE, SLICE_END) + _number(TRACK_UUID, track),
    )
    if int(stays["end"][row]) in EVICTED:
        yield (
            to_ns,
            2,
            _number(TYPE, INSTANT)
            + _number(TRACK_UUID, node)
            + _bytes(CATEGORIES, b"eviction")
            + _bytes(EVENT_NAME, f"{end}: {name}".encode()),
        )


def _counter(track: int, value: float) -> bytes:
    return (
        _number(TYPE, COUNTER_VALUE)
        + _number(TRACK_UUID, track)
        + _key(DOUBLE_VALUE, 1)
        + struct.pack("<d", value)
    )


def _ns(seconds: Any) -> int:
    return round(float(seconds) * 1e9)


class _Tracks:
    """Descriptors of tracks, with ids from 1 on."""

    def __init__(self) -> None:
        self.packets: list[bytes] = []

    def add(self, name: str, parent: int | None = None, *, unit: str = "") -> int:
        uuid = len(self.packets) + 1
        body = _number(UUID, uuid) + _bytes(NAME, name.encode())
        if parent is not None:
            body += _number(PARENT_UUID, parent)
        if unit:
            body += _bytes(COUNTER, _bytes(UNIT_NAME, unit.encode()))
        packet = _number(SEQUENCE_ID, SEQUENCE) + _bytes(TRACK_DESCRIPTOR, body)
        if uuid == 1:
            packet += _number(SEQUENCE_FLAGS, STATE_CLEARED)
        self.packets.append(_bytes(PACKET, packet))
        return uuid


def _event(at_ns: int, event: bytes) -> bytes:
    return _bytes(
        PACKET,
        _number(TIMESTAMP, at_ns) + _number(SEQUENCE_ID, SEQUENCE) + _bytes(TRACK_EVENT, event),
    )


def _annotation(name: str, value: str | float) -> bytes:
    body = _bytes(ANNOTATION_NAME, name.encode())
    if isinstance(value, str):
        body += _bytes(ANNOTATION_TEXT, value.encode())
    else:
        body += _key(ANNOTATION_DOUBLE, 1) + struct.pack("<d", value)
    return _bytes(DEBUG_ANNOTATIONS, body)


# --- protocol buffers (https://protobuf.dev/programming-guides/encoding) --------------------------


def _varint(value: int) -> bytes:
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


def _key(field: int, wire: int) -> bytes:
    return _varint(field << 3 | wire)


def _number(field: int, value: int) -> bytes:
    return _key(field, 0) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _key(field, 2) + _varint(len(value)) + value
