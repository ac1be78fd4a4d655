"""Errors of a test cluster."""


class ClusterError(Exception):
    """The cluster cannot start or one of its programs ended; the message has the end of its log."""


class UnavailableError(Exception):
    """The programs are missing and cannot be built; the message is one line with the reason."""
