"""What can go wrong with a test cluster."""

from __future__ import annotations


class ClusterError(Exception):
    """The cluster cannot start or a program of it ended; the message holds the end of its log."""


class UnavailableError(Exception):
    """The programs are not here and cannot be built; the message is one line that gives the
    reason."""
