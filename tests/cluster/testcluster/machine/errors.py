"""Errors of a machine."""


class MachineError(Exception):
    """A pod of the machine has a field that the machine does not support, or the machine failed."""


class NotYetError(Exception):
    """A container cannot start yet: an object that it needs does not exist. The message is the
    kubelet's."""
