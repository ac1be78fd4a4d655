"""Ports for servers of a test."""

import random
import socket
from contextlib import suppress
from pathlib import Path

from .arguments import HOST


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 that are not in use. They are below those that the kernel assigns to
    outgoing connections: otherwise a client that connects while the server is down could get the
    server's own port, and would be connected to itself."""
    first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    found: list[int] = []
    while len(found) < count:
        port = random.randrange(10_000, max(first, 20_000))
        with socket.socket() as probe, suppress(OSError):
            probe.bind((HOST, port))
            found += [port] if port not in found else []
    return found
